//! Objects of a repository on this machine, copied into another one.
//!
//! In: two repositories and the objects that are wanted. Out: one pack with what the second one lacks. libgit2's own
//! transport would read each commit as a whole, and fail at the first one with an author or date that it cannot parse.

use std::collections::{BTreeSet, HashSet};
use std::io::Write as _;

use git2::{ErrorCode, ObjectType, Odb, OdbLookupFlags, Oid, PackBuilder, Repository};

use super::commit_object::{CommitObject, TagObject};
use super::graph::shallow;
use super::tree_object::{TreeObject, is_submodule, is_tree};

/// What the objects of a repository lead to, each once.
pub(super) struct Reach<'o> {
    odb: Odb<'o>,
    /// The commits whose parents are left out.
    shallow: BTreeSet<Oid>,
    seen: HashSet<Oid>,
}

impl<'o> Reach<'o> {
    /// Objects of `repository`; none was seen yet.
    pub(super) fn of(repository: &'o Repository) -> Result<Self, git2::Error> {
        Ok(Self {
            odb: repository.odb()?,
            shallow: shallow(repository),
            seen: HashSet::new(),
        })
    }

    /// Adds to `pack` all that `tips` lead to and that was not seen before. `has` says which objects are left out, with
    /// all that they lead to.
    pub(super) fn insert(
        &mut self,
        pack: &mut PackBuilder<'_>,
        tips: impl IntoIterator<Item = Oid>,
        has: impl Fn(Oid) -> bool,
    ) -> Result<(), git2::Error> {
        let mut left: Vec<(Oid, Option<String>)> = tips.into_iter().map(|id| (id, None)).collect();
        while let Some((id, name)) = left.pop() {
            if has(id) || !self.seen.insert(id) {
                continue;
            }
            // By its name, the next version of a file is found and stored as a difference.
            pack.insert_object(id, name.as_deref())?;
            self.lead(id, &mut left)?;
        }
        Ok(())
    }

    /// What an object leads to. What cannot be read as what it is leads nowhere.
    fn lead(&self, id: Oid, left: &mut Vec<(Oid, Option<String>)>) -> Result<(), git2::Error> {
        match self.odb.read_header(id)?.1 {
            ObjectType::Commit => {
                if let Some(commit) = CommitObject::read(&self.odb, id)? {
                    left.push((commit.tree, None));
                    if !self.shallow.contains(&id) {
                        left.extend(commit.parents.into_iter().map(|parent| (parent, None)));
                    }
                }
            }
            ObjectType::Tag => {
                let tag = TagObject::read(&self.odb, id)?;
                left.extend(tag.map(|tag| (tag.target, None)));
            }
            ObjectType::Tree => {
                let Ok(tree) = TreeObject::read(&self.odb, id)? else {
                    return Ok(());
                };
                let entries = tree.entries().filter(|entry| !is_submodule(entry.mode));
                left.extend(entries.map(|entry| {
                    // A NUL cannot be in one.
                    let name = String::from_utf8_lossy(entry.name).into_owned();
                    (entry.id, (!is_tree(entry.mode)).then_some(name))
                }));
            }
            _ => {}
        }
        Ok(())
    }
}

/// Copies what `wanted` lead to and `to` lacks.
///
/// # Errors
/// When an object cannot be read or written.
pub(super) fn copy(
    from: &Repository,
    to: &Repository,
    wanted: &BTreeSet<Oid>,
) -> Result<(), git2::Error> {
    let target = to.odb()?;
    target.refresh()?;
    // Without another refresh for each object that is new.
    let is_here = |id: Oid| target.exists_ext(id, OdbLookupFlags::NO_REFRESH);
    let (ends, here) = (shallow(from), shallow(to));
    // An object that is here is complete, unless the other side has learned more of its history.
    let has = |id: Oid| is_here(id) && (ends.contains(&id) || !here.contains(&id));
    let source = from.odb()?;
    // A builder reads all tags of its repository, and fails as a whole if the name of one is over 1,024 bytes.
    let without_refs = Repository::from_odb(from.odb()?)?;
    let mut pack = without_refs.packbuilder()?;
    let mut reach = Reach::of(from)?;
    let learned = here.difference(&ends).filter(|id| source.exists(**id));
    reach.insert(&mut pack, wanted.iter().chain(learned).copied(), has)?;
    if pack.object_count() == 0 {
        return note_ends(to, &ends);
    }
    let mut writer = target.packwriter()?;
    let mut failed = None;
    let written = pack.foreach(|bytes| match writer.write_all(bytes) {
        Ok(()) => true,
        Err(_) => {
            failed = Some(git2::Error::last_error(-1));
            false
        }
    });
    failed.map_or(written, Err)?;
    writer.commit()?;
    target.refresh()?;
    note_ends(to, &ends)
}

/// Remembers where the history ends: `ends` are the commits whose parents the other side lacks.
fn note_ends(to: &Repository, ends: &BTreeSet<Oid>) -> Result<(), git2::Error> {
    let (odb, before) = (to.odb()?, shallow(to));
    let is_end = |id: &&Oid| {
        let commit = CommitObject::read(&odb, **id).ok().flatten();
        commit.is_some_and(|commit| !commit.parents.iter().all(|parent| odb.exists(*parent)))
    };
    let now: BTreeSet<Oid> = before.union(ends).filter(is_end).copied().collect();
    if now == before {
        return Ok(());
    }
    let lines: String = now.iter().map(|id| format!("{id}\n")).collect();
    let file = to.path().join("shallow");
    let new = to.path().join("shallow.lock");
    let written = std::fs::write(&new, lines).and_then(|()| std::fs::rename(&new, &file));
    written.map_err(|cause| {
        let message = format!("{}: {cause}", file.display());
        git2::Error::new(ErrorCode::GenericError, git2::ErrorClass::Os, message)
    })
}
