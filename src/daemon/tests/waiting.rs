//! Heads that wait for their plan, on a forge that shows it.

use std::sync::Mutex;
use std::sync::atomic::Ordering;

use serde_json::json;

use super::forge::Forge;
use super::*;
use crate::adapters::checks::forge::tests::{Fake, Seen, Server, client, json as answer};
use crate::adapters::checks::forge::{ForgeSink, Gitea, Repository, Scheme};
use crate::follow::{Candidate, EarlierChecks, PlanResult, Plans};
use crate::model::CheckDetail::{Queued, Superseded};
use crate::model::{Head, Rerun};
use crate::reporting::report;
use crate::reporting::sync_context;

const PLAN: &str = "capstan/config/plan";

/// A daemon that examines the followed commit, so that plans wait.
fn case_on(forge: Option<ForgePorts>) -> Case {
    let mut case = Case::with(Setting {
        forge,
        candidates: &["refs/heads/pr/*"],
        ..Setting::default().slow()
    });
    let commit = case.commit.clone();
    case.parts().heads.set_examined(&commit);
    case.parts().heads.set_examining(true);
    case
}

/// The same, and its forge.
fn case(left: &[&str]) -> (Case, Arc<Forge>) {
    let pending = |revision: &&str| report::queued("config", revision);
    let forge = Arc::new(Forge {
        earlier: Mutex::new(left.iter().map(pending).collect()),
        ..Forge::default()
    });
    (case_on(Some(forge.ports())), forge)
}

impl Case {
    /// A look at the repository finds these branches `pr/1`, `pr/2` and so on.
    fn look(&mut self, heads: &[&str]) {
        let name = |at: usize| format!("refs/heads/pr/{}", at + 1);
        let refs = heads.iter().enumerate();
        let refs: Refs = refs
            .map(|(at, head)| (name(at), (*head).to_owned()))
            .collect();
        let head = self.commit.clone();
        self.fetched(Ok(RemoteRefs {
            refs: Some(refs),
            head,
            signed_anew: false,
        }));
    }

    /// Handles what happens until nothing does any more.
    async fn come_to_rest(&mut self) {
        self.conclude();
        // Longer than a forge has to learn of a commit.
        let long = Duration::from_secs(20);
        while let Ok(Some(event)) = tokio::time::timeout(long, self.daemon.jobs.join_next()).await {
            self.daemon.handle(event.unwrap());
        }
    }
}

/// What was written of plans since the last call.
fn written(forge: &Forge) -> Vec<(String, CheckState, Option<crate::model::CheckDetail>)> {
    let written = std::mem::take(&mut *forge.written.lock().unwrap());
    let plans = written.into_iter().filter(|check| check.context == PLAN);
    let shown = plans.map(|check| (check.revision, check.state, check.detail));
    shown.collect()
}

fn waits(commit: &str) -> (String, CheckState, Option<crate::model::CheckDetail>) {
    (commit.to_owned(), CheckState::Pending, Some(Queued))
}

fn ends(commit: &str) -> (String, CheckState, Option<crate::model::CheckDetail>) {
    (commit.to_owned(), CheckState::Error, Some(Superseded))
}

#[tokio::test(start_paused = true)]
async fn a_head_waits_from_the_first_look_on_and_ends_when_it_is_replaced_or_gone() {
    let (mut case, forge) = case(&[]);
    case.look(&[]);
    case.come_to_rest().await;
    case.look(&["a", "b"]);
    case.come_to_rest().await;
    assert_eq!(written(&forge), [waits("a"), waits("b")]);
    case.look(&["a", "b"]);
    case.come_to_rest().await;
    assert_eq!(written(&forge), [], "once");
    // A forced push, and a branch that is deleted.
    case.look(&["c"]);
    case.come_to_rest().await;
    assert_eq!(written(&forge), [ends("a"), ends("b"), waits("c")]);
    // Nobody saw the one in between.
    case.look(&["d"]);
    case.look(&["e"]);
    case.come_to_rest().await;
    assert_eq!(written(&forge), [ends("c"), waits("e")]);
    assert!(case.daemon.view.borrow().check(PLAN, "d").is_none());
    // It was merged as it is.
    let merged = case.commit.clone();
    case.parts().turn.checks.leave(PLAN, &merged, String::new());
    case.look(&["e"]);
    case.come_to_rest().await;
    assert_eq!(written(&forge), [(merged, CheckState::Success, None)]);
}

