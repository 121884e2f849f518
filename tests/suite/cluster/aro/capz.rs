//! CAPZ's controllers beside ours: they hand over to one another both ways, and never act at once. CAPZ is played by our
//! controllers under its name.

use std::sync::Arc;
use std::time::Duration;

use capstan::adapters::kubernetes::controller::Running;
use capstan::adapters::kubernetes::{Group, Sharers, Sharing, Standing, share};
use capstan::api::fleet::Mode;
use capstan::model::Namespaces;
use capstan::reconcile::aro;
use jiff::Timestamp;
use kube::api::{Api, ApiResource, DynamicObject, ListParams, Patch, PatchParams};
use kube::core::GroupVersionKind;
use serde_json::json;

use super::clients::Log;
use super::fixture::{Fixture, on_kube_apiserver_with_lease, on_simulator};
use super::manifests::{Cluster, NAMESPACE};
use crate::cluster::pipeline::apply;
use crate::play::{connectors, ours, settings};

const CAPZ: &str = "CAPZ";
const OURS: &str = "Capstan";

fn capz(fixture: &Fixture, log: &Log) -> Running {
    let client = log.client(&fixture.client, &fixture.clock, CAPZ, Some("manager"));
    ours(&client, &fixture.clock)
}

/// Our controllers, careful.
fn capstan(fixture: &Fixture, log: &Log) -> Sharers {
    let client = log.client(&fixture.client, &fixture.clock, OURS, None);
    let sharing = Sharing {
        group: Group::Aro,
        near: Vec::new(),
        mode: Mode::Auto,
        namespace: "capstan-system".to_owned(),
        identity: "ours".to_owned(),
        watched: Namespaces::All,
    };
    let connectors = connectors(&client, &fixture.clock);
    share(
        &client,
        Arc::clone(&fixture.clock),
        aro(settings()),
        connectors,
        sharing,
    )
}

/// The API of a kind in the namespace of the clusters.
fn api(fixture: &Fixture, group: &str, kind: &str) -> Api<DynamicObject> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1", kind));
    Api::namespaced_with(fixture.client.clone(), NAMESPACE, &resource)
}

/// CAPZ's Deployment, with this many pods, all ready.
async fn deployment(fixture: &Fixture, pods: usize) {
    let container =
        json!({"name": "manager", "image": "capz", "args": ["--feature-gates=ARO=true"]});
    apply(&fixture.client, &json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "capz-controller-manager", "namespace": NAMESPACE,
            "labels": {"cluster.x-k8s.io/provider": "infrastructure-azure"}},
        "spec": {"replicas": pods, "selector": {"matchLabels": {"app": "capz"}},
            "template": {"metadata": {"labels": {"app": "capz"}}, "spec": {"containers": [container]}}}})).await;
    let as_nobody = PatchParams::default();
    if fixture.server.is_some() {
        let counts = json!({"replicas": pods, "readyReplicas": pods, "availableReplicas": pods});
        let status = Patch::Merge(json!({"status": counts}));
        let deployments = api(fixture, "apps", "Deployment");
        let name = "capz-controller-manager";
        let patched = deployments.patch_status(name, &as_nobody, &status);
        patched.await.expect("it is there");
        return;
    }
    // The controllers of a real server make the pods, and there is no node to run them.
    let made = api(fixture, "", "Pod");
    let of_capz = ListParams::default().labels("app=capz");
    fixture
        .until(format!("{pods} pods"), async || {
            let list = made.list(&of_capz).await.expect("a list");
            list.items.len() == pods
        })
        .await;
    for pod in made.list(&of_capz).await.expect("a list") {
        let ready =
            json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]});
        let name = pod.metadata.name.unwrap_or_default();
        let status = Patch::Merge(json!({"status": ready}));
        let patched = made.patch_status(&name, &as_nobody, &status).await;
        patched.expect("it is there");
    }
}

async fn until_acting(fixture: &Fixture, sharers: &Sharers, acts: bool) -> i64 {
    let start = fixture.clock.now();
    let standing = sharers.standing();
    let what = if acts { "ours act" } else { "ours step back" };
    fixture
        .until(what, async || match &*standing.borrow() {
            // A Lease that is renewed too late is no step back.
            Standing::SteppedBack(_) => !acts,
            standing => acts && standing.acts(),
        })
        .await;
    fixture.clock.now().duration_since(start).as_secs()
}

/// On a real server time passes faster than requests do.
fn waited_for(fixture: &Fixture, seconds: i64, about: std::ops::RangeInclusive<i64>) {
    if fixture.server.is_some() {
        assert!(about.contains(&seconds), "{seconds} s");
    }
}

