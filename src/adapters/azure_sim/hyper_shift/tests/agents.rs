//! Pools on the Agent platform.

use super::*;
use crate::api::kinds::AGENT_INSTALL;
use crate::reconcile::world::World;

const POOL: &str = "NodePool";

fn on_metal(replicas: i64, has_lab: bool) -> Fixture {
    let mut fixture = cluster(&[], has_lab);
    fixture.put(hosted(
        json!({"type": "Agent", "agent": {"agentNamespace": "lab"}}),
    ));
    let rule = json!({"key": "size", "operator": "In", "values": ["big", "huge"]});
    let selector = json!({"matchLabels": {"rack": "a"}, "matchExpressions": [rule]});
    let platform = json!({"type": "Agent", "agent": {"agentLabelSelector": selector}});
    fixture.put(pool(platform, "InPlace", json!({"replicas": replicas})));
    fixture
}

fn agent(name: &str, labels: Value, spec: Value) -> Value {
    json!({"apiVersion": "agent-install.openshift.io/v1beta1", "kind": "Agent",
        "metadata": {"name": name, "namespace": "lab", "labels": labels}, "spec": spec})
}

/// The names of the Agents, bound or not.
fn agents(fixture: &Fixture, bound: bool) -> Vec<String> {
    let kind = GroupKind::new(AGENT_INSTALL, "Agent");
    let all = fixture.snapshot.of_kind(&kind);
    let all = all.filter_map(|id| World::of(&fixture.snapshot).get(id).present());
    let cluster = ["spec", "clusterDeploymentName", "namespace"];
    let picked = all.filter(|agent| (agent.text(&cluster) == "ns-c-x") == bound);
    picked.map(|agent| agent.name().to_owned()).collect()
}

#[test]
fn a_lab_has_the_machines_that_a_pool_selects() {
    let mut fixture = on_metal(2, true);
    fixture.run_to(NODES);
    assert!(has(&fixture, "Namespace", "lab"));
    assert_eq!(agents(&fixture, true), ["ns-p-0", "ns-p-1"]);
    let agent = fixture.live("Agent", "ns-p-0").unwrap();
    assert_eq!(
        agent["metadata"]["labels"],
        json!({"rack": "a", "size": "big"})
    );
    assert_eq!(agent["spec"]["approved"], true);
    assert_eq!(fixture.unready(), Vec::<String>::new());
    edit(&mut fixture, POOL, "p", |live| {
        live["spec"]["replicas"] = json!(3)
    });
    fixture.run_to(NODES);
    assert_eq!(agents(&fixture, true).len(), 3);
    assert_eq!(state(&fixture, POOL, "p"), HealthState::Progressing);
    fixture.run_to(NODES + 600);
    assert_eq!(fixture.unready(), Vec::<String>::new());
    edit(&mut fixture, POOL, "p", |live| {
        live["spec"]["replicas"] = json!(1)
    });
    fixture.run_to(NODES + 600);
    assert_eq!(
        (agents(&fixture, true).len(), agents(&fixture, false).len()),
        (1, 2)
    );
    assert_eq!(fixture.live(POOL, "p").unwrap()["status"]["replicas"], 1);
    delete(&mut fixture, "HostedCluster", "c.x");
    fixture.run();
    assert_eq!(agents(&fixture, false), ["ns-p-0", "ns-p-1", "ns-p-2"]);
    assert!(!has(&fixture, POOL, "p") && !has(&fixture, "HostedCluster", "c.x"));
}

#[test]
fn a_pool_takes_only_what_is_approved_free_and_selected() {
    let mut fixture = on_metal(2, false);
    let labels = || json!({"rack": "a", "size": "huge"});
    let approved = || json!({"approved": true, "role": "worker"});
    let taken = json!({"approved": true, "role": "worker", "clusterDeploymentName": {"name": "other", "namespace": "x"}});
    fixture.put(agent("good", labels(), approved()));
    fixture.put(agent("taken", labels(), taken));
    fixture.put(agent(
        "small",
        json!({"rack": "a", "size": "small"}),
        approved(),
    ));
    fixture.put(agent(
        "elsewhere",
        json!({"rack": "b", "size": "big"}),
        approved(),
    ));
    fixture.put(agent(
        "unapproved",
        labels(),
        json!({"approved": false, "role": "worker"}),
    ));
    fixture.run_to(NODES + 1000);
    assert_eq!(agents(&fixture, true), ["good"]);
    assert_eq!(said(&fixture, POOL, "p", "Ready"), "False NoSuitableAgents");
    assert_eq!(
        message(&fixture, POOL, "p", "Ready"),
        "1 of 2 Agents are bound: namespace lab has no other one that is approved, not bound, and matches the agentLabelSelector"
    );
    // The time of the nodes begins with the last machine.
    edit(&mut fixture, "Agent", "unapproved", |agent| {
        agent["spec"]["approved"] = json!(true)
    });
    fixture.run_to(NODES + 1599);
    assert_eq!(agents(&fixture, true), ["good", "unapproved"]);
    assert_eq!(state(&fixture, POOL, "p"), HealthState::Progressing);
    fixture.run_to(NODES + 1600);
    assert_eq!(fixture.unready(), Vec::<String>::new());
}

#[test]
fn a_lab_has_500_machines_for_a_pool() {
    let mut fixture = on_metal(501, true);
    fixture.run();
    assert_eq!(agents(&fixture, true).len(), 500);
    let said = message(&fixture, POOL, "p", "Ready");
    assert!(said.starts_with("500 of 501 Agents are bound"), "{said}");
}

#[test]
fn two_pools_share_no_machine() {
    let mut fixture = on_metal(2, true);
    let mut other = fixture.live(POOL, "p").unwrap();
    other["metadata"] = json!({"name": "q"});
    fixture.put(other);
    fixture.run();
    assert_eq!(
        (agents(&fixture, true).len(), fixture.unready()),
        (4, Vec::new())
    );
}

#[test]
fn where_agents_are_not_served_the_pool_says_so() {
    let mut fixture = on_metal(1, true);
    fixture
        .snapshot
        .sync(&GroupKind::new(AGENT_INSTALL, "Agent"), false);
    fixture.run();
    let said = message(&fixture, POOL, "p", "Ready");
    assert!(
        said.ends_with("does not serve the kind Agent of agent-install.openshift.io"),
        "{said}"
    );
}
