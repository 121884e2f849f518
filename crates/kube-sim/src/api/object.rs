//! One stored object, kept as text so that it is written out without being built again.
//!
//! In: an object as a value. Out: its text, the few fields the store looks at, and its rendering
//! in any of the forms a client may ask for; also the value, which is kept for a while, since what was written is often
//! written again soon. It does not know where it is kept.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use bytes::Bytes;
use serde::Serialize;
use serde_json::{Map, Value};

use super::metadata;
use super::resources::Resource;
use kube_schema::Managed;

/// An owner reference, as far as garbage collection reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Owner {
    pub(super) group: Box<str>,
    pub(super) kind: Box<str>,
    pub(super) name: Box<str>,
    pub(super) uid: Box<str>,
    /// `blockOwnerDeletion`.
    pub(super) blocks: bool,
}

/// An object at one resource version.
#[derive(Clone, Debug)]
pub(super) struct Stored {
    /// The write that made this version.
    pub(super) version: u64,
    /// What does not change with the version alone.
    content: Arc<Content>,
}

#[derive(Debug)]
struct Content {
    uid: Box<str>,
    labels: Box<[(Box<str>, Box<str>)]>,
    owners: Box<[Owner]>,
    deleting: bool,
    /// The edition of its definition that the object was written under.
    edition: u32,
    /// `"name":…}` and after it `,"spec":…}`: the object without its type, the opening of its
    /// metadata and its resource version, so that no two versions of an API and no two resource
    /// versions need texts of their own.
    text: Bytes,
    /// Where the metadata ends.
    split: usize,
    parsed: Mutex<Option<Arc<Parsed>>>,
}

/// An object as writes look at it.
#[derive(Debug)]
pub(super) struct Parsed {
    /// The object with its type and resource version, without `managedFields`.
    pub(super) object: Value,
    /// The entries of `managedFields`.
    pub(super) managers: Vec<Managed>,
    version: u64,
}

impl Parsed {
    fn of(mut object: Value, version: u64) -> Self {
        let managers = Managed::read(&object).unwrap_or_default();
        metadata::take_managers(&mut object);
        Self {
            object,
            managers,
            version,
        }
    }

    /// The object with `managedFields`.
    pub(super) fn whole(&self) -> Value {
        let mut whole = self.object.clone();
        Managed::write(&self.managers, &mut whole);
        whole
    }
}

/// A stored object that still has its value.
#[derive(Debug)]
pub(super) struct Fresh(Weak<Content>);

impl Fresh {
    /// Keeps the text alone.
    pub(super) fn forget(&self) {
        if let Some(content) = self.0.upgrade() {
            *content.parsed() = None;
        }
    }
}

impl Content {
    fn parsed(&self) -> MutexGuard<'_, Option<Arc<Parsed>>> {
        self.parsed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The form in which a client wants objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// As they are.
    Whole,
    /// `PartialObjectMetadata`, for one object or for events of a watch.
    Metadata,
    /// `PartialObjectMetadataList`, for lists.
    MetadataList,
    /// `Table`, for what is read; elsewhere as [`Self::Whole`].
    Table,
}

impl Form {
    /// Whether it shows the metadata alone.
    pub(super) const fn is_metadata(self) -> bool {
        matches!(self, Self::Metadata | Self::MetadataList)
    }
}

impl Stored {
    /// Wraps an object; its resource version becomes `version`.
    pub(super) fn new(object: &Value, version: u64, edition: u32) -> Self {
        let content = Content::of(object, &[], edition);
        Self {
            version,
            content: Arc::new(content),
        }
    }

    /// The same of an object without `managedFields`; the value is kept.
    pub(super) fn managed(
        mut object: Value,
        mut managers: Vec<Managed>,
        version: u64,
        edition: u32,
    ) -> Self {
        Managed::sort(&mut managers);
        let content = Content::of(&object, &managers, edition);
        let resource_version = Value::from(version.to_string());
        metadata::of(&mut object).insert("resourceVersion".into(), resource_version);
        *content.parsed() = Some(Arc::new(Parsed {
            object,
            managers,
            version,
        }));
        Self {
            version,
            content: Arc::new(content),
        }
    }

