//! Why an expression has no value.

use std::fmt;

use kube_cel::cel::ExecutionError;

/// Why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// Nothing is defined for values of these types.
    Overload,
    /// In cel-go's words where there are such: `no such key: x`.
    Said(String),
    /// We cannot evaluate it; an API server may be able to.
    Beyond(String),
}

impl Fault {
    pub(super) fn no_such_key(key: &str) -> Self {
        Self::Said(format!("no such key: {key}"))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Overload => f.write_str("no such overload"),
            Self::Said(why) | Self::Beyond(why) => f.write_str(why),
        }
    }
}

impl From<ExecutionError> for Fault {
    fn from(error: ExecutionError) -> Self {
        match error {
            ExecutionError::DivisionByZero(_) => Self::Said("division by zero".into()),
            ExecutionError::RemainderByZero(_) => Self::Said("modulus by zero".into()),
            ExecutionError::Overflow(..) => Self::Said("integer overflow".into()),
            ExecutionError::NoSuchKey(key) => Self::no_such_key(&key),
            ExecutionError::FunctionError { message, .. } => Self::Said(message),
            ExecutionError::UndeclaredReference(name) => {
                Self::Beyond(format!("`{name}` is not known here"))
            }
            _ => Self::Overload,
        }
    }
}
