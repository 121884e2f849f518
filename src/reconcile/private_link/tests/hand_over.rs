//! Who connects a cluster, if HyperShift's controllers could.

#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};

use super::scene::*;
use crate::api::fleet::Mode;
use crate::health::Live;
use crate::model::ObjectId;

const NOTHING: [String; 0] = [];

fn deployment(namespace: &str, name: &str, arguments: &Value, ready: u32) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": namespace},
        "spec": {"template": {"spec": {"containers": [{"name": "other"}, {"name": "operator", "args": arguments}]}}},
        "status": {"readyReplicas": ready}})
}

/// A cluster that is described, and nothing else.
fn described(mode: Mode) -> Scene {
    let mut scene = Scene::with(mode);
    scene.cluster("clusters", "one");
    let outcome = scene.observe();
    scene.perform("capstan-private-link-observer", outcome);
    scene
}

#[test]
fn the_platform_is_left_to_an_operator_of_hypershift_that_makes_it() {
    let cases = [
        (json!(["run", "--private-platform=Azure"]), 1, true),
        (json!(["run", "--private-platform", "Azure"]), 1, true),
        (json!(["--private-platform=Azure"]), 0, false),
        (json!(["--private-platform=AWS"]), 1, false),
        (json!(["--private-platform", "None"]), 1, false),
        (json!(["--private-platform=AzureStack"]), 1, false),
        (json!(["--private-platform", "--other", "Azure"]), 1, false),
        (json!(["Azure", "--private-platform"]), 1, false),
        (json!("--private-platform=Azure"), 1, false),
        (json!([{"--private-platform": "Azure"}, 7]), 1, false),
        (json!(null), 1, false),
    ];
    for (arguments, ready, is_left) in cases {
        for mode in [Mode::Auto, Mode::Off, Mode::On] {
            let mut scene = described(mode);
            scene.put(deployment("hypershift", "operator", &arguments, ready));
            let outcome = scene.provide();
            let is_left = is_left && mode != Mode::On;
            assert_eq!(outcome.writes.is_empty(), is_left, "{arguments} {mode:?}");
            // The customer's side is another controller's.
            assert!(!scene.connect().writes.is_empty());
            assert!(!is_left || outcome.wake.is_none());
            let told = outcome.events.iter().map(|event| &*event.message);
            assert_eq!(
                told.collect::<Vec<_>>(),
                if is_left {
                    vec![
                        "Left alone: Deployment/hypershift/operator runs with --private-platform=Azure, and makes Private Link Services",
                    ]
                } else {
                    vec![]
                }
            );
        }
    }
}

#[test]
fn a_command_has_arguments_as_well() {
    let mut scene = described(Mode::Auto);
    let mut operator = deployment("hypershift", "operator", &json!([]), 1);
    operator["spec"]["template"]["spec"]["containers"][0]["command"] =
        json!(["/bin/o", "--private-platform=Azure"]);
    scene.put(operator);
    assert_eq!(verbs(&scene.provide()), NOTHING);
}

/// Otherwise anybody who may run a Pod could stop the connections of all clusters.
#[test]
fn a_deployment_of_somebody_else_stops_nothing() {
    for (namespace, name) in [
        ("customer-a", "operator"),
        ("clusters-one", "operator"),
        ("hypershift", "any"),
    ] {
        let mut scene = described(Mode::Auto);
        let arguments = json!(["--private-platform=Azure"]);
        scene.put(deployment(namespace, name, &arguments, 1));
        assert!(!scene.provide().writes.is_empty(), "{namespace}/{name}");
    }
}

/// The operator is looked for again when one comes or goes.
#[test]
fn a_decision_is_made_again_when_operators_change() {
    let scene = described(Mode::Auto);
    let needs = scene.provide().needs;
    let operators = crate::reconcile::world::Parent::private_platforms();
    assert!(needs.contains(&crate::reconcile::outcome::Need::Below(operators)));
    let operator = ObjectId::new(
        "apps",
        "Deployment",
        "clusters-one",
        "control-plane-operator",
    );
    for outcome in [scene.observe(), scene.connect()] {
        let need = crate::reconcile::outcome::Need::Object(operator.clone());
        assert!(outcome.needs.contains(&need));
    }
}