    /// The object as writes look at it, as it is stored and without a type.
    pub(super) fn parsed_as_stored(&self) -> Parsed {
        Parsed::of(self.stored_value(), self.version)
    }

    /// A handle to take its value away with.
    pub(super) fn fresh(&self) -> Fresh {
        Fresh(Arc::downgrade(&self.content))
    }

    /// The object as writes to `resource` look at it.
    pub(super) fn parsed(&self, resource: &Resource) -> Arc<Parsed> {
        let kept = self.content.parsed().clone();
        let is_as_served = |kept: &Arc<Parsed>| {
            resource.stores_as_it_serves(self.content.edition)
                && kept.version == self.version
                && kept.object["apiVersion"] == resource.api_version()
                && kept.object["kind"] == *resource.kind
        };
        kept.filter(is_as_served)
            .unwrap_or_else(|| Arc::new(Parsed::of(self.value(resource), self.version)))
    }

    /// Another content under the edition of this one.
    pub(super) fn changed(&self, object: &Value, version: u64) -> Self {
        Self::new(object, version, self.content.edition)
    }

    /// The same object under another resource version, as its deletion shows it.
    pub(super) fn at(&self, version: u64) -> Self {
        Self {
            version,
            content: self.content.clone(),
        }
    }

    /// Its uid.
    pub(super) fn uid(&self) -> &str {
        &self.content.uid
    }

    /// The value of one label.
    pub(super) fn label(&self, key: &str) -> Option<&str> {
        let at = self
            .content
            .labels
            .binary_search_by(|(name, _)| (**name).cmp(key))
            .ok()?;
        Some(&self.content.labels[at].1)
    }

    /// Its owner references.
    pub(super) fn owners(&self) -> &[Owner] {
        &self.content.owners
    }

    /// Whether its deletion has been asked for.
    pub(super) fn is_deleting(&self) -> bool {
        self.content.deleting
    }

    /// Whether both have the same content, apart from their resource versions.
    pub(super) fn has_same_content_as(&self, other: &Self) -> bool {
        self.content.text == other.content.text
    }

    /// How many bytes it takes.
    pub(super) fn size(&self) -> usize {
        self.content.text.len()
    }

    /// The object as a value, of the type of `resource`.
    pub(super) fn value(&self, resource: &Resource) -> Value {
        let mut text = Vec::with_capacity(self.size() + 128);
        self.write(&resource.prefix, Form::Whole, &mut text);
        let stored: Value = serde_json::from_slice(&text).expect("we wrote this text");
        resource.present(stored, self.content.edition)
    }

    /// The object as it is stored, without a type.
    pub(super) fn stored_value(&self) -> Value {
        let mut text = Vec::with_capacity(self.size() + 64);
        self.write("", Form::Whole, &mut text);
        serde_json::from_slice(&text).expect("we wrote this text")
    }

    /// Writes the object as the JSON of `resource` in `form`.
    pub(super) fn render(&self, resource: &Resource, form: Form, out: &mut Vec<u8>) {
        if form.is_metadata() {
            return self.write(METADATA_PREFIX, form, out);
        }
        if resource.stores_as_it_serves(self.content.edition) {
            return self.write(&resource.prefix, form, out);
        }
        out.extend_from_slice(self.value(resource).to_string().as_bytes());
    }

    /// As [`Self::render`], for an item of a list: those of built-in resources do not name their
    /// type again.
    pub(super) fn render_item(&self, resource: &Resource, form: Form, out: &mut Vec<u8>) {
        match form {
            form if form.is_metadata() || !resource.is_builtin() => {
                self.render(resource, form, out);
            }
            form if resource.stores_as_it_serves(0) => self.write("", form, out),
            _ => {
                let item = resource.present(self.stored_value(), self.content.edition);
                out.extend_from_slice(item.to_string().as_bytes());
            }
        }
    }

