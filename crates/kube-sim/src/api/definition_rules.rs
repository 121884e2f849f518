//! Which CustomResourceDefinitions are refused.
//!
//! In: a definition and the one it replaces. Out: the fields that are wrong, but for those of its
//! schemas. What all versions say alike the API server calls by the place where older definitions had
//! it for all versions at once. Source: `pkg/apis/apiextensions/validation` of
//! k8s.io/apiextensions-apiserver. It does not know what becomes of a definition that is taken.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::definition_parts;
use super::metadata;
use super::names;
use super::status::Cause;
use super::values::{list, text};
use crate::unknown_formats;

/// What is wrong with a definition, its metadata other than the name aside.
pub(super) fn check(definition: &Value, old: Option<&Value>) -> Vec<Cause> {
    let spec = &definition["spec"];
    let mut causes = Vec::new();
    let (name, group) = (metadata::text(definition, "name"), text(&spec["group"]));
    if name != format!("{}.{group}", text(&spec["names"]["plural"])) && old.is_none() {
        let detail = r#"must be spec.names.plural+"."+spec.group"#;
        causes.push(Cause::invalid("metadata.name", &json!(name), detail));
    }
    check_group(group, &mut causes);
    check_scope(&spec["scope"], &mut causes);
    check_versions(spec, &mut causes);
    check_names(&spec["names"], &mut causes);
    definition_parts::check_conversion(&spec["conversion"], &mut causes);
    if let Some(old) = old {
        check_update(definition, old, &mut causes);
    }
    check_stored_versions(definition, &mut causes);
    check_approval(definition, old, &mut causes);
    if spec["preserveUnknownFields"] == true {
        let detail = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead";
        let field = "spec.preserveUnknownFields";
        causes.push(Cause::invalid(field, &json!(true), detail));
    }
    causes
}

/// What to tell of a definition that is taken: formats that nobody checks and that it did not have before.
pub(super) fn warnings(definition: &Value, old: Option<&Value>) -> Vec<String> {
    let formats = |definition: &Value| {
        let mut found = BTreeSet::new();
        for version in list(&definition["spec"]["versions"]) {
            unknown_formats(&version["schema"]["openAPIV3Schema"], &mut found);
        }
        found
    };
    let known = old.map(formats).unwrap_or_default();
    formats(definition)
        .difference(&known)
        .map(|format| format!("unrecognized format {format:?}"))
        .collect()
}

fn check_group(group: &str, causes: &mut Vec<Cause>) {
    if group.is_empty() {
        causes.push(Cause::required("spec.group", ""));
    } else if !names::subdomain(group).is_empty() {
        let message = names::subdomain(group).join(",");
        causes.push(Cause::invalid("spec.group", &json!(group), &message));
    } else if !group.contains('.') {
        let detail = "should be a domain with at least one dot";
        causes.push(Cause::invalid("spec.group", &json!(group), detail));
    }
}

fn check_scope(scope: &Value, causes: &mut Vec<Cause>) {
    match text(scope) {
        "Namespaced" | "Cluster" => {}
        "" => causes.push(Cause::required("spec.scope", "")),
        other => {
            let known = &["Cluster", "Namespaced"];
            causes.push(Cause::unsupported("spec.scope", &json!(other), known));
        }
    }
}

fn check_names(names: &Value, causes: &mut Vec<Cause>) {
    let label = names::NameRule::Label1035;
    let mut complain = |field: String, name: &str, opening: &str, label_of: &str| {
        let complaints = label.complaints(label_of);
        if !complaints.is_empty() {
            let message = format!("{opening}{}", complaints.join(","));
            causes.push(Cause::invalid(field, &json!(name), &message));
        }
    };
    let mixed = "may have mixed case, but should otherwise match: ";
    for (key, opening) in [
        ("plural", ""),
        ("singular", ""),
        ("kind", mixed),
        ("listKind", mixed),
    ] {
        let name = text(&names[key]);
        let lower = name.to_lowercase();
        let label_of = if opening.is_empty() { name } else { &lower };
        if !name.is_empty() {
            complain(format!("spec.names.{key}"), name, opening, label_of);
        }
    }
    for key in ["shortNames", "categories"] {
        for (at, name) in list(&names[key]).iter().enumerate() {
            let name = text(name);
            complain(format!("spec.names.{key}[{at}]"), name, "", name);
        }
    }
    for key in ["plural", "singular", "kind", "listKind"] {
        if text(&names[key]).is_empty() {
            causes.push(Cause::required(format!("spec.names.{key}"), ""));
        }
    }
    if !text(&names["kind"]).is_empty() && names["kind"] == names["listKind"] {
        let detail = "kind and listKind may not be the same";
        let field = "spec.names.listKind";
        causes.push(Cause::invalid(field, &names["listKind"], detail));
    }
}

