//! Commits one new file to the branch that is checked out.
//!
//! In: a working copy and a file in it. Out: a commit with that file and nothing else. What is staged besides stays staged. It
//! neither pushes nor runs hooks, and does not know what the file says.

use std::fs;
use std::path::{Path, PathBuf};

use git2::build::TreeUpdateBuilder;
use git2::{ErrorCode, FileMode, Oid, Repository, RepositoryState, Tree};

/// Reasons not to commit a file.
#[derive(Debug, thiserror::Error)]
pub enum CommitFault {
    /// The directory is not in a repository with a working copy.
    #[error("{0} is not in a working copy of a git repository; run `git init` there first")]
    NoWorkingCopy(PathBuf),
    /// No branch is checked out.
    #[error("no branch is checked out in {0}; check one out first")]
    NoBranch(PathBuf),
    /// A merge or the like is going on.
    #[error("a merge, rebase or the like is going on in {0}; finish it first")]
    Unfinished(PathBuf),
    /// The commits of the repository are signed.
    #[error(
        "commits in {0} are signed (commit.gpgsign), and Capstan has no key; write the file with --output and without --commit, and commit it with git"
    )]
    Signed(PathBuf),
    /// Git knows the file.
    #[error("git knows {0} already: it is committed or staged; restore or remove it first")]
    Known(String),
    /// Git ignores the file.
    #[error("git ignores {0}; change .gitignore, or choose another file")]
    Ignored(String),
    /// Nobody knows who commits.
    #[error("git does not know who you are; set user.name and user.email with `git config`")]
    Nameless,
    /// Another error of git.
    #[error("git: {}", .0.message())]
    Git(#[from] git2::Error),
}

/// A branch that is checked out.
pub struct CheckedOut {
    repository: Repository,
    root: PathBuf,
}

impl CheckedOut {
    /// The one in the working copy around `directory`, which exists.
    ///
    /// # Errors
    /// When nothing can be committed there.
    pub fn around(directory: &Path) -> Result<Self, CommitFault> {
        let none = || CommitFault::NoWorkingCopy(directory.to_owned());
        let repository = match Repository::discover(directory) {
            Ok(repository) => repository,
            Err(cause) if cause.code() == ErrorCode::NotFound => return Err(none()),
            Err(cause) => return Err(cause.into()),
        };
        let root = repository.workdir().ok_or_else(none)?;
        let root = fs::canonicalize(root).map_err(|_| none())?;
        if repository.head_detached()? {
            return Err(CommitFault::NoBranch(root));
        }
        if repository.state() != RepositoryState::Clean {
            return Err(CommitFault::Unfinished(root));
        }
        let signs = repository.config()?.get_bool("commit.gpgsign");
        if signs.unwrap_or_default() {
            return Err(CommitFault::Signed(root));
        }
        Ok(Self { repository, root })
    }

    /// The top directory of the working copy.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The name of the branch.
    #[must_use]
    pub fn branch(&self) -> String {
        let head = self.repository.find_reference("HEAD").ok();
        let name = head.and_then(|head| head.symbolic_target().ok().flatten().map(str::to_owned));
        let name = name.unwrap_or_default();
        name.trim_start_matches("refs/heads/").to_owned()
    }

    /// Checks that a file at `path` below the top directory would be new.
    ///
    /// # Errors
    /// When git knows or ignores it, or does not know who commits.
    pub fn check(&self, path: &str) -> Result<(), CommitFault> {
        let mut index = self.repository.index()?;
        index.read(true)?;
        let is_staged = (0..=3).any(|stage| index.get_path(Path::new(path), stage).is_some());
        let tree = self.tree()?;
        let is_committed = tree.is_some_and(|tree| tree.get_path(Path::new(path)).is_ok());
        if is_staged || is_committed {
            return Err(CommitFault::Known(path.to_owned()));
        }
        if self.repository.is_path_ignored(path)? {
            return Err(CommitFault::Ignored(path.to_owned()));
        }
        for who in [
            self.repository.author_from_env(),
            self.repository.committer_from_env(),
        ] {
            who.map_err(|_| CommitFault::Nameless)?;
        }
        Ok(())
    }

    /// Commits the file at `path`, and returns the id of the commit.
    ///
    /// # Errors
    /// When the repository cannot be written. The file is not staged then.
    pub fn commit(&self, path: &str, message: &str) -> Result<String, CommitFault> {
        let mut index = self.repository.index()?;
        index.read(true)?;
        index.add_path(Path::new(path))?;
        let entry = index.get_path(Path::new(path), 0);
        let entry = entry.ok_or_else(|| CommitFault::Ignored(path.to_owned()))?;
        index.write()?;
        let committed = self.write(path, entry.id, message);
        if committed.is_err() {
            index.remove_path(Path::new(path))?;
            index.write()?;
        }
        Ok(committed?.to_string())
    }

