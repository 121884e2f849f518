//! Checks of names and numbers that several rules share, with their messages.

use std::ops::RangeInclusive;

use super::arm::Field;
use crate::model::{Finding, message};

/// Why Azure rejects `name`, which must have a number of characters in `lengths`.
pub(super) fn of_azure_name(name: &str, lengths: RangeInclusive<usize>) -> Option<String> {
    let inner = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let first = name.starts_with(|c: char| c.is_ascii_alphabetic());
    let last = name.ends_with(|c: char| c.is_ascii_alphanumeric());
    if !lengths.contains(&name.len()) {
        let (least, most) = lengths.into_inner();
        return Some(format!(
            "must have {least} to {most} characters, not {}",
            name.len()
        ));
    }
    let sound = first && last && name.chars().all(inner);
    let why = "must consist of letters, digits and `-`, start with a letter and not end with `-`";
    (!sound).then(|| why.to_owned())
}

/// Why `key` is not a valid key of a label or taint.
pub(super) fn of_label_key(key: &str) -> Option<&'static str> {
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    if name.is_empty() || !is_label_text(name) {
        return Some(
            "the name must have 1 to 63 letters, digits, `-`, `_` or `.`, and start and end with a letter or digit",
        );
    }
    let domain =
        prefix.is_none_or(|prefix| prefix.len() <= 253 && prefix.split('.').all(is_dns_label));
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

fn is_dns_label(text: &str) -> bool {
    let ends = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let inner = text.chars().all(|c| ends(c) || c == '-');
    !text.is_empty() && inner && text.starts_with(ends) && text.ends_with(ends)
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
    Some(field.finding(id, message))
}

/// A finding if `field` holds a text that is not one of `known`.
pub(super) fn not_one_of(field: &Field<'_>, id: &'static str, known: &[&str]) -> Option<Finding> {
    let text = field.text().filter(|text| !known.contains(text))?;
    let known = known.join(", ");
    let message = message!(
        "{name} must be one of {known}, not {text:?}",
        name = field.name(),
        text
    );
    Some(field.finding(id, message))
}

/// A finding if `field` is missing or empty, or its text is longer than `most` bytes.
pub(super) fn missing_or_long(field: &Field<'_>, id: &'static str, most: usize) -> Option<Finding> {
    let name = field.name();
    match field.text() {
        Some(text) if text.len() > most => {
            let length = text.len();
            let message = message!("{name} has {length} bytes, more than {most}", name, length);
            Some(field.finding(id, message))
        }
        Some(text) if !text.is_empty() => None,
        None if field.is_given() => None, // not a text: the schema reports it
        _ => Some(field.finding(id, message!("{name} is required", name))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn azure_names_are_short_and_start_with_a_letter() {
        for name in ["abc", "MyPool-1", "a23456789012345"] {
            assert_eq!(of_azure_name(name, 3..=15), None, "{name}");
        }
        for name in [
            "",
            "ab",
            "-garbage",
            "1pool",
            "pool-",
            "po$l",
            "a234567890123456",
            "péa",
        ] {
            assert!(of_azure_name(name, 3..=15).is_some(), "{name}");
        }
    }

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
