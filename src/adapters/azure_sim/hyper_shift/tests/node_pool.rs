//! NodePools.

use super::*;

const POOL: &str = "NodePool";

fn is(fixture: &Fixture, of: &str) -> String {
    said(fixture, POOL, "p", of)
}

/// The nodes that are available at a second.
fn nodes(fixture: &mut Fixture, second: i64) -> i64 {
    fixture.run_to(second);
    fixture.live(POOL, "p").unwrap()["status"]["replicas"]
        .as_i64()
        .unwrap()
}

fn version(fixture: &Fixture) -> Value {
    fixture.live(POOL, "p").unwrap()["status"]["version"].clone()
}

#[test]
fn nodes_come_up_after_the_control_plane() {
    let mut fixture = with_pool(&[], 3);
    assert_eq!(nodes(&mut fixture, UP - 1), 0);
    assert_eq!(is(&fixture, "Ready"), "False WaitingForAvailable");
    let live = fixture.live(POOL, "p").unwrap();
    assert_eq!(live["metadata"]["finalizers"], json!([names::FINALIZER]));
    assert_eq!(
        live["metadata"]["ownerReferences"][0]["kind"],
        "HostedCluster"
    );
    assert_eq!(nodes(&mut fixture, HALF - 1), 0);
    assert_eq!(is(&fixture, "Ready"), "False WaitingForNodeRef");
    assert_eq!(nodes(&mut fixture, HALF), 1);
    assert_eq!(nodes(&mut fixture, NODES - 1), 1);
    assert_eq!(
        message(&fixture, POOL, "p", "Ready"),
        "1 of 3 nodes are available"
    );
    assert_eq!(
        (is(&fixture, "UpdatingVersion"), version(&fixture)),
        ("True AsExpected".to_owned(), Value::Null)
    );
    assert_eq!(nodes(&mut fixture, NODES), 3);
    assert_eq!(
        (is(&fixture, "UpdatingVersion"), version(&fixture)),
        ("False AsExpected".to_owned(), json!("4.17.3"))
    );
    assert_eq!(state(&fixture, POOL, "p"), HealthState::Ready);
    let live = fixture.live(POOL, "p").unwrap();
    let conditions = live["status"]["conditions"].as_array().unwrap();
    assert!(conditions.iter().all(|one| one.get("severity").is_none()));
}

#[test]
fn a_pool_that_is_updated_in_place_has_its_version_early() {
    let mut fixture = cluster(&[], false);
    fixture.put(pool(kubevirt(), "InPlace", json!({"replicas": 1})));
    fixture.run_to(10);
    assert_eq!(is(&fixture, "UpdatingVersion"), "True AsExpected");
    assert_eq!(is(&fixture, "Ready"), "False NotFound");
    fixture.put(hosted(kubevirt()));
    fixture.run_to(11);
    assert_eq!(is(&fixture, "UpdatingVersion"), "False AsExpected");
    assert_eq!(is(&fixture, "Ready"), "False WaitingForAvailable");
    assert_eq!(nodes(&mut fixture, 10 + NODES - 1), 0);
    assert_eq!(nodes(&mut fixture, 10 + NODES), 1);
    assert_eq!(state(&fixture, POOL, "p"), HealthState::Ready);
}

#[test]
fn a_pool_is_scaled_up_and_down() {
    let mut fixture = with_pool(&[], 2);
    fixture.run_to(2000);
    edit(&mut fixture, POOL, "p", |live| {
        live["spec"]["replicas"] = json!(6)
    });
    assert_eq!(nodes(&mut fixture, 2479), 2);
    assert_eq!(state(&fixture, POOL, "p"), HealthState::Progressing);
    assert_eq!(nodes(&mut fixture, 2480), 3);
    assert_eq!(nodes(&mut fixture, 2600), 6);
    assert_eq!(is(&fixture, "Ready"), "True AsExpected");
    edit(&mut fixture, POOL, "p", |live| {
        live["spec"]["replicas"] = json!(1)
    });
    assert_eq!(nodes(&mut fixture, 2600), 1);
    assert_eq!(state(&fixture, POOL, "p"), HealthState::Ready);
}

#[test]
fn an_autoscaler_begins_with_its_least_number_and_nothing_is_none() {
    for (size, expected) in [
        (json!({"autoScaling": {"min": 2, "max": 9}}), 2),
        (json!({}), 0),
        (json!({"replicas": 0}), 0),
    ] {
        let mut fixture = cluster(&[], false);
        fixture.put(hosted(kubevirt()));
        fixture.put(pool(kubevirt(), "Replace", size));
        assert_eq!(nodes(&mut fixture, NODES), expected);
        assert_eq!(state(&fixture, POOL, "p"), HealthState::Ready);
    }
}

#[test]
fn a_new_release_takes_its_time_once_the_control_plane_has_it() {
    let mut fixture = with_pool(&[], 2);
    fixture.run_to(2000);
    edit(&mut fixture, POOL, "p", |live| {
        live["spec"]["release"]["image"] = json!("r:4.17.4")
    });
    fixture.run_to(2419);
    assert_eq!(
        (is(&fixture, "UpdatingVersion"), version(&fixture)),
        ("True AsExpected".to_owned(), json!("4.17.3"))
    );
    assert_eq!(
        (is(&fixture, "Ready"), nodes(&mut fixture, 2419)),
        ("True AsExpected".to_owned(), 2)
    );
    fixture.run_to(2420);
    assert_eq!(
        (is(&fixture, "UpdatingVersion"), version(&fixture)),
        ("False AsExpected".to_owned(), json!("4.17.4"))
    );
    for (kind, name) in [("HostedCluster", "c.x"), (POOL, "p")] {
        edit(&mut fixture, kind, name, |live| {
            live["spec"]["release"]["image"] = json!("r:4.18.0")
        });
    }
    fixture.run_to(2420 + 600 + 419);
    assert_eq!(version(&fixture), "4.17.4");
    fixture.run_to(2420 + 600 + 420);
    assert_eq!(version(&fixture), "4.18.0");
    assert_eq!(fixture.unready(), Vec::<String>::new());
}

#[test]
fn a_failing_pool_has_no_nodes() {
    for (reason, of) in [
        ("ValidationFailed", "ValidReleaseImage"),
        ("NotFound", "ValidPlatformImage"),
        ("InvalidKubevirtMachineTemplate", "ValidMachineTemplate"),
        ("UnsupportedSkew", "SupportedVersionSkew"),
        ("SomethingElse", "ValidPlatformConfig"),
    ] {
        let mut fixture = with_pool(&[&format!("NodePool/p={reason}")], 1);
        fixture.run();
        assert_eq!(is(&fixture, of), format!("False {reason}"));
        assert_eq!(is(&fixture, "Ready"), format!("False {reason}"));
        let failed = HealthState::Failed { terminal: false };
        assert_eq!(state(&fixture, POOL, "p"), failed, "{reason}");
        assert_eq!(nodes(&mut fixture, 10_000), 0);
    }
}

#[test]
fn a_pool_is_deleted_alone() {
    let mut fixture = with_pool(&[], 1);
    fixture.run_to(2000);
    delete(&mut fixture, POOL, "p");
    fixture.run_to(2179);
    assert!(has(&fixture, POOL, "p"));
    fixture.run_to(2180);
    assert!(!has(&fixture, POOL, "p") && has(&fixture, "HostedCluster", "c.x"));
}
