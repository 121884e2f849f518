//! The record of approvals as this process holds it.
//!
//! In: approvals, and what earlier processes recorded. Out: the record, and that it changed: whoever keeps it writes it then.
//! Without a keeper it lasts as long as the process. It does not know where it is kept.

use std::path::{Path, PathBuf};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::plan::approvals::{ApprovalRecord, Approvals, Pressed};

/// How long answers wait at the start for what earlier processes recorded.
const PATIENCE: Duration = Duration::from_secs(10);
/// The files beside the mirror that held the record in earlier versions.
const FILES: [&str; 2] = ["approvals.json", "late-approvals.json"];

/// See the module.
pub(in crate::daemon) struct RecordedApprovals {
    held: Mutex<Held>,
    files: [PathBuf; 2],
    /// Counts the changes.
    changes: watch::Sender<u64>,
    /// Until when to wait for what earlier processes recorded; `None` if that is known, or nobody asks.
    awaited: watch::Sender<Option<Instant>>,
}

#[derive(Default)]
struct Held {
    record: ApprovalRecord,
    /// What was approved and not reported yet.
    unreported: Vec<Pressed>,
    /// The revision that is applied, or about to be.
    revision: Option<String>,
}

impl RecordedApprovals {
    /// Takes over what an earlier version kept beside the mirror.
    pub(super) fn open(mirror: &Path) -> Self {
        let files = FILES.map(|name| mirror.with_extension(name));
        let mut record = ApprovalRecord::default();
        for path in files.iter().filter(|path| path.exists()) {
            let text = std::fs::read_to_string(path).map_err(|error| error.to_string());
            match text.and_then(|text| ApprovalRecord::read(&text)) {
                Ok(earlier) => record.take_over(earlier),
                Err(error) => {
                    tracing::warn!(path = %path.display(), %error, "cannot read the approvals that were given before: they do not count; approve again what is kept");
                }
            }
        }
        Self {
            held: Mutex::new(Held {
                record,
                ..Held::default()
            }),
            files,
            changes: watch::Sender::default(),
            awaited: watch::Sender::default(),
        }
    }

    /// Begins to wait for what earlier processes recorded. Returns what tells of changes.
    pub(in crate::daemon) fn begin_keeping(&self) -> watch::Receiver<u64> {
        self.awaited.send_replace(Some(Instant::now() + PATIENCE));
        self.changes.subscribe()
    }

    /// Takes in the record of an earlier process or of another one; `None` if there is none.
    pub(in crate::daemon) fn recall(&self, recorded: Option<ApprovalRecord>) {
        let is_first = self.awaited.borrow().is_some();
        let mut held = self.held.lock();
        match recorded {
            Some(recorded) if is_first => held.record.take_over(recorded),
            Some(recorded) => held.record.share(recorded),
            None => {}
        }
        // It may have been taken up before this was known.
        let Held {
            record, revision, ..
        } = &mut *held;
        if let Some(revision) = revision {
            record.take_up(revision);
        }
        drop(held);
        self.awaited.send_replace(None);
    }

    /// The record as it is.
    pub(in crate::daemon) fn record(&self) -> ApprovalRecord {
        self.held.lock().record.clone()
    }

    /// Takes what was approved since the last call.
    pub(in crate::daemon) fn take_unreported(&self) -> Vec<Pressed> {
        std::mem::take(&mut self.held.lock().unreported)
    }

    /// The record is kept elsewhere by now.
    pub(in crate::daemon) fn kept(&self) {
        for path in &self.files {
            let _ = std::fs::remove_file(path);
        }
    }

    /// Waits until it is known what earlier processes recorded, for a while at most. It blocks: not for a thread that drives
    /// others.
    pub(super) fn wait(&self) {
        if let (Some(until), Ok(runtime)) = (self.awaited_until(), Handle::try_current()) {
            runtime.block_on(self.known(until));
        }
    }

    /// Until when to wait for what earlier processes recorded; `None` if there is nothing to wait for.
    pub(in crate::daemon) fn awaited_until(&self) -> Option<Instant> {
        let until = *self.awaited.borrow();
        until.filter(|until| *until > Instant::now())
    }

    /// Waits until it is known what earlier processes recorded, or until this time.
    pub(in crate::daemon) async fn known(&self, until: Instant) {
        let mut awaited = self.awaited.subscribe();
        let _ = tokio::time::timeout_at(until, awaited.wait_for(Option::is_none)).await;
    }

    /// Somebody approved something.
    pub(super) fn add(&self, press: Pressed) {
        if self.changes.receiver_count() > 0 {
            self.held.lock().unreported.push(press.clone());
        }
        self.change(|record| record.add(press));
    }

    /// `revision` is going to be applied.
    pub(super) fn take_up(&self, revision: &str) {
        self.held.lock().revision = Some(revision.to_owned());
        self.change(|record| record.take_up(revision));
    }

    /// Lists the commits to look at for `revision` after `applied`, beside those that lead to it.
    pub(super) fn late(&self, applied: &str, revision: &str) -> Vec<String> {
        self.change(|record| record.late(applied, revision))
    }

    /// Takes in what counts for `revision`, and what waits for the forge.
    pub(super) fn note(&self, revision: &str, approvals: &Approvals) {
        self.change(|record| record.note(revision, approvals));
    }

    fn change<T>(&self, change: impl FnOnce(&mut ApprovalRecord) -> T) -> T {
        let mut held = self.held.lock();
        let before = held.record.clone();
        let answer = change(&mut held.record);
        if held.record != before {
            self.changes.send_modify(|count| *count += 1);
        }
        answer
    }
}
