//! Which of several processes writes: the holder of a Lease.
//!
//! In: a Lease and a name for this process. Out: whether this process holds it, and every change of that. It does not know
//! what the holder writes.

use std::fmt;
use std::sync::Arc;

use kube::Client;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::Error;
use super::lease::{Lease, LeaseName, Round};
use crate::model::{Clock, ErrorClass};
use crate::reconcile::lease::RETRY;

/// The holder of a Lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holder {
    /// This process.
    Us,
    /// Another one, by its name.
    Other(String),
    /// One with a Lease of its own, which the parent of the fleet names.
    OtherLease {
        /// Its name.
        holder: String,
        /// The namespace and name of its Lease.
        lease: String,
    },
    /// That cannot be told, and why: nobody may write here.
    Unknown(String),
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Us => f.write_str("this process holds the Lease and applies"),
            Self::Other(name) if name.is_empty() => {
                f.write_str("waiting for another process, which holds the Lease")
            }
            Self::Other(name) => write!(f, "waiting: {name} holds the Lease and applies"),
            Self::OtherLease { holder, lease } => write!(
                f,
                "nothing is applied: {holder} applies this fleet and holds the Lease {lease}. Stop that process if this one is to apply the fleet, or stop this one; if that process does not serve the fleet any more, remove the annotation capstan.dev/lease from the parent of the fleet"
            ),
            Self::Unknown(why) => write!(f, "nothing is applied without the Lease: {why}"),
        }
    }
}

/// The behaviour of a process that may not use its Lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unpermitted {
    /// It waits until it may.
    Wait,
    /// It acts, with a warning: nothing keeps another process from acting, too.
    Act,
}

/// A Lease that this process holds or waits for. When it is dropped it expires.
pub struct HeldLease {
    holder: watch::Receiver<Holder>,
    looked: Arc<Mutex<Instant>>,
    stop: CancellationToken,
    rounds: AbortOnDropHandle<()>,
}

impl HeldLease {
    /// Takes the Lease when it is free, for the process `identity`.
    #[must_use]
    pub fn take(
        client: &Client,
        clock: Arc<dyn Clock>,
        name: &LeaseName,
        identity: String,
        unpermitted: Unpermitted,
    ) -> Self {
        let LeaseName { namespace, name } = name;
        let lease = Lease::new(client.clone(), namespace, name, identity);
        let (said, holder) = watch::channel(Holder::Unknown("it is being read".to_owned()));
        let stop = CancellationToken::new();
        let looked = Arc::new(Mutex::new(Instant::now()));
        let rounds = Rounds {
            lease,
            clock,
            said,
            looked: Arc::clone(&looked),
            stop: stop.clone(),
            acts_unguarded: unpermitted == Unpermitted::Act,
        };
        let rounds = tokio::spawn(rounds.run());
        Self {
            holder,
            looked,
            stop,
            rounds: AbortOnDropHandle::new(rounds),
        }
    }

    /// Returns the holder as it is now, and every change of it.
    #[must_use]
    pub fn holder(&self) -> watch::Receiver<Holder> {
        self.holder.clone()
    }

    /// Returns the time of the last look at the Lease. A look takes 10 s at most, and one follows the other after 2 s.
    #[must_use]
    pub fn looked(&self) -> Arc<Mutex<Instant>> {
        Arc::clone(&self.looked)
    }

    /// Gives it up for whoever waits. Nothing may be written any more.
    pub async fn release(self) {
        self.stop.cancel();
        let _ = self.rounds.await;
    }
}

/// The part of a process in the election.
struct Rounds {
    lease: Lease,
    clock: Arc<dyn Clock>,
    said: watch::Sender<Holder>,
    looked: Arc<Mutex<Instant>>,
    stop: CancellationToken,
    /// It acts, too, if it may not use the Lease.
    acts_unguarded: bool,
}

impl Rounds {
    async fn run(mut self) {
        while !self.stop.is_cancelled() {
            *self.looked.lock() = Instant::now();
            if self.is_lost() {
                // The answer to the next look may come after others take the Lease.
                let why = "it could not be renewed in time".to_owned();
                say(&self.said, Holder::Unknown(why));
            }
            let round = tokio::select! {
                biased;
                () = self.stop.cancelled() => break,
                round = self.lease.round(self.clock.as_ref()) => round,
            };
            let left = self.lease.left(self.clock.now());
            match round {
                Round::Held => {
                    self.acts_unguarded = false;
                    say(&self.said, Holder::Us);
                }
                Round::Others(holder) => {
                    self.acts_unguarded = false;
                    say(&self.said, Holder::Other(holder));
                }
                // Until the time is over in which nobody else takes it.
                Round::Failed(_) if left.is_some() => {}
                Round::Failed(error) => self.failed(&error),
            }
            let pause = left.map_or(RETRY, |left| left.min(RETRY));
            tokio::select! {
                biased;
                () = self.stop.cancelled() => {}
                () = tokio::time::sleep(self.clock.real(pause)) => {}
            }
        }
        self.lease.release(self.clock.as_ref()).await;
    }

