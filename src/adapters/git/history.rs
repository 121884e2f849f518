//! What a repository of ours holds: commits, the path between them, and the files at each.
//!
//! In: a mirror, or the quarantine beside it, and names of commits. Out: what people want to know of them. It does not
//! know: how a commit came here, what it is asked for.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use git2::{Odb, Oid, Repository};
use jiff::Timestamp;

use super::Error;
use super::commit_object::CommitObject;
use super::graph::Graph;
use super::mentions::{self, MOST_COMMITS};
use super::mirror::{Mirror, Ref, is_kept, is_missing, kept_branches};
use super::objects::Objects;
use crate::model::Tree;

/// A commit, as people speak of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// Its id.
    pub id: String,
    /// The first line of its message.
    pub title: String,
    /// Who wrote it: `name <email>`; empty if it does not say.
    pub author: String,
    /// When it was committed; 1970 if it does not say.
    pub at: Timestamp,
}

impl From<&CommitObject> for Commit {
    fn from(commit: &CommitObject) -> Self {
        let author = commit.author.clone().unwrap_or_default();
        Self {
            id: commit.id.to_string(),
            title: commit.title(),
            author: author.name,
            at: Timestamp::from_second(commit.at()).unwrap_or_default(),
        }
    }
}

impl Mirror {
    /// The files of the fleet at `path` in `commit`.
    ///
    /// # Errors
    /// When the commit was not fetched, or has no directory at `path` (`.` is the whole
    /// repository).
    pub fn tree(&self, commit: &str, path: &str) -> Result<Tree, Error> {
        self.history(|history| history.tree(commit, path))
    }

    /// The commit's title, author and time.
    ///
    /// # Errors
    /// When it was not fetched.
    pub fn commit(&self, id: &str) -> Result<Commit, Error> {
        self.history(|history| history.commit(id))
    }

    /// Whether `old` is `new`, or came before it. Where a commit says that it is much older than one that leads to it,
    /// the answer may be no.
    ///
    /// # Errors
    /// When one of the commits was not fetched.
    pub fn is_ancestor(&self, old: &str, new: &str) -> Result<bool, Error> {
        self.history(|history| history.is_ancestor(old, new))
    }

    /// The commits that lead to `to`, without those that lead to `from` already: newest first, at
    /// most `limit`.
    ///
    /// # Errors
    /// When one of the commits was not fetched.
    pub fn log(&self, from: Option<&str>, to: &str, limit: usize) -> Result<Vec<Commit>, Error> {
        self.history(|history| history.log(from, to, limit))
    }

    /// Those of [`Self::log`] that one gets to from `to` by first parents: what was pushed, and not what a merge
    /// brought in.
    ///
    /// # Errors
    /// When one of the commits was not fetched.
    pub fn first_parents(
        &self,
        from: Option<&str>,
        to: &str,
        limit: usize,
    ) -> Result<Vec<Commit>, Error> {
        self.history(|history| history.first_parents(from, to, limit))
    }

    /// For each of `words` that a commit on the line of [`Self::first_parents`] after `from` writes into a file, the newest
    /// such commit.
    ///
    /// # Errors
    /// When one of the commits was not fetched.
    pub fn written(
        &self,
        from: &str,
        to: &str,
        words: &BTreeSet<String>,
    ) -> Result<BTreeMap<String, String>, Error> {
        self.history(|history| history.written(from, to, words))
    }

    /// The whole message of a commit.
    ///
    /// # Errors
    /// When it was not fetched.
    pub fn message(&self, commit: &str) -> Result<String, Error> {
        self.history(|history| Ok(history.find(commit)?.text()))
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
        self.history(|history| history.trailers(from, to, limit, key))
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
        self.history(|history| history.messages(from, to, limit))
    }

    /// Whether a branch leads to `commit`.
    ///
    /// # Errors
    /// When it was not fetched.
    pub fn is_on_branch(&self, commit: &str) -> Result<bool, Error> {
        self.history(|history| {
            let commit = history.find(commit)?.id;
            let leads = || {
                let tips = kept_branches(history.repository)?;
                Graph::of(history.repository)?.leads_to(commit, &tips)
            };
            leads().map_err(|cause| history.damaged(&cause))
        })
    }

    /// Does `read` on the commits that are here.
    fn history<T>(&self, read: impl FnOnce(&History<'_>) -> Result<T, Error>) -> Result<T, Error> {
        self.reading(|repository| read(&History::of(repository, &self.address.shown)?))
    }

    pub(super) fn find(
        &self,
        repository: &Repository,
        commit: &str,
    ) -> Result<CommitObject, Error> {
        History::of(repository, &self.address.shown)?.find(commit)
    }
}

/// The commits of a repository of ours.
pub(super) struct History<'r> {
    repository: &'r Repository,
    odb: Odb<'r>,
    /// Where they come from, for people.
    place: &'r str,
}

