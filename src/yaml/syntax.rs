//! Explains the parser's errors.
//!
//! In: an error and the text. Out: the position of the mistake, a message and help. It does not know
//! what the text is for.

use serde_saphyr::granit_parser::ErrorKind;

use crate::model::{Node, Position};

/// A syntax error with its position, message and help.
pub(super) struct Fault {
    pub(super) id: &'static str,
    pub(super) start: Position,
    pub(super) message: String,
    pub(super) help: &'static str,
}

/// Explains an error that the parser reported at `start` of `text`; `unread` begins after the last
/// event that it understood.
pub(super) fn explain(kind: &ErrorKind, start: Position, text: &str, unread: &str) -> Fault {
    if *kind == ErrorKind::RecursionLimitExceeded {
        return too_deep(start);
    }
    let tab = tab_in_the_way(kind, text, start.line);
    let quote = opening_quote(kind, text, unread);
    let (start, (message, help)) = match (tab, quote, describe(kind)) {
        (Some(tab), _, _) => (tab, TAB),
        (None, Some(quote), _) => (quote, QUOTE),
        (None, None, Some(words)) => (start, words),
        (None, None, None) => return in_its_own_words(kind, start),
    };
    Fault {
        id: "Y01",
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
const QUOTE: Words = (
    "this quote is not closed properly",
    "add the closing quote, or indent every following line of the text",
);

/// Message and help for common mistakes.
fn describe(kind: &ErrorKind) -> Option<Words> {
    use ErrorKind as E;
    let words = match kind {
        E::MappingValueNotAllowed => (
            "a `:` cannot stand here",
            "put quotes around the text if the `:` is part of it; otherwise put this key on its own line, and check that the key above has a `:` followed by a space",
        ),
        E::ExpectedBlockMappingKey | E::InvalidIndentation | E::MappingKeyNotAllowed => (
            "this indentation matches no open map or list",
            "indent this line like the other keys of its map",
        ),
        E::ExpectedBlockSequenceEntry => (
            "this list item does not start with `- `",
            "start the line with `- `, or indent it like the keys of the map it belongs to",
        ),
        E::BlockSequenceEntryNotAllowed => (
            "a list cannot start here",
            "put the `- ` on a line of its own",
        ),
        E::SimpleKeyExpected | E::InvalidSimpleKey => (
            "this line has no `:` after its key",
            "write `key: value`, with a space after the `:`",
        ),
        E::InvalidColonPlacement => (
            "a `:` cannot stand here",
            "close the open bracket above, or put a comma before this key",
        ),
        E::UnclosedFlowCollection { .. }
        | E::UnexpectedEofFlowSequence
        | E::UnexpectedEofFlowMapping
        | E::UnexpectedEofImplicitFlowMapping => {
            ("this bracket is never closed", "add the closing bracket")
        }
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
        id: "Y01",
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
        let indentation = content.len() - content.trim_start_matches([' ', '\t']).len();
        let tab = content[..indentation].find('\t')?;
        let column = number(tab + 1);
        Some(Position { line, column })
    })
}

/// The quote that is not closed properly: the first in `unread`, which is the end of `text`.
fn opening_quote(kind: &ErrorKind, text: &str, unread: &str) -> Option<Position> {
    use ErrorKind as E;
    let (E::UnclosedQuotedScalar
    | E::InvalidQuotedScalarIndent
    | E::DocumentIndicatorInQuotedScalar) = kind
    else {
        return None;
    };
    let at = text.len() - unread.len() + unread.find(['"', '\''])?;
    Some(end_of(&text[..at]))
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
