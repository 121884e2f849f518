//! Which objects of a collection a list, a watch or a collective deletion is about.
//!
//! In: the namespace, the name and the selectors of a request. Out: whether an object is selected. It
//! does not know what is done with those that are.

use serde_json::Value;

use super::address;
use super::labels;
use super::object::Stored;
use super::query::Query;
use super::resources::{METADATA_FIELDS, Resource};
use super::select::{self, Selector};
use super::status::Refusal;

/// The objects that a request is about.
#[derive(Clone, Debug)]
pub(super) struct Scope {
    /// What keys must start with.
    pub(super) prefix: String,
    labels: Selector,
    fields: Selector,
}

impl Scope {
    /// Reads the selectors.
    ///
    /// # Errors
    /// 400 for selectors that cannot be read or ask for fields that cannot be selected by.
    pub(super) fn read(
        resource: &Resource,
        namespace: Option<&str>,
        query: &Query,
    ) -> Result<Self, Refusal> {
        let labels = labels::read(query.text("labelSelector")).map_err(Refusal::bad_request)?;
        let fields = select::fields(query.text("fieldSelector")).map_err(Refusal::bad_request)?;
        check_fields(resource, &fields)?;
        Ok(Self {
            prefix: namespace.map_or_else(String::new, |namespace| format!("{namespace}/")),
            labels,
            fields: fields.renamed(|field| resource.stored_field(field)),
        })
    }

    /// Whether it has no selectors.
    pub(super) fn is_plain(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// The only key that can be selected, if there is just one.
    pub(super) fn only_key(&self, resource: &Resource) -> Option<String> {
        let name = self.fields.exact("metadata.name")?;
        (!self.prefix.is_empty() || !resource.namespaced).then(|| format!("{}{name}", self.prefix))
    }

    /// Whether the object under a key is selected.
    pub(super) fn has(&self, key: &str, object: &Stored) -> bool {
        key.starts_with(&self.prefix)
            && self.labels.matches(|label| object.label(label))
            && (self.fields.is_empty() || self.has_fields(key, object))
    }

    fn has_fields(&self, key: &str, object: &Stored) -> bool {
        let metadata_only = self
            .fields
            .keys()
            .all(|field| field.starts_with("metadata."));
        let content = match metadata_only {
            true => Value::Null,
            false => object.stored_value(),
        };
        let others: Vec<(String, String)> = self
            .fields
            .keys()
            .map(|field| (field.to_owned(), shown(&content, field)))
            .collect();
        self.fields.matches(|field| match field {
            "metadata.name" => Some(address::name(key)),
            "metadata.namespace" => Some(key.split_once('/').map_or("", |(space, _)| space)),
            other => {
                let value = others.iter().find(|(name, _)| name == other);
                value.map(|(_, value)| value.as_str())
            }
        })
    }
}

fn check_fields(resource: &Resource, fields: &Selector) -> Result<(), Refusal> {
    let known = resource.selectable();
    let unknown = fields.keys().find(|field| !known.contains(field));
    let Some(field) = unknown else {
        return Ok(());
    };
    let special = resource.custom().is_some() || known != METADATA_FIELDS;
    Err(Refusal::bad_request(match special {
        true if resource.is("batch", "jobs") => {
            format!("field label {field:?} not supported for Job")
        }
        true => format!("field label not supported: {field}"),
        false => format!(
            "{field:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
        ),
    }))
}

/// The value at a path as selectors see it: a missing one is empty.
fn shown(object: &Value, path: &str) -> String {
    let value = path
        .split('.')
        .try_fold(object, |value, key| value.get(key));
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}
