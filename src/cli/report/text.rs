//! Findings as rustc shows them: message, place, source line with a caret, help.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::fmt::Write as _;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};

use super::listing::{Report, counted};
use crate::cli::ui::{plain, without_commands};
use crate::compile::{Allowed, Checked};
use crate::model::cut::until;
use crate::model::words::is_unseen;
use crate::model::{Finding, Position, Segment, Severity, Span, Tree, rule_id};
use crate::rules::sensitive;

/// The longest line that is shown, in bytes.
const WIDEST: usize = 4_000;

/// How text is shown.
pub(in crate::cli) struct Style<'a> {
    /// Whether it is coloured.
    pub(in crate::cli) colour: bool,
    /// How the path of a file is shown.
    pub(in crate::cli) place: &'a dyn Fn(&str) -> String,
}

impl Style<'_> {
    /// Without colours, and with paths as they are.
    #[cfg(test)]
    pub(super) fn plain() -> Self {
        Self {
            colour: false,
            place: &str::to_owned,
        }
    }

    /// The same text, in which places of these files are shown as their paths are.
    fn places(&self, text: &str, trees: &[&Tree]) -> String {
        let place = |word: &str| {
            let (before, from) = until(word, |c| !matches!(c, '(' | '`' | '"'));
            let (path, _) = from.split_once(':')?;
            let known = trees.iter().any(|tree| tree.files.contains_key(path));
            known.then(|| {
                word.replacen(
                    &format!("{before}{path}"),
                    &format!("{before}{}", (self.place)(path)),
                    1,
                )
            })
        };
        let words = text.split_inclusive(' ');
        words
            .map(|word| place(word).unwrap_or_else(|| word.to_owned()))
            .collect()
    }
}

/// The findings, what is allowed, and how many there are. `trees` hold the sources.
pub(in crate::cli) fn text(report: &Report<'_>, trees: &[&Tree], style: &Style<'_>) -> String {
    let mut out = String::new();
    let compiled = report.compiled;
    // The worst come last, where a person looks first.
    let mut findings: Vec<&Finding> = report.findings().collect();
    findings.sort_by_key(|finding| Reverse(finding.severity));
    let sources = Sources::of(compiled, trees);
    for finding in findings {
        let places = |text: &str| style.places(text, trees);
        let shown = Finding {
            message: places(&finding.message),
            help: finding.help.as_deref().map(places),
            ..finding.clone()
        };
        let _ = writeln!(out, "{}\n", one(&shown, &sources, style));
    }
    if !compiled.allowed.is_empty() && report.level >= Severity::Warning {
        let count = counted(compiled.allowed.len(), "warning");
        let lines = compiled.allowed.iter();
        let lines: String = lines.map(|allowed| leave(allowed, style)).collect();
        let _ = writeln!(out, "{count} allowed:\n{lines}");
    }
    let _ = writeln!(out, "{}", tally(compiled));
    if let Some(others) = report.others() {
        let _ = writeln!(out, "{others}");
    }
    // Lines of the sources are among it.
    without_commands(&out).into_owned()
}

/// `2 errors, 1 warning in 5 definitions (22 objects, 243 embedded)`, and what was not checked.
fn tally(compiled: &Checked) -> String {
    let count = |severity, word| counted(compiled.count(severity), word);
    let (errors, warnings) = (
        count(Severity::Error, "error"),
        count(Severity::Warning, "warning"),
    );
    let definitions = counted(compiled.definitions, "definition");
    let objects = counted(compiled.object_count, "object");
    let embedded = compiled.embedded_count;
    let all = format!("{errors}, {warnings} in {definitions} ({objects}, {embedded} embedded)");
    match (compiled.definitions, compiled.unread) {
        (0, _) if compiled.object_count == 0 && !compiled.has_errors() => {
            format!("{all}: nothing was checked")
        }
        (_, 0) => all,
        (_, unread) => {
            let unread = counted(unread, "definition");
            format!("{all}; the rules were not checked for {unread} that could not be read")
        }
    }
}

/// The line of a warning that is allowed.
fn leave(allowed: &Allowed, style: &Style<'_>) -> String {
    let place = allowed.finding.span.as_ref().map(|span| {
        let (path, start) = ((style.place)(&span.path), span.start);
        format!("{path}:{}:{}", start.line, start.column)
    });
    let (id, place) = (allowed.finding.id, place.unwrap_or_default());
    plain(&format!("  {id} {place}: {}", allowed.reason)) + "\n"
}

