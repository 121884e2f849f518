//! Where each value of an object is set, and what it overrode.
//!
//! In: the trees and their compiled objects. Out: for each value the places that set it, the effective one
//! first, with the kind of source. Compiling keeps the places, but not the overridden values: those are read again
//! from the files, and definitions are expanded again without patches. Only `explain` pays for that. It does not
//! know how this is printed, and never reveals secrets.

use std::collections::{HashMap, HashSet};

use super::{Compiled, merged};
use crate::api::kinds::CAPSTAN;
use crate::api::overlay::Precedence;
use crate::api::{cluster_definition, embedded, labels};
use crate::model::{Node, Object, ObjectId, Origin, Path, Segment, Span, Tree, Value};
use crate::rules::sensitive::Name;
use crate::{expand, yaml};

/// The objects of a fleet, and where their values come from.
#[derive(Default)]
pub struct Explanation {
    /// Definitions with their overlays merged, top-level objects, and what is embedded in them.
    objects: Vec<(ObjectId, Node)>,
    /// What expansion made, before patches and `properties`.
    bare: HashMap<ObjectId, Node>,
    written: HashMap<Span, Written>,
    /// Where secrets were found: what is written there is one wherever a patch took it.
    secrets: HashSet<Span>,
}

/// A value of an object, or an empty map or list.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Its path in the object.
    pub path: Path,
    /// The values that were set, the newest first. Never empty.
    pub layers: Vec<Layer>,
    /// Whether it or an overridden value is secret; then the layers have no values.
    pub is_secret: bool,
}

/// One value that was set.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// The value; none if it is secret, or a generated value that was overridden.
    pub value: Option<Node>,
    /// The place to edit.
    pub span: Span,
    /// What set it.
    pub by: By,
}

/// The source of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum By {
    /// A definition.
    Definition(ObjectId),
    /// The `merge` of the overlay of this name.
    Overlay(String, Precedence),
    /// A patch of the overlay of this name.
    Patch(String),
    /// A plain object of the fleet.
    File,
    /// Expansion, which derived it from the value there.
    Derived,
    /// Expansion: a default or a constant; the place is the name of the definition or object.
    Default,
}

/// A value as a file has it.
struct Written {
    value: Node,
    by: By,
    /// Whether it is the name of a definition or object.
    is_name: bool,
}

/// Reads the trees again for [`Explanation::fields`].
#[must_use]
pub fn explain(tree: &Tree, overlays: &[Tree], compiled: &Compiled) -> Explanation {
    if compiled.is_stopped() {
        return Explanation::default();
    }
    let definitions = merged(tree, overlays);
    let mut bare = HashMap::new();
    for definition in &definitions {
        let plain = without_properties(definition.clone());
        let (definition, _) = cluster_definition::read(&plain);
        let definition = definition.or_else(|| cluster_definition::read_rest(&plain));
        let expanded = definition.map(|definition| expand::expand(&definition).0);
        let expanded = expanded.unwrap_or_default();
        bare.extend(expanded.iter().flat_map(with_embedded));
    }
    let of_definition = |node: Node| (cluster_definition::id(&node), node);
    let mut seen = HashSet::new();
    let definitions = definitions.into_iter().map(of_definition);
    let definitions = definitions.filter(|(id, _)| seen.insert(id.clone()));
    let objects = compiled.objects.iter().flat_map(with_embedded);
    let (mut written, mut secrets) = (HashMap::new(), HashSet::new());
    for tree in std::iter::once(tree).chain(overlays) {
        for (path, text) in &tree.files {
            let (documents, _) = yaml::read(path, text);
            for document in &documents {
                note(document, &mut written);
                note_secrets(document, &mut secrets);
            }
        }
    }
    let found = compiled.findings.iter();
    let found = found.filter(|finding| finding.id.starts_with('P'));
    secrets.extend(found.filter_map(|finding| finding.span.clone()));
    let objects: Vec<(ObjectId, Node)> = definitions.chain(objects).collect();
    let nodes = objects.iter().map(|(_, node)| node);
    nodes.for_each(|node| note_secrets(node, &mut secrets));
    Explanation {
        objects,
        bare,
        written,
        secrets,
    }
}

impl Explanation {
    /// The ids of the objects, in order.
    pub fn ids(&self) -> impl Iterator<Item = &ObjectId> {
        self.objects.iter().map(|(id, _)| id)
    }

