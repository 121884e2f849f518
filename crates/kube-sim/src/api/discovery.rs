//! What is served, for clients that ask.
//!
//! In: the registry. Out: the documents under `/api`, `/apis` and `/version`, in their plain forms, and
//! of OpenAPI as much as kubectl needs to see that fields are validated here and not by itself.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::builtin::Trait;
use super::resources::{Registry, Resource, api_version};

/// `/version`.
pub(super) fn version() -> Value {
    json!({
        "major": "1", "minor": "34", "gitVersion": "v1.34.0+capstan", "gitCommit": "",
        "gitTreeState": "clean", "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "", "compiler": "rustc", "platform": "in-process",
    })
}

/// `/api`.
pub(super) fn core_versions() -> Value {
    json!({
        "kind": "APIVersions", "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1"}],
    })
}

/// `/apis`.
pub(super) fn groups(registry: &Registry) -> Value {
    let groups: Vec<Value> = versions(registry)
        .iter()
        .map(|(name, versions)| group_value(name, versions))
        .collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

/// `/apis/<group>`; none when there is no such group.
pub(super) fn group(registry: &Registry, name: &str) -> Option<Value> {
    let versions = versions(registry);
    let mut group = group_value(name, versions.get(name)?);
    group["kind"] = json!("APIGroup");
    group["apiVersion"] = json!("v1");
    Some(group)
}

/// `/api/v1`, `/apis/<group>/<version>`; none when nothing is served there.
pub(super) fn resources(registry: &Registry, group: &str, version: &str) -> Option<Value> {
    let mut list = Vec::new();
    let served = registry.all();
    for resource in served.filter(|one| one.group == group && one.version == version) {
        list.push(resource_value(resource));
        if resource.has(Trait::Status) {
            list.push(status_value(resource));
        }
    }
    if list.is_empty() {
        return None;
    }
    Some(json!({
        "kind": "APIResourceList", "apiVersion": "v1",
        "groupVersion": api_version(group, version), "resources": list,
    }))
}

/// `/openapi/v3`: where the specification of each version is.
pub(super) fn specifications(registry: &Registry) -> Value {
    let paths: BTreeMap<String, Value> = registry
        .all()
        .map(|resource| {
            let path = api_path(&resource.group, &resource.version);
            let url = format!("/openapi/v3/{path}");
            (path, json!({"serverRelativeURL": url}))
        })
        .collect();
    json!({"paths": paths})
}

/// `/openapi/v3/<path>`: that PATCH of each resource takes `fieldValidation`; none when nothing is
/// served there.
pub(super) fn specification(registry: &Registry, group: &str, version: &str) -> Option<Value> {
    let served = registry.all();
    let paths: BTreeMap<String, Value> = served
        .filter(|one| one.group == group && one.version == version)
        .map(|resource| {
            let namespace = if resource.namespaced {
                "namespaces/{namespace}/"
            } else {
                ""
            };
            let base = api_path(group, version);
            let path = format!("/{base}/{namespace}{}/{{name}}", resource.plural);
            (path, json!({"patch": patch_operation(resource)}))
        })
        .collect();
    (!paths.is_empty()).then(|| {
        let info = json!({"title": "Kubernetes", "version": "v1.34.0"});
        json!({"openapi": "3.0.0", "info": info, "paths": paths})
    })
}

fn patch_operation(resource: &Resource) -> Value {
    let kind = json!({
        "group": resource.group, "version": resource.version, "kind": resource.kind,
    });
    let text = json!({"type": "string", "uniqueItems": true});
    json!({
        "parameters": [{"name": "fieldValidation", "in": "query", "schema": text}],
        "responses": {"200": {"description": "OK"}},
        "x-kubernetes-action": "patch",
        "x-kubernetes-group-version-kind": kind,
    })
}

fn api_path(group: &str, version: &str) -> String {
    match group {
        "" => format!("api/{version}"),
        group => format!("apis/{group}/{version}"),
    }
}

/// Named groups and their versions, the preferred first.
pub(super) fn versions(registry: &Registry) -> BTreeMap<String, Vec<String>> {
    let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for resource in registry.all().filter(|one| !one.group.is_empty()) {
        let versions = groups.entry(resource.group.clone()).or_default();
        if !versions.contains(&resource.version) {
            versions.push(resource.version.clone());
        }
    }
    for versions in groups.values_mut() {
        versions.sort_by(|a, b| priority(a, b));
    }
    groups
}

fn group_value(name: &str, versions: &[String]) -> Value {
    let version =
        |version: &String| json!({"groupVersion": api_version(name, version), "version": version});
    let versions: Vec<Value> = versions.iter().map(version).collect();
    json!({"name": name, "versions": versions, "preferredVersion": versions.first()})
}

fn resource_value(resource: &Resource) -> Value {
    let mut value = json!({
        "name": resource.plural, "singularName": resource.singular,
        "namespaced": resource.namespaced, "kind": resource.kind, "verbs": resource.verbs(),
    });
    if let Some(custom) = resource.custom() {
        value["storageVersionHash"] = json!(storage_hash(resource, &custom.storage_version));
    }
    if !resource.short_names.is_empty() {
        value["shortNames"] = json!(resource.short_names);
    }
    if !resource.categories.is_empty() {
        value["categories"] = json!(resource.categories);
    }
    value
}

/// Changes with the version in which objects are stored.
fn storage_hash(resource: &Resource, version: &str) -> String {
    let kind = format!("{}/{version}/{}", resource.group, resource.kind);
    STANDARD.encode(&Sha256::digest(kind)[..8])
}

fn status_value(resource: &Resource) -> Value {
    json!({
        "name": format!("{}/status", resource.plural), "singularName": "",
        "namespaced": resource.namespaced, "kind": resource.kind,
        "verbs": ["get", "patch", "update"],
    })
}

/// Stability of a version, and its numbers.
fn rank(version: &str) -> Option<(u8, u32, u32)> {
    let rest = version.strip_prefix('v')?;
    let split = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    let (major, stage) = rest.split_at_checked(split)?;
    let major = major.parse().ok()?;
    match stage {
        "" => Some((2, major, 0)),
        stage => {
            let beta = stage.strip_prefix("beta").map(|minor| (1, minor));
            let alpha = stage.strip_prefix("alpha").map(|minor| (0, minor));
            let (stability, minor) = beta.or(alpha)?;
            Some((stability, major, minor.parse().ok()?))
        }
    }
}

/// The newest stable version first, then betas, alphas, and last all others by name.
fn priority(a: &str, b: &str) -> Ordering {
    match (rank(a), rank(b)) {
        (Some(a), Some(b)) => b.cmp(&a),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => a.cmp(b),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn versions_are_preferred_as_kubernetes_does() {
        let mut versions = vec![
            "v1alpha1",
            "v1api20230701",
            "v2",
            "v10",
            "v1beta2",
            "v1beta10",
            "v1",
            "foo",
        ];
        versions.sort_by(|a, b| priority(a, b));
        assert_eq!(
            versions,
            [
                "v10",
                "v2",
                "v1",
                "v1beta10",
                "v1beta2",
                "v1alpha1",
                "foo",
                "v1api20230701"
            ]
        );
    }

    #[test]
    fn groups_and_resources_are_announced() {
        let registry = Registry::new();
        let apps = group(&registry, "apps").unwrap();
        assert_eq!(apps["preferredVersion"]["groupVersion"], "apps/v1");
        assert!(group(&registry, "nothing").is_none());
        let core = resources(&registry, "", "v1").unwrap();
        let names: Vec<&str> = core["resources"]
            .as_array()
            .unwrap()
            .iter()
            .map(|resource| resource["name"].as_str().unwrap())
            .collect();
        assert!(names.contains(&"pods/status") && !names.contains(&"configmaps/status"));
        assert!(resources(&registry, "", "v2").is_none());
        assert!(groups(&registry)["groups"].as_array().unwrap().len() > 5);
    }

    #[test]
    fn every_version_has_a_specification() {
        let registry = Registry::new();
        let all = specifications(&registry);
        let apps = &all["paths"]["apis/apps/v1"]["serverRelativeURL"];
        assert_eq!(apps, "/openapi/v3/apis/apps/v1");
        let apps = specification(&registry, "apps", "v1").unwrap();
        let path = "/apis/apps/v1/namespaces/{namespace}/deployments/{name}";
        let patch = &apps["paths"][path]["patch"];
        assert_eq!(patch["parameters"][0]["name"], "fieldValidation");
        assert!(specification(&registry, "apps", "v2").is_none());
    }
}
