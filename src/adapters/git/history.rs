//! What a mirror holds: commits, the path between them, and the files at each.

use git2::{Oid, Repository, Sort};
use jiff::Timestamp;

use super::Error;
use super::mirror::{Mirror, Ref, is_kept, is_missing, kept};
use super::objects::Objects;
use crate::model::Tree;

/// A commit, as people speak of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// Its id.
    pub id: String,
    /// The first line of its message.
    pub title: String,
    /// Who wrote it: `name <email>`.
    pub author: String,
    /// When it was committed.
    pub at: Timestamp,
}

impl Mirror {
    /// The files of the fleet at `path` in `commit`.
    ///
    /// # Errors
    /// When the commit was not fetched, or has no directory at `path` (`.` is the whole
    /// repository).
    pub fn tree(&self, commit: &str, path: &str) -> Result<Tree, Error> {
        self.reading(|repository| {
            let root = self.find(repository, commit)?.tree_id();
            match Objects::at(repository, root, path)? {
                Some(objects) => objects.read(commit),
                None => Err(no_such_path(commit, path)),
            }
        })
    }

    /// The commit's title, author and time.
    ///
    /// # Errors
    /// When it was not fetched.
    pub fn commit(&self, id: &str) -> Result<Commit, Error> {
        self.reading(|repository| Ok(described(&self.find(repository, id)?)))
    }

    /// Whether `old` is `new`, or came before it.
    ///
    /// # Errors
    /// When one of the commits was not fetched.
    pub fn is_ancestor(&self, old: &str, new: &str) -> Result<bool, Error> {
        self.reading(|repository| {
            let (old, new) = (self.find(repository, old)?, self.find(repository, new)?);
            let before = repository.graph_descendant_of(new.id(), old.id());
            let before = before.map_err(|cause| Error::damaged(repository, &cause))?;
            Ok(before || old.id() == new.id())
        })
    }

    /// The commits that lead to `to`, without those that lead to `from` already: newest first, at
    /// most `limit`.
    ///
    /// # Errors
    /// When one of the commits was not fetched.
    pub fn log(&self, from: Option<&str>, to: &str, limit: usize) -> Result<Vec<Commit>, Error> {
        self.reading(|repository| {
            let to = self.find(repository, to)?.id();
            let from = from.map(|from| self.find(repository, from)).transpose()?;
            let walked = walk(repository, from.map(|commit| commit.id()), to, limit);
            walked.map_err(|cause| Error::damaged(repository, &cause))
        })
    }

    /// The values of the trailer `key` in the messages of the commits that [`Self::log`] lists.
    ///
    /// # Errors
    /// When one of the commits was not fetched.
    pub fn trailers(
        &self,
        from: Option<&str>,
        to: &str,
        limit: usize,
        key: &str,
    ) -> Result<Vec<String>, Error> {
        let commits = self.log(from, to, limit)?;
        self.reading(|repository| {
            let mut values = Vec::new();
            for commit in &commits {
                values.extend(trailers(&self.find(repository, &commit.id)?, key));
            }
            Ok(values)
        })
    }

    /// The messages of the commits that [`Self::log`] lists.
    ///
    /// # Errors
    /// When one of the commits was not fetched.
    pub fn messages(
        &self,
        from: Option<&str>,
        to: &str,
        limit: usize,
    ) -> Result<Vec<String>, Error> {
        let commits = self.log(from, to, limit)?;
        self.reading(|repository| {
            let message = |commit: &Commit| {
                let commit = self.find(repository, &commit.id)?;
                Ok(String::from_utf8_lossy(commit.message_bytes()).into_owned())
            };
            commits.iter().map(message).collect()
        })
    }

    /// Whether a branch leads to `commit`.
    ///
    /// # Errors
    /// When it was not fetched.
    pub fn is_on_branch(&self, commit: &str) -> Result<bool, Error> {
        self.reading(|repository| {
            let commit = self.find(repository, commit)?.id();
            let leads = || {
                let mut walk = repository.revwalk()?;
                walk.push(commit)?;
                walk.hide_glob(&kept("refs/heads/*"))?;
                Ok(walk.next().is_none())
            };
            leads().map_err(|cause: git2::Error| Error::damaged(repository, &cause))
        })
    }

    pub(super) fn find<'r>(
        &self,
        repository: &'r Repository,
        commit: &str,
    ) -> Result<git2::Commit<'r>, Error> {
        let missing = || self.missing(&Ref::Commit(commit.to_owned()));
        let id = Oid::from_str(commit).map_err(|_| missing())?;
        repository.find_commit(id).map_err(|cause| {
            // A commit that a ref leads to was here once.
            if is_missing(&cause) && !is_kept(repository, id) {
                missing()
            } else {
                Error::damaged(repository, &cause)
            }
        })
    }
}

/// The values of the trailer `key` in the message of a commit.
pub(super) fn trailers(commit: &git2::Commit<'_>, key: &str) -> Vec<String> {
    let message = String::from_utf8_lossy(commit.message_bytes()).into_owned();
    // A message without trailers is not an error.
    let trailers = git2::message_trailers_strs(message.as_str()).ok();
    let trailers = trailers.iter().flat_map(git2::MessageTrailersStrs::iter);
    let wanted = trailers.filter(|(name, _)| name.eq_ignore_ascii_case(key));
    wanted.map(|(_, value)| value.to_owned()).collect()
}

