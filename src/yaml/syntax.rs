//! What the parser says, in words that lead to the fault.
//!
//! In: an error and the text. Out: the place to look at, a sentence and a help. It does not know what
//! the text is for.

use serde_saphyr::granit_parser::ErrorKind;

use crate::model::{Node, Position};

/// A syntax error as a person can use it.
pub(super) struct Fault {
    pub(super) id: &'static str,
    pub(super) start: Position,
    pub(super) message: String,
    pub(super) help: &'static str,
}

/// Explains an error that the parser met at `start` of `text`; `unread` begins behind the last thing
/// it understood.
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
    "YAML is indented with spaces only: replace the tab",
);
const QUOTE: Words = (
    "the quote that opens here is not closed as it should be",
    "add the closing quote, or indent every further line of the text",
);

/// Sentence and help of the mistakes people make.
fn describe(kind: &ErrorKind) -> Option<Words> {
    use ErrorKind as E;
    let words = match kind {
        E::MappingValueNotAllowed => (
            "a `:` cannot stand here",
            "quote the text if the `:` belongs to it; else give this key its own line, and look whether the key above lacks its `:` or the space after it",
        ),
        E::ExpectedBlockMappingKey | E::InvalidIndentation | E::MappingKeyNotAllowed => (
            "the indentation fits no map or list that is open here",
            "indent this line like the other keys of its map",
        ),
        E::ExpectedBlockSequenceEntry => (
            "a list goes on here without `- `",
            "begin the line with `- `, or indent it like the keys of the map it belongs to",
        ),
        E::BlockSequenceEntryNotAllowed => (
            "a list cannot begin here",
            "put the `- ` on a line of its own",
        ),
        E::SimpleKeyExpected | E::InvalidSimpleKey => (
            "this line has no `:` after its key",
            "write `key: value`, with a space after the `:`",
        ),
        E::InvalidColonPlacement => (
            "a `:` cannot stand here",
            "close the bracket that is open above, or put a comma before this key",
        ),
        E::UnclosedFlowCollection { .. }
        | E::UnexpectedEofFlowSequence
        | E::UnexpectedEofFlowMapping
        | E::UnexpectedEofImplicitFlowMapping => (
            "the bracket that opens here is never closed",
            "add the closing bracket",
        ),
        E::MisplacedFlowCollectionEnd | E::MismatchedFlowCollectionEnd { .. } => (
            "this bracket closes nothing that is open",
            "remove it, or look for the bracket that should open above",
        ),
        E::ExpectedFlowMappingSeparator | E::ExpectedFlowSequenceSeparator => (
            "a comma or the closing bracket is missing before this",
            "separate the entries between brackets with commas",
        ),
        E::UnexpectedCharacter { .. } => (
            "no text without quotes can begin with this character",
            "put the text in quotes",
        ),
        E::UnknownQuotedScalarEscape | E::InvalidQuotedScalarHexEscape => (
            "double quotes give `\\` a meaning, and this one has none",
            "write `\\\\`, or use single quotes",
        ),
        E::InvalidTrailingDoubleQuotedScalar | E::InvalidTrailingSingleQuotedScalar => (
            "text follows the closing quote",
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
            "more than {} maps and lists are nested here",
            Node::MAX_DEPTH
        ),
        help: "no Kubernetes object nests this deep; the document is not read",
    }
}

fn in_its_own_words(kind: &ErrorKind, start: Position) -> Fault {
    Fault {
        id: "Y01",
        start,
        message: kind.to_string(),
        help: "look at the line above as well: the fault often begins there",
    }
}

/// The tab that the parser stumbled over: in the indentation of `line`, or of a line below when it
/// complained of a tab.
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

/// The quote that the parser found no proper end for: the first in `unread`, the end of `text`.
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

/// The place behind the last character of `text`.
pub(super) fn end_of(text: &str) -> Position {
    let lines = text.matches('\n').count();
    let columns = text.chars().rev().take_while(|c| *c != '\n').count();
    Position {
        line: number(lines + 1),
        column: number(columns + 1),
    }
}

/// A count as positions have it.
pub(super) fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
