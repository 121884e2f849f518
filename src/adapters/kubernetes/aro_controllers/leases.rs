//! The Leases of controllers: one for the whole cluster, or one in each namespace that they watch.
//!
//! In: the namespaces. Out: whether this process holds every Lease that it needs. They are taken in the order of their names, and
//! none is kept behind one that somebody else has, so that no two processes wait for each other. It does not know what the
//! holder may do.

use std::fmt;
use std::time::Duration;

use futures::future::join_all;
use jiff::Timestamp;
use kube::Client;

use super::group::Group;
use crate::adapters::kubernetes::lease::{Lease, Round};
use crate::adapters::kubernetes::{self, Error};
use crate::model::{Clock, Namespaces};
use crate::reconcile::lease::RENEW;

/// The name of the Lease in a namespace that is watched: another one, since that may be the namespace of the first.
const OWN: &str = "capstan-aro-controllers-namespace";

/// Another process, and the Lease that it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Its name; empty if it is not known.
    pub name: String,
    /// The namespace of the Lease, if this process holds one for each namespace.
    pub namespace: Option<String>,
    /// The controllers.
    pub group: Group,
}

/// `other runs them (Lease capstan-aro-controllers)`
impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.name.as_str() {
            "" => "another process",
            name => name,
        };
        match &self.namespace {
            Some(namespace) => write!(f, "{name} runs them (Lease {OWN} in {namespace})"),
            None => write!(f, "{name} runs them (Lease {})", self.group.lease()),
        }
    }
}

/// The result of one look at the Leases.
pub(super) enum Outcome {
    /// All are ours.
    Held,
    /// One is somebody else's.
    Others(Holder),
    /// The answer about one is missing, or an error.
    Failed(Error),
}

/// The Leases that this process needs.
pub(super) struct Leases {
    group: Group,
    client: Client,
    /// Those that it holds while it acts.
    own: Vec<Own>,
    /// The Lease of a process that watches the whole cluster. It is never taken here.
    whole: Option<Lease>,
    /// Those from this place on are to be given up, once nothing is being written any more.
    due: Option<usize>,
}

/// A Lease that this process needs.
struct Own {
    /// The namespace that it stands for; `None` for the whole cluster.
    namespace: Option<String>,
    lease: Lease,
    /// The namespace is being deleted, so nobody can hold it.
    is_ending: bool,
}

impl Leases {
    /// Those of the process `identity`, which watches the namespaces `watched`. `home` has the Lease of the whole cluster.
    pub(super) fn of(
        client: &Client,
        (group, home): (Group, &str),
        watched: &Namespaces,
        identity: &str,
    ) -> Self {
        let whole = || Lease::new(client.clone(), home, group.lease(), identity.to_owned());
        let Namespaces::Some(names) = watched else {
            return Self {
                group,
                client: client.clone(),
                own: vec![Own {
                    namespace: None,
                    lease: whole(),
                    is_ending: false,
                }],
                whole: None,
                due: None,
            };
        };
        let own = names.iter().map(|name| Own {
            namespace: Some(name.clone()),
            lease: Lease::existing(client.clone(), name, OWN, identity.to_owned()),
            is_ending: false,
        });
        Self {
            group,
            client: client.clone(),
            own: own.collect(),
            whole: Some(whole()),
            due: None,
        }
    }

    /// The time that this process may act without another round; `None` if it does not hold all.
    pub(super) fn left(&self, now: Timestamp) -> Option<Duration> {
        let needed = self.own.iter().filter(|own| !own.is_ending);
        let mut left = needed.map(|own| own.lease.left(now));
        let Some(first) = left.next() else {
            // Every namespace is being deleted.
            return Some(RENEW);
        };
        left.try_fold(first?, |least, left| Some(least.min(left?)))
    }

    /// The time in which nobody else takes the Leases that it holds; `None` if it holds none.
    pub(super) fn held_for(&self, now: Timestamp) -> Option<Duration> {
        self.own.iter().filter_map(|own| own.lease.left(now)).min()
    }

