//! Create, read, replace and delete one object.

use serde_json::{Value as Json, json};

use super::{behaviours, orbit, thing};
use crate::session::{Ask, GROUP, Session};

/// A ConfigMap with this name and these data.
pub(super) fn config_map(name: &str, data: &Json) -> Json {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})
}

/// A Thing with this name and this spec.
pub(super) fn a_thing(name: &str, spec: &Json) -> Json {
    let version = format!("{GROUP}/v1");
    json!({"apiVersion": version, "kind": "Thing", "metadata": {"name": name}, "spec": spec})
}

/// A ConfigMap with this metadata, named `a` by default.
fn described(metadata: &Json) -> Json {
    let mut object = config_map("a", &json!({}));
    let fields = metadata.as_object().into_iter().flatten();
    fields.for_each(|(key, value)| object["metadata"][key] = value.clone());
    object
}

async fn a_created_object_is_read_back(s: &Session) {
    s.post("configmaps", &config_map("a", &json!({"k": "v"})))
        .await;
    s.get("configmaps/a").await;
}

async fn a_name_is_taken_once(s: &Session) {
    s.post("configmaps", &config_map("a", &json!({}))).await;
    s.post("configmaps", &config_map("a", &json!({"k": "v"})))
        .await;
}

async fn a_new_object_has_no_version(s: &Session) {
    s.install(&thing()).await;
    s.post("configmaps", &described(&json!({"resourceVersion": "5"})))
        .await;
    s.post("configmaps", &described(&json!({"resourceVersion": "0"})))
        .await;
    s.post(
        "configmaps",
        &described(&json!({"resourceVersion": "x", "name": "b"})),
    )
    .await;
    let mut object = a_thing("a", &json!({}));
    object["metadata"]["resourceVersion"] = json!("5");
    s.post("things", &object).await;
}

async fn an_object_lies_where_the_request_says(s: &Session) {
    s.install(&orbit()).await;
    s.post("configmaps", &described(&json!({"namespace": "elsewhere"})))
        .await;
    s.post("configmaps", &described(&json!({"namespace": s.namespace})))
        .await;
    s.put(
        "configmaps/a",
        &described(&json!({"namespace": "elsewhere"})),
    )
    .await;
    s.merge(
        "configmaps/a",
        &json!({"metadata": {"namespace": "elsewhere"}}),
    )
    .await;
    s.put("configmaps/a", &described(&json!({"name": "b"})))
        .await;
    s.put("configmaps/a", &json!({"metadata": {}})).await;
    s.merge("configmaps/a", &json!({"metadata": {"name": "b"}}))
        .await;
    let name = s.namespace.as_str();
    let version = format!("{GROUP}/v1");
    let orbit = json!({"apiVersion": version, "kind": "Orbit",
        "metadata": {"name": name, "namespace": "somewhere"}});
    s.post("orbits", &orbit).await;
}

async fn an_object_says_what_it_is(s: &Session) {
    s.install(&thing()).await;
    let typed = |version: &str, kind: &str| {
        let mut object = json!({"metadata": {"name": "a"}});
        for (key, value) in [("apiVersion", version), ("kind", kind)] {
            if !value.is_empty() {
                object[key] = json!(value);
            }
        }
        object
    };
    for (version, kind) in [
        ("v2", "ConfigMap"),
        ("v2", ""),
        ("apps/v1", "ConfigMap"),
        ("apps/v1", "Deployment"),
        ("v1", "Secret"),
        ("v1", "Nothing"),
        ("", "Nothing"),
        ("a/b/c", "ConfigMap"),
        ("", "ConfigMap"),
    ] {
        s.post("configmaps", &typed(version, kind)).await;
    }
    let version = format!("{GROUP}/v1");
    for (version, kind) in [
        ("", ""),
        (&*version, ""),
        ("", "Thing"),
        (&*version, "Orbit"),
        ("v1", "Thing"),
        ("v1", "ConfigMap"),
        (&*format!("{GROUP}/v2"), "Thing"),
        (&*version, "Thing"),
    ] {
        s.post("things", &typed(version, kind)).await;
    }
}

async fn an_update_says_what_it_is(s: &Session) {
    s.install(&thing()).await;
    s.post("configmaps", &described(&json!({}))).await;
    let made = s.post("things", &a_thing("a", &json!({}))).await;
    let mut object = described(&json!({}));
    object["kind"] = json!("Secret");
    s.put("configmaps/a", &object).await;
    object["kind"] = json!("ConfigMap");
    object["apiVersion"] = json!("v2");
    s.put("configmaps/a", &object).await;
    // The refusals say the whole object.
    for (path, change) in [
        ("configmaps/a", json!({"kind": "Secret"})),
        ("configmaps/a", json!({"apiVersion": "v2"})),
        ("things/a", json!({"kind": null})),
    ] {
        let ask = Ask::new("PATCH", path).body("application/merge-patch+json", change.to_string());
        s.send(ask.gist()).await;
    }
    s.merge("things/a", &json!({"kind": "Orbit"})).await;
    s.merge("things/a", &json!({"apiVersion": "v1"})).await;
    let mut object = a_thing("a", &json!({}));
    object["metadata"]["resourceVersion"] = json!(made.version());
    object["kind"] = json!("Orbit");
    s.put("things/a", &object).await;
    object["apiVersion"] = json!("v1");
    s.put("things/a", &object).await;
}

