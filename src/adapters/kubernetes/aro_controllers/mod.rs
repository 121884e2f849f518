//! Groups of our controllers on a cluster where others may run them: other processes of ours, and CAPZ those of ARO.
//!
//! In: the controllers of a group, and how careful to be. Out: their work while it is this process' turn, and what they do now.
//! By `auto` it is, once CAPZ's controllers do not act and this process holds the Lease, or one in each namespace that it
//! watches; by `on` whatever CAPZ does, and also without the Lease if that may not be used. It does not know what the controllers
//! do.

mod group;
mod leases;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

pub use self::group::{Group, LEASE};
pub use self::leases::Holder;
use self::leases::{Leases, Outcome};
use super::Error;
use super::controller::{Connectors, Counts, Running, spawn_while};
use super::discovery::unserved;
use super::handover;
use crate::api::fleet::Mode;
use crate::api::suppliers::help;
use crate::model::{Clock, ErrorClass, Namespaces};
use crate::reconcile::Watched;
use crate::reconcile::controller::Controller;
use crate::reconcile::handover::{Decision, Reason};
use crate::reconcile::lease::RETRY;
use crate::reconcile::world::GroupKind;

/// How the controllers share the cluster.
#[derive(Clone, Debug)]
pub struct Sharing {
    /// The controllers that have one Lease.
    pub group: Group,
    /// Whether they act whatever CAPZ does. `Off` is as `Auto`: who wants none starts none.
    pub mode: Mode,
    /// The namespace of the Lease of a process for the whole cluster.
    pub namespace: String,
    /// The name of this process. No other has it.
    pub identity: String,
    /// The namespaces whose objects the controllers see. If it has some, each has a Lease of its own.
    pub watched: Namespaces,
    /// The kinds of which they see only the objects in the namespace of the Lease.
    pub near: Vec<GroupKind>,
}

/// How often a cluster is asked whether it serves the kinds.
const LOOK: Duration = Duration::from_secs(10);

/// Why they do not act after rounds that failed.
const NOT_RENEWED: &str = "it could not be renewed in time";

/// What the controllers do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The cluster does not serve their kinds; this is what to do.
    Unserved(String),
    /// They step back for CAPZ's, or do not know yet whether to.
    SteppedBack(String),
    /// They wait for another process.
    Waiting(Holder),
    /// They may not know whether another process acts, so that they do not.
    Blocked(String),
    /// They act.
    Acting,
    /// They act, although the Lease cannot be used, for this reason.
    Unguarded(String),
}

impl Standing {
    /// Whether they act.
    #[must_use]
    pub const fn acts(&self) -> bool {
        matches!(self, Self::Acting | Self::Unguarded(_))
    }

    /// Whether it is known whose turn it is, and nothing keeps them from taking theirs.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        match self {
            Self::Acting | Self::Unguarded(_) | Self::Waiting(_) => true,
            Self::SteppedBack(why) => *why != Reason::Looking.to_string(),
            Self::Unserved(_) | Self::Blocked(_) => false,
        }
    }

    /// It in a word, for a metric.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Unserved(_) => "unserved",
            Self::SteppedBack(_) => "stepped_back",
            Self::Waiting(_) => "waiting",
            Self::Blocked(_) => "blocked",
            Self::Acting => "acting",
            Self::Unguarded(_) => "unguarded",
        }
    }
}

/// It after the name of the controllers: `wait: other runs them`.
impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unserved(help) => {
                write!(f, "wait until the cluster serves their kinds: {help}")
            }
            Self::SteppedBack(why) => write!(f, "step back: {why}"),
            Self::Waiting(holder) => write!(f, "wait: {holder}"),
            Self::Blocked(why) => write!(f, "wait for their Lease: {why}"),
            Self::Acting => f.write_str("run"),
            Self::Unguarded(why) => write!(
                f,
                "run without their Lease, so let no other process run them: {why}"
            ),
        }
    }
}

/// Controllers that take their turn; dropping it stops them at once.
pub struct Sharers {
    group: Group,
    standing: watch::Receiver<Standing>,
    stop: watch::Sender<bool>,
    turns: AbortOnDropHandle<()>,
    counts: Arc<Counts>,
}

