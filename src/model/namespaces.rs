//! A list of namespaces.
//!
//! In: a text from a setting. Out: whether a namespace is on it. It does not know what the list is for.

use std::collections::BTreeSet;
use std::fmt;

/// Some namespaces, or all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Namespaces {
    /// Every namespace.
    #[default]
    All,
    /// These.
    Some(BTreeSet<String>),
}

impl Namespaces {
    /// Those that a text names, separated by commas.
    #[must_use]
    pub fn of_text(text: &str) -> Self {
        let names = text.split(',').map(str::trim);
        let names = names.filter(|name| !name.is_empty());
        Self::Some(names.map(str::to_owned).collect())
    }

    /// Whether this one is among them.
    #[must_use]
    pub fn has(&self, namespace: &str) -> bool {
        match self {
            Self::All => true,
            Self::Some(names) => names.contains(namespace),
        }
    }
}

impl fmt::Display for Namespaces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::Some(names) => {
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                f.write_str(&names.join(", "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_names_them() {
        let some = Namespaces::of_text("a, b,,");
        assert!(some.has("a") && some.has("b"));
        assert_eq!(some.to_string(), "a, b");
        assert!(!some.has("c") && !some.has(""));
        assert!(!Namespaces::of_text(" ").has("a"));
        assert!(Namespaces::All.has("a"));
    }
}
