//! From the conditions of clusters and pools to events.

use serde_json::{Value, json};

use super::*;
use crate::provider::status::{Mapping, Vocabulary, assess};

/// A condition `Type=Status` or `Type=Status: message`.
fn condition(text: &str) -> Value {
    let (head, message) = text.split_once(": ").unwrap_or((text, ""));
    let (kind, status) = head.split_once('=').unwrap();
    json!({"type": kind, "status": status, "message": message})
}

fn object(conditions: &[&str]) -> Value {
    let conditions: Vec<Value> = conditions.iter().map(|text| condition(text)).collect();
    json!({"status": {"conditions": conditions}})
}

impl Rig {
    /// The publisher is told what a cluster and its pools say.
    fn assess(&mut self, name: &str, cluster: &[&str], pools: &[&[&str]], milliseconds: u64) {
        let cluster = object(cluster);
        let pools: Vec<Value> = pools.iter().map(|pool| object(pool)).collect();
        let pools: Vec<&Value> = pools.iter().collect();
        let time = wall(ms(milliseconds));
        let told = assess(Some(&cluster), &pools, Mapping::Tolerant, time).status;
        self.tell(name, told.state, &told.message, milliseconds);
    }

    /// What was published up to a time, as the consumer reads it.
    fn events(&mut self, milliseconds: u64) -> Vec<Value> {
        let origin = Origin {
            provider: ProviderName::new("acm-cluster-sp").unwrap(),
            epoch: 1,
            vocabulary: Vocabulary::Proposal,
        };
        let messages = self.messages(milliseconds);
        let events = messages.iter().map(|message| {
            let event = cloud_event(&origin, Subject::Consumer, message);
            let event: Value = serde_json::from_slice(&event.body).unwrap();
            event["data"].clone()
        });
        events.collect()
    }
}

const READY: [&str; 2] = ["Available=True", "Progressing=False"];
const NODES: [&str; 1] = ["Ready=True"];

fn data(id: &str, status: &str, message: &str) -> Value {
    json!({"id": id, "status": status, "message": message})
}

#[test]
fn a_pool_that_fails_and_recovers_is_two_events() {
    let mut rig = Rig::new();
    rig.assess("a", &READY, &[&NODES], 0);
    assert_eq!(rig.events(1_000), [data("a", "READY", "")]);
    rig.assess("a", &READY, &[&["Ready=False: 1 of 2 nodes"]], 10_000);
    let away = data("a", "UNAVAILABLE", "NodePool: 1 of 2 nodes");
    assert_eq!(rig.events(11_000), [away]);
    // Neither other words nor another pool with the same state is an event.
    rig.assess("a", &READY, &[&["Ready=False: 0 of 2 nodes"]], 20_000);
    rig.assess(
        "a",
        &READY,
        &[&["Ready=False: 0 of 2 nodes"], &NODES],
        21_000,
    );
    assert_eq!(rig.events(30_000), [] as [Value; 0]);
    rig.assess("a", &READY, &[&NODES], 40_000);
    assert_eq!(rig.events(41_000), [data("a", "READY", "")]);
    // The pool goes, and the cluster stays.
    rig.assess("a", &READY, &[], 50_000);
    assert_eq!(rig.events(60_000), [] as [Value; 0]);
}

#[test]
fn a_pool_that_is_updated_is_provisioning() {
    let mut rig = Rig::new();
    rig.assess(
        "a",
        &READY,
        &[&["UpdatingVersion=True: to 4.17.3", "Ready=True"]],
        0,
    );
    assert_eq!(
        rig.events(1_000),
        [data("a", "PROVISIONING", "NodePool: to 4.17.3")]
    );
}

#[test]
fn failures_and_outages_have_the_words_of_the_cluster() {
    let mut rig = Rig::new();
    let down: &[&str] = &["Ready=False: no nodes"];
    rig.assess(
        "a",
        &["Available=False: no answer", "Progressing=False"],
        &[],
        0,
    );
    assert_eq!(rig.events(1_000), [data("a", "UNAVAILABLE", "no answer")]);
    rig.assess("a", &READY, &[&NODES], 2_000);
    assert_eq!(rig.events(3_000), [data("a", "READY", "")]);
    rig.assess("a", &["Degraded=True: etcd is broken"], &[down], 4_000);
    assert_eq!(rig.events(5_000), [data("a", "FAILED", "etcd is broken")]);
}

#[test]
fn two_clusters_with_a_pool_each_are_an_event_each() {
    let mut rig = Rig::new();
    rig.assess("a", &READY, &[&NODES], 0);
    rig.assess("b", &READY, &[&[]], 0);
    rig.assess("c", &READY, &[&["Ready=False: 0 of 1 nodes"]], 0);
    let expected = [
        data("a", "READY", ""),
        data("b", "READY", ""),
        data("c", "UNAVAILABLE", "NodePool: 0 of 1 nodes"),
    ];
    assert_eq!(rig.events(1_000), expected);
}
