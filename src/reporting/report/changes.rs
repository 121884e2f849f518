//! Changed values as Markdown.
//!
//! In: the changes of a plan. Out: a part of a check's summary, which has an end: forges accept 65,535 characters
//! at most. It does not know what the check is about.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::model::Change;
use crate::model::markdown::{code, markdown};
use crate::plan::{self, Changes, Entry, FieldChange, ValueChange};

/// The most changed lines that are shown.
const MOST_LINES: usize = 100;
/// How much text they may take, in bytes: no line is begun after it.
const MOST_TEXT: usize = 30_000;
/// The most values of one line that are shown.
const MOST_VALUES: usize = 10;
/// The most fields that are named of those that change alike.
const MOST_FIELDS: usize = 5;

/// The changed lines by cluster, each with its values and the fields that it reaches; empty without changes.
pub(super) fn text(changes: &Changes) -> String {
    let groups = changes.groups();
    let mut out = String::new();
    let mut shown = 0;
    for group in &groups {
        for (at, one) in group.entries.iter().enumerate() {
            if shown == MOST_LINES || out.len() > MOST_TEXT {
                break;
            }
            if at == 0 {
                let before = if shown == 0 { "" } else { "\n" };
                let _ = writeln!(out, "{before}**{}**\n", markdown(&group.to_string()));
            }
            entry(one, &mut out);
            shown += 1;
        }
    }
    let lines: usize = groups.iter().map(|group| group.entries.len()).sum();
    if lines > shown {
        let _ = writeln!(out, "- and {} more changed lines", lines - shown);
    }
    if lines > 0 {
        out.push('\n');
    }
    out
}

/// ``- `a.yaml:4` `1` → `2`: spec.x of Kind/ns/name``
fn entry(entry: &Entry<'_>, out: &mut String) {
    let why = entry.why.iter().copied().collect::<Vec<_>>().join("; ");
    let note = match entry.change {
        Change::Replace => format!(", which cannot be changed ({why})"),
        Change::Refused => format!(", which Azure refuses ({why})"),
        Change::Rolling => format!(", which replaces nodes ({why})"),
        _ => String::new(),
    };
    let line = code(&entry.line.to_string());
    if let [one] = entry.values.as_slice() {
        let _ = writeln!(out, "- {line}{note}: {}", value(one));
        return;
    }
    let _ = writeln!(out, "- {line}{note}:");
    let values = values(&entry.values);
    for one in values.iter().take(MOST_VALUES) {
        let _ = writeln!(out, "  - {one}");
    }
    let more = values.len().saturating_sub(MOST_VALUES);
    if more > 0 {
        let _ = writeln!(out, "  - and {more} more values");
    }
}

/// The values of one line. Those in which the same word changes, such as a subscription in many ids, are one.
fn values(all: &[ValueChange<'_>]) -> Vec<String> {
    let mut words: BTreeMap<(String, String), Vec<&ValueChange<'_>>> = BTreeMap::new();
    for one in all {
        if let Some(word) = plan::changed_word(one.old, one.new) {
            words.entry(word).or_default().push(one);
        }
    }
    words.retain(|_, values| values.len() > 1);
    let is_alone = |one: &&ValueChange<'_>| {
        plan::changed_word(one.old, one.new).is_none_or(|word| !words.contains_key(&word))
    };
    let together = words.iter().map(|((old, new), values)| {
        let fields = values.iter().flat_map(|value| &value.fields);
        let fields: Vec<&FieldChange> = fields.copied().collect();
        let (old, new) = (code(old), code(new));
        format!(
            "{old} → {new} in {} values: {}",
            values.len(),
            named(&fields)
        )
    });
    let alone = all.iter().filter(is_alone).map(value);
    together.chain(alone).collect()
}

fn value(value: &ValueChange<'_>) -> String {
    let (old, new) = plan::beside(value.old, value.new);
    let fields = named(&value.fields);
    format!("{} → {}: {fields}", code(&old), code(&new))
}

/// The first fields, and the number of the others.
fn named(all: &[&FieldChange]) -> String {
    let fields = all.iter().take(MOST_FIELDS);
    let fields: Vec<String> = fields.map(|field| code(&field.to_string())).collect();
    let more = match all.len().saturating_sub(MOST_FIELDS) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", fields.join(", "))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::model::Object;

    /// The changes of ConfigMaps from one value to another, each in a file of its own.
    fn changed(count: usize, old: &str, new: &str) -> Changes {
        let mut changes = Changes::default();
        for at in 0..count {
            let yaml = format!(
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c{at}}}\ndata:\n  k: {new}\n"
            );
            let path = Arc::from(format!("{at:03}.yaml"));
            let (documents, _) = crate::yaml::read(&path, yaml.as_bytes());
            let object = documents.into_iter().next();
            let object = object.and_then(|node| Object::from_node(node, "ns"));
            let object = object.expect("an object");
            let after = plan::placed(&object);
            let mut before = after.clone();
            before["data"]["k"] = json!(old);
            changes.add(&object, &before, &after);
        }
        changes
    }

    #[test]
    fn a_changed_line_is_one_item() {
        assert_eq!(
            text(&changed(1, "a`b", "c")),
            "**outside clusters**\n\n- `000.yaml:5`: `` \"a`b\" `` → `\"c\"`: `data.k of ConfigMap/ns/c0`\n\n"
        );
        assert_eq!(text(&Changes::default()), "");
    }

    #[test]
    fn a_word_that_changes_in_many_values_is_said_once() {
        let data = |word: &str| {
            format!(
                "{{a: /subscriptions/{word}/x, b: /subscriptions/{word}/y, c: {word}-z, d: other-{word}}}"
            )
        };
        let object = |word: &str| {
            let yaml = format!(
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c}}\ndata: {}\n",
                data(word)
            );
            let (documents, _) = crate::yaml::read(&Arc::from("a.yaml"), yaml.as_bytes());
            let object = documents.into_iter().next();
            object
                .and_then(|node| Object::from_node(node, "ns"))
                .expect("an object")
        };
        let (old, new) = (object("one-1"), object("two-2"));
        let mut changes = Changes::default();
        changes.add(&new, &plan::placed(&old), &plan::placed(&new));
        let shown = text(&changes);
        let line = "  - `one-1` → `two-2` in 2 values: `data.a of ConfigMap/ns/c`, `data.b of ConfigMap/ns/c`\n";
        assert!(shown.contains(line), "{shown}");
        assert_eq!(shown.matches("  - ").count(), 3, "{shown}");
    }

    #[test]
    fn it_has_an_end() {
        let text = text(&changed(MOST_LINES + 7, "x", "z"));
        assert!(text.ends_with("- and 7 more changed lines\n\n"), "{text}");
        assert_eq!(text.matches("- `").count(), MOST_LINES);
    }
}
