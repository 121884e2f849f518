//! What a CustomResourceDefinition says about one of its versions.
//!
//! In: a definition. Out: the resources it adds, or why it is refused. It does not know objects, nor
//! when a definition starts to be served.

use std::sync::Arc;

use serde_json::{Value, json};

use super::names;
use super::resources::{Nature, Resource, collection, prefix};
use super::schemas;
use super::status::Cause;
use crate::schema::{Schema, apply_defaults, prune};

/// The definition's part of a resource at one version.
#[derive(Debug)]
pub(super) struct Custom {
    /// What objects of this version may hold.
    pub(super) schema: Arc<Schema>,
    /// The schema of the version that is stored: the same as `schema` when that is this one.
    stored: Arc<Schema>,
    /// The generation of the definition, so that objects written under an older one are known.
    pub(super) edition: u32,
    /// Whether the status is a subresource.
    pub(super) status: bool,
    /// The field paths that objects can be selected by.
    pub(super) selectable: Vec<String>,
    /// All versions of the definition, `group/version`, served or not.
    pub(super) versions: Vec<String>,
    /// The columns of its table beside the name, as written.
    pub(super) printed: Vec<Value>,
}

impl Custom {
    /// Whether objects written under `edition` need no change to be served.
    pub(super) fn stores_as_it_serves(&self, edition: u32) -> bool {
        self.edition == edition && Arc::ptr_eq(&self.schema, &self.stored)
    }

    /// A stored object as this version shows it: with the defaults of the stored version and
    /// without what this one does not know.
    pub(super) fn present(&self, mut stored: Value) -> Value {
        apply_defaults(&self.stored, &mut stored);
        prune(&self.schema, &mut stored);
        stored
    }

    /// An object of this version as it is stored: the stored version decides what it may hold.
    pub(super) fn to_storage(&self, mut object: Value) -> Value {
        if !Arc::ptr_eq(&self.schema, &self.stored) {
            prune(&self.stored, &mut object);
            apply_defaults(&self.stored, &mut object);
        }
        object
    }
}

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
    let mut causes = check(definition);
    let spec = &definition["spec"];
    let edition = definition["metadata"]["generation"].as_u64().unwrap_or(1);
    let edition = u32::try_from(edition).unwrap_or(u32::MAX);
    let versions = list(&spec["versions"]);
    let schemas = schemas::read(versions);
    causes.extend(schemas.causes);
    if !causes.is_empty() {
        return Err(causes);
    }
    let read: Vec<(&Value, Arc<Schema>)> = versions.iter().zip(schemas.read).collect();
    let stored = read.iter().find(|(version, _)| version["storage"] == true);
    let stored = stored.map(|(_, schema)| schema.clone());
    let stored = stored.expect("the check found one stored version");
    let served = read
        .into_iter()
        .filter(|(version, _)| version["served"] == true);
    let resource = |(version, schema): (&Value, Arc<Schema>)| {
        let custom = Custom {
            schema,
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

/// What is wrong with a definition beside its schemas (apiextensions `validation.go`).
fn check(definition: &Value) -> Vec<Cause> {
    let spec = &definition["spec"];
    let (group, names) = (text(&spec["group"]), &spec["names"]);
    let mut causes = Vec::new();
    let name = text(&definition["metadata"]["name"]);
    if name != format!("{}.{group}", text(&names["plural"])) {
        let detail = r#"must be spec.names.plural+"."+spec.group"#;
        causes.push(Cause::invalid("metadata.name", &json!(name), detail));
    }
    if group.is_empty() {
        causes.push(Cause::required("spec.group", ""));
    } else if !names::subdomain(group).is_empty() {
        let said = names::subdomain(group).join(",");
        causes.push(Cause::invalid("spec.group", &json!(group), &said));
    } else if !group.contains('.') {
        let detail = "should be a domain with at least one dot";
        causes.push(Cause::invalid("spec.group", &json!(group), detail));
    }
    match text(&spec["scope"]) {
        "Namespaced" | "Cluster" => {}
        "" => causes.push(Cause::required("spec.scope", "")),
        other => {
            let known = &["Cluster", "Namespaced"];
            causes.push(Cause::unsupported("spec.scope", &json!(other), known));
        }
    }
    check_names(names, &mut causes);
    check_versions(&spec["versions"], &mut causes);
    causes
}

fn check_names(names: &Value, causes: &mut Vec<Cause>) {
    for key in ["plural", "singular", "kind", "listKind"] {
        let (field, name) = (format!("spec.names.{key}"), text(&names[key]));
        if name.is_empty() {
            causes.push(Cause::required(field, ""));
            continue;
        }
        for complaint in names::NameRule::Label1035.complaints(&name.to_lowercase()) {
            causes.push(Cause::invalid(field.clone(), &json!(name), &complaint));
        }
    }
    if !text(&names["kind"]).is_empty() && names["kind"] == names["listKind"] {
        let detail = "kind and listKind may not be the same";
        causes.push(Cause::invalid(
            "spec.names.listKind",
            &names["listKind"],
            detail,
        ));
    }
}

fn check_versions(versions: &Value, causes: &mut Vec<Cause>) {
    let stored = list(versions)
        .iter()
        .filter(|version| version["storage"] == true);
    if stored.count() != 1 {
        let detail = "must have exactly one version marked as storage version";
        causes.push(Cause::invalid("spec.versions", versions, detail));
    }
    for (at, version) in list(versions).iter().enumerate() {
        let field = |rest: &str| format!("spec.versions[{at}].{rest}");
        for complaint in names::NameRule::Label1035.complaints(text(&version["name"])) {
            causes.push(Cause::invalid(field("name"), &version["name"], &complaint));
        }
        let again = list(versions)[..at]
            .iter()
            .any(|v| v["name"] == version["name"]);
        if again {
            let detail = "must contain unique version names";
            causes.push(Cause::invalid("spec.versions", versions, detail));
        }
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
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

    #[test]
    fn a_broken_definition_is_refused_with_its_fields() {
        let mut definition = definition();
        definition["metadata"]["name"] = json!("widget.example.com");
        definition["spec"]["group"] = json!("example");
        definition["spec"]["scope"] = json!("World");
        definition["spec"]["names"]["kind"] = json!("");
        definition["spec"]["versions"][1]["storage"] = json!(true);
        definition["spec"]["versions"][2]["schema"] = json!({});
        definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["x"] =
            json!({});
        let causes = resources(&definition).unwrap_err();
        let fields: Vec<&str> = causes.iter().map(|cause| cause.field.as_str()).collect();
        assert_eq!(
            fields,
            [
                "metadata.name",
                "spec.group",
                "spec.scope",
                "spec.names.kind",
                "spec.versions",
                "spec.versions[0].schema.openAPIV3Schema.properties[x].type",
                "spec.versions[2].schema.openAPIV3Schema"
            ]
        );
    }
}
