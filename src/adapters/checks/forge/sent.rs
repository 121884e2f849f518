//! What was sent to a forge, kept across restarts.
//!
//! In: checks as they are sent. Out: whether the forge shows a check already, and the ids that it gave. The
//! file is written before a batch is sent, with its checks marked as unclear, and after it: a process that
//! dies in between leaves a mark, and the next one looks up what became of those.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;

use crate::model::{Check, CheckState, hex};

/// How many checks are kept, the newest.
const MOST: usize = 1_000;

/// How long a check waits that the forge cannot take yet, at first and at most, and when it is given up: a forge
/// announces a push before all of it knows the commit, which takes a busy one many seconds.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(60);
const PATIENCE: Duration = Duration::from_secs(600);

/// Context and revision.
pub(super) type Key = (String, String);

pub(super) fn key(check: &Check) -> Key {
    (check.context.clone(), check.revision.clone())
}

/// A check that was sent, or is being sent.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Entry<R> {
    context: String,
    revision: String,
    /// What the forge gave for it.
    pub(super) remote: R,
    /// What was sent last, without its long texts.
    #[serde(default)]
    pub(super) check: Option<Check>,
    /// Nobody knows what the forge has of it.
    #[serde(default)]
    pub(super) unclear: bool,
    #[serde(default)]
    pub(super) ended: Option<Ended>,
    /// Since when the forge cannot take it yet.
    #[serde(skip)]
    pub(super) early: Option<Instant>,
    /// The newest attempt whose request was sent, and the newest of which the answer is there.
    #[serde(skip)]
    pub(super) begun: u32,
    #[serde(skip)]
    ended_attempt: u32,
    /// Larger is newer.
    number: u64,
}

impl<R> Entry<R> {
    /// Whether the check that was sent last is about one of these pull requests.
    fn is_about(&self, pull_requests: &[u64]) -> bool {
        let mut own = self.check.iter().flat_map(Check::pull_requests);
        own.any(|number| pull_requests.contains(&number))
    }

    /// Returns true if somebody has asked for the check again since it was written.
    pub(super) fn is_wanted_again(&self, check: &Check) -> bool {
        check.attempt > self.ended_attempt
    }

    /// Begins the attempt of the check. Returns true if it is a new one.
    pub(super) fn begin_attempt(&mut self, check: &Check) -> bool {
        let is_new = check.attempt > self.begun;
        self.begun = self.begun.max(check.attempt);
        is_new
    }

    /// Ends the attempt of the check, if its request was sent.
    pub(super) fn end_attempt(&mut self, check: &Check) {
        if self.begun == check.attempt {
            self.ended_attempt = self.begun;
        }
    }

    /// How long to wait before it is sent again: each time about as long as it has waited. `None` after a while.
    pub(super) fn wait(&mut self) -> Option<Duration> {
        let waited = self.early.get_or_insert_with(Instant::now).elapsed();
        let wait = waited.clamp(FIRST_WAIT, LONGEST_WAIT);
        (waited < PATIENCE).then_some(wait)
    }

    fn may_be_pending(&self) -> bool {
        let state = self.check.as_ref().map(|check| check.state);
        self.ended != Some(Ended::ForGood) && (self.unclear || state == Some(CheckState::Pending))
    }
}

/// Why no more is sent of a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Ended {
    /// The commit is gone, or has too many.
    ForGood,
    /// This content was refused, by its digest.
    Content(String),
}

/// What was sent.
#[derive(Debug)]
pub(super) struct Sent<R> {
    path: Option<PathBuf>,
    place: String,
    entries: BTreeMap<Key, Entry<R>>,
    number: u64,
    /// There was no file: what an earlier process sent is unknown.
    is_lost: bool,
}

#[derive(Serialize, Deserialize)]
struct File<R> {
    v: u32,
    /// The repository: another one has nothing of these.
    place: String,
    sent: Vec<Entry<R>>,
}

