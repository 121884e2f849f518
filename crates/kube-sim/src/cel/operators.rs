//! Binary operators.
//!
//! In: the operator's name in the syntax tree and two values. Out: a value or an error. The logical
//! operators are in `eval`, because they do not need both sides.

use std::cmp::Ordering;

use kube_cel::cel::Value;
use kube_cel::cel::common::ast::operators as op;
use serde_json::Value as Json;

use super::error::Error;
use super::value::{Outcome, Val, is_among};
use kube_schema::ListKind;

/// Whether a name in the syntax tree is that of a binary operator.
pub(super) fn is_binary(name: &str) -> bool {
    name == op::IN || (name.starts_with('_') && !name.contains(char::is_alphanumeric))
}

/// The value of `a operator b`.
pub(super) fn binary<'a>(operator: &str, a: &Val<'a>, b: &Val<'a>) -> Outcome<'a> {
    let ordered = |wanted: fn(Ordering) -> bool| {
        let order = compare(&a.plain()?, &b.plain()?)?;
        Ok(order.is_some_and(wanted).into())
    };
    let arithmetic = |work: fn(Value, Value) -> Result<Value, kube_cel::cel::ExecutionError>| {
        Ok(Val::Plain(work(a.plain()?, b.plain()?)?))
    };
    match operator {
        op::EQUALS => a.equals(b).map(Into::into),
        op::NOT_EQUALS => a.equals(b).map(|same| (!same).into()),
        op::LESS => ordered(Ordering::is_lt),
        op::LESS_EQUALS => ordered(Ordering::is_le),
        op::GREATER => ordered(Ordering::is_gt),
        op::GREATER_EQUALS => ordered(Ordering::is_ge),
        op::IN => contains(b, a).map(Into::into),
        op::ADD => joined(a, b).unwrap_or_else(|| arithmetic(|a, b| a + b)),
        op::SUBSTRACT => arithmetic(|a, b| a - b),
        op::MULTIPLY => arithmetic(|a, b| a * b),
        op::DIVIDE => arithmetic(|a, b| a / b),
        op::MODULO => arithmetic(|a, b| a % b),
        _ => Err(Error::NoOverload),
    }
}

/// The order of two values; `None` when one of them is NaN.
fn compare(a: &Value, b: &Value) -> Result<Option<Ordering>, Error> {
    use Value::{Bool, Bytes, Duration, Float, Int, String, Timestamp, UInt};
    match (a, b) {
        (Int(_) | UInt(_) | Float(_), Int(_) | UInt(_) | Float(_))
        | (String(_), String(_))
        | (Bool(_), Bool(_))
        | (Duration(_), Duration(_))
        | (Timestamp(_), Timestamp(_)) => Ok(a.partial_cmp(b)),
        (Bytes(a), Bytes(b)) => Ok(Some(a.cmp(b))),
        _ => Err(Error::NoOverload),
    }
}

/// Whether `list` contains the item, or the key if it is a map.
fn contains(list: &Val<'_>, item: &Val<'_>) -> Result<bool, Error> {
    match (list, item) {
        (
            Val::Part(Json::Object(_), _) | Val::Plain(Value::Map(_)),
            Val::Plain(Value::String(key)),
        ) => Ok(list.find(key)?.is_some()),
        _ => {
            let items: Vec<Val<'_>> = list.items()?.into_iter().collect::<Result<_, _>>()?;
            is_among(item, &items)
        }
    }
}

/// `a + b` for lists of type `set` and `map`: items that `a` does not have are appended, and in a list
/// of type `map` items of `b` replace those with the same keys. `None` for other values.
fn joined<'a>(a: &Val<'a>, b: &Val<'a>) -> Option<Outcome<'a>> {
    let Val::Part(Json::Array(_), place) = a else {
        return None;
    };
    let kind = &place.schema.list;
    if *kind == ListKind::Atomic {
        return None;
    }
    let merged = || -> Outcome<'a> {
        let (Value::List(mut items), Value::List(more)) = (a.plain()?, b.plain()?) else {
            return Err(Error::NoOverload);
        };
        let items_mut = std::sync::Arc::make_mut(&mut items);
        for item in more.iter() {
            match items_mut
                .iter_mut()
                .find(|known| is_same_item(kind, known, item))
            {
                Some(known) => *known = item.clone(),
                None => items_mut.push(item.clone()),
            }
        }
        Ok(Val::Plain(Value::List(items)))
    };
    Some(merged())
}

/// Whether a list of that type can contain only one of both.
fn is_same_item(kind: &ListKind, a: &Value, b: &Value) -> bool {
    match kind {
        ListKind::Atomic | ListKind::Set => a == b,
        ListKind::Map(names) => names.iter().all(|name| key(a, name) == key(b, name)),
    }
}

fn key<'a>(item: &'a Value, name: &str) -> Option<&'a Value> {
    let written = super::names::escape(name)?;
    match item {
        Value::Map(map) => map.get(&kube_cel::cel::objects::Key::from(&*written)),
        _ => None,
    }
}