    /// The object at a place of [`Self::ids`].
    #[must_use]
    pub fn object(&self, at: usize) -> &Node {
        &self.objects[at].1
    }

    /// The values at `path` of the object at a place of [`Self::ids`], and below.
    #[must_use]
    pub fn fields(&self, at: usize, path: &Path) -> Vec<Field> {
        let object = self.object(at);
        let mut fields = Vec::new();
        let Some(node) = object.lookup(path) else {
            return fields;
        };
        leaves(
            node,
            path,
            name_at(object, path),
            &mut |node, path, name| {
                fields.push(self.field(at, node, path, name));
            },
        );
        fields
    }

    fn field(&self, at: usize, node: &Node, path: &Path, name: Name<'_>) -> Field {
        let (id, _) = &self.objects[at];
        let layer = |(depth, origin)| self.layer(id, path, origin, (depth == 0).then_some(node));
        let mut layers: Vec<Layer> = origins(node).enumerate().map(layer).collect();
        let is_secret =
            name.hides(node) || layers.iter().any(|layer| self.holds_secret(layer, name));
        if is_secret {
            layers.iter_mut().for_each(|layer| layer.value = None);
        }
        Field {
            path: path.clone(),
            layers,
            is_secret,
        }
    }

    /// One layer. The value of the newest is known; the others are looked up.
    fn layer(&self, id: &ObjectId, path: &Path, origin: &Origin, known: Option<&Node>) -> Layer {
        let span = origin.span();
        let written = self.written.get(span);
        let made = || {
            let made = self.bare.get(id).and_then(|bare| bare.lookup(path));
            made.filter(|made| made.span() == span)
        };
        let value = known.or_else(made);
        let by = match (written, value) {
            (Some(written), Some(value)) if text(value) != text(&written.value) => {
                made_of(written, value, path)
            }
            // What was made of a name is not known to be the name.
            (Some(written), None) if written.is_name => By::Default,
            (Some(written), _) => written.by.clone(),
            // What was written there was taken out by a patch.
            (None, Some(value))
                if is_container(value) && made().is_none_or(|made| made != value) =>
            {
                By::Derived
            }
            (None, _) => By::Default,
        };
        let as_written = written.filter(|_| by != By::Default).map(|one| &one.value);
        Layer {
            value: value.or(as_written).cloned(),
            span: span.clone(),
            by,
        }
    }

    fn holds_secret(&self, layer: &Layer, name: Name<'_>) -> bool {
        let value = layer.value.as_ref();
        self.secrets.contains(&layer.span) || value.is_some_and(|value| name.hides(value))
    }
}

/// The source of `value` at `path`, which differs from what is written.
fn made_of(written: &Written, value: &Node, path: &Path) -> By {
    let derived = holds_word(&text(value), &text(&written.value));
    match is_our_mark(path) || (written.is_name && !derived) {
        true => By::Default,
        false => By::Derived,
    }
}

/// Whether `text` contains `word` as a whole word.
fn holds_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let (before, after) = text.split_at_checked(at).unwrap_or_default();
        let after = after.strip_prefix(word).unwrap_or_default();
        !before.ends_with(char::is_alphanumeric) && !after.starts_with(char::is_alphanumeric)
    })
}

/// Whether it is a label or annotation that Capstan sets to mark its objects.
fn is_our_mark(path: &Path) -> bool {
    let [.., Segment::Key(around), Segment::Key(key)] = path.0.as_slice() else {
        return false;
    };
    let ours = key == labels::MANAGED_BY || key.split('/').next() == Some(CAPSTAN);
    ours && matches!(around.as_str(), "labels" | "annotations")
}

fn is_container(node: &Node) -> bool {
    matches!(node.value, Value::Map(_) | Value::List(_))
}

/// A value as text; a map or list as JSON.
fn text(node: &Node) -> String {
    match &node.value {
        Value::String(text) => text.to_string(),
        Value::Float(_, text) => text.to_string(),
        _ => node.to_json().to_string(),
    }
}

/// The origin of a value, then the origins of the values that it overrode.
fn origins(node: &Node) -> impl Iterator<Item = &Origin> {
    std::iter::successors(Some(&node.origin), |origin| origin.beneath())
}

