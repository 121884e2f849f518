//! A pull request as GitHub and Gitea list it, and the branches that it is of.
//!
//! In: names of branches, and rows of an answer. Out: whether they belong together, and the state. Rows are words of
//! others: a pull request of a fork may have branches of the same names. Pure; it sends nothing.

use jiff::Timestamp;
use serde::Deserialize;

use super::fault::Fault;
use crate::model::PullRequestState;

/// The longest name of a branch, in bytes: git keeps a branch in a file of that name.
const LONGEST: usize = 244;

/// Two branches of the repository.
#[derive(Clone, Copy, Debug)]
pub struct Branches<'a> {
    /// The one that has the commits.
    pub head: &'a str,
    /// The one that they are for.
    pub base: &'a str,
}

impl<'a> Branches<'a> {
    /// Two branches with names that git and both forges take.
    pub(super) fn of(head: &'a str, base: &'a str) -> Result<Self, Fault> {
        let mut names = [head, base].into_iter();
        if let Some(wrong) = names.find(|name| !is_branch(name)) {
            return Err(Fault::Refused(format!(
                "{wrong:?} is not the name of a branch"
            )));
        }
        if head == base {
            return Err(Fault::Refused("the two branches are the same".to_owned()));
        }
        Ok(Self { head, base })
    }
}

/// Returns true if git takes the name for a branch. Forges read a colon as the end of an owner.
fn is_branch(name: &str) -> bool {
    let is_part = |part: &str| {
        !part.is_empty()
            && !part.starts_with('.')
            && !part.ends_with('.')
            && !part.ends_with(".lock")
    };
    let is_taken = |c: char| !c.is_control() && !" ~^:?*[\\".contains(c);
    name.len() <= LONGEST
        && !name.starts_with('-')
        && name != "@"
        && !name.contains("..")
        && !name.contains("@{")
        && name.chars().all(is_taken)
        && name.split('/').all(is_part)
}

/// A pull request in an answer.
#[derive(Debug, Deserialize)]
pub struct Listed {
    /// The number.
    pub number: u64,
    state: String,
    merged_at: Option<Timestamp>,
    merge_commit_sha: Option<String>,
    head: Side,
    base: Side,
}

/// One of its branches.
#[derive(Debug, Deserialize)]
struct Side {
    /// Gitea names `refs/pull/…/head` once the branch is deleted.
    #[serde(rename = "ref")]
    name: String,
    /// The branch; at GitHub, `owner:branch`.
    label: Option<String>,
    /// `None` if the fork is gone.
    repo: Option<Repo>,
}

#[derive(Debug, Deserialize)]
struct Repo {
    id: u64,
}

impl Listed {
    /// Returns true if it is neither merged nor closed.
    #[must_use]
    pub fn is_open(&self) -> bool {
        matches!(self.state(), Ok(PullRequestState::Open))
    }

    /// Returns true if it is of these two branches, and of no fork.
    #[must_use]
    pub fn is_of(&self, branches: &Branches<'_>) -> bool {
        let own = |side: &Side| side.repo.as_ref().map(|repo| repo.id);
        let is_own = own(&self.head).is_some() && own(&self.head) == own(&self.base);
        is_own && self.head.is(branches.head) && self.base.is(branches.base)
    }

    /// The state.
    pub(super) fn state(&self) -> Result<PullRequestState, Fault> {
        if self.merged_at.is_some() {
            let commit = self.merge_commit_sha.clone().filter(|id| is_commit(id));
            let unnamed = || Fault::Refused("it says merged, but names no commit".to_owned());
            return commit
                .map(|commit| PullRequestState::Merged { commit })
                .ok_or_else(unnamed);
        }
        match self.state.as_str() {
            "open" => Ok(PullRequestState::Open),
            "closed" => Ok(PullRequestState::Closed),
            other => Err(Fault::Refused(format!("it names a state {other:?}"))),
        }
    }
}

impl Side {
    fn is(&self, branch: &str) -> bool {
        let label = self.label.as_deref().unwrap_or_default();
        let of_label = label.rsplit(':').next();
        self.name == branch || of_label == Some(branch)
    }
}

