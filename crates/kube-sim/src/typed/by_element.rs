//! Items by what names them.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::types::Types;
use kube_schema::Element;

/// The items of a list by what names them. Items that nothing names are left out.
pub(super) fn by_element<'a>(
    types: Types<'_>,
    items: &'a [Value],
) -> BTreeMap<Element, Vec<&'a Value>> {
    let mut by_element: BTreeMap<Element, Vec<&Value>> = BTreeMap::new();
    for item in items {
        if let Ok(element) = types.element(item) {
            by_element.entry(element).or_default().push(item);
        }
    }
    by_element
}
