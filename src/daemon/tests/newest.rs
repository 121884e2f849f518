//! What the parent in the cluster records of the newest commit.

use super::*;

#[tokio::test(start_paused = true)]
async fn what_became_of_the_newest_commit_is_recorded_until_it_is_applied() {
    let mut case = Case::applying(config_maps(&["a"])).await;
    let newest = |case: &Case| case.daemon.newest().map(|newest| newest.text());
    assert_eq!(newest(&case), None);
    let examine = |case: &mut Case, revision: &str, text: &str| {
        let tree = Tree {
            files: [(Arc::from("a.yaml"), Arc::from(text.as_bytes()))].into(),
            ..Tree::default()
        };
        let judged = Judged::new(compile(&tree, &[]), &case.daemon.set);
        case.daemon.heads.look(revision);
        case.daemon.examined(Examined {
            outcome: Ok(judged),
            ..Examined::failed(revision.to_owned(), away())
        });
    };
    examine(&mut case, "2", "kind: ConfigMap\n---\nkind: Secret\n");
    let refused = newest(&case).unwrap();
    assert!(refused.contains("\"revision\":\"2\""), "{refused}");
    assert!(refused.contains("a.yaml:1:1: Y09 "), "{refused}");
    assert!(refused.contains("; and 1 more error\""), "{refused}");
    examine(&mut case, "3", "# nothing\n");
    assert!(newest(&case).unwrap().contains("no objects any more"));
    let one = "{apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: default}}";
    examine(&mut case, "4", one);
    assert_eq!(newest(&case), None);
    case.daemon.steered(suspension(Some("then")));
    let waits = newest(&case).unwrap();
    assert!(waits.contains("\"refused\":false"), "{waits}");
    assert!(waits.contains("capstan resume --name config"), "{waits}");
    // It stays until something was applied: what applies writes the parent first.
    case.daemon.newest.recorded = Some(case.daemon.newest());
    case.daemon.steered(suspension(None));
    assert!(newest(&case).is_some());
    let number = case.daemon.syncs;
    case.daemon.reported(number, Report::Settled);
    assert_eq!(newest(&case), None);
}

/// A cluster that never answers is asked again after 15 seconds, and one write is under way at a time.
#[tokio::test(start_paused = true)]
async fn what_cannot_be_recorded_is_tried_again() {
    let mut case = Case::applying(config_maps(&["a"])).await;
    case.daemon.record_newest();
    assert_eq!(
        case.jobs().await,
        [],
        "it is not known what the parent holds"
    );
    case.daemon.steered(Steering::default());
    case.daemon.record_newest();
    assert_eq!(case.jobs().await, [], "it holds what is so");
    case.daemon.newest.reject(Newest::refused("2", "no"));
    case.daemon.record_newest();
    case.daemon.record_newest();
    assert_eq!(case.handle_next().await, (60_000, "Recorded"));
    assert_eq!(case.handle_next().await, (15_000, "RecordAgain"));
    assert_eq!(case.handle_next().await, (60_000, "Recorded"));
}

#[tokio::test(start_paused = true)]
async fn what_a_deleted_parent_recorded_is_recorded_again() {
    let mut case = Case::new();
    let refused = Newest::refused("2", "no");
    let parent = |uid: &str, newest: Option<&Newest>| Steering {
        uid: Some(uid.to_owned()),
        newest: newest.cloned(),
        ..Steering::default()
    };
    case.daemon.newest.reject(refused.clone());
    case.daemon.steered(parent("a", Some(&refused)));
    let writes = |case: &mut Case| {
        case.daemon.record_newest();
        let is_busy = case.daemon.newest.busy;
        case.daemon.newest_recorded(case.daemon.newest(), Ok(()));
        is_busy
    };
    assert!(!writes(&mut case), "it holds what is so");
    case.daemon.steered(Steering::default());
    assert!(writes(&mut case), "there is none");
    case.daemon.steered(parent("b", Some(&refused)));
    assert!(!writes(&mut case));
    // Another daemon of the fleet is not argued with.
    case.daemon.steered(parent("b", None));
    assert!(!writes(&mut case));
    // It is replaced while a write is under way.
    case.daemon.newest.recorded = Some(None);
    case.daemon.record_newest();
    case.daemon.steered(parent("c", None));
    case.daemon.newest_recorded(Some(refused), Ok(()));
    assert!(writes(&mut case), "it may have reached the old one");
    assert!(!writes(&mut case));
}

#[tokio::test(start_paused = true)]
async fn a_fleet_that_its_document_suspended_until_now_is_not_called_suspended_by_hand() {
    let mut case = started("2");
    let waits = Newest::waiting("2", Newest::BY_DOCUMENT);
    case.daemon.steered(Steering {
        newest: Some(waits.clone()),
        ..Steering::default()
    });
    assert_eq!(case.daemon.newest(), Some(waits), "until it is applied");
    case.daemon.record_newest();
    assert!(!case.daemon.newest.busy, "nothing is to be written");
}
