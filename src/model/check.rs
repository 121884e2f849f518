//! What is reported for a commit.

use serde::{Deserialize, Serialize};

/// The state of a check, in the words all forges share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckState {
    /// Work goes on.
    Pending,
    /// All is as asked.
    Success,
    /// The commit is at fault.
    Failure,
    /// Something else is at fault.
    Error,
}

/// A message on one line of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Annotation {
    /// Path from the repository root.
    pub path: String,
    /// 1-based line.
    pub line: u32,
    /// `error`, `warning` or `info`.
    pub level: String,
    /// What is wrong.
    pub message: String,
}

/// One fleet's word on one commit (DESIGN §10). The pair (fleet, context) is in `context`:
/// `capstan/<fleet>/plan` or `capstan/<fleet>/sync`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// The commit.
    pub revision: String,
    /// Which check of the commit.
    pub context: String,
    /// Its state.
    pub state: CheckState,
    /// One line.
    pub title: String,
    /// Markdown.
    pub summary: String,
    /// What to show beside the lines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub annotations: Vec<Annotation>,
    /// Where to read more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_url: Option<String>,
}
