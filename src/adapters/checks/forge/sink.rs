//! The sink of every forge: what is due, in order, one at a time.
//!
//! In: checks. Out: calls of [`Forge`], as few as possible. A check that the forge shows already is not
//! sent; one that was sent unclearly is looked up first; one that the forge never takes is passed over and
//! reported once. It does not know what a request looks like.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::path::Path;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use jiff::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::Mutex;

use super::client::Client;
use super::fault::Fault;
use super::pull_request::{PullRequest, source};
use super::remembered::Remembered;
use super::sent::{Ended, Entry, Key, Sent, digest, key, trimmed};
use super::wire::{Answer, Call};
use crate::model::{
    AdapterError, ApprovalButtons, Check, CheckSink, CheckState, CommitSource, Later, PullRequests,
};

/// After the record was lost, checks are looked up on this many revisions.
const MOST_LOOKED_UP: usize = 100;

/// How one kind of forge takes checks. It keeps nothing itself.
pub trait Forge: Send + Sync + 'static {
    /// What is kept about a check that was written: the ids of the forge, and what it shows.
    type Remote: Clone + Default + Serialize + DeserializeOwned + Send + Sync;

    /// The repository, for messages, and to tell its record from that of another.
    fn place(&self) -> String;

    /// Asks for a commit, or for the repository: when something is absent, this tells what.
    fn probe(&self, revision: Option<&str>) -> Call;

    /// What the token may not do here, as far as the answer to [`Self::probe`] of the repository says.
    fn lacks(&self, repository: &Answer) -> Option<String> {
        let _ = repository;
        None
    }

    /// Whether the forge shows `check` already.
    fn shows(&self, check: &Check, remote: &Self::Remote) -> bool;

    /// Writes `check`. `remote` is what the last write left, and follows each request that succeeds.
    fn write(
        &self,
        client: &Client,
        check: &Check,
        remote: &mut Self::Remote,
    ) -> impl Future<Output = Result<(), Fault>> + Send;

    /// Looks up what the forge has of ours, and notes it in `remote`.
    fn find(
        &self,
        client: &Client,
        revision: &str,
        context: &str,
        remote: &mut Self::Remote,
    ) -> impl Future<Output = Result<Option<Found>, Fault>> + Send;

    /// Somebody wants a new check beside the one that `remote` leads to: the next write must not update that.
    /// A comment is still updated, and a forge that keeps every status does nothing here.
    fn renew(&self, remote: &mut Self::Remote) {
        let _ = remote;
    }

    /// The pull request has shown a check of another commit since: what `remote` says of the pull request no longer
    /// holds. Ids of what is changed in place do.
    fn overtaken(&self, remote: &mut Self::Remote) {
        let _ = remote;
    }

    /// Finds the pull requests that `commit`, which is in the repository, is in or was made by.
    fn pull_requests(
        &self,
        client: &Client,
        commit: &str,
    ) -> impl Future<Output = Result<Vec<PullRequest>, Fault>> + Send;
}

/// A forge whose checks have buttons.
pub trait Buttons: Forge {
    /// The id of the GitHub App that writes, if it is known.
    fn app(&self) -> Option<u64>;

    /// Asks whether this user may approve a deletion.
    fn may_approve(
        &self,
        client: &Client,
        login: &str,
    ) -> impl Future<Output = Result<(), Fault>> + Send;
}

/// A check as a forge shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its state.
    pub state: CheckState,
    /// Its one line.
    pub title: String,
}

impl Found {
    /// A check that may be there.
    const fn unknown() -> Self {
        Self {
            state: CheckState::Pending,
            title: String::new(),
        }
    }
}

/// The checks of one repository on a forge.
pub struct ForgeSink<F: Forge> {
    pub(super) forge: F,
    pub(super) client: Client,
    sent: Mutex<Sent<F::Remote>>,
    pub(super) remembered: Remembered,
}

impl<F: Forge> ForgeSink<F> {
    /// A sink that keeps what it sent in the file `record`; without one it forgets at its end.
    pub fn new(forge: F, client: Client, record: Option<&Path>) -> Self {
        let sent = Sent::open(record, &forge.place());
        Self {
            forge,
            client,
            sent: Mutex::new(sent),
            remembered: Remembered::default(),
        }
    }

    async fn write(&self, checks: &[Check]) -> Result<Vec<Later>, Fault> {
        let mut sent = self.sent.lock().await;
        let newest: BTreeMap<Key, &Check> =
            checks.iter().map(|check| (key(check), check)).collect();
        for check in newest.values() {
            if let Some(remote) = sent.overtaken(check) {
                self.forge.overtaken(remote);
            }
        }
        let (due, shown): (Vec<_>, Vec<_>) = newest
            .into_iter()
            .partition(|(key, check)| self.is_due(&sent, key, check));
        for (key, check) in shown {
            sent.entry(&key).check = Some(trimmed(check));
        }
        let under_way: BTreeSet<Key> = due.iter().map(|(key, _)| key.clone()).collect();
        if !under_way.is_empty() {
            for key in &under_way {
                sent.entry(key);
            }
            sent.save(&under_way).await;
        }
        let mut result = Ok(Vec::new());
        for (key, check) in &due {
            match (self.one(&mut sent, key, check).await, &mut result) {
                (Ok(wait), Ok(later)) => later.extend(wait.map(|wait| late(key, wait))),
                (Err(fault), _) => {
                    result = Err(fault);
                    break;
                }
                (Ok(_), Err(_)) => {}
            }
            sent.entry(key).end_attempt(check);
        }
        sent.save(&BTreeSet::new()).await;
        result
    }

