//! The status subresource, and what counts as a new generation.

use serde_json::{Value as Json, json};

use super::{behaviours, orbit, thing};
use crate::session::{GROUP, Session};

fn a_thing(rest: &Json) -> Json {
    let mut made =
        json!({"apiVersion": format!("{GROUP}/v1"), "kind": "Thing", "metadata": {"name": "a"}});
    for (key, value) in rest.as_object().expect("a map") {
        made[key] = value.clone();
    }
    made
}

/// A kind with a status that no controller of the real server writes.
fn stateful_set() -> Json {
    json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet",
        "metadata": {"name": "a", "labels": {"l": "1"}, "annotations": {"n": "1"}},
        "spec": {
            "replicas": 0, "serviceName": "a",
            "selector": {"matchLabels": {"app": "a"}},
            "template": {
                "metadata": {"labels": {"app": "a"}},
                "spec": {"containers": [{"name": "c", "image": "i:1"}]},
            },
        },
    })
}

fn ingress() -> Json {
    json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
        "metadata": {"name": "a", "labels": {"l": "1"}, "annotations": {"n": "1"}},
        "spec": {"defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}},
    })
}

fn in_group(s: &Session, group: &str, rest: &str) -> String {
    format!("/apis/{group}/namespaces/{}/{rest}", s.namespace)
}

async fn a_main_write_leaves_the_status(s: &Session) {
    s.install(&thing()).await;
    let with_status = json!({"spec": {"text": "a"}, "status": {"phase": "Ready"}});
    s.post("things", &a_thing(&with_status)).await;
    s.merge("things/a/status", &json!({"status": {"phase": "Going"}}))
        .await;
    s.merge("things/a", &with_status).await;
    let mut read = s.get("things/a").await.body;
    read["status"] = json!({"phase": "Done"});
    read["spec"]["text"] = json!("b");
    s.put("things/a", &read).await;
    s.json_patch("things/a", &json!([{"op": "remove", "path": "/status"}]))
        .await;
}

async fn a_status_write_leaves_all_else(s: &Session) {
    s.install(&thing()).await;
    let made = a_thing(&json!({"spec": {"text": "a"}}));
    let mut read = s.post("things", &made).await.body;
    read["status"] = json!({"phase": "Ready"});
    read["spec"]["text"] = json!("b");
    read["metadata"]["labels"] = json!({"l": "1"});
    read["metadata"]["annotations"] = json!({"n": "1"});
    read["metadata"]["finalizers"] = json!(["capstan.dev/f"]);
    read["metadata"]["ownerReferences"] =
        json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u"}]);
    s.put("things/a/status", &read).await;
    s.merge(
        "things/a/status",
        &json!({"metadata": {"labels": {"l": "2"}}, "spec": {"count": 1}}),
    )
    .await;
    s.get("things/a/status").await;
}

async fn a_status_can_be_taken_away(s: &Session) {
    s.install(&thing()).await;
    s.post("things", &a_thing(&json!({}))).await;
    s.merge("things/a/status", &json!({"status": {"phase": "Ready"}}))
        .await;
    s.merge("things/a/status", &json!({"status": null})).await;
}

async fn a_status_write_is_checked(s: &Session) {
    s.install(&thing()).await;
    let mut read = s.post("things", &a_thing(&json!({}))).await.body;
    s.merge(
        "things/a/status",
        &json!({"status": {"conditions": [{"type": "Ready", "status": "Maybe"}]}}),
    )
    .await;
    s.merge("things/a/status", &json!({"status": {"phase": 1}}))
        .await;
    // What is wrong beside the status does not matter: it is not written.
    s.merge(
        "things/a/status",
        &json!({"spec": {"count": 11}, "status": {"phase": "Ready"}}),
    )
    .await;
    read["status"] = json!({"phase": "Late"});
    s.put("things/a/status", &read).await;
    read["metadata"]["resourceVersion"].take();
    s.put("things/a/status", &read).await;
    s.put("things/b/status", &read).await;
}

async fn a_status_write_of_nothing_changes_nothing(s: &Session) {
    s.install(&thing()).await;
    s.post("things", &a_thing(&json!({}))).await;
    let ready = json!({"status": {"phase": "Ready"}});
    s.merge("things/a/status", &ready).await;
    s.merge("things/a/status", &ready).await;
    s.merge("things/a/status?fieldManager=other", &ready).await;
}

async fn a_status_has_fields_of_its_own_in_an_apply(s: &Session) {
    s.install(&thing()).await;
    let object = |part: Json| a_thing(&part);
    let spec = object(json!({"spec": {"text": "a"}}));
    s.apply("things/a?fieldManager=m", &spec).await;
    let ready = object(json!({"status": {"phase": "Ready"}}));
    s.apply("things/a/status?fieldManager=m", &ready).await;
    let both = object(json!({"spec": {"text": "b"}, "status": {"phase": "Done"}}));
    s.apply("things/a/status?fieldManager=m", &both).await;
    s.apply("things/a?fieldManager=m", &both).await;
    s.apply("things/a/status?fieldManager=other", &ready).await;
    s.apply("things/a/status?fieldManager=m", &object(json!({})))
        .await;
    s.apply(
        "things/b/status?fieldManager=m",
        &object(json!({"metadata": {"name": "b"}})),
    )
    .await;
}

