//! The fields in which two states of an object differ.
//!
//! In: both states as JSON, and the object with the line of each value. Out: a [`FieldChange`] for each field,
//! elements of keyed lists compared by their keys. It does not know lines of anything but the object.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value as Json;

use super::field::FieldChange;
use super::secret;
use super::shown::Shown;
use crate::api::{embedded, labels};
use crate::health::Live;
use crate::model::{Node, Object, ObjectId, Origin, Path, Span, Value};
use crate::plan::{Consequence, consequences, secret_data};
use crate::rules::sensitive::Name;
use crate::schema::strategic::{At, ListKeys};

/// Whether two states of an object are the same but for what every write changes, and what is not ours to write.
#[must_use]
pub fn is_same(before: &Json, after: &Json) -> bool {
    tidied(before) == tidied(after)
}

/// The fields in which two states of an object differ, as JSON pointers.
#[must_use]
pub fn differences(before: &Json, after: &Json) -> Vec<String> {
    let origin = Origin::new(Span::top(&Arc::from("")));
    let node = Node::new(Value::Null, &origin);
    let found = walked(before, after, &node, &ListKeys::default());
    let fields = found.iter().map(|found| found.field.pointer());
    let fields: BTreeSet<String> = fields.collect();
    fields.into_iter().collect()
}

/// The changed fields of `object`, which belongs to `cluster`, with what follows from each.
pub(super) fn changes(
    object: &Object,
    before: &Json,
    after: &Json,
    cluster: Option<&String>,
    lists: &ListKeys,
) -> Vec<FieldChange> {
    // What goes away is found where it is sent, by the line that it was written on.
    let source = secret_data::encoded(object);
    let found = walked(before, after, &source, lists).into_iter();
    let change = |found: Found| FieldChange {
        object: object.id.clone(),
        part: found.part,
        cluster: cluster.cloned(),
        field: found.field,
        name: found.name,
        old: found.old,
        new: found.new,
        consequence: None,
        span: found.span,
    };
    let mut changes: Vec<FieldChange> = found.map(change).collect();
    for one in consequences(before, after) {
        follow(&mut changes, &one, (object, &source), cluster);
    }
    changes
}

/// Adds a consequence to the fields that it is of; to one of its own if none is.
fn follow(
    changes: &mut Vec<FieldChange>,
    one: &Consequence,
    (object, source): (&Object, &Node),
    cluster: Option<&String>,
) {
    let around = |a: &Path, b: &Path| a.0.starts_with(&b.0);
    let concerns = |change: &&mut FieldChange| {
        change.part == one.part
            && (around(&change.field, &one.field) || around(&one.field, &change.field))
    };
    let mut found = false;
    for change in changes.iter_mut().filter(concerns) {
        found = true;
        if change.consequence.is_none() || change.change() < one.change {
            change.consequence = Some(one.clone());
        }
    }
    if !found {
        changes.push(FieldChange {
            object: object.id.clone(),
            part: one.part.clone(),
            cluster: cluster.cloned(),
            field: one.field.clone(),
            name: one.field.to_string(),
            old: Shown::Unset,
            new: Shown::Unset,
            consequence: Some(one.clone()),
            span: source.nearest(&one.field).span().clone(),
        });
    }
}

/// A changed field, as it was found.
struct Found {
    part: ObjectId,
    field: Path,
    name: String,
    old: Shown,
    new: Shown,
    span: Span,
}

fn walked(before: &Json, after: &Json, source: &Node, lists: &ListKeys) -> Vec<Found> {
    let origin = Origin::new(Span::top(&Arc::from("")));
    let node = |json| Node::from_json(&tidied(json), &origin);
    let (old, new) = (node(before), node(after));
    let id = Live(after).id();
    let mut walk = Walk {
        lists,
        carries: embedded::carries(&id),
        found: Vec::new(),
    };
    let place = Place {
        at: At::of(new.text(&["apiVersion"]), &id.kind),
        part: id.clone(),
        field: Path::default(),
        name: String::new(),
        secret: Name::default(),
        source,
        is_exact: true,
        key: source.span(),
    };
    walk.compare(Some(&old), Some(&new), &place);
    walk.found
}