    fn is_due(&self, sent: &Sent<F::Remote>, key: &Key, check: &Check) -> bool {
        let Some(entry) = sent.get(key) else {
            return true;
        };
        match &entry.ended {
            _ if entry.is_wanted_again(check) => true,
            Some(Ended::ForGood) => false,
            Some(Ended::Content(refused)) if *refused == digest(check) => false,
            _ => entry.unclear || !self.forge.shows(check, &entry.remote),
        }
    }

    /// Writes one check. Returns when to write it again if the forge cannot take it yet. An error is one that all
    /// others would meet, too.
    async fn one(
        &self,
        sent: &mut Sent<F::Remote>,
        key: &Key,
        check: &Check,
    ) -> Result<Option<Duration>, Fault> {
        let entry = sent.entry(key);
        let mut trial = entry.clone();
        let written = self.attempt(check, &mut trial).await;
        (entry.remote, entry.begun) = (trial.remote, trial.begun);
        let Err(fault) = written else {
            entry.check = Some(trimmed(check));
            (entry.unclear, entry.ended, entry.early) = (false, None, None);
            return Ok(None);
        };
        entry.unclear |= matches!(fault, Fault::Unclear(_));
        if fault.concerns_all() {
            return Err(fault);
        }
        let wait = match fault {
            // What the forge knew before is gone for good.
            Fault::Gone(_) if entry.check.is_none() => entry.wait(),
            Fault::Early(_) => {
                (entry.check, entry.unclear) = (Some(trimmed(check)), false);
                entry.wait()
            }
            _ => None,
        };
        if wait.is_none() {
            entry.early = None;
            entry.ended = Some(end(check, &fault));
        }
        Ok(wait)
    }

    /// Sends a check, and finds out what it means when something is absent.
    async fn attempt(&self, check: &Check, entry: &mut Entry<F::Remote>) -> Result<(), Fault> {
        match self.exchange(check, entry).await {
            Err(Fault::Absent(said)) => Err(self.absence(&check.revision, said).await),
            done => done,
        }
    }

    async fn exchange(&self, check: &Check, entry: &mut Entry<F::Remote>) -> Result<(), Fault> {
        let unclear = entry.unclear;
        if unclear {
            let (revision, context) = (&check.revision, &check.context);
            self.forge
                .find(&self.client, revision, context, &mut entry.remote)
                .await?;
        }
        // What the forge has of an earlier attempt is known by now.
        let is_wanted = entry.is_wanted_again(check);
        if entry.begin_attempt(check) {
            self.forge.renew(&mut entry.remote);
        }
        if unclear && !is_wanted && self.forge.shows(check, &entry.remote) {
            return Ok(());
        }
        self.forge
            .write(&self.client, check, &mut entry.remote)
            .await
    }

    /// Asks for the repository.
    async fn examine(&self) -> Result<(), Fault> {
        let answer = match self.client.call(&self.forge.probe(None)).await {
            Err(Fault::Absent(said)) => return Err(self.client.block(unreadable(&said)).await),
            answer => answer?,
        };
        // The forge may judge otherwise: its next request is still sent.
        self.forge
            .lacks(&answer)
            .map_or(Ok(()), |lacks| Err(Fault::Denied(lacks)))
    }

    /// What is absent: the commit, the repository, or the right to see or write it.
    async fn absence(&self, revision: &str, said: String) -> Fault {
        let exists = async |what| match self.client.call(&self.forge.probe(what)).await {
            Ok(_) => Ok(true),
            Err(Fault::Absent(_) | Fault::Gone(_) | Fault::Refused(_)) => Ok(false),
            Err(fault) => Err(fault),
        };
        let why = match exists(Some(revision)).await {
            Err(fault) => return fault,
            Ok(true) => Fault::Denied(format!(
                "{said}; the token can read this repository, but not write checks"
            )),
            Ok(false) => match exists(None).await {
                Err(fault) => return fault,
                Ok(true) => return Fault::Gone(said),
                Ok(false) => unreadable(&said),
            },
        };
        self.client.block(why).await
    }

    /// The checks of an earlier process: from the record, or from the forge if that was lost.
    async fn earlier(&self, revisions: &[String], context: &str) -> Result<Vec<Check>, Fault> {
        let mut sent = self.sent.lock().await;
        let keys = revisions.iter();
        let keys: Vec<Key> = keys
            .map(|revision| (context.to_owned(), revision.clone()))
            .collect();
        let is_unknown = |sent: &Sent<F::Remote>, key: &Key| match sent.get(key) {
            Some(entry) => entry.unclear,
            None => sent.is_lost(),
        };
        let unknown: Vec<&Key> = keys.iter().filter(|key| is_unknown(&sent, key)).collect();
        for key in unknown.into_iter().take(MOST_LOOKED_UP) {
            self.look_up(&mut sent, key).await?;
        }
        let known = keys.iter().filter_map(|key| sent.get(key)?.check.clone());
        Ok(known.collect())
    }