impl<'r> History<'r> {
    /// The commits in `repository`, which come from `place`.
    pub(super) fn of(repository: &'r Repository, place: &'r str) -> Result<Self, Error> {
        let odb = repository.odb();
        let odb = odb.map_err(|cause| Error::damaged(repository, &cause))?;
        Ok(Self {
            repository,
            odb,
            place,
        })
    }

    fn damaged(&self, cause: &git2::Error) -> Error {
        Error::damaged(self.repository, cause)
    }

    fn missing(&self, commit: &str) -> Error {
        Error::NoSuchRevision {
            wanted: Ref::Commit(commit.to_owned()).to_string(),
            place: self.place.to_owned(),
            instead: String::new(),
        }
    }

    /// The commit with this id.
    pub(super) fn find(&self, commit: &str) -> Result<CommitObject, Error> {
        let id = Oid::from_str(commit).map_err(|_| self.missing(commit))?;
        match CommitObject::read(&self.odb, id) {
            Ok(Some(found)) => Ok(found),
            Ok(None) => Err(self.missing(commit)),
            // A commit that a ref leads to was here once.
            Err(cause) if is_missing(&cause) && !is_kept(self.repository, id) => {
                Err(self.missing(commit))
            }
            Err(cause) => Err(self.damaged(&cause)),
        }
    }

    pub(super) fn tree(&self, commit: &str, path: &str) -> Result<Tree, Error> {
        match Objects::at(self.repository, self.find(commit)?.tree, path)? {
            Some(objects) => objects.read(commit),
            None => Err(no_such_path(commit, path)),
        }
    }

    pub(super) fn commit(&self, id: &str) -> Result<Commit, Error> {
        Ok(Commit::from(&self.find(id)?))
    }

    pub(super) fn is_ancestor(&self, old: &str, new: &str) -> Result<bool, Error> {
        let (old, new) = (self.find(old)?.id, self.find(new)?.id);
        let leads = Graph::of(self.repository).and_then(|graph| graph.leads_to(old, &[new]));
        leads.map_err(|cause| self.damaged(&cause))
    }

    pub(super) fn log(
        &self,
        from: Option<&str>,
        to: &str,
        limit: usize,
    ) -> Result<Vec<Commit>, Error> {
        let commits = self.between(from, to, limit)?;
        Ok(commits.iter().map(Commit::from).collect())
    }

    pub(super) fn first_parents(
        &self,
        from: Option<&str>,
        to: &str,
        limit: usize,
    ) -> Result<Vec<Commit>, Error> {
        let to = self.find(to)?.id;
        let from = from.map(|from| self.find(from)).transpose()?;
        let line = first_parents(self.repository, from.map(|from| from.id), to, limit);
        let line = line.map_err(|cause| self.damaged(&cause))?.into_iter();
        line.map(|id| self.commit(&id.to_string())).collect()
    }

    pub(super) fn written(
        &self,
        from: &str,
        to: &str,
        words: &BTreeSet<String>,
    ) -> Result<BTreeMap<String, String>, Error> {
        let (from, to) = (self.find(from)?.id, self.find(to)?.id);
        let line = first_parents(self.repository, Some(from), to, MOST_COMMITS);
        let found = line.and_then(|line| mentions::written(self.repository, &line, words));
        let found = found.map_err(|cause| self.damaged(&cause))?.into_iter();
        Ok(found.map(|(word, id)| (word, id.to_string())).collect())
    }

    pub(super) fn trailers(
        &self,
        from: Option<&str>,
        to: &str,
        limit: usize,
        key: &str,
    ) -> Result<Vec<String>, Error> {
        let messages = self.messages(from, to, limit)?;
        let values = messages.iter().flat_map(|message| trailers(message, key));
        Ok(values.collect())
    }

    pub(super) fn messages(
        &self,
        from: Option<&str>,
        to: &str,
        limit: usize,
    ) -> Result<Vec<String>, Error> {
        let commits = self.between(from, to, limit)?;
        Ok(commits.iter().map(CommitObject::text).collect())
    }

    fn between(
        &self,
        from: Option<&str>,
        to: &str,
        limit: usize,
    ) -> Result<Vec<CommitObject>, Error> {
        let to = self.find(to)?.id;
        let from = from.map(|from| self.find(from)).transpose()?;
        let from = from.map(|commit| commit.id);
        walk(self.repository, from, to, limit).map_err(|cause| self.damaged(&cause))
    }
}