    /// Returns true if this process held the Lease and could not renew it.
    fn is_lost(&self) -> bool {
        let is_ours = *self.said.borrow() == Holder::Us;
        is_ours && !self.acts_unguarded && self.lease.left(self.clock.now()).is_none()
    }

    fn failed(&mut self, error: &Error) {
        let is_denied = error.class() == ErrorClass::Denied;
        // Once it was permitted, others rely on it.
        self.acts_unguarded &= is_denied;
        if !self.acts_unguarded {
            say(&self.said, Holder::Unknown(error.to_string()));
        } else if *self.said.borrow() != Holder::Us {
            tracing::warn!(
                "this process applies without a Lease, so nothing keeps another one from applying the same: {error}"
            );
            self.said.send_replace(Holder::Us);
        }
    }
}

pub(super) fn say(said: &watch::Sender<Holder>, holder: Holder) {
    said.send_if_modified(|old| {
        let is_change = *old != holder;
        match &holder {
            Holder::Us if is_change => tracing::info!("{holder}"),
            _ if is_change => tracing::warn!("{holder}"),
            _ => {}
        }
        *old = holder;
        is_change
    });
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::atomic::{AtomicBool, Ordering};

    use jiff::Timestamp;
    use kube::client::Body;
    use kube_sim::{Server, SimClock};
    use tower::ServiceExt as _;

    use super::*;

    /// A server, its clock, and a way to it that can be cut.
    fn server() -> (Server, Arc<SimClock>) {
        let clock = Arc::new(SimClock::new(Timestamp::UNIX_EPOCH, 1));
        (Server::new(Arc::clone(&clock) as _), clock)
    }

    fn take(client: &Client, clock: &Arc<SimClock>, name: &str) -> HeldLease {
        let clock = Arc::clone(clock);
        let lease = LeaseName {
            namespace: "default".to_owned(),
            name: "capstan-sync-default".to_owned(),
        };
        HeldLease::take(client, clock, &lease, name.to_owned(), Unpermitted::Wait)
    }

    async fn until(lease: &HeldLease, wanted: impl Fn(&Holder) -> bool) -> Holder {
        let mut holder = lease.holder();
        let seen = holder.wait_for(wanted).await;
        seen.expect("it goes on").clone()
    }

    #[tokio::test(start_paused = true)]
    async fn another_process_takes_over_within_2_seconds_of_a_release_and_17_of_a_kill() {
        let (server, clock) = server();
        let client = server.client("default");
        let first = take(&client, &clock, "a");
        until(&first, |holder| *holder == Holder::Us).await;
        let second = take(&client, &clock, "b");
        let waits = until(&second, |holder| matches!(holder, Holder::Other(_))).await;
        assert_eq!(waits, Holder::Other("a".to_owned()));
        let start = Instant::now();
        first.release().await;
        until(&second, |holder| *holder == Holder::Us).await;
        assert!(start.elapsed() <= RETRY, "{:?}", start.elapsed());
        let third = take(&client, &clock, "c");
        until(&third, |holder| matches!(holder, Holder::Other(_))).await;
        let start = Instant::now();
        drop(second);
        until(&third, |holder| *holder == Holder::Us).await;
        let took = start.elapsed().as_secs();
        assert!((13..=17).contains(&took), "{took}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_holder_that_cannot_renew_stops_before_another_takes_over() {
        let (server, clock) = server();
        let (open, is_cut) = (server.client("default"), Arc::new(AtomicBool::new(false)));
        let (inner, cut) = (open.clone(), Arc::clone(&is_cut));
        let service = tower::service_fn(move |request: http::Request<Body>| {
            let (inner, is_cut) = (inner.clone(), cut.load(Ordering::SeqCst));
            async move {
                if is_cut {
                    std::future::pending::<()>().await;
                }
                let answer = inner.send(request).await;
                Ok::<_, Infallible>(answer.expect("it answers"))
            }
        });
        let cuttable = Client::new(service.boxed_clone(), "default");
        let first = take(&cuttable, &clock, "a");
        until(&first, |holder| *holder == Holder::Us).await;
        let second = take(&open, &clock, "b");
        until(&second, |holder| matches!(holder, Holder::Other(_))).await;
        is_cut.store(true, Ordering::SeqCst);
        let start = Instant::now();
        until(&first, |holder| matches!(holder, Holder::Unknown(_))).await;
        let stopped = start.elapsed().as_secs();
        assert!((8..=10).contains(&stopped), "{stopped}");
        assert_ne!(*second.holder().borrow(), Holder::Us);
        until(&second, |holder| *holder == Holder::Us).await;
    }
}
