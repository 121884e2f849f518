//! A person's own clone: the revisions beside its working copy, and what one would make of another.
//!
//! In: a directory of a clone, and revisions as git's own commands take them. Out: their files, and the commits
//! between them. It changes nothing there: what a merge writes stays in memory. It does not know what lies in the
//! working copy.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use git2::{Oid, Reference, Repository};
use tempfile::TempDir;

use super::Error;
use super::commit_object::{Peeled, peel};
use super::directory::{below, enclosing_repository};
use super::graph::{Graph, shallow};
use super::history::{Commit, History};
use super::merge::{self, Merged};
use super::mirror::is_test_merge;
use super::verify::{Trust, verify_commit};
use super::{nearby, own_view};
use crate::model::Tree;

/// A clone.
pub struct Checkout {
    repository: Repository,
    /// Its top directory.
    root: PathBuf,
    /// As it was named.
    place: String,
    /// What the repository is read through, if it cannot be opened itself.
    _view: Option<TempDir>,
}

/// A commit, and what people call it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revision {
    /// `the branch main`, `the tag v1`, `the revision HEAD~1`.
    pub name: String,
    /// Its id.
    pub commit: String,
}

impl Checkout {
    /// The clone around `path`; `None` if it is in none.
    ///
    /// # Errors
    /// When there is nothing at `path`, or what looks like a repository is none.
    pub fn around(path: &Path) -> Result<Option<Self>, Error> {
        let real = std::fs::canonicalize(path).map_err(|cause| match cause.kind() {
            std::io::ErrorKind::NotFound => Error::NoSuchFile { path: path.into() },
            _ => Error::disk(path, &cause),
        })?;
        let Some(root) = enclosing_repository(&real) else {
            return Ok(None);
        };
        let place = path.display().to_string();
        let (repository, view) = match Repository::open(root) {
            Ok(repository) => (repository, None),
            // One of another user, or with settings that are not known: its objects and refs need neither.
            Err(cause) => match own_view::open(root) {
                Some((repository, view)) => (repository, Some(view)),
                None => {
                    let cause = cause.message().to_owned();
                    return Err(Error::Broken { url: place, cause });
                }
            },
        };
        Ok(Some(Self {
            repository,
            root: root.to_owned(),
            place,
            _view: view,
        }))
    }

    /// The path of a directory in the repository; `None` if it is not inside.
    #[must_use]
    pub fn inner(&self, directory: &Path) -> Option<String> {
        let real = std::fs::canonicalize(directory).ok()?;
        real.starts_with(&self.root)
            .then(|| below(&self.root, &real))
    }

    /// The commit that git calls `wanted`; `None` if there is none.
    ///
    /// # Errors
    /// When it leads to something else than a commit.
    pub fn find(&self, wanted: &str) -> Result<Option<Revision>, Error> {
        // To libgit2, nothing is HEAD.
        if wanted.is_empty() {
            return Ok(None);
        }
        // It reads what an expression leads to as a whole, and nothing of a commit whose author it cannot parse.
        let named = self.repository.resolve_reference_from_short_name(wanted);
        let found = match named.and_then(|reference| Ok((reference.resolve()?.target(), reference)))
        {
            Ok((Some(id), reference)) => Some((id, Some(reference))),
            _ => (self.repository.revparse_ext(wanted).ok())
                .map(|(object, reference)| (object.id(), reference)),
        };
        let Some((id, reference)) = found else {
            return Ok(None);
        };
        let odb = self.repository.odb().map_err(|cause| self.broken(&cause))?;
        let not_a_commit = |cause: String| Error::NotACommit {
            wanted: wanted.to_owned(),
            place: self.place.clone(),
            cause,
        };
        match peel(&odb, id).map_err(|cause| self.broken(&cause))? {
            Peeled::Commit(commit) => Ok(Some(Revision {
                name: called(wanted, reference.as_ref()),
                commit: commit.id.to_string(),
            })),
            Peeled::Elsewhere => Err(not_a_commit("it leads to something else".to_owned())),
            Peeled::Unusable(cause) => Err(not_a_commit(cause)),
        }
    }

