//! One writer of a fleet: a daemon runs whenever this process may write, and at no other time.
//!
//! In: who may write, and a daemon to run. Out: its end. It does not know what the daemon does.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::connect::clock::wall_time;
use super::connect::controllers::identity;
use crate::adapters::kubernetes::{Claim, HeldLease, Holder, LeaseName, Target, Unpermitted};
use crate::plan::ApplySet;
use crate::settings::{Environment, SyncConfig};

/// The time in which it cannot be told who may write that is reported: a shorter one is a hiccup.
const PATIENCE: Duration = Duration::from_secs(60);

/// The right of this process to write a fleet, as long as it lasts.
pub struct Writer {
    /// Its own Lease; `None` if it shares that of the process.
    lease: Option<HeldLease>,
    claim: Claim,
}

impl Writer {
    /// Claims the fleet of `config` with a Lease of its own, in the cluster that it is applied to. Without the right to use one it applies
    /// all the same: its check then says what else it lacks.
    #[must_use]
    pub fn take(target: &Target, config: &SyncConfig, environment: &Environment) -> Self {
        let name = LeaseName {
            namespace: config.namespace.clone(),
            name: format!("capstan-fleet-{}", config.fleet),
        };
        let lease = HeldLease::take(
            &target.client,
            Arc::clone(&target.clock),
            &name,
            identity(&config.fleet, environment),
            Unpermitted::Act,
        );
        let holder = lease.holder();
        Self {
            lease: Some(lease),
            ..Self::share(target, config, name, holder)
        }
    }

    /// Claims the fleet of `config` with a Lease that several fleets share, while this process is its `holder`.
    pub(super) fn share(
        target: &Target,
        config: &SyncConfig,
        lease: LeaseName,
        holder: watch::Receiver<Holder>,
    ) -> Self {
        let set = ApplySet::new(&*config.fleet, &*config.namespace);
        let clock = Arc::clone(&target.clock);
        Self {
            lease: None,
            claim: Claim::new(&target.client, clock, &set, lease, holder),
        }
    }

    /// Returns the process that may write the fleet, and every change of it.
    #[must_use]
    pub fn holder(&self) -> watch::Receiver<Holder> {
        self.claim.holder()
    }

    /// Leaves the fleet to whoever waits for it. Nothing may be written any more.
    pub async fn release(self) {
        if let Some(lease) = self.lease {
            lease.release().await;
        }
    }
}

/// Runs a daemon until it ends. While this process is not the `holder`, it runs none: one that runs is dropped. Without a holder
/// there is nobody else to write. While nobody can tell who may write, `away` says so, from a minute on; it takes the time since when
/// that is so, and why.
///
/// # Errors
/// As the daemon.
pub(super) async fn in_turns<D, E, A>(
    holder: Option<watch::Receiver<Holder>>,
    stop: &CancellationToken,
    daemon: impl Fn() -> D,
    away: impl Fn(Timestamp, String) -> A,
) -> Result<(), E>
where
    D: Future<Output = Result<(), E>>,
    A: Future<Output = ()>,
{
    let Some(mut holder) = holder else {
        return daemon().await;
    };
    loop {
        let unknown = holder.clone();
        tokio::select! {
            biased;
            () = stop.cancelled() => return Ok(()),
            () = report_unknown(unknown, &away) => {}
            is_told = is_our_turn(&mut holder) => if !is_told {
                // Nobody tells any more, so nothing may be written.
                stop.cancelled().await;
                return Ok(());
            },
        }
        tokio::select! {
            biased;
            is_told = is_others_turn(&mut holder) => if !is_told {
                // Nobody tells any more, so nothing may be written.
                stop.cancelled().await;
                return Ok(());
            },
            ended = daemon() => return ended,
        }
    }
}

/// Reports how long nobody can tell who may write, and why, for as long as that lasts.
async fn report_unknown<A: Future<Output = ()>>(
    mut holder: watch::Receiver<Holder>,
    away: &impl Fn(Timestamp, String) -> A,
) {
    let mut known = holder.clone();
    while becomes(&mut holder, is_unknown).await {
        let since = wall_time();
        let report = async {
            tokio::time::sleep(PATIENCE).await;
            let why = match &*holder.borrow() {
                Holder::Unknown(why) => why.clone(),
                known => known.to_string(),
            };
            away(since, why).await;
        };
        tokio::select! {
            biased;
            is_told = becomes(&mut known, |holder| !is_unknown(holder)) => if !is_told {
                break;
            },
            () = report => {}
        }
    }
    // Nobody tells any more.
    std::future::pending().await
}

