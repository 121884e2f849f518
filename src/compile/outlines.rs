//! Files that contain only definitions, without the specs of these.
//!
//! In: files as they were read. Out: of those without any mistake, what has to be known of each definition before it is compiled:
//! its metadata and its place. The rest is read again when the definition is compiled. It does not know what definitions say.

use std::collections::HashMap;
use std::sync::Arc;

use crate::api::kinds::CAPSTAN;
use crate::model::{Cost, Node, Value};
use crate::yaml;

/// The fields of a definition that are kept.
const KEPT: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Outlines of files, by their paths.
#[derive(Clone, Default)]
pub(super) struct Outlines(HashMap<Arc<str>, Arc<Outline>>);

/// A file that contains only definitions.
pub(super) struct Outline {
    text: Arc<[u8]>,
    /// Its definitions, with the fields [`KEPT`] alone.
    pub(super) definitions: Vec<Node>,
    /// The share of the limits that it took to read the file.
    pub(super) cost: Cost,
}

impl Outline {
    /// Of a file, if it contains only definitions.
    pub(super) fn of(text: &Arc<[u8]>, file: &yaml::File, cost: Cost) -> Option<Self> {
        let is_clean = file.findings.is_empty() && file.broken.is_empty();
        let has_only_definitions = file.documents.iter().all(is_definition);
        (is_clean && has_only_definitions && !file.documents.is_empty()).then(|| Self {
            text: Arc::clone(text),
            definitions: file.documents.iter().map(outline).collect(),
            cost,
        })
    }
}

fn is_definition(document: &Node) -> bool {
    let version = document.text(&["apiVersion"]).unwrap_or_default();
    let group = version.split('/').next();
    group == Some(CAPSTAN) && document.text(&["kind"]) == Some("ClusterDefinition")
}

/// The document with the fields [`KEPT`] alone.
fn outline(document: &Node) -> Node {
    let fields = document.as_map().into_iter().flat_map(|map| map.iter());
    let kept = fields.filter(|(key, _)| KEPT.contains(&&*key.name));
    let kept = kept.map(|(key, node)| (key.clone(), node.clone()));
    Node {
        value: Value::Map(kept.collect()),
        origin: document.origin.clone(),
    }
}

impl Outlines {
    /// The outline of a file, if the file has the same text as then.
    pub(super) fn find(&self, path: &str, text: &Arc<[u8]>) -> Option<&Arc<Outline>> {
        self.0.get(path).filter(|one| one.text == *text)
    }

    pub(super) fn insert(&mut self, path: &Arc<str>, outline: Arc<Outline>) {
        self.0.insert(Arc::clone(path), outline);
    }

    /// Adds those of other files.
    pub(super) fn extend(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    #[cfg(test)]
    pub(super) fn paths(&self) -> Vec<&str> {
        let mut paths: Vec<&str> = self.0.keys().map(AsRef::as_ref).collect();
        paths.sort_unstable();
        paths
    }

    /// The whole document of a definition, which may be from an outline.
    pub(super) fn whole(&self, definition: &Node) -> Node {
        let path = &definition.span().path;
        let read_again = self.0.get(path).and_then(|outline| {
            let mut documents = yaml::read_file(path, &outline.text).documents.into_iter();
            documents.find(|document| document.span() == definition.span())
        });
        read_again.unwrap_or_else(|| definition.clone())
    }
}