    /// Returns true if some are to be given up once nothing is being written any more; see [`Self::give_up`].
    pub(super) const fn is_due(&self) -> bool {
        self.due.is_some()
    }

    /// Looks at all once, and takes or renews those that may be. Those that are held are renewed at the same time. Behind one that is
    /// somebody else's none is kept: those are due to be given up.
    pub(super) async fn round(&mut self, clock: &dyn Clock) -> Outcome {
        if let Some(whole) = &mut self.whole {
            let held = self.own.iter();
            let held = held.filter_map(|own| own.lease.left(clock.now()));
            let most = held.min().unwrap_or(RENEW);
            match whole.look(clock, most).await {
                Ok(None) => {}
                Ok(Some(name)) => {
                    self.due = Some(0);
                    let namespace = None;
                    return Outcome::Others(Holder {
                        name,
                        namespace,
                        group: self.group,
                    });
                }
                Err(error) => return Outcome::Failed(error),
            }
        }
        let now = clock.now();
        let renewals = self.own.iter_mut().map(async |own| {
            own.lease.left(now)?;
            Some(own.lease.round(clock).await)
        });
        let mut rounds = join_all(renewals).await;
        for (place, round) in rounds.iter_mut().enumerate() {
            let Own {
                namespace,
                lease,
                is_ending,
            } = &mut self.own[place];
            let round = match round.take() {
                Some(round) => round,
                None => lease.round(clock).await,
            };
            *is_ending = match (&round, &namespace) {
                (Round::Failed(_), Some(name)) => kubernetes::is_ending(&self.client, name)
                    .await
                    .unwrap_or(false),
                _ => false,
            };
            if *is_ending {
                continue;
            }
            let (ended, is_lost) = match round {
                Round::Held => continue,
                Round::Others(name) => {
                    let namespace = namespace.clone();
                    (
                        Outcome::Others(Holder {
                            name,
                            namespace,
                            group: self.group,
                        }),
                        true,
                    )
                }
                Round::Failed(error) => (Outcome::Failed(error), lease.left(clock.now()).is_none()),
            };
            if is_lost {
                self.due = Some(place + 1);
            }
            return ended;
        }
        Outcome::Held
    }

    /// Gives up those that are ours, so that nobody waits until they expire.
    pub(super) async fn release(&mut self, clock: &dyn Clock) {
        self.release_from(0, clock).await;
    }

    /// Gives up those that are due.
    pub(super) async fn give_up(&mut self, clock: &dyn Clock) {
        if let Some(place) = self.due {
            self.release_from(place, clock).await;
        }
    }

