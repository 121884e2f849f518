//! A check as text, Markdown or JSON on standard output.
//!
//! In: a check and a note. Out: a text. It does not know what was compared.

use crate::cli::ui::plain_lines;
use crate::model::Check;
use crate::model::cut::until;
use crate::model::markdown::markdown;

/// The check for a terminal.
pub(super) fn text(check: &Check, note: &str) -> String {
    let body = paragraphs(note, &unformatted(&check.summary));
    plain_lines(&format!("{}\n{body}", check.title))
}

/// The check as a forge shows it.
pub(super) fn in_markdown(check: &Check, note: &str) -> String {
    format!(
        "### {}\n{}",
        markdown(&check.title),
        paragraphs(note, &check.summary)
    )
}

/// Both with an empty line before, if there is anything.
fn paragraphs(note: &str, text: &str) -> String {
    let parts = [note, text.trim()]
        .into_iter()
        .filter(|part| !part.is_empty());
    parts.map(|part| format!("\n{part}\n")).collect()
}

/// Markdown as it is read: without tags, escapes, and what keeps two characters apart.
pub(super) fn unformatted(markdown: &str) -> String {
    let lines = markdown.lines().map(|line| {
        let mut line = line.to_owned();
        for tag in ["<details>", "</details>", "<summary>", "</summary>"] {
            // Tags of others are escaped.
            line = line.replace(tag, "");
        }
        unescaped(&line)
    });
    let mut out = String::new();
    for line in lines {
        let is_second_empty = line.is_empty() && (out.is_empty() || out.ends_with("\n\n"));
        if !is_second_empty {
            out += &line;
            out.push('\n');
        }
    }
    out
}

fn unescaped(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        let (fence, inner) = until(rest, |c| c != '`');
        if !fence.is_empty() {
            // In code, nothing is escaped.
            out += fence;
            rest = inner;
            if let Some((code, after)) = inner.split_once(fence) {
                out.extend([code, fence]);
                rest = after;
            }
            continue;
        }
        let mut after = rest.chars();
        after.next();
        let next = after.clone().next();
        match (c, next) {
            ('\\', Some(next)) if next.is_ascii_punctuation() => {
                out.push(next);
                after.next();
            }
            ('*', Some('*')) => drop(after.next()),
            ('\u{200b}', _) => {}
            _ => out.push(c),
        }
        rest = after.as_str();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::CheckState;

    #[test]
    fn a_summary_is_read_without_its_marks() {
        for text in [
            "*a* _b_ \\",
            "<img src=x>",
            "@team #12 https://h/a",
            "a `b*` c_d",
            "# a",
            "/approve",
        ] {
            assert_eq!(unescaped(&markdown(text)), text);
        }
        assert_eq!(unescaped("**a\\*\\***"), "a**");
        let folded = "<details><summary>1 warning</summary>\n\n- a\\*\n\n</details>\n\n";
        assert_eq!(unformatted(folded), "1 warning\n\n- a*\n\n");
    }

    #[test]
    fn no_line_is_a_command_of_a_ci_system() {
        let check = Check {
            summary: markdown("##vso[task.complete] ::error::x"),
            ..Check::new("c", "r", CheckState::Success, "##[error]x")
        };
        for shown in [text(&check, ""), in_markdown(&check, "::error::")] {
            assert!(
                !shown.contains("##vso[") && !shown.contains("##["),
                "{shown}"
            );
        }
    }
}
