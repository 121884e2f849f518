//! The way that a path leads through links, and the checkout in which it ends.
//!
//! In: a path. Out: the directory, and the worktree or clone around it. Links before a checkout belong to who
//! runs the machine; those inside of it come with its commits, and may not lead out. It does not know what is read.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use crate::adapters::git::directory::enclosing_repository;

/// How many links are followed, as in Linux.
const MOST_LINKS: usize = 40;

/// Where a path leads.
#[derive(Debug, Default)]
pub(super) struct Way {
    /// The real path.
    pub(super) at: PathBuf,
    /// The checkout around it.
    pub(super) checkout: Option<Checkout>,
    /// The worktrees that links lead to.
    worktrees: Vec<PathBuf>,
    /// The links on it.
    pub(super) links: Vec<PathBuf>,
    /// Those in checkouts, with the top of these.
    inner: Vec<(PathBuf, PathBuf)>,
}

/// The top of a worktree or clone.
#[derive(Debug)]
pub(super) struct Checkout {
    pub(super) root: PathBuf,
    /// The commit that it is named after, if a link leads to it: then it is exchanged as a whole.
    pub(super) commit: Option<String>,
}

impl Way {
    /// Where `path` leads.
    ///
    /// # Errors
    /// When there is nothing, or a link leads out of a checkout.
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        let mut way = Self::default();
        let mut rest: Vec<OsString> = Vec::new();
        ahead(&mut rest, &std::path::absolute(path)?);
        let mut links = 0..MOST_LINKS;
        while let Some(part) = rest.pop() {
            let link = way.at.join(&part);
            if part == ".." {
                way.at.pop();
            } else if is_link(&link) {
                links
                    .next()
                    .ok_or_else(|| io::Error::other("too many links"))?;
                way.meet(&link)?;
                ahead(&mut rest, &fs::read_link(&link)?);
                continue;
            } else {
                way.at = link;
            }
            way.arrive();
        }
        // It must be there.
        fs::metadata(&way.at)?;
        way.refuse_leaving()?;
        Ok(way)
    }

    /// Notes a link on the way.
    fn meet(&mut self, link: &Path) -> io::Result<()> {
        let to = fs::canonicalize(link)?;
        // A commit can contain a directory with such a name, but none that has `.git`.
        let is_outside = self.checkout.is_none() || to.join(".git").is_file();
        if let Some(checkout) = &self.checkout {
            self.inner.push((checkout.root.clone(), link.to_owned()));
        }
        self.links.push(link.to_owned());
        if is_outside && commit(&to).is_some() {
            self.worktrees.push(to);
        }
        Ok(())
    }

    /// Finds the checkout again after a step. In a worktree, another repository is a part of it.
    fn arrive(&mut self) {
        let is_inside =
            |checkout: &Checkout| checkout.commit.is_some() && self.at.starts_with(&checkout.root);
        if self.checkout.as_ref().is_some_and(is_inside) {
            return;
        }
        let commit = commit(&self.at).filter(|_| self.worktrees.contains(&self.at));
        let root = match commit {
            Some(_) => Some(self.at.as_path()),
            None => enclosing_repository(&self.at),
        };
        let root = root.map(Path::to_owned);
        self.checkout = root.map(|root| Checkout { root, commit });
    }

    fn refuse_leaving(&self) -> io::Result<()> {
        // The last one: those before it led here as well, through it.
        let mut inner = self.inner.iter().rev();
        let leaving = inner.find(|(root, _)| !self.at.starts_with(root));
        let Some((root, link)) = leaving else {
            return Ok(());
        };
        let (link, at, root) = (link.display(), self.at.display(), root.display());
        Err(io::Error::other(format!(
            "the link {link} leads to {at}, out of the checkout {root}; name the directory itself if you want it"
        )))
    }
}

/// Puts the parts of `path` before the `rest` of the way, whose next part is the last.
fn ahead(rest: &mut Vec<OsString>, path: &Path) {
    let parts = path.components().rev();
    let parts = parts.filter(|part| *part != Component::CurDir);
    rest.extend(parts.map(|part| part.as_os_str().to_owned()));
}

pub(super) fn is_link(path: &Path) -> bool {
    path.symlink_metadata()
        .is_ok_and(|found| found.is_symlink())
}

/// The commit that a directory is named after, as the worktrees of git-sync are.
pub(super) fn commit(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    (matches!(name.len(), 40 | 64) && name.bytes().all(is_digit)).then(|| name.to_owned())
}
