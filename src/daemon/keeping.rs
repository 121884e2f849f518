//! Keeps the record of approvals in the parent of the fleet's ApplySet, for as long as the daemon runs.
//!
//! In: approvals as they are given. Out: what earlier processes recorded; the record, written whenever it changes, and an
//! Event for each approval. What cannot be written counts in this process all the same. It does not know which approvals
//! count.

use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument as _;

use super::jobs::Source;
use crate::adapters::kubernetes;
use crate::model::ErrorClass;
use crate::plan::approvals::ApprovalRecord;

/// How often the record is written at once because others write the parent.
const ATTEMPTS: usize = 5;
/// After how long what failed is tried again, or a missing parent is looked for.
const RETRY: Duration = Duration::from_secs(5);

/// Keeps the approvals of `source` in the cluster until the answer is dropped. Answers to what is approved wait from now on
/// until it is known what earlier processes recorded.
pub(super) fn keep_approvals(client: &Client, source: &Arc<Source>) -> AbortOnDropHandle<()> {
    let keeper = Keeper {
        client: client.clone(),
        source: Arc::clone(source),
        is_failing: false,
        is_mute: false,
    };
    let changes = source.approvals.recorded.begin_keeping();
    AbortOnDropHandle::new(tokio::spawn(keeper.run(changes).in_current_span()))
}

struct Keeper {
    client: Client,
    source: Arc<Source>,
    /// The last attempt failed, and a warning says so.
    is_failing: bool,
    /// Events cannot be written, and a warning says so.
    is_mute: bool,
}

/// How an attempt to keep the record ended.
enum Attempt {
    Kept,
    /// There is no parent yet, and something to write.
    NoParent,
}

impl Keeper {
    async fn run(mut self, mut changes: watch::Receiver<u64>) {
        loop {
            changes.mark_unchanged();
            let attempt = self.keep().await;
            if let Ok(Attempt::Kept) = attempt {
                self.is_failing = false;
                self.source.approvals.recorded.kept();
                if changes.changed().await.is_err() {
                    return;
                }
                continue;
            }
            if let Err(error) = attempt
                && !std::mem::replace(&mut self.is_failing, true)
            {
                let object = self.source.set.parent();
                tracing::warn!(%object, %error, "cannot read or write the record of approvals: those that were given to this process count until it ends, and a restart forgets them. Let the daemon get and patch this ConfigMap; it is tried again");
            }
            tokio::time::sleep(RETRY).await;
        }
    }

    /// Keeps the record. Others write the parent, too, and perhaps other approvals: then it is read again.
    async fn keep(&mut self) -> Result<Attempt, kubernetes::Error> {
        for _ in 1..ATTEMPTS {
            match self.try_keep().await {
                Err(error) if error.class() == ErrorClass::Conflict => {}
                kept => return kept,
            }
        }
        self.try_keep().await
    }

    /// Reads what is recorded, adds it to what this process has, and writes that if it is more.
    async fn try_keep(&mut self) -> Result<Attempt, kubernetes::Error> {
        let (set, recorded) = (&self.source.set, &self.source.approvals.recorded);
        let Some(parent) = kubernetes::recorded_approvals(&self.client, set).await? else {
            recorded.recall(None);
            let is_empty = recorded.record() == ApprovalRecord::default();
            return Ok(match is_empty {
                true => Attempt::Kept,
                false => Attempt::NoParent,
            });
        };
        let before = parent.record.as_deref().map(ApprovalRecord::read);
        let before = before.transpose().unwrap_or_else(|error| {
            tracing::warn!(object = %set.parent(), error, "cannot read the record of approvals in `data.approvals`: what was approved before with a button, a comment or an annotation does not count; approve again what is kept");
            None
        });
        recorded.recall(before.clone());
        let record = recorded.record();
        if record != before.unwrap_or_default() {
            kubernetes::record_approvals(&self.client, set, &parent, &record.text()).await?;
        }
        self.report(&parent.uid).await;
        Ok(Attempt::Kept)
    }

    /// Writes an Event for each new approval, as well as can be.
    async fn report(&mut self, uid: &str) {
        let new = self.source.approvals.recorded.take_unreported();
        for press in new
            .iter()
            .filter(|press| press.approvals().next().is_some())
        {
            let (set, note) = (&self.source.set, press.to_string());
            let reported =
                kubernetes::report_approval(&self.client, set, uid, &note, press.at).await;
            match reported {
                Ok(()) => self.is_mute = false,
                Err(error) if !std::mem::replace(&mut self.is_mute, true) => {
                    tracing::warn!(%error, "cannot write an Event about an approval, which counts all the same; let the daemon create events of events.k8s.io in this namespace");
                }
                Err(error) => tracing::debug!(%error, "cannot write an Event about an approval"),
            }
        }
    }
}
