//! One way in which a value does not fit its schema, worded as the API server words it.

use std::fmt;

use crate::Path;

use super::at::At;
use super::structural::Type;

/// What is wrong with a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ViolationKind {
    /// The schema knows no such field.
    UnknownField {
        /// The most similar known field.
        nearest: Option<String>,
    },
    /// The value is of another type than these.
    WrongType {
        /// The types the schema allows.
        expected: Vec<Type>,
    },
    /// A required field is not there.
    Missing,
    /// The type is right, the value is not: enum, pattern, range, length.
    NotAllowed,
    /// A text does not have its format, which the API server counts as a wrong type.
    WrongFormat,
    /// A rule of the schema does not hold.
    Rule {
        /// The rule's message.
        reason: String,
    },
    /// Anything else: duplicate keys, combinations of schemas.
    Other,
}

/// A value that does not fit its schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Where the value is, or where it is missing.
    pub path: Path,
    /// The field as the API server names it in `status.details.causes`; `<nil>` where it names none.
    pub field: String,
    /// What is wrong.
    pub kind: ViolationKind,
    /// The API server's words without the field: `Required value`.
    pub message: String,
}

impl Violation {
    /// A violation at a place, in the API server's words.
    pub fn new(at: &At<'_>, kind: ViolationKind, message: impl Into<String>) -> Self {
        Self {
            path: at.path(),
            field: at.field(),
            kind,
            message: message.into(),
        }
    }

    /// A violation of which the API server does not say where it is.
    pub fn nowhere(at: &At<'_>, message: impl Into<String>) -> Self {
        Self {
            field: At::ROOT.field(),
            ..Self::new(at, ViolationKind::Other, message)
        }
    }
}

/// `spec.x: Required value`, as the API server prints a field error; of unknown fields
/// `unknown field "spec.x"`, as strict decoding does.
impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            ViolationKind::UnknownField { .. } => write!(f, "{} \"{}\"", self.message, self.field),
            _ => write!(f, "{}: {}", self.field, self.message),
        }
    }
}
