//! A plan for people.
//!
//! In: a plan beside a cluster, and the changes of its fields. Out: text, coloured if asked for. What others
//! wrote moves no terminal.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::adapters::kubernetes::Compared;
use crate::apply::PruneDecision;
use crate::cli::ui::{plain, plain_lines};
use crate::model::{Change, ObjectId};
use crate::plan::{self, Changes, Entry, ValueChange};

/// How many fields that change alike, or objects of one reason, are named.
const NAMED: usize = 5;

const BOLD: &str = "1";
const RED: &str = "31";
const GREEN: &str = "32";
const YELLOW: &str = "33";

/// The plan, then what changes, what leaves, and what is not done.
pub(super) fn text(compared: &Compared, changes: &Changes, colour: bool) -> String {
    let paint = Paint(colour);
    let mut out = plain_lines(&plan::text(&compared.plan));
    for group in changes.groups() {
        let _ = writeln!(out, "\n{}", paint.with(BOLD, &plain(&group.to_string())));
        for entry in &group.entries {
            out.push_str(&entry_text(entry, paint));
        }
    }
    out.push_str(&plain_lines(&leaving(&compared.leaving)));
    for ((_, kind), why) in &compared.unseen {
        let line = format!("\nnot seen: {kind}: {why}\n");
        out.push_str(&plain_lines(&line));
    }
    out.push_str(&plain_lines(&reasons("blocked", &compared.blocked)));
    out.push_str(&plain_lines(&reasons("refused", &compared.refused)));
    for finding in changes.findings() {
        if finding.severity == crate::model::Severity::Error {
            let _ = writeln!(out, "\nrefused: {}", plain(&finding.to_string()));
        }
    }
    out
}

#[derive(Clone, Copy)]
struct Paint(bool);

impl Paint {
    fn with(self, code: &str, text: &str) -> String {
        match self.0 {
            true => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
            false => text.to_owned(),
        }
    }
}

/// A changed line, and below it from what to what which fields change.
fn entry_text(entry: &Entry<'_>, paint: Paint) -> String {
    let why = entry.why.iter().copied().collect::<Vec<_>>().join("; ");
    let note = match entry.change {
        Change::Replace => paint.with(RED, &format!("  cannot be changed: {why}")),
        Change::Refused => paint.with(RED, &format!("  refused: {why}")),
        Change::Rolling => paint.with(YELLOW, &format!("  replaces nodes: {why}")),
        _ => String::new(),
    };
    let mut out = format!("  {}{note}\n", plain(&entry.line.to_string()));
    for value in &entry.values {
        out.push_str(&value_text(value, paint));
    }
    out
}

fn value_text(value: &ValueChange<'_>, paint: Paint) -> String {
    let (old, new) = plan::beside(value.old, value.new);
    let (old, new) = (
        paint.with(RED, &plain(&old)),
        paint.with(GREEN, &plain(&new)),
    );
    let mut out = format!("    {old} -> {new}\n");
    for field in value.fields.iter().take(NAMED) {
        let _ = writeln!(out, "      {}", plain(&field.to_string()));
    }
    let more = value.fields.len().saturating_sub(NAMED);
    if more > 0 {
        let _ = writeln!(out, "      and {more} more");
    }
    out
}

/// What the fleet no longer has. A reason that keeps several objects is given once.
fn leaving(leaving: &BTreeMap<ObjectId, PruneDecision>) -> String {
    let mut out = String::new();
    if !leaving.is_empty() {
        out.push_str("\nno longer in the fleet:\n");
    }
    let mut kept: BTreeMap<String, Vec<&ObjectId>> = BTreeMap::new();
    for (id, decision) in leaving {
        match decision {
            PruneDecision::Held(why) => kept.entry(why.clone()).or_default().push(id),
            PruneDecision::Unapproved(loss) => {
                kept.entry(loss.to_string()).or_default().push(id);
            }
            _ => {
                let _ = writeln!(out, "  {:<8} {id}{}", word(decision), after(decision));
            }
        }
    }
    for (why, ids) in kept {
        for id in &ids {
            let _ = writeln!(out, "  {:<8} {id}", "keep");
        }
        let _ = writeln!(out, "           {why}");
    }
    out
}

fn after(decision: &PruneDecision) -> String {
    match decision {
        PruneDecision::After(other) | PruneDecision::ReleaseAfter(other) => {
            format!(", after {other}")
        }
        _ => String::new(),
    }
}

