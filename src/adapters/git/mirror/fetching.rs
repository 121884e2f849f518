//! One look at the other side: what is new is brought, each step by itself.
//!
//! In: the refs over there, and what is followed. Out: the refs over here, and what is wrong with others. What is followed
//! comes first and is kept at once; branches and tags, then notes follow without the lock of the mirror, so that the next
//! look need not wait for them. Whatever fails with these costs only what it concerns. A ref that failed by itself is left
//! alone for a while.

use std::collections::{BTreeMap, BTreeSet};

use git2::{Odb, OdbLookupFlags, Oid, Repository};

use super::Mirror;
use super::kept::{commits, has_loose, keep, kept_refs};
use super::look::{Look, News};
use super::reference::{Fetched, Ref};
use super::selection::{BRANCHES, NOTES, Selection, follows};
use super::state::{Seen, State};
use crate::adapters::git::Error;
use crate::adapters::git::commit_object::{Peeled, peel};
use crate::adapters::git::remote::{Connection, Listing};

/// The most requests of one look, so that a few refs that fail are told from many that do not.
const MOST_REQUESTS: usize = 64;
/// How many tags of a range are looked at for the newest that leads to a commit.
const MOST_VERSIONS: usize = 100;
/// For how many looks a ref that failed by itself is left alone.
const LEFT_ALONE: u32 = 10;

