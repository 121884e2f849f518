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

use crate::adapters::kubernetes::Error;
use crate::adapters::kubernetes::lease::{Lease, Round};
use crate::model::{Clock, Namespaces};
use crate::reconcile::lease::RENEW;

/// The name of the Lease.
pub const LEASE: &str = "capstan-aro-controllers";

/// Another process, and the Lease that it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Its name; empty if it is not known.
    pub name: String,
    /// The namespace of the Lease, if this process holds one for each namespace.
    pub namespace: Option<String>,
}

/// `other runs them (Lease capstan-aro-controllers)`
impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.name.as_str() {
            "" => "another process",
            name => name,
        };
        write!(f, "{name} runs them (Lease {LEASE}")?;
        match &self.namespace {
            Some(namespace) => write!(f, " in {namespace})"),
            None => f.write_str(")"),
        }
    }
}

/// What one look at the Leases led to.
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
    /// Those that it holds while it acts, by the names of their namespaces.
    own: Vec<(Option<String>, Lease)>,
    /// The Lease of a process that watches the whole cluster. It is never taken here.
    whole: Option<Lease>,
}

impl Leases {
    /// Those of the process `identity`, which watches the namespaces `watched`. `home` has the Lease of the whole cluster.
    pub(super) fn of(client: &Client, home: &str, watched: &Namespaces, identity: &str) -> Self {
        let whole = || Lease::new(client.clone(), home, LEASE, identity.to_owned());
        let Namespaces::Some(names) = watched else {
            return Self {
                own: vec![(None, whole())],
                whole: None,
            };
        };
        let own = names.iter().map(|name| {
            let lease = Lease::existing(client.clone(), name, LEASE, identity.to_owned());
            (Some(name.clone()), lease)
        });
        Self {
            own: own.collect(),
            // Beside it, a Lease in the same namespace would be the same.
            whole: (!names.contains(home)).then(whole),
        }
    }

    /// How long this process may go on without another round; `None` if it does not hold all.
    pub(super) fn left(&self, now: Timestamp) -> Option<Duration> {
        let mut left = self.own.iter().map(|(_, lease)| lease.left(now));
        let first = left.next()??;
        left.try_fold(first, |least, left| Some(least.min(left?)))
    }

    /// Looks at all once, and takes or renews those that may be. Those that are held are renewed at the same time.
    pub(super) async fn round(&mut self, clock: &dyn Clock) -> Outcome {
        if let Some(whole) = &mut self.whole {
            let most = self
                .own
                .iter()
                .filter_map(|(_, lease)| lease.left(clock.now()));
            let most = most.min().unwrap_or(RENEW);
            match whole.look(clock, most).await {
                Ok(None) => {}
                Ok(Some(name)) => {
                    self.release_from(0, clock).await;
                    let namespace = None;
                    return Outcome::Others(Holder { name, namespace });
                }
                Err(error) => return Outcome::Failed(error),
            }
        }
        let now = clock.now();
        let renewals = self.own.iter_mut().map(async |(_, lease)| {
            lease.left(now)?;
            Some(lease.round(clock).await)
        });
        let mut rounds = join_all(renewals).await;
        for (place, round) in rounds.iter_mut().enumerate() {
            let (namespace, lease) = &mut self.own[place];
            let round = match round.take() {
                Some(round) => round,
                None => lease.round(clock).await,
            };
            let (ended, is_lost) = match round {
                Round::Held => continue,
                Round::Others(name) => {
                    let namespace = namespace.clone();
                    (Outcome::Others(Holder { name, namespace }), true)
                }
                Round::Failed(error) => (Outcome::Failed(error), lease.left(clock.now()).is_none()),
            };
            if is_lost {
                self.release_from(place + 1, clock).await;
            }
            return ended;
        }
        Outcome::Held
    }

    /// Gives up those that are ours, so that nobody waits until they expire.
    pub(super) async fn release(&mut self, clock: &dyn Clock) {
        self.release_from(0, clock).await;
    }

    async fn release_from(&mut self, place: usize, clock: &dyn Clock) {
        let leases = self.own.iter_mut().skip(place);
        join_all(leases.map(|(_, lease)| lease.release(clock))).await;
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
            Leases::of(&self.client, "capstan-system", &watched, process)
        }

        /// What a look leads to.
        async fn round(&self, leases: &mut Leases) -> String {
            match leases.round(&self.clock).await {
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
        let waits = "one runs them (Lease capstan-aro-controllers in a)";
        assert_eq!(cluster.round(&mut two).await, waits);
        assert_eq!(cluster.round(&mut three).await, "held");
        one.release(&cluster.clock).await;
        let waits = "three runs them (Lease capstan-aro-controllers in b)";
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
        let waits = "two runs them (Lease capstan-aro-controllers in later)";
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
