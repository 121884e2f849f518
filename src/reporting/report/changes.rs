//! Changed values as Markdown.
//!
//! In: the changes of a plan. Out: a part of a check's summary, which has an end: forges accept 65,535 characters
//! at most. It does not know what the check is about.

use std::fmt::Write as _;

use crate::model::Change;
use crate::model::markdown::{code, markdown};
use crate::plan::{self, Changes, Entry, ValueChange};

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
    for one in entry.values.iter().take(MOST_VALUES) {
        let _ = writeln!(out, "  - {}", value(one));
    }
    let more = entry.values.len().saturating_sub(MOST_VALUES);
    if more > 0 {
        let _ = writeln!(out, "  - and {more} more values");
    }
}

fn value(value: &ValueChange<'_>) -> String {
    let (old, new) = plan::beside(value.old, value.new);
    let fields = value.fields.iter().take(MOST_FIELDS);
    let fields: Vec<String> = fields.map(|field| code(&field.to_string())).collect();
    let more = match value.fields.len().saturating_sub(MOST_FIELDS) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(
        "{} → {}: {}{more}",
        code(&old),
        code(&new),
        fields.join(", ")
    )
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
    fn it_has_an_end() {
        let text = text(&changed(MOST_LINES + 7, "x", "z"));
        assert!(text.ends_with("- and 7 more changed lines\n\n"), "{text}");
        assert_eq!(text.matches("- `").count(), MOST_LINES);
    }
}