impl Mirror {
    /// Brings what is new of the followed ref into `repository`, and keeps it.
    pub(super) fn begin(
        &self,
        repository: &Repository,
        state: &mut State,
        followed: &Ref,
    ) -> Result<Look<'_>, Error> {
        let damaged = |cause| Error::damaged(repository, &cause);
        let mut connection = Connection::open(&self.remote)?;
        let before = kept_refs(repository).map_err(damaged)?;
        let listing = connection.list()?;
        let selection = Selection::of(listing, &self.patterns, followed, &before);
        let is_same = |seen: &&Seen| seen.selection == selection && seen.followed == *followed;
        if let Some(seen) = state.seen.as_ref().filter(is_same) {
            return Ok(Look::Same(seen.fetched.clone()));
        }
        state.seen = None;
        let mut none_failed = BTreeMap::new();
        let mut load = Load {
            connection: &mut connection,
            repository,
            odb: repository.odb().map_err(damaged)?,
            before: before.values().copied().collect(),
            requests: 0,
            faults: BTreeMap::new(),
            failed: &mut none_failed,
            is_complete: true,
        };
        load.followed(&selection, followed)?;
        let requests = load.requests;
        drop(load);
        let is_followed = |name: &str| follows(followed, name);
        let own = selection.own.iter();
        let wanted = own.filter(|(name, _)| is_followed(name)).collect();
        let (kept, _) = self.keep(repository, &wanted, &before, is_followed)?;
        Ok(Look::New(Box::new(News {
            connection,
            selection,
            before,
            kept,
            requests,
        })))
    }

    /// Brings all else, strangers' heads too, if the mirror `is_open` to them. What is followed may be brought meanwhile.
    pub(super) fn finish(
        &self,
        look: Look<'_>,
        followed: &Ref,
        is_open: bool,
    ) -> Result<Fetched, Error> {
        let news = match look {
            Look::Same(fetched) => return Ok(fetched),
            Look::New(news) => *news,
        };
        let done = self.bring_rest(news, followed, is_open);
        if let Err(Error::Damaged { cause, .. }) = &done {
            self.note_damage(cause);
        }
        done
    }

    fn bring_rest(
        &self,
        mut news: News<'_>,
        followed: &Ref,
        is_open: bool,
    ) -> Result<Fetched, Error> {
        let (selection, mut failed) = (news.selection, std::mem::take(&mut self.writing().failed));
        let repository = self.repository()?;
        let damaged = |cause| Error::damaged(&repository, &cause);
        let mut load = Load {
            connection: &mut news.connection,
            repository: &repository,
            odb: repository.odb().map_err(damaged)?,
            before: news.before.values().copied().collect(),
            requests: news.requests,
            faults: selection.faults.clone(),
            failed: &mut failed,
            is_complete: true,
        };
        load.others(&selection, is_open);
        let (mut faults, is_complete) = (std::mem::take(&mut load.faults), load.is_complete);
        drop(load);

        let mut state = self.writing();
        state.failed = failed;
        // It may be another one than before: a damaged one is replaced.
        let repository = self.repository()?;
        let strangers = selection.strangers.iter().filter(|_| is_open);
        let wanted = selection.own.iter().chain(strangers).collect();
        let (here, is_settled) = self.keep(&repository, &wanted, &news.kept, |_| true)?;
        let mut fetched = self.fetched(&repository, &selection, &here, &mut faults)?;
        state.warn(&faults);
        fetched.faults = faults;
        if is_complete && is_settled {
            state.seen = Some(Seen {
                followed: followed.clone(),
                selection,
                fetched: fetched.clone(),
            });
        }
        self.tidy(&repository, &[news.before, news.kept]);
        Ok(fetched)
    }

    /// Keeps those of the `wanted` refs that arrived, and as they were those that did not and those that are not meant.
    /// What was kept by somebody else since the refs were `base` is newer. Returns what is kept, and whether nobody did.
    fn keep(
        &self,
        repository: &Repository,
        wanted: &BTreeMap<&String, &Oid>,
        base: &Listing,
        is_meant: impl Fn(&str) -> bool,
    ) -> Result<(Listing, bool), Error> {
        let damaged = |cause| Error::damaged(repository, &cause);
        let _keeping = self.keeping();
        let odb = repository.odb().map_err(damaged)?;
        odb.refresh().map_err(damaged)?;
        let now = kept_refs(repository).map_err(damaged)?;
        let names = now.keys().chain(base.keys()).chain(wanted.keys().copied());
        let names: BTreeSet<&String> = names.collect();
        let (mut here, mut is_settled) = (Listing::new(), true);
        for name in names {
            let kept = now.get(name);
            let is_newer = kept != base.get(name);
            is_settled &= !is_newer;
            let id = match wanted.get(name).copied() {
                _ if is_newer || !is_meant(name) => kept,
                Some(id) if is_here(&odb, *id) => Some(id),
                Some(_) => kept,
                None => None,
            };
            here.extend(id.map(|id| (name.clone(), *id)));
        }
        if here != now || has_loose(repository) {
            keep(repository, &here).map_err(|cause| Error::disk(repository.path(), &cause))?;
        }
        Ok((here, is_settled))
    }

    /// What the refs that are `here` lead to, and those of strangers that somebody else pushed as well.
    fn fetched(
        &self,
        repository: &Repository,
        selection: &Selection,
        here: &Listing,
        faults: &mut BTreeMap<String, String>,
    ) -> Result<Fetched, Error> {
        let damaged = |cause| Error::damaged(repository, &cause);
        let odb = repository.odb().map_err(damaged)?;
        odb.refresh().map_err(damaged)?;
        let mut refs = commits(&odb, here, |name, fault| {
            let cause = fault.unwrap_or_else(|missing| {
                self.note_damage(missing.message());
                missing.message().to_owned()
            });
            faults.insert(name.to_owned(), cause);
        });
        let (pushed, strangers): (Listing, Listing) = selection
            .strangers
            .iter()
            .map(|(name, id)| (name.clone(), *id))
            .partition(|(_, id)| is_here(&odb, *id));
        refs.extend(commits(&odb, &pushed, |_, _| {}));
        let strangers = strangers.into_iter();
        Ok(Fetched {
            refs,
            strangers: strangers.map(|(name, id)| (name, id.to_string())).collect(),
            faults: BTreeMap::new(),
        })
    }
}

