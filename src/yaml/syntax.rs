//! Explains the parser's errors.
//!
//! In: an error and the text. Out: the position of the mistake, a message and help. It does not know
//! what the text is for.

use serde_saphyr::granit_parser::ErrorKind;

use crate::model::{Node, Position, rule_id};

/// A syntax error with its position, message and help.
pub(super) struct Fault {
    pub(super) id: &'static str,
    pub(super) start: Position,
    pub(super) message: String,
    pub(super) help: &'static str,
}

/// How far the parser came.
pub(super) struct Read<'t> {
    /// The whole text.
    pub(super) text: &'t str,
    /// What comes after the last event that it understood.
    pub(super) unread: &'t str,
    /// The same, from the start of that event if it is a text.
    pub(super) last: &'t str,
    /// The innermost bracket that is still open.
    pub(super) bracket: Option<Position>,
}

/// Explains an error that the parser reported at `start`.
pub(super) fn explain(kind: &ErrorKind, start: Position, read: &Read<'_>) -> Fault {
    let (text, unread) = (read.text, read.unread);
    if *kind == ErrorKind::RecursionLimitExceeded {
        return too_deep(start);
    }
    let tab = || Some((tab_in_the_way(kind, text, start.line)?, TAB));
    let template = || Some((template(start, text)?, TEMPLATE));
    let quote = || Some((opening_quote(kind, start, text, unread)?, QUOTE));
    let bracket = || Some((unclosed(kind, start, text, read.bracket?)?, BRACKET));
    let colon = || Some((line_without_colon(kind, start, read)?, NO_COLON));
    let indented = || Some((indented_further(kind, start, text)?, INDENTATION));
    let cause = tab().or_else(template).or_else(quote);
    let cause = cause.or_else(bracket).or_else(colon);
    let cause = cause.or_else(indented);
    let cause = cause.or_else(|| Some((start, describe(kind)?)));
    let Some((start, (message, help))) = cause else {
        return in_its_own_words(kind, start);
    };
    Fault {
        id: rule_id::UNREADABLE_FILE,
        start,
        message: message.to_owned(),
        help,
    }
}

type Words = (&'static str, &'static str);

const TAB: Words = (
    "a tab is used for indentation",
    "YAML allows only spaces for indentation: replace the tab with spaces",
);
const TEMPLATE: Words = (
    "this line is a template, and templates are not expanded",
    "write the text that the template stands for, or set it in an overlay",
);
const QUOTE: Words = (
    "this quote is not closed properly",
    "add the closing quote, or indent every following line of the text",
);
const BRACKET: Words = ("this bracket is never closed", "add the closing bracket");
const NO_COLON: Words = (
    "this line has no `:` after its key",
    "write `key: value`, with a space after the `:`",
);
const INDENTATION: Words = (
    "this indentation matches no open map or list",
    "indent this line like the other keys of its map",
);

