//! The claim of a process to be the only one that writes a set: the parent of the set names the Lease of its writer.
//!
//! In: a set, the Lease of this process, and who holds it. Out: whether this process may write, and every change of that. It
//! does not know what is written.
//!
//! Two processes with Leases of their own, such as two daemons in two namespaces, may follow one fleet. Whoever finds a Lease in the parent
//! that is alive leaves the set alone, wherever that Lease is held from.

use std::sync::Arc;

use futures::StreamExt as _;
use futures::stream::BoxStream;
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ListParams, ObjectMeta};
use kube::{Api, Client};
use serde_json::json;
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

use super::held_lease::{Holder, say};
use super::lease::LeaseName;
use super::request::with_timeout;
use super::steering::{DAEMON, patch_parent};
use super::{Error, parent};
use crate::api::labels::{APPLY_SET_ID, LEASE, UNSERVED};
use crate::apply::Parent;
use crate::model::{Clock, ErrorClass, ObjectId};
use crate::plan::ApplySet;
use crate::reconcile::lease::{Election, RETRY, Turn};

/// The most parents of a namespace that are looked at for claims of Fleets that are gone.
const MOST_PARENTS: u32 = 200;
/// The reason to read a parent again.
const CHANGED: &str = "another process changed the parent of the fleet";

/// The claim to a set. When it is dropped, nobody tells whether this process may write: it must not.
pub struct Claim {
    holder: watch::Receiver<Holder>,
    _task: AbortOnDropHandle<()>,
}

impl Claim {
    /// Claims `set` for `lease` whenever this process is its `holder`.
    #[must_use]
    pub fn new(
        client: &Client,
        clock: Arc<dyn Clock>,
        set: &ApplySet,
        lease: LeaseName,
        holder: watch::Receiver<Holder>,
    ) -> Self {
        let unknown = Holder::Unknown("it is being read".to_owned());
        let (said, receiver) = watch::channel(unknown);
        let claimant = Claimant {
            client: client.clone(),
            clock,
            set: set.clone(),
            lease,
            election: Election::new(String::new()),
            said,
        };
        Self {
            holder: receiver,
            _task: AbortOnDropHandle::new(tokio::spawn(claimant.run(holder))),
        }
    }

    /// Returns the process that may write the set, and every change of it.
    #[must_use]
    pub fn holder(&self) -> watch::Receiver<Holder> {
        self.holder.clone()
    }
}

struct Claimant {
    client: Client,
    clock: Arc<dyn Clock>,
    set: ApplySet,
    lease: LeaseName,
    /// Observes the Lease of others.
    election: Election,
    said: watch::Sender<Holder>,
}

impl Claimant {
    async fn run(mut self, mut holder: watch::Receiver<Holder>) {
        loop {
            let current = holder.borrow_and_update().clone();
            if current == Holder::Us {
                tokio::select! {
                    biased;
                    changed = holder.changed() => if changed.is_err() {
                        return;
                    },
                    () = self.keep() => {}
                }
                continue;
            }
            self.said.send_replace(current);
            if holder.changed().await.is_err() {
                return;
            }
        }
    }

    /// Claims the set, and again whenever its parent does not name our Lease any more; for ever.
    async fn keep(&mut self) {
        self.claim(true).await;
        let mut parents = self.parents();
        while let Some(named) = parents.next().await {
            if named.is_none_or(|named| named == self.lease.to_string()) {
                continue;
            }
            self.claim(false).await;
        }
        // The watch goes on for ever.
        std::future::pending().await
    }

