//! When the tasks of the provider work: again and again, and only while this process may write.

use std::fmt::Display;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use crate::adapters::kubernetes::Holder;

/// The longest wait until what was written is in a snapshot.
pub(super) const NOTICED: Duration = Duration::from_secs(2);

/// The pause before work that failed is tried again.
const RETRY: Duration = Duration::from_secs(2);

/// Whether this process may write; without a holder there is nobody else.
#[derive(Clone, Debug, Default)]
pub(super) struct Turn(pub(super) Option<watch::Receiver<Holder>>);

impl Turn {
    /// Returns true if this process may write now.
    pub(super) fn is_ours(&self) -> bool {
        self.0
            .as_ref()
            .is_none_or(|holder| *holder.borrow() == Holder::Us)
    }

    /// Waits until this process may write, or may not any more; `false` if nobody tells any more.
    pub(super) async fn becomes(&self, is_ours: bool) -> bool {
        match &self.0 {
            None if is_ours => true,
            None => std::future::pending().await,
            Some(holder) => {
                let mut holder = holder.clone();
                let turned = holder
                    .wait_for(|holder| (*holder == Holder::Us) == is_ours)
                    .await;
                turned.is_ok()
            }
        }
    }

    /// Works for ever, with a `rest` after each time, and a shorter one after a failure. A failure is logged
    /// if the time before failed, too: at a start, something that the work needs may come a moment later. While another process writes, it does not begin.
    pub(super) async fn repeat<E: Display, F: Future<Output = Result<(), E>>>(
        &self,
        what: &'static str,
        rest: Duration,
        mut work: impl FnMut() -> F,
    ) {
        let mut failed = false;
        while self.becomes(true).await {
            let done = work().await;
            match &done {
                Err(error) if failed => tracing::warn!(%error, "{what}"),
                Err(error) => tracing::debug!(%error, "{what}"),
                Ok(()) => {}
            }
            failed = done.is_err();
            let pause = if failed { RETRY.min(rest) } else { rest };
            at(Some(Instant::now() + pause)).await;
        }
    }
}

/// Waits until a time; for ever without one.
pub(super) async fn at(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn work_rests_a_minute_and_two_seconds_after_a_failure() {
        let begun = Instant::now();
        let times = RefCell::new(Vec::new());
        let work = || async {
            times.borrow_mut().push(begun.elapsed().as_secs());
            match times.borrow().len() {
                2 | 3 => Err("it failed"),
                _ => Ok(()),
            }
        };
        let turn = Turn::default();
        let repeated = turn.repeat("work", Duration::from_secs(60), work);
        let _ = tokio::time::timeout(Duration::from_secs(150), repeated).await;
        assert_eq!(*times.borrow(), [0, 60, 62, 64, 124]);
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_begins_while_another_process_writes() {
        let (sender, holder) = watch::channel(Holder::Other("b".to_owned()));
        let begun = Instant::now();
        let times = RefCell::new(Vec::new());
        let work = || async {
            times.borrow_mut().push(begun.elapsed().as_secs());
            Ok::<(), &str>(())
        };
        let turn = Turn(Some(holder));
        let repeated = turn.repeat("work", Duration::from_secs(10), work);
        let changes = async {
            for holder in [Holder::Us, Holder::Unknown("cut".to_owned()), Holder::Us] {
                tokio::time::sleep(Duration::from_secs(25)).await;
                sender.send_replace(holder);
            }
            tokio::time::sleep(Duration::from_secs(5)).await;
        };
        tokio::select! {
            biased;
            () = repeated => {}
            () = changes => {}
        }
        assert_eq!(*times.borrow(), [25, 35, 45, 75]);
    }
}