/// An object without what every write changes, and what is not ours to write.
fn tidied(object: &Json) -> Json {
    let mut object = object.clone();
    // What controllers write meanwhile.
    if let Some(object) = object.as_object_mut() {
        object.remove("status");
    }
    if let Some(metadata) = object["metadata"].as_object_mut() {
        for key in ["managedFields", "resourceVersion", "generation"] {
            metadata.remove(key);
        }
    }
    if let Some(annotations) = object["metadata"]["annotations"].as_object_mut() {
        annotations.remove(labels::APPLIED);
    }
    object
}

struct Walk<'a> {
    lists: &'a ListKeys,
    /// Whether the object carries embedded resources.
    carries: bool,
    found: Vec<Found>,
}

/// Where the walk is.
#[derive(Clone)]
struct Place<'a> {
    at: At<'a>,
    part: ObjectId,
    field: Path,
    name: String,
    secret: Name<'a>,
    /// The value with its line, or what is around it.
    source: &'a Node,
    /// Whether it is the value.
    is_exact: bool,
    /// The key of the value, or of what is around it: where a value went away.
    key: &'a Span,
}

impl<'a> Walk<'a> {
    fn compare(&mut self, old: Option<&'a Node>, new: Option<&'a Node>, place: &Place<'a>) {
        let present = |node: Option<&'a Node>| node.filter(|node| node.value != Value::Null);
        let (old, new) = (present(old), present(new));
        match (old.map(|old| &old.value), new.map(|new| &new.value)) {
            (old, new) if old == new => {}
            (Some(Value::Map(_)), Some(Value::Map(_))) => self.maps(old, new, place),
            // Each value that is added has a line of its own.
            (None, Some(Value::Map(map))) if !map.is_empty() => self.maps(old, new, place),
            (Some(Value::List(a)), Some(Value::List(b))) => self.lists(a, b, (old, new), place),
            _ => self.note(old, new, place),
        }
    }

    fn maps(&mut self, old: Option<&'a Node>, new: Option<&'a Node>, place: &Place<'a>) {
        let keys = |node: Option<&'a Node>| {
            let map = node.and_then(Node::as_map).into_iter();
            map.flat_map(|map| map.iter().map(|(key, _)| &*key.name))
        };
        let names: BTreeSet<&'a str> = keys(old).chain(keys(new)).collect();
        for key in names {
            let value = |node: Option<&'a Node>| node.and_then(|node| node.get(key));
            let (old_value, new_value) = (value(old), value(new));
            if old_value.map(|node| &node.value) != new_value.map(|node| &node.value) {
                let place = place.child(key, [old, new]);
                self.compare(old_value, new_value, &place);
            }
        }
    }

    fn lists(
        &mut self,
        old: &'a [Node],
        new: &'a [Node],
        whole: (Option<&'a Node>, Option<&'a Node>),
        place: &Place<'a>,
    ) {
        let (keys, maps) = (
            (self.labels(old, place.at), self.labels(new, place.at)),
            old.iter().chain(new).all(|item| item.as_map().is_some()),
        );
        match keys {
            (Some(before), Some(after)) => {
                for (label, item) in before.iter().zip(old) {
                    if !after.contains(label) {
                        let place = self.element(place, label, item, None);
                        self.note(Some(item), None, &place);
                    }
                }
                for (index, (label, item)) in after.iter().zip(new).enumerate() {
                    let place = self.element(place, label, item, Some(index));
                    match before.iter().position(|other| other == label) {
                        Some(at) => self.compare(Some(&old[at]), Some(item), &place),
                        None => self.note(None, Some(item), &place),
                    }
                }
            }
            _ if maps && old.len() == new.len() => {
                for (index, (old, new)) in old.iter().zip(new).enumerate() {
                    self.compare(Some(old), Some(new), &place.item(index));
                }
            }
            _ => self.note(whole.0, whole.1, place),
        }
    }

    /// What tells the items of a list apart; nothing if that is not known of all.
    fn labels(&self, items: &[Node], at: At<'_>) -> Option<Vec<String>> {
        let labels = items.iter().map(|item| self.lists.label(at, item));
        let labels: Vec<String> = labels.collect::<Option<_>>()?;
        let different: BTreeSet<&String> = labels.iter().collect();
        (different.len() == labels.len()).then_some(labels)
    }

    /// The place of the element `item` of a list, at an index if it stays.
    fn element(
        &self,
        list: &Place<'a>,
        label: &str,
        item: &'a Node,
        index: Option<usize>,
    ) -> Place<'a> {
        let sources = list.source.as_list().filter(|_| list.is_exact);
        let mut sources = sources.into_iter().flatten();
        let source = sources.find(|item| self.lists.label(list.at, item).as_deref() == Some(label));
        let is_part = self.carries && list.field == Path::dotted("spec.resources");
        let (part, name) = match is_part {
            true => (embedded_id(item, &list.part.namespace), String::new()),
            false => (list.part.clone(), format!("{}[{label}]", list.name)),
        };
        Place {
            at: list.at.element(item),
            part,
            field: index.map_or_else(|| list.field.clone(), |index| list.field.index(index)),
            name,
            secret: list.secret,
            source: source.unwrap_or(list.source),
            is_exact: source.is_some(),
            key: source.map_or(list.key, Node::span),
        }
    }

    fn note(&mut self, old: Option<&Node>, new: Option<&Node>, place: &Place<'_>) {
        let values = [old, new];
        let mut values = values.into_iter().flatten();
        let is_secret = values.any(|node| place.secret.hides(node));
        let shown = |node: Option<&Node>| match node {
            None => Shown::Unset,
            Some(_) if is_secret => Shown::Secret,
            Some(node) => Shown::Value(secret::masked(node, place.secret)),
        };
        self.found.push(Found {
            part: place.part.clone(),
            field: place.field.clone(),
            name: place.name.clone(),
            old: shown(old),
            new: shown(new),
            span: place.span(old, new),
        });
    }
}

