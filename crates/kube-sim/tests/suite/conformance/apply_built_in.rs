//! Server-side apply of built-in kinds beyond ConfigMaps.
//!
//! What is run is a StatefulSet: no controller of the real server writes to it.

use serde_json::{Value as Json, json};

use super::behaviours;
use super::script::{say, whole};
use crate::session::Session;

/// The spec of a workload that runs nothing.
fn spec() -> Json {
    let container = json!({"name": "c", "image": "registry.k8s.io/pause:3.10", "ports": [{"containerPort": 80}]});
    json!({
        "replicas": 0,
        "selector": {"matchLabels": {"app": "d"}},
        "template": {"metadata": {"labels": {"app": "d"}}, "spec": {"containers": [container]}},
    })
}

/// Applies a workload with one of its parts set; none leaves it as it is.
async fn apply(s: &Session, path: &str, part: Option<(&str, Json)>) {
    let mut object = whole(path, json!({"spec": spec()}));
    if let Some((pointer, value)) = part {
        let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
        object.pointer_mut(parent).expect("a parent")[key] = value;
    }
    s.apply(path, &object).await;
}

async fn an_applied_workload_owns_what_was_said(s: &Session) {
    let containers = "/spec/template/spec/containers";
    apply(s, "statefulsets/d?fieldManager=one", None).await;
    apply(
        s,
        "statefulsets/d?fieldManager=two",
        Some(("/spec/replicas", json!(1))),
    )
    .await;
    let env = json!([{"name": "c", "image": "registry.k8s.io/pause:3.10", "env": [{"name": "A", "value": "1"}]}]);
    apply(
        s,
        "statefulsets/d?fieldManager=one",
        Some((containers, env)),
    )
    .await;
    let other = json!([{"name": "c", "image": "registry.k8s.io/pause:3.10"}, {"name": "d", "image": "d:1"}]);
    apply(
        s,
        "statefulsets/d?fieldManager=two",
        Some((containers, other)),
    )
    .await;
    apply(s, "statefulsets/d?fieldManager=one", None).await;
}

async fn replicas_are_left_to_who_scales(s: &Session) {
    apply(s, "statefulsets/d?fieldManager=one", None).await;
    say(
        s,
        "merge statefulsets/d?fieldManager=scaler {spec: {minReadySeconds: 5, replicas: 3}}",
    )
    .await;
    apply(s, "statefulsets/d?fieldManager=one", None).await;
    let mut quiet = spec();
    quiet.as_object_mut().expect("a map").remove("replicas");
    apply(s, "statefulsets/d?fieldManager=one", Some(("/spec", quiet))).await;
}

async fn a_created_workload_owns_what_was_said(s: &Session) {
    s.post(
        "statefulsets?fieldManager=one",
        &whole("statefulsets/d", json!({"spec": spec()})),
    )
    .await;
    say(s, "merge statefulsets/d?fieldManager=two {spec: {template: {spec: {containers: [{name: c, image: d}]}}}}").await;
    apply(s, "statefulsets/d?fieldManager=three", None).await;
}

async fn a_selector_of_a_deployment_stays(s: &Session) {
    apply(s, "deployments/d?fieldManager=one", None).await;
    let mut other = spec();
    other["selector"] = json!({"matchLabels": {"app": "e"}});
    apply(
        s,
        "deployments/d?fieldManager=one",
        Some(("/spec", other.clone())),
    )
    .await;
    other["template"]["metadata"]["labels"] = json!({"app": "e"});
    apply(s, "deployments/d?fieldManager=one", Some(("/spec", other))).await;
    apply(
        s,
        "deployments/d?fieldManager=two",
        Some(("/spec/replicas", json!(1))),
    )
    .await;
}

async fn an_unknown_field_of_a_workload_cannot_be_applied(s: &Session) {
    let path = "statefulsets/d?fieldManager=one";
    apply(s, path, Some(("/spec/size", json!(1)))).await;
    let odd = json!([{"name": "c", "image": "x", "colour": "red"}]);
    apply(s, path, Some(("/spec/template/spec/containers", odd))).await;
    let odd =
        json!([{"name": "c", "image": "x", "ports": [{"containerPort": 80, "colour": "red"}]}]);
    apply(s, path, Some(("/spec/template/spec/containers", odd))).await;
    let twice = json!([{"name": "c", "image": "x"}, {"name": "c", "image": "y"}]);
    apply(s, path, Some(("/spec/template/spec/containers", twice))).await;
}

async fn an_item_without_its_key_has_an_empty_one(s: &Session) {
    let containers = "/spec/template/spec/containers";
    let path = "deployments/d?fieldManager=one&dryRun=All";
    let nameless = json!([{"name": "c", "image": "x:1", "env": [{"value": "1"}, {"value": "2"}]}]);
    apply(s, path, Some((containers, nameless))).await;
    let portless = json!([{"name": "c", "image": "x:1", "ports": [{"name": "a"}, {"name": "b"}]}]);
    apply(s, path, Some((containers, portless))).await;
    let defaulted = json!([{"name": "c", "image": "x:1", "ports": [{"containerPort": 1}, {"containerPort": 1, "protocol": "TCP"}]}]);
    apply(s, path, Some((containers, defaulted))).await;
}