#[tokio::test(start_paused = true)]
async fn what_an_earlier_process_left_waiting_is_planned_or_ended() {
    let kept = Case::new().commit;
    let (mut case, forge) = case(&[&kept, "gone"]);
    // The only commit of the repository stands for a head.
    case.parts().heads.set_examined("base");
    case.fetched(Ok(RemoteRefs {
        refs: Some([("refs/heads/pr/1".to_owned(), case.commit.clone())].into()),
        head: "base".to_owned(),
        signed_anew: false,
    }));
    assert_eq!(case.commit, kept, "commits are made of the same");
    case.come_to_rest().await;
    assert_eq!(written(&forge), [ends("gone")], "the other waits already");
    case.parts().heads.set_examining(false);
    case.plan_next();
    case.come_to_rest().await;
    let planned = written(&forge);
    assert_eq!(planned.len(), 2, "{planned:?}");
    assert_eq!(planned[0], (kept.clone(), CheckState::Pending, None));
    assert_eq!(planned[1].0, kept);
    assert_ne!(planned[1].1, CheckState::Pending);
    assert_eq!(case.parts().turn.checks.pending(PLAN).count(), 0);
}

#[tokio::test(start_paused = true)]
async fn what_an_earlier_process_left_is_asked_again_once_checks_can_be_written() {
    let (mut case, forge) = case(&["gone"]);
    forge.is_away.store(true, Ordering::Relaxed);
    case.look(&[]);
    case.come_to_rest().await;
    assert_eq!(written(&forge), []);
    case.look(&["b"]);
    case.come_to_rest().await;
    assert_eq!(written(&forge), [waits("b")]);
    // What is asked once more fails again.
    assert!(case.parts().forge.begin_earlier(), "it is still away");
    case.parts().forge.defer_earlier();
    forge.is_away.store(false, Ordering::Relaxed);
    case.look(&["b", "c"]);
    case.come_to_rest().await;
    assert_eq!(written(&forge), [waits("c"), ends("gone")]);
    assert!(!case.parts().forge.begin_earlier());
    // Sync checks, too, but not what this process writes itself.
    let own = case.check(CheckState::Pending, "it");
    case.set_check(own.clone());
    let title = |revision: &str| (revision.to_owned(), "1/3".to_owned());
    let pending = vec![title("old"), title(&own.revision)];
    let waiting = vec!["b".to_owned()];
    let earlier = EarlierChecks { pending, waiting };
    case.only(Event::Checks(ChecksEvent::EarlierRead(Some(earlier))));
    let context = sync_context("config");
    let parts = case.parts();
    let open: Vec<(&str, &str)> = parts.turn.checks.pending(&context).collect();
    assert!(open.contains(&("old", "1/3")) && open.contains(&(&*own.revision, "it")));
}

#[tokio::test(start_paused = true)]
async fn who_asks_for_a_plan_again_sees_it_wait_and_end() {
    let (mut case, forge) = case(&[]);
    case.look(&[]);
    case.parts().heads.set_examining(false);
    case.look(&["a"]);
    case.come_to_rest().await;
    let first = written(&forge);
    assert_ne!(first.last().unwrap().1, CheckState::Pending, "{first:?}");
    let rerun = Rerun::all(Head::Commit("a".to_owned()));
    case.parts().heads.set_examining(true);
    for _ in 0..2 {
        let reruns = [rerun.clone()].into();
        let presses = [].into();
        case.hinted(Hint { reruns, presses });
    }
    case.come_to_rest().await;
    assert_eq!(written(&forge), [waits("a")]);
    case.parts().heads.set_examining(false);
    case.plan_next();
    case.come_to_rest().await;
    assert_eq!(written(&forge), first);
}

#[tokio::test(start_paused = true)]
async fn who_asks_for_a_plan_while_one_is_made_sees_it_end() {
    let (mut case, _) = case(&[]);
    let head = case.commit.clone();
    let look = |case: &mut Case, base: &str| {
        case.fetched(Ok(RemoteRefs {
            refs: Some([("refs/heads/pr/1".to_owned(), head.clone())].into()),
            head: base.to_owned(),
            signed_anew: false,
        }));
    };
    case.look(&[]);
    look(&mut case, "base");
    case.parts().turn.checks.leave(PLAN, &head, String::new());
    let candidate = case.parts().plans.candidates().next().unwrap();
    let planned = |case: &mut Case, candidate: &Candidate, check| {
        let planned = Box::new(PlanResult {
            merged: Some("m".to_owned()),
            check,
            ..PlanResult::new(candidate.clone())
        });
        case.only(Event::Git(GitEvent::Planned(planned)));
    };
    let is_waiting = |case: &mut Case| Plans::is_waiting(&head, case.parts().turn);
    let check = report::merged("config", &head);
    planned(&mut case, &candidate, Some(check.clone()));
    assert!(!is_waiting(&mut case));
    // The base moves, and the plan that follows finds nothing new.
    look(&mut case, "base2");
    let second = case.parts().plans.candidates().next().unwrap();
    let reruns = [Rerun::all(Head::Commit(head.clone()))].into();
    case.hinted(Hint {
        reruns,
        ..Hint::default()
    });
    assert!(is_waiting(&mut case));
    planned(&mut case, &second, None);
    let again = case.parts().plans.candidates().next().unwrap();
    assert_eq!(again.seen, None);
    planned(&mut case, &again, Some(check));
    assert!(!is_waiting(&mut case));
}