    fn write(&self, path: &str, file: Oid, message: &str) -> Result<Oid, CommitFault> {
        let repository = &self.repository;
        let (author, committer) = (
            repository.author_from_env(),
            repository.committer_from_env(),
        );
        let author = author.map_err(|_| CommitFault::Nameless)?;
        let committer = committer.map_err(|_| CommitFault::Nameless)?;
        let before = match self.tree()? {
            Some(tree) => tree,
            None => repository.find_tree(repository.treebuilder(None)?.write()?)?,
        };
        let mut update = TreeUpdateBuilder::new();
        update.upsert(path, file, FileMode::Blob);
        let tree = repository.find_tree(update.create_updated(repository, &before)?)?;
        let parent = match repository.head() {
            Ok(head) => Some(head.peel_to_commit()?),
            Err(cause) if cause.code() == ErrorCode::UnbornBranch => None,
            Err(cause) => return Err(cause.into()),
        };
        let parents: Vec<_> = parent.iter().collect();
        Ok(repository.commit(Some("HEAD"), &author, &committer, message, &tree, &parents)?)
    }

    /// The tree of the newest commit; none before the first one.
    fn tree(&self) -> Result<Option<Tree<'_>>, git2::Error> {
        match self.repository.head() {
            Ok(head) => head.peel_to_tree().map(Some),
            Err(cause) if cause.code() == ErrorCode::UnbornBranch => Ok(None),
            Err(cause) => Err(cause),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn repository() -> (tempfile::TempDir, Repository) {
        let directory = tempfile::tempdir().unwrap();
        let repository = Repository::init(directory.path()).unwrap();
        let mut config = repository.config().unwrap();
        config.set_str("user.name", "A").unwrap();
        config.set_str("user.email", "a@example.com").unwrap();
        config.set_bool("commit.gpgsign", false).unwrap();
        (directory, repository)
    }

    fn names(repository: &Repository) -> Vec<String> {
        let tree = repository.head().unwrap().peel_to_tree().unwrap();
        tree.iter()
            .map(|entry| entry.name().unwrap().to_owned())
            .collect()
    }

    #[test]
    fn only_the_file_is_committed() {
        let (directory, repository) = repository();
        fs::write(directory.path().join("first.yaml"), "a: 1\n").unwrap();
        let branch = CheckedOut::around(directory.path()).unwrap();
        branch.check("first.yaml").unwrap();
        let id = branch.commit("first.yaml", "First").unwrap();
        assert_eq!(repository.head().unwrap().target().unwrap().to_string(), id);
        fs::write(directory.path().join("staged.yaml"), "").unwrap();
        let mut index = repository.index().unwrap();
        index.add_path(Path::new("staged.yaml")).unwrap();
        index.write().unwrap();
        fs::write(directory.path().join("[s].yaml"), "").unwrap();
        fs::write(directory.path().join("s.yaml"), "").unwrap();
        branch.commit("[s].yaml", "Second").unwrap();
        assert_eq!(names(&repository), ["[s].yaml", "first.yaml"]);
        let status = |path: &str| repository.status_file(Path::new(path)).unwrap();
        assert_eq!(status("staged.yaml"), git2::Status::INDEX_NEW);
        assert_eq!(status("s.yaml"), git2::Status::WT_NEW);
        assert_eq!(status("first.yaml"), git2::Status::CURRENT);
    }

    #[test]
    fn what_is_known_or_ignored_is_refused() {
        let (directory, repository) = repository();
        fs::write(directory.path().join("a.yaml"), "").unwrap();
        fs::write(directory.path().join(".gitignore"), "b*\n").unwrap();
        let branch = CheckedOut::around(directory.path()).unwrap();
        branch.commit("a.yaml", "A").unwrap();
        let said = |path| branch.check(path).unwrap_err().to_string();
        assert!(said("a.yaml").starts_with("git knows a.yaml already"));
        fs::remove_file(directory.path().join("a.yaml")).unwrap();
        assert!(said("a.yaml").starts_with("git knows a.yaml already"));
        assert!(said("b.yaml").starts_with("git ignores b.yaml"));
        branch.check("c.yaml").unwrap();
        let head = repository.head().unwrap().target().unwrap();
        repository.set_head_detached(head).unwrap();
        assert!(matches!(
            CheckedOut::around(directory.path()),
            Err(CommitFault::NoBranch(_))
        ));
    }

    #[test]
    fn signed_and_unfinished_repositories_are_refused() {
        let (directory, repository) = repository();
        let fault = || {
            CheckedOut::around(directory.path())
                .err()
                .map(|fault| fault.to_string())
        };
        assert_eq!(fault(), None);
        fs::write(
            directory.path().join(".git/MERGE_HEAD"),
            format!("{}\n", "0".repeat(40)),
        )
        .unwrap();
        assert!(fault().unwrap().starts_with("a merge, rebase or the like"));
        fs::remove_file(directory.path().join(".git/MERGE_HEAD")).unwrap();
        repository
            .config()
            .unwrap()
            .set_bool("commit.gpgsign", true)
            .unwrap();
        assert!(fault().unwrap().contains("commit.gpgsign"));
    }
}