    async fn release_from(&mut self, place: usize, clock: &dyn Clock) {
        self.due = None;
        let leases = self.own.iter_mut().skip(place);
        join_all(leases.map(|own| own.lease.release(clock))).await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use http::Request;
    use kube::client::Body;
    use kube_sim::{Server, SimClock};
    use serde_json::json;
    use tokio::time::Instant;

    use super::*;
    use crate::adapters::kubernetes::controller::writer::perform;
    use crate::reconcile::outcome::Write;

    /// A cluster with the namespaces `a`, `b` and `c`, and no other.
    struct Cluster {
        client: Client,
        clock: SimClock,
    }

    impl Cluster {
        async fn new() -> Self {
            let clock = SimClock::new(Timestamp::UNIX_EPOCH, 1);
            let server = Server::new(Arc::new(clock));
            let client = server.client("default");
            let cluster = Self { client, clock };
            for name in ["a", "b", "c"] {
                cluster.make(name).await;
            }
            cluster
        }

        async fn make(&self, name: &str) {
            let namespace =
                json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
            let (_, written) = perform(&self.client, "test", vec![Write::Apply(namespace)]).await;
            written.expect("applied");
        }

        /// Those of a process that watches these namespaces; the whole cluster without any.
        fn leases(&self, process: &str, watched: &str) -> Leases {
            let watched = match watched {
                "" => Namespaces::All,
                names => Namespaces::of_text(names),
            };
            Leases::of(
                &self.client,
                (Group::Aro, "capstan-system"),
                &watched,
                process,
            )
        }

        /// What a look leads to.
        async fn round(&self, leases: &mut Leases) -> String {
            let outcome = leases.round(&self.clock).await;
            leases.give_up(&self.clock).await;
            match outcome {
                Outcome::Held => "held".to_owned(),
                Outcome::Others(holder) => holder.to_string(),
                Outcome::Failed(error) => error.to_string(),
            }
        }

        fn is_held(&self, leases: &Leases) -> bool {
            leases.left(self.clock.now()).is_some()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn processes_for_other_namespaces_act_at_the_same_time() {
        let cluster = Cluster::new().await;
        let (mut one, mut two) = (cluster.leases("one", "a"), cluster.leases("two", "b,c"));
        for leases in [&mut one, &mut two] {
            assert_eq!(cluster.round(leases).await, "held");
        }
        assert!(cluster.is_held(&one) && cluster.is_held(&two));
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_lacks_one_lease_does_not_keep_those_behind_it() {
        let cluster = Cluster::new().await;
        let mut one = cluster.leases("one", "a");
        let mut two = cluster.leases("two", "a,b,c");
        let mut three = cluster.leases("three", "b,c");
        assert_eq!(cluster.round(&mut one).await, "held");
        let waits = "one runs them (Lease capstan-aro-controllers-namespace in a)";
        assert_eq!(cluster.round(&mut two).await, waits);
        assert_eq!(cluster.round(&mut three).await, "held");
        one.release(&cluster.clock).await;
        let waits = "three runs them (Lease capstan-aro-controllers-namespace in b)";
        assert_eq!(cluster.round(&mut two).await, waits);
        assert!(!cluster.is_held(&two));
        three.release(&cluster.clock).await;
        assert_eq!(cluster.round(&mut two).await, "held");
        assert!(cluster.is_held(&two));
    }

    #[tokio::test(start_paused = true)]
    async fn a_process_for_the_whole_cluster_goes_before() {
        let cluster = Cluster::new().await;
        let (mut one, mut whole) = (cluster.leases("one", "a,b"), cluster.leases("whole", ""));
        assert_eq!(cluster.round(&mut one).await, "held");
        assert_eq!(cluster.round(&mut whole).await, "held");
        let waits = "whole runs them (Lease capstan-aro-controllers)";
        assert_eq!(cluster.round(&mut one).await, waits);
        assert!(!cluster.is_held(&one));
        whole.release(&cluster.clock).await;
        assert_eq!(cluster.round(&mut one).await, "held");
    }

    #[tokio::test(start_paused = true)]
    async fn a_namespace_that_does_not_exist_is_not_made_and_holds_nobody_up() {
        let cluster = Cluster::new().await;
        let mut one = cluster.leases("one", "a,later");
        assert_eq!(cluster.round(&mut one).await, "held");
        cluster.make("later").await;
        let mut two = cluster.leases("two", "later");
        assert_eq!(cluster.round(&mut two).await, "held");
        let waits = "two runs them (Lease capstan-aro-controllers-namespace in later)";
        assert_eq!(cluster.round(&mut one).await, waits);
    }

    #[tokio::test(start_paused = true)]
    async fn a_look_at_the_lease_of_the_whole_cluster_is_given_up_after_10_seconds() {
        let mut cluster = Cluster::new().await;
        let open = cluster.client.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let open = open.clone();
            async move {
                if request.uri().path().contains("capstan-system") {
                    return std::future::pending().await;
                }
                open.send(request).await
            }
        });
        cluster.client = Client::new(service, "default");
        let mut one = cluster.leases("one", "a");
        let start = Instant::now();
        let said = cluster.round(&mut one).await;
        assert!(said.contains("Lease/capstan-system"), "{said}");
        assert_eq!(start.elapsed().as_secs(), 10);
    }
}