    fn write(&self, prefix: &str, form: Form, out: &mut Vec<u8>) {
        let Content { text, split, .. } = &*self.content;
        out.push(b'{');
        out.extend_from_slice(prefix.as_bytes());
        out.extend_from_slice(b"\"metadata\":{");
        // An object that was never stored, as a dry run makes it, has no version.
        if self.version > 0 {
            let version = format!("\"resourceVersion\":\"{}\",", self.version);
            out.extend_from_slice(version.as_bytes());
        }
        match form {
            Form::Whole | Form::Table => out.extend_from_slice(text),
            Form::Metadata | Form::MetadataList => {
                out.extend_from_slice(&text[..*split]);
                out.push(b'}');
            }
        }
    }
}

impl Content {
    /// What is kept of an object, with the `managedFields` that it has or with these.
    fn of(object: &Value, managers: &[Managed], edition: u32) -> Self {
        let metadata = &object["metadata"];
        let (text, split) = text(object, managers);
        Self {
            uid: metadata["uid"].as_str().unwrap_or_default().into(),
            labels: labels(metadata),
            owners: owners(metadata),
            deleting: metadata["deletionTimestamp"].is_string(),
            edition,
            text,
            split,
            parsed: Mutex::default(),
        }
    }
}

const METADATA_PREFIX: &str = r#""apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadata","#;

fn labels(metadata: &Value) -> Box<[(Box<str>, Box<str>)]> {
    let Some(labels) = metadata["labels"].as_object() else {
        return Box::default();
    };
    // A `Map` iterates in the order of its keys, which the binary search counts on.
    let pair =
        |(key, value): (&String, &Value)| Some((key.as_str().into(), value.as_str()?.into()));
    labels.iter().filter_map(pair).collect()
}

fn owners(metadata: &Value) -> Box<[Owner]> {
    let list = metadata["ownerReferences"].as_array();
    let text =
        |reference: &Value, key: &str| reference[key].as_str().unwrap_or_default().to_owned();
    let read = |reference: &Value| {
        let version = text(reference, "apiVersion");
        let group = version.split_once('/').map_or("", |(group, _)| group);
        Owner {
            group: group.into(),
            kind: text(reference, "kind").into(),
            name: text(reference, "name").into(),
            uid: text(reference, "uid").into(),
            blocks: reference["blockOwnerDeletion"] == true,
        }
    };
    list.into_iter().flatten().map(read).collect()
}

/// The text of an object as [`Content::text`] holds it, and where its metadata ends.
fn text(object: &Value, managers: &[Managed]) -> (Bytes, usize) {
    const MANAGERS: &str = "managedFields";
    let empty = Map::new();
    let object = object.as_object().unwrap_or(&empty);
    let metadata = object.get("metadata").and_then(Value::as_object);
    let metadata = metadata.unwrap_or(&empty).iter();
    let own = metadata.filter(|(key, _)| *key != "resourceVersion");
    let (before, after): (Vec<_>, Vec<_>) = own.partition(|(key, _)| key.as_str() < MANAGERS);
    let mut text = Vec::new();
    let mut entry = Entries::new("", &mut text);
    before
        .iter()
        .for_each(|(key, value)| entry.write(key, value));
    if !managers.is_empty() {
        entry.write(MANAGERS, &managers);
    }
    after
        .iter()
        .for_each(|(key, value)| entry.write(key, value));
    text.push(b'}');
    let split = text.len();
    let fields = object.iter();
    let fields =
        fields.filter(|(key, _)| !["apiVersion", "kind", "metadata"].contains(&key.as_str()));
    let mut entry = Entries::new(",", &mut text);
    fields.for_each(|(key, value)| entry.write(key, value));
    text.push(b'}');
    text.shrink_to_fit();
    (text.into(), split)
}

