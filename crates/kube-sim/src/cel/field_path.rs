//! `fieldPath`: the field below a rule's place that violations name.
//!
//! In: the path as a rule has it (`.spec.size`, `['my-field'].x`) and the schema of the place. Out:
//! its steps, or why it is invalid. Source: `ValidFieldPath` of k8s.io/apiextensions-apiserver.

use kube_schema::{Additional, Schema};

/// One step of a field path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) key: String,
    /// Whether it is a key of `additionalProperties`, which messages write in brackets.
    pub(super) free: bool,
}

/// The steps of `path` below a value of `schema`.
///
/// # Errors
/// Why the path is invalid.
pub(super) fn steps(path: &str, schema: &Schema) -> Result<Vec<Step>, String> {
    let mut place = schema;
    let mut steps = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        let (key, after) = match rest.strip_prefix('.') {
            Some(rest) => dotted(rest)?,
            None => bracketed(rest)?,
        };
        let named = !place.properties.is_empty();
        let below = match (named, &place.additional) {
            (true, _) => place.properties.get(&key),
            (false, Additional::Schema(values)) => Some(&**values),
            (false, _) => None,
        };
        place = below.ok_or("does not refer to a valid field")?;
        steps.push(Step { key, free: !named });
        rest = after;
    }
    Ok(steps)
}

fn dotted(rest: &str) -> Result<(String, &str), String> {
    let end = rest.find(['.', '[', ']']).unwrap_or(rest.len());
    match rest.split_at_checked(end) {
        None | Some(("", _)) => Err("unexpected end of JSON path".into()),
        Some((name, after)) => Ok((name.to_owned(), after)),
    }
}

/// `['key']`, with backslash escapes.
fn bracketed(rest: &str) -> Result<(String, &str), String> {
    let quoted = rest
        .strip_prefix('[')
        .ok_or_else(|| format!("expected [ or . but got: {rest}"))?;
    let mut chars = quoted
        .strip_prefix('\'')
        .ok_or_else(|| format!("expected single quoted string but got {quoted}"))?
        .chars();
    let mut key = String::new();
    loop {
        match chars.next() {
            Some('\'') => break,
            Some('\\') => key.push(escaped(chars.next())?),
            Some(c) => key.push(c),
            None => return Err("unexpected end of JSON path".into()),
        }
    }
    match chars.as_str().strip_prefix(']') {
        Some(rest) => Ok((key, rest)),
        None => Err(format!("expected ] but got {}", chars.as_str())),
    }
}

fn escaped(c: Option<char>) -> Result<char, String> {
    Ok(match c {
        Some('a') => '\u{7}',
        Some('b') => '\u{8}',
        Some('f') => '\u{c}',
        Some('n') => '\n',
        Some('r') => '\r',
        Some('t') => '\t',
        Some('v') => '\u{b}',
        Some(c @ ('\'' | '\\')) => c,
        _ => return Err("invalid string literal".into()),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    fn keys(path: &str) -> Result<Vec<String>, String> {
        let schema = Schema::from_json(&json!({"type": "object", "properties": {
            "spec": {"type": "object", "properties": {
                "a.b": {"type": "string"},
                "labels": {"type": "object", "additionalProperties": {"type": "string"}}}}}}));
        let steps = steps(path, &schema.unwrap())?;
        Ok(steps
            .into_iter()
            .map(|step| format!("{}{}", step.key, if step.free { "*" } else { "" }))
            .collect())
    }

    #[test]
    fn steps_follow_fields_and_additional_properties() {
        assert_eq!(keys(".spec.labels").unwrap(), ["spec", "labels"]);
        assert_eq!(
            keys(".spec.labels['it\\'s']").unwrap(),
            ["spec", "labels", "it's*"]
        );
        assert_eq!(keys(".spec['a.b']").unwrap(), ["spec", "a.b"]);
    }

    #[test]
    fn invalid_paths_are_refused() {
        for path in [
            "spec",
            ".",
            ".status",
            ".spec.a.b",
            ".spec[0]",
            ".spec['labels'",
            ".spec.labels.a.b",
        ] {
            assert!(keys(path).is_err(), "{path}");
        }
    }
}
