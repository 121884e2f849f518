//! Everything that is served in one document, for clients that ask for it.
//!
//! In: the registry. Out: an `APIGroupDiscoveryList` (`apidiscovery.k8s.io/v2`).

use serde_json::{Value, json};

use super::builtin::Trait;
use super::discovery;
use super::resources::{Registry, Resource};

/// The core group, or all others.
pub(super) fn groups(registry: &Registry, core: bool) -> Value {
    let items: Vec<Value> = match core {
        true => vec![json!({"metadata": {}, "versions": [version(registry, "", "v1")]})],
        false => discovery::versions(registry)
            .iter()
            .map(|(group, versions)| {
                let versions: Vec<Value> = versions
                    .iter()
                    .map(|name| version(registry, group, name))
                    .collect();
                json!({"metadata": {"name": group}, "versions": versions})
            })
            .collect(),
    };
    json!({
        "kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {}, "items": items,
    })
}

fn version(registry: &Registry, group: &str, version: &str) -> Value {
    let served = registry.all();
    let resources: Vec<Value> = served
        .filter(|one| one.group == group && one.version == version)
        .map(|one| resource(one))
        .collect();
    json!({"version": version, "resources": resources, "freshness": "Current"})
}

fn resource(resource: &Resource) -> Value {
    let scope = if resource.namespaced {
        "Namespaced"
    } else {
        "Cluster"
    };
    // Built-in kinds leave out what their place in the document implies.
    let (group, version) = match resource.is_builtin() {
        true => ("", ""),
        false => (resource.group.as_str(), resource.version.as_str()),
    };
    let kind = json!({"group": group, "version": version, "kind": resource.kind});
    let mut value = json!({
        "resource": resource.plural, "responseKind": kind, "scope": scope,
        "singularResource": resource.singular, "verbs": resource.verbs(),
    });
    if !resource.short_names.is_empty() {
        value["shortNames"] = json!(resource.short_names);
    }
    if !resource.categories.is_empty() {
        value["categories"] = json!(resource.categories);
    }
    if resource.has(Trait::Status) {
        let verbs = ["get", "patch", "update"];
        let status = json!({"subresource": "status", "responseKind": kind, "verbs": verbs});
        value["subresources"] = json!([status]);
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_resource_is_in_its_group() {
        let registry = Registry::new();
        let core = groups(&registry, true);
        assert_eq!(core["items"][0]["versions"][0]["version"], "v1");
        let named = groups(&registry, false);
        let count = |list: &Value| -> usize {
            let items = list["items"].as_array().into_iter().flatten();
            let versions =
                items.flat_map(|group| group["versions"].as_array().into_iter().flatten());
            versions
                .map(|version| version["resources"].as_array().map_or(0, Vec::len))
                .sum()
        };
        assert_eq!(count(&core) + count(&named), registry.all().count());
    }
}