/// What becomes of an object that leaves, in one word.
pub(super) fn word(decision: &PruneDecision) -> &'static str {
    match decision {
        PruneDecision::Held(_) | PruneDecision::Unapproved(_) => "keep",
        decision if decision.is_release() => plan::word(Change::Orphan),
        _ => plan::word(Change::Delete),
    }
}

/// What is not done, and why. A reason that several objects have is given once.
fn reasons(verb: &str, objects: &[(ObjectId, String)]) -> String {
    let mut by_reason: BTreeMap<&str, Vec<&ObjectId>> = BTreeMap::new();
    for (id, message) in objects {
        let prefix = format!("{id}: ");
        let reason = message.strip_prefix(&prefix).unwrap_or(message);
        by_reason.entry(reason).or_default().push(id);
    }
    let mut out = String::new();
    for (reason, ids) in by_reason {
        if let [id] = ids.as_slice() {
            let _ = writeln!(out, "\n{verb}: {id}: {reason}");
            continue;
        }
        let _ = writeln!(out, "\n{verb}: {} objects: {reason}", ids.len());
        for id in ids.iter().take(NAMED) {
            let _ = writeln!(out, "  {id}");
        }
        let more = ids.len().saturating_sub(NAMED);
        if more > 0 {
            let _ = writeln!(out, "  and {more} more");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::model::Object;

    #[test]
    fn values_are_coloured_and_move_no_terminal() {
        let yaml =
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  \"k\\e[2J\": new\n";
        let (documents, _) = crate::yaml::read(&Arc::from("a.yaml"), yaml.as_bytes());
        let object = documents.into_iter().next();
        let object = object.and_then(|node| Object::from_node(node, "ns"));
        let object = object.expect("an object");
        let after = plan::placed(&object);
        let mut before = after.clone();
        before["data"]["k\u{1b}[2J"] = serde_json::json!("old\u{9b}2J");
        let mut changes = Changes::default();
        changes.add(&object, &before, &after);
        let compared = Compared::default();
        let plain = text(&compared, &changes, false);
        let expected = "\noutside clusters\n  a.yaml:5\n    \"old\u{fffd}2J\" -> \"new\"\n      data.k\u{fffd}[2J of ConfigMap/ns/a\n";
        assert!(plain.ends_with(expected), "{plain:?}");
        let coloured = text(&compared, &changes, true);
        let values = "\u{1b}[31m\"old\u{fffd}2J\"\u{1b}[0m -> \u{1b}[32m\"new\"\u{1b}[0m\n";
        assert!(coloured.contains(values), "{coloured:?}");
        assert!(!coloured.contains("\u{1b}[2J"), "{coloured:?}");
    }

    fn id(name: &str) -> ObjectId {
        ObjectId::new("", "ConfigMap", "ns", name)
    }

    #[test]
    fn one_reason_is_given_once_with_its_objects() {
        let fault = |at: usize| {
            let id = id(&format!("c{at}"));
            (id.clone(), format!("{id}: namespace ns does not exist"))
        };
        let objects: Vec<_> = (0..7).map(fault).collect();
        let expected = "\nblocked: 7 objects: namespace ns does not exist\n  ConfigMap/ns/c0\n  ConfigMap/ns/c1\n  ConfigMap/ns/c2\n  ConfigMap/ns/c3\n  ConfigMap/ns/c4\n  and 2 more\n";
        assert_eq!(reasons("blocked", &objects), expected);
        let one = "\nblocked: ConfigMap/ns/c0: namespace ns does not exist\n";
        assert_eq!(reasons("blocked", &objects[..1]), one);
    }

    #[test]
    fn what_is_kept_for_one_reason_says_it_once() {
        let held = || PruneDecision::Held("pruning is disabled".to_owned());
        let kept = [
            (id("a"), held()),
            (id("b"), PruneDecision::Delete),
            (id("c"), held()),
        ];
        let expected = "\nno longer in the fleet:\n  delete   ConfigMap/ns/b\n  keep     ConfigMap/ns/a\n  keep     ConfigMap/ns/c\n           pruning is disabled\n";
        assert_eq!(leaving(&kept.into()), expected);
    }

    #[test]
    fn what_is_released_after_something_is_not_deleted() {
        let after = PruneDecision::ReleaseAfter(id("a"));
        let released = [(id("a"), PruneDecision::Orphan), (id("b"), after)];
        let expected = "\nno longer in the fleet:\n  orphan   ConfigMap/ns/a\n  orphan   ConfigMap/ns/b, after ConfigMap/ns/a\n";
        assert_eq!(leaving(&released.into()), expected);
    }
}
