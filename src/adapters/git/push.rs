//! One ref of a repository on this machine moved to what a mirror holds: objects first, then the
//! ref, and only if no other writer moved it meanwhile.
//!
//! In: a mirror's repository, a place and a change. Out: whether it was made. libgit2's own push
//! to a path neither compares under the ref's lock nor asks the hooks, so two daemons could lose
//! each other's notes; this one does both.

use git2::{ErrorCode, Odb, Oid, Repository};

use super::Error;
use super::commit_object::CommitObject;
use super::hooks::{Change, Hooks};
use super::local::Local;
use super::tree_object::{TreeObject, is_submodule};
use super::working_copies;

/// What became of a push.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Pushed {
    /// The ref is where we want it.
    Done,
    /// Somebody else moved it first.
    Moved,
}

/// Makes `change` in the repository at `place`, with the objects that `from` holds.
pub(super) fn push(from: &Repository, place: &Local, change: Change<'_>) -> Result<Pushed, Error> {
    let unpushed = |cause| place.unpushed(change.reference, &cause);
    let to = Repository::open(&place.path).map_err(unpushed)?;
    let hooks = Hooks::of(&to, from);
    let allowed = working_copies::ask(&to, change).and_then(|()| hooks.ask(change));
    allowed.map_err(|cause| Error::Refused {
        url: place.shown.clone(),
        reference: change.reference.to_owned(),
        cause,
    })?;
    let pushed = match change.new {
        Some(new) => {
            let target = to.odb().map_err(unpushed)?;
            copy(from, &target, new).map_err(unpushed)?;
            set(&to, change, new).map_err(unpushed)?
        }
        None => remove(&to, change).map_err(unpushed)?,
    };
    if pushed == Pushed::Done {
        hooks.notify(change);
    }
    Ok(pushed)
}

/// Copies an object and all that it refers to. An object that exists is complete; to keep that true,
/// the object itself is written last.
fn copy(from: &Repository, to: &Odb<'_>, id: Oid) -> Result<(), git2::Error> {
    if to.exists(id) {
        return Ok(());
    }
    for part in parts(from, id)? {
        copy(from, to, part)?;
    }
    let odb = from.odb()?;
    let object = odb.read(id)?;
    to.write(object.kind(), object.data()).map(drop)
}

/// What a commit or directory leads to.
fn parts(from: &Repository, id: Oid) -> Result<Vec<Oid>, git2::Error> {
    let odb = from.odb()?;
    if let Some(commit) = CommitObject::read(&odb, id)? {
        return Ok(commit.parents.into_iter().chain([commit.tree]).collect());
    }
    let Ok(tree) = TreeObject::read(&odb, id)? else {
        return Ok(Vec::new());
    };
    let here = tree.entries().filter(|entry| !is_submodule(entry.mode));
    Ok(here.map(|entry| entry.id).collect())
}

/// Moves the ref under its lock. That nothing is there counts as a value too.
fn set(to: &Repository, change: Change<'_>, new: Oid) -> Result<Pushed, git2::Error> {
    let old = change.old.unwrap_or(Oid::ZERO_SHA1);
    match to.reference_matching(change.reference, new, true, old, "push") {
        Ok(_) => Ok(Pushed::Done),
        Err(cause) => match cause.code() {
            ErrorCode::Modified | ErrorCode::Locked | ErrorCode::NotFound => Ok(Pushed::Moved),
            _ => Err(cause),
        },
    }
}

/// Removes the ref under its lock.
fn remove(to: &Repository, change: Change<'_>) -> Result<Pushed, git2::Error> {
    let mut transaction = to.transaction()?;
    match transaction.lock_ref(change.reference) {
        Err(cause) if cause.code() == ErrorCode::Locked => return Ok(Pushed::Moved),
        locked => locked?,
    }
    let found = match to.find_reference(change.reference) {
        Err(cause) if cause.code() == ErrorCode::NotFound => None,
        found => found?.target(),
    };
    if found.is_none() || found != change.old {
        return Ok(Pushed::Moved);
    }
    transaction.remove(change.reference)?;
    transaction.commit()?;
    Ok(Pushed::Done)
}