async fn names_are_generated_from_a_prefix(s: &Session) {
    let generated = json!({"metadata": {"generateName": "a-"}});
    let ask = Ask::new("POST", "configmaps").json(&generated).silent();
    let reply = s.send(ask).await;
    let name = reply.at("/metadata/name");
    let suffix = name.strip_prefix("a-").unwrap_or_default();
    let letters = suffix
        .chars()
        .all(|c| "bcdfghjklmnpqrstvwxz2456789".contains(c));
    s.note(&format!("{} {} {letters}", reply.status, suffix.len()));
    let long = json!({"metadata": {"generateName": "a".repeat(100)}});
    let ask = Ask::new("POST", "configmaps").json(&long).silent();
    let reply = s.send(ask).await;
    s.note(&format!(
        "{} {}",
        reply.status,
        reply.at("/metadata/name").len()
    ));
    for metadata in [
        json!({"name": "b", "generateName": "a-"}),
        json!({"name": "c", "generateName": "A-"}),
        json!({"name": "", "generateName": ""}),
        json!({}),
    ] {
        s.post("configmaps", &json!({"metadata": metadata})).await;
    }
    for (path, prefix) in [("configmaps", "A-"), ("namespaces", "a.b")] {
        let generated = json!({"metadata": {"generateName": prefix}});
        let ask = Ask::new("POST", path).json(&generated).silent();
        let reply = s.send(ask).await;
        // The message has the generated name.
        let causes = reply.body["details"]["causes"].as_array();
        let fields = causes.into_iter().flatten().map(|cause| &cause["field"]);
        let fields: Vec<String> = fields.map(ToString::to_string).collect();
        s.note(&format!("{} {}", reply.status, fields.join(" ")));
    }
}

async fn an_update_is_based_on_the_stored_version(s: &Session) {
    s.install(&thing()).await;
    let made = s
        .post("configmaps", &config_map("a", &json!({"k": "1"})))
        .await;
    let based = |version: &str, data: &Json| {
        let mut object = config_map("a", data);
        object["metadata"]["resourceVersion"] = json!(version);
        object
    };
    s.put("configmaps/a", &based(made.version(), &json!({"k": "2"})))
        .await;
    s.put("configmaps/a", &based(made.version(), &json!({"k": "3"})))
        .await;
    s.put("configmaps/a", &based("", &json!({"k": "4"}))).await;
    s.put("configmaps/a", &based("0", &json!({"k": "5"}))).await;
    s.put("configmaps/a", &based("x", &json!({"k": "6"}))).await;
    s.merge(
        "configmaps/a",
        &json!({"metadata": {"resourceVersion": made.version()}}),
    )
    .await;
    s.merge(
        "configmaps/a",
        &json!({"metadata": {"resourceVersion": "x"}}),
    )
    .await;
    s.merge(
        "configmaps/a",
        &json!({"metadata": {"resourceVersion": null}}),
    )
    .await;
}

async fn an_update_of_a_custom_object_needs_a_version(s: &Session) {
    s.install(&thing()).await;
    let made = s.post("things", &a_thing("a", &json!({"text": "a"}))).await;
    let based = |version: &str, text: &str| {
        let mut object = a_thing("a", &json!({"text": text}));
        object["metadata"]["resourceVersion"] = json!(version);
        object
    };
    s.put("things/a", &a_thing("a", &json!({"text": "b"})))
        .await;
    s.put("things/a", &based("0", "c")).await;
    s.put("things/a", &based("x", "d")).await;
    s.put("things/a", &based(made.version(), "e")).await;
    s.put("things/a", &based(made.version(), "f")).await;
    s.put("things/a/status", &based(made.version(), "g")).await;
    s.put("things/b", &a_thing("b", &json!({}))).await;
    s.merge(
        "things/a",
        &json!({"metadata": {"resourceVersion": made.version()}}),
    )
    .await;
    s.merge("things/a", &json!({"metadata": {"resourceVersion": null}}))
        .await;
}

async fn an_update_is_of_the_object_with_its_uid(s: &Session) {
    let made = s.post("configmaps", &described(&json!({}))).await;
    let other = "00000000-0000-0000-0000-000000000000";
    s.put("configmaps/a", &described(&json!({"uid": other})))
        .await;
    s.put("configmaps/a", &described(&json!({"uid": made.uid()})))
        .await;
    s.merge("configmaps/a", &json!({"metadata": {"uid": null}}))
        .await;
    s.put(
        "configmaps/b",
        &described(&json!({"name": "b", "uid": other})),
    )
    .await;
    s.merge("configmaps/b", &json!({"metadata": {"uid": other}}))
        .await;
    let lease = json!({"metadata": {"name": "b", "uid": other}});
    s.put("leases/b", &lease).await;
}