    /// The Lease that the parent names, whenever that changes; `None` without a parent.
    fn parents(&self) -> BoxStream<'static, Option<String>> {
        let parent = self.set.parent();
        let watched = super::watch::object(&self.client, &parent.namespace, &parent.name);
        let named = watched.filter_map(|seen: Result<Option<ConfigMap>, _>| {
            std::future::ready(seen.ok().map(|live| live.map(|live| named(&live))))
        });
        named.boxed()
    }

    /// Tries until the set is claimed.
    async fn claim(&mut self, may_create: bool) {
        loop {
            let attempt = self.attempt(may_create).await;
            let holder = attempt.unwrap_or_else(|error| match error.class() {
                // Whoever applies reads and writes the parent, too, and says in the check which right is missing.
                ErrorClass::Denied => Holder::Us,
                // Somebody else was faster: that is read again.
                ErrorClass::Conflict => Holder::Unknown(CHANGED.to_owned()),
                _ => Holder::Unknown(error.to_string()),
            });
            let is_ours = holder == Holder::Us;
            match is_ours {
                // The Lease itself was announced.
                true => drop(self.said.send_replace(holder)),
                false => say(&self.said, holder),
            }
            if is_ours {
                return;
            }
            tokio::time::sleep(self.clock.real(RETRY)).await;
        }
    }

    async fn attempt(&mut self, may_create: bool) -> Result<Holder, Error> {
        let id = self.set.parent();
        let api: Api<ConfigMap> = Api::namespaced(self.client.clone(), &id.namespace);
        let live = with_timeout(&id, async {
            let live = api.get_opt(&id.name).await;
            live.map_err(|error| Error::new(&id, error))
        });
        let Some(live) = live.await? else {
            return match may_create {
                true => self.create().await,
                false => Ok(Holder::Us),
            };
        };
        let named = named(&live);
        if named == self.lease.to_string() {
            return Ok(Holder::Us);
        }
        let json = serde_json::to_value(&live).unwrap_or_default();
        if Parent::read(&self.set, &json).is_err() {
            // Whoever applies says that it is another's.
            return Ok(Holder::Us);
        }
        match self.holder_of(&named).await {
            Ok(None) => {}
            Ok(Some(holder)) => {
                let lease = named;
                return Ok(Holder::OtherLease { holder, lease });
            }
            Err(error) => {
                return Ok(Holder::Unknown(format!(
                    "{error}. {id} names the Lease {named}: if the daemon that holds it does not serve this fleet any more, remove the annotation {LEASE} there"
                )));
            }
        }
        let version = live.metadata.resource_version;
        let patch = json!({"metadata": {
            "resourceVersion": version, "annotations": {LEASE: self.lease.to_string(), UNSERVED: null}}});
        let written = with_timeout(&id, patch_parent(&self.client, &self.set, DAEMON, patch)).await;
        written.map(|()| Holder::Us)
    }

    /// Whoever holds the Lease of this name, as far as is known by now.
    async fn holder_of(&mut self, named: &str) -> Result<Option<String>, Error> {
        let Some(name) = LeaseName::read(named) else {
            return Ok(None);
        };
        let group = "coordination.k8s.io";
        let id = ObjectId::new(group, "Lease", &*name.namespace, &*name.name);
        let api: Api<Lease> = Api::namespaced(self.client.clone(), &name.namespace);
        let lease = with_timeout(&id, async {
            let lease = api.get_opt(&name.name).await;
            lease.map_err(|error| Error::new(&id, error))
        });
        let lease = lease
            .await?
            .and_then(|lease| serde_json::to_value(lease).ok());
        Ok(match self.election.read(lease.as_ref(), self.clock.now()) {
            Turn::Wait(holder) => Some(holder),
            Turn::Create(_) | Turn::Replace(_) => None,
        })
    }

    /// Makes the parent of a set that has none.
    async fn create(&self) -> Result<Holder, Error> {
        let mut begin = Parent::default().payload(&self.set);
        begin["metadata"]["annotations"][LEASE] = json!(self.lease.to_string());
        let begin = serde_json::from_value(begin).map_err(|error| Error::Unsendable {
            object: self.set.parent(),
            cause: error.to_string(),
        })?;
        let rest = Parent::default();
        let created = parent::create(&self.client, &self.set, DAEMON, &begin, &rest);
        let created = with_timeout(&self.set.parent(), created).await?;
        Ok(match created {
            true => Holder::Us,
            false => Holder::Unknown(CHANGED.to_owned()),
        })
    }
}

/// Takes the claim of `lease` to `set` back, and records that nobody serves the set any more since `now`.
///
/// # Errors
/// If the cluster does not answer, or refuses.
pub async fn unclaim(
    client: &Client,
    set: &ApplySet,
    lease: &LeaseName,
    now: Timestamp,
) -> Result<(), Error> {
    let id = set.parent();
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), &id.namespace);
    let given_up = async {
        let live = api.get_opt(&id.name).await;
        let live = live.map_err(|error| Error::new(&id, error))?;
        let Some(live) = live.filter(|live| named(live) == lease.to_string()) else {
            return Ok(());
        };
        let version = live.metadata.resource_version;
        let patch = json!({"metadata": {"resourceVersion": version, "annotations": {LEASE: null, UNSERVED: now.to_string()}}});
        patch_parent(client, set, DAEMON, patch).await
    };
    with_timeout(&id, given_up).await
}

