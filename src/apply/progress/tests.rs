use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use super::*;
use crate::graph::{self, Graph};
use crate::model::{Needed, Object, ObjectId, Step};
use crate::plan::Plan;

const FLEET: &str = "\
{apiVersion: resources.azure.com/v1api20200601, kind: ResourceGroup, metadata: {name: rg}}
---
{apiVersion: keyvault.azure.com/v1api20230701, kind: Vault, metadata: {name: v}, spec: {owner: {name: rg}}}
";

fn graph() -> Arc<Graph> {
    let (documents, _) = crate::yaml::read(&Arc::from("fleet.yaml"), FLEET.as_bytes());
    let objects: Vec<Object> = documents
        .into_iter()
        .filter_map(|node| Object::from_node(node, "default"))
        .collect();
    Arc::new(graph::build(&objects).0)
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("in range")
}

fn progress(second: i64, kind: &str, state: State) -> Progress {
    let (group, name) = if kind == "Vault" {
        ("keyvault.azure.com", "v")
    } else {
        ("resources.azure.com", "rg")
    };
    let object = ObjectId::new(group, kind, "default", name);
    Progress {
        at: at(second),
        object,
        state,
        terminal: false,
        message: String::new(),
    }
}

fn tracker() -> Tracker {
    Tracker::new(&graph(), Duration::ZERO, at(0))
}

#[test]
fn the_title_counts_and_names_what_is_waited_for() {
    let mut tracker = tracker();
    assert_eq!(
        tracker.summary(at(0)).title(),
        "0/2 ready, ResourceGroup, less than a minute left"
    );
    assert!(tracker.note(&progress(1, "ResourceGroup", State::Ready)));
    assert_eq!(
        tracker.summary(at(1)).title(),
        "1/2 ready, Vault, less than a minute left"
    );
    tracker.note(&progress(2, "Vault", State::Ready));
    assert!(tracker.is_ready());
    assert_eq!(tracker.summary(at(2)).title(), "2/2 ready");
}

#[test]
fn the_time_left_shrinks_while_an_object_progresses() {
    let mut tracker = tracker();
    let all = tracker.summary(at(0)).left;
    tracker.note(&progress(0, "ResourceGroup", State::Progressing));
    assert_eq!(tracker.summary(at(4)).left, all - Duration::from_secs(4));
}

#[test]
fn an_apply_that_changes_nothing_does_not_unmake_ready() {
    let mut tracker = tracker();
    tracker.note(&progress(1, "Vault", State::Ready));
    assert!(!tracker.note(&progress(2, "Vault", State::Applied)));
    assert_eq!(tracker.summary(at(2)).ready, 1);
}

#[test]
fn what_an_earlier_revision_saw_is_shown_but_does_not_count() {
    let mut earlier = tracker();
    earlier.note(&progress(1, "ResourceGroup", State::Ready));
    earlier.note(&progress(1, "Vault", State::Ready));
    let mut tracker = tracker().carrying(&earlier);
    assert_eq!(tracker.summary(at(5)).title(), "2/2 ready");
    assert!(!tracker.is_ready(), "nothing was seen yet");
    tracker.note(&progress(6, "ResourceGroup", State::Ready));
    tracker.note(&progress(6, "Vault", State::Ready));
    assert!(tracker.is_ready());
}

#[test]
fn that_waiting_is_now_in_vain_is_reported() {
    let mut tracker = tracker();
    let failed = progress(1, "Vault", State::Failed);
    assert!(tracker.note(&failed));
    assert!(!tracker.note(&failed));
    let in_vain = Progress {
        terminal: true,
        ..failed
    };
    assert!(tracker.note(&in_vain));
}

#[test]
fn a_failure_is_the_title() {
    let mut tracker = tracker();
    let failed = Progress {
        terminal: true,
        message: "QuotaExceeded:\n  none left. Ask for more".to_owned(),
        ..progress(1, "Vault", State::Failed)
    };
    tracker.note(&failed);
    let summary = tracker.summary(at(1));
    assert!(summary.terminal);
    assert_eq!(
        summary.title(),
        "0/2 ready, Vault/default/v failed: QuotaExceeded: none left"
    );
}

#[test]
fn all_was_tried_when_the_remaining_steps_wait_for_failed_ones() {
    let step = |kind: &str, after: &[(usize, Needed)]| {
        Step::bare(progress(0, kind, State::Failed).object, after)
    };
    let plan = |after: &[(usize, Needed)]| Plan {
        steps: vec![step("ResourceGroup", &[]), step("Vault", after)],
        ..Plan::default()
    };
    let mut tracker = tracker();
    assert!(!tracker.has_tried_all(&plan(&[])));
    tracker.note(&progress(1, "ResourceGroup", State::Failed));
    assert!(
        !tracker.has_tried_all(&plan(&[])),
        "the vault waits for nothing"
    );
    assert!(tracker.has_tried_all(&plan(&[(0, Needed::Applied)])));
    tracker.note(&progress(2, "ResourceGroup", State::Applied));
    tracker.note(&progress(2, "Vault", State::Failed));
    assert!(tracker.has_tried_all(&plan(&[])));
}

#[test]
fn objects_outside_the_fleet_are_ignored() {
    let other = Progress {
        object: ObjectId::new("", "ConfigMap", "a", "b"),
        ..progress(1, "Vault", State::Ready)
    };
    assert!(!tracker().note(&other));
}