#[test]
fn a_control_plane_operator_that_connects_its_cluster_is_left_alone() {
    let desired = |version: &str| json!({"versionStatus": {"desired": {"version": version}}});
    let cases = [
        (desired("4.21.9"), 1, false),
        (desired("4.9.0"), 1, false),
        (desired("3.99.0"), 1, false),
        (desired("4.22.0"), 1, true),
        (desired("4.22.0-rc.1"), 1, true),
        (desired("4.23.1"), 1, true),
        (desired("5.0.0"), 1, true),
        (desired("4.22.0"), 0, false),
        (desired(""), 1, true),
        (desired("latest"), 1, true),
        (desired("4"), 1, true),
        (
            json!({"versionStatus": {"desired": {"image": "quay.io/o/r@sha256:1"}, "history": [{"version": "4.21.0"}, {"version": "4.22.0"}]}}),
            1,
            false,
        ),
        (json!({"version": "4.21.3"}), 1, false),
        (json!({"version": 4.21}), 1, true),
        (json!(null), 1, true),
        (json!(null), 0, false),
    ];
    for (status, ready, is_left) in cases {
        for mode in [Mode::Auto, Mode::Off, Mode::On] {
            let mut scene = described(mode);
            scene.put(deployment(
                "clusters-one",
                "control-plane-operator",
                &json!([]),
                ready,
            ));
            scene.edit(&plane_id("clusters", "one"), |one| {
                one["status"] = status.clone()
            });
            scene.edit(&router_id("clusters", "one"), |one| {
                one["status"]["loadBalancer"]["ingress"][0]["ip"] = json!("10.0.0.9")
            });
            let is_left = is_left && mode != Mode::On;
            assert_eq!(
                scene.observe().writes.is_empty(),
                is_left,
                "{status} {mode:?}"
            );
            assert_eq!(
                scene.connect().writes.is_empty(),
                is_left,
                "{status} {mode:?}"
            );
            assert!(!scene.provide().writes.is_empty());
        }
    }
    // One of another cluster says nothing about this one.
    let mut scene = described(Mode::Auto);
    scene.put(deployment(
        "clusters-two",
        "control-plane-operator",
        &json!([]),
        1,
    ));
    assert!(!scene.connect().writes.is_empty());
}

#[test]
fn an_object_that_another_controller_wrote_lately_is_left_alone() {
    let cases = [
        ("hypershift-operator-manager", "00:00:00", true),
        ("hypershift-operator-manager", "23:51:00", true),
        ("control-plane-operator", "23:50:01", true),
        ("control-plane-operator", "23:50:00", false),
        ("control-plane-operator", "12:00:00", false),
        ("kubectl-edit", "00:00:00", false),
        ("helm-controller", "00:00:00", false),
        ("argocd-controller", "00:00:00", false),
        ("kube-controller-manager", "00:00:00", false),
        ("capstan-private-link-platform", "00:00:00", false),
    ];
    for (manager, time, is_left) in cases {
        for mode in [Mode::Auto, Mode::On] {
            let mut scene = described(mode);
            let day = if time == "00:00:00" {
                "2026-01-01"
            } else {
                "2025-12-31"
            };
            scene.edit(&connection_id("clusters", "one"), |one| {
                one["metadata"]["managedFields"] = json!([
                    {"manager": "kubectl", "time": "2026-01-01T00:00:00Z"},
                    {"manager": "somebody"},
                    {"manager": manager, "time": format!("{day}T{time}Z")},
                ]);
            });
            scene.edit(&router_id("clusters", "one"), |one| {
                one["status"]["loadBalancer"]["ingress"][0]["ip"] = json!("10.0.0.9")
            });
            let is_left = is_left && mode == Mode::Auto;
            for outcome in [scene.observe(), scene.provide(), scene.connect()] {
                assert_eq!(outcome.writes.is_empty(), is_left, "{manager} {time}");
                let until = outcome.wake.map(|wake| wake.to_string());
                let wanted = match (is_left, time) {
                    (false, _) => None,
                    (true, "00:00:00") => Some("2026-01-01T00:10:00Z"),
                    (true, "23:51:00") => Some("2026-01-01T00:01:00Z"),
                    (true, _) => Some("2026-01-01T00:00:01Z"),
                };
                assert_eq!(until.as_deref(), wanted, "{manager} {time}");
            }
        }
    }
}

/// A clock that is far ahead must not end the process.
#[test]
fn no_time_is_too_late() {
    for time in [
        "9999-12-30T22:00:00Z",
        "9999-12-30T21:59:59Z",
        "-009999-01-02T01:59:59Z",
        "soon",
    ] {
        let mut scene = described(Mode::Auto);
        scene.edit(&connection_id("clusters", "one"), |one| {
            one["metadata"]["managedFields"] = json!([{"manager": "somebody", "time": time}]);
            one["metadata"]["creationTimestamp"] = json!(time);
        });
        let _ = (scene.observe(), scene.provide(), scene.connect());
    }
}

