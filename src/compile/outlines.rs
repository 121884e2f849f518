//! Outlines of files that contain one definition and nothing else.
//!
//! In: files as they were read. Out: for each without mistakes, the metadata and the place of its definition: enough until the
//! definition is compiled, which reads the file again. It does not know what definitions say.

use std::collections::HashMap;
use std::sync::Arc;

use crate::api::kinds::CAPSTAN;
use crate::model::{Cost, Node, Value};
use crate::yaml;

/// A file and its text.
pub(super) type File<'t> = (&'t Arc<str>, &'t Arc<[u8]>);

/// The fields of a definition that are kept.
const KEPT: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Outlines of files, by their paths.
#[derive(Clone, Default)]
pub(super) struct Outlines(HashMap<Arc<str>, Known>);

/// A file and its outline.
#[derive(Clone)]
struct Known {
    text: Arc<[u8]>,
    outline: Arc<Outline>,
}

/// The outline of a file that contains only a definition. A file with several has none: to compile each of them would read the
/// whole file.
pub(super) struct Outline {
    /// The definition, with the fields [`KEPT`] alone.
    pub(super) definition: Node,
    /// The share of the limits that it took to read the file.
    pub(super) cost: Cost,
}

impl Outline {
    /// The outline of a file; `None` if it contains anything but one definition, or a mistake.
    pub(super) fn new(file: &yaml::File, cost: Cost) -> Option<Self> {
        let is_clean = file.findings.is_empty() && file.broken.is_empty();
        match &*file.documents {
            [document] if is_clean && is_definition(document) => Some(Self {
                definition: outline(document),
                cost,
            }),
            _ => None,
        }
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
    let kept = fields
        .filter(|(key, _)| KEPT.contains(&&*key.name))
        .map(|(key, node)| (key.clone(), node.clone()))
        .collect();
    Node {
        value: Value::Map(kept),
        origin: document.origin.clone(),
    }
}

impl Outlines {
    /// The outline of a file, if the file has the same text as then.
    pub(super) fn find(&self, (path, text): File<'_>) -> Option<&Arc<Outline>> {
        let known = self.0.get(path).filter(|known| known.text == *text);
        known.map(|known| &known.outline)
    }

    pub(super) fn insert(&mut self, (path, text): File<'_>, outline: Arc<Outline>) {
        let text = Arc::clone(text);
        self.0.insert(Arc::clone(path), Known { text, outline });
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
        let Some(known) = self.0.get(path) else {
            return definition.clone();
        };
        let document = yaml::read_file(path, &known.text).documents.pop();
        debug_assert!(document.is_some(), "{path} had a document before");
        document.unwrap_or_else(|| definition.clone())
    }
}
