//! Reads a list of embedded resources.
//!
//! In: the list, as somebody wrote it. Out: for each item what names it, and what is wrong with it. It does not know which
//! of them exist.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;

use super::entry::UNKNOWN_GROUP;
use crate::api::conditions::{
    DUPLICATE_RESOURCE, INVALID_RESOURCE, NAMESPACE_IGNORED, NO_KIND, NO_NAME,
};
use crate::api::kinds::is_aso;
use crate::health::Live;
use crate::model::ObjectId;

/// One item of a list.
pub(super) struct Item<'a> {
    /// As it is written.
    pub(super) value: Live<'a>,
    /// What names it. An item without a kind or name is named by its place.
    pub(super) id: ObjectId,
    /// What is wrong with it.
    pub(super) fault: Option<Fault>,
}

/// What is wrong with an item.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// Reason of what is reported.
    pub(super) reason: &'static str,
    /// What to change.
    pub(super) message: String,
    /// The item is applied all the same.
    pub(super) is_harmless: bool,
}

impl Item<'_> {
    /// Whether it can be applied.
    pub(super) fn is_usable(&self) -> bool {
        self.fault.as_ref().is_none_or(|fault| fault.is_harmless)
    }

    /// Whether it is known which object it is.
    pub(super) fn is_named(&self) -> bool {
        self.is_usable() || self.reason() == Some(DUPLICATE_RESOURCE)
    }

    fn reason(&self) -> Option<&'static str> {
        self.fault.as_ref().map(|fault| fault.reason)
    }
}

/// The items of the list of `owner`, in its namespace.
pub(super) fn read<'a>(owner: Live<'_>, list: &'a [Value]) -> Vec<Item<'a>> {
    let mut places: BTreeMap<[&str; 3], usize> = BTreeMap::new();
    let item = |(place, value): (usize, &'a Value)| {
        let mut item = one(owner, place, Live(value));
        if item.is_usable() {
            let value = item.value;
            let first = *places
                .entry([value.group(), value.kind(), value.name()])
                .or_insert(place);
            if first < place {
                item.fault = Some(duplicate(place, first));
            }
        }
        item
    };
    list.iter().enumerate().map(item).collect()
}

/// Kind, version and group of the items that can be applied.
pub(super) fn kinds(list: &[Value]) -> impl Iterator<Item = [&str; 3]> {
    let usable = list
        .iter()
        .map(Live)
        .filter(|item| unusable(*item).is_none());
    usable.map(|item| [item.kind(), item.version(), item.group()])
}

fn one<'a>(owner: Live<'_>, place: usize, value: Live<'a>) -> Item<'a> {
    let fault = |message: &str, is_harmless| Fault {
        reason: if is_harmless {
            NAMESPACE_IGNORED
        } else {
            INVALID_RESOURCE
        },
        message: format!("spec.resources[{place}]: {message}"),
        is_harmless,
    };
    let fault = match unusable(value) {
        Some(message) => Some(fault(&message, false)),
        None => elsewhere(owner, value).map(|message| fault(&message, true)),
    };
    let or = |text: &str, default: &dyn Fn() -> String| match text {
        "" => default(),
        text => text.to_owned(),
    };
    let id = ObjectId::new(
        or(value.group(), &|| UNKNOWN_GROUP.to_owned()),
        or(value.kind(), &|| "Unknown".to_owned()),
        owner.namespace(),
        or(value.name(), &|| format!("spec.resources[{place}]")),
    );
    Item { value, id, fault }
}

fn duplicate(place: usize, first: usize) -> Fault {
    Fault {
        reason: DUPLICATE_RESOURCE,
        message: format!(
            "spec.resources[{place}] is the same resource as spec.resources[{first}], which is applied: remove one of them"
        ),
        is_harmless: false,
    }
}

