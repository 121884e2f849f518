//! Label and field selectors.
//!
//! In: the text of a selector. Out: a value that says whether labels or fields match it. It does
//! not know which fields a resource lets select by.

use super::status::Refusal;

/// One condition on a label or a field.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Requirement {
    Exists(String),
    Absent(String),
    In(String, Vec<String>),
    NotIn(String, Vec<String>),
    Greater(String, i64),
    Less(String, i64),
}

impl Requirement {
    fn key(&self) -> &str {
        match self {
            Self::Exists(key) | Self::Absent(key) | Self::In(key, _) | Self::NotIn(key, _) => key,
            Self::Greater(key, _) | Self::Less(key, _) => key,
        }
    }

    /// A missing label satisfies `!=` and `notin`, as in Kubernetes.
    fn matches(&self, value: Option<&str>) -> bool {
        let number = || value.and_then(|value| value.parse::<i64>().ok());
        let among = |values: &[String]| value.is_some_and(|v| values.iter().any(|one| one == v));
        match self {
            Self::Exists(_) => value.is_some(),
            Self::Absent(_) => value.is_none(),
            Self::In(_, values) => among(values),
            Self::NotIn(_, values) => !among(values),
            Self::Greater(_, bound) => number().is_some_and(|number| number > *bound),
            Self::Less(_, bound) => number().is_some_and(|number| number < *bound),
        }
    }
}

/// All of some conditions; none at all matches everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Selector(Vec<Requirement>);

impl Selector {
    /// Whether it matches everything.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether every condition holds, given how to look a key up.
    pub(super) fn matches<'a>(&self, value: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.0
            .iter()
            .all(|requirement| requirement.matches(value(requirement.key())))
    }

    /// The keys it asks for.
    pub(super) fn keys(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(Requirement::key)
    }

    /// The one value that `key` must have, if that is so.
    pub(super) fn exact(&self, key: &str) -> Option<&str> {
        self.0.iter().find_map(|requirement| match requirement {
            Requirement::In(of, values) if of == key && values.len() == 1 => {
                Some(values[0].as_str())
            }
            _ => None,
        })
    }

    /// This and one more condition: `key` equals `value`.
    pub(super) fn and(mut self, key: &str, value: &str) -> Self {
        self.0
            .push(Requirement::In(key.to_owned(), vec![value.to_owned()]));
        self
    }
}

/// Reads a label selector such as `a=b,c in (d,e),!f`.
///
/// # Errors
/// 400 when it cannot be read.
pub(super) fn labels(text: &str) -> Result<Selector, Refusal> {
    let parts = top_level_parts(text);
    let read = |part: &str| {
        requirement(part).ok_or_else(|| {
            Refusal::bad_request(format!(
                "unable to parse requirement: found {part:?}, expected a label selector"
            ))
        })
    };
    Ok(Selector(
        parts.into_iter().map(read).collect::<Result<Vec<_>, _>>()?,
    ))
}

/// Reads a field selector: `=`, `==` and `!=` only.
///
/// # Errors
/// 400 when it cannot be read.
pub(super) fn fields(text: &str) -> Result<Selector, Refusal> {
    let mut requirements = Vec::new();
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let requirement = equality(part).ok_or_else(|| {
            Refusal::bad_request(format!(
                "invalid selector: {text:?}; can't understand {part:?}"
            ))
        })?;
        requirements.push(requirement);
    }
    Ok(Selector(requirements))
}

/// Splits at the commas outside parentheses.
fn top_level_parts(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0_i32, 0);
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim());
    if parts == [""] {
        parts.clear();
    }
    parts
}

fn requirement(part: &str) -> Option<Requirement> {
    if let Some(key) = part.strip_prefix('!') {
        return key_of(key.trim()).map(Requirement::Absent);
    }
    set(part)
        .or_else(|| equality(part))
        .or_else(|| bound(part))
        .or_else(|| key_of(part).map(Requirement::Exists))
}

/// `key in (a,b)` or `key notin (a,b)`.
fn set(part: &str) -> Option<Requirement> {
    let (head, values) = part.split_once('(')?;
    let values = values.trim().strip_suffix(')')?;
    let values = values
        .split(',')
        .map(|value| value_of(value.trim()))
        .collect::<Option<Vec<_>>>()?;
    let mut words = head.split_whitespace();
    let key = key_of(words.next()?)?;
    let verb = words.next()?;
    match (verb, words.next()) {
        ("in", None) => Some(Requirement::In(key, values)),
        ("notin", None) => Some(Requirement::NotIn(key, values)),
        _ => None,
    }
}

fn equality(part: &str) -> Option<Requirement> {
    if let Some((key, value)) = part.split_once("!=") {
        let value = value_of(value.trim())?;
        return Some(Requirement::NotIn(key_of(key.trim())?, vec![value]));
    }
    let (key, value) = part.split_once('=')?;
    let value = value_of(value.strip_prefix('=').unwrap_or(value).trim())?;
    Some(Requirement::In(key_of(key.trim())?, vec![value]))
}

fn bound(part: &str) -> Option<Requirement> {
    let read =
        |(key, number): (&str, &str)| Some((key_of(key.trim())?, number.trim().parse().ok()?));
    if let Some(pair) = part.split_once('>') {
        return read(pair).map(|(key, number)| Requirement::Greater(key, number));
    }
    read(part.split_once('<')?).map(|(key, number)| Requirement::Less(key, number))
}

fn key_of(text: &str) -> Option<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    (!text.is_empty() && text.chars().all(plain)).then(|| text.to_owned())
}

/// Values of fields may hold more than values of labels; operators and brackets they may not.
fn value_of(text: &str) -> Option<String> {
    (!text.contains(['(', ')', '=', '!', ' '])).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn matches(selector: &str, pairs: &[(&str, &'static str)]) -> bool {
        labels(selector).unwrap().matches(|key| {
            pairs
                .iter()
                .find(|(name, _)| *name == key)
                .map(|(_, value)| *value)
        })
    }

    #[test]
    fn every_form_of_label_selector_is_read() {
        let pairs = [("env", "prod"), ("tier", "3"), ("example.com/team", "")];
        for yes in [
            "",
            "env=prod",
            "env==prod",
            "env = prod",
            "env in (test, prod)",
            "env notin (test)",
            "absent notin (test)",
            "absent!=x",
            "env,!absent",
            "tier>2,tier<4",
            "example.com/team=",
            "example.com/team in (,a)",
        ] {
            assert!(matches(yes, &pairs), "{yes}");
        }
        for no in [
            "env=test",
            "env!=prod",
            "!env",
            "absent",
            "absent=",
            "env in (test)",
            "tier>3",
            "env>1",
            "env=prod,tier=4",
        ] {
            assert!(!matches(no, &pairs), "{no}");
        }
    }

    #[test]
    fn what_is_no_selector_is_refused() {
        for bad in ["a=b=c", "a in b", "a in (b", "=", "a b", ",", "a is (b)"] {
            assert_eq!(labels(bad).unwrap_err().code, 400, "{bad}");
        }
        assert_eq!(fields("metadata.name").unwrap_err().code, 400);
    }

    #[test]
    fn an_exact_field_is_found() {
        let selector = fields("metadata.name=a,metadata.namespace!=b").unwrap();
        assert_eq!(selector.exact("metadata.name"), Some("a"));
        assert_eq!(selector.exact("metadata.namespace"), None);
    }
}