impl Sharers {
    /// What they do now, and every change of it.
    #[must_use]
    pub fn standing(&self) -> watch::Receiver<Standing> {
        self.standing.clone()
    }

    /// The controllers.
    #[must_use]
    pub const fn group(&self) -> Group {
        self.group
    }

    /// What they did.
    #[must_use]
    pub fn counts(&self) -> Arc<Counts> {
        Arc::clone(&self.counts)
    }

    /// Stops them, and gives the Lease up for whoever waits for it.
    pub async fn stop(self) {
        self.stop.send_replace(true);
        let _ = self.turns.await;
    }
}

/// Lets `controllers` take their turn on the cluster behind `client`. `clock` has the time of the cluster.
#[must_use]
pub fn share(
    client: &Client,
    clock: Arc<dyn Clock>,
    controllers: Vec<Controller>,
    connectors: Connectors,
    sharing: Sharing,
) -> Sharers {
    let (said, standing) = watch::channel(Standing::SteppedBack(Reason::Looking.to_string()));
    let (stop, stopped) = watch::channel(false);
    let counts: Arc<Counts> = Arc::default();
    let group = sharing.group;
    let turns = Turns {
        group,
        client: client.clone(),
        counts: Arc::clone(&counts),
        clock,
        leases: Leases::of(
            client,
            (group, &sharing.namespace),
            &sharing.watched,
            &sharing.identity,
        ),
        near: Watched::from(sharing.watched.clone()).only_in(&sharing.namespace, &sharing.near),
        watched: sharing.watched,
        is_forced: sharing.mode == Mode::On,
        decides: group.steps_back() && sharing.mode != Mode::On,
        said,
        stopped,
    };
    let turns = tokio::spawn(turns.run(controllers, connectors));
    Sharers {
        group,
        standing,
        stop,
        turns: AbortOnDropHandle::new(turns),
        counts,
    }
}

/// Whose turn it is.
struct Turns {
    group: Group,
    client: Client,
    counts: Arc<Counts>,
    clock: Arc<dyn Clock>,
    leases: Leases,
    watched: Namespaces,
    /// The same for each kind.
    near: Watched,
    is_forced: bool,
    /// Whether they step back as a whole.
    decides: bool,
    said: watch::Sender<Standing>,
    stopped: watch::Receiver<bool>,
}

impl Turns {
    async fn run(mut self, controllers: Vec<Controller>, connectors: Connectors) {
        // On a cluster without their kinds nothing is watched.
        while !*self.stopped.borrow() && !self.are_served().await {
            self.pause(LOOK).await;
        }
        let (may_act, acting) = watch::channel(false);
        let (client, clock) = (self.client.clone(), Arc::clone(&self.clock));
        let (counts, watched) = (Arc::clone(&self.counts), self.near.clone());
        let running = spawn_while(
            client,
            clock,
            controllers,
            connectors,
            watched,
            acting,
            counts,
        );
        let first = if self.decides {
            Decision::StepBack {
                why: Reason::Looking,
                until: None,
            }
        } else {
            Decision::Act
        };
        let (sender, mut decisions) = watch::channel(first);
        let _deciding = self.decides.then(|| {
            let (client, clock) = (self.client.clone(), Arc::clone(&self.clock));
            let decide = handover::decide(client, clock, self.watched.clone(), sender.clone());
            AbortOnDropHandle::new(tokio::spawn(decide))
        });
        while !*self.stopped.borrow() {
            let decision = decisions.borrow_and_update().clone();
            match decision {
                Decision::StepBack { why, .. } => {
                    self.say(&may_act, Standing::SteppedBack(why.to_string()));
                    self.release(&running).await;
                    self.changed(&mut decisions).await;
                }
                Decision::Act => self.take_turn(&may_act, &running, &mut decisions).await,
            }
        }
        may_act.send_replace(false);
        self.release(&running).await;
    }

    /// Gives the Lease up once nothing is being written any more. If that takes longer than we hold it, it expires.
    async fn release(&mut self, running: &Running) {
        self.rest(running).await;
        self.leases.release(self.clock.as_ref()).await;
    }

