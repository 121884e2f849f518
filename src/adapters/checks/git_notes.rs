//! Checks as the text of a git note.
//!
//! In: the note as it is, and one check. Out: the note with that check in it. Line 1 is
//! `{"v":1,"checks":[...]}`, for programs; then, after an empty line, the same in Markdown, for
//! people; then an end mark; and below it whatever else the note held, unchanged. It does not
//! know git.

use serde_json::{Value, json};

use crate::model::{Annotation, Check, CheckState};

/// The ref the notes are kept under. `git log --notes=capstan` shows them.
pub const NOTES_REF: &str = "refs/notes/capstan";

/// The line that ends our part of a note. Markdown shows it as nothing.
const END: &str = "<!-- capstan: end -->";

/// The note with `check` in it: in place of the check of the same context, if there is one. The
/// checks of others and text that is not ours stay. Writing the same check again changes nothing.
#[must_use]
pub fn rewrite(old: Option<&str>, check: &Check) -> String {
    let (mut checks, rest) = parts(old.unwrap_or_default());
    checks.retain(|other| context(other) != check.context);
    checks.push(json!(check));
    checks.sort_by(|one, other| context(one).cmp(context(other)));
    let people: String = checks
        .iter()
        .filter_map(parse)
        .map(|check| section(&check))
        .collect();
    let checks = Value::Array(checks);
    let mut note = format!("{{\"v\":1,\"checks\":{checks}}}\n\n{people}{END}\n");
    note.push_str(rest);
    note
}

/// The checks in a note, by context; none in a note that is not ours.
#[must_use]
pub fn read(note: &str) -> Vec<Check> {
    parts(note).0.iter().filter_map(parse).collect()
}

/// The checks in a note, and what follows our part.
fn parts(note: &str) -> (Vec<Value>, &str) {
    let (first, below) = note.split_once('\n').unwrap_or((note, ""));
    match checks(first) {
        Some(checks) => (checks, after_end(below)),
        None => (Vec::new(), note),
    }
}

/// The checks of a first line of ours, also those this version does not understand.
fn checks(line: &str) -> Option<Vec<Value>> {
    let mut header: Value = serde_json::from_str(line).ok()?;
    if header.get("v")? != 1 {
        return None;
    }
    match header.get_mut("checks")?.take() {
        Value::Array(checks) => Some(checks),
        _ => None,
    }
}

fn after_end(text: &str) -> &str {
    let mut rest = text;
    while let Some((line, below)) = rest.split_once('\n') {
        if line == END {
            return below;
        }
        rest = below;
    }
    ""
}

fn context(check: &Value) -> &str {
    check
        .get("context")
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn parse(check: &Value) -> Option<Check> {
    serde_json::from_value(check.clone()).ok()
}

/// What people read of one check: its summary, which lists the annotations too, or these alone.
fn section(check: &Check) -> String {
    let mut text = format!(
        "## {}: {}\n\n{}\n\n",
        one_line(&check.context),
        word(check.state),
        one_line(&check.title)
    );
    let details = match check.summary.trim() {
        "" => check.annotations.iter().map(item).collect(),
        summary => block(summary),
    };
    if !details.is_empty() {
        text.push_str(&details);
        text.push('\n');
    }
    if let Some(url) = &check.target_url {
        text.push_str(&format!("{}\n\n", one_line(url)));
    }
    text
}

fn item(annotation: &Annotation) -> String {
    let Annotation {
        path,
        line,
        message,
        ..
    } = annotation;
    format!("- {}\n", one_line(&format!("{path}:{line}: {message}")))
}

/// As the JSON spells it.
fn word(state: CheckState) -> &'static str {
    match state {
        CheckState::Pending => "pending",
        CheckState::Success => "success",
        CheckState::Failure => "failure",
        CheckState::Error => "error",
    }
}

/// Text of several lines, none of which can be mistaken for the end of our part.
fn block(text: &str) -> String {
    let lines = text.lines().map(|line| match line {
        END => format!(" {END}\n"),
        line => format!("{line}\n"),
    });
    lines.collect()
}

