//! HostedClusters.

use super::*;
use crate::adapters::azure_sim::hyper_shift::failures::can_fail;

const HC: &str = "HostedCluster";
const PLANE: &str = "HostedControlPlane";
const HOME: &str = "ns-c-x";

fn is(fixture: &Fixture, of: &str) -> String {
    said(fixture, HC, "c.x", of)
}

fn version(fixture: &Fixture) -> Value {
    fixture.live(HC, "c.x").unwrap()["status"]["version"].clone()
}

fn secret(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}})
}

#[test]
fn a_cluster_comes_up_and_is_complete_once_it_has_nodes() {
    let mut fixture = with_pool(&[], 1);
    fixture.run_to(0);
    let live = fixture.live(HC, "c.x").unwrap();
    assert_eq!(live["metadata"]["finalizers"], json!([names::FINALIZER]));
    assert!(has(&fixture, "Namespace", HOME));
    let plane = fixture.live(PLANE, "c.x").unwrap();
    assert_eq!(plane["metadata"]["namespace"], HOME);
    assert_eq!(plane["spec"]["releaseImage"], "r:4.17.3-multi");
    let desired = json!({"image": "r:4.17.3-multi", "version": "4.17.3"});
    assert_eq!(version(&fixture)["desired"], desired);
    let newest = &version(&fixture)["history"][0];
    assert_eq!(
        (&newest["state"], &newest["version"]),
        (&json!("Partial"), &json!("4.17.3"))
    );
    assert!(newest["completionTime"].is_null() && newest["startedTime"].is_string());
    fixture.run_to(UP - 1);
    for (of, expected) in [
        ("Available", "False WaitingForAvailable"),
        ("Progressing", "False AsExpected"),
        ("Degraded", "True UnavailableReplicas"),
        ("EtcdAvailable", "False EtcdWaitingForQuorum"),
        ("InfrastructureReady", "True AsExpected"),
        ("ValidConfiguration", "True AsExpected"),
    ] {
        assert_eq!(is(&fixture, of), expected, "{of}");
    }
    assert_eq!(state(&fixture, HC, "c.x"), HealthState::Progressing);
    fixture.run_to(UP);
    assert_eq!(is(&fixture, "Available"), "True AsExpected");
    assert_eq!(is(&fixture, "Degraded"), "False AsExpected");
    let status = fixture.live(HC, "c.x").unwrap()["status"].clone();
    assert_eq!(status["kubeconfig"]["name"], "c.x-admin-kubeconfig");
    assert_eq!(
        status["controlPlaneEndpoint"],
        json!({"host": "api.c.x.hypershift.local", "port": 6443})
    );
    assert!(has(&fixture, "Secret", "c.x-admin-kubeconfig"));
    fixture.run_to(NODES - 1);
    assert_eq!(version(&fixture)["history"][0]["state"], "Partial");
    fixture.run_to(NODES);
    assert_eq!(version(&fixture)["history"][0]["state"], "Completed");
    assert_eq!(state(&fixture, HC, "c.x"), HealthState::Ready);
}

#[test]
fn a_cluster_without_nodes_stays_partial() {
    let mut fixture = with_pool(&[], 0);
    fixture.run();
    assert_eq!(is(&fixture, "Available"), "True AsExpected");
    assert_eq!(version(&fixture)["history"][0]["state"], "Partial");
    assert_eq!(state(&fixture, HC, "c.x"), HealthState::Progressing);
    assert_eq!(state(&fixture, "NodePool", "p"), HealthState::Ready);
}

#[test]
fn an_upgrade_is_a_new_entry_that_completes_later() {
    let mut fixture = with_pool(&[], 1);
    fixture.run_to(2000);
    edit(&mut fixture, HC, "c.x", |live| {
        live["spec"]["release"]["image"] = json!("r:4.18.0")
    });
    fixture.run_to(2000);
    let history = version(&fixture)["history"].clone();
    let states = |history: &Value| -> Vec<String> {
        let entries = history.as_array().unwrap().iter().map(Live);
        entries
            .map(|one| format!("{} {}", one.text(&["state"]), one.text(&["version"])))
            .collect()
    };
    assert_eq!(states(&history), ["Partial 4.18.0", "Completed 4.17.3"]);
    assert_eq!(is(&fixture, "Available"), "True AsExpected");
    assert_eq!(is(&fixture, "Degraded"), "True UnavailableReplicas");
    assert_eq!(is(&fixture, "Progressing"), "False AsExpected");
    fixture.run_to(2599);
    assert_eq!(state(&fixture, HC, "c.x"), HealthState::Progressing);
    fixture.run_to(2600);
    assert_eq!(
        states(&version(&fixture)["history"]),
        ["Completed 4.18.0", "Completed 4.17.3"]
    );
    assert_eq!(state(&fixture, HC, "c.x"), HealthState::Ready);
}