/// No write of the other after the first status that one wrote since then: that shows that it is at work.
fn took_turns(fixture: &Fixture, log: &Log, since: Timestamp, first: &'static str) {
    let written = log.written();
    let begins = written
        .iter()
        .find(|(at, who, path)| *at >= since && *who == first && path.ends_with("/status"));
    let (begins, ..) = begins.expect("it wrote");
    // What was on its way when the other appeared still arrives.
    let grace = *begins + fixture.grace();
    let both: Vec<_> = written
        .iter()
        .filter(|(at, who, _)| *at > grace && *who != first)
        .collect();
    assert!(both.is_empty(), "{both:#?}");
}

async fn handed_over_by_its_deployment(fixture: &Fixture) {
    let log = Log::default();
    let _actors = fixture.actors();
    deployment(fixture, 1).await;
    let theirs = capz(fixture, &log);
    let sharers = capstan(fixture, &log);
    let mut cluster = Cluster::new("one");
    fixture.apply(&cluster).await;
    fixture.pass(Duration::from_secs(300)).await;
    assert_eq!(log.turns(), [CAPZ]);

    // In the middle of the HCP cluster.
    drop(theirs);
    deployment(fixture, 0).await;
    let waited = until_acting(fixture, &sharers, true).await;
    waited_for(fixture, waited, 60..=610);
    fixture.until_ready(14).await;
    assert_eq!(log.turns(), [CAPZ, OURS]);

    let back = fixture.clock.now();
    deployment(fixture, 1).await;
    let theirs = capz(fixture, &log);
    until_acting(fixture, &sharers, false).await;
    cluster.pools[0].1 = 4;
    fixture.apply(&cluster).await;
    fixture
        .until("it is scaled", async || {
            fixture.live("AROMachinePool", "one-mp1").await["status"]["replicas"] == 4
        })
        .await;
    assert_eq!(log.turns(), [CAPZ, OURS, CAPZ]);
    took_turns(fixture, &log, back, CAPZ);

    // And once more, for the end.
    drop(theirs);
    deployment(fixture, 0).await;
    until_acting(fixture, &sharers, true).await;
    fixture.delete("Cluster", "one").await;
    fixture.until_gone().await;
    assert_eq!(log.turns(), [CAPZ, OURS, CAPZ, OURS]);
    let tally = fixture.tally();
    assert!(tally.values().all(|counts| *counts == (1, 1)), "{tally:#?}");
}

/// CAPZ runs where nobody sees it: only what it writes tells. Between two of its writes the HCP cluster is made for almost
/// the 10 minutes after which we take over, so that this needs a time that does not run on while requests do.
async fn handed_over_by_what_is_written(fixture: &Fixture) {
    let log = Log::default();
    let _actors = fixture.actors();
    let sharers = capstan(fixture, &log);
    until_acting(fixture, &sharers, true).await;
    fixture.apply(&Cluster::new("one")).await;
    fixture
        .until("the HCP cluster is there", async || {
            fixture.get("HcpOpenShiftCluster", "one").await.is_some()
        })
        .await;
    let start = fixture.clock.now();
    let theirs = capz(fixture, &log);
    // It has something to write, as soon as something happens.
    until_acting(fixture, &sharers, false).await;
    fixture
        .until("the node pool is there", async || {
            fixture
                .get("HcpOpenShiftClustersNodePool", "one-mp1")
                .await
                .is_some()
        })
        .await;
    fixture.pass(Duration::from_secs(10)).await;
    took_turns(fixture, &log, start, CAPZ);
    drop(theirs);
    let (last, ..) = log
        .written()
        .into_iter()
        .rfind(|(_, who, _)| *who == CAPZ)
        .expect("it wrote");
    until_acting(fixture, &sharers, true).await;
    let waited = fixture.clock.now().duration_since(last).as_secs();
    waited_for(fixture, waited, 590..=700);
    fixture.until_ready(14).await;
    took_turns(fixture, &log, last + 2 * fixture.grace(), OURS);
    fixture.delete("Cluster", "one").await;
    fixture.until_gone().await;
    let tally = fixture.tally();
    assert!(tally.values().all(|counts| *counts == (1, 1)), "{tally:#?}");
}

#[test]
fn a_cluster_is_handed_over_by_its_deployment_both_ways() {
    on_simulator(handed_over_by_its_deployment);
}

#[test]
fn a_cluster_is_handed_over_by_its_deployment_both_ways_on_kube_apiserver() {
    on_kube_apiserver_with_lease(handed_over_by_its_deployment);
}

#[test]
fn a_cluster_is_handed_over_by_what_is_written_both_ways() {
    on_simulator(handed_over_by_what_is_written);
}
