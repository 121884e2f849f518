//! Deletions: what is asked of them, what holds them up, and what they answer.

use serde_json::{Value as Json, json};

use super::{a_config_map, a_thing, behaviours, thing};
use crate::session::{Ask, Session};

fn held() -> Json {
    json!({"finalizers": ["capstan.dev/f"]})
}

fn finalizers(names: &[&str]) -> Json {
    json!({"metadata": {"finalizers": names}})
}

async fn a_deletion_answers_with_what_it_deleted(s: &Session) {
    s.install(&thing()).await;
    s.post("configmaps", &a_config_map("a", &json!({}))).await;
    s.post("things", &a_thing(&json!({}))).await;
    s.post("secrets", &json!({"metadata": {"name": "a"}})).await;
    s.post("serviceaccounts", &json!({"metadata": {"name": "a"}}))
        .await;
    let roles = format!(
        "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/roles",
        s.namespace
    );
    s.post(&roles, &json!({"metadata": {"name": "a"}})).await;
    for path in [
        "configmaps/a",
        "things/a",
        "secrets/a",
        "serviceaccounts/a",
        &format!("{roles}/a"),
        "leases/a",
    ] {
        s.delete(path).await;
    }
    s.delete("configmaps/a").await;
    s.delete("things/a").await;
    s.get("things/a").await;
}

async fn a_deletion_is_of_the_object_that_was_meant(s: &Session) {
    s.install(&thing()).await;
    let made = s.post("configmaps", &a_config_map("a", &json!({}))).await;
    let changed = s
        .merge("configmaps/a", &json!({"metadata": {"labels": {"l": "1"}}}))
        .await;
    let other = "11111111-2222-3333-4444-555555555555";
    let on = |conditions: Json| json!({"preconditions": conditions});
    s.delete_with("configmaps/a", &on(json!({"uid": other})))
        .await;
    let old = json!({"resourceVersion": made.version()});
    let shown = |text: &str, version: &str, with: &str| text.replace(version, with);
    let refused = s
        .send(Ask::new("DELETE", "configmaps/a").json(&on(old)).silent())
        .await;
    let message = shown(refused.at("/message"), made.version(), "(old)");
    s.note(&format!(
        "{} {}",
        refused.status,
        shown(&message, changed.version(), "(new)")
    ));
    s.delete_with("configmaps/a?dryRun=All", &on(json!({"uid": other})))
        .await;
    s.delete_with("configmaps/none", &on(json!({"uid": other})))
        .await;
    let right = json!({"uid": changed.uid(), "resourceVersion": changed.version()});
    s.delete_with("configmaps/a", &on(right)).await;
    s.post("things", &a_thing(&json!({}))).await;
    s.delete_with("things/a", &on(json!({"uid": other}))).await;
}

async fn a_finalizer_holds_an_object(s: &Session) {
    s.install(&thing()).await;
    s.post("things", &a_thing(&held())).await;
    s.delete("things/a").await;
    s.get("things/a").await;
    s.delete("things/a").await;
    s.merge(
        "things/a",
        &json!({"metadata": {"labels": {"l": "1"}}, "spec": {"text": "a"}}),
    )
    .await;
    s.merge("things/a/status", &json!({"status": {"phase": "Going"}}))
        .await;
    s.merge(
        "things/a",
        &json!({"metadata": {"deletionTimestamp": null}}),
    )
    .await;
    s.merge(
        "things/a",
        &json!({"metadata": {"finalizers": null, "labels": {"l": "2"}}}),
    )
    .await;
    s.get("things/a").await;
}

async fn a_finalizer_holds_a_built_in_object(s: &Session) {
    s.post("configmaps", &a_config_map("a", &held())).await;
    s.delete("configmaps/a").await;
    s.delete("configmaps/a").await;
    let mut read = s.get("configmaps/a").await.body;
    read["data"] = json!({"k": "v"});
    read["metadata"]
        .as_object_mut()
        .expect("a map")
        .remove("finalizers");
    s.put("configmaps/a", &read).await;
    s.get("configmaps/a").await;
}

