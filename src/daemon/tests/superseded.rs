//! Nothing is pending for ever: what nobody works on any more ends, and names what took its place.

use super::*;
use crate::model::CheckDetail;

const SYNC: &str = "capstan/config/sync";

impl Case {
    /// The next commit is there, and was examined.
    fn examine(&mut self, revision: &str, compiled: Compiled) -> Option<Check> {
        self.parts().heads.set(revision, revision);
        self.handle(self.examination(revision, compiled));
        self.sync_check(revision)
    }

    fn handle(&mut self, examined: ExamineResult) {
        let examined = Box::new(examined);
        self.daemon.handle(Event::Git(GitEvent::Examined(examined)));
    }

    fn sync_check(&self, revision: &str) -> Option<Check> {
        self.daemon.view.borrow().check(SYNC, revision).cloned()
    }

    fn assert_superseded(&mut self, revision: &str, newer: &str) {
        let check = self.sync_check(revision).unwrap();
        assert_eq!(
            (check.state, check.detail),
            (CheckState::Error, Some(CheckDetail::Superseded))
        );
        let begin = format!("superseded by {newer} at ");
        assert!(check.title.starts_with(&begin), "{}", check.title);
        assert!(!self.parts().turn.checks.is_pending(SYNC, revision));
    }
}

#[tokio::test(start_paused = true)]
async fn each_revision_ends_when_a_newer_one_takes_its_place() {
    let mut case = Case::new();
    for (revision, name) in [("1", "a"), ("2", "b"), ("3", "c")] {
        let check = case.examine(revision, config_maps(&[name])).unwrap();
        assert_eq!(check.state, CheckState::Pending);
    }
    case.assert_superseded("1", "2");
    case.assert_superseded("2", "3");
    assert_eq!(case.parts().turn.checks.pending(SYNC).count(), 1);
    // A broken one takes no place.
    let broken = compile(&tree("kind: ConfigMap\n"), &[]);
    case.examine("4", broken);
    assert_eq!(case.sync_check("3").unwrap().state, CheckState::Pending);
    assert_eq!(case.sync_check("4").unwrap().state, CheckState::Failure);
}

#[tokio::test(start_paused = true)]
async fn what_an_earlier_daemon_left_pending_ends_although_nothing_can_be_applied() {
    let mut case = Case::new();
    case.parts().heads.set("2", "2");
    let broken = compile(&tree("kind: ConfigMap\n"), &[]);
    case.handle(ExamineResult {
        left_pending: Some(vec![("1".to_owned(), "1/3 ready".to_owned())]),
        ..case.examination("2", broken)
    });
    case.assert_superseded("1", "2");
    assert_eq!(
        case.sync_check("1").unwrap().title,
        "superseded by 2 at 1/3 ready"
    );
}

#[tokio::test(start_paused = true)]
async fn what_waits_in_a_suspended_fleet_ends_when_something_newer_waits() {
    let mut case = Case::with(Setting {
        config: Some(|config| config.suspend = true),
        ..Setting::default()
    });
    for (revision, name) in [("1", "a"), ("2", "b")] {
        let check = case.examine(revision, config_maps(&[name])).unwrap();
        assert_eq!(
            (check.state, check.detail),
            (CheckState::Pending, Some(CheckDetail::Queued))
        );
    }
    case.assert_superseded("1", "2");
    assert_eq!(case.parts().turn.checks.pending(SYNC).count(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_revision_arrives_although_its_pending_check_never_did() {
    let mut case = Case::new();
    case.examine("1", config_maps(&["a"]));
    // Everything is held up, and no ref leads to it any more.
    let failed = ChecksEvent::Published(Err(away().into()));
    case.only(Event::Checks(failed));
    case.examine("2", config_maps(&["b"]));
    case.parts().turn.checks.forget(|revision| revision == "2");
    case.assert_superseded("1", "2");
    assert!(!case.parts().turn.checks.is_busy());
    tokio::time::sleep(Duration::from_secs(15)).await;
    case.daemon.handle(Event::Time(TimeEvent::RetryChecks));
    let now = case.daemon.now();
    assert!(
        case.parts().turn.checks.has_due("1", now),
        "it is under way"
    );
}
