//! The fields of Azure Service Operator's kinds below `spec`, in each of their versions.
//!
//! In: a kind and a version. Out: the schema. It does not know the fields of `spec.properties` of the ARO HCP kinds:
//! [`arm_properties`](super::arm_properties) does. Source: the CRDs of Azure Service Operator 2.13 and 2.19.

use std::sync::OnceLock;

use serde_json::{Value as Json, json};

use super::document::compiled;
use super::fields;
use kube_schema::Schema;

const FIELDS: &str = include_str!("azure_fields.txt");
/// What every kind has.
const COMMON: [(&str, &str); 2] = [
    (
        "string",
        "azureName operatorSpec.configMapExpressions[].key operatorSpec.configMapExpressions[].name
         operatorSpec.configMapExpressions[].value operatorSpec.secretExpressions[].key
         operatorSpec.secretExpressions[].name operatorSpec.secretExpressions[].value",
    ),
    (
        "required",
        "operatorSpec.configMapExpressions[].name operatorSpec.configMapExpressions[].value
         operatorSpec.secretExpressions[].name operatorSpec.secretExpressions[].value",
    ),
];

/// The group, kind and version of a resource.
pub type Id<'a> = (&'a str, &'a str, &'a str);

/// The schema of a resource with its `spec`; `None` for a kind or version that is not known here.
#[must_use]
pub fn schema(id: Id<'_>) -> Option<&'static Schema> {
    static SCHEMAS: OnceLock<Vec<(Id<'_>, Schema)>> = OnceLock::new();
    let schemas = SCHEMAS.get_or_init(|| {
        let of_kind = |(id, spec)| {
            let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
            let parts = json!({"spec": spec, "status": open});
            let schema = json!({"type": "object", "required": ["spec"], "properties": parts});
            (id, compiled(&schema))
        };
        specs().map(of_kind).collect()
    });
    let mut schemas = schemas.iter();
    schemas.find_map(|(of, schema)| (*of == id).then_some(schema))
}

/// The kinds in all their versions, with the JSON schema of their `spec`.
pub fn specs() -> impl Iterator<Item = (Id<'static>, Json)> {
    let kinds = FIELDS.split("\n\n").filter_map(|kind| {
        let lines = kind.lines().filter(|line| !line.starts_with('#'));
        let mut lines = lines.filter_map(|line| line.split_once(": "));
        let (head, versions) = lines.next()?;
        let (kind, group) = head.split_once(' ')?;
        let fields: Vec<_> = lines.collect();
        let versions = versions.split_whitespace();
        Some(versions.map(move |version| ((group, kind, version), spec(&fields, version))))
    });
    kinds.flatten()
}

/// The schema of `spec` in one version. Each line has the versions, if not all have the fields, the type, and the fields.
fn spec(lines: &[(&'static str, &'static str)], version: &str) -> Json {
    let of_version = lines.iter().filter_map(|(head, fields)| {
        let (versions, of) = head.rsplit_once(' ').unwrap_or(("", head));
        let mut versions = versions.split_whitespace().peekable();
        let is_in_all = versions.peek().is_none();
        (is_in_all || versions.any(|one| one == version)).then_some((of, *fields))
    });
    fields::schema(of_version.chain(COMMON))
}