    /// The error for a revision that is not here: it names those that are.
    #[must_use]
    pub fn no_revision(&self, wanted: &str) -> Error {
        if self.is_shallow() {
            return self.cut_off(format!("the revision {wanted}"));
        }
        let names = self.names();
        Error::NoSuchRevision {
            wanted: format!("revision {wanted}"),
            place: self.place.clone(),
            instead: nearby::hint(wanted, names.iter().map(String::as_str)),
        }
    }

    /// The commit that is checked out.
    ///
    /// # Errors
    /// When there is none yet, or it cannot be read.
    pub fn head(&self) -> Result<String, Error> {
        let missing = || Error::NoSuchRevision {
            wanted: "commit".to_owned(),
            place: self.place.clone(),
            instead: " yet".to_owned(),
        };
        Ok(self.find("HEAD")?.ok_or_else(missing)?.commit)
    }

    /// The head that `commit` merges, if a forge made that to try a pull request, and it was checked out under that name.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn tried_by(&self, commit: &str) -> Result<Option<String>, Error> {
        self.reading(|history| {
            let commit = history.find(commit)?;
            let odb = self.repository.odb().map_err(|cause| self.broken(&cause))?;
            Ok(match commit.parents[..] {
                [_, head] if odb.exists(head) && self.is_test_merge(commit.id) => {
                    Some(head.to_string())
                }
                _ => None,
            })
        })
    }

    /// Where the histories of two commits met last.
    ///
    /// # Errors
    /// When they have no commit in common, or the clone lacks it.
    pub fn merge_base(&self, one: &str, other: &str) -> Result<String, Error> {
        self.reading(|history| {
            let (one_id, other_id) = (history.find(one)?.id, history.find(other)?.id);
            let bases = Graph::of(&self.repository)
                .and_then(|graph| graph.merge_bases(one_id, other_id))
                .map_err(|cause| self.broken(&cause))?;
            let base = bases.first().ok_or_else(|| Error::Unrelated {
                head: one.to_owned(),
                base: other.to_owned(),
            })?;
            Ok(base.to_string())
        })
    }

    /// The files below `path` at `commit`; none if it has no such directory.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn tree(&self, commit: &str, path: &str) -> Result<Tree, Error> {
        self.reading(|history| match history.tree(commit, path) {
            Err(Error::NoSuchPath { .. }) => Ok(Tree::default()),
            read => read,
        })
    }

    /// As [`Mirror::merged`](super::Mirror::merged); no files if the result has no directory at `path`.
    ///
    /// # Errors
    /// When they have no commit in common, or cannot be read.
    pub fn merged(&self, base: &str, head: &str, path: &str) -> Result<Merged, Error> {
        self.reading(
            |history| match merge::merged(&self.repository, history, base, head, path) {
                Err(Error::NoSuchPath { .. }) => Ok(Merged::Clean {
                    tree: Tree::default(),
                    id: String::new(),
                }),
                read => read,
            },
        )
    }

    /// As [`Mirror::first_parents`](super::Mirror::first_parents).
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn first_parents(
        &self,
        from: Option<&str>,
        to: &str,
        limit: usize,
    ) -> Result<Vec<Commit>, Error> {
        self.reading(|history| history.first_parents(from, to, limit))
    }

    /// As [`Mirror::log`](super::Mirror::log).
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn log(&self, from: Option<&str>, to: &str, limit: usize) -> Result<Vec<Commit>, Error> {
        self.reading(|history| history.log(from, to, limit))
    }

    /// The whole message of a commit.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn message(&self, commit: &str) -> Result<String, Error> {
        self.reading(|history| Ok(history.find(commit)?.text()))
    }

    /// As [`Mirror::written`](super::Mirror::written).
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn written(
        &self,
        from: &str,
        to: &str,
        words: &BTreeSet<String>,
    ) -> Result<BTreeMap<String, String>, Error> {
        self.reading(|history| history.written(from, to, words))
    }

    /// Whether `commit` is signed, as [`Mirror::verify_commit`](super::Mirror::verify_commit).
    ///
    /// # Errors
    /// [`Error::Unverified`] if it is not accepted.
    pub fn verify_commit(&self, commit: &str, trust: Trust<'_>) -> Result<(), Error> {
        self.reading(|history| verify_commit(&self.repository, &history.find(commit)?, trust))
    }

    /// Does `read` on the commits. What is missing behind the end of a shallow history, or in a partial clone, is said
    /// to be.
    fn reading<T>(&self, read: impl FnOnce(&History<'_>) -> Result<T, Error>) -> Result<T, Error> {
        let history = History::of(&self.repository, &self.place);
        let result = history.and_then(|history| read(&history));
        result.map_err(|error| match error {
            Error::Unrelated { head, base } if self.is_shallow() => {
                self.cut_off(format!("the commit that {head} and {base} grew from"))
            }
            Error::Damaged { cause, .. } => Error::Broken {
                url: self.place.clone(),
                cause,
            },
            other => other,
        })
    }

    fn broken(&self, cause: &git2::Error) -> Error {
        Error::Broken {
            url: self.place.clone(),
            cause: cause.message().to_owned(),
        }
    }

    fn is_shallow(&self) -> bool {
        !shallow(&self.repository).is_empty()
    }

    fn cut_off(&self, missing: String) -> Error {
        Error::CutOff {
            missing,
            place: self.place.clone(),
        }
    }

    /// Returns true if a forge made the commit to try a merge, and it was checked out under that name.
    fn is_test_merge(&self, id: Oid) -> bool {
        let Ok(references) = self.repository.references() else {
            return false;
        };
        let leads_here = |reference: &Reference<'_>| reference.target() == Some(id);
        references.flatten().any(|reference| {
            let name = reference.name().unwrap_or_default();
            let name = name.replacen("refs/remotes/pull/", "refs/pull/", 1);
            is_test_merge(&name) && leads_here(&reference)
        })
    }

    /// The branches and tags, as they are written in commands.
    fn names(&self) -> Vec<String> {
        let references = self.repository.references().into_iter().flatten();
        let names = references.flatten().filter_map(|reference| {
            let name = reference.name().ok()?;
            let kinds = ["refs/heads/", "refs/remotes/", "refs/tags/"];
            let short = kinds.iter().find_map(|kind| name.strip_prefix(kind))?;
            Some(short.to_owned())
        });
        names.collect()
    }
}

