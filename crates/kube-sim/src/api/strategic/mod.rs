//! Kubernetes' strategic merge patch on objects of built-in kinds.
//!
//! In: an object and a patch. Out: the patched object, or why it cannot be patched. Maps merge deeply,
//! null deletes, and lists of known fields merge by key; directives (`$patch`, `$retainKeys`,
//! `$deleteFromPrimitiveList/…`, `$setElementOrder/…`) say otherwise.
//!
//! It answers as k8s.io/apimachinery `util/strategicpatch` does, down to where new items are put (before
//! those that the patch does not name) and what is refused. That is not how patches of overlays go,
//! which keep every item where it is: `schema::strategic` is theirs.

mod lists;

use serde_json::{Map, Value, json};

use super::status::Refusal;
use kube_schema::wording::printed;
use lists::Lists;

type Fields = Map<String, Value>;

const PATCH: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const DELETE_FROM: &str = "$deleteFromPrimitiveList/";
const ORDER: &str = "$setElementOrder/";

/// Merges `patch`, a map or null, into `object`.
///
/// # Errors
/// 400 or 500 for a patch that cannot be followed, as the API server has it.
pub(super) fn merge(object: &mut Value, patch: Value) -> Result<(), Refusal> {
    let lists = Lists::of(object);
    if let (Value::Object(fields), Value::Object(patch)) = (object, patch) {
        *fields = map(std::mem::take(fields), patch, lists)?;
    }
    Ok(())
}

/// The fields of the map that has `lists`, patched.
fn map(mut fields: Fields, mut patch: Fields, lists: Lists) -> Result<Fields, Refusal> {
    match patch.remove(PATCH) {
        None => {}
        Some(directive) if directive == "replace" => return Ok(patch),
        Some(directive) if directive == "delete" => return Ok(Fields::new()),
        Some(directive) => {
            patch.insert(PATCH.into(), directive.clone());
            return Err(unknown(&directive, &patch));
        }
    }
    retain_keys(&mut fields, &mut patch)?;
    order_lists(&mut fields, &mut patch, lists)?;
    for (key, change) in patch {
        let (key, takes_out) = match key.strip_prefix(DELETE_FROM) {
            Some(list) => (list.to_owned(), true),
            None => (key, false),
        };
        let new = match (fields.remove(&key), change) {
            (_, Value::Null) => None,
            (Some(Value::Object(old)), Value::Object(new)) => {
                Some(Value::Object(map(old, new, lists.below(&key))?))
            }
            (Some(Value::Array(old)), Value::Array(new)) if takes_out => {
                let left = old.into_iter().filter(|item| !new.contains(item));
                Some(left.collect())
            }
            (Some(Value::Array(old)), Value::Array(new)) => {
                Some(Value::Array(list(old, new, &key, lists)?))
            }
            (old, _) if takes_out => old,
            (_, new) => fresh(new),
        };
        if let Some(new) = new {
            fields.insert(key, new);
        }
    }
    Ok(fields)
}

/// A value where there was none: without nulls, and without what a directive is about.
fn fresh(value: Value) -> Option<Value> {
    Some(match value {
        Value::Object(fields) if fields.contains_key(PATCH) => return None,
        Value::Object(fields) => {
            let kept = fields.into_iter().filter(|(_, value)| !value.is_null());
            let kept = kept.filter_map(|(key, value)| Some((key, fresh(value)?)));
            Value::Object(kept.collect())
        }
        Value::Array(items) => items.into_iter().filter_map(fresh).collect(),
        scalar => scalar,
    })
}

/// Leaves only what `$retainKeys` names.
fn retain_keys(fields: &mut Fields, patch: &mut Fields) -> Result<(), Refusal> {
    let Some(names) = patch.remove(RETAIN_KEYS) else {
        return Ok(());
    };
    let bad = || Refusal::bad_request("invalid patch format of retainKeys");
    let names = names.as_array().ok_or_else(bad)?;
    let named = |key: &str| names.iter().any(|name| name == key);
    let is_change = |(key, value): &(&String, &Value)| {
        !value.is_null() && !key.starts_with(DELETE_FROM) && !key.starts_with(ORDER)
    };
    if patch.iter().filter(is_change).any(|(key, _)| !named(key)) {
        return Err(bad());
    }
    fields.retain(|key, _| named(key));
    Ok(())
}

