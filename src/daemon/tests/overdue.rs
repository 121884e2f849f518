//! Plans of branches that take too long.

use super::*;
use crate::daemon::job::Planned;
use crate::follow::candidates::Candidate;
use crate::follow::lanes::Lane;

const PLAN: &str = "capstan/config/plan";

impl Case {
    fn plan_check(&self, commit: &str) -> Option<Check> {
        self.daemon.view.borrow().check(PLAN, commit).cloned()
    }
}

#[tokio::test(start_paused = true)]
async fn a_plan_that_takes_too_long_says_so_until_it_ends_after_all() {
    let mut case = Case::new();
    let head = case.commit.clone();
    case.daemon.heads.set(&head, &head);
    let candidates = &mut case.daemon.candidates;
    candidates.update(&Refs::new(), &head);
    let refs: Refs = [("refs/heads/pr/1".to_owned(), "1".to_owned())].into();
    candidates.update(&refs, &head);
    let slow = candidates.next().unwrap();
    case.daemon.overdue(slow.clone());
    let check = case.plan_check("1").unwrap();
    let title = "not planned yet: it takes longer than 300 s";
    assert_eq!(
        (check.state, check.title.as_str()),
        (CheckState::Error, title)
    );
    // The base moves: it is not planned again.
    case.daemon.candidates.update(&refs, "base");
    let again = case.daemon.candidates.next().unwrap();
    let planned = case.daemon.source.plan("base", again, None);
    assert!(planned.check.is_none());
    case.daemon.planned(planned);
    assert_eq!(case.plan_check("1").unwrap().title, title);
    let late = Planned {
        candidate: slow.clone(),
        resolved: None,
        merged: Some("m".to_owned()),
        is_passing: false,
        check: Some(Check {
            revision: "1".to_owned(),
            context: PLAN.to_owned(),
            ..case.check(CheckState::Success, "1 to create")
        }),
    };
    case.daemon.planned(late);
    assert_eq!(case.plan_check("1").unwrap().title, "1 to create");
    case.daemon.overdue(slow);
    assert_eq!(case.plan_check("1").unwrap().title, "1 to create");
}

#[tokio::test(start_paused = true)]
async fn a_plan_of_a_branch_is_waited_for_five_minutes() {
    let mut case = Case::new();
    let head = case.commit.clone();
    let candidates = &mut case.daemon.candidates;
    candidates.update(&Refs::new(), &head);
    let refs: Refs = [("refs/heads/pr/1".to_owned(), "1".to_owned())].into();
    candidates.update(&refs, &head);
    let slow = candidates.next().unwrap();
    let start = Instant::now();
    case.daemon.lose_patience_with(&slow);
    let Some(Event::Overdue(candidate)) = case.events.recv().await else {
        panic!("another event");
    };
    assert_eq!((*candidate, start.elapsed().as_secs()), (slow, 300));
}

/// A branch may lead to the commit of a pull request since it was found to be a fork's.
#[tokio::test(start_paused = true)]
async fn every_plan_has_a_deadline() {
    let mut case = Case::new();
    let head = case.commit.clone();
    case.daemon.heads.set(&head, &head);
    for (name, lane) in [
        ("refs/heads/pr/1", Lane::Own),
        ("refs/pull/2/head", Lane::Fork),
    ] {
        let candidates = &mut case.daemon.candidates;
        candidates.update(&Refs::new(), &head);
        let refs: Refs = [(name.to_owned(), name.replace('/', "0"))].into();
        candidates.update(&refs, &head);
        let sorted: Vec<Candidate> = candidates
            .unsorted()
            .into_iter()
            .map(|one| Candidate { lane, ..one })
            .collect();
        candidates.sort(&sorted);
        case.daemon.patience.clear();
        case.daemon.plan_next();
        assert_eq!(case.daemon.patience.len(), 1, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_candidate_that_failed_for_a_passing_reason_is_planned_again() {
    let mut case = Case::new();
    let head = case.commit.clone();
    case.daemon.heads.set(&head, &head);
    let candidates = &mut case.daemon.candidates;
    candidates.update(&Refs::new(), &head);
    let refs: Refs = [("refs/heads/pr/1".to_owned(), "1".to_owned())].into();
    candidates.update(&refs, &head);
    // What waits is not planned before the test takes it.
    case.daemon.heads.set_examining(true);
    for seconds in [30, 60, 120, 240, 480, 900, 900] {
        let candidate = case.daemon.candidates.next().unwrap();
        let failed = Planned::failed("config", candidate.clone(), &away());
        case.daemon.planned(failed);
        assert!(case.daemon.candidates.next().is_none());
        let replans = case.jobs().await.into_iter();
        let replans: Vec<Ended> = replans.filter(|(_, name)| *name == "Replan").collect();
        assert_eq!(replans, [(seconds * 1000, "Replan")]);
        case.daemon.replan(&candidate);
    }
    // A plan of it ends that.
    let candidate = case.daemon.candidates.next().unwrap();
    let bug = Planned::failed("config", candidate.clone(), &Failure::Panic(String::new()));
    case.daemon.planned(bug);
    case.daemon.replan(&candidate);
    assert!(case.daemon.candidates.next().is_none());
    assert!(case.jobs().await.iter().all(|(_, name)| *name != "Replan"));
    // Nor is it planned again once it moved.
    case.daemon.candidates.again("1");
    let candidate = case.daemon.candidates.next().unwrap();
    case.daemon
        .planned(Planned::failed("config", candidate.clone(), &away()));
    let refs: Refs = [("refs/heads/pr/1".to_owned(), "2".to_owned())].into();
    case.daemon.candidates.update(&refs, &head);
    assert_eq!(case.daemon.candidates.next().unwrap().id, "2");
    case.daemon.replan(&candidate);
    assert!(case.daemon.candidates.next().is_none());
}
