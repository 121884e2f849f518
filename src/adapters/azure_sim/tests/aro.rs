//! The ARO controllers with Cluster API and ASO around them, on the fixture.

use std::time::Duration;

use serde_json::{Value, json};

use super::manifests::{NAMESPACE, infrastructure, small_cluster};
use crate::adapters::azure_sim::{Azure, Failure, aso, capi, workloads};
use crate::api::aso as words;
use crate::api::conditions as c;
use crate::api::embedded::KMS;
use crate::api::fleet::FirstApply;
use crate::api::kinds::CAPI;
use crate::health::Live;
use crate::model::{HealthState, ObjectId};
use crate::reconcile::{self, Settings, fixture::Fixture};

const NODE_POOL: &str = "HcpOpenShiftClustersNodePool";
const SETTLE: Duration = Duration::from_secs(120);

fn fixture(failures: &[&str]) -> Fixture {
    let failures: Vec<Failure> = failures
        .iter()
        .map(|f| f.parse().expect("a failure"))
        .collect();
    let mut controllers = aso::controllers(&failures, &[], &Azure::default());
    controllers.extend(capi::controllers(&[]));
    controllers.extend(reconcile::aro(Settings {
        settle: SETTLE,
        first_apply: FirstApply::default(),
        identity: None,
    }));
    let mut fixture = Fixture::new(controllers);
    fixture.nodes = Some(workloads::nodes);
    small_cluster()
        .into_iter()
        .for_each(|object| fixture.put(object));
    fixture
}

/// Status and reason of a condition.
fn condition(fixture: &Fixture, kind: &str, name: &str, condition: &str) -> (String, String) {
    let object = fixture.live(kind, name).unwrap_or_default();
    let found = Live(&object).condition(condition);
    found.map_or_else(Default::default, |c| {
        (c.status().to_owned(), c.reason().to_owned())
    })
}

/// The second at which an object is there for the first time.
fn appears(fixture: &mut Fixture, kind: &str, name: &str) -> i64 {
    (fixture.elapsed()..4000)
        .find(|second| {
            fixture.run_to(*second);
            fixture.live(kind, name).is_some()
        })
        .unwrap_or(-1)
}

#[test]
fn a_cluster_becomes_ready_as_a_whole() {
    let mut fixture = fixture(&[]);
    fixture.run_to(19 * 60);
    assert!(!fixture.unready().is_empty());
    fixture.run_to(25 * 60);
    assert_eq!(fixture.unready(), Vec::<String>::new());
    let pool = fixture.live("MachinePool", "c-mp1").unwrap_or_default();
    assert_eq!(pool["spec"]["replicas"], 2, "the autoscaler's number");
    let cluster = fixture.live("AROCluster", "c").unwrap_or_default();
    assert_eq!(cluster["spec"]["controlPlaneEndpoint"]["port"], 443);
    assert_eq!(cluster["status"]["initialization"]["provisioned"], true);
}

#[test]
fn the_hcp_cluster_comes_after_its_role_assignments_have_settled() {
    let mut fixture = fixture(&[]);
    let assigned = (0..300)
        .find(|second| {
            fixture.run_to(*second);
            fixture.health("RoleAssignment", "kms-vault").is_ready()
        })
        .unwrap_or_default();
    fixture.run_to(assigned + 60);
    let reported = condition(&fixture, "AROControlPlane", "c", c::HCP_CLUSTER_READY);
    assert_eq!(
        reported,
        ("False".to_owned(), "WaitingForRoleAssignments".to_owned())
    );
    assert_eq!(
        appears(&mut fixture, "HcpOpenShiftCluster", "c"),
        assigned + 120
    );
}

