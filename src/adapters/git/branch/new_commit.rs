//! A commit that is to be made.
//!
//! In: files that change, a message, who makes it and when, and perhaps a key. Out: the objects in a repository of ours,
//! the commit last. It does not know which branch it is for, nor how it gets there.

use git2::{ObjectType, Odb, Oid, Repository};
use jiff::Timestamp;

use super::edits::{Edits, nested};
use super::message::CommitMessage;
use super::tree::edited;
use crate::adapters::git::Error;
use crate::adapters::git::commit_object::CommitObject;
use crate::adapters::git::signature::Signer;

/// The most bytes of a name or an address.
const MOST_BYTES: usize = 200;

/// Who makes a commit: its author and its committer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committer {
    /// The name.
    pub name: String,
    /// The address, without angle brackets.
    pub email: String,
}

/// A commit to be made.
#[derive(Clone, Copy, Debug)]
pub struct NewCommit<'a> {
    /// The files that change. Without any, the commit has the files of its parent.
    pub edits: &'a Edits,
    /// The message.
    pub message: &'a CommitMessage,
    /// Who makes it.
    pub by: &'a Committer,
    /// When it is made.
    pub at: Timestamp,
    /// The key that signs it, if any.
    pub signer: Option<&'a Signer>,
}

impl NewCommit<'_> {
    /// Writes it on top of `parent`, or as the first one.
    ///
    /// # Errors
    /// When a part of it cannot be used, and nothing was written; or when the repository is damaged or full.
    pub(super) fn write(
        &self,
        repository: &Repository,
        parent: Option<&CommitObject>,
    ) -> Result<Oid, Error> {
        let damaged = |cause: &git2::Error| Error::damaged(repository, cause);
        let edits = nested(self.edits)?;
        let (message, by) = (self.message.text()?, self.by.line(self.at)?);
        let odb = repository.odb().map_err(|cause| damaged(&cause))?;
        let head = parent.map_or_else(String::new, |parent| parent.id.to_string());
        let root = parent.map(|parent| parent.tree);
        let edited = edited(&odb, &head, root, &edits, &damaged)?;
        let parent = parent.map_or_else(String::new, |parent| format!("parent {}\n", parent.id));
        let header = format!(
            "tree {}\n{parent}author {by}\ncommitter {by}\n",
            edited.tree
        );
        let signature = self.signature(&format!("{header}\n{message}"))?;
        let commit = format!("{header}{signature}\n{message}");
        let commit = (ObjectType::Commit, commit.into_bytes());
        write(&odb, edited.objects.into_iter().chain([commit])).map_err(|cause| Error::Disk {
            path: repository.path().to_owned(),
            cause: cause.message().to_owned(),
        })
    }

    /// The header with the signature of the text without it; empty without a key.
    fn signature(&self, text: &str) -> Result<String, Error> {
        let Some(signer) = self.signer else {
            return Ok(String::new());
        };
        let signature = signer.sign(text.as_bytes(), self.at)?;
        let lines = signature.trim_end().replace('\n', "\n ");
        Ok(format!("gpgsig {lines}\n"))
    }
}

impl Committer {
    /// As it stands in a commit.
    fn line(&self, at: Timestamp) -> Result<String, Error> {
        for part in [&self.name, &self.email] {
            let is_line = !part.contains(|c: char| c.is_control() || matches!(c, '<' | '>'));
            if part.trim().is_empty() || !is_line || part.len() > MOST_BYTES {
                return Err(Error::Commit {
                    cause: format!(
                        "{part:?} is empty, has angle brackets or control characters, or is longer than {MOST_BYTES} bytes"
                    ),
                });
            }
        }
        let (name, email) = (self.name.trim(), self.email.trim());
        // Git has no time before 1970.
        let seconds = at.as_second().max(0);
        Ok(format!("{name} <{email}> {seconds} +0000"))
    }
}

/// Writes the objects; returns the id of the last.
fn write(
    odb: &Odb<'_>,
    objects: impl Iterator<Item = (ObjectType, Vec<u8>)>,
) -> Result<Oid, git2::Error> {
    let mut last = Oid::ZERO_SHA1;
    for (kind, bytes) in objects {
        last = odb.write(kind, &bytes)?;
    }
    Ok(last)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_committer_is_no_more_than_a_name_and_an_address() {
        let line = |name: &str, email: &str, at: i64| {
            let (name, email) = (name.to_owned(), email.to_owned());
            Committer { name, email }.line(Timestamp::from_second(at).unwrap())
        };
        let expected = "Ada L <ada@example.com> 1760000000 +0000";
        let written = line(" Ada L ", "ada@example.com", 1_760_000_000);
        assert_eq!(written.unwrap(), expected);
        assert_eq!(line("A", "a", -5).unwrap(), "A <a> 0 +0000");
        let long = "x".repeat(201);
        for part in ["", " ", "a\nb", "a>", "<a", "a\0", long.as_str()] {
            for (name, email) in [(part, "a"), ("a", part)] {
                let said = line(name, email, 0).unwrap_err().to_string();
                assert!(said.contains(&format!("{part:?} is empty, has")), "{said}");
            }
        }
    }
}