/// The name of the value at a path of an object.
fn name_at<'n>(object: &'n Node, path: &'n Path) -> Name<'n> {
    let (mut name, mut node) = (Name::default(), Some(object));
    for segment in &path.0 {
        let parent = node;
        match segment {
            Segment::Key(key) => {
                name = name.of(key, parent.into_iter());
                node = parent.and_then(|map| map.get(key));
            }
            Segment::Index(at) => {
                let items = parent.and_then(Node::as_list).unwrap_or_default();
                name = name.item(before(items, *at));
                node = items.get(*at);
            }
        }
    }
    name
}

/// The item before the one at an index.
fn before(items: &[Node], at: usize) -> Option<&Node> {
    items.get(at.checked_sub(1)?)
}

/// An object and what is embedded in it.
fn with_embedded(object: &Object) -> impl Iterator<Item = (ObjectId, Node)> {
    let embedded = embedded::resources(object).into_iter();
    let embedded = embedded.map(|(_, resource)| (resource.id, resource.node));
    std::iter::once((object.id.clone(), object.node.clone())).chain(embedded)
}

/// A definition without its `properties`, which are merged onto the generated objects.
fn without_properties(mut definition: Node) -> Node {
    fn strip(node: &mut Node) {
        match &mut node.value {
            Value::Map(map) => {
                drop(map.remove("properties"));
                map.iter_mut().for_each(|(_, node)| strip(node));
            }
            Value::List(items) => items.iter_mut().for_each(strip),
            _ => {}
        }
    }
    strip(&mut definition);
    definition
}

/// Records every value of a document, and its source.
fn note(document: &Node, written: &mut HashMap<Span, Written>) {
    let kind = document.text(&["kind"]).unwrap_or_default();
    let version = document.text(&["apiVersion"]).unwrap_or_default();
    let ours = version.split('/').next() == Some(CAPSTAN);
    let name = document.text(&["metadata", "name"]).unwrap_or_default();
    match (ours, kind, document.get("items").and_then(Node::as_list)) {
        (false, list, Some(items)) if list.ends_with("List") => {
            items.iter().for_each(|item| note(item, written));
        }
        (true, "Overlay", _) => {
            let precedence = match document.text(&["spec", "precedence"]) {
                Some("Enforced") => Precedence::Enforced,
                _ => Precedence::Default,
            };
            for (part, by) in [
                ("merge", By::Overlay(name.to_owned(), precedence)),
                ("patches", By::Patch(name.to_owned())),
            ] {
                let part = document.at(&["spec", part]);
                part.into_iter()
                    .for_each(|part| note_all(part, &by, None, written));
            }
        }
        (true, "ClusterDefinition", _) => {
            let by = By::Definition(cluster_definition::id(document));
            note_all(document, &by, Some(name), written);
        }
        _ => note_all(document, &By::File, Some(name), written),
    }
}

/// Records the places of secrets and of the values that they overrode.
fn note_secrets(node: &Node, secrets: &mut HashSet<Span>) {
    leaves(
        node,
        &Path::default(),
        Name::default(),
        &mut |leaf, _, name| {
            if name.hides(leaf) {
                secrets.extend(origins(leaf).map(|origin| origin.span().clone()));
            }
        },
    );
}

fn note_all(node: &Node, by: &By, name: Option<&str>, written: &mut HashMap<Span, Written>) {
    leaves(
        node,
        &Path::default(),
        Name::default(),
        &mut |node, path, _| {
            let is_name = name.is_some() && *path == Path::dotted("metadata.name");
            written
                .entry(node.span().clone())
                .or_insert_with(|| Written {
                    value: node.clone(),
                    by: by.clone(),
                    is_name,
                });
        },
    );
}

/// Every leaf below `node`, with its path and its name.
fn leaves(node: &Node, path: &Path, name: Name<'_>, see: &mut dyn FnMut(&Node, &Path, Name<'_>)) {
    match &node.value {
        Value::Map(map) if !map.is_empty() => {
            for (key, value) in map.iter() {
                let name = name.of(&key.name, std::iter::once(node));
                leaves(value, &path.key(key.name.as_ref()), name, see);
            }
        }
        Value::List(items) if !items.is_empty() => {
            for (index, item) in items.iter().enumerate() {
                leaves(
                    item,
                    &path.index(index),
                    name.item(before(items, index)),
                    see,
                );
            }
        }
        _ => see(node, path, name),
    }
}
