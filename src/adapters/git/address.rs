//! Where a repository is.
//!
//! In: what a person wrote. Out: a path, and the address as it may be shown. HTTP and SSH are not
//! served yet.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use git2::{ErrorCode, Repository};

use super::Error;

/// The address of a repository that can be served.
#[derive(Clone, Debug)]
pub(super) struct Address {
    /// As it was written, without a password.
    pub(super) shown: String,
    /// The directory on this machine.
    pub(super) path: PathBuf,
}

impl Address {
    /// Reads a local path or a `file://` URL (of this machine, with `%` escapes).
    pub(super) fn parse(written: &str) -> Result<Self, Error> {
        let shown = without_password(written);
        let path = match written.split_once("://") {
            Some(("file", rest)) => rest
                .strip_prefix("localhost")
                .or(Some(rest))
                .filter(|path| path.starts_with('/'))
                .and_then(unescaped),
            Some(_) => None,
            // `host:path` is ssh, unless a `/` comes before the colon.
            None => Some(written)
                .filter(|path| !path.split('/').next().unwrap_or_default().contains(':'))
                .filter(|path| !path.is_empty())
                .map(PathBuf::from),
        };
        let Some(path) = path else {
            return Err(Error::Scheme { url: shown });
        };
        let path = std::path::absolute(&path).map_err(|cause| Error::disk(&path, &cause))?;
        Ok(Self { shown, path })
    }

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

/// Checks that this version can read a repository at this address.
///
/// # Errors
/// When it is not on this machine.
pub fn check_address(written: &str) -> Result<(), Error> {
    Address::parse(written).map(drop)
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

/// `https://user:password@host/x` as `https://host/x`.
fn without_password(written: &str) -> String {
    let Some((scheme, rest)) = written.split_once("://") else {
        return written.to_owned();
    };
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = host.rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{host}{path}")
}

/// The path with `%41`-like escapes decoded; `None` if one is invalid.
fn unescaped(text: &str) -> Option<PathBuf> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        if first != b'%' {
            bytes.push(first);
            continue;
        }
        let (digits, after) = rest.split_at_checked(2)?;
        let digits = std::str::from_utf8(digits).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = after;
    }
    Some(Path::new(&OsString::from_vec(bytes)).to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::model::ErrorClass;

    #[test]
    fn local_paths_and_file_urls_are_served() {
        let path = |written| Address::parse(written).unwrap().path;
        assert_eq!(path("/srv/fleet.git"), Path::new("/srv/fleet.git"));
        assert_eq!(path("file:///srv/a%20b.git"), Path::new("/srv/a b.git"));
        assert_eq!(path("file://localhost/srv"), Path::new("/srv"));
        assert_eq!(
            path("./odd:name"),
            std::env::current_dir().unwrap().join("odd:name")
        );
    }

    #[test]
    fn other_schemes_are_refused_without_their_password() {
        for written in [
            "https://bot:hunter2@example.com/fleet.git",
            "ssh://git@example.com/fleet.git",
            "git@example.com:fleet.git",
            "file://elsewhere/srv",
            "file:///broken%2",
            "",
        ] {
            let error = Address::parse(written).unwrap_err();
            assert_eq!(error.class(), ErrorClass::Invalid, "{written}");
            assert!(error.to_string().contains("local paths and file:// URLs"));
            assert!(!error.to_string().contains("hunter2"));
        }
    }
}
