//! What is served, as clients learn it.

use http::header::ACCEPT;
use serde_json::{Value as Json, json};

use super::{behaviours, orbit, thing};
use crate::reply::Reply;
use crate::session::{Ask, Session};

/// The forms in which kubectl asks, the first it knows first.
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
                          application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,\
                          application/json";

/// Notes the entries of a list that have these names; a real server has many more.
fn note(s: &Session, of: &str, entries: &Json, key: &str, names: &[&str]) {
    for name in names {
        let entries = entries.as_array().into_iter().flatten();
        let mut entry = entries.clone().find(|entry| entry[key] == *name).cloned();
        if let Some(fields) = entry.as_mut().and_then(Json::as_object_mut) {
            // A digest for the server's own use.
            fields.remove("storageVersionHash");
        }
        s.note(&format!("{of}: {}", entry.unwrap_or_default()));
    }
}

/// The answer that names all of these, which new definitions take a moment to get into.
async fn naming(s: &Session, ask: &Ask, names: &[&str]) -> Reply {
    let named = |reply: &Reply| {
        let mut names = names.iter();
        names.all(|name| reply.text.contains(&format!("{name:?}")))
    };
    s.meet_as(ask, named).await
}

async fn resources(s: &Session, path: &str, names: &[&str]) {
    let reply = naming(s, &Ask::new("GET", path), &names[..1]).await;
    s.note(&format!("{path}: {} {}", reply.status, reply.body["kind"]));
    s.note(&format!("{path}: {}", reply.body["groupVersion"]));
    note(s, path, &reply.body["resources"], "name", names);
}

async fn core_kinds_are_announced(s: &Session) {
    let versions = s.send(Ask::new("GET", "/api").silent()).await;
    s.note(&format!(
        "{} {}",
        versions.body["kind"], versions.body["versions"]
    ));
    let names = [
        "configmaps",
        "configmaps/status",
        "events",
        "limitranges",
        "namespaces",
        "namespaces/status",
        "nodes",
        "nodes/status",
        "persistentvolumeclaims",
        "persistentvolumeclaims/status",
        "pods",
        "pods/status",
        "resourcequotas",
        "resourcequotas/status",
        "secrets",
        "serviceaccounts",
        "services",
        "services/status",
    ];
    resources(s, "/api/v1", &names).await;
}

async fn kinds_of_groups_are_announced(s: &Session) {
    for (group, version, names) in [
        (
            "admissionregistration.k8s.io",
            "v1",
            vec![
                "mutatingwebhookconfigurations",
                "validatingwebhookconfigurations",
            ],
        ),
        (
            "apiextensions.k8s.io",
            "v1",
            vec![
                "customresourcedefinitions",
                "customresourcedefinitions/status",
            ],
        ),
        (
            "apps",
            "v1",
            vec![
                "daemonsets",
                "daemonsets/status",
                "deployments",
                "deployments/status",
                "replicasets",
                "replicasets/status",
                "statefulsets",
                "statefulsets/status",
            ],
        ),
        (
            "autoscaling",
            "v2",
            vec![
                "horizontalpodautoscalers",
                "horizontalpodautoscalers/status",
            ],
        ),
        (
            "batch",
            "v1",
            vec!["cronjobs", "cronjobs/status", "jobs", "jobs/status"],
        ),
        ("coordination.k8s.io", "v1", vec!["leases"]),
        ("events.k8s.io", "v1", vec!["events"]),
        (
            "networking.k8s.io",
            "v1",
            vec![
                "ingressclasses",
                "ingresses",
                "ingresses/status",
                "networkpolicies",
            ],
        ),
        (
            "policy",
            "v1",
            vec!["poddisruptionbudgets", "poddisruptionbudgets/status"],
        ),
        (
            "rbac.authorization.k8s.io",
            "v1",
            vec![
                "clusterrolebindings",
                "clusterroles",
                "rolebindings",
                "roles",
            ],
        ),
        ("scheduling.k8s.io", "v1", vec!["priorityclasses"]),
        ("storage.k8s.io", "v1", vec!["storageclasses"]),
    ] {
        resources(s, &format!("/apis/{group}/{version}"), &names).await;
    }
}

async fn groups_are_announced(s: &Session) {
    let names = [
        "admissionregistration.k8s.io",
        "apiextensions.k8s.io",
        "apps",
        "batch",
        "coordination.k8s.io",
        "events.k8s.io",
        "networking.k8s.io",
        "policy",
        "rbac.authorization.k8s.io",
        "scheduling.k8s.io",
        "storage.k8s.io",
    ];
    let reply = s.send(Ask::new("GET", "/apis").silent()).await;
    s.note(&format!(
        "{} {}",
        reply.body["kind"], reply.body["apiVersion"]
    ));
    note(s, "/apis", &reply.body["groups"], "name", &names);
    for name in ["apps", "rbac.authorization.k8s.io"] {
        s.get(&format!("/apis/{name}")).await;
    }
}

/// A definition with all the names that one can have, in three versions.
fn named(group: &str) -> Json {
    let mut definition = thing();
    definition["metadata"]["name"] = json!(format!("things.{group}"));
    definition["spec"]["group"] = json!(group);
    definition["spec"]["names"]["categories"] = json!(["all", "capstan"]);
    definition["spec"]["names"]["shortNames"] = json!(["th", "thi"]);
    let versions = &mut definition["spec"]["versions"];
    for (name, served) in [("v1beta2", true), ("v2", true), ("v1alpha1", false)] {
        let mut version = versions[0].clone();
        version["name"] = json!(name);
        version["served"] = json!(served);
        version["storage"] = json!(false);
        if name == "v2" {
            version["subresources"] = json!({});
        }
        versions.as_array_mut().expect("a list").push(version);
    }
    definition
}