/// Text without line breaks.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn check(context: &str, state: CheckState) -> Check {
        Check {
            revision: "5f0e".into(),
            context: context.into(),
            state,
            title: "31/54 ready".into(),
            summary: "about **9 min** left\n".into(),
            annotations: Vec::new(),
            target_url: None,
        }
    }

    #[test]
    fn a_note_is_for_programs_and_for_people() {
        let mut failed = check("capstan/prod/plan", CheckState::Failure);
        failed.title = "1 error".into();
        failed.annotations.push(Annotation {
            path: "fleet/a.yaml".into(),
            line: 3,
            level: "error".into(),
            message: "no such field\n(did you mean x?)".into(),
        });
        failed.target_url = Some("https://example.com/1".into());
        let note = rewrite(None, &failed);
        let (first, people) = note.split_once('\n').unwrap();
        assert_eq!(
            people,
            "
## capstan/prod/plan: failure

1 error

about **9 min** left

https://example.com/1

<!-- capstan: end -->
"
        );
        assert!(first.starts_with("{\"v\":1,\"checks\":[{"), "{first}");
        let header: Value = serde_json::from_str(first).unwrap();
        assert_eq!(header["v"], 1);
        assert_eq!(header["checks"][0]["state"], "failure");
        assert_eq!(read(&note), [failed]);
    }

    #[test]
    fn people_read_the_annotations_only_where_no_summary_lists_them() {
        let mut failed = check("capstan/prod/plan", CheckState::Failure);
        failed.annotations.push(Annotation {
            path: "fleet/a.yaml".into(),
            line: 3,
            level: "error".into(),
            message: "no such field\n(did you mean x?)".into(),
        });
        let line = "\n\n- fleet/a.yaml:3: no such field (did you mean x?)\n\n";
        assert!(!rewrite(None, &failed).contains(line));
        failed.summary = " \n".into();
        assert!(rewrite(None, &failed).contains(line));
    }

    #[test]
    fn our_own_check_is_replaced_and_the_others_stay_in_order() {
        let [b, a] =
            ["capstan/b/sync", "capstan/a/sync"].map(|context| check(context, CheckState::Pending));
        let note = rewrite(Some(&rewrite(None, &b)), &a);
        assert_eq!(note, rewrite(Some(&rewrite(None, &a)), &b));
        let done = check("capstan/b/sync", CheckState::Success);
        let note = rewrite(Some(&note), &done);
        assert_eq!(read(&note), [a, done]);
        assert_eq!(note.matches("## ").count(), 2);
    }

    #[test]
    fn writing_it_again_changes_nothing() {
        let pending = check("capstan/a/sync", CheckState::Pending);
        for old in [
            None,
            Some(""),
            Some("by hand"),
            Some("by hand\n"),
            Some("{\"v\":1}\n"),
        ] {
            let note = rewrite(old, &pending);
            assert_eq!(rewrite(Some(&note), &pending), note, "{old:?}");
        }
    }

    #[test]
    fn text_that_is_not_ours_stays_as_it_was() {
        let by_hand = "Reviewed-by: Ada\n\n  indented, {\"v\":1}\n<!-- capstan: end -->\nmore";
        let pending = check("capstan/a/sync", CheckState::Pending);
        let note = rewrite(Some(by_hand), &pending);
        assert!(note.ends_with(&format!("{END}\n{by_hand}")));
        let note = rewrite(Some(&note), &check("capstan/a/sync", CheckState::Success));
        assert!(note.ends_with(&format!("{END}\n{by_hand}")));
        assert_eq!(read(&note).len(), 1);
        // `git notes append` puts text at the end of ours.
        let appended = format!("{}\nappended\n", rewrite(None, &pending));
        let note = rewrite(Some(&appended), &pending);
        assert_eq!(note, appended);
    }

    #[test]
    fn a_summary_cannot_end_our_part() {
        let mut sly = check("capstan/a/sync", CheckState::Pending);
        sly.summary = format!("before\n{END}\nafter");
        let note = rewrite(None, &sly);
        assert_eq!(rewrite(Some(&note), &sly), note);
        let plain = check("capstan/a/sync", CheckState::Pending);
        assert_eq!(rewrite(Some(&note), &plain), rewrite(None, &plain));
    }

    #[test]
    fn what_a_newer_version_wrote_about_its_own_check_stays() {
        let newer = json!({"context": "capstan/z/sync", "state": "skipped", "new": [1]});
        let note = format!("{}\n\n{END}\n", json!({"v": 1, "checks": [newer]}));
        let note = rewrite(Some(&note), &check("capstan/a/sync", CheckState::Pending));
        assert_eq!(parts(&note).0[1], newer);
        assert_eq!(read(&note).len(), 1);
    }

    #[test]
    fn a_note_of_an_unknown_kind_holds_no_checks() {
        for note in [
            "",
            "hello",
            "{",
            "[]",
            "{\"v\":2,\"checks\":[]}",
            "{\"v\":1,\"checks\":{}}",
        ] {
            assert_eq!(read(note), [], "{note}");
        }
    }
}