/// Each note is a push.
#[tokio::test(start_paused = true)]
async fn git_notes_do_not_say_what_waits() {
    let mut case = case_on(None);
    case.look(&[]);
    case.look(&["a"]);
    assert!(case.daemon.view.borrow().checks.is_empty());
}

/// A Gitea that has one commit, and the states of its statuses.
#[derive(Default)]
struct Shown {
    commit: String,
    states: Vec<String>,
}

impl Server for Shown {
    fn answer(&mut self, seen: &Seen) -> Response<Vec<u8>> {
        let has = seen.line.contains(&self.commit);
        let is_list = seen.line.contains("/statuses?");
        let missing = json!({"message": "object does not exist"});
        match seen.line.split_once(' ').unwrap().0 {
            "GET" if is_list && has => answer(200, &json!([])),
            "GET" if has || seen.line.ends_with("/o/r") => answer(200, &json!({})),
            "GET" => answer(404, &json!({"message": "Not Found"})),
            _ if has => {
                let state = seen.body["state"].as_str().unwrap();
                self.states.push(state.to_owned());
                answer(201, &json!({"id": 1, "status": state}))
            }
            _ => answer(500, &missing),
        }
    }
}

/// A busy forge announces a push long before it knows the commit.
#[tokio::test(start_paused = true)]
async fn a_commit_that_the_forge_learns_of_late_gets_its_check() {
    let (late, other) = ("a".repeat(40), "b".repeat(40));
    let fake = Fake::new(Shown {
        commit: other.clone(),
        ..Shown::default()
    });
    let repository = Repository::of(ForgeKind::Gitea, "https://git.example/o/r").unwrap();
    let client = client(&fake, Scheme::Bearer, Gitea::dialect());
    let sink = ForgeSink::new(Gitea::new(repository), client, None);
    let mut case = case_on(Some(ForgePorts::of(Arc::new(sink))));
    case.look(&[]);
    case.look(&[&late, &other]);
    let start = Instant::now();
    let states = |fake: &Fake<Shown>| fake.server.lock().unwrap().states.clone();
    case.conclude();
    while start.elapsed() < Duration::from_secs(30) {
        let event = case.daemon.jobs.join_next().await.unwrap().unwrap();
        case.daemon.handle(event);
        assert_eq!(states(&fake), ["pending"], "of the other");
    }
    fake.server.lock().unwrap().commit.clone_from(&late);
    // One plan, and no write under way when it begins: it may end before or after the write of its beginning.
    case.look(&[&late]);
    case.come_to_rest().await;
    case.parts().heads.set_examining(false);
    case.plan_next();
    case.come_to_rest().await;
    let states = states(&fake);
    assert!(
        states.len() > 1 && *states.last().unwrap() != "pending",
        "{states:?}"
    );
}

/// Oracle row 51: the forge has let go of the old head when its check is written.
#[tokio::test(start_paused = true)]
async fn the_check_of_a_head_that_vanished_holds_up_no_other() {
    let (old, new) = ("a".repeat(40), "b".repeat(40));
    let fake = Fake::new(Shown {
        commit: new.clone(),
        ..Shown::default()
    });
    let repository = Repository::of(ForgeKind::Gitea, "https://git.example/o/r").unwrap();
    let gitea = Gitea::new(repository);
    let client = client(&fake, Scheme::Bearer, Gitea::dialect());
    let sink = ForgeSink::new(gitea, client, None);
    let mut case = case_on(Some(ForgePorts::of(Arc::new(sink))));
    case.look(&[]);
    case.look(&[&old]);
    case.come_to_rest().await;
    case.look(&[&new]);
    case.come_to_rest().await;
    let states = || fake.server.lock().unwrap().states.clone();
    assert_eq!(states(), ["pending"]);
    assert!(!case.parts().turn.checks.is_failing(), "it is passed over");
    case.parts().heads.set_examining(false);
    case.plan_next();
    case.come_to_rest().await;
    assert_ne!(*states().last().unwrap(), "pending");
    // Nothing is sent of the old one any more.
    fake.lines();
    case.parts().turn.checks.renew(PLAN, &old);
    case.come_to_rest().await;
    assert_eq!(fake.lines(), [""; 0]);
}