pub(super) fn no_such_path(commit: &str, path: &str) -> Error {
    Error::NoSuchPath {
        commit: commit.to_owned(),
        path: path.to_owned(),
    }
}

pub(super) fn walk(
    repository: &Repository,
    from: Option<Oid>,
    to: Oid,
    limit: usize,
) -> Result<Vec<Commit>, git2::Error> {
    let mut walk = repository.revwalk()?;
    walk.set_sorting(Sort::TOPOLOGICAL | Sort::TIME)?;
    walk.push(to)?;
    if let Some(from) = from {
        walk.hide(from)?;
    }
    walk.take(limit)
        .map(|id| Ok(described(&repository.find_commit(id?)?)))
        .collect()
}

pub(super) fn described(commit: &git2::Commit<'_>) -> Commit {
    let author = commit.author();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Commit {
        id: commit.id().to_string(),
        title: text(commit.summary_bytes().unwrap_or_default()),
        author: format!(
            "{} <{}>",
            text(author.name_bytes()),
            text(author.email_bytes())
        ),
        at: Timestamp::from_second(commit.time().seconds()).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use crate::adapters::git::fixture::{FILE, Origin};
    use crate::model::ErrorClass;

    #[test]
    fn a_commit_is_described() {
        let origin = Origin::new();
        let id = origin.push("main", &[("a.yaml", "")]);
        let mirror = origin.mirror(&[]);
        mirror.fetch().unwrap();
        let commit = mirror.commit(&id).unwrap();
        assert_eq!(commit.title, "change it");
        assert_eq!(commit.author, "Ada <ada@example.com>");
        assert_eq!(commit.at.as_second(), 1_760_000_000);
    }

    #[test]
    fn a_commit_that_only_a_pull_request_leads_to_is_on_no_branch() {
        let origin = Origin::new();
        let first = origin.push("main", &[("a.yaml", "1")]);
        let second = origin.push("main", &[("a.yaml", "2")]);
        let parent = git2::Oid::from_str(&first).unwrap();
        let fork = origin.commit(&[(b"b.yaml", FILE, b"")], Some(parent));
        origin.point("refs/pull/7/head", fork);
        let mirror = origin.mirror(&["refs/pull/*/head"]);
        mirror.fetch().unwrap();
        let fork = fork.to_string();
        let on_branch = |commit: &str| mirror.is_on_branch(commit).unwrap();
        assert!(on_branch(&first) && on_branch(&second));
        assert!(!on_branch(&fork));
        assert!(mirror.is_on_branch(&"5".repeat(40)).is_err());
        let messages = mirror.messages(Some(&first), &fork, 9).unwrap();
        assert_eq!(messages.len(), 1, "{messages:?}");
    }

    #[test]
    fn the_way_between_commits_is_known() {
        let origin = Origin::new();
        let ids: Vec<String> = ["1", "2", "3"]
            .iter()
            .map(|text| origin.push("main", &[("a.yaml", text)]))
            .collect();
        let side = git2::Oid::from_str(&ids[0]).unwrap();
        let side = origin
            .commit(&[(b"b.yaml", FILE, b"")], Some(side))
            .to_string();
        origin.point("refs/heads/side", git2::Oid::from_str(&side).unwrap());
        let mirror = origin.mirror(&[]);
        mirror.fetch().unwrap();
        let ancestor = |old: &str, new: &str| mirror.is_ancestor(old, new).unwrap();
        assert!(ancestor(&ids[0], &ids[2]));
        assert!(ancestor(&ids[1], &ids[1]));
        assert!(ancestor(&ids[0], &side));
        assert!(!ancestor(&ids[2], &ids[0]));
        assert!(!ancestor(&ids[1], &side));
        let log = |from: Option<&str>, to: &str, limit| -> Vec<String> {
            let log = mirror.log(from, to, limit).unwrap();
            log.into_iter().map(|commit| commit.id).collect()
        };
        assert_eq!(log(Some(&ids[0]), &ids[2], 9), [&*ids[2], &*ids[1]]);
        assert_eq!(log(None, &ids[2], 2), [&*ids[2], &*ids[1]]);
        assert_eq!(log(Some(&ids[2]), &side, 9), std::slice::from_ref(&side));
        assert!(log(Some(&ids[2]), &ids[0], 9).is_empty());
    }

    #[test]
    fn a_commit_that_was_not_fetched_is_gone() {
        let origin = Origin::new();
        origin.push("main", &[("a.yaml", "")]);
        let mirror = origin.mirror(&[]);
        mirror.fetch().unwrap();
        let unfetched = origin.push("main", &[("b.yaml", "")]);
        for id in [unfetched.as_str(), "main", "zz", ""] {
            let error = mirror.tree(id, "").unwrap_err();
            assert_eq!(error.class(), ErrorClass::Gone, "{error}");
        }
    }
}
