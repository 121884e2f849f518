//! One thing wrong, said so that a person can mend it.

use std::fmt;

use serde::Serialize;

use super::{ObjectId, Path, Span};

/// How bad a finding is. An error keeps a tree from being applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Must be mended.
    Error,
    /// Should be looked at.
    Warning,
    /// Good to know.
    Info,
}

/// One thing wrong: what, where, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule, such as `Y02`.
    pub id: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// The place to edit; none when the finding is about the whole fleet.
    pub span: Option<Span>,
    /// The object it is about.
    pub object: Option<ObjectId>,
    /// The field within the object.
    pub field: Option<Path>,
    /// What is wrong, in one sentence.
    pub message: String,
    /// What to do next.
    pub help: Option<String>,
}

impl Finding {
    /// A finding that keeps the tree from being applied.
    pub fn error(id: &'static str, message: impl Into<String>) -> Self {
        Self::new(id, Severity::Error, message.into())
    }

    /// A finding that should be looked at.
    pub fn warning(id: &'static str, message: impl Into<String>) -> Self {
        Self::new(id, Severity::Warning, message.into())
    }

    /// A finding that is good to know.
    pub fn info(id: &'static str, message: impl Into<String>) -> Self {
        Self::new(id, Severity::Info, message.into())
    }

    fn new(id: &'static str, severity: Severity, message: String) -> Self {
        Self {
            id,
            severity,
            span: None,
            object: None,
            field: None,
            message,
            help: None,
        }
    }

    /// Points at `span`.
    #[must_use]
    pub fn at(mut self, span: &Span) -> Self {
        self.span = Some(span.clone());
        self
    }

    /// Names the object it is about.
    #[must_use]
    pub fn of(mut self, object: &ObjectId) -> Self {
        self.object = Some(object.clone());
        self
    }

    /// Names the field it is about.
    #[must_use]
    pub fn field(mut self, field: &Path) -> Self {
        self.field = Some(field.clone());
        self
    }

    /// Says what to do next.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// One line: `path:line:column: ID message (help)`.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(span) = &self.span {
            write!(f, "{span}: ")?;
        }
        write!(f, "{} {}", self.id, self.message)?;
        match &self.help {
            Some(help) => write!(f, " ({help})"),
            None => Ok(()),
        }
    }
}
