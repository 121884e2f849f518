//! Plans of branches that take too long.

use super::*;
use crate::daemon::jobs::failure::unplanned;
use crate::follow::{Candidate, Lane};
use crate::follow::{PlanRequest, PlanResult};
use crate::plan::approvals::Approvals;

const PLAN: &str = "capstan/config/plan";

impl Case {
    fn overdue(&mut self, candidate: &Candidate) {
        let candidate = Box::new(candidate.clone());
        self.only(Event::Time(TimeEvent::Overdue(candidate)));
    }

    fn planned(&mut self, planned: PlanResult) {
        self.only(Event::Git(GitEvent::Planned(Box::new(planned))));
    }

    fn replan(&mut self, candidate: &Candidate) {
        let candidate = Box::new(candidate.clone());
        self.only(Event::Time(TimeEvent::Replan(candidate)));
    }

    fn plan_check(&self, commit: &str) -> Option<Check> {
        self.daemon.view.borrow().check(PLAN, commit).cloned()
    }
}

#[tokio::test(start_paused = true)]
async fn a_plan_that_takes_too_long_says_so_until_it_ends_after_all() {
    let mut case = Case::new();
    let head = case.commit.clone();
    case.parts().heads.set(&head, &head);
    let candidates = case.parts().plans.candidates();
    candidates.update(&Refs::new(), &head);
    let refs: Refs = [("refs/heads/pr/1".to_owned(), "1".to_owned())].into();
    candidates.update(&refs, &head);
    let slow = candidates.next().unwrap();
    case.overdue(&slow);
    let check = case.plan_check("1").unwrap();
    let title = "not planned yet: it takes longer than 300 s";
    assert_eq!(
        (check.state, check.title.as_str()),
        (CheckState::Error, title)
    );
    // The base moves: it is not planned again.
    case.parts().plans.candidates().update(&refs, "base");
    let again = case.parts().plans.candidates().next().unwrap();
    let planned = case.daemon.source.planner.plan(
        &case.daemon.source.approvals,
        PlanRequest {
            candidate: again,
            head: "base".to_owned(),
            base: None,
            applied: None,
            comments: Approvals::default(),
            waiting: std::collections::BTreeSet::new(),
        },
    );
    assert!(planned.check.is_none());
    case.planned(planned);
    assert_eq!(case.plan_check("1").unwrap().title, title);
    let late = PlanResult {
        merged: Some("m".to_owned()),
        check: Some(Check {
            revision: "1".to_owned(),
            context: PLAN.to_owned(),
            ..case.check(CheckState::Success, "1 to create")
        }),
        ..PlanResult::new(slow.clone())
    };
    case.planned(late);
    assert_eq!(case.plan_check("1").unwrap().title, "1 to create");
    case.overdue(&slow);
    assert_eq!(case.plan_check("1").unwrap().title, "1 to create");
}

#[tokio::test(start_paused = true)]
async fn a_plan_of_a_branch_is_waited_for_five_minutes() {
    let mut case = Case::new();
    let head = case.commit.clone();
    case.parts().heads.set(&head, &head);
    let candidates = case.parts().plans.candidates();
    candidates.update(&Refs::new(), &head);
    let refs: Refs = [("refs/heads/pr/1".to_owned(), "1".to_owned())].into();
    candidates.update(&refs, &head);
    let start = Instant::now();
    case.plan_next();
    loop {
        let event = case.daemon.jobs.join_next().await.unwrap().unwrap();
        if let Event::Time(TimeEvent::Overdue(candidate)) = event {
            assert_eq!((&*candidate.id, start.elapsed().as_secs()), ("1", 300));
            return;
        }
    }
}

/// A branch may lead to the commit of a pull request since it was found to be a fork's.
#[tokio::test(start_paused = true)]
async fn every_plan_has_a_deadline() {
    let mut case = Case::new();
    let head = case.commit.clone();
    case.parts().heads.set(&head, &head);
    for (name, lane) in [
        ("refs/heads/pr/1", Lane::Own),
        ("refs/pull/2/head", Lane::Fork),
    ] {
        let candidates = case.parts().plans.candidates();
        candidates.update(&Refs::new(), &head);
        let refs: Refs = [(name.to_owned(), name.replace('/', "0"))].into();
        candidates.update(&refs, &head);
        let sorted: Vec<Candidate> = candidates
            .unsorted()
            .into_iter()
            .map(|one| Candidate { lane, ..one })
            .collect();
        candidates.sort(&sorted);
        let now = case.daemon.now();
        let event = Event::Git(GitEvent::Sorted(Vec::new()));
        let commands = case.daemon.follower.only(event, now);
        let is_limit =
            |command: &&Command| matches!(command, Command::Wake(_, TimeEvent::Overdue(_)));
        assert_eq!(commands.iter().filter(is_limit).count(), 1, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_candidate_that_failed_for_a_passing_reason_is_planned_again() {
    let mut case = Case::new();
    let head = case.commit.clone();
    case.parts().heads.set(&head, &head);
    let candidates = case.parts().plans.candidates();
    candidates.update(&Refs::new(), &head);
    let refs: Refs = [("refs/heads/pr/1".to_owned(), "1".to_owned())].into();
    candidates.update(&refs, &head);
    // What waits is not planned before the test takes it.
    case.parts().heads.set_examining(true);
    for seconds in [30, 60, 120, 240, 480, 900, 900] {
        let candidate = case.parts().plans.candidates().next().unwrap();
        let failed = unplanned("config", candidate.clone(), &away());
        case.planned(failed);
        assert!(case.parts().plans.candidates().next().is_none());
        let replans = case.jobs().await.into_iter();
        let replans: Vec<Ended> = replans.filter(|(_, name)| *name == "Replan").collect();
        assert_eq!(replans, [(seconds * 1000, "Replan")]);
        case.replan(&candidate);
    }
    // A plan of it ends that.
    let candidate = case.parts().plans.candidates().next().unwrap();
    let failure = Failure::Panic(String::new());
    let bug = unplanned("config", candidate.clone(), &failure);
    case.planned(bug);
    case.replan(&candidate);
    assert!(case.parts().plans.candidates().next().is_none());
    assert!(case.jobs().await.iter().all(|(_, name)| *name != "Replan"));
    // Nor is it planned again once it moved.
    case.parts().plans.candidates().again("1");
    let candidate = case.parts().plans.candidates().next().unwrap();
    let failed = unplanned("config", candidate.clone(), &away());
    case.planned(failed);
    let refs: Refs = [("refs/heads/pr/1".to_owned(), "2".to_owned())].into();
    case.parts().plans.candidates().update(&refs, &head);
    assert_eq!(case.parts().plans.candidates().next().unwrap().id, "2");
    case.replan(&candidate);
    assert!(case.parts().plans.candidates().next().is_none());
}
