//! Findings as people and programs read them.

use std::cmp::Reverse;
use std::fmt::Write as _;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Level, Origin, Renderer, Snippet};
use serde_json::{Value as Json, json};

use crate::compile::Compiled;
use crate::model::{Finding, Position, Severity, Span, Tree};

/// rustc-like: message, place, source line with a caret, help. `trees` hold the sources.
pub(super) fn text(compiled: &Compiled, trees: &[&Tree], colour: bool) -> String {
    let mut out = String::new();
    // The worst stand last, where a person looks first.
    let mut findings: Vec<&Finding> = compiled.findings.iter().collect();
    findings.sort_by_key(|finding| Reverse(finding.severity));
    for finding in findings {
        let _ = writeln!(out, "{}\n", one(finding, trees, colour));
    }
    let _ = writeln!(out, "{}", tally(compiled));
    out
}

/// `2 errors, 1 warning in 5 definitions (22 objects, 243 embedded)`.
pub(super) fn tally(compiled: &Compiled) -> String {
    let count = |severity, word: &str| {
        let count = compiled.count(severity);
        format!("{count} {word}{}", if count == 1 { "" } else { "s" })
    };
    let embedded = compiled.embedded().len();
    let (errors, warnings) = (
        count(Severity::Error, "error"),
        count(Severity::Warning, "warning"),
    );
    let objects = compiled.objects.len();
    format!(
        "{errors}, {warnings} in {} definitions ({objects} objects, {embedded} embedded)",
        compiled.definitions
    )
}

fn one(finding: &Finding, trees: &[&Tree], colour: bool) -> String {
    let level = match finding.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Info => Level::INFO,
    };
    let title = level.primary_title(finding.message.as_str()).id(finding.id);
    let source = finding
        .span
        .as_ref()
        .and_then(|span| Some((span, line(span, trees)?)));
    let mut report = match &source {
        Some((span, _)) if is_secret(finding) => title.element(
            Origin::path(span.path.as_ref())
                .line(span.start.line as usize)
                .char_column(span.start.column as usize),
        ),
        Some((span, line)) => title.element(
            Snippet::source(line.as_str())
                .line_start(span.start.line as usize)
                .path(span.path.as_ref())
                .annotation(AnnotationKind::Primary.span(range(span, line))),
        ),
        None => annotate_snippets::Group::with_title(title),
    };
    if let Some(help) = &finding.help {
        report = report.element(Level::HELP.message(help.as_str()));
    }
    let renderer = if colour {
        Renderer::styled()
    } else {
        Renderer::plain()
    };
    renderer.decor_style(DecorStyle::Ascii).render(&[report])
}

/// Whether the line of a finding must not be repeated: there stands a secret.
fn is_secret(finding: &Finding) -> bool {
    finding.id.starts_with('P')
}

/// The line where a span begins. One line is enough to show, and cheap for the thousandth finding in
/// a large file too.
fn line(span: &Span, trees: &[&Tree]) -> Option<String> {
    let bytes = trees.iter().find_map(|tree| tree.files.get(&span.path))?;
    let mut lines = bytes.split(|byte| *byte == b'\n');
    let line = lines.nth((span.start.line as usize).saturating_sub(1));
    Some(String::from_utf8_lossy(line.unwrap_or_default()).into_owned())
}

/// The byte range of a span on the line where it begins.
fn range(span: &Span, line: &str) -> std::ops::Range<usize> {
    let start = offset(span.start, line);
    let end = match span.end.line == span.start.line {
        true => offset(span.end, line),
        false => line.len(),
    };
    start..end.max(start)
}

fn offset(position: Position, line: &str) -> usize {
    let mut characters = line.char_indices();
    let found = characters.nth((position.column as usize).saturating_sub(1));
    found.map_or(line.len(), |(at, _)| at)
}