impl<'a> Place<'a> {
    fn child(&self, key: &'a str, maps: [Option<&'a Node>; 2]) -> Self {
        let source = self.source.as_map().filter(|_| self.is_exact);
        let source = source.and_then(|map| map.entry(key));
        let name = match self.name.as_str() {
            name if key.contains(['.', '/']) => format!("{name}[{key}]"),
            "" => key.to_owned(),
            name => format!("{name}.{key}"),
        };
        Self {
            at: self.at.child(key),
            part: self.part.clone(),
            field: self.field.key(key),
            name,
            secret: self.secret.of(key, maps.into_iter().flatten()),
            source: source.map_or(self.source, |(_, value)| value),
            is_exact: source.is_some(),
            key: source.map_or(self.key, |(key, _)| key.origin.span()),
        }
    }

    fn item(&self, index: usize) -> Self {
        let source = self.source.as_list().filter(|_| self.is_exact);
        let source = source.and_then(|items| items.get(index));
        Self {
            field: self.field.index(index),
            name: format!("{}[{index}]", self.name),
            source: source.unwrap_or(self.source),
            is_exact: source.is_some(),
            key: source.map_or(self.key, Node::span),
            ..self.clone()
        }
    }

    /// The line that sets the value; of a list that is a whole its first new item; of a value that went away
    /// the key around it.
    fn span(&self, old: Option<&Node>, new: Option<&Node>) -> Span {
        if !self.is_exact {
            return self.key.clone();
        }
        let items = |node: Option<&'a Node>| node.and_then(Node::as_list).unwrap_or_default();
        let before: Vec<Json> = old.map_or_else(Vec::new, |old| {
            old.as_list()
                .unwrap_or_default()
                .iter()
                .map(Node::to_json)
                .collect()
        });
        let is_list = new.is_some_and(|new| new.as_list().is_some());
        let items = items(Some(self.source).filter(|_| is_list));
        let first = items.iter().find(|item| !before.contains(&item.to_json()));
        first.unwrap_or(self.source).span().clone()
    }
}

/// The id of a resource embedded in an object of a namespace.
fn embedded_id(item: &Node, namespace: &str) -> ObjectId {
    let text = |names: &[&str]| item.text(names).unwrap_or_default();
    let group = text(&["apiVersion"])
        .split_once('/')
        .map_or("", |(group, _)| group);
    ObjectId::new(
        group,
        text(&["kind"]),
        namespace,
        text(&["metadata", "name"]),
    )
}
