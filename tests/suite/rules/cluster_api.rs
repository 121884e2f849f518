//! The fields of Cluster API that the rules know are those of the real CRDs.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use crate::real;

const KNOWN: &str = include_str!("../../../src/rules/data/cluster-api.txt");

/// `kind version type field`, of each field.
fn known() -> BTreeSet<String> {
    let lines = KNOWN.lines().filter(|line| !line.starts_with('#'));
    let lines = lines.map(|line| line.split_once(": ").expect("a heading and fields"));
    let fields = lines.flat_map(|(heading, fields)| {
        let heading: Vec<&str> = heading.split(' ').collect();
        let [kind, versions @ .., of] = heading.as_slice() else {
            panic!("{heading:?}");
        };
        let fields = fields.split(' ');
        let of_field = |field| {
            versions
                .iter()
                .map(move |version| format!("{kind} {version} {of} {field}"))
        };
        fields.flat_map(of_field).collect::<Vec<_>>()
    });
    fields.collect()
}

/// The fields of a schema with their types.
fn fields(schema: &Json, at: &str, found: &mut Vec<(String, String)>) {
    if at == "topology" {
        return found.push(("open".to_owned(), at.to_owned()));
    }
    let inner = [("items", "[]"), ("additionalProperties", "{}")];
    let inner = inner
        .iter()
        .find(|(keyword, _)| schema[keyword].is_object());
    match (schema["properties"].as_object(), inner) {
        (Some(properties), _) => {
            for (name, below) in properties {
                let dot = if at.is_empty() { "" } else { "." };
                fields(below, &format!("{at}{dot}{name}"), found);
            }
        }
        (None, Some((keyword, mark))) => fields(&schema[keyword], &format!("{at}{mark}"), found),
        (None, None) => {
            let of = schema["type"].as_str().expect("a type");
            found.push((of.to_owned(), at.to_owned()));
        }
    }
}

#[test]
fn the_fields_of_cluster_api_are_those_of_its_crds() {
    let Some(crds) = real::crds("cluster-api") else {
        return;
    };
    let mut real = BTreeSet::new();
    for crd in &crds {
        let kind = crd["spec"]["names"]["kind"].as_str().expect("a kind");
        let versions = crd["spec"]["versions"].as_array().expect("versions");
        for version in versions.iter().filter(|version| version["served"] == true) {
            let name = version["name"].as_str().expect("a name");
            let mut found = Vec::new();
            let spec = &version["schema"]["openAPIV3Schema"]["properties"]["spec"];
            fields(spec, "", &mut found);
            let line = |(of, field): &(String, String)| format!("{kind} {name} {of} {field}");
            real.extend(found.iter().map(line));
        }
    }
    let known = known();
    let missing: Vec<_> = real.difference(&known).collect();
    let more: Vec<_> = known.difference(&real).collect();
    assert!(
        missing.is_empty() && more.is_empty(),
        "-{missing:#?} +{more:#?}"
    );
}