async fn a_definition_is_announced(s: &Session) {
    let group = "a-definition-is-announced.capstan.dev";
    s.install(&named(group)).await;
    let path = format!("/apis/{group}");
    s.until(&path, |reply| {
        reply.body["versions"]
            .as_array()
            .is_some_and(|all| all.len() == 3)
    })
    .await;
    for version in ["v1", "v1beta2", "v2"] {
        resources(
            s,
            &format!("{path}/{version}"),
            &["things", "things/status"],
        )
        .await;
    }
    s.get(&format!("{path}/v1alpha1")).await;
    let groups = naming(s, &Ask::new("GET", "/apis"), &[group]).await;
    note(s, "/apis", &groups.body["groups"], "name", &[group]);
    let definition = format!("customresourcedefinitions/things.{group}");
    s.send(Ask::new("DELETE", &definition).silent()).await;
    s.until(&path, |reply| reply.status == 404).await;
    s.until(&format!("{path}/v1"), |reply| reply.status == 404)
        .await;
}

async fn all_is_told_at_once_to_who_asks(s: &Session) {
    s.install(&thing()).await;
    s.install(&orbit()).await;
    for (path, groups) in [
        ("/api", vec![("", "v1", vec!["configmaps", "secrets"])]),
        (
            "/apis",
            vec![
                ("coordination.k8s.io", "v1", vec!["leases"]),
                ("events.k8s.io", "v1", vec!["events"]),
                (
                    "networking.k8s.io",
                    "v1",
                    vec!["ingressclasses", "ingresses"],
                ),
                ("conformance.capstan.dev", "v1", vec!["orbits", "things"]),
            ],
        ),
    ] {
        let ask = Ask::new("GET", path).header(ACCEPT, AGGREGATED);
        let names: Vec<&str> = groups
            .iter()
            .flat_map(|(.., names)| names.clone())
            .collect();
        let reply = naming(s, &ask, &names).await;
        let (kind, version) = (&reply.body["kind"], &reply.body["apiVersion"]);
        s.note(&format!("{path}: {} {kind} {version}", reply.status));
        for (group, version, names) in groups {
            let of = |one: &&Json| one["metadata"]["name"].as_str().unwrap_or_default() == group;
            let items = reply.body["items"].as_array().into_iter().flatten();
            let found = items.clone().find(of).cloned().unwrap_or_default();
            let versions = found["versions"].as_array().into_iter().flatten();
            let served = versions.clone().find(|one| one["version"] == version);
            let served = served.cloned().unwrap_or_default();
            s.note(&format!("{} {}", found["metadata"], served["freshness"]));
            note(s, group, &served["resources"], "resource", &names);
        }
    }
    let other = "application/json;g=apidiscovery.k8s.io;v=v3;as=APIGroupDiscoveryList";
    for path in ["/api", "/apis"] {
        s.send(Ask::new("GET", path).header(ACCEPT, other).gist())
            .await;
        let or_plain = format!("{other},application/json");
        let plain = s
            .send(Ask::new("GET", path).header(ACCEPT, &or_plain).silent())
            .await;
        s.note(&format!("{path}: {}", plain.body["kind"]));
    }
    s.send(Ask::new("GET", "/apis/apps").header(ACCEPT, AGGREGATED))
        .await;
}

async fn the_server_says_how_it_is(s: &Session) {
    for path in [
        "/healthz",
        "/livez",
        "/readyz",
        "/livez/ping",
        "/healthz?timeout=5s",
    ] {
        s.get(path).await;
    }
    let version = s.send(Ask::new("GET", "/version").silent()).await;
    for key in ["major", "minor"] {
        s.note(&format!("{key}: {}", version.body[key]));
    }
    for key in [
        "gitVersion",
        "gitCommit",
        "gitTreeState",
        "buildDate",
        "goVersion",
        "compiler",
        "platform",
    ] {
        s.note(&format!("{key}: {}", version.body[key].is_string()));
    }
}

async fn kinds_are_found_by_their_types(s: &Session) {
    s.install(&thing()).await;
    s.install(&orbit()).await;
    let served = Ask::new("GET", "/apis/conformance.capstan.dev/v1");
    naming(s, &served, &["orbits", "things"]).await;
    for (group, version, kind) in [
        ("", "v1", "ConfigMap"),
        ("", "v1", "Namespace"),
        ("apps", "v1", "Deployment"),
        ("conformance.capstan.dev", "v1", "Thing"),
        ("conformance.capstan.dev", "v1", "Orbit"),
    ] {
        let wanted = kube::core::GroupVersionKind::gvk(group, version, kind);
        let found = kube::discovery::pinned_kind(&s.client, &wanted).await;
        let (resource, capabilities) = found.expect("the kind is served");
        let subresources: Vec<&str> = capabilities
            .subresources
            .iter()
            .map(|(resource, _)| resource.plural.as_str())
            .filter(|name| *name == "status")
            .collect();
        s.note(&format!(
            "{kind}: {} {} {:?} {subresources:?} {:?}",
            resource.plural, resource.api_version, capabilities.scope, capabilities.operations
        ));
    }
}

behaviours! { Api:
    a_definition_is_announced,
    all_is_told_at_once_to_who_asks,
    core_kinds_are_announced,
    groups_are_announced,
    kinds_are_found_by_their_types,
    kinds_of_groups_are_announced,
    the_server_says_how_it_is,
}