/// What is being brought.
struct Load<'l, 'm> {
    connection: &'l mut Connection<'m>,
    repository: &'l Repository,
    odb: Odb<'l>,
    before: BTreeSet<Oid>,
    requests: usize,
    faults: BTreeMap<String, String>,
    failed: &'l mut BTreeMap<Oid, (u32, String)>,
    /// Whether all came that could.
    is_complete: bool,
}

impl Load<'_, '_> {
    /// What is followed; of a range of versions, the newest that leads to a commit.
    fn followed(&mut self, selection: &Selection, followed: &Ref) -> Result<(), Error> {
        let Ref::Newest(range) = followed else {
            return self.bring(&selection.followed(followed));
        };
        let mut tags = selection.tags();
        for _ in 0..MOST_VERSIONS {
            let Some(newest) = range.newest(tags.keys().copied()) else {
                break;
            };
            let Some(id) = tags.remove(newest) else { break };
            self.bring(&[id].into())?;
            if matches!(peel(&self.odb, id), Ok(Peeled::Commit(_))) {
                break;
            }
        }
        Ok(())
    }

    /// Branches and tags, then notes, and strangers' heads if it `is_open` to them.
    fn others(&mut self, selection: &Selection, is_open: bool) {
        let (notes, pushed): (Vec<_>, Vec<_>) =
            selection.own.iter().partition(|(name, _)| *name == NOTES);
        let strangers = selection.strangers.iter().filter(|_| is_open);
        for group in [pushed, notes, strangers.collect()] {
            self.group(&group);
        }
    }

    fn bring(&mut self, wanted: &BTreeSet<Oid>) -> Result<(), Error> {
        if wanted.is_empty() {
            return Ok(());
        }
        self.requests += 1;
        let brought = self
            .connection
            .download(self.repository, wanted, &self.before);
        brought?;
        let refreshed = self.odb.refresh();
        refreshed.map_err(|cause| Error::damaged(self.repository, &cause))
    }

    /// All of these refs together; if that fails for one of them, the halves of it.
    fn group(&mut self, refs: &[(&String, &Oid)]) {
        let mut left = Vec::new();
        for (name, id) in refs.iter().copied() {
            match self.failed.get_mut(id) {
                Some((looks, cause)) if *looks > 0 => {
                    *looks -= 1;
                    self.faults.insert(name.clone(), cause.clone());
                    self.is_complete = false;
                }
                _ => left.push((name, id)),
            }
        }
        let ids: BTreeSet<Oid> = left.iter().map(|(_, id)| **id).collect();
        let Err(error) = self.bring(&ids) else {
            self.failed.retain(|id, _| !ids.contains(id));
            return;
        };
        self.is_complete = false;
        if ids.len() > 1 && is_of_refs(&error) && self.requests < MOST_REQUESTS {
            let (one, other) = left.split_at(left.len() / 2);
            self.group(one);
            self.group(other);
            return;
        }
        let cause = error.to_string();
        if let [(name, id)] = left[..] {
            if is_of_refs(&error) {
                self.failed.insert(*id, (LEFT_ALONE, cause.clone()));
            }
            self.faults.insert(name.clone(), cause);
        } else {
            let has_branches = left.iter().any(|(name, _)| name.starts_with(BRANCHES));
            let many = if has_branches {
                "refs/heads/*"
            } else {
                "refs/*"
            };
            self.faults.insert(many.to_owned(), cause);
        }
    }
}

/// Whether an object is in a database that was just refreshed: to look for new packs for each of thousands of old pull
/// requests would take seconds.
fn is_here(odb: &Odb<'_>, id: Oid) -> bool {
    odb.exists_ext(id, OdbLookupFlags::NO_REFRESH)
}

/// Whether fewer refs may do better.
fn is_of_refs(error: &Error) -> bool {
    matches!(
        error,
        Error::Pack { .. }
            | Error::Vanished { .. }
            | Error::TooLarge { .. }
            | Error::Download { .. }
    )
}
