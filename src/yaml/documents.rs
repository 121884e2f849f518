//! Reads the documents of one file and recovers from syntax errors.
//!
//! In: the bytes of a file. Out: its documents and findings. It does not know what a document means.

use std::ops::ControlFlow;
use std::sync::Arc;

use serde_saphyr::granit_parser as events;
use serde_saphyr::granit_parser::{
    ErrorKind, Event, Parser, ScalarStyle, ScanError, StrInput, Tag,
};

use super::builder::{Builder, File};
use super::entries::{Entries, key_text};
use super::markers::without_markers;
use super::scalar;
use super::syntax::{self, Read, number};
use crate::model::{Budget, Finding, Limit, Node, Origin, Position, Span, Value, rule_id};

/// Reads the documents of a file, YAML or JSON. A document that cannot be read becomes a finding
/// (Y01, Y02, Y05, Y06, Y08) and the others are still returned; empty documents are dropped.
///
/// A value that comes from an alias or a merge key points at the place where it is written.
#[must_use]
pub fn read(path: &Arc<str>, text: &[u8]) -> (Vec<Node>, Vec<Finding>) {
    let file = read_file(path, text);
    (file.documents, file.findings)
}

/// The same, with what can be read of broken documents.
#[must_use]
pub fn read_file(path: &Arc<str>, text: &[u8]) -> File {
    // A file of one gigabyte would exceed this, and none is read that is so large.
    read_within(path, text, &Budget::default().with(Limit::Values, u64::MAX)).unwrap_or_default()
}

/// The same as one of many files; `None` if `budget` allows the tree no more values.
#[must_use]
pub fn read_within(path: &Arc<str>, text: &[u8], budget: &Budget) -> Option<File> {
    let unreadable = |finding| {
        Some(File {
            broken: vec![Node::new(Value::Null, &Origin::new(Span::top(path)))],
            findings: vec![finding],
            ..File::default()
        })
    };
    if let Some(at) = text.iter().position(|byte| *byte == 0) {
        return unreadable(holds_nul(path, &text[..at]));
    }
    match std::str::from_utf8(text) {
        Ok(text) => {
            // Editors do not count a byte order mark as a column.
            let text = text.strip_prefix('\u{feff}').unwrap_or(text);
            let (text, mut findings) = without_markers(path, text);
            let mut file = Reader::new(path, &text, budget).read()?;
            findings.append(&mut file.findings);
            Some(File { findings, ..file })
        }
        Err(error) => unreadable(not_utf8(path, text, error.valid_up_to())),
    }
}

/// UTF-8 text has no NUL bytes, and UTF-16 text almost always has some.
fn holds_nul(path: &Arc<str>, before: &[u8]) -> Finding {
    let Position { line, column } = syntax::end_of(&String::from_utf8_lossy(before));
    Finding::error("Y08", "the file contains a NUL byte; is it UTF-16?")
        .at(&Span::new(path, line, column, 1))
        .help("save the file as UTF-8")
}

fn not_utf8(path: &Arc<str>, text: &[u8], valid: usize) -> Finding {
    let Position { line, column } = syntax::end_of(&String::from_utf8_lossy(&text[..valid]));
    Finding::error(
        "Y08",
        format!("byte {} of the file is not UTF-8", valid + 1),
    )
    .at(&Span::new(path, line, column, 1))
    .help("save the file as UTF-8")
}

struct Reader<'t> {
    path: &'t Arc<str>,
    text: &'t str,
    parser: Parser<'t, StrInput<'t>>,
    /// Where the last event ended, in bytes: a syntax error lies after it.
    read_up_to: usize,
    /// Where the last text began. It may hold lines that were meant as keys.
    text_from: usize,
    builder: Builder<'t>,
}

impl<'t> Reader<'t> {
    fn new(path: &'t Arc<str>, text: &'t str, budget: &'t Budget) -> Self {
        let options = events::options! { emit_comments: false, emit_unresolved_aliases: true };
        Self {
            path,
            text,
            parser: Parser::new_from_str_with_options(text, options),
            read_up_to: 0,
            text_from: 0,
            builder: Builder::new(budget),
        }
    }

    fn read(mut self) -> Option<File> {
        while let Some(next) = self.parser.next_event() {
            let taken = match next {
                Ok((event, range)) => self.event(event, range),
                Err(error) => self.syntax_error(&error),
            };
            if taken.is_break() && (self.builder.is_over() || !self.next_document()) {
                break;
            }
        }
        self.builder.done()
    }

    /// Abandons the document; returns false at the end of the file.
    fn next_document(&mut self) -> bool {
        self.builder.abandon(&Origin::new(Span::top(self.path)));
        self.parser.proceed_next_document().unwrap_or(false)
    }

