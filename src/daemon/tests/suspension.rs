//! A fleet that is suspended and resumed, also over a restart.

use super::*;

impl Case {
    /// The release is applied, although its announcement may not be out.
    fn assign(&mut self) {
        let settings = self.daemon.source.settings.clone();
        self.parts().releases.current_mut().unwrap().run(&settings);
    }
}

#[tokio::test(start_paused = true)]
async fn a_suspended_fleet_says_so_until_it_is_resumed() {
    let mut case = Case::applying(config_maps(&["a"])).await;
    let title = |case: &Case| case.daemon.view.borrow().title.clone();
    let before = title(&case);
    let asks = |since: Option<&str>| Steering {
        suspended: since.map(str::to_owned),
        ..Steering::default()
    };
    case.steered(asks(None));
    assert_eq!(case.number(), 1, "nothing changes");
    case.steered(asks(Some("then")));
    assert_eq!(title(&case), format!("suspended; {before}"));
    assert_eq!(case.number(), 2, "it is assigned again");
    // The parent says the same.
    case.reported(2, Report::Suspended(since("then", "")));
    case.steered(asks(Some("then")));
    assert_eq!(case.number(), 2);
    case.steered(asks(None));
    assert_eq!(case.number(), 3);
    assert_eq!(title(&case), before);
    // The parent was read before somebody resumed it.
    case.reported(3, Report::Suspended(since("then", "")));
    case.steered(asks(None));
    assert_eq!(case.number(), 4);
}

#[tokio::test(start_paused = true)]
async fn what_is_resumed_succeeds_only_once_it_was_looked_at_again() {
    let mut case = Case::applying(config_maps(&["a"])).await;
    case.progress("a", State::Ready);
    case.report_progress();
    assert_eq!(case.state(), CheckState::Success);
    case.steered(suspension(Some("then")));
    assert_eq!(
        case.state(),
        CheckState::Success,
        "suspending breaks nothing"
    );
    case.steered(suspension(None));
    assert_eq!(case.state(), CheckState::Pending);
    assert!(!case.parts().releases.current().unwrap().settled);
}

#[tokio::test(start_paused = true)]
async fn a_parent_read_before_the_fleet_was_resumed_is_read_again_after_15_seconds() {
    let mut case = Case::applying(config_maps(&["a"])).await;
    case.steered(suspension(None));
    case.reported(1, Report::Suspended(since("then", "")));
    let start = Instant::now();
    while case.handle_next().await.1 != "Restart" {}
    assert_eq!(start.elapsed(), Duration::from_secs(15));
    assert_eq!(case.number(), 2, "it is assigned again");
}

#[tokio::test(start_paused = true)]
async fn a_revision_accepted_while_suspended_is_not_applied_yet() {
    let mut case = Case::applying(config_maps(&["a"])).await;
    case.steered(suspension(Some("then")));
    let newer = "1".repeat(40);
    case.parts().heads.set(&newer, &newer);
    case.examined(case.examination(&newer, config_maps(&["b"])));
    assert_eq!(case.parts().releases.accepted(), Some(&*newer));
    assert_eq!(case.applied(), Some(case.commit.clone()));
    // It is not assigned yet.
    case.steered(suspension(None));
    assert_eq!(case.parts().releases.current().unwrap().suspended, None);
    assert_eq!(case.applied().as_ref(), Some(&newer));
}

#[tokio::test(start_paused = true)]
async fn after_a_restart_a_suspended_fleet_names_the_revision_that_is_applied() {
    let mut case = started(&"1".repeat(40));
    assert!(
        !case.parts().releases.knows_applied(),
        "no candidate is planned yet"
    );
    let earlier = case.commit.clone();
    case.assign();
    case.reported(1, Report::Suspended(since("then", &earlier)));
    assert!(!case.parts().releases.knows_applied());
    while case.handle_next().await.1 != "Recalled" {}
    assert!(case.parts().releases.knows_applied());
    assert_eq!(case.applied(), Some(earlier.clone()));
    let view = case.daemon.view.borrow();
    let check = view.check("capstan/config/sync", &"1".repeat(40)).unwrap();
    assert_eq!(check.title, "suspended; not applied");
    let stays = format!("The last good revision {earlier} stays applied.");
    assert!(check.summary.ends_with(&stays), "{}", check.summary);
}

#[tokio::test(start_paused = true)]
async fn after_a_restart_a_suspended_revision_that_was_applied_says_so() {
    let head = "1".repeat(40);
    let mut case = started(&head);
    case.assign();
    case.reported(1, Report::Suspended(since("then", &head)));
    case.report_progress();
    assert!(case.parts().releases.knows_applied());
    assert_eq!(case.applied(), Some(head));
    let view = case.daemon.view.borrow();
    assert_eq!(view.title, "suspended; applied before");
}

#[tokio::test(start_paused = true)]
async fn candidates_wait_for_the_cluster_after_a_start_but_not_for_one_that_does_not_answer() {
    let mut case = started(&"1".repeat(40));
    assert!(!case.parts().releases.knows_applied());
    case.steered(suspension(None));
    assert!(case.parts().releases.knows_applied(), "it is not suspended");
    let mut case = started(&"1".repeat(40));
    case.assign();
    case.reported(1, Report::Stuck("no answer".to_owned()));
    assert!(case.parts().releases.knows_applied());
}
