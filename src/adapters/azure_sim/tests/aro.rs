//! The whole play on a bare stage: the ARO controllers with Cluster API and ASO around them.

use serde_json::{Value, json};

use super::manifests::{NAMESPACE, infrastructure, small_cluster};
use super::*;
use crate::api::conditions as c;
use crate::api::embedded::KMS;
use crate::api::kinds::CAPI;
use crate::health::Live;
use crate::model::{HealthState, ObjectId};
use crate::reconcile::fixture::Stage;

const SETTLE: Duration = Duration::from_secs(120);

fn stage(failures: &[&str]) -> Stage {
    let failures: Vec<Failure> = failures
        .iter()
        .map(|f| f.parse().expect("a failure"))
        .collect();
    let mut actors = aso::actors(&failures);
    actors.extend(capi::actors());
    actors.extend(crate::reconcile::actors(SETTLE));
    let mut stage = Stage::new(actors);
    small_cluster()
        .into_iter()
        .for_each(|object| stage.put(object));
    stage
}

/// Status and reason of a condition.
fn condition(stage: &Stage, kind: &str, name: &str, condition: &str) -> (String, String) {
    let object = stage.live(kind, name).unwrap_or_default();
    let found = Live(&object).condition(condition);
    found.map_or_else(Default::default, |c| {
        (c.status().to_owned(), c.reason().to_owned())
    })
}

/// The second at which an object is there for the first time.
fn appears(stage: &mut Stage, kind: &str, name: &str) -> i64 {
    (stage.elapsed()..4000)
        .find(|second| {
            stage.run_to(*second);
            stage.live(kind, name).is_some()
        })
        .unwrap_or(-1)
}

#[test]
fn a_cluster_becomes_ready_as_a_whole() {
    let mut stage = stage(&[]);
    stage.run();
    assert_eq!(stage.unready(), Vec::<String>::new());
    let minutes = stage.elapsed() / 60;
    assert!((19..25).contains(&minutes), "{minutes} minutes");
    let pool = stage.live("MachinePool", "c-mp1").unwrap_or_default();
    assert_eq!(pool["spec"]["replicas"], 2, "the autoscaler's number");
    let cluster = stage.live("AROCluster", "c").unwrap_or_default();
    assert_eq!(cluster["spec"]["controlPlaneEndpoint"]["port"], 443);
    assert_eq!(cluster["status"]["initialization"]["provisioned"], true);
}

#[test]
fn the_hcp_cluster_comes_after_its_role_assignments_have_settled() {
    let mut stage = stage(&[]);
    let assigned = (0..300)
        .find(|second| {
            stage.run_to(*second);
            stage.health("RoleAssignment", "kms-vault").is_ready()
        })
        .unwrap_or_default();
    stage.run_to(assigned + 60);
    let said = condition(&stage, "AROControlPlane", "c", c::HCP_CLUSTER_READY);
    assert_eq!(
        said,
        ("False".to_owned(), "WaitingForRoleAssignments".to_owned())
    );
    assert_eq!(
        appears(&mut stage, "HcpOpenShiftCluster", "c"),
        assigned + 120
    );
}

#[test]
fn the_key_version_is_injected_once_its_vault_is_there() {
    let mut stage = stage(&[]);
    appears(&mut stage, "HcpOpenShiftCluster", "c");
    let key = condition(&stage, "AROControlPlane", "c", c::ENCRYPTION_KEY_READY);
    assert_eq!(key, ("True".to_owned(), c::KEY_READY.to_owned()));
    let hcp = stage.live("HcpOpenShiftCluster", "c").unwrap_or_default();
    let version = [KMS.as_slice(), &["activeKey", "version"]].concat();
    assert_eq!(Live(&hcp).text(&version).len(), 32);
}

