//! The comments of a file.
//!
//! In: its text. Out: each comment with its position. The parser decides what is a comment, so a `#`
//! within quotes or in a block scalar does not count. It does not know what a comment is for.

use std::sync::Arc;

use serde_saphyr::granit_parser as events;
use serde_saphyr::granit_parser::{Event, Parser};

use super::syntax::number;
use crate::model::Span;

/// One comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment {
    /// From the `#` to the end of the line.
    pub span: Span,
    /// What follows the `#`.
    pub text: String,
    /// Whether it is alone on its line.
    pub is_alone: bool,
}

/// The comments of a file, in order. After a syntax error, those in the rest of that document are missing.
#[must_use]
pub fn comments(path: &Arc<str>, text: &[u8]) -> Vec<Comment> {
    let Ok(text) = std::str::from_utf8(text) else {
        return Vec::new();
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    // The parser never buffers more than the file, and the size of a file is limited.
    let options = events::options! {
        emit_comments: true,
        max_buffered_comment_events: usize::MAX,
    };
    let mut parser = Parser::new_from_str_with_options(text, options);
    let mut comments = Vec::new();
    while let Some(next) = parser.next_event() {
        match next {
            Ok((Event::Comment(content, _), range)) => {
                comments.push(comment(path, text, &content, range.start));
            }
            Ok(_) => {}
            Err(_) if parser.proceed_next_document().unwrap_or(false) => {}
            Err(_) => break,
        }
    }
    comments
}

fn comment(path: &Arc<str>, text: &str, content: &str, start: events::Marker) -> Comment {
    let before = start.byte_offset().and_then(|at| text.get(..at));
    let line = before.and_then(|before| before.rsplit(['\n', '\r']).next());
    let column = number(start.col() + 1);
    let length = number(content.chars().count() + 1);
    Comment {
        span: Span::new(path, number(start.line()), column, length),
        text: content.to_owned(),
        is_alone: line.is_some_and(|line| line.trim().is_empty()),
    }
}