#[test]
fn a_missing_secret_is_named_and_waited_for() {
    let mut fixture = cluster(&[], false);
    let mut live = hosted(kubevirt());
    live["spec"]["pullSecret"] = json!({"name": "pull"});
    live["spec"]["sshKey"] = json!({"name": "ssh"});
    fixture.put(live);
    fixture.run_to(10);
    assert_eq!(is(&fixture, "ValidReleaseImage"), "False SecretNotFound");
    assert!(message(&fixture, HC, "c.x", "ValidReleaseImage").contains("Secret/ns/pull"));
    assert_eq!(is(&fixture, "Degraded"), "Unknown StatusUnknown");
    assert!(!has(&fixture, PLANE, "c.x"));
    fixture.put(secret("pull"));
    fixture.run_to(20);
    assert_eq!(is(&fixture, "ValidReleaseImage"), "True AsExpected");
    assert_eq!(is(&fixture, "ValidConfiguration"), "False SecretNotFound");
    fixture.put(secret("ssh"));
    fixture.run_to(30);
    assert_eq!(is(&fixture, "ValidConfiguration"), "True AsExpected");
    assert!(has(&fixture, PLANE, "c.x"));
}

#[test]
fn a_failure_is_the_condition_that_has_its_reason() {
    assert!(can_fail(HC) && can_fail("NodePool") && !can_fail(PLANE));
    for (reason, of) in [
        ("InvalidImage", "ValidReleaseImage"),
        ("InvalidConfiguration", "ValidConfiguration"),
        ("UnsupportedHostedCluster", "SupportedHostedCluster"),
        ("MissingReleaseImages", "ValidReleaseInfo"),
        ("Blocked", "Progressing"),
        ("SomethingElse", "ValidConfiguration"),
    ] {
        let mut fixture = with_pool(&[&format!("HostedCluster/ns/c.x={reason}")], 1);
        fixture.run();
        assert_eq!(is(&fixture, of), format!("False {reason}"));
        let failed = HealthState::Failed { terminal: false };
        assert_eq!(state(&fixture, HC, "c.x"), failed, "{reason}");
        assert_eq!(state(&fixture, "NodePool", "p"), HealthState::Progressing);
    }
    let mut fixture = with_pool(&["HostedCluster/elsewhere/c.x=InvalidImage"], 1);
    fixture.run();
    assert_eq!(fixture.unready(), Vec::<String>::new());
}

#[test]
fn a_private_cluster_on_azure_has_a_router_with_an_address() {
    for (azure, expected) in [
        (json!({"topology": "Private"}), true),
        (json!({"endpointAccess": "PublicAndPrivate"}), true),
        (json!({"topology": "Public"}), false),
        (
            json!({"topology": "Private", "private": {"type": "Swift"}}),
            false,
        ),
        (json!({}), false),
    ] {
        let mut fixture = cluster(&[], false);
        fixture.put(hosted(json!({"type": "Azure", "azure": azure})));
        fixture.run_to(10);
        let service = fixture.live("Service", "private-router");
        assert_eq!(service.is_some(), expected, "{azure}");
        let Some(service) = service else { continue };
        assert_eq!(service["metadata"]["namespace"], HOME);
        assert_eq!(service["spec"]["ports"][0]["port"], 443);
        let internal = "service.beta.kubernetes.io/azure-load-balancer-internal";
        assert_eq!(Live(&service).annotation(internal), "true");
        let address = &service["status"]["loadBalancer"]["ingress"][0]["ip"];
        assert!(address.as_str().unwrap().starts_with("10."), "{address}");
    }
}

#[test]
fn deletion_proceeds_from_the_pools_to_the_namespace() {
    let mut fixture = with_pool(&[], 2);
    fixture.run_to(2000);
    delete(&mut fixture, HC, "c.x");
    fixture.run_to(2000);
    let pool = fixture.live("NodePool", "p").unwrap();
    assert!(Live(&pool).is_deleting());
    fixture.run_to(2180);
    assert!(!has(&fixture, "NodePool", "p") && has(&fixture, PLANE, "c.x"));
    fixture.run_to(2419);
    assert!(has(&fixture, PLANE, "c.x") && has(&fixture, "Namespace", HOME));
    // Somebody holds the namespace.
    edit(&mut fixture, "Namespace", HOME, |home| {
        home["metadata"]["finalizers"] = json!(["one"])
    });
    fixture.run_to(2420);
    assert!(!has(&fixture, PLANE, "c.x") && has(&fixture, HC, "c.x"));
    edit(&mut fixture, "Namespace", HOME, |home| {
        home["metadata"]["finalizers"] = json!([])
    });
    fixture.delete(&ObjectId::new("", "Namespace", "", HOME));
    fixture.run();
    assert_eq!(fixture.kinds(), Vec::<String>::new());
}

#[test]
fn a_namespace_of_somebody_else_stays() {
    let mut fixture = cluster(&["HostedCluster/c.x=InvalidImage"], false);
    fixture.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": HOME}}));
    fixture.put(hosted(kubevirt()));
    fixture.run();
    delete(&mut fixture, HC, "c.x");
    fixture.run();
    assert_eq!(fixture.kinds(), ["Namespace"]);
}

#[test]
fn a_paused_cluster_is_left_alone() {
    let mut fixture = with_pool(&[], 1);
    edit(&mut fixture, HC, "c.x", |live| {
        live["spec"]["pausedUntil"] = json!("2026-01-01T00:01:00Z")
    });
    fixture.run_to(59);
    assert_eq!(
        is(&fixture, "ReconciliationActive"),
        "False ReconciliationPaused"
    );
    assert!(!has(&fixture, PLANE, "c.x"));
    fixture.run_to(60);
    assert_eq!(is(&fixture, "ReconciliationActive"), "True AsExpected");
    assert!(has(&fixture, PLANE, "c.x"));
}
