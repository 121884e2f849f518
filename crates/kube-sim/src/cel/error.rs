//! Why an expression has no value.

use std::fmt;

use kube_cel::cel::ExecutionError;

/// Why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Error {
    /// An operator or function is not defined for values of these types.
    NoOverload,
    /// Evaluation failed, with cel-go's message where rules commonly meet it: `no such key: x`.
    Failed(String),
    /// Not supported here; an API server may support it.
    Unsupported(String),
}

impl Error {
    pub(super) fn no_such_key(key: &str) -> Self {
        Self::Failed(format!("no such key: {key}"))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoOverload => f.write_str("no such overload"),
            Self::Failed(why) | Self::Unsupported(why) => f.write_str(why),
        }
    }
}

impl From<ExecutionError> for Error {
    fn from(error: ExecutionError) -> Self {
        match error {
            ExecutionError::DivisionByZero(_) => Self::Failed("division by zero".into()),
            ExecutionError::RemainderByZero(_) => Self::Failed("modulus by zero".into()),
            ExecutionError::Overflow(..) => Self::Failed("integer overflow".into()),
            ExecutionError::NoSuchKey(key) => Self::no_such_key(&key),
            ExecutionError::FunctionError { message, .. } => Self::Failed(message),
            ExecutionError::UndeclaredReference(name) => {
                Self::Unsupported(format!("`{name}` is not known here"))
            }
            _ => Self::NoOverload,
        }
    }
}