impl<R: Clone + Default + Serialize + DeserializeOwned> Sent<R> {
    /// Reads the file, if there is one of this place.
    pub(super) fn open(path: Option<&Path>, place: &str) -> Self {
        let file = path.and_then(|path| match read::<R>(path) {
            Ok(file) => file,
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "cannot read which checks were sent; they are looked up");
                None
            }
        });
        let file = file.filter(|file| file.v == 1 && file.place == place);
        let is_lost = file.is_none();
        let sent = file.map(|file| file.sent).unwrap_or_default();
        let number = sent.iter().map(|entry| entry.number).max().unwrap_or(0);
        let keyed = |entry: Entry<R>| ((entry.context.clone(), entry.revision.clone()), entry);
        Self {
            path: path.map(Path::to_owned),
            place: place.to_owned(),
            entries: sent.into_iter().map(keyed).collect(),
            number,
            is_lost,
        }
    }

    pub(super) fn get(&self, key: &Key) -> Option<&Entry<R>> {
        self.entries.get(key)
    }

    /// What is kept of a check that has a pull request, if it showed a check of another revision since, as after a
    /// forced push and another one back.
    pub(super) fn overtaken(&mut self, check: &Check) -> Option<&mut R> {
        let own: Vec<u64> = check.pull_requests().collect();
        let (context, revision) = key(check);
        let number = self.get(&(context.clone(), revision.clone()))?.number;
        let is_later = |other: &Entry<R>| {
            other.number > number && other.context == context && other.is_about(&own)
        };
        let is_overtaken = self.entries.values().any(is_later);
        let entry = self.entries.get_mut(&(context, revision));
        entry
            .filter(|_| is_overtaken)
            .map(|entry| &mut entry.remote)
    }

    /// Whether there may be checks of an earlier process that are not in the file.
    pub(super) const fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// The checks of `context` that the forge may show as pending.
    pub(super) fn pending(&self, context: &str) -> Vec<Key> {
        let of_context = self.entries.iter().filter(|(key, _)| key.0 == context);
        let pending = of_context.filter(|(_, entry)| entry.may_be_pending());
        pending.map(|(key, _)| key.clone()).collect()
    }

    /// The entry to change, made if there is none.
    pub(super) fn entry(&mut self, key: &Key) -> &mut Entry<R> {
        self.number += 1;
        let (number, is_lost) = (self.number, self.is_lost);
        let entry = self.entries.entry(key.clone()).or_insert_with(|| Entry {
            context: key.0.clone(),
            revision: key.1.clone(),
            remote: R::default(),
            check: None,
            unclear: is_lost,
            ended: None,
            early: None,
            begun: 0,
            ended_attempt: 0,
            number,
        });
        entry.number = number;
        entry
    }

    /// Writes the file. The checks of `under_way` are marked as unclear in it. What is pending is let go of last: else
    /// nobody would end it after a restart.
    pub(super) async fn save(&mut self, under_way: &BTreeSet<Key>) {
        while self.entries.len() > MOST {
            let age = |(_, entry): &(&Key, &Entry<R>)| (entry.may_be_pending(), entry.number);
            let oldest = self.entries.iter().min_by_key(age);
            let Some(oldest) = oldest.map(|(key, _)| key.clone()) else {
                break;
            };
            self.entries.remove(&oldest);
        }
        let Some(path) = self.path.clone() else {
            return;
        };
        let sent = self.entries.iter().map(|(key, entry)| Entry {
            unclear: entry.unclear || under_way.contains(key),
            ..entry.clone()
        });
        let file = File {
            v: 1,
            place: self.place.clone(),
            sent: sent.collect(),
        };
        let written = match serde_json::to_vec(&file) {
            Ok(text) => tokio::task::spawn_blocking(move || replace_file(&path, &text)).await,
            Err(error) => Ok(Err(error.into())),
        };
        if let Err(error) = written.unwrap_or_else(|error| Err(io::Error::other(error))) {
            tracing::warn!(%error, "cannot record which checks were sent; after a restart some are sent again");
        }
    }
}

fn read<R: DeserializeOwned>(path: &Path) -> io::Result<Option<File<R>>> {
    match std::fs::read(path) {
        Ok(text) => Ok(Some(serde_json::from_slice(&text)?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Writes a file as a whole or not at all.
///
/// # Errors
/// When the file system does not take it; then the file is as before.
pub fn replace_file(path: &Path, text: &[u8]) -> io::Result<()> {
    let dir = path.parent().unwrap_or_else(|| Path::new("."));
    std::fs::create_dir_all(dir)?;
    let mut file = tempfile::NamedTempFile::new_in(dir)?;
    io::Write::write_all(&mut file, text)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

/// What people see of a check, as a short text: equal checks have equal digests.
#[must_use]
pub fn digest(check: &Check) -> String {
    let shown = Check {
        revision: String::new(),
        pull_request: None,
        older_pull_requests: Vec::new(),
        input: None,
        ..check.clone()
    };
    digest_of(&shown)
}

/// A value as a short text.
#[must_use]
pub fn digest_of(value: &impl Serialize) -> String {
    let json = serde_json::to_vec(value).unwrap_or_default();
    let hash = Sha256::digest(json);
    hex(&hash[..16])
}

/// A check without its long texts.
pub(super) fn trimmed(check: &Check) -> Check {
    Check {
        summary: String::new(),
        annotations: Vec::new(),
        ..check.clone()
    }
}
