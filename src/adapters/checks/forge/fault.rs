//! Why something could not be done on a forge, and whom that concerns.

use std::time::Duration;

use crate::model::{AdapterError, ErrorClass};

/// Why a forge did not do something. The text is for people and names no secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The commit is gone, as after a forced push: nothing is ever written on it again.
    #[error("{0}")]
    Gone(String),
    /// The forge takes no more of this check on this commit.
    #[error("{0}")]
    Full(String),
    /// The forge cannot take a part of it yet; the rest is written.
    #[error("{0}")]
    Early(String),
    /// The forge does not take this content.
    #[error("{0}")]
    Refused(String),
    /// What was named does not exist, or the token may not see it.
    #[error("{0}")]
    Absent(String),
    /// Nobody knows whether a change was carried out: it is looked up before it is repeated.
    #[error("{0}")]
    Unclear(String),
    /// A permission or a valid token is missing: nothing is sent until the token changes or time passed.
    #[error("{0}")]
    Denied(String),
    /// It may be temporary. Nothing was changed.
    #[error("{0}")]
    Busy(String),
    /// The forge asks to wait. Nothing was changed.
    #[error("the forge limits requests; the next one is sent in {} seconds", .0.as_secs())]
    Limited(Duration),
}

impl Fault {
    /// Whether other checks on the same forge fail for the same reason.
    #[must_use]
    pub const fn concerns_all(&self) -> bool {
        !matches!(
            self,
            Self::Gone(_) | Self::Full(_) | Self::Early(_) | Self::Refused(_)
        )
    }
}

impl From<Fault> for AdapterError {
    fn from(fault: Fault) -> Self {
        let class = match fault {
            Fault::Gone(_) => ErrorClass::Gone,
            Fault::Full(_) | Fault::Refused(_) => ErrorClass::Invalid,
            Fault::Absent(_) | Fault::Denied(_) => ErrorClass::Denied,
            Fault::Early(_) | Fault::Unclear(_) | Fault::Busy(_) | Fault::Limited(_) => {
                ErrorClass::Transient
            }
        };
        Self::new(class, fault.to_string())
    }
}
