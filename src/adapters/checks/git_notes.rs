//! Checks as the text of a git note.
//!
//! In: the note as it is, and one check. Out: the note with that check in it: Markdown for people, an
//! empty line, then one line `{"v":1,"checks":[...],"text":"..."}` for programs, and an end mark. Whatever else the
//! note held stays around that, also what somebody wrote between our lines: a digest of the Markdown shows whether
//! somebody did. Notes of earlier versions, which begin with the line for programs, are read as well. It does not
//! know git.

use std::collections::HashSet;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::model::markdown::markdown;
use crate::model::{Annotation, Check, CheckState, hex};

/// The ref the notes are kept under. `git log --notes=capstan` shows them.
pub const NOTES_REF: &str = "refs/notes/capstan";

/// The line that ends our part of a note. Markdown shows it as nothing.
const END: &str = "<!-- capstan: end -->";
/// How the line for programs begins. Readers take that line wherever it stands.
const PROGRAMS: &str = "{\"v\":";

/// The note with `check` in it: in place of the check of the same context, if there is one. The
/// checks of others and text that is not ours stay. Writing the same check again changes nothing.
#[must_use]
pub fn rewrite(old: Option<&str>, check: &Check) -> String {
    let Parts {
        before,
        mut checks,
        after,
    } = parts(old.unwrap_or_default());
    checks.retain(|other| context(other) != check.context);
    checks.push(json!(check));
    checks.sort_by(|one, other| context(one).cmp(context(other)));
    let people: String = checks
        .iter()
        .filter_map(parse)
        .map(|check| section(&check))
        .collect();
    let (text, checks) = (digest(&people), Value::Array(checks));
    format!("{before}{people}{PROGRAMS}1,\"checks\":{checks},\"text\":\"{text}\"}}\n{END}\n{after}")
}

/// The checks in a note, by context; none in a note that is not ours.
#[must_use]
pub fn read(note: &str) -> Vec<Check> {
    parts(note).checks.iter().filter_map(parse).collect()
}

/// A note, taken apart.
#[derive(Default)]
struct Parts {
    /// What others wrote above our part, or in what is for people.
    before: String,
    checks: Vec<Value>,
    /// What others wrote below our part; all they wrote when no part is ours.
    after: String,
}

/// The line for programs.
struct Header {
    /// Its checks, also those this version does not understand.
    checks: Vec<Value>,
    /// The digest of what is for people; none in notes of earlier versions.
    text: Option<String>,
}

fn parts(note: &str) -> Parts {
    let lines: Vec<&str> = note.split_inclusive('\n').collect();
    let mut found = lines.iter().enumerate();
    let Some((number, header)) = found.find_map(|(at, line)| Some((at, header(line)?))) else {
        let after = note.to_owned();
        return Parts {
            after,
            ..Parts::default()
        };
    };
    let Header { checks, text } = header;
    let (above, below) = (&lines[..number], &lines[number + 1..]);
    let headings: Vec<String> = checks.iter().map(heading).collect();
    let is_heading = |line: &&str| headings.iter().any(|heading| line.starts_with(heading));
    let first = above.iter().position(is_heading);
    let (others, people) = above.split_at(first.unwrap_or(number));
    let mut before = others.concat();
    if text.as_ref() != Some(&digest(&people.concat())) {
        before += &written_by_others(people, &checks);
    }
    let is_end = |line: &&str| line.trim_end_matches('\n') == END;
    // Versions before wrote what is for people below the line.
    let after = match (text, first, below.iter().position(is_end)) {
        (None, None, end) => {
            let (people, rest) = below.split_at(end.unwrap_or(below.len()));
            written_by_others(people, &checks) + &rest.get(1..).unwrap_or_default().concat()
        }
        (_, _, Some(0)) => below[1..].concat(),
        // Somebody removed the end mark.
        _ => below.concat(),
    };
    Parts {
        before,
        checks,
        after,
    }
}

/// The lines that no section of these checks has, with the empty lines between them.
fn written_by_others(lines: &[&str], checks: &[Value]) -> String {
    let sections: String = checks
        .iter()
        .filter_map(parse)
        .map(|check| section(&check))
        .collect();
    let ours: HashSet<&str> = sections.lines().collect();
    let headings: Vec<String> = checks.iter().map(heading).collect();
    // Another version wrote the sections of checks that this one does not understand.
    let strange = checks.iter().filter(|check| parse(check).is_none());
    let strange: Vec<String> = strange.map(heading).collect();
    let (mut text, mut follows, mut is_strange) = (String::new(), false, false);
    for line in lines {
        let content = line.trim_end_matches('\n');
        let begins = |headings: &[String]| headings.iter().any(|one| content.starts_with(one));
        let is_heading = begins(&headings);
        if is_heading {
            is_strange = begins(&strange);
        }
        let is_ours = is_heading || is_strange || !content.is_empty() && ours.contains(content);
        follows = !is_ours && (follows || !content.is_empty());
        if follows {
            text.push_str(line);
        }
    }
    match text.trim_end() {
        "" => String::new(),
        text => format!("{text}\n\n"),
    }
}

/// Tells whether somebody changed a text.
fn digest(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    hex(&digest[..8])
}

/// The line for programs, if this is one.
fn header(line: &str) -> Option<Header> {
    let line = line.trim_end_matches('\n');
    if !line.starts_with(PROGRAMS) {
        return None;
    }
    let mut header: Value = serde_json::from_str(line).ok()?;
    if header.get("v")? != 1 {
        return None;
    }
    let text = header.get("text").and_then(Value::as_str);
    let text = text.map(str::to_owned);
    match header.get_mut("checks")?.take() {
        Value::Array(checks) => Some(Header { checks, text }),
        _ => None,
    }
}

