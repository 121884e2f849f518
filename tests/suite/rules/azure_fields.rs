//! The fields of Azure Service Operator's kinds that the rules know are those of the real CRDs.

use std::collections::{BTreeMap, BTreeSet};

use capstan::api::azure_fields;
use serde_json::Value as Json;

use crate::real;

/// What the rules leave alone.
const OPEN: [&str; 2] = ["properties", "properties.accessPolicies[].permissions"];
/// The kinds without fields in the rules: nothing that a cluster needs is one.
const UNKNOWN: [&str; 1] = ["LoadBalancer"];

/// The fields of a schema, `type path`, and `required path`.
fn fields(kind: &str, schema: &Json, at: &str, found: &mut BTreeSet<String>) {
    let is_aro = kind.starts_with("HcpOpenShift");
    if at == OPEN[1] || is_aro && at == OPEN[0] {
        found.insert(format!("open {at}"));
        return;
    }
    let dot = if at.is_empty() { "" } else { "." };
    let required = schema["required"].as_array().into_iter().flatten();
    let required = required.filter_map(Json::as_str);
    found.extend(required.map(|name| format!("required {at}{dot}{name}")));
    for (name, below) in schema["properties"].as_object().into_iter().flatten() {
        fields(kind, below, &format!("{at}{dot}{name}"), found);
    }
    for (keyword, mark) in [("items", "[]"), ("additionalProperties", "{}")] {
        if schema[keyword].is_object() {
            fields(kind, &schema[keyword], &format!("{at}{mark}"), found);
        }
    }
    let of = schema["type"].as_str().expect("a type");
    let allowed = schema["enum"].as_array().into_iter().flatten();
    let mut allowed: Vec<_> = allowed.filter_map(Json::as_str).collect();
    allowed.sort_unstable();
    found.insert(format!("{of} {at} {}", allowed.join("|")));
}

#[test]
fn the_fields_of_azure_service_operator_are_those_of_its_crds() {
    let mut real: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for directory in ["aso-2.13", "aso-2.19"] {
        let Some(crds) = real::crds(directory) else {
            return;
        };
        for crd in &crds {
            let [group, kind] = [&crd["spec"]["group"], &crd["spec"]["names"]["kind"]];
            let [group, kind] = [group, kind].map(|name| name.as_str().expect("a name"));
            let versions = crd["spec"]["versions"].as_array().expect("versions");
            for version in versions {
                let name = version["name"].as_str().expect("a name");
                if name.ends_with("storage") || UNKNOWN.contains(&kind) {
                    continue;
                }
                let found = real.entry(format!("{group} {kind} {name}")).or_default();
                let spec = &version["schema"]["openAPIV3Schema"]["properties"]["spec"];
                fields(kind, spec, "", found);
            }
        }
    }
    let known = azure_fields::specs().map(|((group, kind, version), spec)| {
        let mut found = BTreeSet::new();
        fields(kind, &spec, "", &mut found);
        (format!("{group} {kind} {version}"), found)
    });
    let known: BTreeMap<_, _> = known.collect();
    assert_eq!(
        known.keys().collect::<Vec<_>>(),
        real.keys().collect::<Vec<_>>()
    );
    for (id, real) in &real {
        let missing: Vec<_> = real.difference(&known[id]).collect();
        let more: Vec<_> = known[id].difference(real).collect();
        assert!(
            missing.is_empty() && more.is_empty(),
            "{id} -{missing:#?} +{more:#?}"
        );
    }
}