fn check_versions(spec: &Value, causes: &mut Vec<Cause>) {
    let versions = list(&spec["versions"]);
    let label = names::NameRule::Label1035;
    for (at, version) in versions.iter().enumerate() {
        let complaints = label.complaints(text(&version["name"]));
        if !complaints.is_empty() {
            let message = complaints.join(",");
            let field = format!("spec.versions[{at}].name");
            causes.push(Cause::invalid(field, &version["name"], &message));
            if at == 0 {
                causes.push(Cause::invalid("spec.version", &version["name"], &message));
            }
        }
        definition_parts::check_deprecation(version, at, causes);
    }
    for (at, field) in places(versions, "schema", "validation") {
        let of_all = field == "spec.validation";
        let versions = if of_all { versions } else { &versions[at..=at] };
        if versions
            .iter()
            .any(|version| version["subresources"]["status"].is_object())
        {
            let schema = &versions[0]["schema"]["openAPIV3Schema"];
            check_root(schema, &format!("{field}.openAPIV3Schema"), causes);
        }
    }
    for (at, field) in places(versions, "subresources", "subresources") {
        definition_parts::check_scale(&versions[at]["subresources"]["scale"], &field, causes);
    }
    for (at, field) in places(
        versions,
        "additionalPrinterColumns",
        "additionalPrinterColumns",
    ) {
        definition_parts::check_columns(&versions[at]["additionalPrinterColumns"], &field, causes);
    }
    for (at, field) in places(versions, "selectableFields", "selectableFields") {
        definition_parts::check_selectable(&versions[at], &field, causes);
    }
    let mut known: Vec<&Value> = versions.iter().map(|version| &version["name"]).collect();
    known.sort_by_key(|name| name.as_str());
    let count = known.len();
    known.dedup();
    if known.len() < count {
        let detail = "must contain unique version names";
        causes.push(Cause::invalid("spec.versions", &spec["versions"], detail));
    }
    if versions
        .iter()
        .filter(|version| version["storage"] == true)
        .count()
        != 1
    {
        let detail = "must have exactly one version marked as storage version";
        causes.push(Cause::invalid("spec.versions", &spec["versions"], detail));
    }
}

/// The versions to look at for a part of them, and what that part is called: once for all versions
/// where they agree.
fn places(versions: &[Value], part: &str, shared: &str) -> Vec<(usize, String)> {
    let alike = versions
        .iter()
        .all(|version| version[part] == versions[0][part]);
    match (versions, alike) {
        ([], _) => Vec::new(),
        (_, true) => vec![(0, format!("spec.{shared}"))],
        (_, false) => (0..versions.len())
            .map(|at| (at, format!("spec.versions[{at}].{part}")))
            .collect(),
    }
}

/// The keywords allowed at the root of a schema whose status is a subresource, as it is written and as the
/// API server calls it.
const BESIDE_STATUS: &[(&str, &str)] = &[
    ("description", "Description"),
    ("type", "Type"),
    ("format", "Format"),
    ("title", "Title"),
    ("maximum", "Maximum"),
    ("exclusiveMaximum", "ExclusiveMaximum"),
    ("minimum", "Minimum"),
    ("exclusiveMinimum", "ExclusiveMinimum"),
    ("maxLength", "MaxLength"),
    ("minLength", "MinLength"),
    ("pattern", "Pattern"),
    ("maxItems", "MaxItems"),
    ("minItems", "MinItems"),
    ("uniqueItems", "UniqueItems"),
    ("multipleOf", "MultipleOf"),
    ("required", "Required"),
    ("items", "Items"),
    ("properties", "Properties"),
    ("externalDocs", "ExternalDocs"),
    ("example", "Example"),
    (
        "x-kubernetes-preserve-unknown-fields",
        "XPreserveUnknownFields",
    ),
    ("x-kubernetes-validations", "XValidations"),
];

fn check_root(schema: &Value, field: &str, causes: &mut Vec<Cause>) {
    let known = |key: &String| BESIDE_STATUS.iter().any(|(known, _)| known == key);
    if schema
        .as_object()
        .is_some_and(|keywords| !keywords.keys().all(known))
    {
        let names: Vec<&str> = BESIDE_STATUS.iter().map(|(_, name)| *name).collect();
        let detail = format!(
            "only [{}] fields are allowed at the root of the schema if the status subresource is enabled",
            names.join(" ")
        );
        causes.push(Cause::invalid(field, schema, &detail));
    }
}

/// What cannot change: what objects are stored by, and once they are served their kind and scope.
fn check_update(definition: &Value, old: &Value, causes: &mut Vec<Cause>) {
    let served = list(&old["status"]["conditions"])
        .iter()
        .any(|one| one["type"] == "Established" && one["status"] == "True");
    let always = ["/spec/group", "/spec/names/plural"];
    let when_served = ["/spec/scope", "/spec/names/kind"];
    let fields = when_served.iter().filter(|_| served).chain(&always);
    for pointer in fields {
        let (new, old) = (definition.pointer(pointer), old.pointer(pointer));
        if new != old {
            let field = pointer.trim_start_matches('/').replace('/', ".");
            let new = new.cloned().unwrap_or_default();
            causes.push(Cause::invalid(field, &new, "field is immutable"));
        }
    }
}