#[test]
fn making_a_key_takes_5_seconds_after_its_vault() {
    let mut stage = stage(&[]);
    let mut cluster = stage.live("AROCluster", "c").unwrap_or_default();
    let resources = cluster["spec"]["resources"].as_array_mut();
    resources.into_iter().for_each(|all| all.truncate(2));
    stage.put(cluster);
    let ready = (0..300)
        .find(|second| {
            stage.run_to(*second);
            stage.health("Vault", "vault").is_ready()
        })
        .unwrap_or_default();
    for (second, reason) in [(ready + 4, c::CREATING_KEY), (ready + 5, c::KEY_READY)] {
        stage.run_to(second);
        let key = condition(&stage, "AROControlPlane", "c", c::ENCRYPTION_KEY_READY);
        assert_eq!(key.1, reason, "{second}");
    }
}

#[test]
fn without_identity_the_key_must_be_given() {
    let mut stage = stage(&[]);
    let mut plane = stage.live("AROControlPlane", "c").unwrap_or_default();
    plane["spec"]["identityRef"] = Value::Null;
    stage.put(plane);
    stage.run();
    assert!(stage.health("AROControlPlane", "c").is_terminal());
    assert!(stage.live("HcpOpenShiftCluster", "c").is_none());
}

#[test]
fn external_authentication_comes_after_a_node_pool() {
    let mut stage = stage(&[]);
    let hcp = appears(&mut stage, "HcpOpenShiftCluster", "c");
    stage.run_to(hcp + 600);
    let said = condition(&stage, "AROControlPlane", "c", c::EXTERNAL_AUTH_READY);
    assert_eq!(
        said,
        ("False".to_owned(), c::WAITING_FOR_NODE_POOL.to_owned())
    );
    let auth = appears(&mut stage, "HcpOpenShiftClustersExternalAuth", "ea");
    assert!(
        stage
            .health("HcpOpenShiftClustersNodePool", "c-mp1")
            .is_ready()
    );
    stage.run_to(auth + 10);
    let said = condition(&stage, "AROControlPlane", "c", c::EXTERNAL_AUTH_READY);
    assert_eq!(said.1, "Reconciling");
}

#[test]
fn a_failing_node_pool_is_told_up_to_the_machine_pool() {
    let mut stage = stage(&["HcpOpenShiftClustersNodePool/c-mp1=InvalidRequestContent"]);
    stage.run();
    assert!(stage.health("AROMachinePool", "c-mp1").is_terminal());
    assert!(!stage.health("Cluster", "c").is_ready());
    assert_eq!(
        stage.health("AROControlPlane", "c").state,
        HealthState::Waiting,
        "for a pool"
    );
}

#[test]
fn what_leaves_the_list_is_deleted_and_the_rest_stays() {
    let mut stage = stage(&[]);
    stage.run();
    let mut cluster = stage.live("AROCluster", "c").unwrap_or_default();
    let mut items = infrastructure().as_array().cloned().unwrap_or_default();
    items.pop();
    cluster["spec"]["resources"] = json!(items);
    stage.put(cluster);
    stage.run();
    assert!(stage.live("RoleAssignment", "kms-vault").is_none());
    assert_eq!(stage.unready(), Vec::<String>::new());
}

#[test]
fn the_root_takes_everything_with_it() {
    let mut stage = stage(&[]);
    stage.run();
    stage.delete(&ObjectId::new(CAPI, "Cluster", NAMESPACE, "c"));
    stage.run();
    assert_eq!(stage.kinds(), ["AzureClusterIdentity"]);
}

#[test]
fn a_pool_alone_goes_without_the_cluster() {
    let mut stage = stage(&[]);
    stage.run();
    stage.delete(&ObjectId::new(CAPI, "MachinePool", NAMESPACE, "c-mp1"));
    stage.run();
    assert!(
        stage
            .live("HcpOpenShiftClustersNodePool", "c-mp1")
            .is_none()
    );
    assert_eq!(stage.unready(), Vec::<String>::new());
}
