//! One way in which a value does not fit its schema, worded as the API server words it.

use std::fmt;

use crate::model::{Path, Segment};

use super::structural::Type;

/// What is wrong with a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ViolationKind {
    /// The schema knows no such field.
    UnknownField {
        /// The known field that was probably meant.
        nearest: Option<String>,
    },
    /// The value is of another type than these.
    WrongType {
        /// The types the schema allows.
        expected: Vec<Type>,
    },
    /// A required field is not there.
    Missing,
    /// The type is right, the value is not: enum, pattern, range, length, format.
    NotAllowed,
    /// Anything else: duplicate keys, combinations of schemas.
    Other,
}

/// A value that does not fit its schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Where the value stands, or where it is missing.
    pub path: Path,
    /// The field as the API server names it in `status.details.causes`; `<nil>` where it names none.
    pub field: String,
    /// What is wrong.
    pub kind: ViolationKind,
    /// The API server's words without the field: `Required value`.
    pub message: String,
}

impl Violation {
    pub(super) fn new(path: &Path, kind: ViolationKind, message: impl Into<String>) -> Self {
        Self {
            path: path.clone(),
            field: if path.0.is_empty() {
                "<nil>".into()
            } else {
                dotted(path)
            },
            kind,
            message: message.into(),
        }
    }

    /// A violation of which the API server does not say where it is.
    pub(super) fn nowhere(path: &Path, message: impl Into<String>) -> Self {
        Self {
            field: "<nil>".into(),
            ..Self::new(path, ViolationKind::Other, message)
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

/// The path with every key after a dot, as validation messages write it.
pub(super) fn dotted(path: &Path) -> String {
    written(path, |_| false)
}

/// The path with the keys of maps in brackets where `in_map` says that a key is one.
pub(super) fn written(path: &Path, in_map: impl Fn(usize) -> bool) -> String {
    let mut text = String::new();
    for (at, segment) in path.0.iter().enumerate() {
        match segment {
            Segment::Index(index) => text += &format!("[{index}]"),
            Segment::Key(key) if in_map(at) => text += &format!("[{key}]"),
            Segment::Key(key) if at == 0 => text += key,
            Segment::Key(key) => {
                text.push('.');
                text += key;
            }
        }
    }
    text
}
