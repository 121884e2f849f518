//! What the parent in the cluster records of the newest commit.

use super::*;
use crate::apply::Newest;

impl Case {
    fn recorded(&mut self, newest: Option<Newest>) {
        let recorded = ClusterEvent::NewestRecorded(Box::new((newest, Ok(()))));
        self.only(Event::Cluster(recorded));
    }

    /// The newest commit, if it is not applied.
    pub(super) fn newest(&mut self) -> Option<Newest> {
        self.parts().releases.newest("config")
    }
}

#[tokio::test(start_paused = true)]
async fn what_became_of_the_newest_commit_is_recorded_until_it_is_applied() {
    let mut case = Case::applying(config_maps(&["a"])).await;
    let newest = |case: &mut Case| case.newest().map(|newest| newest.text());
    assert_eq!(newest(&mut case), None);
    let examine = |case: &mut Case, revision: &str, text: &str| {
        let tree = Tree {
            files: [(Arc::from("a.yaml"), Arc::from(text.as_bytes()))].into(),
            ..Tree::default()
        };
        case.parts().heads.look(revision);
        case.examined(case.examination(revision, compile(&tree, &[])));
    };
    examine(&mut case, "2", "kind: ConfigMap\n---\nkind: Secret\n");
    let refused = newest(&mut case).unwrap();
    assert!(refused.contains("\"revision\":\"2\""), "{refused}");
    assert!(refused.contains("a.yaml:1:1: Y09 "), "{refused}");
    assert!(refused.contains("; and 1 more error\""), "{refused}");
    examine(&mut case, "3", "# nothing\n");
    assert!(newest(&mut case).unwrap().contains("no objects any more"));
    let one = "{apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: default}}";
    examine(&mut case, "4", one);
    assert_eq!(newest(&mut case), None);
    case.steered(suspension(Some("then")));
    let waits = newest(&mut case).unwrap();
    assert!(waits.contains("\"refused\":false"), "{waits}");
    assert!(waits.contains("capstan resume --name config"), "{waits}");
    // It stays until something was applied: what applies writes the parent first.
    let recorded = case.newest();
    case.parts().releases.newest_mut().set_recorded(recorded);
    case.steered(suspension(None));
    assert!(newest(&mut case).is_some());
    let number = case.number();
    case.reported(number, Report::Settled);
    assert_eq!(newest(&mut case), None);
}

/// A cluster that never answers is asked again after 15 seconds, and one write is under way at a time.
#[tokio::test(start_paused = true)]
async fn what_cannot_be_recorded_is_tried_again() {
    let mut case = Case::applying(config_maps(&["a"])).await;
    case.conclude();
    assert_eq!(
        case.jobs().await,
        [],
        "it is not known what the parent holds"
    );
    case.steered(Steering::default());
    case.conclude();
    assert_eq!(case.jobs().await, [], "it holds what is so");
    case.parts()
        .releases
        .newest_mut()
        .reject(Newest::refused("2", "no"));
    case.conclude();
    case.conclude();
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
    case.parts().releases.newest_mut().reject(refused.clone());
    case.steered(parent("a", Some(&refused)));
    let writes = |case: &mut Case| {
        case.conclude();
        let is_busy = case.parts().releases.newest_mut().is_busy();
        let newest = case.newest();
        case.recorded(newest);
        is_busy
    };
    assert!(!writes(&mut case), "it holds what is so");
    case.steered(Steering::default());
    assert!(writes(&mut case), "there is none");
    case.steered(parent("b", Some(&refused)));
    assert!(!writes(&mut case));
    // Another daemon of the fleet is not argued with.
    case.steered(parent("b", None));
    assert!(!writes(&mut case));
    // It is replaced while a write is under way.
    case.parts().releases.newest_mut().set_recorded(None);
    case.conclude();
    case.steered(parent("c", None));
    case.recorded(Some(refused));
    assert!(writes(&mut case), "it may have reached the old one");
    assert!(!writes(&mut case));
}

#[tokio::test(start_paused = true)]
async fn a_fleet_that_its_document_suspended_until_now_is_not_called_suspended_by_hand() {
    let mut case = started("2");
    let waits = Newest::waiting("2", Newest::BY_DOCUMENT);
    case.steered(Steering {
        newest: Some(waits.clone()),
        ..Steering::default()
    });
    assert_eq!(case.newest(), Some(waits), "until it is applied");
    let parts = case.parts();
    parts.releases.record_newest(parts.turn);
    assert!(
        !case.parts().releases.newest_mut().is_busy(),
        "nothing is to be written"
    );
}
