//! Notices that a followed directory changes.
//!
//! Links are watched by the directory that they are in, since a watch of a link sees only what it led to first.
//! What is to be watched changes with the links; it is compared at every look.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use notify::{Config, RecommendedWatcher, RecursiveMode, Watcher as _};

use super::place::{Place, Update};
use super::way::is_link;

/// A directory that is watched, with what makes it the same: its path, its inode, and whether all below it is.
type Watched = (PathBuf, (u64, u64), bool);

/// What watches.
#[derive(Debug)]
pub(super) struct Noticing {
    watcher: RecommendedWatcher,
    watched: BTreeSet<Watched>,
    /// What the system refused to watch: it is not asked again for the same, which takes long for many directories.
    refused: Option<(BTreeSet<Watched>, String)>,
}

impl Noticing {
    /// Calls `changed` after every change of what [`Self::follow`] names; more often than needed, if in doubt.
    pub(super) fn new(changed: impl Fn() + Send + 'static) -> notify::Result<Self> {
        let on_event = move |event: notify::Result<notify::Event>| {
            // Our own reading is no change.
            if !event.is_ok_and(|event| event.kind.is_access()) {
                changed();
            }
        };
        // A link in the directory may lead to all of the file system.
        let config = Config::default().with_follow_symlinks(false);
        Ok(Self {
            watcher: RecommendedWatcher::new(on_event, config)?,
            watched: BTreeSet::new(),
            refused: None,
        })
    }

    /// Watches what decides on the content of `path` and its `parts` now.
    ///
    /// # Errors
    /// When the system refuses, with its message.
    pub(super) fn follow(&mut self, path: &Path, parts: &[String]) -> Result<(), String> {
        // What appears between the look at a directory and its watch is seen by the next round.
        for _ in 0..3 {
            let wanted = wanted(path, parts);
            if wanted == self.watched {
                return Ok(());
            }
            match &self.refused {
                Some((refused, cause)) if *refused == wanted => return Err(cause.clone()),
                _ => self.refused = None,
            }
            let gone: Vec<Watched> = self.watched.difference(&wanted).cloned().collect();
            for watched in gone {
                // It may have been deleted, which ends its watch.
                drop(self.watcher.unwatch(&watched.0));
                self.watched.remove(&watched);
            }
            let added = wanted.iter().try_for_each(|watched| self.add(watched));
            if let Err(cause) = added.map_err(|cause| cause.to_string()) {
                self.refused = Some((wanted, cause.clone()));
                return Err(cause);
            }
        }
        Ok(())
    }

    fn add(&mut self, watched: &Watched) -> notify::Result<()> {
        if self.watched.contains(watched) {
            return Ok(());
        }
        let mode = match watched.2 {
            true => RecursiveMode::Recursive,
            false => RecursiveMode::NonRecursive,
        };
        self.watcher.watch(&watched.0, mode)?;
        self.watched.insert(watched.clone());
        Ok(())
    }
}

/// The directories to watch. One that must be watched with all below it is named once.
fn wanted(path: &Path, parts: &[String]) -> BTreeSet<Watched> {
    let mut whole: BTreeSet<PathBuf> = BTreeSet::new();
    let mut alone: BTreeSet<PathBuf> = BTreeSet::new();
    let around = |link: &PathBuf| link.parent().map(Path::to_owned);
    match Place::of(path) {
        Ok(place) => {
            alone.extend(place.links.iter().filter_map(around));
            match place.update {
                Update::Commit(_) => {}
                Update::Data => drop(alone.insert(path.to_owned())),
                Update::InPlace => {
                    alone.extend(place.at.parent().map(Path::to_owned));
                    alone.insert(place.root.join(".git"));
                    whole.extend(parts.iter().filter_map(|part| place.part(part).ok()));
                }
            }
        }
        Err(_) => {
            let links = path.ancestors().filter(|path| is_link(path));
            alone.extend(links.filter_map(Path::parent).map(Path::to_owned));
            alone.extend(nearest(path).map(Path::to_owned));
        }
    }
    let all = alone.into_iter().map(|path| (path, false));
    let all = all.filter(|(path, _)| !whole.iter().any(|whole| path.starts_with(whole)));
    let inner = whole.iter().map(|path| (path.clone(), true));
    let known = |(path, is_whole): (PathBuf, bool)| {
        let found = fs::metadata(&path).ok().filter(fs::Metadata::is_dir)?;
        Some((path, (found.dev(), found.ino()), is_whole))
    };
    all.chain(inner).filter_map(known).collect()
}

/// The nearest directory above `path` that is there.
fn nearest(path: &Path) -> Option<&Path> {
    path.ancestors().find(|above| above.is_dir())
}
