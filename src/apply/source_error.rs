//! The error of the source of a fleet, while its revisions cannot be read: what a parent keeps of it.
//!
//! In: the error, and since when. Out: the text to keep, and the same read again. It does not know who reads the source.

use serde_json::{Value as Json, json};

use crate::model::cut::shortened;

/// The most characters of the reason that are kept.
const LONGEST: usize = 600;

/// A source that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceError {
    /// RFC 3339 time of the first attempt that failed.
    pub since: String,
    /// The error on one line.
    pub why: String,
}

impl SourceError {
    /// An error of this time.
    #[must_use]
    pub fn new(since: &str, why: &str) -> Self {
        let why = why.split_whitespace().collect::<Vec<_>>().join(" ");
        Self {
            since: since.to_owned(),
            why: shortened(&why, LONGEST, "..."),
        }
    }

    /// Reads what [`Self::text`] returned.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let json: Json = serde_json::from_str(text).ok()?;
        Some(Self {
            since: json["since"].as_str()?.to_owned(),
            why: json["why"].as_str()?.to_owned(),
        })
    }

    /// The text to keep.
    #[must_use]
    pub fn text(&self) -> String {
        self.json().to_string()
    }

    /// The same for programs.
    #[must_use]
    pub fn json(&self) -> Json {
        json!({"since": self.since, "why": self.why})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_read_again_on_one_line() {
        let error = SourceError::new("2026-01-01T00:00:00Z", "no\n  route");
        assert_eq!(error.why, "no route");
        assert_eq!(SourceError::read(&error.text()), Some(error));
        assert_eq!(SourceError::read("{}"), None);
    }
}