/// Entries of a map in the making.
struct Entries<'a> {
    separator: &'static str,
    text: &'a mut Vec<u8>,
}

impl<'a> Entries<'a> {
    /// With `opening` before the first.
    const fn new(opening: &'static str, text: &'a mut Vec<u8>) -> Self {
        Self {
            separator: opening,
            text,
        }
    }

    fn write(&mut self, key: &str, value: &impl Serialize) {
        self.text.extend_from_slice(self.separator.as_bytes());
        self.separator = ",";
        let text = &mut *self.text;
        let written = serde_json::to_writer(&mut *text, key).and_then(|()| {
            text.push(b':');
            serde_json::to_writer(&mut *text, value)
        });
        written.expect("values with string keys go into memory");
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;
    use crate::api::resources::Registry;
    use kube_schema::{Element, FieldPath, Operation};

    fn config_map() -> Arc<Resource> {
        Registry::new().find("", "v1", "configmaps").unwrap()
    }

    fn object() -> Value {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap", "data": {"k": "v\"\n"},
            "metadata": {"name": "a", "namespace": "b", "uid": "u", "resourceVersion": "9",
                "labels": {"x": "1", "a": "2"}},
        })
    }

    fn rendered(stored: &Stored, form: Form) -> Value {
        let mut out = Vec::new();
        stored.render(&config_map(), form, &mut out);
        serde_json::from_slice(&out).unwrap()
    }

    #[test]
    fn what_is_stored_comes_back_with_its_version() {
        let stored = Stored::new(&object(), 12, 0);
        let mut expected = object();
        expected["metadata"]["resourceVersion"] = json!("12");
        assert_eq!(rendered(&stored, Form::Whole), expected);
        assert_eq!(stored.value(&config_map()), expected);
        assert_eq!(stored.label("x"), Some("1"));
        assert_eq!(stored.label("y"), None);
        assert!(stored.has_same_content_as(&stored.at(13)));
    }

    #[test]
    fn the_value_that_is_kept_is_what_the_text_says() {
        let managers =
            [(Operation::Apply, "2"), (Operation::Apply, "1")].map(|(operation, time)| {
                let path = FieldPath(vec![Element::field("data"), Element::field(time)]);
                Managed {
                    manager: format!("m{time}"),
                    operation,
                    api_version: "v1".into(),
                    subresource: String::new(),
                    fields: [path].into_iter().collect(),
                    time: format!("2026-01-01T00:00:0{time}Z"),
                }
            });
        let stored = Stored::managed(object(), managers.to_vec(), 12, 0);
        let kept = stored.parsed(&config_map());
        stored.fresh().forget();
        let read = stored.parsed(&config_map());
        assert!(!Arc::ptr_eq(&kept, &read));
        assert_eq!(kept.object, read.object);
        assert_eq!(kept.managers, read.managers);
        assert_eq!(kept.whole(), rendered(&stored, Form::Whole));
        let later = stored.at(13).parsed(&config_map());
        assert_eq!(later.object["metadata"]["resourceVersion"], "13");
    }

    #[test]
    fn metadata_alone_has_its_own_type() {
        let partial = rendered(&Stored::new(&object(), 12, 0), Form::Metadata);
        assert_eq!(partial["kind"], "PartialObjectMetadata");
        assert_eq!(partial["metadata"]["labels"]["a"], "2");
        assert_eq!(partial.as_object().unwrap().len(), 3);
    }

    #[test]
    fn an_object_that_is_metadata_only_is_whole() {
        let bare = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
        let shown = rendered(&Stored::new(&bare, 1, 0), Form::Whole);
        assert_eq!(shown["metadata"]["name"], "a");
        assert_eq!(shown.as_object().unwrap().len(), 3);
    }
}
