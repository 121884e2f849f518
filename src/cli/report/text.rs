//! Findings as rustc shows them: message, place, source line with a caret, help.

use std::cmp::Reverse;
use std::fmt::Write as _;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};

use crate::compile::{Allowed, Compiled};
use crate::model::{Finding, Position, Severity, Span, Tree};

/// All findings, what is allowed, and how many there are. `trees` hold the sources.
pub(in crate::cli) fn text(compiled: &Compiled, trees: &[&Tree], colour: bool) -> String {
    let mut out = String::new();
    // The worst stand last, where a person looks first.
    let mut findings: Vec<&Finding> = compiled.findings.iter().collect();
    findings.sort_by_key(|finding| Reverse(finding.severity));
    for finding in findings {
        let _ = writeln!(out, "{}\n", one(finding, trees, colour));
    }
    if !compiled.allowed.is_empty() {
        let count = counted(compiled.allowed.len(), "warning");
        let lines: String = compiled.allowed.iter().map(leave).collect();
        let _ = writeln!(out, "{count} allowed:\n{lines}");
    }
    let _ = writeln!(out, "{}", tally(compiled));
    out
}

/// `2 errors, 1 warning in 5 definitions (22 objects, 243 embedded)`.
fn tally(compiled: &Compiled) -> String {
    let count = |severity, word| counted(compiled.count(severity), word);
    let (errors, warnings) = (
        count(Severity::Error, "error"),
        count(Severity::Warning, "warning"),
    );
    let definitions = counted(compiled.definitions, "definition");
    let objects = counted(compiled.objects.len(), "object");
    let embedded = compiled.embedded().len();
    format!("{errors}, {warnings} in {definitions} ({objects}, {embedded} embedded)",)
}

fn counted(count: usize, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}

/// The line of a warning that is allowed.
fn leave(allowed: &Allowed) -> String {
    let place = allowed.finding.span.as_ref().map(ToString::to_string);
    let (id, place) = (allowed.finding.id, place.unwrap_or_default());
    format!("  {id} {place}: {}\n", plain(&allowed.reason))
}

fn one(finding: &Finding, trees: &[&Tree], colour: bool) -> String {
    let level = match finding.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Info => Level::INFO,
    };
    let message = plain(&finding.message);
    let title = level.primary_title(message).id(finding.id);
    let source = finding.span.as_ref();
    let source = source.and_then(|span| Some((span, shown_line(finding, line(span, trees)?))));
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
        None => Group::with_title(title),
    };
    if let Some(scope) = finding.scope() {
        report = report.element(Level::NOTE.message(scope));
    }
    if let Some(help) = &finding.help {
        report = report.element(Level::HELP.message(plain(help)));
    }
    let renderer = match colour {
        true => Renderer::styled(),
        false => Renderer::plain(),
    };
    renderer.decor_style(DecorStyle::Ascii).render(&[report])
}

/// A text whose control characters cannot move the cursor of a terminal.
fn plain(text: &str) -> String {
    let shown = |c: char| match c {
        '\n' => c,
        c if c.is_control() => char::REPLACEMENT_CHARACTER,
        c => c,
    };
    text.chars().map(shown).collect()
}

/// The line of a finding. Of one about a remark only that is shown: what it stands behind may be a
/// secret.
fn shown_line(finding: &Finding, line: String) -> String {
    let start = finding.span.as_ref().map(|span| span.start);
    match start.filter(|_| finding.id.starts_with("Y2")) {
        Some(start) => {
            let (before, remark) = line.split_at(offset(start, &line));
            let blank: String = before.chars().map(|_| ' ').collect();
            format!("{blank}{remark}")
        }
        None => line,
    }
}

/// Whether the line of a finding must not be repeated: there stands a secret.
fn is_secret(finding: &Finding) -> bool {
    finding.id.starts_with('P')
}

