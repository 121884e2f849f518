//! A directory in place of a repository: when it is looked at, and who learns of its revisions.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio_util::task::AbortOnDropHandle;

use super::Daemon;
use super::status_file::FileAndForge;
use crate::model::CheckSink;

/// How long after one change the next is heard: all that come in between are one.
const PAUSE: Duration = Duration::from_millis(500);
/// How often a directory is looked at that cannot be watched.
const UNWATCHED: Duration = Duration::from_secs(5);

impl Daemon {
    /// Checks go to this forge; those of a directory to its file, too.
    pub(super) fn report_to(&mut self, forge: Arc<dyn CheckSink>) {
        let file = Arc::clone(&self.sink);
        self.sink = match self.source.origin.directory() {
            Some(_) => Arc::new(FileAndForge { forge, file }),
            None => forge,
        };
        self.source.attribution.ask_at(Arc::clone(&self.sink));
    }

    /// The address that deliveries of webhooks name. Of a directory it is not known: all are for it.
    pub(super) fn announced(&self) -> &str {
        match self.source.origin.directory() {
            Some(_) => "",
            None => &self.config.url,
        }
    }

    /// How long to wait for the next look.
    pub(super) fn next_look(&self) -> Duration {
        let wait = self.polling.wait();
        match self.source.origin.directory() {
            Some(directory) if !directory.is_watched() => wait.min(UNWATCHED),
            _ => wait,
        }
    }

    /// Looks at the directory when it changes, until the answer is dropped.
    pub(super) fn follow_directory(&self) -> Option<AbortOnDropHandle<()>> {
        let directory = self.source.origin.directory()?;
        let (changed, look_now) = (Arc::new(Notify::new()), Arc::clone(&self.look_now));
        let notice = Arc::clone(&changed);
        let directory = Arc::clone(directory);
        let task = tokio::spawn(async move {
            // It reads all that is to be watched.
            let watching = move || directory.watch(move || notice.notify_one());
            drop(tokio::task::spawn_blocking(watching).await);
            pass_on(changed, look_now).await;
        });
        Some(AbortOnDropHandle::new(task))
    }
}

/// Ends the wait for the next look after a change.
pub(super) async fn pass_on(changed: Arc<Notify>, look_now: Arc<Notify>) {
    loop {
        changed.notified().await;
        look_now.notify_one();
        tokio::time::sleep(PAUSE).await;
    }
}