const fn is_unknown(holder: &Holder) -> bool {
    matches!(holder, Holder::Unknown(_))
}

/// Waits until this process may write; `false` if nobody tells any more.
async fn is_our_turn(holder: &mut watch::Receiver<Holder>) -> bool {
    becomes(holder, |holder| *holder == Holder::Us).await
}

/// Waits until this process may not write any more; `false` if nobody tells any more.
async fn is_others_turn(holder: &mut watch::Receiver<Holder>) -> bool {
    becomes(holder, |holder| *holder != Holder::Us).await
}

/// Waits until the holder is as `wanted`; `false` if nobody tells any more.
async fn becomes(holder: &mut watch::Receiver<Holder>, wanted: impl Fn(&Holder) -> bool) -> bool {
    holder.wait_for(wanted).await.is_ok()
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    /// Counts itself while it is there.
    struct Running<'a>(&'a AtomicUsize);

    impl Drop for Running<'_> {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Ordering::SeqCst);
        }
    }

    async fn never(_: Timestamp, _: String) {
        std::future::pending().await
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_reported_after_a_minute_that_nobody_can_tell_who_may_write() {
        let (said, holder) = watch::channel(Holder::Us);
        let (stop, reporting) = (CancellationToken::new(), AtomicUsize::new(0));
        let daemon = || async {
            std::future::pending::<()>().await;
            Ok::<_, Infallible>(())
        };
        let reported = &reporting;
        let away = move |_, why: String| async move {
            assert_eq!(why, "no route");
            reported.fetch_add(1, Ordering::SeqCst);
            let _running = Running(reported);
            std::future::pending().await
        };
        let turns = in_turns(Some(holder), &stop, daemon, away);
        let changes = async {
            let unknown = |why: &str| Holder::Unknown(why.to_owned());
            for (next, seconds, expected) in [
                (unknown("no route"), 59, 0),
                (Holder::Us, 100, 0),
                (unknown("it could not be renewed in time"), 1, 0),
                (unknown("no route"), 58, 0),
                (unknown("no route"), 2, 1),
                (Holder::Other("b".to_owned()), 100, 0),
                (unknown("no route"), 61, 1),
            ] {
                said.send_replace(next);
                tokio::time::sleep(Duration::from_secs(seconds)).await;
                assert_eq!(reporting.load(Ordering::SeqCst), expected, "{seconds}");
            }
            stop.cancel();
        };
        let (ended, ()) = tokio::join!(turns, changes);
        assert!(ended.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_daemon_runs_exactly_while_this_process_may_write() {
        let (said, holder) = watch::channel(Holder::Other("b".to_owned()));
        let (stop, running) = (CancellationToken::new(), AtomicUsize::new(0));
        let begun = AtomicUsize::new(0);
        let daemon = || async {
            running.fetch_add(1, Ordering::SeqCst);
            begun.fetch_add(1, Ordering::SeqCst);
            let _running = Running(&running);
            stop.cancelled().await;
            Ok::<_, Infallible>(())
        };
        let turns = in_turns(Some(holder), &stop, daemon, never);
        let changes = async {
            let pause = || tokio::time::sleep(Duration::from_millis(1));
            let unknown = Holder::Unknown("cut".to_owned());
            for (next, expected) in [
                (Holder::Us, 1),
                (unknown, 0),
                (Holder::Us, 1),
                (Holder::Other("b".to_owned()), 0),
                (Holder::Us, 1),
            ] {
                said.send_replace(next);
                pause().await;
                assert_eq!(running.load(Ordering::SeqCst), expected);
            }
            stop.cancel();
        };
        let (ended, ()) = tokio::join!(turns, changes);
        assert!(ended.is_ok());
        assert_eq!(running.load(Ordering::SeqCst), 0);
        assert_eq!(begun.load(Ordering::SeqCst), 3);
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_does_not_know_who_may_write_does_nothing() {
        for last in [Holder::Unknown("x".to_owned()), Holder::Us] {
            let is_ours = last == Holder::Us;
            let (said, holder) = watch::channel(last);
            let stop = CancellationToken::new();
            let begun = AtomicUsize::new(0);
            let daemon = || async {
                begun.fetch_add(1, Ordering::SeqCst);
                std::future::pending::<Result<(), Infallible>>().await
            };
            let turns = in_turns(Some(holder), &stop, daemon, never);
            let wait = async {
                drop(said);
                tokio::time::sleep(Duration::from_secs(60)).await;
                stop.cancel();
            };
            let (ended, ()) = tokio::join!(turns, wait);
            assert!(ended.is_ok());
            assert_eq!(begun.load(Ordering::SeqCst), usize::from(is_ours));
        }
    }
}