/// The line where a span begins. One line is enough to show, and cheap for the thousandth finding in
/// a large file too.
fn line(span: &Span, trees: &[&Tree]) -> Option<String> {
    let bytes = trees.iter().find_map(|tree| tree.files.get(&span.path))?;
    // Columns are counted behind a byte order mark.
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut lines = bytes.split(|byte| *byte == b'\n');
    let line = lines.nth((span.start.line as usize).saturating_sub(1));
    let line = line.unwrap_or_default();
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    Some(String::from_utf8_lossy(line).into_owned())
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    /// A finding at these columns of a line of a file, shown.
    fn shown(text: &str, at: (u32, u32, u32)) -> String {
        let path: Arc<str> = Arc::from("a b%.yaml");
        let tree = Tree {
            files: [(Arc::clone(&path), Arc::from(text.as_bytes()))].into(),
            ..Tree::default()
        };
        let finding = Finding::error("Y99", "this is wrong")
            .at(&Span::new(&path, at.0, at.1, at.2))
            .help("do this, then: that");
        let compiled = Compiled {
            findings: vec![finding],
            ..Compiled::default()
        };
        super::text(&compiled, &[&tree], false)
    }

    /// The column under which the caret stands, and how many there are.
    fn caret(shown: &str) -> (usize, usize) {
        let line = shown.lines().nth(4).unwrap_or_default();
        let before = line.chars().take_while(|c| *c != '^').count();
        (before, line.matches('^').count())
    }

    #[test]
    fn the_caret_stands_under_the_value() {
        let text = shown("kind: X\nname: ümläut, here\n", (2, 7, 6));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "error[Y99]: this is wrong");
        assert!(lines[1].ends_with("a b%.yaml:2:7"), "{text}");
        assert_eq!(lines[3], "2 | name: ümläut, here");
        assert_eq!(caret(&text), (10, 6), "{text}");
        assert!(text.contains("= help: do this, then: that"), "{text}");
    }

    #[test]
    fn line_ends_byte_order_marks_and_tabs_do_not_move_it() {
        assert_eq!(caret(&shown("a: b\r\nc: d\r\n", (2, 4, 1))), (7, 1));
        assert_eq!(caret(&shown("\u{feff}a: b\n", (1, 4, 1))), (7, 1));
        assert_eq!(caret(&shown("a:\tb\n", (1, 4, 1))), (10, 1));
        let past = shown("a: b\r\n", (1, 90, 3));
        assert_eq!(caret(&past), (8, 1), "{past}");
    }

    #[test]
    fn a_span_past_the_end_of_the_text_is_harmless() {
        assert!(shown("a: b\nc", (9, 9, 3)).contains("this is wrong"));
        assert!(shown("", (0, 0, 0)).contains("this is wrong"));
        let path: Arc<str> = Arc::from("a.yaml");
        assert_eq!(range(&Span::new(&path, 9, 9, 3), ""), 0..0);
        assert_eq!(range(&Span::new(&path, 1, 2, 90), "a: b"), 1..4);
    }

    #[test]
    fn what_stands_before_a_remark_is_not_repeated() {
        let path: Arc<str> = Arc::from("a.yaml");
        let text = "password: hunter2 # capstan:allow N08 x\n";
        let tree = Tree {
            files: [(Arc::clone(&path), Arc::from(text.as_bytes()))].into(),
            ..Tree::default()
        };
        let finding = Finding::warning("Y23", "nothing").at(&Span::new(&path, 1, 19, 21));
        let shown = one(&finding, &[&tree], false);
        assert!(!shown.contains("hunter2"), "{shown}");
        assert!(shown.contains("# capstan:allow N08 x"), "{shown}");
    }

    #[test]
    fn a_terminal_is_not_moved() {
        let finding = Finding::warning("Y99", "odd \u{1b}[2J\r").help("\u{9b}31m");
        let shown = one(&finding, &[], false);
        assert!(!shown.contains(['\u{1b}', '\r', '\u{9b}']), "{shown:?}");
    }
}