fn one(finding: &Finding, sources: &Sources<'_>, style: &Style<'_>) -> String {
    let level = match finding.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Info => Level::INFO,
    };
    let message = plain(&finding.message);
    let title = level.primary_title(message).id(finding.id);
    let span = finding.span.as_ref();
    let source = span.and_then(|span| Some((span, sources.0.get(&*span.path)?)));
    let mut report = match source.map(|(span, source)| (span, source.shown(finding, span))) {
        Some((span, Some(line))) => title.element(
            Snippet::source(line.clone())
                .line_start(span.start.line as usize)
                .path(plain(&(style.place)(&span.path)))
                .annotation(AnnotationKind::Primary.span(range(span, &line))),
        ),
        Some((span, None)) => title.element(
            Origin::path(plain(&(style.place)(&span.path)))
                .line(span.start.line as usize)
                .char_column(span.start.column as usize),
        ),
        // A file that was not read.
        None => match span {
            Some(span) => title.element(Origin::path(plain(&(style.place)(&span.path)))),
            None => Group::with_title(title),
        },
    };
    if let Some(scope) = finding.scope() {
        report = report.element(Level::NOTE.message(plain(&scope)));
    }
    if let Some(help) = &finding.help {
        report = report.element(Level::HELP.message(plain(help)));
    }
    let renderer = match style.colour {
        true => Renderer::styled(),
        false => Renderer::plain(),
    };
    renderer.decor_style(DecorStyle::Ascii).render(&[report])
}

/// The files that findings point at, by path.
struct Sources<'t>(HashMap<&'t str, Source<'t>>);

impl<'t> Sources<'t> {
    fn of(compiled: &'t Checked, trees: &[&'t Tree]) -> Self {
        let allowed = compiled.allowed.iter().map(|allowed| &allowed.finding);
        let mut sources = HashMap::new();
        for finding in compiled.findings.iter().chain(allowed) {
            let span = finding.span.as_ref();
            let file = |span: &Span| trees.iter().find_map(|tree| tree.files.get(&span.path));
            let Some((span, text)) = span.and_then(|span| Some((span, file(span)?))) else {
                continue;
            };
            let source = sources.entry(&*span.path);
            let source: &mut Source<'_> = source.or_insert_with(|| Source::of(text));
            if finding.id.starts_with('P') || is_of_client_secret(finding) {
                source.hide(span);
            }
        }
        Self(sources)
    }
}

/// A file, split once for all its findings.
struct Source<'t> {
    lines: Vec<&'t [u8]>,
    /// Which of them are never repeated, because they may hold a secret.
    hidden: Vec<bool>,
}

impl<'t> Source<'t> {
    fn of(text: &'t [u8]) -> Self {
        // Columns are counted behind a byte order mark.
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        let lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
        let mut hidden = Vec::with_capacity(lines.len());
        // `---` parts documents wherever a line begins with it, between quotes too.
        for document in lines.chunk_by(|_, next| !next.starts_with(b"---")) {
            let holds_secret = document.iter().any(|line| names_secret(line));
            hidden.resize(hidden.len() + document.len(), holds_secret);
        }
        Self { lines, hidden }
    }

    fn hide(&mut self, span: &Span) {
        let lines = self.hidden.iter_mut().take(span.end.line as usize);
        let lines = lines.skip((span.start.line as usize).saturating_sub(1));
        lines.for_each(|hidden| *hidden = true);
    }

    /// What to show of the line where a finding begins; one line is enough. Of a finding about a comment
    /// only the comment is shown, because the value before it may be a secret; nothing of a line that is hidden,
    /// or of an operation of a patch, which may hold any value; and nothing of a line that is too long to read, whose findings
    /// would each take as long as it is.
    fn shown(&self, finding: &Finding, span: &Span) -> Option<String> {
        let at = (span.start.line as usize).saturating_sub(1);
        let line = self.lines.get(at).copied().unwrap_or_default();
        if line.len() > WIDEST {
            return None;
        }
        let line = String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line));
        // The renderer shows those of ASCII.
        let seen = |c: char| match c.is_ascii() || !is_unseen(c) {
            true => c,
            false => char::REPLACEMENT_CHARACTER,
        };
        let line: String = line.chars().map(seen).collect();
        if finding.id.starts_with("Y2") {
            let start = offset(span.start, &line);
            let (before, comment) = line.split_at_checked(start).unwrap_or_default();
            let blank: String = before.chars().map(|_| ' ').collect();
            return Some(format!("{blank}{comment}"));
        }
        let hidden = finding.id == rule_id::UNAPPLICABLE_PATCH
            || self.hidden.get(at).is_some_and(|hidden| *hidden);
        (!hidden).then_some(line)
    }
}