/// Merges the lists that `$setElementOrder` is about, and puts them in order.
fn order_lists(fields: &mut Fields, patch: &mut Fields, lists: Lists) -> Result<(), Refusal> {
    let directives = patch.keys().filter_map(|key| key.strip_prefix(ORDER));
    let names: Vec<String> = directives.map(ToOwned::to_owned).collect();
    for name in names {
        let order = items(patch.remove(&format!("{ORDER}{name}")).unwrap_or_default())?;
        let old = fields.remove(&name).map(items).transpose()?;
        let changes = patch.remove(&name).map(items).transpose()?;
        let key = lists.key(&name);
        check_order(changes.as_deref().unwrap_or_default(), &order, key)?;
        let before = old.clone().unwrap_or_default();
        let merged = match (old, changes) {
            (None, None) => continue,
            (Some(old), None) => old,
            (None, Some(new)) => new.into_iter().filter_map(fresh).collect(),
            (Some(old), Some(new)) => list(old, new, &name, lists)?,
        };
        let ordered = in_order(merged, &order, &before, key)?;
        fields.insert(name, Value::Array(ordered));
    }
    Ok(())
}

fn items(value: Value) -> Result<Vec<Value>, Refusal> {
    let received = match value {
        Value::Array(items) => return Ok(items),
        Value::Object(_) => "map[string]interface {}",
        Value::String(_) => "string",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::Null => "%!s(<nil>)",
    };
    Err(Refusal::internal(format!(
        "expected a []interface {{}}, but received a {received}"
    )))
}

/// The changes have to come in the order that is asked for.
fn check_order(changes: &[Value], order: &[Value], key: Option<&str>) -> Result<(), Refusal> {
    if changes.is_empty() || order.is_empty() {
        return Ok(());
    }
    let is_gone = |change: &Value| key.is_some() && change.get(PATCH) == Some(&json!("delete"));
    let kept: Vec<&Value> = changes.iter().filter(|change| !is_gone(change)).collect();
    let (mut at, mut next) = (0, 0);
    while at < kept.len() && next < order.len() {
        // Behind the last item that the order names, directives are out of order, too.
        if kept[at].get(PATCH).is_some() {
            at += 1;
            continue;
        }
        if identity(kept[at], key)? == identity(&order[next], key)? {
            at += 1;
        }
        next += 1;
    }
    if at == kept.len() {
        return Ok(());
    }
    let shown = |items: &[Value]| printed(&Value::Array(items.to_vec()));
    Err(Refusal::internal(format!(
        "The order in patch list:\n{}\n doesn't match $setElementOrder list:\n{}\n",
        shown(changes),
        shown(order)
    )))
}

/// The list under `name` of the map that has `lists`, patched.
fn list(
    old: Vec<Value>,
    patch: Vec<Value>,
    name: &str,
    lists: Lists,
) -> Result<Vec<Value>, Refusal> {
    if !lists.merges(name) {
        return Ok(patch);
    }
    if old.is_empty() && patch.is_empty() {
        return Ok(old);
    }
    check_alike(&old, &patch)?;
    let Some(key) = lists.key(name) else {
        let mut merged = Vec::with_capacity(old.len() + patch.len());
        for item in old.iter().chain(&patch) {
            if !merged.contains(item) {
                merged.push(item.clone());
            }
        }
        return in_order(merged, &patch, &old, None);
    };
    let (old, patch) = follow(old, patch, key)?;
    let mut merged = old.clone();
    for change in &patch {
        let wanted = identity(change, Some(key))?;
        let found = merged.iter_mut().find(|item| item.get(key) == Some(wanted));
        match (found, change) {
            (Some(Value::Object(fields)), Value::Object(change)) => {
                *fields = map(std::mem::take(fields), change.clone(), lists.below(name))?;
            }
            _ => merged.push(change.clone()),
        }
    }
    in_order(merged, &patch, &old, Some(key))
}

