//! An identity of the cluster that is not for everybody, on both servers: the shipped program does not apply
//! a control plane that may not use it, reports what to do, and applies the rest.

use capstan::adapters::azure_sim as actors;
use capstan::model::CheckState;
use serde_json::{Value as Json, json};

use super::pipeline::{Management, apply};
use crate::daemon::{DEFINITION, SYNC, World, identity};
use crate::patience::until;

const SPEED: u32 = 600;

/// The identity that the definition names allows this.
fn allow(cluster: &Management, allowed: &Json) {
    let identity = identity(allowed);
    cluster.runtime.block_on(apply(&cluster.client, &identity));
}

fn a_control_plane_waits_until_its_identity_allows_it(cluster: &Management) {
    allow(cluster, &json!({"list": ["platform"]}));
    let refused = "AzureClusterIdentity/clusters/cluster-identity may not be used from namespace clusters: its spec.allowedNamespaces does not include it; add clusters to spec.allowedNamespaces.list";
    let planned = cluster.capstan(&["plan", "examples/quickstart", "--against", "live"]);
    let plan = String::from_utf8_lossy(&planned.stdout).into_owned();
    assert_eq!(planned.status.code(), Some(1), "{plan}");
    assert!(
        plan.contains(&format!(
            "refused: AROControlPlane/clusters/quickstart: {refused}"
        )),
        "{plan}"
    );

    let mut world = World::on(Some(&cluster.kubeconfig));
    let map =
        "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: free, namespace: clusters}}\n";
    let revision = world.push("main", None, &format!("{DEFINITION}{map}"));
    world.start(SPEED);
    let failure = world.wait(&revision, SYNC, CheckState::Failure);
    assert!(failure.summary.contains(refused), "{failure:#?}");
    assert_eq!(
        cluster.count("controlplane.cluster.x-k8s.io", "AROControlPlane"),
        0
    );
    let others = || cluster.count("infrastructure.cluster.x-k8s.io", "AROCluster");
    until(
        || (others() == 1).then_some(()),
        || "the others do not go on".to_owned(),
    );

    // By labels, which the namespace does not have yet; then it has.
    allow(
        cluster,
        &json!({"list": [], "selector": {"matchLabels": {"team": "a"}}}),
    );
    let labelled = json!({"apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": "clusters", "labels": {"team": "a"}}});
    cluster.runtime.block_on(apply(&cluster.client, &labelled));
    let success = world.wait(&revision, SYNC, CheckState::Success);
    assert_eq!(success.title, "56/56 ready");
}

#[test]
fn an_identity_is_asked_on_the_simulator() {
    let cluster = Management::simulated(SPEED, actors::Options::default());
    a_control_plane_waits_until_its_identity_allows_it(&cluster);
}

#[test]
fn an_identity_is_asked_on_kube_apiserver() {
    if let Some(cluster) = Management::real(SPEED, actors::Options::default()) {
        a_control_plane_waits_until_its_identity_allows_it(&cluster);
    }
}