async fn a_status_of_a_workload_is_applied_by_itself(s: &Session) {
    apply(
        s,
        "statefulsets/d?fieldManager=one",
        Some(("/status", json!({"replicas": 7}))),
    )
    .await;
    say(
        s,
        "
        apply statefulsets/d/status?fieldManager=two {spec: {replicas: 9}, status: {conditions: [{type: Mine, status: 'True', lastTransitionTime: '2001-01-01T00:00:00Z'}]}}
        apply statefulsets/d/status?fieldManager=two {metadata: {labels: {a: b}, annotations: {c: d}}, status: {replicas: 1}}
        apply statefulsets/none/status?fieldManager=two {status: {replicas: 1}}
        merge statefulsets/d/status?fieldManager=three {spec: {replicas: 4}, status: {readyReplicas: 1}}
        ",
    )
    .await;
}

async fn a_service_has_its_ports_by_number_and_protocol(s: &Session) {
    let service = |manager: &str, ports: &str| {
        format!(
            "apply services/a?fieldManager={manager} {{spec: {{clusterIP: None, selector: {{app: a}}, ports: {ports}}}}}"
        )
    };
    for (manager, ports) in [
        ("one", "[{name: http, port: 80}]"),
        ("two", "[{name: dns, port: 53, protocol: UDP}]"),
        ("two", "[{name: web, port: 80}]"),
        ("two", "[{name: dns, port: 80, protocol: UDP}]"),
        ("one", "[]"),
    ] {
        say(s, &service(manager, ports)).await;
    }
}

async fn a_spread_constraint_has_two_keys(s: &Session) {
    let constraints = "/spec/template/spec/topologySpreadConstraints";
    for (manager, when, skew) in [
        ("one", "DoNotSchedule", 1),
        ("two", "ScheduleAnyway", 2),
        ("two", "DoNotSchedule", 2),
    ] {
        let constraint = json!({"topologyKey": "zone", "whenUnsatisfiable": when, "maxSkew": skew});
        let path = format!("statefulsets/d?fieldManager={manager}");
        apply(s, &path, Some((constraints, json!([constraint])))).await;
    }
}

async fn a_secret_is_applied(s: &Session) {
    say(
        s,
        "
        apply secrets/a?fieldManager=one {data: {k: dg==}}
        apply secrets/a?fieldManager=one {data: {k: dg==, l: dw==}, type: Opaque}
        apply secrets/a?fieldManager=two {data: {k: dw==}}
        apply secrets/a?fieldManager=one {data: {k: dg==}, type: example.com/other}
        apply secrets/b?fieldManager=one {stringData: {k: v}}
        apply secrets/b?fieldManager=one {stringData: {k: v}}
        apply secrets/b?fieldManager=one {stringData: {k: w}}
        apply secrets/b?fieldManager=two {data: {k: dg==}}
        apply secrets/b?fieldManager=one {}
        ",
    )
    .await;
}

async fn the_annotation_of_kubectl_lets_it_take_over(s: &Session) {
    let applied = whole("configmaps/a", json!({"data": {"x": "1", "w": "<1>"}}));
    let mut annotated = applied.clone();
    let key = "kubectl.kubernetes.io/last-applied-configuration";
    annotated["metadata"]["annotations"] = json!({key: applied.to_string()});
    s.post(
        "configmaps?fieldManager=kubectl-client-side-apply",
        &annotated,
    )
    .await;
    say(
        s,
        "
        apply configmaps/a?fieldManager=other {data: {x: '2'}}
        apply configmaps/a?fieldManager=kubectl {data: {x: '2', w: <1>}}
        merge configmaps/a?fieldManager=editor {data: {w: '3'}}
        apply configmaps/a?fieldManager=kubectl {data: {x: '4', w: '4'}}
        apply configmaps/a?fieldManager=kubectl {data: {x: '5'}, metadata: {annotations: {mine: '1'}}}
        ",
    )
    .await;
}

behaviours! { Api:
    an_applied_workload_owns_what_was_said,
    replicas_are_left_to_who_scales,
    a_created_workload_owns_what_was_said,
    a_selector_of_a_deployment_stays,
    an_unknown_field_of_a_workload_cannot_be_applied,
    an_item_without_its_key_has_an_empty_one,
    a_status_of_a_workload_is_applied_by_itself,
    a_service_has_its_ports_by_number_and_protocol,
    a_spread_constraint_has_two_keys,
    a_secret_is_applied,
    the_annotation_of_kubectl_lets_it_take_over,
}