/// The sets of a namespace that `lease` claims, among the first 200 there.
///
/// # Errors
/// If the cluster does not answer, or refuses.
pub async fn claimed(
    client: &Client,
    namespace: &str,
    lease: &LeaseName,
) -> Result<Vec<ApplySet>, Error> {
    let id = ObjectId::new("", "ConfigMap", namespace, "");
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let parents = ListParams::default()
        .labels(APPLY_SET_ID)
        .limit(MOST_PARENTS);
    let listed = with_timeout(&id, async {
        let listed = api.list_metadata(&parents).await;
        listed.map_err(|error| Error::new(&id, error))
    });
    let ours = listed.await?.items.into_iter();
    let ours = ours.filter(|parent| annotated(&parent.metadata) == lease.to_string());
    let sets = ours.filter_map(|parent| {
        let name = parent.metadata.name?;
        Some(ApplySet::new(name.strip_prefix("capstan-")?, namespace))
    });
    Ok(sets.collect())
}

/// The Lease that a parent names; empty for none.
fn named(parent: &ConfigMap) -> String {
    annotated(&parent.metadata)
}

fn annotated(metadata: &ObjectMeta) -> String {
    let annotations = metadata.annotations.as_ref();
    let lease = annotations.and_then(|all| all.get(LEASE));
    lease.cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use kube_sim::{Server, SimClock};
    use tokio::time::{Duration, Instant};

    use super::*;
    use crate::adapters::kubernetes::{HeldLease, Unpermitted};

    fn lease(name: &str) -> LeaseName {
        LeaseName {
            namespace: "default".to_owned(),
            name: name.to_owned(),
        }
    }

    struct World {
        client: Client,
        clock: Arc<SimClock>,
        set: ApplySet,
    }

    impl World {
        fn new() -> Self {
            let clock = Arc::new(SimClock::new(Timestamp::UNIX_EPOCH, 1));
            let server = Server::new(Arc::clone(&clock) as _);
            Self {
                client: server.client("default"),
                clock,
                set: ApplySet::new("prod", "default"),
            }
        }

        /// A process with a Lease of its own, and its claim.
        fn process(&self, name: &str) -> (HeldLease, Claim) {
            let clock = || Arc::clone(&self.clock) as Arc<dyn Clock>;
            let own = lease(name);
            let (client, identity) = (&self.client, name.to_owned());
            let held = HeldLease::take(client, clock(), &own, identity, Unpermitted::Wait);
            let claim = Claim::new(&self.client, clock(), &self.set, lease(name), held.holder());
            (held, claim)
        }
    }

    async fn until(claim: &Claim, wanted: impl Fn(&Holder) -> bool) {
        let mut holder = claim.holder();
        holder.wait_for(wanted).await.expect("it goes on");
    }

    #[tokio::test(start_paused = true)]
    async fn a_set_that_another_lease_claims_is_taken_15_seconds_after_its_last_renewal() {
        let world = World::new();
        let (first_lease, first) = world.process("a");
        until(&first, |holder| *holder == Holder::Us).await;
        let (_second_lease, second) = world.process("b");
        let is_others = |holder: &Holder| matches!(holder, Holder::OtherLease { .. });
        until(&second, is_others).await;
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert!(is_others(&second.holder().borrow()), "it is renewed");
        let start = Instant::now();
        drop((first, first_lease));
        until(&second, |holder| *holder == Holder::Us).await;
        let took = start.elapsed().as_secs();
        assert!((13..=19).contains(&took), "{took}");
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_released_or_given_up_is_taken_at_once() {
        let world = World::new();
        let (first_lease, first) = world.process("a");
        until(&first, |holder| *holder == Holder::Us).await;
        let (_second_lease, second) = world.process("b");
        let is_others = |holder: &Holder| matches!(holder, Holder::OtherLease { .. });
        until(&second, is_others).await;
        let names = async |name: &str| {
            let sets = claimed(&world.client, "default", &lease(name)).await;
            sets.expect("it answers").len()
        };
        assert_eq!((names("a").await, names("b").await), (1, 0));
        drop(first);
        let start = Instant::now();
        first_lease.release().await;
        until(&second, |holder| *holder == Holder::Us).await;
        assert!(start.elapsed() <= RETRY, "{:?}", start.elapsed());
        assert_eq!((names("a").await, names("b").await), (0, 1));
        drop(second);
        let (b, now) = (lease("b"), Timestamp::UNIX_EPOCH);
        let given_up = unclaim(&world.client, &world.set, &b, now);
        given_up.await.expect("it answers");
        assert_eq!(names("b").await, 0);
        let unserved = async || {
            let read = parent::read(&world.client, &world.set).await;
            read.expect("it answers").expect("a parent").0.unserved
        };
        assert_eq!(unserved().await, "1970-01-01T00:00:00Z");
        let (_third_lease, third) = world.process("c");
        until(&third, |holder| *holder == Holder::Us).await;
        assert_eq!(unserved().await, "");
    }
}
