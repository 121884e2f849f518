//! Values for people: as JSON, cut when they are long.

use serde_json::Value as Json;

/// What stands for a secret.
pub(super) const SECRET: &str = "(secret)";
/// How much of a value is shown, in characters.
const MOST: usize = 60;
/// How much of two texts that begin alike is shown before they differ.
const ALIKE: usize = 20;

/// A value that may be shown.
#[derive(Clone, Debug, PartialEq)]
pub enum Shown {
    /// There is none.
    Unset,
    /// It may hold a secret.
    Secret,
    /// The value; secrets in it are masked.
    Value(Json),
}

impl Shown {
    /// The value, if there is one that may be shown.
    #[must_use]
    pub const fn value(&self) -> Option<&Json> {
        match self {
            Self::Value(value) => Some(value),
            Self::Unset | Self::Secret => None,
        }
    }

    /// As text, without its first `skip` characters.
    fn text(&self, skip: usize) -> String {
        match self {
            Self::Unset => "(unset)".to_owned(),
            Self::Secret => SECRET.to_owned(),
            Self::Value(value) => cut(value, skip),
        }
    }
}

/// Two values as texts. Of long ones the part that differs is shown, and a count.
#[must_use]
pub fn beside(old: &Shown, new: &Shown) -> (String, String) {
    let skip = match (old, new) {
        (Shown::Value(Json::String(old)), Shown::Value(Json::String(new)))
            if old.chars().count().max(new.chars().count()) > MOST =>
        {
            let alike = old.chars().zip(new.chars());
            let alike = alike.take_while(|(old, new)| old == new).count();
            alike.saturating_sub(ALIKE)
        }
        _ => 0,
    };
    (old.text(skip), new.text(skip))
}

/// The word of two texts that changes, if it is a part of them and one alone: the rest is as it was. A word is of letters,
/// digits, `-` and `.`.
#[must_use]
pub fn changed_word(old: &Shown, new: &Shown) -> Option<(String, String)> {
    let (Shown::Value(Json::String(old)), Shown::Value(Json::String(new))) = (old, new) else {
        return None;
    };
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '.');
    let (before, after): (Vec<&str>, Vec<&str>) = (
        old.split_inclusive(|c| !is_part(c)).collect(),
        new.split_inclusive(|c| !is_part(c)).collect(),
    );
    if before.len() != after.len() || before.len() < 2 {
        return None;
    }
    let mut changed = before.iter().zip(&after).filter(|(old, new)| old != new);
    let (old, new) = changed.next()?;
    let word = |text: &str| text.trim_end_matches(|c| !is_part(c)).to_owned();
    changed.next().is_none().then(|| (word(old), word(new)))
}

fn cut(value: &Json, skip: usize) -> String {
    let (text, count) = match value {
        Json::String(text) => {
            let rest: String = text.chars().skip(skip).collect();
            let count = plural(text.chars().count(), "character");
            (Json::from(rest).to_string(), count)
        }
        Json::Array(items) => (value.to_string(), plural(items.len(), "item")),
        Json::Object(map) => (value.to_string(), plural(map.len(), "field")),
        _ => (value.to_string(), String::new()),
    };
    let before = if skip > 0 { "…" } else { "" };
    if count.is_empty() || text.chars().count() <= MOST {
        return match skip {
            0 => text,
            _ => format!("{before}{text} ({count})"),
        };
    }
    let text: String = text.chars().take(MOST).collect();
    format!("{before}{text}… ({count})")
}

fn plural(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_json_and_long_ones_are_cut_with_a_count() {
        let shown = |value: Json| Shown::Value(value).text(0);
        assert_eq!(shown(json!("4.20")), "\"4.20\"");
        assert_eq!(shown(json!(4.2)), "4.2");
        assert_eq!(shown(json!(["a", "b"])), r#"["a","b"]"#);
        assert_eq!(Shown::Unset.text(0), "(unset)");
        let long = shown(json!("x".repeat(100)));
        assert_eq!(long, format!("\"{}… (100 characters)", "x".repeat(59)));
        let long = shown(json!(vec!["item"; 30]));
        assert!(long.ends_with("… (30 items)"), "{long}");
    }

    #[test]
    fn of_long_texts_that_begin_alike_the_difference_is_shown() {
        let text = |end: &str| Shown::Value(json!(format!("{}{end}", "x".repeat(100))));
        let (old, new) = beside(&text("one"), &text("two"));
        let alike = "x".repeat(ALIKE);
        assert_eq!(old, format!("…\"{alike}one\" (103 characters)"));
        assert_eq!(new, format!("…\"{alike}two\" (103 characters)"));
    }
}