#[test]
fn the_key_version_is_injected_once_its_vault_is_there() {
    let mut fixture = fixture(&[]);
    appears(&mut fixture, "HcpOpenShiftCluster", "c");
    let key = condition(&fixture, "AROControlPlane", "c", c::ENCRYPTION_KEY_READY);
    assert_eq!(key, ("True".to_owned(), c::KEY_READY.to_owned()));
    let hcp = fixture.live("HcpOpenShiftCluster", "c").unwrap_or_default();
    let version = [KMS.as_slice(), &["activeKey", "version"]].concat();
    assert_eq!(Live(&hcp).text(&version), "kv1-etcd-v1");
}

#[test]
fn without_identity_the_key_must_be_given() {
    let mut fixture = fixture(&[]);
    let mut plane = fixture.live("AROControlPlane", "c").unwrap_or_default();
    plane["spec"]["identityRef"] = Value::Null;
    fixture.put(plane);
    fixture.run();
    assert!(fixture.health("AROControlPlane", "c").is_terminal());
    assert!(fixture.live("HcpOpenShiftCluster", "c").is_none());
}

#[test]
fn external_authentication_comes_after_a_node_pool() {
    let mut fixture = fixture(&[]);
    let hcp = appears(&mut fixture, "HcpOpenShiftCluster", "c");
    fixture.run_to(hcp + 600);
    let reported = condition(&fixture, "AROControlPlane", "c", c::EXTERNAL_AUTH_READY);
    assert_eq!(
        reported,
        ("False".to_owned(), c::WAITING_FOR_NODE_POOL.to_owned())
    );
    let auth = appears(&mut fixture, "HcpOpenShiftClustersExternalAuth", "ea");
    assert!(
        fixture
            .health("HcpOpenShiftClustersNodePool", "c-mp1")
            .is_ready()
    );
    fixture.run_to(auth + 10);
    let reported = condition(&fixture, "AROControlPlane", "c", c::EXTERNAL_AUTH_READY);
    assert_eq!(reported.1, "Reconciling");
}

#[test]
fn a_failing_node_pool_is_reported_up_to_the_machine_pool() {
    let mut fixture = fixture(&["HcpOpenShiftClustersNodePool/c-mp1=InvalidRequestContent"]);
    fixture.run();
    assert!(fixture.health("AROMachinePool", "c-mp1").is_terminal());
    assert!(!fixture.health("Cluster", "c").is_ready());
    assert_eq!(
        fixture.health("AROControlPlane", "c").state,
        HealthState::Waiting,
        "for a pool"
    );
}

#[test]
fn a_resource_removed_from_the_list_is_deleted_and_the_others_stay() {
    let mut fixture = fixture(&[]);
    fixture.run();
    let mut list = |items: &Value| {
        let mut cluster = fixture.live("AROCluster", "c").unwrap_or_default();
        cluster["spec"]["resources"] = items.clone();
        fixture.put(cluster);
        fixture.run();
        assert_eq!(fixture.unready(), Vec::<String>::new());
        ["kms-vault", "other"].map(|name| fixture.live("RoleAssignment", name).is_some())
    };
    let few = infrastructure();
    let mut more = few.as_array().cloned().unwrap_or_default();
    let mut other = more.last().cloned().unwrap_or_default();
    other["metadata"]["name"] = json!("other");
    more.push(other);
    assert_eq!(list(&json!(more)), [true, true]);
    assert_eq!(list(&few), [true, false]);
}

#[test]
fn deleting_the_root_deletes_everything() {
    let mut fixture = fixture(&[]);
    fixture.run();
    fixture.delete(&ObjectId::new(CAPI, "Cluster", NAMESPACE, "c"));
    fixture.run();
    assert_eq!(fixture.kinds(), ["AzureClusterIdentity"]);
}

#[test]
fn a_pool_can_be_deleted_without_the_cluster() {
    let mut fixture = with_two_pools();
    delete(&mut fixture, "MachinePool", "c-mp1");
    fixture.run();
    assert_eq!(fixture.live(NODE_POOL, "c-mp1"), None);
    assert!(fixture.live(NODE_POOL, "c-mp2").is_some());
    assert_eq!(fixture.unready(), Vec::<String>::new());
}

