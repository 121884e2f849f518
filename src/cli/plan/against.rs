//! What a plan is compared with, as it was written.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context as _, bail};

use crate::adapters::git::{Checkout, Revision};

/// The value of `--against`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Against {
    /// An empty cluster.
    None,
    /// The live cluster.
    Live,
    /// A git revision or a directory.
    Files(String),
}

impl FromStr for Against {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match text {
            "none" => Self::None,
            "live" => Self::Live,
            other => Self::Files(other.to_owned()),
        })
    }
}

/// Files to compare with.
pub(super) enum Files {
    /// Those of a directory, or one file.
    Directory(PathBuf),
    /// Those of a commit.
    Revision(Checkout, Revision),
}

impl Files {
    /// What `wanted` names for the fleet at `path`.
    ///
    /// # Errors
    /// When it names nothing, or two things.
    pub(super) fn find(wanted: &str, path: &Path) -> anyhow::Result<Self> {
        anyhow::ensure!(
            !wanted.is_empty(),
            "--against is empty: name a git revision or a directory"
        );
        let at = Path::new(wanted);
        let is_path = at.is_absolute() || at.starts_with(".") || at.starts_with("..");
        if is_path || wanted.ends_with('/') {
            return Ok(Self::Directory(at.to_owned()));
        }
        let checkout = Checkout::around(path)?;
        let Some(checkout) = checkout else {
            if at.is_dir() {
                return Ok(Self::Directory(at.to_owned()));
            }
            bail!(
                "--against {wanted}: no such directory, and {} is not in a git repository; name a directory, or run this in a clone",
                path.display()
            );
        };
        let found = checkout.find(wanted).context("--against")?;
        match (found, at.is_dir()) {
            (Some(_), true) => bail!(
                "--against {wanted}: both a directory and a git revision have this name; write ./{wanted} for the directory, or {wanted}^0 for the revision"
            ),
            (Some(revision), false) => Ok(Self::Revision(checkout, revision)),
            (None, true) => Ok(Self::Directory(at.to_owned())),
            (None, false) => Err(checkout.no_revision(wanted)).context("--against"),
        }
    }
}