async fn no_finalizer_is_added_to_what_is_going(s: &Session) {
    s.install(&thing()).await;
    let two = ["capstan.dev/f", "capstan.dev/g"];
    s.post("things", &a_thing(&finalizers(&two)["metadata"]))
        .await;
    s.post("configmaps", &a_config_map("a", &held())).await;
    s.delete("things/a").await;
    s.delete("configmaps/a").await;
    for names in [
        &["capstan.dev/f", "capstan.dev/g", "capstan.dev/h"][..],
        &["capstan.dev/z", "capstan.dev/h"],
        &["capstan.dev/g", "capstan.dev/f"],
        &["capstan.dev/f"],
        &["capstan.dev/f", "capstan.dev/g"],
    ] {
        s.merge("things/a", &finalizers(names)).await;
    }
    s.merge(
        "configmaps/a",
        &finalizers(&["capstan.dev/f", "capstan.dev/g"]),
    )
    .await;
    s.merge("configmaps/a", &finalizers(&["orphan"])).await;
}

async fn a_going_object_keeps_its_name(s: &Session) {
    s.install(&thing()).await;
    s.post("things", &a_thing(&held())).await;
    s.delete("things/a").await;
    s.post("things", &a_thing(&json!({}))).await;
    s.post("things?dryRun=All", &a_thing(&json!({}))).await;
    let applied = a_thing(&json!({"labels": {"l": "1"}}));
    s.apply("things/a?fieldManager=m", &applied).await;
    s.merge("things/a", &finalizers(&[])).await;
    s.post("things", &a_thing(&json!({}))).await;
}

async fn an_applied_finalizer_is_let_go_by_its_manager(s: &Session) {
    s.install(&thing()).await;
    s.apply("things/a?fieldManager=m", &a_thing(&held())).await;
    s.apply(
        "things/a?fieldManager=other",
        &a_thing(&json!({"labels": {"l": "1"}})),
    )
    .await;
    s.delete("things/a").await;
    s.apply("things/a?fieldManager=m", &a_thing(&json!({})))
        .await;
    s.get("things/a").await;
    s.apply("things/a?fieldManager=m", &a_thing(&json!({})))
        .await;
}

async fn a_grace_period_means_nothing_to_most_kinds(s: &Session) {
    for seconds in [0, 10, -1] {
        s.post("configmaps", &a_config_map("a", &json!({}))).await;
        s.delete_with("configmaps/a", &json!({"gracePeriodSeconds": seconds}))
            .await;
    }
    s.post("configmaps", &a_config_map("a", &held())).await;
    s.delete("configmaps/a?gracePeriodSeconds=10").await;
    s.delete("configmaps/a?gracePeriodSeconds=0").await;
    s.delete("configmaps/a?gracePeriodSeconds=x").await;
}

async fn a_rehearsed_deletion_deletes_nothing(s: &Session) {
    s.install(&thing()).await;
    s.post("configmaps", &a_config_map("a", &json!({}))).await;
    s.post("things", &a_thing(&held())).await;
    s.delete("configmaps/a?dryRun=All").await;
    s.get("configmaps/a").await;
    s.delete_with("things/a", &json!({"dryRun": ["All"]})).await;
    s.get("things/a").await;
    s.delete_with(
        "things/a",
        &json!({"dryRun": ["All"], "propagationPolicy": "Foreground"}),
    )
    .await;
    s.delete_with("configmaps/a", &json!({"dryRun": ["Some"]}))
        .await;
    s.delete("configmaps?dryRun=All").await;
    s.delete("things/a").await;
    s.merge("things/a?dryRun=All", &finalizers(&[])).await;
    s.get("things/a").await;
}

