//! Checks of names and numbers that several rules share, with their messages.

use std::ops::RangeInclusive;

use kube_schema::nearest;

use super::arm::Field;
use crate::model::{Finding, is_dns_subdomain, message};

/// Why `key` is not a valid key of a label or taint.
pub(crate) fn of_label_key(key: &str) -> Option<&'static str> {
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    if name.is_empty() || !is_label_text(name) {
        return Some(
            "the name must have 1 to 63 letters, digits, `-`, `_` or `.`, and start and end with a letter or digit",
        );
    }
    let domain = prefix.is_none_or(is_dns_subdomain);
    (!domain).then_some("the prefix before `/` must be a lower-case DNS name")
}

/// Why `value` is not a valid value of a label or taint.
pub(super) fn of_label_value(value: &str) -> Option<&'static str> {
    (!is_label_text(value)).then_some(
        "it must have at most 63 letters, digits, `-`, `_` or `.`, and start and end with a letter or digit",
    )
}

/// The empty text is valid, too.
fn is_label_text(text: &str) -> bool {
    let ends = |c: char| c.is_ascii_alphanumeric();
    let sound = text
        .chars()
        .all(|c| ends(c) || matches!(c, '-' | '_' | '.'));
    text.is_empty() || (text.len() <= 63 && sound && text.starts_with(ends) && text.ends_with(ends))
}

/// Whether two texts name one region: Azure reads `UK South` as `uksouth`.
pub(super) fn same_location(one: &str, other: &str) -> bool {
    let read = |text: &str| text.replace(' ', "").to_lowercase();
    read(one) == read(other)
}

/// What to add to a message about the first of several resources, if there are `others`.
pub(super) fn and_others(others: usize) -> String {
    match others {
        0 => String::new(),
        1 => " (here and in 1 more resource)".to_owned(),
        others => format!(" (here and in {others} more resources)"),
    }
}

/// A finding if `field` holds a number outside of `range`; `why` explains the range.
pub(super) fn out_of(
    field: &Field<'_>,
    id: &'static str,
    range: RangeInclusive<i64>,
    why: &str,
) -> Option<Finding> {
    let number = field.number().filter(|number| !range.contains(number))?;
    let bound = match number < *range.start() {
        true => format!("less than {}", range.start()),
        false => format!("more than {}", range.end()),
    };
    let message = message!(
        "{field} {number} is {bound}{why}",
        field = field.name(),
        number
    );
    let help = match range.into_inner() {
        (least, i64::MAX) => format!("write {least} or more"),
        (least, most) => format!("write a number from {least} to {most}"),
    };
    Some(field.finding(id, message).help(help))
}

/// A finding if `field` holds a text that is not one of `known`. The schema reports anything but a text.
pub(super) fn one_of(field: &Field<'_>, id: &'static str, known: &[&str]) -> Option<Finding> {
    let text = field.text().filter(|text| !known.contains(text))?;
    let message = message!(
        "{name} must be {known}, not {text:?}",
        name = field.name(),
        known = alternatives(known),
        text
    );
    let quoted: Vec<String> = known.iter().map(|one| format!("`{one}`")).collect();
    let help = match nearest(text, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("write {}", alternatives(&quoted)),
    };
    Some(field.finding(id, message).help(help))
}

/// `a, b or c`.
pub(super) fn alternatives(all: &[impl AsRef<str>]) -> String {
    let all: Vec<&str> = all.iter().map(AsRef::as_ref).collect();
    match all.as_slice() {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [firsts @ .., last] => format!("{} or {last}", firsts.join(", ")),
    }
}

/// A finding if `field` is missing or empty, or its text is longer than `most` bytes.
pub(super) fn missing_or_long(field: &Field<'_>, id: &'static str, most: usize) -> Option<Finding> {
    let name = field.name();
    match field.text() {
        Some(text) if text.len() > most => {
            let length = text.len();
            let message = message!("{name} has {length} bytes, more than {most}", name, length);
            let help = format!("shorten it to {most} bytes or fewer");
            Some(field.finding(id, message).help(help))
        }
        Some(text) if !text.is_empty() => None,
        None if field.is_given() => None, // not a text: the schema reports it
        _ => {
            let help = match most {
                usize::MAX => format!("add {name}"),
                most => format!("add {name}, a text of 1 to {most} bytes"),
            };
            Some(
                field
                    .finding(id, message!("{name} is required", name))
                    .help(help),
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_those_of_kubernetes() {
        let long = "a".repeat(64);
        for key in [
            "a",
            "example.com/A_b.c",
            "machine.openshift.io/cluster-api-machine-role",
        ] {
            assert_eq!(of_label_key(key), None, "{key}");
        }
        for key in ["", "a b", "/a", "a/", "A.com/a", "a/b/c", "-a", &long] {
            assert!(of_label_key(key).is_some(), "{key}");
        }
        for value in ["", "true", "a_b"] {
            assert_eq!(of_label_value(value), None, "{value}");
        }
        for value in ["a b", "-", &long] {
            assert!(of_label_value(value).is_some(), "{value}");
        }
    }
}
