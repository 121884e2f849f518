//! The rules of real CRDs.

use std::path::{Path, PathBuf};

use serde_json::Value;

use kube_schema::Schema;

use crate::cel::{RuleTree, rule_faults};
use crate::structural_faults;

fn files(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "yaml") {
            found.push(path);
        }
    }
}

fn rules(schema: &Schema) -> usize {
    let additional = match &schema.additional {
        kube_schema::Additional::Schema(values) => Some(&**values),
        _ => None,
    };
    let parts = schema
        .properties
        .values()
        .chain(schema.items.as_deref())
        .chain(additional);
    schema.validations.len() + parts.map(rules).sum::<usize>()
}

#[test]
fn every_rule_of_a_real_crd_is_accepted_and_evaluated_here() {
    let mut paths = Vec::new();
    files(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/crds"),
        &mut paths,
    );
    if paths.is_empty() {
        return eprintln!("skipped: no real CRDs in ../shared/crds");
    }
    let mut count = 0;
    for path in paths {
        let text = std::fs::read_to_string(&path).unwrap();
        for document in serde_yaml::Deserializer::from_str(&text) {
            let crd: Value = serde::Deserialize::deserialize(document).unwrap();
            for version in crd["spec"]["versions"].as_array().unwrap() {
                let schema = Schema::from_json(&version["schema"]["openAPIV3Schema"]).unwrap();
                let faults = structural_faults(&version["schema"]["openAPIV3Schema"]);
                assert_eq!(faults, [""; 0], "{}", path.display());
                let found = rule_faults(&schema, &RuleTree::compile(&schema).unwrap(), true);
                assert_eq!(found.faults, [], "{}", path.display());
                assert_eq!(found.unchecked, [], "{}", path.display());
                count += rules(&schema);
            }
        }
    }
    assert!(count > 450, "{count} rules");
}
