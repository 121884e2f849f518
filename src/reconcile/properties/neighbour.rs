//! Another cluster in the same namespace.
//!
//! In: what is seen of a cluster. Out: the same objects again under other names and uids, which refer to each other. It
//! does not know what the objects are.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::snapshot::Snapshot;

/// What the names and uids of the other cluster begin with.
const OTHER: &str = "other-";

/// Adds the other cluster to what is seen.
pub(super) fn add(seen: &mut Snapshot) {
    let lives = || seen.all();
    let names = lives().flat_map(|live| [live.name(), live.uid()]);
    let names: BTreeSet<String> = names.map(ToOwned::to_owned).collect();
    let others: Vec<Value> = lives().map(|live| renamed(live.0, &names)).collect();
    others.into_iter().for_each(|other| seen.insert(other));
}

fn renamed(value: &Value, names: &BTreeSet<String>) -> Value {
    match value {
        Value::String(text) if names.contains(text) => Value::from(format!("{OTHER}{text}")),
        Value::Array(items) => items.iter().map(|item| renamed(item, names)).collect(),
        Value::Object(fields) => {
            let fields = fields.iter();
            fields
                .map(|(key, value)| (key.clone(), renamed(value, names)))
                .collect()
        }
        other => other.clone(),
    }
}