#[test]
fn what_hypershift_holds_is_left_alone_unless_we_are_to_take_it() {
    let theirs = [
        "hypershift.openshift.io/azure-pls-cleanup",
        "hypershift.openshift.io/azure-private-link-service",
    ];
    for finalizer in theirs {
        let mut scene = described(Mode::Auto);
        let id = connection_id("clusters", "one");
        scene.edit(&id, |one| {
            one["metadata"]["finalizers"] = json!([finalizer])
        });
        scene.edit(&router_id("clusters", "one"), |one| {
            one["status"]["loadBalancer"]["ingress"][0]["ip"] = json!("10.0.0.9")
        });
        for outcome in [scene.observe(), scene.provide(), scene.connect()] {
            assert_eq!(verbs(&outcome), NOTHING, "{finalizer}");
        }
        // Nor does anybody act while it goes.
        scene.delete(&id);
        for outcome in [scene.observe(), scene.provide(), scene.connect()] {
            assert_eq!(verbs(&outcome), NOTHING, "{finalizer}");
        }
    }
    let mut scene = described(Mode::On);
    scene.edit(&connection_id("clusters", "one"), |one| {
        one["metadata"]["finalizers"] = json!(theirs)
    });
    scene.settle();
    scene.assert_connected("clusters", "one");
    let finalizers = &scene.connection("clusters", "one")["metadata"]["finalizers"];
    assert_eq!(
        *finalizers,
        json!([
            "capstan.dev/private-link-service",
            "capstan.dev/private-link-endpoint"
        ])
    );
}

/// What HyperShift made is in Azure under other names: it is known by the status.
#[test]
fn what_hypershift_made_is_taken_over() {
    let mut scene = described(Mode::On);
    let group = format!("/subscriptions/{GUEST}/resourceGroups/rg");
    let endpoint =
        format!("{group}/providers/Microsoft.Network/privateEndpoints/private-router-pe");
    scene.edit(&connection_id("clusters", "one"), |one| {
        one["status"] = json!({"privateEndpointID": endpoint})
    });
    scene.settle();
    let held = scene.live(&scene.only("PrivateEndpoint"));
    assert_eq!(held["spec"]["azureName"], "private-router-pe");
    // One in another place is not.
    for elsewhere in [
        "/subscriptions/x/resourceGroups/rg/providers/Microsoft.Network/privateEndpoints/evil",
        "/subscriptions/x/resourceGroups/rg-2/providers/Microsoft.Network/privateEndpoints/evil",
        "privateEndpoints/evil",
        "evil",
    ] {
        let mut scene = described(Mode::On);
        scene.edit(&connection_id("clusters", "one"), |one| {
            one["status"] = json!({"privateEndpointID": elsewhere})
        });
        scene.settle();
        let held = scene.live(&scene.only("PrivateEndpoint"));
        assert_ne!(held["spec"]["azureName"], "evil");
    }
}

/// Otherwise our finalizers would stay, and with them the namespace of the control plane.
#[test]
fn what_we_made_is_deleted_even_if_hypershift_came_meanwhile() {
    let mut scene = Scene::connected();
    scene.put(deployment(
        "hypershift",
        "operator",
        &json!(["--private-platform=Azure"]),
        1,
    ));
    scene.put(deployment(
        "clusters-one",
        "control-plane-operator",
        &json!([]),
        1,
    ));
    scene.edit(&connection_id("clusters", "one"), |one| {
        let now = "2026-01-01T00:00:00Z";
        one["metadata"]["managedFields"] =
            json!([{"manager": "hypershift-operator-manager", "time": now}]);
    });
    let before = scene.azure.clone();
    scene.settle();
    assert_eq!(scene.azure, before);
    scene.delete_cluster("clusters", "one");
    scene.settle();
    assert!(scene.find(&connection_id("clusters", "one")).is_none());
    assert!(scene.azure.is_empty());
}

/// The service goes after the endpoint, whoever deletes that.
#[test]
fn the_service_waits_for_the_endpoint_of_hypershift() {
    let mut scene = Scene::connected();
    let id = connection_id("clusters", "one");
    let theirs = "hypershift.openshift.io/azure-private-link-service";
    scene.edit(&id, |one| {
        one["metadata"]["finalizers"] = json!(["capstan.dev/private-link-service", theirs])
    });
    scene.delete_cluster("clusters", "one");
    scene.settle();
    assert!(scene.said("AzurePLSCreated").contains(theirs));
    assert!(!Live(&scene.live(&scene.only("PrivateLinkService"))).is_deleting());
}