/// All items are maps, or all are scalars of one type.
fn check_alike(old: &[Value], patch: &[Value]) -> Result<(), Refusal> {
    let mut all = old.iter().chain(patch);
    let Some(first) = all.next() else {
        return Ok(());
    };
    if first.is_array() {
        return Err(Refusal::unprocessable());
    }
    match all.all(|item| std::mem::discriminant(item) == std::mem::discriminant(first)) {
        true => Ok(()),
        false => Err(Refusal::internal(format!(
            "list element types are not identical: [{} {}]",
            printed(&json!(old)),
            printed(&json!(patch))
        ))),
    }
}

/// Carries out the directives among the items of a patch. Gives what is left of both lists.
fn follow(
    mut old: Vec<Value>,
    patch: Vec<Value>,
    key: &str,
) -> Result<(Vec<Value>, Vec<Value>), Refusal> {
    let mut replaces = false;
    let mut changes = Vec::with_capacity(patch.len());
    for item in patch {
        match item.get(PATCH) {
            None => changes.push(item),
            Some(directive) if directive == "delete" => {
                let gone = identity(&item, Some(key))?;
                old.retain(|item| item.get(key) != Some(gone));
            }
            Some(directive) if directive == "replace" => replaces = true,
            Some(directive) if directive == "merge" => {
                let why = "merging lists cannot yet be specified in the patch";
                return Err(Refusal::internal(why));
            }
            Some(directive) => {
                let fields = item.as_object().cloned().unwrap_or_default();
                return Err(unknown(directive, &fields));
            }
        }
    }
    Ok(match replaces {
        true => (changes, Vec::new()),
        false => (old, changes),
    })
}

/// What identifies an item of a list.
fn identity<'a>(item: &'a Value, key: Option<&str>) -> Result<&'a Value, Refusal> {
    let Some(key) = key else {
        return Ok(item);
    };
    item.get(key).ok_or_else(|| {
        let shown = printed(item);
        let why = format!("map: {shown} does not contain declared merge key: {key}");
        Refusal::internal(why)
    })
}

fn unknown(directive: &Value, patch: &Fields) -> Refusal {
    let (directive, patch) = (printed(directive), printed(&json!(patch)));
    Refusal::internal(format!("unknown patch type: {directive} in map: {patch}"))
}

/// `merged` with the items that `order` names in its order, and each of the others before the first of
/// these that came after it in `before`.
fn in_order(
    merged: Vec<Value>,
    order: &[Value],
    before: &[Value],
    key: Option<&str>,
) -> Result<Vec<Value>, Refusal> {
    let (mut named, mut others) = (Vec::new(), Vec::new());
    for item in merged {
        let place = rank(before, &item, key)?;
        match rank(order, &item, key)? {
            Some(rank) => named.push((Some(rank), place, item)),
            None => others.push((place, place, item)),
        }
    }
    sort(&mut named);
    sort(&mut others);
    let mut others = others.into_iter().peekable();
    let mut all = Vec::new();
    for (_, place, item) in named {
        let comes_before = |(_, other, _): &Ranked| {
            other.is_some_and(|other| place.is_some_and(|place| other < place))
        };
        while let Some((.., other)) = others.next_if(comes_before) {
            all.push(other);
        }
        all.push(item);
    }
    all.extend(others.map(|(.., item)| item));
    Ok(all)
}

/// An item, its place in the order that it is to have, and its place among the items before.
type Ranked = (Option<usize>, Option<usize>, Value);

/// Where in `list` the item is.
fn rank(list: &[Value], item: &Value, key: Option<&str>) -> Result<Option<usize>, Refusal> {
    let wanted = identity(item, key)?;
    for (at, other) in list.iter().enumerate() {
        if identity(other, key)? == wanted {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

/// Sorts by insertion, as a real server does, for whom an item without a place comes before any other
/// and any other before it: so such items end up reversed, and twice reversed where it sorts twice.
fn sort(items: &mut [Ranked]) {
    let comes_first = |a: &Ranked, b: &Ranked| a.0.is_none_or(|a| b.0.is_none_or(|b| a < b));
    for end in 1..items.len() {
        let mut at = end;
        while at > 0 && comes_first(&items[at], &items[at - 1]) {
            items.swap(at, at - 1);
            at -= 1;
        }
    }
}

#[cfg(test)]
mod tests;