async fn a_status_is_no_subresource_of_its_own_will(s: &Session) {
    s.install(&orbit()).await;
    let made = json!({"apiVersion": format!("{GROUP}/v1"), "kind": "Orbit",
        "metadata": {"name": "no-subresource"}, "spec": {"a": 1}, "status": {"phase": "Ready"}});
    s.post("orbits", &made).await;
    s.get("orbits/no-subresource/status").await;
    s.merge(
        "orbits/no-subresource/status",
        &json!({"status": {"phase": "Done"}}),
    )
    .await;
    s.merge(
        "orbits/no-subresource",
        &json!({"status": {"phase": "Done"}}),
    )
    .await;
    s.merge("configmaps/a/status", &json!({})).await;
    s.delete("orbits/no-subresource").await;
}

async fn a_generation_counts_what_is_wanted(s: &Session) {
    s.install(&thing()).await;
    s.post("things", &a_thing(&json!({"spec": {"text": "a"}})))
        .await;
    for patch in [
        json!({"spec": {"text": "a"}}),
        json!({"spec": {"text": "b"}}),
        json!({"metadata": {"labels": {"l": "1"}, "annotations": {"n": "1"}}}),
        json!({"metadata": {"finalizers": ["capstan.dev/f"]}}),
        json!({"metadata": {"generation": 9}}),
        json!({"metadata": {"labels": {"l": "2"}}, "spec": {"count": 1}}),
    ] {
        s.merge("things/a", &patch).await;
    }
    s.merge("things/a/status", &json!({"status": {"phase": "Ready"}}))
        .await;
    s.delete("things/a").await;
}

async fn a_generation_counts_all_where_no_status_is_apart(s: &Session) {
    s.install(&orbit()).await;
    let made = json!({"apiVersion": format!("{GROUP}/v1"), "kind": "Orbit",
        "metadata": {"name": "counted", "generation": 7}, "spec": {"a": 1}});
    s.post("orbits", &made).await;
    for patch in [
        json!({"status": {"phase": "Ready"}}),
        json!({"top": 1}),
        json!({"metadata": {"labels": {"l": "1"}}}),
        json!({"spec": null}),
    ] {
        s.merge("orbits/counted", &patch).await;
    }
    s.delete("orbits/counted").await;
}

async fn a_built_in_generation_counts_what_is_wanted(s: &Session) {
    s.post("statefulsets", &stateful_set()).await;
    for patch in [
        json!({"metadata": {"labels": {"l": "2"}}}),
        json!({"metadata": {"annotations": {"n": "2"}}}),
        json!({"spec": {"minReadySeconds": 1}}),
        json!({"spec": {"minReadySeconds": 1}, "status": {"replicas": 1}}),
    ] {
        s.merge("statefulsets/a", &patch).await;
    }
    s.post("configmaps", &json!({"metadata": {"name": "a"}}))
        .await;
    s.merge(
        "configmaps/a",
        &json!({"metadata": {"generation": 3}, "data": {"k": "v"}}),
    )
    .await;
}

async fn a_built_in_status_is_written_apart(s: &Session) {
    let mut made = stateful_set();
    made["status"] = json!({"replicas": 3});
    let mut read = s.post("statefulsets", &made).await.body;
    read["status"]["replicas"] = json!(1);
    read["spec"]["minReadySeconds"] = json!(5);
    read["metadata"]["labels"] = json!({"l": "2"});
    read["metadata"]["annotations"] = json!({"n": "2"});
    read["metadata"]["finalizers"] = json!(["capstan.dev/f"]);
    s.put("statefulsets/a/status", &read).await;
    s.merge("statefulsets/a", &json!({"status": {"replicas": 7}}))
        .await;
}

async fn metadata_beside_a_built_in_status_is_written_too(s: &Session) {
    let ingresses = in_group(s, "networking.k8s.io/v1", "ingresses");
    let mut read = s.post(&ingresses, &ingress()).await.body;
    read["status"] = json!({"loadBalancer": {"ingress": [{"ip": "10.0.0.1"}]}});
    read["spec"]["ingressClassName"] = json!("x");
    read["metadata"]["labels"] = json!({"l": "2"});
    read["metadata"]["annotations"] = json!({"n": "2"});
    read["metadata"]["finalizers"] = json!(["capstan.dev/f"]);
    s.put(&format!("{ingresses}/a/status"), &read).await;
    let spec = json!({"clusterIP": "None", "selector": {"app": "a"}, "ports": [{"port": 1}]});
    let service = json!({"metadata": {"name": "a"}, "spec": spec});
    s.post("services", &service).await;
    let patch =
        json!({"metadata": {"labels": {"l": "1"}}, "spec": {"sessionAffinity": "ClientIP"}});
    s.merge("services/a/status", &patch).await;
}

behaviours! { Api:
    a_main_write_leaves_the_status,
    a_status_write_leaves_all_else,
    a_status_can_be_taken_away,
    a_status_write_is_checked,
    a_status_write_of_nothing_changes_nothing,
    a_status_has_fields_of_its_own_in_an_apply,
    a_status_is_no_subresource_of_its_own_will,
    a_generation_counts_what_is_wanted,
    a_generation_counts_all_where_no_status_is_apart,
    a_built_in_generation_counts_what_is_wanted,
    a_built_in_status_is_written_apart,
    metadata_beside_a_built_in_status_is_written_too,
}
