//! Positions in files.

use std::fmt;
use std::sync::Arc;

/// A position in a text: 1-based line and column, columns counted in Unicode scalars.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// 1-based line; 0 if there are no lines.
    pub line: u32,
    /// 1-based column in Unicode scalars.
    pub column: u32,
}

/// A range of a file, `end` exclusive. The path is relative to the repository root.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The file, with `/` between its parts.
    pub path: Arc<str>,
    /// The first character.
    pub start: Position,
    /// One past the last character.
    pub end: Position,
}

impl Span {
    /// The span of `len` characters at `line` and `column`.
    #[must_use]
    pub fn new(path: &Arc<str>, line: u32, column: u32, len: u32) -> Self {
        let start = Position { line, column };
        let end = Position {
            line,
            column: column + len,
        };
        Self {
            path: Arc::clone(path),
            start,
            end,
        }
    }

    /// The beginning of a file, where findings about the whole file point.
    #[must_use]
    pub fn top(path: &Arc<str>) -> Self {
        Self::new(path, 1, 1, 0)
    }

    /// All of something that is no file, such as an object of a cluster: it has no lines.
    #[must_use]
    pub fn whole(path: &Arc<str>) -> Self {
        Self::new(path, 0, 0, 0)
    }
}

/// `path:line:column`, as compilers print it; only the path if there are no lines.
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Position { line, column } = self.start;
        if line == 0 {
            return f.write_str(&self.path);
        }
        write!(f, "{}:{line}:{column}", self.path)
    }
}
