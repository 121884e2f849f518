//! HyperShift: what its operator reports while a cluster comes up, is upgraded and has all it needs.

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

/// The condition `Progressing` of a cluster of which the operator says nothing else, whether it is being brought up or not.
fn calm() -> Value {
    off("Progressing", "AsExpected", "")
}

fn unwell() -> Value {
    let mut degraded = on("Degraded");
    degraded["reason"] = json!("UnavailableReplicas");
    degraded
}

#[test]
fn a_hosted_cluster_is_ready_once_its_release_is_complete() {
    let partial = |conditions| hosted(conditions, version("Partial", "new"));
    let unavailable = || off("Available", "WaitingForAvailable", "");
    let healthy = off("Degraded", "AsExpected", "");
    let invalid = || off("ValidReleaseImage", "InvalidImage", "no");
    check(vec![
        (
            "nothing is reported",
            live(API, "HostedCluster", json!({}), json!({})),
            Progressing,
        ),
        (
            "its control plane comes up",
            partial(vec![unavailable(), calm(), unwell()]),
            Progressing,
        ),
        (
            "its nodes are missing",
            partial(vec![on("Available"), calm()]),
            Progressing,
        ),
        (
            "all is there",
            hosted(
                vec![on("Available"), calm(), healthy],
                version("Completed", "new"),
            ),
            Ready,
        ),
        (
            "no version is reported",
            hosted(vec![on("Available"), calm()], Value::Null),
            Progressing,
        ),
        (
            "its release does not exist",
            partial(vec![invalid(), unavailable()]),
            FAILED,
        ),
        (
            "an older release did not exist",
            partial(vec![older(invalid()), unavailable()]),
            Progressing,
        ),
    ]);
    let found = health(&partial(vec![on("Available")]));
    assert_eq!(found.reason, "VersionNotComplete");
}

#[test]
fn an_upgrade_of_a_hosted_cluster_is_seen_from_its_first_moment_on() {
    let done = |conditions| hosted(conditions, version("Completed", "new"));
    check(vec![
        (
            "it was not seen yet",
            done(vec![older(on("Available")), calm()]),
            Progressing,
        ),
        (
            "it has not begun",
            hosted(vec![on("Available"), calm()], version("Completed", "older")),
            Progressing,
        ),
        (
            "it is under way",
            done(vec![on("Available"), on("Progressing")]),
            Progressing,
        ),
        (
            "replicas are missing",
            done(vec![on("Available"), calm(), unwell()]),
            Progressing,
        ),
        (
            "it is blocked",
            done(vec![on("Available"), off("Progressing", "Blocked", "no")]),
            FAILED,
        ),
    ]);
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
