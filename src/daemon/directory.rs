//! When a directory in place of a repository is looked at.

use std::time::Duration;

use tokio::sync::Notify;

/// How long after one change the next is heard: all that come in between are one.
const PAUSE: Duration = Duration::from_millis(500);
/// How often a directory is looked at that cannot be watched.
pub(super) const UNWATCHED: Duration = Duration::from_secs(5);

/// Looks after each change, for ever.
pub(super) async fn pass_on(changed: &Notify, look: impl Fn()) {
    loop {
        changed.notified().await;
        look();
        tokio::time::sleep(PAUSE).await;
    }
}