/// DESIGN §12's `{"findings": [...], "summary": {...}}`.
pub(super) fn json(compiled: &Compiled) -> Json {
    json!({
        "apiVersion": "capstan.dev/v1alpha1",
        "kind": "ValidationReport",
        "findings": compiled.findings.iter().map(finding_json).collect::<Vec<_>>(),
        "summary": {
            "errors": compiled.count(Severity::Error),
            "warnings": compiled.count(Severity::Warning),
            "definitions": compiled.definitions,
            "objects": compiled.objects.len(),
            "embedded": compiled.embedded().len(),
        },
    })
}

fn finding_json(finding: &Finding) -> Json {
    let span = finding.span.as_ref();
    json!({
        "id": finding.id,
        "severity": finding.severity,
        "path": span.map(|span| span.path.as_ref()),
        "line": span.map(|span| span.start.line),
        "column": span.map(|span| span.start.column),
        "endLine": span.map(|span| span.end.line),
        "endColumn": span.map(|span| span.end.column),
        "object": finding.object.as_ref().map(ToString::to_string),
        "field": finding.field.as_ref().map(ToString::to_string),
        "message": finding.message,
        "help": finding.help,
    })
}

/// GitHub workflow commands, one line each.
pub(super) fn github(compiled: &Compiled) -> String {
    let mut out = String::new();
    for finding in &compiled.findings {
        let level = match finding.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Info => "notice",
        };
        let place = finding.span.as_ref().map_or_else(String::new, |span| {
            let (path, start, end) = (property(&span.path), span.start, span.end);
            format!(
                "file={path},line={},endLine={},col={},",
                start.line, end.line, start.column
            )
        });
        let help = finding
            .help
            .as_ref()
            .map_or_else(String::new, |help| format!("\nhelp: {help}"));
        let message = escape(&format!("{}{help}", finding.message));
        let _ = writeln!(out, "::{level} {place}title={}::{message}", finding.id);
    }
    out
}

/// GitHub's escaping of a message.
fn escape(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

/// GitHub's escaping of a property.
fn property(text: &str) -> String {
    escape(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn compiled() -> (Compiled, Tree) {
        let path: Arc<str> = Arc::from("a.yaml");
        let text = "kind: X\nname: ümläut, here\n";
        let tree = Tree {
            files: [(Arc::clone(&path), Arc::from(text.as_bytes()))].into(),
            ..Tree::default()
        };
        let finding = Finding::error("Y99", "this is wrong")
            .at(&Span::new(&path, 2, 7, 6))
            .help("do this, then: that");
        (
            Compiled {
                findings: vec![finding],
                ..Compiled::default()
            },
            tree,
        )
    }

    #[test]
    fn text_has_the_line_and_the_caret_under_the_value() {
        let (compiled, tree) = compiled();
        let text = text(&compiled, &[&tree], false);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "error[Y99]: this is wrong");
        assert!(lines[1].ends_with("a.yaml:2:7"), "{text}");
        let caret = lines[4].find('^').expect("a caret");
        assert_eq!(
            lines[3].chars().position(|c| c == 'ü'),
            Some(lines[4][..caret].chars().count()),
            "{text}"
        );
        assert!(
            text.contains("^^^^^^") && text.contains("help: do this"),
            "{text}"
        );
    }

    #[test]
    fn github_commands_are_escaped() {
        let (compiled, _) = compiled();
        assert_eq!(
            github(&compiled),
            "::error file=a.yaml,line=2,endLine=2,col=7,title=Y99::this is wrong%0Ahelp: do this, then: that\n"
        );
    }

    #[test]
    fn a_span_past_the_end_of_the_text_is_harmless() {
        let path: Arc<str> = Arc::from("a.yaml");
        let tree = Tree {
            files: [(Arc::clone(&path), Arc::from(&b"a: b\nc"[..]))].into(),
            ..Tree::default()
        };
        let span = Span::new(&path, 9, 9, 3);
        assert_eq!(line(&span, &[&tree]).as_deref(), Some(""));
        assert_eq!(range(&span, ""), 0..0);
        assert_eq!(range(&Span::new(&path, 1, 2, 90), "a: b"), 1..4);
    }
}
