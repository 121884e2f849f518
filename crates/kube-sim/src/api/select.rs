//! Selectors, and how those by fields are read.
//!
//! In: the text of a selector. Out: a value that decides whether labels or fields match it. It does
//! not know which fields a resource lets select by.

/// One condition on a label or a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Requirement {
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

    fn key_mut(&mut self) -> &mut String {
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
    /// All of these conditions.
    pub(super) fn of(requirements: Vec<Requirement>) -> Self {
        Self(requirements)
    }

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

    /// The same conditions on keys of other names.
    pub(super) fn renamed(mut self, name: impl Fn(&str) -> String) -> Self {
        for requirement in &mut self.0 {
            let key = requirement.key_mut();
            *key = name(key);
        }
        self
    }
}

/// Reads a field selector: `=`, `==` and `!=` only.
///
/// # Errors
/// Says what cannot be read.
pub(super) fn fields(text: &str) -> Result<Selector, String> {
    let mut requirements = Vec::new();
    for term in terms(text).into_iter().filter(|term| !term.is_empty()) {
        let (key, operator, value) = split(term)
            .ok_or_else(|| format!("invalid selector: '{text}'; can't understand '{term}'"))?;
        let values = vec![unescaped(value)?];
        let key = key.to_owned();
        requirements.push(match operator {
            "!=" => Requirement::NotIn(key, values),
            _ => Requirement::In(key, values),
        });
    }
    Ok(Selector(requirements))
}

/// Splits at the commas that no backslash escapes, and sorts.
fn terms(text: &str) -> Vec<&str> {
    let (mut terms, mut start, mut escaped) = (Vec::new(), 0, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ',' => {
                terms.extend(text.get(start..at));
                start = at + 1;
            }
            _ => {}
        }
    }
    terms.extend(text.get(start..));
    terms.sort_unstable();
    terms
}

/// Key, operator and value of a term.
fn split(term: &str) -> Option<(&str, &'static str, &str)> {
    let at = term.find(['=', '!'])?;
    let (key, rest) = term.split_at_checked(at)?;
    let operator = ["!=", "==", "="]
        .into_iter()
        .find_map(|one| Some((one, rest.strip_prefix(one)?)));
    match operator {
        Some((operator, value)) => Some((key, operator, value)),
        // A lone exclamation mark is part of the key.
        None => {
            let (_, operator, value) = split(rest.strip_prefix('!')?)?;
            let key = term.strip_suffix(value)?.strip_suffix(operator)?;
            Some((key, operator, value))
        }
    }
}

fn unescaped(value: &str) -> Result<String, String> {
    let mut plain = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(escaped @ ('\\' | ',' | '=')) => plain.push(escaped),
                other => {
                    let other = other.map(String::from).unwrap_or_default();
                    return Err(format!(
                        "invalid field selector: invalid escape sequence: \\{other}"
                    ));
                }
            },
            // The character is shown as its number.
            ',' | '=' => {
                let number = u32::from(c);
                return Err(format!(
                    "invalid field selector: unescaped character in value: {number}"
                ));
            }
            c => plain.push(c),
        }
    }
    Ok(plain)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_field_selector_compares() {
        let selector = fields("b!=x,a==1,c=a\\,b\\=c").unwrap();
        let value = |key: &str| match key {
            "a" => Some("1"),
            "b" => Some("y"),
            "c" => Some("a,b=c"),
            _ => None,
        };
        assert!(selector.matches(value));
        assert!(!fields("a!=1").unwrap().matches(value));
        assert!(fields(",").unwrap().is_empty());
        assert_eq!(fields("a!b=1").unwrap().keys().next(), Some("a!b"));
    }

    #[test]
    fn an_invalid_field_selector_is_reported() {
        for (bad, why) in [
            ("b=c,a", "invalid selector: 'b=c,a'; can't understand 'a'"),
            (
                "a=b=c",
                "invalid field selector: unescaped character in value: 61",
            ),
            (
                "a=\\",
                "invalid field selector: invalid escape sequence: \\",
            ),
            (
                "a=\\b",
                "invalid field selector: invalid escape sequence: \\b",
            ),
        ] {
            assert_eq!(fields(bad).unwrap_err(), why, "{bad}");
        }
    }

    #[test]
    fn an_exact_field_is_found() {
        let selector = fields("metadata.name=a,metadata.namespace!=b").unwrap();
        assert_eq!(selector.exact("metadata.name"), Some("a"));
        assert_eq!(selector.exact("metadata.namespace"), None);
    }
}