/// Returns true if this is the id of a commit, of SHA-1 or SHA-256.
fn is_commit(id: &str) -> bool {
    matches!(id.len(), 40 | 64) && id.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_branch_has_a_name_that_git_and_both_forges_take() {
        let longest = "x".repeat(LONGEST);
        for name in ["main", "capstan/create-7", "a.b/c_d", "größe", &longest] {
            assert!(Branches::of(name, "base").is_ok(), "{name:?}");
        }
        for name in [
            "", "-x", "/x", "x/", "a//b", "a..b", ".x", "a/.x", "x.lock", "x.", "@", "a@{1}",
            "o:x", "a b", "a\nb", "a\u{1b}b", "a~1", "a^", "a?b", "a*", "a[b", "a\\b", "../x",
        ] {
            assert!(Branches::of(name, "base").is_err(), "{name:?}");
            assert!(Branches::of("head", name).is_err(), "{name:?}");
        }
        let long = "x".repeat(LONGEST + 1);
        assert!(Branches::of(&long, "base").is_err());
        assert!(Branches::of("main", "main").is_err());
    }

    fn listed(change: impl FnOnce(&mut Value)) -> Result<Listed, serde_json::Error> {
        let side = |name: &str| json!({"ref": name, "label": name, "repo": {"id": 1}});
        let mut row = json!({"number": 7, "state": "open", "merged_at": null, "merge_commit_sha": null,
            "head": side("change"), "base": side("main")});
        change(&mut row);
        serde_json::from_value(row)
    }

    #[test]
    fn a_state_is_what_both_forges_have_and_no_other() {
        let commit = "5".repeat(40);
        let at = "2026-01-01T00:00:00Z";
        let state = |row: Value| {
            let of = listed(|listed| {
                for (key, value) in row.as_object().unwrap() {
                    listed[key] = value.clone();
                }
            });
            of.unwrap().state()
        };
        assert_eq!(state(json!({})), Ok(PullRequestState::Open));
        // GitHub names the commit of a trial merge while it is open.
        assert_eq!(
            state(json!({"merge_commit_sha": commit})),
            Ok(PullRequestState::Open)
        );
        let closed = json!({"state": "closed", "merge_commit_sha": commit});
        assert_eq!(state(closed), Ok(PullRequestState::Closed));
        let merged = json!({"state": "closed", "merged_at": at, "merge_commit_sha": commit});
        assert_eq!(state(merged), Ok(PullRequestState::Merged { commit }));
        for wrong in [
            json!({"state": ""}),
            json!({"state": "OPEN\u{1b}"}),
            json!({"state": "closed", "merged_at": at}),
            json!({"state": "closed", "merged_at": at, "merge_commit_sha": "main"}),
            json!({"state": "closed", "merged_at": at, "merge_commit_sha": "g".repeat(40)}),
        ] {
            assert!(
                matches!(state(wrong.clone()), Err(Fault::Refused(_))),
                "{wrong}"
            );
        }
        for (key, value) in [
            ("number", json!("7")),
            ("number", json!(-7)),
            ("number", json!(7.5)),
            ("state", json!(null)),
            ("merged_at", json!(true)),
            ("head", json!(null)),
        ] {
            assert!(
                listed(|row| row[key] = value.clone()).is_err(),
                "{key} {value}"
            );
        }
    }

    #[test]
    fn a_pull_request_is_of_the_branches_of_the_repository() {
        let branches = Branches::of("change", "main").unwrap();
        let is_of =
            |change: &dyn Fn(&mut Value)| listed(|row| change(row)).unwrap().is_of(&branches);
        assert!(is_of(&|_| ()));
        assert!(is_of(&|row| row["head"]["label"] = "o:change".into()));
        assert!(is_of(&|row| row["head"]["label"] = Value::Null));
        // Gitea, once the branch is deleted.
        assert!(is_of(&|row| row["head"]["ref"] = "refs/pull/7/head".into()));
        for other in [
            |row: &mut Value| row["head"]["repo"]["id"] = 2.into(),
            |row: &mut Value| row["head"]["repo"] = Value::Null,
            |row: &mut Value| {
                (row["head"]["repo"], row["base"]["repo"]) = (Value::Null, Value::Null)
            },
            |row: &mut Value| {
                row["base"] = json!({"ref": "other", "label": "o:other", "repo": {"id": 1}})
            },
            |row: &mut Value| row["head"] = json!({"ref": "x", "label": "o:x", "repo": {"id": 1}}),
        ] {
            assert!(!is_of(&other));
        }
    }
}