/// Why an item cannot be applied.
fn unusable(value: Live<'_>) -> Option<Cow<'static, str>> {
    let missing = missing(value).map(Cow::Borrowed);
    let kind = value.kind();
    let foreign = || {
        let message = format!(
            "{kind} is not a kind of Azure Service Operator, whose groups end in .azure.com: apply it beside this object"
        );
        (!is_aso(value.group())).then_some(Cow::Owned(message))
    };
    missing.or_else(foreign)
}

/// What is wrong with its namespace.
fn elsewhere(owner: Live<'_>, value: Live<'_>) -> Option<String> {
    let namespace = value.namespace();
    let is_elsewhere = !namespace.is_empty() && namespace != owner.namespace();
    is_elsewhere.then(|| {
        format!(
            "metadata.namespace \"{namespace}\" is ignored, since embedded resources live in the namespace of their owner: remove it"
        )
    })
}

/// What an object must have, in the words of CAPZ's webhook.
fn missing(value: Live<'_>) -> Option<&'static str> {
    if value.0.is_null() {
        return Some("resource cannot be empty");
    }
    let needed = [
        (value.0.is_object(), "resource must be an object"),
        (!value.version().is_empty(), "resource must have apiVersion"),
        (!value.kind().is_empty(), NO_KIND),
        (!value.name().is_empty(), NO_NAME),
    ];
    needed.iter().find(|(has, _)| !has).map(|(_, text)| *text)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::needless_pass_by_value, reason = "cases are written in place")]

    use serde_json::json;

    use super::*;

    fn faults(list: &Value) -> Vec<String> {
        let owner = json!({"metadata": {"namespace": "ns"}});
        let items = read(Live(&owner), list.as_array().map_or(&[], Vec::as_slice));
        let text = |item: &Item<'_>| {
            let fault = item.fault.as_ref();
            fault.map_or_else(|| item.id.to_string(), |fault| fault.message.clone())
        };
        items.iter().map(text).collect()
    }

    fn group(metadata: Value) -> Value {
        json!({"apiVersion": "resources.azure.com/v1", "kind": "ResourceGroup", "metadata": metadata})
    }

    #[test]
    fn a_faulty_item_is_named_by_its_place() {
        let list = json!([
            null,
            "text",
            {"kind": "A", "metadata": {"name": "a"}},
            {"apiVersion": "resources.azure.com/v1", "metadata": {"name": "a"}},
            group(json!({})),
            group(json!({"name": 7})),
            group(json!({"name": "rg"})),
            {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}},
        ]);
        assert_eq!(
            faults(&list),
            [
                "spec.resources[0]: resource cannot be empty",
                "spec.resources[1]: resource must be an object",
                "spec.resources[2]: resource must have apiVersion",
                "spec.resources[3]: resource must have kind",
                "spec.resources[4]: resource must have metadata.name",
                "spec.resources[5]: resource must have metadata.name",
                "ResourceGroup/ns/rg",
                "spec.resources[7]: Secret is not a kind of Azure Service Operator, whose groups end in .azure.com: apply it beside this object",
            ]
        );
    }

    #[test]
    fn the_first_of_two_is_used_and_a_namespace_is_ignored() {
        let list = json!([
            group(json!({"name": "rg", "namespace": "ns"})),
            group(json!({"name": "rg"})),
            group(json!({"name": "other", "namespace": "elsewhere"})),
        ]);
        let owner = json!({"metadata": {"namespace": "ns"}});
        let items = read(Live(&owner), list.as_array().map_or(&[], Vec::as_slice));
        let usable: Vec<bool> = items.iter().map(Item::is_usable).collect();
        assert_eq!(usable, [true, false, true]);
        assert!(items.iter().all(Item::is_named));
        assert_eq!(items[2].id.namespace, "ns");
        assert_eq!(
            faults(&list)[1..],
            [
                "spec.resources[1] is the same resource as spec.resources[0], which is applied: remove one of them",
                "spec.resources[2]: metadata.namespace \"elsewhere\" is ignored, since embedded resources live in the namespace of their owner: remove it",
            ]
        );
    }
}
