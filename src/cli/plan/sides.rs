//! The two states of a fleet that a plan compares, from git objects or from directories.
//!
//! In: where the fleet is, and what to compare it with. Out: the files before and after, and what the commits between
//! them approve. It does not know what is in the files.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::against::Files;
use crate::adapters::git::{Checkout, Merged, Revision, Trust, directory};
use crate::cli::fleet::FleetArgs;
use crate::daemon::{approvals_in_checkout, wall_time};
use crate::model::Tree;
use crate::plan::approvals::{Approvals, Doubt};
use crate::settings::{PlanSettings, Verification};

/// Two states of a fleet, each with its overlays behind it.
pub(super) struct Sides {
    pub(super) before: Vec<Tree>,
    /// The paths in conflict if the two do not merge.
    pub(super) after: Result<Vec<Tree>, Vec<String>>,
    /// What people call the first, and its commit or path.
    pub(super) base: Revision,
    /// The commit of the second; empty for a directory.
    pub(super) head: String,
    /// True if the second has changes that no commit has.
    pub(super) is_uncommitted: bool,
    pub(super) approvals: Approvals,
}

/// A directory, or one file, that a fleet or its overlays are read from.
struct Place<'a> {
    path: &'a Path,
    /// The directory in the repository, and the path of the one file; `None` if it is not inside.
    inner: Option<(String, Option<String>)>,
}

impl<'a> Place<'a> {
    fn of(path: &'a Path, checkout: &Checkout) -> Self {
        let inner = match path.is_file() {
            false => checkout.inner(path).map(|inner| (inner, None)),
            true => {
                let parent: PathBuf = Path::new(".")
                    .join(path)
                    .parent()
                    .map(Path::to_owned)
                    .unwrap_or_default();
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                checkout.inner(&parent).map(|inner| {
                    let file = match inner.is_empty() {
                        true => name.into_owned(),
                        false => format!("{inner}/{name}"),
                    };
                    (inner, Some(file))
                })
            }
        };
        Self { path, inner }
    }

    fn only(file: Option<&String>, mut tree: Tree) -> Tree {
        if let Some(file) = file {
            tree.files.retain(|path, _| **path == **file);
            tree.problems.retain(|path, _| **path == **file);
        }
        tree
    }
}

/// The fleet and its overlays as they lie in the working copy.
fn on_disk(args: &FleetArgs) -> anyhow::Result<Vec<Tree>> {
    let overlay =
        |path: &PathBuf| directory::read_beside(path, Some(&args.path)).context("--overlays");
    let overlays = args.overlays.iter().map(overlay);
    std::iter::once(directory::read(&args.path).map_err(Into::into))
        .chain(overlays)
        .collect()
}

impl Sides {
    /// The fleet of `args` and what `files` has in its place.
    ///
    /// # Errors
    /// When one of them cannot be read, or their histories do not meet.
    pub(super) fn read(
        args: &FleetArgs,
        files: Files,
        settings: &PlanSettings,
    ) -> anyhow::Result<Self> {
        match files {
            Files::Directory(other) => Self::directories(args, &other),
            Files::Revision(checkout, revision) => {
                Self::revisions(args, &checkout, revision, settings)
            }
        }
    }

    fn directories(args: &FleetArgs, other: &Path) -> anyhow::Result<Self> {
        let after = on_disk(args)?;
        let mut before = after.clone();
        before[0] = directory::read_in_place_of(other, &args.path).context("--against")?;
        anyhow::ensure!(
            other.is_dir() == args.path.is_dir(),
            "--against {}: compare a directory with a directory, and a file with a file",
            other.display()
        );
        let base = Revision {
            name: "the directory".to_owned(),
            commit: other.display().to_string(),
        };
        Ok(Self {
            before,
            after: Ok(after),
            base,
            head: String::new(),
            is_uncommitted: false,
            approvals: Approvals::default(),
        })
    }

    /// As a check compares them: HEAD merged onto the revision, with the revision. What is not committed is compared with
    /// the commit that HEAD and the revision grew from, so that what others merged meanwhile is no change of ours.
    fn revisions(
        args: &FleetArgs,
        checkout: &Checkout,
        revision: Revision,
        settings: &PlanSettings,
    ) -> anyhow::Result<Self> {
        let paths = std::iter::once(&args.path).chain(&args.overlays);
        let places: Vec<Place<'_>> = paths.map(|path| Place::of(path, checkout)).collect();
        let head = checkout.head()?;
        let start = checkout.merge_base(&head, &revision.commit)?;
        let here = on_disk(args)?;
        let at = |commit: &str| trees(&places, &here, |dir| checkout.tree(commit, dir));
        let is_same = |(one, other): (&Tree, &Tree)| {
            one.files == other.files && one.problems == other.problems
        };
        let is_uncommitted = !here.iter().zip(&at(&head)?).all(is_same);
        let proposed = checkout.tried_by(&head)?.unwrap_or_else(|| head.clone());
        let doubt = |commit: &str| {
            let Some(Verification { keys, .. }) = settings.verify.as_ref() else {
                return settings.approvals.is_set().then_some(Doubt::Unsigned);
            };
            let trust = Trust {
                keys,
                now: wall_time(),
            };
            let verified = checkout.verify_commit(commit, trust);
            Some(Doubt::Unverified(verified.err()?.to_string()))
        };
        let approvals = approvals_in_checkout(checkout, &revision.commit, &proposed, doubt)?;
        let (before, after, base) = if is_uncommitted {
            let base = match start == revision.commit {
                true => revision,
                false => Revision {
                    name: format!("the merge base of HEAD and {}", revision.name),
                    commit: start,
                },
            };
            (at(&base.commit)?, Ok(here), base)
        } else {
            let merged = merged(&places, &here, checkout, &revision.commit, &proposed)?;
            (at(&revision.commit)?, merged, revision)
        };
        Ok(Self {
            before,
            after,
            base,
            head: proposed,
            is_uncommitted,
            approvals,
        })
    }
}

/// The trees of `places`, read from the repository where that has them, else taken from what is here.
fn trees(
    places: &[Place<'_>],
    here: &[Tree],
    read: impl Fn(&str) -> Result<Tree, crate::adapters::git::Error>,
) -> anyhow::Result<Vec<Tree>> {
    let tree = |(place, here): (&Place<'_>, &Tree)| match &place.inner {
        Some((directory, file)) => {
            let tree = read(directory).with_context(|| place.path.display().to_string())?;
            Ok(Place::only(file.as_ref(), tree))
        }
        None => Ok(here.clone()),
    };
    places.iter().zip(here).map(tree).collect()
}

/// The same of a merge, or the paths in conflict.
fn merged(
    places: &[Place<'_>],
    here: &[Tree],
    checkout: &Checkout,
    base: &str,
    head: &str,
) -> anyhow::Result<Result<Vec<Tree>, Vec<String>>> {
    let mut conflicts = None;
    let mut trees = Vec::new();
    for (place, here) in places.iter().zip(here) {
        let Some((directory, file)) = &place.inner else {
            trees.push(here.clone());
            continue;
        };
        match checkout.merged(base, head, directory)? {
            Merged::Clean { tree, .. } => trees.push(Place::only(file.as_ref(), tree)),
            Merged::Conflicts(paths) => conflicts = Some(paths),
        }
    }
    Ok(conflicts.map_or(Ok(trees), Err))
}
