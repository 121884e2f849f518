//! What is reported for a commit.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::hex;

/// The state of a check, in the words all forges share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckState {
    /// Work is in progress.
    Pending,
    /// Everything is as requested.
    Success,
    /// The commit has errors.
    Failure,
    /// Something other than the commit failed.
    Error,
}

impl CheckState {
    /// The state in one word, as JSON has it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Success => "success",
            Self::Failure => "failure",
            Self::Error => "error",
        }
    }
}

/// More about a state, for forges that have a word for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckDetail {
    /// Pending: it waits for other work.
    Queued,
    /// Success: there are warnings.
    Warnings,
    /// Success or error: a newer revision took its place.
    Superseded,
    /// Failure: somebody has to approve a deletion.
    Approval,
}

/// How the hidden marks in what Capstan writes beside a check begin. A comment that has one was written by Capstan.
pub const COMMENT_MARK: &str = "<!-- capstan: ";

/// A message on one line of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Annotation {
    /// Path from the repository root.
    pub path: String,
    /// 1-based line.
    pub line: u32,
    /// `error`, `warning` or `info`.
    pub level: String,
    /// The message.
    pub message: String,
}

/// The report of one fleet on one commit. The pair (fleet, context) is in `context`:
/// `capstan/<fleet>/plan` or `capstan/<fleet>/sync`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// The commit.
    pub revision: String,
    /// The check's name on the commit.
    pub context: String,
    /// Its state.
    pub state: CheckState,
    /// More about the state; readers that do not know it go by the state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<CheckDetail>,
    /// One line.
    pub title: String,
    /// Markdown.
    pub summary: String,
    /// Messages on lines of files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub annotations: Vec<Annotation>,
    /// A link to details.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_url: Option<String>,
    /// The number of the newest pull request whose head this revision is, where its ref says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull_request: Option<u64>,
    /// Those of its older pull requests, the newest first. Their refs may outlive them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub older_pull_requests: Vec<u64>,
    /// What was checked, as ids of git: by it, a later process sees whether the check still holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    /// What a person may approve by a button, on a forge that has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub button: Option<Button>,
    /// What a person may approve by a comment, each as the trailer of a commit has it. A later process asks anew.
    #[serde(skip)]
    pub asked: Vec<String>,
    /// The number of the last request to write this check again, larger for a later one. A check of another attempt is a new one
    /// where the forge keeps a history of them, even if it says the same. A later process counts anew.
    #[serde(skip)]
    pub attempt: u32,
}

impl Check {
    /// A check that says no more than this.
    pub fn new(
        context: impl Into<String>,
        revision: impl Into<String>,
        state: CheckState,
        title: impl Into<String>,
    ) -> Self {
        Self {
            revision: revision.into(),
            context: context.into(),
            state,
            detail: None,
            title: title.into(),
            summary: String::new(),
            annotations: Vec::new(),
            target_url: None,
            pull_request: None,
            older_pull_requests: Vec::new(),
            input: None,
            button: None,
            asked: Vec::new(),
            attempt: 0,
        }
    }

    /// The numbers of all pull requests whose head this revision is, the newest first.
    pub fn pull_requests(&self) -> impl Iterator<Item = u64> {
        let older = self.older_pull_requests.iter().copied();
        self.pull_request.into_iter().chain(older)
    }
}

/// A button that approves losses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Button {
    /// Tells it from the buttons of other checks, and of the same check about other losses.
    pub id: String,
    /// What it approves, each as the trailer of a commit has it: `delete <namespace>/<cluster>`.
    pub losses: Vec<String>,
}

impl Button {
    /// GitHub takes an id of 20 characters at most.
    const DIGITS: usize = 20;

    /// The button for these losses on the check `context` of `revision`.
    #[must_use]
    pub fn new(revision: &str, context: &str, losses: impl IntoIterator<Item = String>) -> Self {
        let mut losses: Vec<String> = losses.into_iter().collect();
        losses.sort();
        losses.dedup();
        let mut digest = Sha256::new();
        let parts = [revision, context].into_iter();
        for part in parts.chain(losses.iter().map(String::as_str)) {
            digest.update(part.len().to_le_bytes());
            digest.update(part);
        }
        let digits = digest.finalize();
        let id = hex(&digits[..Self::DIGITS / 2]);
        Self { id, losses }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_button_is_for_one_check_and_its_losses() {
        let of = |revision: &str, context: &str, clusters: &[&str]| {
            let clusters = clusters.iter().map(|name| (*name).to_owned());
            Button::new(revision, context, clusters)
        };
        let one = of("a", "capstan/f/plan", &["c/one", "c/two"]);
        assert_eq!(one.id.len(), 20);
        assert!(one.id.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let again = of("a", "capstan/f/plan", &["c/two", "c/one", "c/two"]);
        assert_eq!(again, one, "in any order");
        for other in [
            of("b", "capstan/f/plan", &["c/one", "c/two"]),
            of("a", "capstan/f/sync", &["c/one", "c/two"]),
            of("a", "capstan/f/plan", &["c/one"]),
            of("a", "capstan/f/plan", &["c/one", "c/tw", "o"]),
        ] {
            assert_ne!(other.id, one.id, "{other:?}");
        }
    }
}
