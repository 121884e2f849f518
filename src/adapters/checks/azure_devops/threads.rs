//! The threads that a check wants on a pull request, and those that are there (forges.md §2b).
//!
//! In: a check; the threads of a pull request. Out: texts with a mark, by which a later process finds its
//! own threads again. A mark in a comment of somebody else counts for nothing.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::adapters::checks::forge::{Outcome, digest_of, outcome};
use crate::adapters::checks::lines::lines;
use crate::adapters::checks::text::{Limit, markdown};
use crate::model::markdown::markdown as escaped;
use crate::model::{COMMENT_MARK, Check};

/// In characters, of a comment.
const CONTENT: usize = 150_000;
/// How a mark ends.
const MARK_END: &str = " -->";
/// How the mark of the summary ends.
const SUMMARY: &str = "#summary";

/// A thread that is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Thread {
    pub(super) id: u64,
    pub(super) comment: u64,
    pub(super) digest: String,
    pub(super) open: bool,
}

/// A thread that is to be there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    /// Tells it from the others.
    pub(super) mark: String,
    pub(super) content: String,
    /// `None` for the summary.
    pub(super) place: Option<Place>,
    pub(super) open: bool,
}

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    /// From the root, with a `/` before it.
    pub(super) path: String,
    pub(super) line: u32,
}

/// A thread in a list.
#[derive(Deserialize)]
pub(super) struct Listed {
    id: u64,
    status: Option<String>,
    #[serde(rename = "isDeleted", default)]
    is_deleted: bool,
    #[serde(default)]
    comments: Vec<Comment>,
}

#[derive(Deserialize)]
struct Comment {
    id: u64,
    content: Option<String>,
    author: Option<Author>,
    #[serde(rename = "isDeleted", default)]
    is_deleted: bool,
}

#[derive(Deserialize)]
pub(super) struct Author {
    pub(super) id: String,
}

impl Wanted {
    fn new(mark: String, text: &str, place: Option<Place>, open: bool) -> Self {
        let end = format!("\n\n{COMMENT_MARK}{mark}{MARK_END}");
        let room = Limit::Chars(CONTENT - end.chars().count());
        let content = markdown(text.trim_end(), room) + &end;
        Self {
            mark,
            content,
            place,
            open,
        }
    }

    pub(super) fn digest(&self) -> String {
        digest_of(&self.content)
    }

    /// What opens it.
    pub(super) fn body(&self) -> Value {
        // 1 is active, 4 is closed.
        let status = if self.open { 1 } else { 4 };
        json!({
            "comments": [{"parentCommentId": 0, "content": self.content, "commentType": 1}],
            "status": status,
        })
    }

    pub(super) fn written(&self, id: u64, comment: u64) -> Thread {
        Thread {
            id,
            comment,
            digest: self.digest(),
            open: self.open,
        }
    }
}

/// The summary, and a thread for each line with findings. The mark of a line's thread comes from what is
/// found, not from the line: Azure DevOps moves threads with their lines.
pub(super) fn wanted(check: &Check) -> Vec<Wanted> {
    let outcome = outcome(check.state, check.detail);
    let is_open = !matches!(outcome, Outcome::Good | Outcome::Warned);
    let context = &check.context;
    let head = format!("**{context}**: {}\n\n", escaped(&check.title));
    let mut all = vec![Wanted::new(
        format!("{context}{SUMMARY}"),
        &(head + &check.summary),
        None,
        is_open,
    )];
    for found in lines(check) {
        let place = Place {
            path: format!("/{}", found.path),
            line: found.line,
        };
        let mut mark = format!("{context}#{}", digest_of(&(&place.path, &found.texts)));
        if all.iter().any(|other| other.mark == mark) {
            mark = format!("{mark}.{}", place.line);
        }
        all.push(Wanted::new(
            mark,
            &found.texts.join("\n\n"),
            Some(place),
            true,
        ));
    }
    all
}

pub(super) fn is_summary(mark: &str) -> bool {
    mark.ends_with(SUMMARY)
}

/// The threads of a pull request that are ours, by their marks.
pub(super) fn adopted(
    threads: Vec<Listed>,
    context: &str,
    author: Option<&str>,
) -> BTreeMap<String, Thread> {
    let prefix = format!("{context}#");
    let mut found = BTreeMap::new();
    for thread in threads.into_iter().filter(|thread| !thread.is_deleted) {
        let Some(comment) = thread.comments.first().filter(|one| !one.is_deleted) else {
            continue;
        };
        let is_own = author.is_some() && comment.author.as_ref().map(|by| by.id.as_str()) == author;
        let content = comment.content.as_deref().unwrap_or_default();
        let mark = content
            .rsplit_once(COMMENT_MARK)
            .and_then(|(_, mark)| mark.strip_suffix(MARK_END))
            .filter(|mark| is_own && mark.starts_with(&prefix));
        if let Some(mark) = mark {
            let open = matches!(thread.status.as_deref(), Some("active" | "pending"));
            let one = Thread {
                id: thread.id,
                comment: comment.id,
                digest: digest_of(&content),
                open,
            };
            // The oldest, if an answer was once lost.
            found.entry(mark.to_owned()).or_insert(one);
        }
    }
    found
}
