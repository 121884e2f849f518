//! Repositories for the tests of this module: a bare one that people push to, and mirrors of it.

#![allow(clippy::unwrap_used)]

use std::path::Path;

use git2::{Index, ObjectType, Oid, Repository, Signature, Time};
use tempfile::TempDir;

use super::Mirror;
pub(super) use super::author::FILE;
use super::author::entry;

/// The mode of a link.
pub(super) const LINK: u32 = 0o120_000;
/// The mode of a submodule.
pub(super) const SUBMODULE: u32 = 0o160_000;

/// The repository that people push to.
pub(super) struct Origin {
    pub(super) dir: TempDir,
    pub(super) repository: Repository,
}

impl Origin {
    pub(super) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let repository = Repository::init_bare(dir.path()).unwrap();
        repository.set_head("refs/heads/main").unwrap();
        Self { dir, repository }
    }

    pub(super) fn url(&self) -> String {
        self.dir.path().to_str().unwrap().to_owned()
    }

    /// A commit on top of `branch` that has exactly `files`.
    pub(super) fn push(&self, branch: &str, files: &[(&str, &str)]) -> String {
        let entries: Vec<_> = files
            .iter()
            .map(|(path, text)| (path.as_bytes(), FILE, text.as_bytes()))
            .collect();
        self.push_entries(branch, &entries)
    }

    /// The same, with names that need not be UTF-8, and modes.
    pub(super) fn push_entries(&self, branch: &str, entries: &[(&[u8], u32, &[u8])]) -> String {
        let name = format!("refs/heads/{branch}");
        let parent = self.repository.find_reference(&name).ok();
        let parent = parent.and_then(|parent| parent.target());
        let id = self.commit(entries, parent);
        self.point(&name, id);
        id.to_string()
    }

    pub(super) fn commit(&self, entries: &[(&[u8], u32, &[u8])], parent: Option<Oid>) -> Oid {
        let mut index = Index::new().unwrap();
        for (path, mode, bytes) in entries {
            let id = if *mode == SUBMODULE {
                Oid::from_bytes(&[7; 20]).unwrap()
            } else {
                self.repository.blob(bytes).unwrap()
            };
            index.add(&entry(path, *mode, id)).unwrap();
        }
        let tree = index.write_tree_to(&self.repository).unwrap();
        self.commit_tree(tree, parent.as_slice())
    }

    /// A commit with the files of the last of `parents`.
    pub(super) fn merge(&self, parents: &[Oid]) -> Oid {
        let last = self.repository.find_commit(*parents.last().unwrap());
        self.commit_tree(last.unwrap().tree_id(), parents)
    }

    /// Written as it is: libgit2 would parse the parents.
    fn commit_tree(&self, tree: Oid, parents: &[Oid]) -> Oid {
        let parents: String = parents.iter().map(|id| format!("parent {id}\n")).collect();
        let who = "Ada <ada@example.com> 1760000000 +0000";
        let text =
            format!("tree {tree}\n{parents}author {who}\ncommitter {who}\n\nchange it\n\nwhy");
        self.object(ObjectType::Commit, text.as_bytes())
    }

    /// A commit of the files of its first parent that says this of its author and its committer.
    pub(super) fn malformed(&self, who: &str, parents: &[Oid], message: &str) -> Oid {
        let tree = self.repository.find_commit(parents[0]).unwrap().tree_id();
        let parents: String = parents.iter().map(|id| format!("parent {id}\n")).collect();
        let text = format!("tree {tree}\n{parents}author {who}\ncommitter {who}\n\n{message}");
        self.object(ObjectType::Commit, text.as_bytes())
    }

    /// An object of these bytes, whatever they are.
    pub(super) fn object(&self, kind: ObjectType, bytes: &[u8]) -> Oid {
        self.repository.odb().unwrap().write(kind, bytes).unwrap()
    }

    /// Points a ref at an object in git's own files, whatever it is called.
    pub(super) fn write_ref(&self, name: &str, id: Oid) {
        let packed = self.dir.path().join("packed-refs");
        let before = std::fs::read_to_string(&packed).unwrap_or_default();
        let mut lines: Vec<String> = before.lines().map(str::to_owned).collect();
        lines.retain(|line| !line.ends_with(&format!(" {name}")));
        lines.push(format!("{id} {name}"));
        std::fs::write(&packed, lines.join("\n") + "\n").unwrap();
    }

    /// Points a ref at a commit, whatever it was before.
    pub(super) fn point(&self, name: &str, id: Oid) {
        self.repository.reference(name, id, true, "test").unwrap();
    }

    pub(super) fn delete(&self, name: &str) {
        let mut reference = self.repository.find_reference(name).unwrap();
        reference.delete().unwrap();
    }

    /// A mirror of this repository that also fetches `patterns`.
    pub(super) fn mirror(&self, patterns: &[&str]) -> Copied {
        let dir = tempfile::tempdir().unwrap();
        let mirror = open(dir.path(), &self.url(), patterns);
        Copied { dir, mirror }
    }
}

/// A mirror and its directory.
pub(super) struct Copied {
    pub(super) dir: TempDir,
    pub(super) mirror: Mirror,
}

impl Copied {
    /// How many objects it holds.
    pub(super) fn objects(&self) -> usize {
        let repository = Repository::open_bare(self.dir.path().join("repository.git")).unwrap();
        let (mut count, odb) = (0, repository.odb().unwrap());
        odb.foreach(|_| {
            count += 1;
            true
        })
        .unwrap();
        count
    }
}

impl std::ops::Deref for Copied {
    type Target = Mirror;

    fn deref(&self) -> &Mirror {
        &self.mirror
    }
}

pub(super) fn open(dir: &Path, url: &str, patterns: &[&str]) -> Mirror {
    let patterns: Vec<String> = patterns.iter().map(|text| (*text).to_owned()).collect();
    Mirror::open(dir, url, &patterns).unwrap()
}

pub(super) fn author() -> Signature<'static> {
    Signature::new("Ada", "ada@example.com", &Time::new(1_760_000_000, 0)).unwrap()
}