/// Message and help for common mistakes.
fn describe(kind: &ErrorKind) -> Option<Words> {
    use ErrorKind as E;
    let words = match kind {
        E::MappingValueNotAllowed => (
            "a `:` cannot stand here",
            "put quotes around the text if the `:` is part of it; otherwise put this key on its own line, and check that the key above has a `:` followed by a space",
        ),
        E::ExpectedDocumentStart => (
            "this line is not part of the document above it",
            "indent it like the first line of the document, or put a line with `---` above it",
        ),
        E::ExpectedBlockMappingKey | E::InvalidIndentation | E::MappingKeyNotAllowed => INDENTATION,
        E::ExpectedBlockSequenceEntry => (
            "this list item does not start with `- `",
            "start the line with `- `, or indent it like the keys of the map it belongs to",
        ),
        E::BlockSequenceEntryNotAllowed => (
            "a list cannot start here",
            "put the `- ` on a line of its own",
        ),
        E::SimpleKeyExpected | E::InvalidSimpleKey => NO_COLON,
        E::InvalidColonPlacement => (
            "a `:` cannot stand here",
            "close the open bracket above, or put a comma before this key",
        ),
        E::UnclosedFlowCollection { .. }
        | E::UnexpectedEofFlowSequence
        | E::UnexpectedEofFlowMapping
        | E::UnexpectedEofImplicitFlowMapping => BRACKET,
        E::MisplacedFlowCollectionEnd | E::MismatchedFlowCollectionEnd { .. } => (
            "this closing bracket has no matching opening bracket",
            "remove it, or add the missing opening bracket above",
        ),
        E::ExpectedFlowMappingSeparator | E::ExpectedFlowSequenceSeparator => (
            "expected a comma or a closing bracket before this",
            "separate the entries between brackets with commas",
        ),
        E::UnexpectedCharacter { .. } => (
            "unquoted text cannot start with this character",
            "put the text in quotes",
        ),
        E::UnknownQuotedScalarEscape | E::InvalidQuotedScalarHexEscape => (
            "this is not a valid escape sequence in double quotes",
            "write `\\\\` for a backslash, or use single quotes",
        ),
        E::InvalidTrailingDoubleQuotedScalar | E::InvalidTrailingSingleQuotedScalar => (
            "there is text after the closing quote",
            "put all of the text inside the quotes",
        ),
        _ => return None,
    };
    Some(words)
}

fn too_deep(start: Position) -> Fault {
    Fault {
        id: "Y05",
        start,
        message: format!(
            "maps and lists are nested more than {} levels deep",
            Node::MAX_DEPTH
        ),
        help: "no Kubernetes object nests this deep; the document is skipped",
    }
}

fn in_its_own_words(kind: &ErrorKind, start: Position) -> Fault {
    Fault {
        id: rule_id::UNREADABLE_FILE,
        start,
        message: kind.to_string(),
        help: "check the line above as well: the mistake is often there",
    }
}

/// The tab that the parser rejected: in the indentation of `line`, or of a later line if the error
/// is about a tab.
fn tab_in_the_way(kind: &ErrorKind, text: &str, line: u32) -> Option<Position> {
    use ErrorKind as E;
    let lines = match kind {
        E::TabNotAllowed
        | E::TabInBlockIndentation
        | E::TabInIndentation
        | E::TabInPlainScalar
        | E::TabAtBlockScalarStart
        | E::InvalidBlockEntryWhitespace
        | E::InvalidMappingValueWhitespace => usize::MAX,
        E::MappingValueNotAllowed
        | E::MappingKeyNotAllowed
        | E::ExpectedBlockMappingKey
        | E::ExpectedBlockSequenceEntry
        | E::BlockSequenceEntryNotAllowed
        | E::InvalidIndentation => 1,
        _ => 0,
    };
    let below = text.lines().zip(1..).skip_while(|(_, at)| *at < line);
    below.take(lines).find_map(|(content, line)| {
        let tab = content.find(|c| c != ' ')?;
        content.get(tab..)?.strip_prefix('\t')?;
        let column = number(tab + 1);
        Some(Position { line, column })
    })
}

/// The line of the error, if it begins with an action of a Go template, as in Helm charts.
fn template(start: Position, text: &str) -> Option<Position> {
    let line = text.lines().nth(start.line as usize - 1)?;
    let column = number(line.find("{{")? + 1);
    let begins = line.trim_start().starts_with("{{");
    begins.then_some(Position {
        line: start.line,
        column,
    })
}

/// The quote that is not closed properly: the first in `unread`, which is the end of `text`. A text goes on in
/// the lines below up to the next quote, so that the error may be there.
fn opening_quote(kind: &ErrorKind, start: Position, text: &str, unread: &str) -> Option<Position> {
    use ErrorKind as E;
    let opens_above = match kind {
        E::UnclosedQuotedScalar
        | E::InvalidQuotedScalarIndent
        | E::DocumentIndicatorInQuotedScalar => false,
        E::InvalidTrailingDoubleQuotedScalar | E::InvalidTrailingSingleQuotedScalar => true,
        _ => return None,
    };
    let at = text.len() - unread.len() + first_quote(unread)?;
    let opening = end_of(text.get(..at)?);
    (!opens_above || opening.line < start.line).then_some(opening)
}

