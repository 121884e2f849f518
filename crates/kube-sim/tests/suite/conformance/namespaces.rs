//! The life of a namespace, and what it takes along.

use serde_json::{Value as Json, json};

use super::{behaviours, thing};
use crate::reply::Reply;
use crate::session::{Ask, GROUP, Session};

/// The session's own namespace.
fn own(s: &Session) -> String {
    format!("namespaces/{}", s.namespace)
}

/// Makes an object that stays until its finalizer is taken off.
async fn hold(s: &Session, plural: &str, name: &str) {
    let metadata = json!({"name": name, "finalizers": ["capstan.dev/f"]});
    let mut made = json!({"metadata": metadata});
    if plural == "things" {
        made["apiVersion"] = json!(format!("{GROUP}/v1"));
        made["kind"] = json!("Thing");
    }
    let reply = s.send(Ask::new("POST", plural).json(&made).silent()).await;
    assert_eq!(reply.status, 201, "{}", reply.text);
}

async fn release(s: &Session, path: &str) {
    let patch = json!({"metadata": {"finalizers": null}}).to_string();
    let ask = Ask::new("PATCH", path).body("application/merge-patch+json", patch);
    let reply = s.send(ask.silent()).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
}

/// The real server's controller has reported what remains.
fn waits(reply: &Reply) -> bool {
    let conditions = reply.body["status"]["conditions"].as_array();
    let waits = |one: &Json| one["type"] == "NamespaceContentRemaining" && one["status"] == "True";
    conditions.is_some_and(|list| list.iter().any(waits))
}

async fn a_namespace_is_active_when_made(s: &Session) {
    let name = format!("{}-2", s.namespace);
    let made = json!({"metadata": {"name": name}, "spec": {"finalizers": ["capstan.dev/f"]}, "status": {"phase": "Terminating"}});
    s.post("namespaces", &made).await;
    s.get(&format!("namespaces/{name}")).await;
    s.get(&format!("namespaces/{name}/status")).await;
}

async fn a_namespace_has_its_name_as_a_label(s: &Session) {
    let labels =
        json!({"metadata": {"labels": {"kubernetes.io/metadata.name": "other", "l": "1"}}});
    s.merge(&own(s), &labels).await;
    s.merge(&own(s), &json!({"metadata": {"labels": null}}))
        .await;
    let applied = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": s.namespace, "labels": {"l": "2"}}});
    s.apply(&format!("{}?fieldManager=m", own(s)), &applied)
        .await;
}

async fn a_namespace_that_is_not_there_takes_nothing(s: &Session) {
    s.install(&thing()).await;
    let nowhere = "/api/v1/namespaces/capstan-nowhere";
    let made = json!({"metadata": {"name": "a"}});
    s.post(&format!("{nowhere}/configmaps"), &made).await;
    s.get(&format!("{nowhere}/configmaps/a")).await;
    s.get(&format!("{nowhere}/configmaps")).await;
    let applied = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
    s.apply(&format!("{nowhere}/configmaps/a?fieldManager=m"), &applied)
        .await;
    s.delete(&format!("{nowhere}/configmaps/a")).await;
    let things = format!("/apis/{GROUP}/v1/namespaces/capstan-nowhere/things");
    s.post(
        &things,
        &json!({"apiVersion": format!("{GROUP}/v1"), "kind": "Thing", "metadata": {"name": "a"}}),
    )
    .await;
}

async fn a_namespace_that_ends_takes_nothing_new(s: &Session) {
    s.install(&thing()).await;
    hold(s, "configmaps", "held").await;
    s.delete(&own(s)).await;
    s.until(&own(s), waits).await;
    let made = json!({"metadata": {"name": "a"}});
    s.post("configmaps", &made).await;
    s.post("configmaps?dryRun=All", &made).await;
    let thing =
        json!({"apiVersion": format!("{GROUP}/v1"), "kind": "Thing", "metadata": {"name": "a"}});
    s.post("things", &thing).await;
    s.apply("things/a?fieldManager=m", &thing).await;
    s.merge("configmaps/held", &json!({"data": {"k": "v"}}))
        .await;
    s.post("configmaps", &json!({"metadata": {"name": "held"}}))
        .await;
    s.post("namespaces", &json!({"metadata": {"name": s.namespace}}))
        .await;
    release(s, "configmaps/held").await;
    s.until(&own(s), |reply| reply.status == 404).await;
}

