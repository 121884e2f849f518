//! The errors of a request to the registry.
//!
//! No error holds a credential: an address is shown without user, password, query and fragment.

use crate::model::ErrorClass;

/// The reason that the registry gave no answer. An answer with any status is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A setting or the address cannot be used.
    #[error("the settings of the DCM registry cannot be used: {cause}")]
    Setting {
        /// The setting, and what is wrong with it.
        cause: String,
    },
    /// No connection came about; the registry did not get the request.
    #[error(
        "the DCM registry at {url} cannot be reached: {cause}; check the address and the network"
    )]
    Unreachable {
        /// The address of the request.
        url: String,
        /// The first cause.
        cause: String,
    },
    /// The registry did not answer in time; it may have got the request.
    #[error(
        "the DCM registry at {url} did not answer within {seconds} seconds; the request is repeated"
    )]
    Late {
        /// The address of the request.
        url: String,
        /// The seconds that it was given.
        seconds: u64,
    },
    /// The connection broke, or what answered does not speak HTTP; the registry may have got the request.
    #[error("the DCM registry at {url} gave no answer that is HTTP: {cause}; check the address")]
    Broken {
        /// The address of the request.
        url: String,
        /// The first cause.
        cause: String,
    },
}

impl Error {
    /// Returns what to do about it.
    #[must_use]
    pub const fn class(&self) -> ErrorClass {
        match self {
            Self::Setting { .. } => ErrorClass::Invalid,
            Self::Unreachable { .. } | Self::Late { .. } | Self::Broken { .. } => {
                ErrorClass::Transient
            }
        }
    }
}
