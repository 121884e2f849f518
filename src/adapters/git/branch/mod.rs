//! Commits pushed to a branch of the other side, each only if the branch still leads to the commit that it builds on.
//!
//! In: a mirror, the full name of a branch, and the commit that the caller believes to be its head. Out: the new commit on
//! the other side, or that somebody else moved the branch: then the caller fetches, decides anew and tries again. Nothing
//! is ever forced. When an answer does not arrive, the commit may have: [`Branch::find`] tells after the next fetch. It
//! does not know what the files are for.

mod edits;
mod message;
mod new_commit;
#[cfg(test)]
mod tests;
mod tree;

use git2::{Oid, Reference, Repository};

pub use self::edits::{Edit, Edits};
pub use self::message::CommitMessage;
pub use self::new_commit::{Committer, NewCommit};
use super::Error;
use super::history::{History, trailers};
use super::hooks::Change;
use super::mirror::{Mirror, kept};
use super::push::Pushed;

/// Where branches are.
const BRANCHES: &str = "refs/heads/";
/// The most bytes of the name of a branch.
const MOST_BYTES: usize = 250;
/// The most commits that are searched for a trailer.
const MOST_COMMITS: usize = 200;

/// What became of a change of a branch.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Outcome<T> {
    /// It is made on the other side.
    Done(T),
    /// Somebody else moved the branch, and nothing is changed: fetch, and build on what is there now.
    Moved,
}

/// A branch of the other side.
#[derive(Debug)]
pub struct Branch<'m> {
    mirror: &'m Mirror,
    /// From `refs/heads/` on.
    name: String,
}

impl<'m> Branch<'m> {
    /// The branch of this full name, `refs/heads/main`, whether it exists or not.
    ///
    /// # Errors
    /// When it is not the name of a branch.
    pub fn of(mirror: &'m Mirror, name: &str) -> Result<Self, Error> {
        let is_branch = name.starts_with(BRANCHES) && name.len() <= MOST_BYTES;
        match is_branch && Reference::is_valid_name(name) {
            true => Ok(Self {
                mirror,
                name: name.to_owned(),
            }),
            false => Err(Error::NotABranch {
                name: name.to_owned(),
            }),
        }
    }

    /// Pushes a commit on top of `head`, a fetched commit, to which the branch must still lead. Returns its id.
    ///
    /// # Errors
    /// When the commit cannot be made, with nothing written anywhere; when the repository does not take it; when it does
    /// not answer, and the commit may have arrived.
    pub fn commit(&self, head: &str, commit: &NewCommit<'_>) -> Result<Outcome<String>, Error> {
        self.push_commit(Some(head), Some(head), commit)
    }

    /// Makes the branch, which must not exist, with a commit on top of `base`, a fetched commit; without one, the commit
    /// is the first. On a server a branch must still lead to `base`, or it has moved as well. Returns the id of the commit.
    ///
    /// # Errors
    /// As [`Self::commit`].
    pub fn create(
        &self,
        base: Option<&str>,
        commit: &NewCommit<'_>,
    ) -> Result<Outcome<String>, Error> {
        self.push_commit(None, base, commit)
    }

    /// Deletes the branch, which must still lead to `head`.
    ///
    /// # Errors
    /// When the repository does not allow it, or does not answer.
    pub fn delete(&self, head: &str) -> Result<Outcome<()>, Error> {
        let missing = |_| self.mirror.missing(&super::Ref::Commit(head.to_owned()));
        let head = Oid::from_str(head).map_err(missing)?;
        let _noting = self.mirror.noting();
        self.mirror.reading(|repository| {
            let change = Change {
                reference: &self.name,
                old: Some(head),
                new: None,
            };
            self.push(repository, change)
        })
    }

    /// Finds the newest of at most `limit` commits, and of 200, from the fetched commit `head` back along first parents
    /// whose message has the trailer `key` with `value`.
    ///
    /// # Errors
    /// When `head` was not fetched.
    pub fn find(
        &self,
        head: &str,
        key: &str,
        value: &str,
        limit: usize,
    ) -> Result<Option<String>, Error> {
        self.mirror.reading(|repository| {
            let history = History::of(repository, &self.mirror.address.shown)?;
            for commit in history.first_parents(None, head, limit.min(MOST_COMMITS))? {
                let message = history.find(&commit.id)?.text();
                if trailers(&message, key).iter().any(|found| found == value) {
                    return Ok(Some(commit.id));
                }
            }
            Ok(None)
        })
    }

    /// The messages of at most `limit` commits, and of 200, from the fetched commit `head` back along first parents, the newest first.
    ///
    /// # Errors
    /// When `head` was not fetched.
    pub fn messages(&self, head: &str, limit: usize) -> Result<Vec<String>, Error> {
        self.mirror.reading(|repository| {
            let history = History::of(repository, &self.mirror.address.shown)?;
            let commits = history.first_parents(None, head, limit.min(MOST_COMMITS))?;
            let texts = commits
                .iter()
                .map(|commit| Ok(history.find(&commit.id)?.text()));
            texts.collect()
        })
    }

    fn push_commit(
        &self,
        old: Option<&str>,
        parent: Option<&str>,
        commit: &NewCommit<'_>,
    ) -> Result<Outcome<String>, Error> {
        // Until a ref leads to the new objects, the mirror must not be compacted.
        let _noting = self.mirror.noting();
        self.mirror.reading(|repository| {
            let find = |id: &str| self.mirror.find(repository, id);
            let parent = parent.map(find).transpose()?;
            let new = commit.write(repository, parent.as_ref())?;
            let change = Change {
                reference: &self.name,
                old: old.and(parent).map(|parent| parent.id),
                new: Some(new),
            };
            Ok(match self.push(repository, change)? {
                Outcome::Done(()) => Outcome::Done(new.to_string()),
                Outcome::Moved => Outcome::Moved,
            })
        })
    }

    fn push(&self, repository: &Repository, change: Change<'_>) -> Result<Outcome<()>, Error> {
        let pushed = self.mirror.remote.push(repository, change);
        match pushed.map_err(protected)? {
            Pushed::Moved => Ok(Outcome::Moved),
            Pushed::Done => {
                self.keep(repository, change.new);
                Ok(Outcome::Done(()))
            }
        }
    }

    /// Notes where the branch leads now. If that fails, the next fetch does it.
    fn keep(&self, repository: &Repository, new: Option<Oid>) {
        let _keeping = self.mirror.keeping();
        let name = kept(&self.name);
        let noted = match new {
            Some(new) => repository.reference(&name, new, true, "push").map(drop),
            None => repository
                .find_reference(&name)
                .and_then(|mut kept| kept.delete()),
        };
        if let Err(error) = noted {
            let branch = self.name.escape_debug();
            tracing::debug!(%branch, %error, "cannot note a push in the mirror");
        }
    }
}

/// What a refusal means for a branch.
fn protected(error: Error) -> Error {
    match error {
        Error::Refused {
            url,
            reference,
            cause,
        } => Error::Protected {
            url,
            reference,
            cause,
        },
        other => other,
    }
}
