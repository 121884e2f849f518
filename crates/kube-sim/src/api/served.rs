//! The resources that a CustomResourceDefinition adds.
//!
//! In: a definition. Out: one resource for each served version, or why the definition is refused. It
//! does not know objects, nor when a definition starts to be served.

use serde_json::Value;

use super::address::collection;
use super::custom::Custom;
use super::embedded;
use super::resources::{Nature, Resource, prefix};
use super::schemas::{self, Ruled};
use super::status::Cause;
use super::values::{list, text};

/// What a definition adds.
#[derive(Debug)]
pub(super) struct Added {
    /// One for each served version.
    pub(super) resources: Vec<Resource>,
    /// Of rules that cannot be evaluated here.
    pub(super) warnings: Vec<String>,
}

/// The resources that a definition adds.
///
/// # Errors
/// Names the fields that are wrong.
pub(super) fn resources(definition: &Value) -> Result<Added, Vec<Cause>> {
    let spec = &definition["spec"];
    let edition = definition["metadata"]["generation"].as_u64().unwrap_or(1);
    let edition = u32::try_from(edition).unwrap_or(u32::MAX);
    let versions = list(&spec["versions"]);
    let schemas = schemas::read(versions);
    if !schemas.causes.is_empty() {
        return Err(schemas.causes);
    }
    let read: Vec<(&Value, Ruled)> = versions.iter().zip(schemas.read).collect();
    let stored = read.iter().find(|(version, _)| version["storage"] == true);
    let stored =
        stored.map(|(version, ruled)| (text(&version["name"]).to_owned(), ruled.schema.clone()));
    let Some((storage_version, stored)) = stored else {
        // So say the rules for definitions.
        return Err(Vec::new());
    };
    let served = read
        .into_iter()
        .filter(|(version, _)| version["served"] == true);
    let resource = |(version, Ruled { schema, rules }): (&Value, Ruled)| {
        let custom = Custom {
            embeds: embedded::has_place(&schema),
            warning: deprecation(spec, version),
            storage_version: storage_version.clone(),
            schema,
            rules,
            stored: stored.clone(),
            edition,
            status: version["subresources"]["status"].is_object(),
            selectable: selectable(version),
            versions: api_versions(spec),
            printed: list(&version["additionalPrinterColumns"]).to_vec(),
        };
        resource(spec, text(&version["name"]), custom)
    };
    Ok(Added {
        resources: served.map(resource).collect(),
        warnings: schemas.warnings,
    })
}

fn resource(spec: &Value, version: &str, custom: Custom) -> Resource {
    let (group, names) = (text(&spec["group"]), &spec["names"]);
    let texts = |value: &Value| list(value).iter().map(|v| text(v).to_owned()).collect();
    let kind = text(&names["kind"]);
    Resource {
        group: group.into(),
        version: version.into(),
        plural: text(&names["plural"]).into(),
        singular: text(&names["singular"]).into(),
        kind: kind.into(),
        list_kind: text(&names["listKind"]).into(),
        short_names: texts(&names["shortNames"]),
        categories: texts(&names["categories"]),
        namespaced: spec["scope"] == "Namespaced",
        collection: collection(group, text(&names["plural"])),
        prefix: prefix(group, version, kind),
        nature: Nature::Custom(custom),
    }
}

fn deprecation(spec: &Value, version: &Value) -> Option<String> {
    let warning = version["deprecationWarning"]
        .as_str()
        .map(ToOwned::to_owned);
    let usual = || {
        let (group, kind) = (text(&spec["group"]), text(&spec["names"]["kind"]));
        format!("{group}/{} {kind} is deprecated", text(&version["name"]))
    };
    (version["deprecated"] == true).then(|| warning.unwrap_or_else(usual))
}

/// `group/version` of each.
fn api_versions(spec: &Value) -> Vec<String> {
    let group = text(&spec["group"]);
    list(&spec["versions"])
        .iter()
        .map(|version| format!("{group}/{}", text(&version["name"])))
        .collect()
}

fn selectable(version: &Value) -> Vec<String> {
    list(&version["selectableFields"])
        .iter()
        .map(|field| text(&field["jsonPath"]).trim_start_matches('.').to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    fn definition() -> Value {
        json!({
            "metadata": {"name": "widgets.example.com", "generation": 3},
            "spec": {
                "group": "example.com", "scope": "Namespaced",
                "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
                "versions": [
                    {"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                     "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                        "spec": {"type": "object", "properties": {"n": {"type": "integer", "default": 1}}}}}}},
                    {"name": "v2", "served": true, "storage": false,
                     "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                        "spec": {"type": "object", "properties": {"m": {"type": "integer"}}}}}}},
                    {"name": "v0", "served": false, "storage": false,
                     "schema": {"openAPIV3Schema": {"type": "object"}}},
                ],
            },
        })
    }

    #[test]
    fn each_served_version_is_a_resource_of_one_collection() {
        let resources = resources(&definition()).unwrap().resources;
        let versions: Vec<&str> = resources.iter().map(|r| r.version.as_str()).collect();
        assert_eq!(versions, ["v1", "v2"]);
        assert_eq!(resources[0].collection, resources[1].collection);
        assert!(resources[0].custom().unwrap().status);
        assert!(!resources[1].custom().unwrap().status);
    }

    #[test]
    fn objects_of_another_edition_or_version_are_adapted() {
        let resources = resources(&definition()).unwrap().resources;
        assert!(resources[0].stores_as_it_serves(3));
        assert!(!resources[0].stores_as_it_serves(2));
        assert!(!resources[1].stores_as_it_serves(3));
        let shown = resources[0].present(json!({"spec": {}}), 2);
        assert_eq!(shown["spec"]["n"], 1);
        let shown = resources[1].present(json!({"spec": {"m": 2}}), 3);
        assert_eq!(shown["spec"], json!({"m": 2}));
    }
}