/// Every version that objects may be stored in is there, the present one among them.
fn check_stored_versions(definition: &Value, causes: &mut Vec<Cause>) {
    let field = "status.storedVersions";
    let noted = &definition["status"]["storedVersions"];
    let versions = list(&definition["spec"]["versions"]);
    if list(noted).is_empty() {
        let detail = "must have at least one stored version";
        return causes.push(Cause::invalid(field, noted, detail));
    }
    for version in versions.iter().filter(|version| version["storage"] == true) {
        if !list(noted).contains(&version["name"]) {
            let detail = format!("must have the storage version {}", text(&version["name"]));
            causes.push(Cause::invalid(field, noted, &detail));
        }
    }
    for (at, name) in list(noted).iter().enumerate() {
        if !versions.iter().any(|version| version["name"] == *name) {
            let name = text(name);
            let detail = format!(
                "missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in {name} and removes {name} from status.storedVersions"
            );
            causes.push(Cause::invalid(
                format!("{field}[{at}]"),
                &json!(name),
                &detail,
            ));
        }
    }
}

const APPROVAL: &str = "api-approved.kubernetes.io";

/// Groups of the Kubernetes community are for kinds that it approved of.
fn check_approval(definition: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    let group = text(&definition["spec"]["group"]);
    let is_below = |domain: &str| {
        group
            .strip_suffix(domain)
            .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    let approval =
        |definition: &Value| text(&definition["metadata"]["annotations"][APPROVAL]).to_owned();
    let annotation = approval(definition);
    let kept = old.is_some_and(|old| approval(old) == annotation);
    let is_fine = annotation.starts_with("unapproved") || annotation.contains("://");
    if !(is_below("k8s.io") || is_below("kubernetes.io")) || kept || is_fine {
        return;
    }
    let see = "see https://github.com/kubernetes/enhancements/pull/1111";
    let must = format!("protected groups must have approval annotation {APPROVAL:?}");
    let field = format!("metadata.annotations[{APPROVAL}]");
    causes.push(match annotation.as_str() {
        "" => Cause::required(field, &format!("{must}, {see}")),
        annotation => {
            let with = "with either a URL or a reason starting with \"unapproved\"";
            Cause::invalid(field, &json!(annotation), &format!("{must} {with}, {see}"))
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition() -> Value {
        let schema =
            |fields: Value| json!({"openAPIV3Schema": {"type": "object", "properties": fields}});
        json!({
            "metadata": {"name": "widgets.example.com"},
            "spec": {
                "group": "example.com", "scope": "Namespaced", "conversion": {"strategy": "None"},
                "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
                "versions": [
                    {"name": "v1", "served": true, "storage": true, "schema": schema(json!({"a": {"type": "string"}}))},
                    {"name": "v2", "served": true, "storage": false, "schema": schema(json!({}))},
                ],
            },
            "status": {"storedVersions": ["v1"]},
        })
    }

    fn fields(definition: &Value, old: Option<&Value>) -> Vec<String> {
        check(definition, old)
            .into_iter()
            .map(|cause| cause.field)
            .collect()
    }

    #[test]
    fn a_broken_definition_is_refused_with_its_fields() {
        assert_eq!(fields(&definition(), None), [""; 0]);
        let mut broken = definition();
        broken["metadata"]["name"] = json!("widget.example.com");
        broken["spec"]["group"] = json!("example");
        broken["spec"]["scope"] = json!("World");
        broken["spec"]["names"]["kind"] = json!("");
        broken["spec"]["versions"][1]["storage"] = json!(true);
        assert_eq!(
            fields(&broken, None),
            [
                "metadata.name",
                "spec.group",
                "spec.scope",
                "spec.versions",
                "spec.names.kind",
                "status.storedVersions",
            ]
        );
    }

    #[test]
    fn what_all_versions_say_alike_has_a_place_of_its_own() {
        let mut broken = definition();
        for version in 0..2 {
            let columns = json!([{"name": "", "type": "string", "jsonPath": ".a"}]);
            broken["spec"]["versions"][version]["additionalPrinterColumns"] = columns;
        }
        assert_eq!(
            fields(&broken, None),
            ["spec.additionalPrinterColumns[0].name"]
        );
        broken["spec"]["versions"][0]["additionalPrinterColumns"] = json!([]);
        let field = "spec.versions[1].additionalPrinterColumns[0].name";
        assert_eq!(fields(&broken, None), [field]);
    }

    #[test]
    fn what_objects_are_stored_by_stays() {
        let mut old = definition();
        let mut new = definition();
        new["spec"]["scope"] = json!("Cluster");
        new["spec"]["group"] = json!("example.org");
        assert_eq!(fields(&new, Some(&old)), ["spec.group"]);
        old["status"]["conditions"] = json!([{"type": "Established", "status": "True"}]);
        assert_eq!(fields(&new, Some(&old)), ["spec.scope", "spec.group"]);
    }
}