/// Whether a value does not fit where only a reference to a client's secret is allowed: it may be one.
fn is_of_client_secret(finding: &Finding) -> bool {
    let mut steps = finding.field.iter().flat_map(|field| &field.0);
    finding.id.starts_with('S')
        && steps.any(|step| matches!(step, Segment::Key(name) if sensitive::names_secret(name)))
}

/// Whether a line has a word that begins with `Secret`, as the kind does, a misspelt form of the kind, or the field
/// that only Secrets have. The text is asked, not what was read of it: a document that cannot be read has secrets
/// too.
fn names_secret(line: &[u8]) -> bool {
    let word = |at: usize| at == 0 || !line[at - 1].is_ascii_alphanumeric();
    let begins = |name: &[u8]| {
        let mut places = line.windows(name.len()).enumerate();
        places.any(|(at, part)| part == name && word(at))
    };
    begins(b"Secret") || begins(b"stringData") || is_kind_like_secret(line)
}

/// Whether a line gives a kind that is at most two letters off `Secret`, in any case.
fn is_kind_like_secret(line: &[u8]) -> bool {
    let line = String::from_utf8_lossy(line);
    let Some((_, after)) = line.split_once("kind") else {
        return false;
    };
    let after = after.trim_start_matches(|c: char| !c.is_alphanumeric());
    let word = after.split(|c: char| !c.is_alphanumeric()).next();
    let word = word.unwrap_or_default().to_lowercase();
    strsim::osa_distance(&word, "secret") <= 2
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
        let compiled = Checked {
            findings: vec![finding],
            ..Checked::default()
        };
        super::text(&Report::of(&compiled), &[&tree], &Style::plain())
    }

    /// The column of the caret, and how many carets there are.
    fn caret(shown: &str) -> (usize, usize) {
        let line = shown.lines().nth(4).unwrap_or_default();
        let before = line.chars().take_while(|c| *c != '^').count();
        (before, line.matches('^').count())
    }

    #[test]
    fn no_control_character_of_a_line_is_shown() {
        let text = shown("a: \u{85}\u{9b}2J\u{1b}[31mb\n", (1, 1, 2));
        assert!(
            !text.contains(|c: char| c.is_control() && c != '\n'),
            "{text:?}"
        );
    }

    #[test]
    fn the_caret_is_under_the_value() {
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
    fn a_line_that_nobody_can_read_is_not_shown() {
        let long = "x".repeat(WIDEST);
        let text = shown(&format!("{long}\n"), (1, 4_000, 1));
        assert!(text.contains("xxxx"), "{text}");
        let text = shown(&format!("{long}x\n"), (1, 4_000, 1));
        assert!(
            !text.contains("xxxx") && text.contains("a b%.yaml:1:4000"),
            "{text}"
        );
    }

    #[test]
    fn what_was_not_checked_is_told() {
        let compiled = Checked {
            definitions: 3,
            unread: 1,
            ..Checked::default()
        };
        let told = "0 errors, 0 warnings in 3 definitions (0 objects, 0 embedded); the rules were not checked for 1 definition that could not be read";
        assert_eq!(tally(&compiled), told);
    }

    #[test]
    fn a_file_that_was_not_read_is_named() {
        let span = Span::top(&Arc::from("clusters/one.yaml"));
        let compiled = Checked {
            findings: vec![Finding::error("Y08", "the file cannot be read").at(&span)],
            ..Checked::default()
        };
        let text = super::text(&Report::of(&compiled), &[], &Style::plain());
        assert!(text.contains("--> clusters/one.yaml\n"), "{text}");
    }

    #[test]
    fn a_span_past_the_end_of_the_text_is_harmless() {
        assert!(shown("a: b\nc", (9, 9, 3)).contains("this is wrong"));
        assert!(shown("", (0, 0, 0)).contains("this is wrong"));
        let path: Arc<str> = Arc::from("a.yaml");
        assert_eq!(range(&Span::new(&path, 9, 9, 3), ""), 0..0);
        assert_eq!(range(&Span::new(&path, 1, 2, 90), "a: b"), 1..4);
    }

    /// What is shown of a finding `id` at these columns of a line, beside others.
    fn shown_of(text: &str, findings: &[(&'static str, (u32, u32, u32))]) -> String {
        let path: Arc<str> = Arc::from("a.yaml");
        let tree = Tree {
            files: [(Arc::clone(&path), Arc::from(text.as_bytes()))].into(),
            ..Tree::default()
        };
        let finding = |(id, at): &(&'static str, (u32, u32, u32))| {
            Finding::error(id, "odd").at(&Span::new(&path, at.0, at.1, at.2))
        };
        let compiled = Checked {
            findings: findings.iter().map(finding).collect(),
            ..Checked::default()
        };
        super::text(&Report::of(&compiled), &[&tree], &Style::plain())
    }

    #[test]
    fn what_comes_before_a_comment_is_not_repeated() {
        let text = "password: hunter2 # capstan:allow N08 x\n";
        let shown = shown_of(text, &[("Y23", (1, 19, 21))]);
        assert!(!shown.contains("hunter2"), "{shown}");
        assert!(shown.contains("# capstan:allow N08 x"), "{shown}");
    }

    #[test]
    fn no_line_of_a_document_with_a_secret_is_repeated() {
        for (document, at) in [
            ("{kind: Secret, stringData: {password: hunter2}}", (3, 2, 4)),
            (
                "{\"kind\": \"Secret\", \"data\": {\"a\": \"hunter2\"}}",
                (3, 2, 4),
            ),
            ("password: hunter2: four\nkind: 'Secret'", (3, 18, 1)),
            ("kind: SecretList\nitems: [{data: {a: hunter2}}]", (4, 2, 2)),
            ("patch: {stringData: {a: hunter2}}", (3, 2, 2)),
        ] {
            let shown = shown_of(&format!("a: b\n---\n{document}\n"), &[("Y01", at)]);
            assert!(!shown.contains("hunter2"), "{shown}");
            let place = format!("--> a.yaml:{}:{}", at.0, at.1);
            assert!(shown.contains(&place), "{shown}");
        }
        // Others beside it are, and those that only refer to one.
        let text = "kind: Secret\n---\nclientSecret: {name: b}\n---\nkind: Secret\n";
        let shown = shown_of(text, &[("S01", (3, 1, 12))]);
        assert!(shown.contains("3 | clientSecret: {name: b}"), "{shown}");
    }

    #[test]
    fn no_line_of_a_misspelt_secret_is_repeated() {
        for kind in ["secret", "Secert", "SECRETS", "\"secret\""] {
            let text = format!("kind: {kind}\ndata: {{password: hunter2: x}}\n");
            let shown = shown(&text, (2, 8, 8));
            assert!(!shown.contains("hunter2"), "{shown}");
        }
        let text = shown("kind: Service\nspec: {type: hunter2: x}\n", (2, 8, 8));
        assert!(text.contains("hunter2"), "{text}");
    }

    #[test]
    fn a_line_with_a_secret_is_not_repeated_by_other_findings() {
        let text = "a: [{clientSecret: hunter2}]\nb: c\n";
        let shown = shown_of(text, &[("S01", (1, 1, 1)), ("P04", (1, 20, 7))]);
        assert!(!shown.contains("hunter2"), "{shown}");
        assert_eq!(shown.matches("--> a.yaml:1:").count(), 2, "{shown}");
    }

    #[test]
    fn a_reference_to_a_client_secret_that_is_none_is_not_repeated() {
        for secret in [
            "{name: s, value: hunter2}",
            "{name: s, other: hunter2}",
            "{other: {a: hunter2}}",
            "123456789",
        ] {
            let spec = "type: ServicePrincipal, clientSecret";
            let text = format!(
                "apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: AzureClusterIdentity\nmetadata: {{name: i, namespace: c}}\nspec: {{tenantID: t, clientID: c, {spec}: {secret}}}\n"
            );
            let tree = Tree {
                files: [(Arc::from("a.yaml"), Arc::from(text.as_bytes()))].into(),
                ..Tree::default()
            };
            let shown = super::text(
                &Report::of(&crate::compile::compile(&tree, &[])),
                &[&tree],
                &Style::plain(),
            );
            assert!(
                shown.contains("[S0") && shown.contains("--> a.yaml:4:"),
                "{shown}"
            );
            let leaked = ["hunter2", "123456789"]
                .iter()
                .any(|value| shown.contains(value));
            assert!(!leaked, "{shown}");
        }
    }

    #[test]
    fn an_operation_of_a_patch_is_not_repeated() {
        let text = "- {op: test, path: /data/pw, value: hunter2}\n";
        let shown = shown_of(text, &[("O02", (1, 37, 7))]);
        assert!(!shown.contains("hunter2"), "{shown}");
        assert!(shown.contains("--> a.yaml:1:37"), "{shown}");
    }

    #[test]
    fn a_terminal_is_not_moved() {
        let finding = Finding::warning("Y99", "odd \u{1b}[2J\r\n::error::").help("\u{9b}31m");
        let compiled = Checked {
            findings: vec![finding],
            ..Checked::default()
        };
        let shown = super::text(&Report::of(&compiled), &[], &Style::plain());
        assert!(!shown.contains(['\u{1b}', '\r', '\u{9b}']), "{shown:?}");
        assert!(
            !shown.lines().any(|line| line.trim().starts_with("::")),
            "{shown:?}"
        );
    }
}