    /// The checks that an earlier process left pending. Those that cannot be looked up now count as that: to end one once
    /// more is better than never.
    async fn left(&self, context: &str) -> Vec<Check> {
        let mut sent = self.sent.lock().await;
        let (mut left, mut answers) = (Vec::new(), true);
        for key in sent.pending(context) {
            if answers && sent.get(&key).is_some_and(|entry| entry.unclear) {
                answers = self.look_up(&mut sent, &key).await.is_ok();
            }
            let Some(entry) = sent.get(&key) else {
                continue;
            };
            let unknown = || remembered(&key.1, &key.0, Found::unknown());
            let check = entry.check.clone();
            left.extend(match entry.unclear {
                true => Some(unknown()),
                false => check.filter(|check| check.state == CheckState::Pending),
            });
        }
        left
    }

    async fn look_up(&self, sent: &mut Sent<F::Remote>, key: &Key) -> Result<(), Fault> {
        let (context, revision) = key;
        let known = sent.get(key).map(|entry| entry.remote.clone());
        let mut remote = known.unwrap_or_default();
        let found = self
            .forge
            .find(&self.client, revision, context, &mut remote);
        let found = match found.await {
            Err(fault) if fault.concerns_all() && !matches!(fault, Fault::Absent(_)) => {
                return Err(fault);
            }
            found => found.ok().flatten(),
        };
        let entry = sent.entry(key);
        (entry.remote, entry.unclear) = (remote, false);
        entry.check = found.map(|found| remembered(revision, context, found));
        Ok(())
    }

    pub(super) fn error(&self, fault: Fault) -> AdapterError {
        let error = AdapterError::from(fault);
        AdapterError::new(error.class(), format!("{}: {error}", self.forge.place()))
    }
}

fn late(key: &Key, wait: Duration) -> Later {
    let (context, revision) = key.clone();
    Later {
        context,
        revision,
        wait,
    }
}

/// No more is sent of this check, or of its content, which is logged.
fn end(check: &Check, fault: &Fault) -> Ended {
    let (context, revision) = (&check.context, &check.revision);
    let what = match fault {
        Fault::Early(_) => "a part of the check cannot be written on this commit",
        _ => "the check cannot be written on this commit",
    };
    tracing::warn!(context, revision, error = %fault, "{what}");
    match fault {
        Fault::Refused(_) | Fault::Early(_) => Ended::Content(digest(check)),
        _ => Ended::ForGood,
    }
}

fn unreadable(said: &str) -> Fault {
    Fault::Denied(format!(
        "{said}; the repository was deleted or renamed, or the token cannot read it"
    ))
}

/// What can be known of a check that an earlier process wrote.
fn remembered(revision: &str, context: &str, found: Found) -> Check {
    Check::new(context, revision, found.state, found.title)
}

impl<F: Forge> CheckSink for ForgeSink<F> {
    fn publish<'a>(
        &'a self,
        checks: &'a [Check],
        _: Timestamp,
    ) -> BoxFuture<'a, Result<Vec<Later>, AdapterError>> {
        let written = self.write(checks);
        written
            .map(|done| done.map_err(|fault| self.error(fault)))
            .boxed()
    }

    fn read<'a>(
        &'a self,
        revisions: &'a [String],
        context: &'a str,
    ) -> BoxFuture<'a, Result<Vec<Check>, AdapterError>> {
        let found = self.earlier(revisions, context);
        found
            .map(|done| done.map_err(|fault| self.error(fault)))
            .boxed()
    }

    fn probe(&self) -> BoxFuture<'_, Result<(), AdapterError>> {
        let examined = self.examine();
        examined
            .map(|done| done.map_err(|fault| self.error(fault)))
            .boxed()
    }

    fn unfinished<'a>(
        &'a self,
        context: &'a str,
    ) -> BoxFuture<'a, Result<Vec<Check>, AdapterError>> {
        self.left(context).map(Ok).boxed()
    }
}

impl<F: Forge> PullRequests for ForgeSink<F> {
    fn source_of<'a>(
        &'a self,
        commit: &'a str,
    ) -> BoxFuture<'a, Result<CommitSource, AdapterError>> {
        let asked = self.forge.pull_requests(&self.client, commit);
        asked
            .map(|done| done.map(|found| source(&found)))
            .map(|done| done.map_err(|fault| self.error(fault)))
            .boxed()
    }
}

impl<F: Buttons> ApprovalButtons for ForgeSink<F> {
    fn app(&self) -> Option<u64> {
        self.forge.app()
    }

    fn may_approve<'a>(&'a self, login: &'a str) -> BoxFuture<'a, Result<(), AdapterError>> {
        let asked = self.forge.may_approve(&self.client, login);
        asked
            .map(|done| done.map_err(|fault| self.error(fault)))
            .boxed()
    }
}
