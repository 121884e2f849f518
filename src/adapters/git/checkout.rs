//! A fleet in a person's own repository, as it was at another revision.
//!
//! In: a directory of a checkout and a revision as git's own commands take it. Out: a [`Tree`]. It
//! changes nothing there.

use std::path::Path;

use git2::Repository;

use super::Error;
use super::commit_object::{Peeled, peel};
use super::history::no_such_path;
use super::objects::Objects;
use crate::model::Tree;

/// Reads the files below the directory `path` as they are at `revision` (`HEAD~1`, `main`, an id),
/// in the repository that holds it.
///
/// # Errors
/// When there is no such directory, repository or revision, or the revision has no such directory.
pub fn read_at(path: &Path, revision: &str) -> Result<Tree, Error> {
    let missing = |place: String| Error::NoSuchRevision {
        wanted: format!("revision {revision}"),
        place,
        instead: String::new(),
    };
    let real = std::fs::canonicalize(path).map_err(|cause| match cause.kind() {
        std::io::ErrorKind::NotFound => Error::NoSuchFile { path: path.into() },
        _ => Error::disk(path, &cause),
    })?;
    let repository = Repository::discover(&real)
        .map_err(|cause| missing(format!("{} ({})", path.display(), cause.message())))?;
    let found = repository
        .revparse_single(revision)
        .and_then(|found| peel(&repository.odb()?, found.id()));
    let Ok(Peeled::Commit(commit)) = found else {
        return Err(missing(path.display().to_string()));
    };
    let root = repository
        .workdir()
        .and_then(|root| std::fs::canonicalize(root).ok());
    let inner = root.and_then(|root| real.strip_prefix(root).ok().map(Path::to_owned));
    let inner = inner.unwrap_or_default().to_string_lossy().into_owned();
    let id = commit.id.to_string();
    match Objects::at(&repository, commit.tree, &inner)? {
        Some(objects) => objects.read(&id),
        None => Err(no_such_path(&id, &inner)),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::adapters::git::fixture::Origin;
    use crate::model::ErrorClass;

    /// A checkout whose fleet changed since its first commit.
    fn checkout() -> (tempfile::TempDir, Origin) {
        let origin = Origin::new();
        origin.push("main", &[("fleet/a.yaml", "old"), ("x.yaml", "")]);
        origin.push("main", &[("fleet/a.yaml", "new"), ("x.yaml", "")]);
        let dir = tempfile::tempdir().unwrap();
        Repository::clone(&origin.url(), dir.path()).unwrap();
        (dir, origin)
    }

    #[test]
    fn an_older_revision_is_read_beside_the_checkout() {
        let (dir, _origin) = checkout();
        let fleet = dir.path().join("fleet");
        let text = |revision| {
            let tree = read_at(&fleet, revision).unwrap();
            assert_eq!(tree.files.len(), 1);
            String::from_utf8(tree.files["fleet/a.yaml"].to_vec()).unwrap()
        };
        assert_eq!(text("HEAD~1"), "old");
        assert_eq!(text("main"), "new");
        assert_eq!(read_at(dir.path(), "HEAD").unwrap().files.len(), 2);
    }

    #[test]
    fn what_is_not_there_is_named() {
        let (dir, _origin) = checkout();
        let error = read_at(dir.path(), "v9").unwrap_err();
        assert_eq!(error.class(), ErrorClass::Gone);
        assert!(
            error.to_string().starts_with("no revision v9 in "),
            "{error}"
        );
        std::fs::create_dir(dir.path().join("later")).unwrap();
        let error = read_at(&dir.path().join("later"), "HEAD").unwrap_err();
        assert!(
            error.to_string().contains("has no directory \"later\""),
            "{error}"
        );
        let outside = tempfile::tempdir().unwrap();
        assert_eq!(
            read_at(outside.path(), "HEAD").unwrap_err().class(),
            ErrorClass::Gone
        );
    }
}