/// A cluster with a second pool.
fn with_two_pools() -> Fixture {
    let mut fixture = fixture(&[]);
    for object in small_cluster() {
        if Live(&object).name() == "c-mp1" {
            let second = object.to_string().replace("mp1", "mp2");
            fixture.put(serde_json::from_str(&second).expect("JSON"));
        }
    }
    fixture.run();
    fixture
}

fn delete(fixture: &mut Fixture, kind: &str, name: &str) {
    let object = fixture.live(kind, name).expect("it exists");
    fixture.delete(&Live(&object).id());
}

#[test]
fn the_last_pool_stays_until_its_cluster_goes_and_azure_s_words_are_shown() {
    let mut fixture = fixture(&[]);
    fixture.run();
    delete(&mut fixture, "MachinePool", "c-mp1");
    let hour = fixture.elapsed() + 3600;
    fixture.run_to(hour);
    assert!(fixture.live(NODE_POOL, "c-mp1").is_some());
    let machines = fixture.live("AROMachinePool", "c-mp1").unwrap_or_default();
    let deleting = Live(&machines).condition(c::DELETING).expect("it is there");
    assert_eq!(deleting.reason(), c::DELETION_FAILED);
    let said = words::LAST_NODE_POOL;
    for words in [said, c::LAST_NODE_POOL_HELP] {
        assert!(deleting.message().contains(words), "{deleting:?}");
    }
    let warnings = fixture
        .events
        .iter()
        .filter(|event| event.reason == c::DELETION_FAILED);
    let warnings: Vec<_> = warnings.collect();
    assert_eq!(warnings.len(), 1, "{warnings:#?}");
    assert!(warnings[0].message.contains(said), "{warnings:#?}");
    delete(&mut fixture, "Cluster", "c");
    fixture.run();
    assert_eq!(fixture.kinds(), ["AzureClusterIdentity"]);
}

/// Azure takes both deletions, and cannot finish the second.
#[test]
fn a_cluster_of_which_all_pools_are_being_deleted_goes() {
    let mut fixture = with_two_pools();
    for name in ["c-mp1", "c-mp2"] {
        delete(&mut fixture, "MachinePool", name);
    }
    let hour = fixture.elapsed() + 3600;
    fixture.run_to(hour);
    assert!(fixture.live(NODE_POOL, "c-mp2").is_some());
    delete(&mut fixture, "Cluster", "c");
    fixture.run();
    assert_eq!(fixture.kinds(), ["AzureClusterIdentity"]);
}

/// As with its namespace: nobody keeps to an order.
#[test]
fn a_cluster_goes_when_all_of_it_is_deleted_at_once() {
    let mut fixture = with_two_pools();
    let ids: Vec<ObjectId> = fixture.snapshot.ids().cloned().collect();
    ids.iter().for_each(|id| fixture.delete(id));
    fixture.run();
    assert_eq!(fixture.kinds(), Vec::<String>::new());
}

#[test]
fn a_cluster_that_is_being_created_or_failed_goes() {
    for seconds in [0, 60, 300, 900, 1500] {
        let mut fixture = fixture(&[]);
        fixture.run_to(seconds);
        delete(&mut fixture, "Cluster", "c");
        fixture.run();
        assert_eq!(fixture.kinds(), ["AzureClusterIdentity"], "{seconds}");
    }
    for failure in [
        "HcpOpenShiftCluster/c",
        "HcpOpenShiftClustersNodePool/c-mp1",
    ] {
        let mut fixture = fixture(&[&format!("{failure}=InternalServerError")]);
        fixture.run_to(3000);
        delete(&mut fixture, "Cluster", "c");
        fixture.run();
        assert_eq!(fixture.kinds(), ["AzureClusterIdentity"], "{failure}");
    }
}