/// The values of the trailer `key` in the message of a commit.
#[must_use]
pub fn trailers(message: &str, key: &str) -> Vec<String> {
    // A message without trailers is not an error.
    let trailers = git2::message_trailers_strs(message).ok();
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

/// The commits that lead to `to` and not to `from`, as [`Graph::between`] lists them, without those that cannot be read.
pub(super) fn walk(
    repository: &Repository,
    from: Option<Oid>,
    to: Oid,
    limit: usize,
) -> Result<Vec<CommitObject>, git2::Error> {
    let odb = repository.odb()?;
    let ids = Graph::of(repository)?.between(from, to, limit)?;
    let commits = ids.into_iter().map(|id| CommitObject::read(&odb, id));
    commits.filter_map(Result::transpose).collect()
}

/// The commits from `to` back along first parents, the newest first, at most `limit`: up to the first that is `from` or
/// leads to it, or to the end of a shallow history.
pub(super) fn first_parents(
    repository: &Repository,
    from: Option<Oid>,
    to: Oid,
    limit: usize,
) -> Result<Vec<Oid>, git2::Error> {
    let odb = repository.odb()?;
    let (mut line, mut next) = (Vec::new(), Some(to));
    while let Some(id) = next.filter(|_| line.len() < limit) {
        if from == Some(id) {
            return Ok(line);
        }
        let commit = match CommitObject::read(&odb, id) {
            Err(cause) if is_missing(&cause) && !line.is_empty() => None,
            commit => commit?,
        };
        let Some(commit) = commit else { break };
        line.push(id);
        next = commit.parents.first().copied();
    }
    if from.is_some() {
        // `from` is beside the line.
        let new = Graph::of(repository)?.between(from, to, usize::MAX)?;
        let new: HashSet<Oid> = new.into_iter().collect();
        let known = line.iter().position(|id| !new.contains(id));
        line.truncate(known.unwrap_or(line.len()));
    }
    Ok(line)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use git2::ObjectType;

    use super::*;
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
    fn the_line_leaves_out_what_a_merge_brought_in() {
        let origin = Origin::new();
        let first = origin.push("main", &[("a.yaml", "1")]);
        let base = Oid::from_str(&first).unwrap();
        let side = origin.commit(&[(b"b.yaml", FILE, b"")], Some(base));
        let second = origin.commit(&[(b"a.yaml", FILE, b"2")], Some(base));
        let merge = origin.merge(&[second, side]);
        let other = origin.merge(&[side, second]);
        let newest = origin.commit(&[(b"a.yaml", FILE, b"3")], Some(merge));
        origin.point("refs/heads/main", newest);
        origin.point("refs/heads/other", other);
        let mirror = origin.mirror(&[]);
        mirror.fetch().unwrap();
        let line = |from: Option<Oid>, to: Oid, limit| {
            let from = from.map(|from| from.to_string());
            let line = mirror.first_parents(from.as_deref(), &to.to_string(), limit);
            let line = line.unwrap().into_iter();
            line.map(|commit| Oid::from_str(&commit.id).unwrap())
                .collect::<Vec<_>>()
        };
        assert_eq!(line(Some(base), newest, 9), [newest, merge, second]);
        assert_eq!(line(Some(second), newest, 9), [newest, merge]);
        assert_eq!(line(None, newest, 2), [newest, merge]);
        // What was applied is beside the line, or behind it.
        assert_eq!(line(Some(side), newest, 9), [newest, merge, second]);
        assert_eq!(line(Some(second), other, 9), [other, side]);
        assert_eq!(line(Some(merge), other, 9), [other]);
        assert_eq!(line(Some(newest), second, 9), []);
        assert_eq!(line(Some(newest), newest, 9), []);
        let missing = "5".repeat(40);
        let newest = newest.to_string();
        mirror
            .first_parents(Some(&missing), &newest, 9)
            .unwrap_err();
        mirror.first_parents(None, &missing, 9).unwrap_err();
    }

    #[test]
    fn a_malformed_author_ends_no_line() {
        let origin = Origin::new();
        let first = origin.push("main", &[("a.yaml", "1")]);
        let repository = &origin.repository;
        let since = Oid::from_str(&first).unwrap();
        let tree = repository.find_commit(since).unwrap().tree_id();
        let mut parent = since;
        let heads = [
            "author A <a@b>> 99999999999999999999 +0\ncommitter B\n",
            "author <> 1 +0000\ncommitter  <> x\n",
            "author me\n",
            "",
        ];
        for head in heads {
            let text = format!("tree {tree}\nparent {parent}\n{head}\nit\n\nApprove: x\n");
            let odb = repository.odb().unwrap();
            parent = odb.write(ObjectType::Commit, text.as_bytes()).unwrap();
        }
        let line = first_parents(repository, Some(since), parent, 9).unwrap();
        assert_eq!(line.len(), heads.len());
        let odb = repository.odb().unwrap();
        for id in line {
            let text = CommitObject::read(&odb, id).unwrap().unwrap().text();
            assert_eq!(trailers(&text, "approve"), ["x"]);
        }
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