    /// Waits until nothing is being written any more, for as long as nobody else takes what we hold.
    async fn rest(&self, running: &Running) {
        if let Some(left) = self.leases.held_for(self.clock.now()) {
            let _ = tokio::time::timeout(self.clock.real(left), running.rest()).await;
        }
    }

    /// Whether the cluster serves one of the kinds.
    async fn are_served(&self) -> bool {
        let known = self.group.kinds();
        let missing = unserved(&self.client, &known).await;
        match missing {
            Ok(missing) if missing.len() < known.len() => return true,
            Ok(_) => {
                let first = known.first();
                let help = first.map(|first| help(first.group, first.kind));
                self.record(Standing::Unserved(help.unwrap_or_default()));
            }
            Err(error) => self.record(Standing::Blocked(error.to_string())),
        }
        false
    }

    /// One look at the Lease, and the time until the next. Ends as soon as something else decides.
    async fn take_turn(
        &mut self,
        may_act: &watch::Sender<bool>,
        running: &Running,
        decisions: &mut watch::Receiver<Decision>,
    ) {
        let acts = *self.said.borrow() == Standing::Acting;
        if acts && self.leases.left(self.clock.now()).is_none() {
            // The answer to this look may come after others take the Lease.
            self.say(may_act, Standing::Blocked(NOT_RENEWED.to_owned()));
        }
        let mut stopped = self.stopped.clone();
        let round = tokio::select! {
            biased;
            _ = decisions.changed() => return,
            _ = stopped.changed() => return,
            round = self.leases.round(self.clock.as_ref()) => round,
        };
        let left = self.leases.left(self.clock.now());
        match round {
            Outcome::Held => self.say(may_act, Standing::Acting),
            Outcome::Others(holder) => self.say(may_act, Standing::Waiting(holder)),
            Outcome::Failed(error) if is_unusable(&error) => {
                self.say(may_act, self.without_lease(&error));
            }
            // Until the time is over in which nobody else takes the Lease.
            Outcome::Failed(_) if left.is_some() => {}
            Outcome::Failed(error) => self.say(may_act, Standing::Blocked(error.to_string())),
        }
        if self.leases.is_due() {
            self.rest(running).await;
            self.leases.give_up(self.clock.as_ref()).await;
        }
        let pause = left.map_or(RETRY, |left| left.min(RETRY));
        tokio::select! {
            biased;
            () = self.changed(decisions) => {}
            () = tokio::time::sleep(self.clock.real(pause)) => {}
        }
    }

    fn without_lease(&self, error: &Error) -> Standing {
        if self.is_forced {
            return Standing::Unguarded(error.to_string());
        }
        Standing::Blocked(format!(
            "{error}. Or, if no other process runs them, pass {}",
            self.group.switch()
        ))
    }

    /// Waits until something else is decided, or everything ends.
    async fn changed(&self, decisions: &mut watch::Receiver<Decision>) {
        let mut stopped = self.stopped.clone();
        tokio::select! {
            biased;
            _ = stopped.changed() => {}
            _ = decisions.changed() => {}
        }
    }

    /// Waits, unless everything ends.
    async fn pause(&mut self, time: Duration) {
        tokio::select! {
            biased;
            _ = self.stopped.changed() => {}
            () = tokio::time::sleep(self.clock.real(time)) => {}
        }
    }

    fn say(&self, may_act: &watch::Sender<bool>, standing: Standing) {
        may_act.send_replace(standing.acts());
        self.record(standing);
    }

    fn record(&self, standing: Standing) {
        self.said.send_if_modified(|old| {
            let changed = *old != standing;
            if changed && standing == Standing::Acting {
                tracing::info!("{} {standing}", self.group);
            } else if changed {
                tracing::warn!("{} {standing}", self.group);
            }
            *old = standing;
            changed
        });
    }
}

/// Whether somebody has to grant a right, or make the namespace.
fn is_unusable(error: &Error) -> bool {
    matches!(error.class(), ErrorClass::Denied | ErrorClass::Gone)
}

#[cfg(test)]
mod tests;
