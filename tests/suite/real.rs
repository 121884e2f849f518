//! The real parts that tests use when they are there: CRDs of the systems around us, and a cluster
//! as people write it by hand.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use capstan::model::{Node, ObjectId};
use capstan::yaml;
use kube_schema::Schema;
use serde_json::Value as Json;

/// A file or directory beside the repository; prints that the test is skipped without it.
pub(crate) fn shared(path: &str) -> Option<PathBuf> {
    let found = std::env::var_os("CAPSTAN_CRDS")
        .filter(|_| path.starts_with("crds"))
        .map(|crds| PathBuf::from(crds).join(path.trim_start_matches("crds/")))
        .unwrap_or_else(|| {
            PathBuf::from(env!("CARGO_MANIFEST_DIR"))
                .join("../shared")
                .join(path)
        });
    if found.exists() {
        return Some(found);
    }
    eprintln!("skipped: {} is not there", found.display());
    None
}

/// The documents of a YAML file.
pub(crate) fn documents(file: &std::path::Path) -> Vec<Node> {
    let text = std::fs::read(file).expect("the file is readable");
    let (nodes, findings) = yaml::read(&Arc::from(file.to_string_lossy()), &text);
    assert_eq!(findings, [], "{}", file.display());
    nodes
}

/// Schemas by group, kind and version.
pub(crate) struct Schemas(BTreeMap<(String, String, String), Schema>);

impl Schemas {
    /// The CRDs in directories below `crds`; `None` when one is not there.
    pub(crate) fn read(directories: &[&str]) -> Option<Self> {
        let mut schemas = BTreeMap::new();
        for directory in directories {
            for crd in crds(directory)? {
                add(&mut schemas, &crd);
            }
        }
        Some(Self(schemas))
    }

    /// The schema of an object's kind at `version`.
    pub(crate) fn of(&self, id: &ObjectId, version: &str) -> Option<&Schema> {
        let key = (id.group.clone(), id.kind.clone(), version.to_owned());
        self.0.get(&key)
    }
}

/// The CRDs in a directory below `crds`.
pub(crate) fn crds(directory: &str) -> Option<Vec<Json>> {
    let directory = shared(&format!("crds/{directory}"))?;
    let entries = std::fs::read_dir(directory).expect("the directory is readable");
    let files = entries.map(|entry| entry.expect("entry").path());
    Some(
        files
            .flat_map(|file| documents(&file))
            .map(|node| node.to_json())
            .collect(),
    )
}

fn add(schemas: &mut BTreeMap<(String, String, String), Schema>, crd: &Json) {
    let spec = &crd["spec"];
    let text = |json: &Json| json.as_str().expect("text").to_owned();
    for version in spec["versions"].as_array().expect("versions") {
        let key = (
            text(&spec["group"]),
            text(&spec["names"]["kind"]),
            text(&version["name"]),
        );
        let schema = Schema::from_json(&version["schema"]["openAPIV3Schema"]);
        schemas.insert(key, schema.expect("a schema"));
    }
}
