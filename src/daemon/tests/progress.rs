//! What is reported of a revision that is applied.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_run_that_ended_by_a_bug_begins_again_after_15_seconds() {
    let mut case = Case::new();
    case.only(Event::Cluster(ClusterEvent::RunnerEnded));
    assert_eq!(case.jobs().await, [(15_000, "Restart")]);
}

#[tokio::test(start_paused = true)]
async fn what_happens_within_a_tenth_of_a_second_is_reported_together() {
    let mut case = Case::applying(config_maps(&["a", "b"])).await;
    case.progress("a", State::Progressing);
    tokio::time::sleep(Duration::from_millis(40)).await;
    case.progress("b", State::Progressing);
    case.progress("a", State::Ready);
    assert_eq!(case.handle_next().await, (60, "Tick"));
    case.progress("a", State::Ready);
    case.progress("b", State::Ready);
    assert_eq!(case.handle_next().await, (100, "Tick"));
}

#[tokio::test(start_paused = true)]
async fn what_nothing_could_be_applied_for_is_no_longer_told_once_it_is_mended() {
    let mut case = Case::applying(config_maps(&["a"])).await;
    let title = |case: &Case| case.daemon.view.borrow().title.clone();
    case.reported(1, Report::Stuck("no permission".to_owned()));
    assert_eq!(case.handle_next().await, (100, "Tick"));
    assert_eq!(title(&case), "nothing can be applied: no permission");
    assert_eq!(case.state(), CheckState::Failure);
    case.reported(1, Report::Begun);
    assert_eq!(case.handle_next().await, (0, "Published"));
    assert_eq!(case.handle_next().await, (100, "Tick"));
    assert_eq!(
        title(&case),
        "0/1 ready, ConfigMap, less than a minute left"
    );
    assert_eq!(case.state(), CheckState::Pending);
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_does_not_answer_for_a_minute_is_reported_until_it_answers() {
    let mut case = Case::applying(config_maps(&["a"])).await;
    let title = |case: &Case| case.daemon.view.borrow().title.clone();
    let before = title(&case);
    let away = || Report::Away("no route".to_owned());
    let start = Instant::now();
    case.reported(1, away());
    assert_eq!(case.handle_next().await, (100, "Tick"));
    assert_eq!(title(&case), before, "that may be a hiccup");
    case.reported(1, away());
    while title(&case) == before {
        case.handle_next().await;
    }
    // A minute in the cluster.
    assert_eq!(start.elapsed().as_millis(), 3000);
    let shown = title(&case);
    let expected = "waiting for the cluster since 1970-01-01T00:00:";
    assert!(shown.starts_with(expected), "{shown}");
    assert!(shown.ends_with(": no route"), "{shown}");
    assert_eq!(case.state(), CheckState::Pending);
    case.reported(1, Report::Begun);
    while case.handle_next().await.1 != "Tick" {}
    assert_eq!(title(&case), before);
}

#[tokio::test(start_paused = true)]
async fn success_is_looked_at_again_a_minute_after_it_was_lost() {
    let mut case = Case::applying(config_maps(&["a"])).await;
    case.progress("a", State::Ready);
    assert_eq!(case.handle_next().await, (100, "Tick"));
    case.progress("a", State::Progressing);
    assert_eq!(case.handle_next().await, (0, "Published"), "success");
    assert_eq!(case.handle_next().await, (100, "Tick"));
    // A minute in the cluster after success was written: it still stands, with another title.
    assert_eq!(case.handle_next().await, (2900, "Tick"));
    assert_eq!(case.state(), CheckState::Success);
    assert_eq!(case.handle_next().await, (0, "Published"));
    // A minute in the cluster after it was lost.
    assert_eq!(case.handle_next().await, (100, "Tick"));
    assert_eq!(case.state(), CheckState::Pending);
}

#[tokio::test(start_paused = true)]
async fn the_plan_of_an_older_revision_is_let_go_once_a_newer_one_is_applied() {
    let mut case = Case::applying(config_maps(&["a"])).await;
    let plan = |case: &mut Case| {
        let current = case.parts().releases.current().unwrap();
        Arc::downgrade(&current.release.plan)
    };
    let older = plan(&mut case);
    let newer = "1".repeat(40);
    case.parts().heads.set(&newer, &newer);
    case.examined(case.examination(&newer, config_maps(&["a", "b"])));
    case.conclude();
    while case.handle_next().await.1 != "Published" {}
    // The runner takes it up.
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert!(older.upgrade().is_none(), "nobody holds it");
    assert!(plan(&mut case).upgrade().is_some());
}

#[tokio::test(start_paused = true)]
async fn what_nothing_can_be_applied_for_is_reported_once() {
    let mut case = Case::applying(config_maps(&["a"])).await;
    let now = case.daemon.now().cluster;
    let rollout = case.parts().releases.current_mut().unwrap();
    for (why, is_new) in [("no", true), ("no", false), ("never", true)] {
        assert_eq!(
            rollout.note(Report::Stuck(why.to_owned()), now),
            is_new,
            "{why}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_revision_without_objects_is_a_failure_and_nothing_is_removed() {
    let mut case = Case::applying(config_maps(&["a"])).await;
    let empty = "2".repeat(40);
    case.parts().heads.set(&empty, &empty);
    case.examined(case.examination(&empty, config_maps(&[])));
    assert_eq!(case.applied(), Some(case.commit.clone()));
    let view = case.daemon.view.borrow();
    let check = view.check("capstan/config/sync", &empty).unwrap();
    assert_eq!(check.state, CheckState::Failure);
    assert_eq!(
        check.title,
        "not applied: the fleet has no objects any more"
    );
    let stays = format!("The last good revision {} stays applied.\n\n", case.commit);
    assert!(check.summary.starts_with(&stays), "{}", check.summary);
}

#[tokio::test(start_paused = true)]
async fn objects_that_an_empty_fleet_keeps_are_reported_once() {
    let mut case = Case::applying(config_maps(&[])).await;
    for name in ["a", "b"] {
        let id = ObjectId::new("", "ConfigMap", "default", name);
        let held = PruneStatus::Held("the fleet has no objects".to_owned());
        case.reported(1, Report::Prune(id, held));
    }
    case.report_progress();
    assert_eq!(case.state(), CheckState::Failure);
    let view = case.daemon.view.borrow();
    let check = view.checks.values().next().unwrap();
    assert!(!check.summary.contains("ConfigMap"), "{}", check.summary);
}
