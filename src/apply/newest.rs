//! The newest commit of a fleet, while the fleet does not have it: what a parent keeps of it.
//!
//! In: the commit, and why it is not applied. Out: the text to keep, and the same read again. It does not know:
//! who decides that.

use serde_json::{Value as Json, json};

use crate::model::cut::shortened;

/// The most characters of the reason that are kept.
const LONGEST: usize = 600;

/// A commit that is not applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Newest {
    /// The commit.
    pub revision: String,
    /// Whether another commit is needed; else it waits for a person.
    pub is_refused: bool,
    /// Why, on one line.
    pub why: String,
}

impl Newest {
    /// The reason that a commit waits if the Fleet itself suspends the fleet.
    pub const BY_DOCUMENT: &str = "the Fleet suspends the fleet (by `spec.apply.suspend: true` or the annotation `capstan.dev/suspended`)";

    /// A commit that is refused.
    #[must_use]
    pub fn refused(revision: &str, why: &str) -> Self {
        Self::new(revision, true, why)
    }

    /// A commit that waits for a person.
    #[must_use]
    pub fn waiting(revision: &str, why: &str) -> Self {
        Self::new(revision, false, why)
    }

    fn new(revision: &str, is_refused: bool, why: &str) -> Self {
        let why = why.split_whitespace().collect::<Vec<_>>().join(" ");
        Self {
            revision: revision.to_owned(),
            is_refused,
            why: shortened(&why, LONGEST, "..."),
        }
    }

    /// Whether this commit waits for a person.
    pub(crate) fn waits_at(&self, revision: &str) -> bool {
        !self.is_refused && self.revision == revision
    }

    /// The commit of a text that [`Self::text`] returned.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let json: Json = serde_json::from_str(text).ok()?;
        Some(Self {
            revision: json["revision"].as_str()?.to_owned(),
            is_refused: json["refused"].as_bool()?,
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
        json!({"revision": self.revision, "refused": self.is_refused, "why": self.why})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_read_again_on_one_line() {
        let newest = Newest::refused("abc", "two\n  errors");
        assert_eq!(newest.why, "two errors");
        assert_eq!(Newest::read(&newest.text()), Some(newest));
        assert_eq!(Newest::read(""), None);
        assert_eq!(Newest::read("{}"), None);
    }
}