    /// Handles an event; breaks if the document must be abandoned.
    fn event(&mut self, event: Event<'t>, range: events::Span) -> ControlFlow<()> {
        let origin = Origin::new(self.span(range));
        self.read_up_to = range.end.byte_offset().unwrap_or(self.read_up_to);
        self.text_from = match event {
            Event::Scalar(..) => range.start.byte_offset().unwrap_or(self.read_up_to),
            _ => self.read_up_to,
        };
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                if style == ScalarStyle::Plain && text == "<<" && self.merges() {
                    return ControlFlow::Continue(());
                }
                let value = self.value(&text, style, tag.as_deref(), &origin);
                if let Some(finding) = changed_key(&text, &value, &origin)
                    && self
                        .builder
                        .open_entries()
                        .is_some_and(|open| open.at_key())
                {
                    self.builder.report(finding);
                }
                self.builder.scalar(value, origin, anchor)
            }
            Event::MappingStart(_, anchor, _) => self.builder.open_map(origin, anchor),
            Event::SequenceStart(_, anchor, _) => self.builder.open_list(origin, anchor),
            Event::MappingEnd | Event::SequenceEnd => self.builder.close(),
            Event::Alias(anchor) => self.builder.alias(anchor, &origin),
            Event::UnresolvedAlias(_) => {
                self.builder.report(unknown_anchor(&origin));
                self.builder.scalar(Value::Null, origin, 0)
            }
            Event::DocumentEnd => {
                self.builder.end_document();
                ControlFlow::Continue(())
            }
            _ => ControlFlow::Continue(()),
        }
    }

    /// Handles `<<` as a merge key, if it is in the position of a key.
    fn merges(&mut self) -> bool {
        let at_key = |entries: &&mut Entries| entries.at_key();
        let entries = self.builder.open_entries().filter(at_key);
        entries.map(Entries::merge_key).is_some()
    }

    fn value(
        &mut self,
        text: &str,
        style: ScalarStyle,
        tag: Option<&Tag>,
        origin: &Origin,
    ) -> Value {
        let known = tag.and_then(|tag| tag.suffix_in_namespace("tag:yaml.org,2002:"));
        if known.as_deref() == Some("binary") {
            return self.binary(text, origin);
        }
        let resolves = match tag.map(Tag::core_suffix) {
            None => style == ScalarStyle::Plain,
            Some(Some("null" | "bool" | "int" | "float")) => true,
            Some(_) => false,
        };
        if !resolves {
            return scalar::string(text);
        }
        if scalar::is_beyond_json(text) {
            self.builder.report(beyond_json(origin));
        }
        scalar::resolve(text)
    }

    fn binary(&mut self, text: &str, origin: &Origin) -> Value {
        scalar::binary(text).unwrap_or_else(|| {
            self.builder.report(not_base64(origin));
            scalar::string("")
        })
    }

    fn syntax_error(&mut self, error: &ScanError) -> ControlFlow<()> {
        // An explanation reads the text from its beginning.
        if self.builder.is_full() {
            return ControlFlow::Break(());
        }
        if *error.kind() == ErrorKind::ExpectedDocumentStart {
            self.builder.reopen();
        }
        let start = Position {
            line: number(error.marker().line()),
            column: number(error.marker().col() + 1),
        };
        let unread = self.text.get(self.read_up_to..).unwrap_or_default();
        let read = Read {
            text: self.text,
            unread,
            last: self.text.get(self.text_from..).unwrap_or_default(),
            bracket: self.builder.open_bracket(),
        };
        let fault = syntax::explain(error.kind(), start, &read);
        let span = Span::new(self.path, fault.start.line, fault.start.column, 1);
        // Braces that are no map, as in templates, are reported before the error that they lead to.
        if !self.builder.has_reported(span.start.line) {
            let finding = Finding::error(fault.id, fault.message).at(&span);
            self.builder.report(finding.help(fault.help));
        }
        ControlFlow::Break(())
    }

    fn span(&self, range: events::Span) -> Span {
        let position = |marker: events::Marker| Position {
            line: number(marker.line()),
            column: number(marker.col() + 1),
        };
        Span {
            path: Arc::clone(self.path),
            start: position(range.start),
            end: position(range.end),
        }
    }
}

/// What to say of a text that, as a key, becomes another text.
fn changed_key(text: &str, value: &Value, origin: &Origin) -> Option<Finding> {
    if matches!(value, Value::String(_)) {
        return None;
    }
    let read = key_text(value).filter(|read| *read != text)?;
    let message = match value {
        // How Kubernetes' tools write it depends on its size.
        Value::Float(..) => format!("the key `{text}` is read as the number {read}"),
        _ => format!("the key `{text}` is read as `{read}`"),
    };
    let finding = Finding::warning("Y19", message).at(origin.span());
    Some(finding.help(format!(
        "to keep the text, put quotes around it: `\"{text}\"`"
    )))
}

/// The message leaves out the name, since people write passwords that begin with `*`.
fn unknown_anchor(origin: &Origin) -> Finding {
    Finding::error(rule_id::UNREADABLE_FILE, "this alias refers to an anchor that is not defined above it")
        .at(origin.span())
        .help("define the anchor with `&` earlier in the same document, or put quotes around the value if it is text")
}

/// The message leaves out the value, since it may be part of a Secret.
fn not_base64(origin: &Origin) -> Finding {
    Finding::error(
        rule_id::UNREADABLE_FILE,
        "the value of this `!!binary` is not valid base64",
    )
    .at(origin.span())
    .help("correct it, or remove the tag `!!binary` if the value is text")
}

/// The message leaves out the number, since it may be part of a Secret.
fn beyond_json(origin: &Origin) -> Finding {
    Finding::error(
        rule_id::UNREADABLE_FILE,
        "JSON cannot represent this number",
    )
    .at(origin.span())
    .help("write a finite number, or put quotes around the value if it is text")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_becomes_another_text_is_a_warning() {
        let found = |text: &str| -> Vec<String> {
            let found = read(&Arc::from("a.yaml"), text.as_bytes()).1;
            let say = |one: &Finding| format!("{} {}", one.id, one.message);
            found.iter().map(say).collect()
        };
        assert_eq!(
            found("{no: 1, 012: 2, 12: 3, \"on\": 4, true: 5, 1_0.5: 6}\n"),
            [
                "Y19 the key `no` is read as `false`",
                "Y19 the key `012` is read as `10`",
                "Y19 the key `1_0.5` is read as the number 10.5",
            ]
        );
        assert_eq!(found("a: no\n"), [""; 0]);
    }
}