/// What people call a revision that was written `wanted`.
fn called(wanted: &str, reference: Option<&Reference<'_>>) -> String {
    let name = reference.and_then(|reference| reference.name().ok());
    let name = name.unwrap_or_default();
    let branch = ["refs/heads/", "refs/remotes/"];
    let branch = branch.iter().find_map(|kind| name.strip_prefix(kind));
    let tag = name.strip_prefix("refs/tags/");
    match (branch, tag) {
        // Of HEAD and `@`, the branch is not what was written.
        (Some(branch), _) if wanted.ends_with(branch) => format!("the branch {branch}"),
        (_, Some(tag)) => format!("the tag {tag}"),
        _ => format!("the revision {wanted}"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]

    use super::*;
    use crate::adapters::git::fixture::{FILE, LINK, Origin, SUBMODULE};
    use crate::model::{ErrorClass, Problem};

    /// A clone whose fleet changed since its first commit.
    fn cloned() -> (TempDir, Origin) {
        let origin = Origin::new();
        origin.push("main", &[("fleet/a.yaml", "old"), ("x.yaml", "")]);
        origin.push("main", &[("fleet/a.yaml", "new"), ("x.yaml", "")]);
        let dir = tempfile::tempdir().unwrap();
        Repository::clone(&origin.url(), dir.path()).unwrap();
        (dir, origin)
    }

    fn around(path: &Path) -> Checkout {
        Checkout::around(path).unwrap().unwrap()
    }

    fn text(checkout: &Checkout, revision: &str) -> String {
        let commit = checkout.find(revision).unwrap().unwrap().commit;
        let tree = checkout.tree(&commit, "fleet").unwrap();
        assert_eq!(tree.files.len(), 1);
        String::from_utf8(tree.files["fleet/a.yaml"].to_vec()).unwrap()
    }

    #[test]
    fn an_older_revision_is_read_beside_the_working_copy() {
        let (dir, _origin) = cloned();
        let fleet = dir.path().join("fleet");
        let checkout = around(&fleet);
        assert_eq!(checkout.inner(&fleet).as_deref(), Some("fleet"));
        assert_eq!(checkout.inner(dir.path()).as_deref(), Some(""));
        assert_eq!(checkout.inner(Path::new("/")), None);
        assert_eq!(text(&checkout, "HEAD~1"), "old");
        assert_eq!(text(&checkout, "main"), "new");
        let head = checkout.head().unwrap();
        let none = checkout.tree(&head, "later").unwrap();
        assert!(none.files.is_empty(), "it is new");
    }

    #[test]
    fn a_revision_is_called_as_it_was_written() {
        let (dir, origin) = cloned();
        let checkout = around(dir.path());
        let head = checkout.head().unwrap();
        let id = Oid::from_str(&head).unwrap();
        origin.point("refs/tags/v1", id);
        let repository = Repository::open(dir.path()).unwrap();
        repository.reference("refs/tags/v1", id, true, "").unwrap();
        for (wanted, name) in [
            ("main", "the branch main"),
            ("origin/main", "the branch origin/main"),
            ("refs/heads/main", "the branch main"),
            ("v1", "the tag v1"),
            ("HEAD", "the revision HEAD"),
            ("main^0", "the revision main^0"),
            (&head, &format!("the revision {head}")),
        ] {
            let found = checkout.find(wanted).unwrap().unwrap();
            assert_eq!((found.name.as_str(), &found.commit), (name, &head));
        }
        for odd in ["", "v9", "HEAD~9", "-x", "a..b", ":/nothing", "@{9}", "\0"] {
            assert_eq!(checkout.find(odd).unwrap(), None, "{odd:?}");
        }
        let error = checkout.find("HEAD:x.yaml").unwrap_err();
        assert!(matches!(error, Error::NotACommit { .. }), "{error}");
        let error = checkout.no_revision("v9");
        assert_eq!(error.class(), ErrorClass::Gone);
        assert!(error.to_string().starts_with("no revision v9 in "));
    }

    #[test]
    fn what_is_no_clone_is_told_from_what_is_a_broken_one() {
        let dir = tempfile::tempdir().unwrap();
        assert!(Checkout::around(dir.path()).unwrap().is_none());
        std::fs::write(dir.path().join(".git"), "gitdir: nowhere\n").unwrap();
        let error = Checkout::around(dir.path()).err().unwrap();
        assert!(matches!(error, Error::Broken { .. }), "{error}");
        let error = Checkout::around(Path::new("/nowhere")).err().unwrap();
        assert!(matches!(error, Error::NoSuchFile { .. }), "{error}");
    }

    #[test]
    fn a_merge_leaves_no_trace() {
        let (dir, origin) = cloned();
        let start = origin.push("main", &[("fleet/a.yaml", "1\n2\n3\n"), ("x.yaml", "")]);
        let parent = Oid::from_str(&start).unwrap();
        let side = origin.commit(&[(b"fleet/a.yaml", FILE, b"1\n2\nours\n")], Some(parent));
        origin.point("refs/heads/side", side);
        origin.push("main", &[("fleet/a.yaml", "theirs\n2\n3\n")]);
        let repository = Repository::open(dir.path()).unwrap();
        let mut remote = repository.find_remote("origin").unwrap();
        remote.fetch(&[] as &[&str], None, None).unwrap();
        let objects = || {
            let mut count = 0;
            let repository = Repository::open(dir.path()).unwrap();
            let odb = repository.odb().unwrap();
            odb.foreach(|_| {
                count += 1;
                true
            })
            .unwrap();
            count
        };
        let before = objects();
        let checkout = around(dir.path());
        let base = checkout.find("origin/main").unwrap().unwrap().commit;
        let side = side.to_string();
        assert_eq!(checkout.merge_base(&side, &base).unwrap(), start);
        let Merged::Clean { tree, .. } = checkout.merged(&base, &side, "fleet").unwrap() else {
            panic!("a conflict");
        };
        assert_eq!(&*tree.files["fleet/a.yaml"], b"theirs\n2\nours\n");
        assert_eq!(objects(), before);
    }

    #[test]
    fn a_hostile_repository_costs_findings_and_no_more() {
        let origin = Origin::new();
        let entries: &[(&[u8], u32, &[u8])] = &[
            (b"fleet/a.yaml", FILE, b"a"),
            (b"fleet/link.yaml", LINK, b"/etc/passwd"),
            (b"fleet/module", SUBMODULE, b""),
        ];
        let first = origin.push_entries("main", entries);
        let parent = Oid::from_str(&first).unwrap();
        // libgit2 would not write this mode.
        let blob = origin.repository.blob(b"b").unwrap();
        let inner = [b"100777 mode.yaml\0", blob.as_bytes()].concat();
        let inner = origin.object(git2::ObjectType::Tree, &inner);
        let root = [b"40000 fleet\0", inner.as_bytes()].concat();
        let root = origin.object(git2::ObjectType::Tree, &root);
        let text = format!("tree {root}\nparent {first}\n\nodd");
        let second = origin.object(git2::ObjectType::Commit, text.as_bytes());
        let odd = origin.malformed("\u{0} <> x", &[parent, second], "\u{1b}[31m");
        origin.point("refs/heads/main", odd);
        let dir = tempfile::tempdir().unwrap();
        let repository = Repository::init(dir.path()).unwrap();
        let alternate = repository.path().join("objects/info/alternates");
        let objects = origin.dir.path().join("objects");
        std::fs::write(alternate, format!("{}\n", objects.display())).unwrap();
        let main = repository.path().join("refs/heads/main");
        std::fs::write(main, format!("{odd}\n")).unwrap();
        std::fs::write(repository.path().join("HEAD"), "ref: refs/heads/main\n").unwrap();
        let checkout = around(dir.path());
        let tree = checkout.tree(&first, "fleet").unwrap();
        assert!(tree.files.contains_key("fleet/a.yaml"));
        assert_eq!(tree.problems["fleet/link.yaml"], Problem::LinkLeavesTree);
        assert_eq!(tree.problems["fleet/module"], Problem::Submodule);
        let tree = checkout.tree(&second.to_string(), "fleet").unwrap();
        assert_eq!(tree.files.len() + tree.problems.len(), 1);
        // A malformed commit is read as far as it goes.
        let head = checkout.head();
        assert!(head.is_ok_and(|head| checkout.merged(&first, &head, "fleet").is_ok()));
    }

    #[test]
    fn a_view_of_ones_own_has_the_same_commits() {
        let (dir, _origin) = cloned();
        let repository = Repository::open(dir.path()).unwrap();
        let head = repository.revparse_single("HEAD").unwrap().id();
        let worktree = tempfile::tempdir().unwrap();
        let place = worktree.path().join("beside");
        repository.worktree("beside", &place, None).unwrap();
        for root in [dir.path(), &place] {
            let (view, files) = own_view::open(root).unwrap();
            for name in ["HEAD", "origin/main", "main"] {
                assert_eq!(view.revparse_single(name).unwrap().id(), head, "{name}");
            }
            assert!(!files.path().starts_with(dir.path()));
        }
        assert!(own_view::open(worktree.path()).is_none());
    }
}
