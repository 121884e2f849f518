//! The annotation on the parent that approves losses: it counts once, for what is applied.

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::keeping::{Cluster, in_a_namespace, set};
use super::*;
use crate::api::labels::APPROVE_ANNOTATION;
use crate::plan::approvals::annotated;

const TEXT: &str = "delete c/one, delete two";

impl Cluster {
    async fn annotate(&self, text: &str) {
        let patch: Value = json!({"metadata": {"annotations": {APPROVE_ANNOTATION: text}}});
        let (params, patch) = (PatchParams::default(), Patch::Merge(&patch));
        let (parents, name) = (self.parents(), set().parent().name);
        parents.patch(&name, &params, &patch).await.unwrap();
    }

    async fn is_annotated(&self) -> bool {
        let live = self.parents().get(&set().parent().name).await.unwrap();
        let annotations = live.metadata.annotations.unwrap_or_default();
        annotations.contains_key(APPROVE_ANNOTATION)
    }
}

impl Case {
    /// The watch on the parent says so.
    fn annotated(&mut self, text: &str) {
        self.steered(Steering {
            approve: Some(text.to_owned()),
            applying: self.commit.clone(),
            ..Steering::default()
        });
        self.conclude();
    }

    /// What may be deleted of `revision` after `applied`, and the lines that approve nothing.
    fn said(&self, applied: &str, revision: &str) -> (Vec<String>, Vec<String>) {
        let found = self.daemon.source.approvals.for_revision(applied, revision);
        (found.deletable().into_iter().collect(), found.unclear)
    }
}

#[tokio::test(start_paused = true)]
async fn an_annotation_counts_once_and_for_what_is_applied() {
    let mut case = Case::applying_with(config_maps(&["a"]), in_a_namespace()).await;
    let cluster = Cluster::new().await;
    case.daemon.target.client = cluster.client();
    let (commit, number) = (case.commit.clone(), case.number());
    cluster.annotate(TEXT).await;
    case.annotated(TEXT);
    assert_eq!(case.said(&commit, &commit).0, [""; 0], "it is still there");
    assert_eq!(case.handle_next().await.1, "Taken");
    assert!(!cluster.is_annotated().await);
    assert_eq!(case.number(), number + 1, "it is applied once more");
    let unclear = "capstan.dev/approve: delete two".to_owned();
    let expected = (vec!["c/one".to_owned()], vec![unclear]);
    assert_eq!(case.said(&commit, &commit), expected);
    assert_eq!(case.said("another", &commit), expected);
    // What the watch says late is not taken twice.
    case.annotated(TEXT);
    assert_eq!(case.handle_next().await.1, "Taken");
    assert_eq!(case.number(), number + 1);
    // It is not for what is planned or applied later.
    let author = Author::init(&case._dir.path().join("config.git")).unwrap();
    let files: Files = [("a.yaml".to_owned(), "# b\n".to_owned())].into();
    let time = Timestamp::UNIX_EPOCH;
    let next = author.push("main", Some(&commit), &files, "next", time);
    let (next, source) = (next.unwrap(), &case.daemon.source);
    source
        .revisions
        .origin
        .repository()
        .unwrap()
        .fetch()
        .unwrap();
    for applied in [&commit, &next, ""] {
        assert_eq!(case.said(applied, &next).0, [""; 0], "{applied}");
    }
    for applied in [Some(&*commit), Some(&next), None] {
        let planned = source.approvals.for_candidate(&commit, &next, applied);
        assert_eq!(planned.given, [], "{applied:?}");
    }
    source.take_up(&next);
    source.take_up(&commit);
    assert_eq!(
        case.said(&commit, &commit).0,
        [""; 0],
        "it was applied again"
    );
}

#[test]
fn an_annotation_approves_losses_of_a_directory() {
    let top = tempfile::tempdir().unwrap();
    let revision = directory::publish(top.path(), "a", directory::ONE);
    let source = directory::source(top.path());
    let annotated = annotated(TEXT, &revision, Timestamp::UNIX_EPOCH);
    source.approvals.add(annotated);
    for applied in ["", &revision, "another", &"b".repeat(64)] {
        let found = source.approvals.for_revision(applied, &revision);
        assert_eq!(found.deletable(), ["c/one".to_owned()].into(), "{applied}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_annotation_that_cannot_be_taken_off_waits_15_seconds() {
    let mut case = Case::applying_with(config_maps(&["a"]), in_a_namespace()).await;
    let cluster = Cluster::new().await;
    case.daemon.target.client = cluster.failing(1);
    let commit = case.commit.clone();
    cluster.annotate(TEXT).await;
    case.annotated(TEXT);
    assert_eq!(case.handle_next().await, (0, "Taken"));
    assert_eq!(case.said(&commit, &commit).0, [""; 0]);
    let start = Instant::now();
    while case.said(&commit, &commit).0.is_empty() {
        case.handle_next().await;
    }
    assert_eq!(start.elapsed(), Duration::from_secs(15));
}

#[tokio::test(start_paused = true)]
async fn an_annotation_waits_until_something_is_applied() {
    let mut case = Case::with(in_a_namespace());
    let cluster = Cluster::new().await;
    case.daemon.target.client = cluster.client();
    cluster.annotate(TEXT).await;
    case.annotated(TEXT);
    assert!(case.jobs().await.iter().all(|(_, name)| *name != "Taken"));
    assert!(cluster.is_annotated().await);
}

/// Whoever set it while no daemon ran knew of no later revision.
#[tokio::test(start_paused = true)]
async fn an_annotation_from_before_a_start_approves_nothing_of_a_later_revision() {
    let mut case = Case::applying_with(config_maps(&["a"]), in_a_namespace()).await;
    let cluster = Cluster::new().await;
    case.daemon.target.client = cluster.client();
    let (commit, number) = (case.commit.clone(), case.number());
    cluster.annotate(TEXT).await;
    case.steered(Steering {
        approve: Some(TEXT.to_owned()),
        applying: "an earlier one".to_owned(),
        ..Steering::default()
    });
    case.conclude();
    assert_eq!(case.handle_next().await.1, "Taken");
    assert!(!cluster.is_annotated().await);
    assert_eq!(case.said(&commit, &commit).0, [""; 0]);
    assert_eq!(case.number(), number);
}