/// How the section of a check begins.
fn heading(check: &Value) -> String {
    format!("## {}: ", one_line(context(check)))
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
        "## {}: {}\n\n{}\n",
        one_line(&check.context),
        word(check.state),
        block(&markdown(&check.title))
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
        text.push_str(&format!("{}\n", block(&one_line(url))));
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
    format!("- {}\n", markdown(&format!("{path}:{line}: {message}")))
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

/// Lines of text, none of which can be mistaken for the line for programs, or the end of our part.
fn block(text: &str) -> String {
    let lines = text.lines().map(|line| match line {
        line if line == END || line.starts_with(PROGRAMS) => format!(" {line}\n"),
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
            summary: "about **9 min** left\n".into(),
            ..Check::new(context, "5f0e", state, "31/54 ready")
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
        let people = "\
## capstan/prod/plan: failure

1 error

about **9 min** left

https://example.com/1

";
        let programs = note.strip_prefix(people).unwrap();
        let line = programs.strip_suffix("\n<!-- capstan: end -->\n").unwrap();
        assert!(line.starts_with("{\"v\":1,\"checks\":[{"), "{line}");
        assert!(!line.contains('\n'), "one line");
        let header: Value = serde_json::from_str(line).unwrap();
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
    fn a_note_of_an_earlier_version_is_read_and_renewed() {
        let old = check("capstan/a/sync", CheckState::Pending);
        let programs = format!("{PROGRAMS}1,\"checks\":{}}}", json!([old]));
        let note = format!("{programs}\n\n{}{END}\nby hand\n", section(&old));
        assert_eq!(read(&note), std::slice::from_ref(&old), "{note}");
        let done = check("capstan/a/sync", CheckState::Success);
        let renewed = format!("{}by hand\n", rewrite(None, &done));
        assert_eq!(rewrite(Some(&note), &done), renewed);
        // Somebody removed the end mark, and wrote below, and in between.
        let note = format!("{programs}\n\n{}", section(&old));
        assert_eq!(rewrite(Some(&note), &done), rewrite(None, &done));
        let expected = format!("{}Reviewed-by: Ada\n\n", rewrite(None, &done));
        let below = format!("{note}Reviewed-by: Ada\n");
        assert_eq!(rewrite(Some(&below), &done), expected);
        let between = note.replace("31/54 ready\n", "31/54 ready\nReviewed-by: Ada\n");
        assert_eq!(rewrite(Some(&between), &done), expected);
    }

    #[test]
    fn text_between_our_lines_is_kept_above_them() {
        let note = rewrite(None, &check("capstan/a/sync", CheckState::Pending));
        let done = check("capstan/a/sync", CheckState::Success);
        let edited = note.replace("31/54 ready\n", "31/54 ready\n\nPlease wait.\n\nAda\n");
        let expected = format!("Please wait.\n\nAda\n\n{}", rewrite(None, &done));
        let rewritten = rewrite(Some(&edited), &done);
        assert_eq!(rewritten, expected);
        assert_eq!(rewrite(Some(&rewritten), &done), expected, "once");
        // An end mark of somebody else ends nothing of ours.
        let without_end = note.replace(&format!("\n{END}\n"), &format!("\nmine\n{END}\n"));
        let expected = format!("{}mine\n{END}\n", rewrite(None, &done));
        assert_eq!(rewrite(Some(&without_end), &done), expected);
    }

    #[test]
    fn what_a_newer_version_wrote_for_people_does_not_pile_up() {
        let newer = json!({"context": "capstan/z/sync", "state": "skipped"});
        let note = format!(
            "## capstan/z/sync: skipped\n\nin new words\n\n{PROGRAMS}1,\"checks\":[{newer}]}}\n{END}\n"
        );
        let note = rewrite(Some(&note), &check("capstan/a/sync", CheckState::Pending));
        assert!(!note.contains("in new words"), "{note}");
        assert_eq!(parts(&note).checks[1], newer);
    }

    #[test]
    fn text_above_our_part_stays_there() {
        let (pending, done) = (CheckState::Pending, CheckState::Success);
        let note = rewrite(None, &check("capstan/a/sync", pending));
        let done = check("capstan/a/sync", done);
        let expected = format!("# Mine\n\n{}", rewrite(None, &done));
        assert_eq!(rewrite(Some(&format!("# Mine\n\n{note}")), &done), expected);
        let without_end = note.replace(&format!("{END}\n"), "more\n");
        let expected = format!("{}more\n", rewrite(None, &done));
        assert_eq!(rewrite(Some(&without_end), &done), expected);
    }

    #[test]
    fn no_text_can_be_mistaken_for_the_line_for_programs() {
        let mut sly = check("capstan/a/sync", CheckState::Failure);
        let line = "{\"v\":1,\"checks\":[]}";
        (sly.title, sly.summary) = (line.to_owned(), format!("it is\n{line}"));
        sly.target_url = Some(line.to_owned());
        assert_eq!(read(&rewrite(None, &sly)), [sly]);
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
        let note = format!("{PROGRAMS}1,\"checks\":[{newer}]}}\n\n{END}\n");
        let note = rewrite(Some(&note), &check("capstan/a/sync", CheckState::Pending));
        assert_eq!(parts(&note).checks[1], newer);
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
