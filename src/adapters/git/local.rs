//! A repository on this machine, and what its errors mean.

use std::fs;
use std::path::PathBuf;

use git2::{ErrorCode, Repository};

use super::Error;

/// A repository on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Local {
    /// As it was written.
    pub(super) shown: String,
    /// Its directory.
    pub(super) path: PathBuf,
}

impl Local {
    /// The error for `cause` when this repository was to be read. To libgit2 a path that is no
    /// directory is an address of a protocol it does not know.
    pub(super) fn unreachable(&self, cause: &git2::Error) -> Error {
        let url = self.shown.clone();
        let message = match fs::metadata(&self.path) {
            Ok(found) if found.is_dir() => cause.message().to_owned(),
            Ok(_) => "it is not a directory".to_owned(),
            Err(cause) => cause.to_string(),
        };
        if cause.code() == ErrorCode::Owner || is_denial(&message) {
            Error::Denied {
                url,
                cause: message,
            }
        } else if self.is_vacant() {
            Error::NoRepository {
                url,
                cause: message,
            }
        } else {
            Error::Unreachable {
                url,
                cause: message,
            }
        }
    }

    /// Whether nothing there looks like a repository to git, broken or not.
    fn is_vacant(&self) -> bool {
        let opened = Repository::open(&self.path).map(drop);
        opened.is_err_and(|cause| cause.code() == ErrorCode::NotFound)
    }

    /// The error for `cause` when `reference` was to be changed there.
    pub(super) fn unpushed(&self, reference: &str, cause: &git2::Error) -> Error {
        let (url, message) = (self.shown.clone(), cause.message().to_owned());
        let reference = reference.to_owned();
        if cause.code() == ErrorCode::Owner || is_denial(&message) {
            Error::Refused {
                url,
                reference,
                cause: message,
            }
        } else {
            Error::Push {
                url,
                reference,
                cause: message,
            }
        }
    }

    /// The path as libgit2 expects it.
    pub(super) fn text(&self) -> Result<&str, Error> {
        self.path.to_str().ok_or_else(|| Error::Unreachable {
            url: self.shown.clone(),
            cause: "the path is not UTF-8".to_owned(),
        })
    }
}

/// libgit2 keeps the system's error only in words.
fn is_denial(message: &str) -> bool {
    [
        "Permission denied",
        "Read-only file system",
        "Operation not permitted",
    ]
    .iter()
    .any(|words| message.contains(words))
}