async fn a_namespace_takes_its_content_along(s: &Session) {
    s.install(&thing()).await;
    for plural in ["configmaps", "secrets", "serviceaccounts", "leases"] {
        let made = json!({"metadata": {"name": "a"}});
        s.send(Ask::new("POST", plural).json(&made).silent()).await;
    }
    let made =
        json!({"apiVersion": format!("{GROUP}/v1"), "kind": "Thing", "metadata": {"name": "a"}});
    s.send(Ask::new("POST", "things").json(&made).silent())
        .await;
    s.delete(&own(s)).await;
    s.until(&own(s), |reply| reply.status == 404).await;
    for path in [
        "configmaps/a",
        "secrets/a",
        "serviceaccounts/a",
        "leases/a",
        "things/a",
    ] {
        s.get(path).await;
    }
    s.post("configmaps", &json!({"metadata": {"name": "a"}}))
        .await;
}

async fn a_namespace_waits_for_what_is_held(s: &Session) {
    s.install(&thing()).await;
    hold(s, "things", "a").await;
    hold(s, "configmaps", "a").await;
    s.delete(&own(s)).await;
    s.until(&own(s), waits).await;
    s.get("things/a").await;
    s.get("configmaps/a").await;
    release(s, "configmaps/a").await;
    let one = |reply: &Reply| !reply.text.contains("configmaps");
    s.until(&own(s), one).await;
    s.delete(&own(s)).await;
    release(s, "things/a").await;
    s.until(&own(s), |reply| reply.status == 404).await;
}

async fn a_namespace_waits_for_its_own_finalizers(s: &Session) {
    s.merge(
        &own(s),
        &json!({"metadata": {"finalizers": ["capstan.dev/f"]}}),
    )
    .await;
    s.delete(&own(s)).await;
    let empty = |reply: &Reply| reply.body["spec"].get("finalizers").is_none();
    s.until(&own(s), empty).await;
    s.delete(&own(s)).await;
    s.merge(&own(s), &json!({"metadata": {"finalizers": null}}))
        .await;
    s.get(&own(s)).await;
}

async fn a_namespace_is_finalized_by_whom_its_spec_names(s: &Session) {
    let name = format!("{}-2", s.namespace);
    let path = format!("namespaces/{name}");
    let made = s
        .post("namespaces", &json!({"metadata": {"name": name}}))
        .await;
    let mut body = made.body;
    s.merge(&path, &json!({"spec": {"finalizers": []}})).await;
    body["spec"]["finalizers"] = json!(["kubernetes", "capstan.dev/f"]);
    body["metadata"]["labels"]["l"] = json!("1");
    body["status"]["phase"] = json!("Terminating");
    let mut body = s.put(&format!("{path}/finalize"), &body).await.body;
    body["spec"]["finalizers"] = json!(["plain"]);
    s.put(&format!("{path}/finalize"), &body).await;
    s.get(&format!("{path}/finalize")).await;
    s.delete(&path).await;
    let mut kept = s
        .until(&path, |reply| !reply.text.contains("\"kubernetes\""))
        .await
        .body;
    s.delete(&path).await;
    kept["spec"]["finalizers"] = json!([]);
    s.put(&format!("{path}/finalize"), &kept).await;
    s.until(&path, |reply| reply.status == 404).await;
}

async fn some_namespaces_may_not_be_deleted(s: &Session) {
    for name in ["default", "kube-system"] {
        s.delete(&format!("namespaces/{name}")).await;
    }
    s.delete("namespaces/default?dryRun=All").await;
    s.delete("namespaces/capstan-nowhere").await;
}

async fn a_rehearsed_end_of_a_namespace_is_none(s: &Session) {
    s.delete(&format!("{}?dryRun=All", own(s))).await;
    s.get(&own(s)).await;
    let uid = json!({"preconditions": {"uid": "11111111-2222-3333-4444-555555555555"}});
    s.delete_with(&own(s), &uid).await;
}

async fn a_status_of_a_namespace_is_written_apart(s: &Session) {
    s.merge(&own(s), &json!({"status": {"phase": "Terminating"}}))
        .await;
    let conditions = json!([{"type": "Mine", "status": "True", "reason": "R", "message": "m",
        "lastTransitionTime": "2026-01-02T03:04:05Z"}]);
    s.merge(
        &format!("{}/status", own(s)),
        &json!({"status": {"conditions": conditions}, "spec": {"finalizers": []}}),
    )
    .await;
    s.merge(
        &format!("{}/status", own(s)),
        &json!({"status": {"phase": "Terminating"}}),
    )
    .await;
}

behaviours! { Controllers:
    a_namespace_is_active_when_made,
    a_namespace_has_its_name_as_a_label,
    a_namespace_that_is_not_there_takes_nothing,
    a_namespace_that_ends_takes_nothing_new,
    a_namespace_takes_its_content_along,
    a_namespace_waits_for_what_is_held,
    a_namespace_waits_for_its_own_finalizers,
    a_namespace_is_finalized_by_whom_its_spec_names,
    some_namespaces_may_not_be_deleted,
    a_rehearsed_end_of_a_namespace_is_none,
    a_status_of_a_namespace_is_written_apart,
}