/// Where the first text in quotes begins, outside of comments.
fn first_quote(text: &str) -> Option<usize> {
    let mut before = ' ';
    let mut in_comment = false;
    text.char_indices().find_map(|(at, c)| {
        let begins = before.is_whitespace() || "[{,:".contains(before);
        in_comment = c != '\n' && (in_comment || c == '#' && before.is_whitespace());
        before = c;
        (begins && !in_comment && matches!(c, '"' | '\'')).then_some(at)
    })
}

/// The bracket that a person forgot to close: its line goes on without a comma at the end, and the error is on
/// a later line.
fn unclosed(kind: &ErrorKind, start: Position, text: &str, bracket: Position) -> Option<Position> {
    use ErrorKind as E;
    let (E::ExpectedFlowMappingSeparator
    | E::ExpectedFlowSequenceSeparator
    | E::InvalidColonPlacement) = kind
    else {
        return None;
    };
    let line = text.lines().nth(bracket.line as usize - 1)?;
    let after: String = line.chars().skip(bracket.column as usize).collect();
    let after = after.split(" #").next().unwrap_or_default().trim_end();
    let ends = !after.is_empty() && !after.ends_with([',', '{', '[']);
    (ends && bracket.line < start.line).then_some(bracket)
}

/// A line without `:` that the parser took for a part of the text above or below it, until it found the
/// `:` of a later line.
fn line_without_colon(kind: &ErrorKind, start: Position, read: &Read<'_>) -> Option<Position> {
    if *kind != ErrorKind::MappingValueNotAllowed {
        return None;
    }
    // What begins behind a key is its value.
    let before = read.text.get(..read.text.len() - read.last.len())?;
    let is_first = before
        .lines()
        .next_back()
        .is_none_or(|line| line.trim().is_empty());
    let lines = read.text.lines().zip(1..);
    let from = end_of(before).line + u32::from(!is_first);
    let lines = lines.skip_while(|(_, line)| *line < from);
    let mut lines = lines.take_while(|(_, line)| *line < start.line);
    lines.find_map(|(content, line)| {
        let words = content.trim();
        let other = words.is_empty() || words.starts_with(['#', '-', '"', '\'', '{', '[', ':']);
        let has_colon = words.contains(": ") || words.ends_with(':');
        let before = content.len() - content.trim_start().len();
        let column = number(before + 1);
        (!other && !has_colon).then_some(Position { line, column })
    })
}

/// The first key of a line that is indented further than the key and value above it.
fn indented_further(kind: &ErrorKind, start: Position, text: &str) -> Option<Position> {
    if *kind != ErrorKind::MappingValueNotAllowed {
        return None;
    }
    let indentation = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let mut above = text.lines().take(start.line as usize).collect::<Vec<_>>();
    let line = above.pop()?;
    let key: String = line.chars().take(start.column as usize - 1).collect();
    let is_text = |line: &&&str| !line.trim().is_empty() && !line.trim().starts_with('#');
    let above = above.iter().rev().find(is_text)?;
    let further = above.contains(": ") && indentation(line) > indentation(above);
    let column = number(indentation(line) + 1);
    (further && !key.contains(": ")).then_some(Position {
        line: start.line,
        column,
    })
}

/// The position after the last character of `text`.
pub(super) fn end_of(text: &str) -> Position {
    let lines = text.matches('\n').count();
    let columns = text.chars().rev().take_while(|c| *c != '\n').count();
    Position {
        line: number(lines + 1),
        column: number(columns + 1),
    }
}

/// A count as a line or column number.
pub(super) fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
