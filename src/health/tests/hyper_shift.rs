//! HyperShift (facts/service-provider.md §0.5, §3.3, §8).

use super::*;

const API: &str = "hypershift.openshift.io/v1beta1";

fn version(state: &str, image: &str) -> Value {
    json!({"history": [{"state": state, "image": image, "version": "4.20.3"},
        {"state": "Completed", "image": "old", "version": "4.20.1"}]})
}

fn hosted(conditions: Vec<Value>, version: Value) -> Value {
    let status = json!({"conditions": conditions, "version": version});
    live(
        API,
        "HostedCluster",
        json!({"release": {"image": "new"}}),
        status,
    )
}

/// The condition, true of an older spec.
fn older(mut condition: Value) -> Value {
    condition["observedGeneration"] = json!(1);
    condition
}

#[test]
fn a_hosted_cluster_is_ready_once_its_release_is_complete() {
    let done = || version("Completed", "new");
    let calm = || off("Progressing", "AsExpected", "");
    let unwell = || {
        let mut degraded = on("Degraded");
        degraded["reason"] = json!("UnavailableReplicas");
        degraded
    };
    check(vec![
        (
            "nothing is reported",
            live(API, "HostedCluster", json!({}), json!({})),
            Progressing,
        ),
        (
            "its control plane comes up",
            hosted(
                vec![
                    off("Available", "WaitingForAvailable", ""),
                    calm(),
                    unwell(),
                ],
                version("Partial", "new"),
            ),
            Progressing,
        ),
        (
            "its nodes are missing",
            hosted(vec![on("Available"), calm()], version("Partial", "new")),
            Progressing,
        ),
        (
            "all is there",
            hosted(
                vec![on("Available"), calm(), off("Degraded", "AsExpected", "")],
                done(),
            ),
            Ready,
        ),
        (
            "no version is reported",
            hosted(vec![on("Available"), calm()], Value::Null),
            Progressing,
        ),
        (
            "an upgrade was not seen yet",
            hosted(vec![older(on("Available")), calm()], done()),
            Progressing,
        ),
        (
            "an upgrade has not begun",
            hosted(vec![on("Available"), calm()], version("Completed", "older")),
            Progressing,
        ),
        (
            "an upgrade is under way",
            hosted(vec![on("Available"), on("Progressing")], done()),
            Progressing,
        ),
        (
            "replicas are missing",
            hosted(vec![on("Available"), calm(), unwell()], done()),
            Progressing,
        ),
        (
            "an upgrade is blocked",
            hosted(
                vec![on("Available"), off("Progressing", "Blocked", "no"), calm()],
                done(),
            ),
            FAILED,
        ),
        (
            "its release does not exist",
            hosted(
                vec![
                    off("ValidReleaseImage", "InvalidImage", "no"),
                    off("Available", "WaitingForAvailable", ""),
                ],
                version("Partial", "new"),
            ),
            FAILED,
        ),
        (
            "an older release did not exist",
            hosted(
                vec![
                    older(off("ValidReleaseImage", "InvalidImage", "no")),
                    off("Available", "WaitingForAvailable", ""),
                ],
                version("Partial", "new"),
            ),
            Progressing,
        ),
    ]);
    let found = health(&hosted(vec![on("Available")], version("Partial", "new")));
    assert_eq!(found.reason, "VersionNotComplete");
}

#[test]
fn a_node_pool_is_ready_once_its_nodes_are_available() {
    let pool = |spec: Value, conditions: Vec<Value>, replicas: Value| {
        let status = json!({"conditions": conditions, "replicas": replicas});
        live(API, "NodePool", spec, status)
    };
    let two = || json!({"replicas": 2});
    check(vec![
        (
            "nothing is reported",
            pool(two(), vec![], Value::Null),
            Progressing,
        ),
        (
            "its nodes come up",
            pool(
                two(),
                vec![off("Ready", "ScalingUp", "1 of 2"), on("UpdatingVersion")],
                json!(1),
            ),
            Progressing,
        ),
        (
            "all are there",
            pool(two(), vec![on("Ready")], json!(2)),
            Ready,
        ),
        (
            "it is being scaled",
            pool(two(), vec![on("Ready")], json!(1)),
            Progressing,
        ),
        (
            "a change was not seen yet",
            pool(two(), vec![older(on("Ready"))], json!(2)),
            Progressing,
        ),
        (
            "it is being upgraded",
            pool(two(), vec![on("Ready"), on("UpdatingVersion")], json!(2)),
            Progressing,
        ),
        (
            "an autoscaler decides",
            pool(
                json!({"autoScaling": {"min": 1, "max": 3}}),
                vec![on("Ready")],
                json!(1),
            ),
            Ready,
        ),
        (
            "it has no nodes on purpose",
            pool(json!({"replicas": 0}), vec![on("Ready")], Value::Null),
            Ready,
        ),
        (
            "its machines are not possible",
            pool(
                two(),
                vec![
                    off(
                        "ValidMachineTemplate",
                        "InvalidKubevirtMachineTemplate",
                        "no",
                    ),
                    on("Ready"),
                ],
                json!(2),
            ),
            FAILED,
        ),
    ]);
}
