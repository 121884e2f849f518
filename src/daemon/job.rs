//! What takes time: reading revisions and compiling them. Runs on a thread of its own.

use std::path::PathBuf;

use jiff::Timestamp;

use super::candidates::Candidate;
use super::report;
use crate::adapters::checks::{self, NOTES_REF};
use crate::adapters::git::{Error, Merged, Mirror, NoteEdit, Ref, directory};
use crate::compile::{Compiled, compile};
use crate::model::{Check, CheckState, Tree};
use crate::settings::Following;

/// How far back a good revision is looked for when the newest is broken.
const LOOK_BACK: usize = 50;

/// The followed repository.
pub(super) struct Source {
    pub(super) mirror: Mirror,
    reference: Ref,
    pub(super) fleet: String,
    path: String,
    overlays: Vec<String>,
    local_overlays: Vec<PathBuf>,
}

/// A commit of the followed ref, judged.
pub(super) struct Examined {
    pub(super) revision: String,
    /// The first line of its message.
    pub(super) title: String,
    pub(super) outcome: Result<Compiled, Error>,
    /// The newest good revision before it, when this one is broken and that was asked for.
    pub(super) fallback: Option<(String, Compiled)>,
}

/// A candidate, judged.
pub(super) struct Planned {
    pub(super) candidate: Candidate,
    /// The id of the merged files.
    pub(super) merged: Option<String>,
    /// What to tell; `None` when the files are those already told about.
    pub(super) check: Option<Check>,
}

impl Source {
    pub(super) fn new(mirror: Mirror, following: &Following) -> Self {
        Self {
            mirror,
            reference: reference(following),
            fleet: following.fleet.clone(),
            path: following.path.clone(),
            overlays: following.overlays.clone(),
            local_overlays: following.local_overlays.clone(),
        }
    }

    /// The commit that is followed now. A bare repository whose default branch was never pushed to is
    /// common (its HEAD says `master`): then it is `main`.
    pub(super) fn head(&self) -> Result<String, Error> {
        let head = self.mirror.resolve(&self.reference);
        head.or_else(|error| match self.reference {
            Ref::Head => self
                .mirror
                .resolve(&Ref::Branch("main".to_owned()))
                .map_err(|_| error),
            _ => Err(error),
        })
    }

    /// Reads and compiles `revision`; when it is broken and `with_fallback`, also looks for the newest
    /// good revision before it.
    pub(super) fn examine(&self, revision: String, with_fallback: bool) -> Examined {
        let outcome = self.compile(&revision);
        let broken = outcome.as_ref().map_or(true, Compiled::has_errors);
        let fallback = if broken && with_fallback {
            self.last_good(&revision)
        } else {
            None
        };
        let title = self
            .mirror
            .commit(&revision)
            .map(|commit| commit.title)
            .unwrap_or_default();
        Examined {
            revision,
            title,
            outcome,
            fallback,
        }
    }

    fn compile(&self, revision: &str) -> Result<Compiled, Error> {
        let tree = self.mirror.tree(revision, &self.path)?;
        Ok(compile(&tree, &self.overlay_trees(revision)?))
    }

    fn overlay_trees(&self, revision: &str) -> Result<Vec<Tree>, Error> {
        let inside = self
            .overlays
            .iter()
            .map(|path| self.mirror.tree(revision, path));
        inside
            .chain(self.local_overlays.iter().map(|path| directory::read(path)))
            .collect()
    }

    /// The newest revision before `revision` whose sync check succeeded, else the newest valid one.
    fn last_good(&self, revision: &str) -> Option<(String, Compiled)> {
        let log = self.mirror.log(None, revision, LOOK_BACK).ok()?;
        let earlier: Vec<String> = log
            .into_iter()
            .map(|commit| commit.id)
            .filter(|id| id != revision)
            .collect();
        let proven = earlier.iter().filter(|id| self.succeeded(id));
        proven.chain(&earlier).find_map(|id| {
            let compiled = self
                .compile(id)
                .ok()
                .filter(|compiled| !compiled.has_errors())?;
            Some((id.clone(), compiled))
        })
    }

    fn succeeded(&self, revision: &str) -> bool {
        let context = report::sync_context(&self.fleet);
        let note = self.mirror.note(NOTES_REF, revision).ok().flatten();
        let checks = note.map(|text| checks::read(&text)).unwrap_or_default();
        checks
            .iter()
            .any(|check| check.context == context && check.state == CheckState::Success)
    }

    /// Merges `candidate` onto `base` and judges the result against what is applied.
    pub(super) fn plan(
        &self,
        base: &str,
        candidate: Candidate,
        applied: Option<&Compiled>,
    ) -> Planned {
        let (merged, check) = match self.mirror.merged(base, &candidate.commit, &self.path) {
            Ok(Merged::Clean { id, .. }) if candidate.seen.as_ref() == Some(&id) => {
                (Some(id), None)
            }
            Ok(Merged::Clean { tree, id }) => {
                let overlays = self.overlay_trees(base).unwrap_or_default();
                let compiled = compile(&tree, &overlays);
                (
                    Some(id),
                    Some(report::plan(
                        &self.fleet,
                        &candidate.commit,
                        &compiled,
                        applied,
                    )),
                )
            }
            Ok(Merged::Conflicts(paths)) => (
                None,
                Some(report::conflicts(&self.fleet, &candidate.commit, &paths)),
            ),
            Err(error) => (
                None,
                Some(report::broken_plan(
                    &self.fleet,
                    &candidate.commit,
                    &error.to_string(),
                )),
            ),
        };
        Planned {
            candidate,
            merged,
            check,
        }
    }

    /// Writes checks into the notes of their commits, in one push.
    pub(super) fn publish(&self, told: &[Check], now: Timestamp) -> Result<(), Error> {
        let rewrites: Vec<_> = told
            .iter()
            .map(|check| move |old: Option<&str>| checks::rewrite(old, check))
            .collect();
        let edits: Vec<NoteEdit<'_>> = told
            .iter()
            .zip(&rewrites)
            .map(|(check, rewrite)| NoteEdit {
                commit: &check.revision,
                rewrite,
            })
            .collect();
        self.mirror.edit_notes(NOTES_REF, &edits, now)
    }
}

/// What to follow, as git names it.
fn reference(following: &Following) -> Ref {
    let wanted = following.reference.as_ref();
    let of = |name: fn(&crate::api::fleet::GitReference) -> Option<&String>| {
        wanted.and_then(name).cloned()
    };
    let commit = of(|wanted| wanted.commit.as_ref()).map(Ref::Commit);
    let tag = || of(|wanted| wanted.tag.as_ref()).map(Ref::Tag);
    let branch = || of(|wanted| wanted.branch.as_ref()).map(Ref::Branch);
    commit.or_else(tag).or_else(branch).unwrap_or(Ref::Head)
}
