//! Writes commits into a bare repository, as a person who pushes to it would.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use git2::{IndexEntry, IndexTime, Oid, Repository, Signature, Time};
use jiff::Timestamp;

/// The mode of a file in git.
pub(super) const FILE: u32 = 0o100_644;

/// The files of a commit, by path.
pub type Files = BTreeMap<String, String>;

/// A bare repository of our own making.
pub struct Author {
    repository: Repository,
    dir: PathBuf,
}

impl Author {
    /// Makes a bare repository in `dir`, its default branch `main`.
    ///
    /// # Errors
    /// When the directory cannot be written.
    pub fn init(dir: &Path) -> Result<Self, git2::Error> {
        let repository = Repository::init_bare(dir)?;
        repository.set_head("refs/heads/main")?;
        Ok(Self {
            repository,
            dir: dir.to_owned(),
        })
    }

    /// Where the repository is.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Commits exactly `files` on top of `onto` and points `branch` at it; returns the commit's id.
    ///
    /// # Errors
    /// When `onto` is no commit here, or the repository cannot be written.
    pub fn push(
        &self,
        branch: &str,
        onto: Option<&str>,
        files: &Files,
        message: &str,
        at: Timestamp,
    ) -> Result<String, git2::Error> {
        let tree = self.repository.find_tree(self.tree(files)?)?;
        let parent = onto
            .map(|id| self.repository.find_commit(Oid::from_str(id)?))
            .transpose()?;
        let who = Signature::new("Demo", "demo@localhost", &Time::new(at.as_second(), 0))?;
        let parents: Vec<_> = parent.iter().collect();
        let commit = self
            .repository
            .commit(None, &who, &who, message, &tree, &parents)?;
        self.repository
            .reference(&format!("refs/heads/{branch}"), commit, true, message)?;
        Ok(commit.to_string())
    }

    /// The note on `commit` under `reference`.
    ///
    /// # Errors
    /// When the repository cannot be read.
    pub fn note(&self, reference: &str, commit: &str) -> Result<Option<String>, git2::Error> {
        match self
            .repository
            .find_note(Some(reference), Oid::from_str(commit)?)
        {
            Ok(note) => note.message().map(|text| Some(text.to_owned())),
            Err(error) if error.code() == git2::ErrorCode::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn tree(&self, files: &Files) -> Result<Oid, git2::Error> {
        let mut index = git2::Index::new()?;
        for (path, text) in files {
            let id = self.repository.blob(text.as_bytes())?;
            index.add(&entry(path.as_bytes(), FILE, id))?;
        }
        index.write_tree_to(&self.repository)
    }
}

/// An entry of an index that is only written as a tree, which has no use for the rest.
pub(super) fn entry(path: &[u8], mode: u32, id: Oid) -> IndexEntry {
    let never = IndexTime::new(0, 0);
    IndexEntry {
        ctime: never,
        mtime: never,
        dev: 0,
        ino: 0,
        mode,
        uid: 0,
        gid: 0,
        file_size: 0,
        id,
        flags: 0,
        flags_extended: 0,
        path: path.to_vec(),
    }
}