async fn some_kinds_are_created_by_an_update(s: &Session) {
    let group = "/apis/rbac.authorization.k8s.io/v1";
    let path = |name: &str| format!("{group}/namespaces/{}/roles/{name}", s.namespace);
    let role = |metadata: Json, verb: &str| {
        let rule = json!({"apiGroups": [""], "resources": ["configmaps"], "verbs": [verb]});
        json!({"metadata": metadata, "rules": [rule]})
    };
    s.put("configmaps/a", &described(&json!({}))).await;
    s.put(&path("a"), &role(json!({"name": "b"}), "get")).await;
    s.put(&path("a"), &role(json!({"name": "a"}), "get")).await;
    s.put(&path("a"), &role(json!({"name": "a"}), "list")).await;
    let versioned = json!({"name": "b", "resourceVersion": "5"});
    s.put(&path("b"), &role(versioned, "get")).await;
    s.merge(&path("c"), &json!({"rules": []})).await;
}

async fn a_change_of_nothing_makes_no_version(s: &Session) {
    s.install(&thing()).await;
    s.post("configmaps", &config_map("a", &json!({"k": "1"})))
        .await;
    s.put("configmaps/a", &config_map("a", &json!({"k": "1"})))
        .await;
    s.merge("configmaps/a", &json!({"data": {"k": "1", "l": null}}))
        .await;
    s.json_patch("configmaps/a", &json!([])).await;
    s.post("things", &a_thing("a", &json!({"count": 1}))).await;
    s.merge("things/a", &json!({"spec": {"count": 1, "mode": null}}))
        .await;
    s.merge("things/a/status", &json!({"spec": {"count": 2}}))
        .await;
}

async fn a_dry_run_writes_nothing(s: &Session) {
    s.install(&thing()).await;
    s.post(
        "configmaps?dryRun=All",
        &config_map("a", &json!({"k": "1"})),
    )
    .await;
    s.get("configmaps/a").await;
    s.post("configmaps", &config_map("a", &json!({"k": "1"})))
        .await;
    s.post("configmaps?dryRun=All", &config_map("a", &json!({})))
        .await;
    s.put(
        "configmaps/a?dryRun=All",
        &config_map("a", &json!({"k": "2"})),
    )
    .await;
    s.merge("configmaps/a?dryRun=All", &json!({"data": {"k": "3"}}))
        .await;
    s.put(
        "configmaps/a?dryRun=All",
        &config_map("a", &json!({"b c": "2"})),
    )
    .await;
    s.delete("configmaps/a?dryRun=All").await;
    s.delete_with("configmaps/a", &json!({"dryRun": ["All"]}))
        .await;
    s.delete("configmaps?dryRun=All").await;
    s.get("configmaps/a").await;
}

async fn a_dry_run_is_of_all_stages(s: &Session) {
    let object = config_map("a", &json!({}));
    s.post("configmaps?dryRun=bogus", &object).await;
    s.post("configmaps?dryRun=all", &object).await;
    s.post("configmaps?dryRun=All&dryRun=bogus", &object).await;
    s.post("configmaps?dryRun=", &object).await;
    s.put("configmaps/a?dryRun=bogus", &object).await;
    s.merge("configmaps/a?dryRun=bogus", &json!({})).await;
    s.delete("configmaps/a?dryRun=bogus").await;
    s.delete_with("configmaps/a", &json!({"dryRun": ["bogus"]}))
        .await;
    s.delete("configmaps?dryRun=bogus").await;
    s.get("configmaps/a?dryRun=bogus").await;
}

async fn a_namespace_is_there_before_its_objects(s: &Session) {
    s.install(&thing()).await;
    let at = |short: &str| s.path(short).replace(&s.namespace, "not-there");
    s.post(&at("configmaps"), &config_map("a", &json!({})))
        .await;
    s.post(&at("configmaps?dryRun=All"), &config_map("a", &json!({})))
        .await;
    s.post(&at("configmaps"), &config_map("A", &json!({})))
        .await;
    s.post(&at("things"), &a_thing("a", &json!({}))).await;
    s.post(&at("things"), &a_thing("a", &json!({"count": 99})))
        .await;
    s.put(&at("leases/a"), &json!({"metadata": {"name": "a"}}))
        .await;
    s.put(&at("configmaps/a"), &config_map("a", &json!({})))
        .await;
    s.merge(&at("configmaps/a"), &json!({})).await;
    s.get(&at("configmaps/a")).await;
    s.get(&at("configmaps?limit=1")).await;
    s.delete(&at("configmaps/a")).await;
}

behaviours! { Api:
    a_change_of_nothing_makes_no_version,
    a_created_object_is_read_back,
    a_dry_run_is_of_all_stages,
    a_dry_run_writes_nothing,
    a_name_is_taken_once,
    a_namespace_is_there_before_its_objects,
    a_new_object_has_no_version,
    an_object_lies_where_the_request_says,
    an_object_says_what_it_is,
    an_update_is_based_on_the_stored_version,
    an_update_is_of_the_object_with_its_uid,
    an_update_of_a_custom_object_needs_a_version,
    an_update_says_what_it_is,
    names_are_generated_from_a_prefix,
    some_kinds_are_created_by_an_update,
}
