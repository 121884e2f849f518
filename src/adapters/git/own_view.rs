//! A repository that git does not open, seen through one of our own.
//!
//! In: the top directory of a clone that belongs to another user, as in a container of a CI system, or that has settings
//! which this version of libgit2 does not know. Out: a bare repository in a temporary directory that finds its objects and has
//! copies of its refs. Nothing is written there, and none of its settings is read, so that it need not be trusted.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use git2::Repository;
use tempfile::TempDir;

/// The deepest directory of refs that is copied.
const MAX_DEPTH: usize = 16;
/// The largest file with refs that is read: 64 MiB.
const MAX_BYTES: u64 = 64 << 20;

/// Opens the repository at `root`; `None` if there is none.
pub(super) fn open(root: &Path) -> Option<(Repository, TempDir)> {
    let git = git_directory(root)?;
    let common = match text(&git.join("commondir")) {
        Some(common) => git.join(common.trim()),
        None => git.clone(),
    };
    let objects = fs::canonicalize(common.join("objects")).ok()?;
    let view = tempfile::tempdir().ok()?;
    Repository::init_bare(view.path()).ok()?;
    copy(&git, &common, &objects, view.path()).ok()?;
    let repository = Repository::open_bare(view.path()).ok()?;
    Some((repository, view))
}

/// The directory `.git`, or the one that a file of this name leads to.
fn git_directory(root: &Path) -> Option<PathBuf> {
    let git = root.join(".git");
    if git.is_dir() {
        return Some(git);
    }
    let text = text(&git)?;
    Some(root.join(text.strip_prefix("gitdir:")?.trim()))
}

fn copy(git: &Path, common: &Path, objects: &Path, view: &Path) -> io::Result<()> {
    let info = view.join("objects/info");
    fs::create_dir_all(&info)?;
    fs::write(info.join("alternates"), format!("{}\n", objects.display()))?;
    for (from, name) in [(git, "HEAD"), (common, "packed-refs"), (common, "shallow")] {
        if let Some(text) = text(&from.join(name)) {
            fs::write(view.join(name), text)?;
        }
    }
    copy_refs(&common.join("refs"), &view.join("refs"), 0)
}

fn copy_refs(from: &Path, to: &Path, depth: usize) -> io::Result<()> {
    if depth > MAX_DEPTH {
        return Ok(());
    }
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            copy_refs(&path, &target, depth + 1)?;
        } else if let Some(text) = text(&path) {
            fs::write(target, text)?;
        }
    }
    Ok(())
}

/// The text of a plain file that is not large.
fn text(file: &Path) -> Option<String> {
    let found = fs::symlink_metadata(file).ok()?;
    let is_read = found.is_file() && found.len() <= MAX_BYTES;
    is_read.then(|| fs::read_to_string(file).ok()).flatten()
}