async fn a_deletion_refuses_options_that_make_no_sense(s: &Session) {
    s.post("configmaps", &a_config_map("a", &json!({}))).await;
    for options in [
        json!({"propagationPolicy": "Sideways"}),
        json!({"propagationPolicy": "Orphan", "orphanDependents": true}),
        json!({"propagationPolicy": "Background", "orphanDependents": false}),
    ] {
        s.delete_with("configmaps/a", &options).await;
    }
    s.delete("configmaps/a?propagationPolicy=Sideways").await;
    s.delete("configmaps/a?dryRun=Some").await;
    let other = json!({"kind": "ConfigMap", "apiVersion": "v1"});
    s.send(Ask::new("DELETE", "configmaps/a").json(&other).gist())
        .await;
    let broken = Ask::new("DELETE", "configmaps/a").body("application/json", "{");
    s.send(broken.gist()).await;
    let unknown = Ask::new("DELETE", "configmaps/a").body("text/plain", "{}");
    s.send(unknown.gist()).await;
    s.delete_with(
        "configmaps?dryRun=All",
        &json!({"propagationPolicy": "Sideways"}),
    )
    .await;
    s.delete_with(
        "configmaps/a",
        &json!({"kind": "DeleteOptions", "apiVersion": "v1", "colour": "red"}),
    )
    .await;
}

async fn options_are_of_the_body_if_there_is_one(s: &Session) {
    s.post("configmaps", &a_config_map("a", &json!({}))).await;
    s.delete_with("configmaps/a?dryRun=All", &json!({})).await;
    s.get("configmaps/a").await;
    s.post("configmaps", &a_config_map("b", &json!({}))).await;
    s.delete_with(
        "configmaps/b?propagationPolicy=Sideways",
        &json!({"kind": "DeleteOptions", "apiVersion": "v1"}),
    )
    .await;
    let yaml = Ask::new("DELETE", "configmaps/b").body("application/yaml", "dryRun: [All]\n");
    s.send(yaml).await;
}

async fn a_collection_is_deleted_as_selected(s: &Session) {
    s.install(&thing()).await;
    for (name, label) in [("a", "1"), ("b", "2"), ("c", "1"), ("d", "3")] {
        let made = a_config_map(name, &json!({"labels": {"l": label}}));
        s.send(Ask::new("POST", "configmaps").json(&made).silent())
            .await;
    }
    s.post("things", &a_thing(&held())).await;
    s.delete("configmaps?labelSelector=l%3D1").await;
    s.delete("configmaps?fieldSelector=metadata.name%3Db").await;
    s.delete("configmaps?labelSelector=l%3Dx").await;
    let unclear = Ask::new("DELETE", "configmaps?labelSelector=l%3D%3D%3D");
    s.send(unclear.gist()).await;
    s.delete("configmaps").await;
    s.get("configmaps").await;
    s.delete("things").await;
    s.get("things").await;
    s.delete("things").await;
    s.delete("/api/v1/configmaps").await;
    s.delete("namespaces").await;
}

async fn a_deletion_counts_as_a_new_generation(s: &Session) {
    s.install(&thing()).await;
    s.post("things", &a_thing(&held())).await;
    s.delete("things/a").await;
    s.delete("things/a").await;
    s.merge("things/a", &finalizers(&[])).await;
}

async fn a_watch_tells_how_an_object_goes(s: &Session) {
    s.install(&thing()).await;
    let made = s.post("things", &a_thing(&held())).await;
    let mut watch = s
        .watch(&format!("things?resourceVersion={}", made.version()))
        .await;
    s.delete("things/a").await;
    s.merge(
        "things/a",
        &json!({"metadata": {"finalizers": null, "labels": {"l": "2"}}}),
    )
    .await;
    watch.take(2).await;
    s.post("things", &a_thing(&json!({}))).await;
    s.delete("things/a").await;
    watch.take(2).await;
}

behaviours! { Api:
    a_deletion_answers_with_what_it_deleted,
    a_deletion_is_of_the_object_that_was_meant,
    a_finalizer_holds_an_object,
    a_finalizer_holds_a_built_in_object,
    no_finalizer_is_added_to_what_is_going,
    a_going_object_keeps_its_name,
    an_applied_finalizer_is_let_go_by_its_manager,
    a_grace_period_means_nothing_to_most_kinds,
    a_rehearsed_deletion_deletes_nothing,
    a_deletion_refuses_options_that_make_no_sense,
    options_are_of_the_body_if_there_is_one,
    a_collection_is_deleted_as_selected,
    a_deletion_counts_as_a_new_generation,
    a_watch_tells_how_an_object_goes,
}
