//! What exists in simulated Azure.
//!
//! In: what Azure Service Operator asks of it, and what others put there. Out: which resources exist, what Azure
//! reports of each, what it is at with each, and if somebody wants it, what was done to them. It outlives the objects of a
//! cluster, and several clusters may share one. It does not know the time: the caller decides how long Azure takes. Nor does
//! it refuse anything.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use jiff::Timestamp;
use parking_lot::Mutex;
use serde_json::Value;

/// A handle of simulated Azure; copies are about the same one.
#[derive(Clone, Debug)]
pub struct Azure {
    resources: Arc<Mutex<BTreeMap<String, Resource>>>,
    has_prerequisites: bool,
    /// The deeds, oldest first, if they are recorded.
    deeds: Option<Arc<Mutex<Vec<Deed>>>>,
    /// Tells what was made again from what was made before.
    births: Arc<AtomicU64>,
    /// The keys of resources that went without the operator.
    lost: Arc<Mutex<BTreeSet<String>>>,
    /// The scope of each credential that does not reach everything.
    scopes: Arc<Mutex<BTreeMap<String, String>>>,
    /// The resource group of the load balancers of the management cluster.
    balancers: Option<String>,
}

/// A creation or deletion of a resource, by its id as it was written.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Deed {
    /// It did not exist, and was created.
    Created(String),
    /// It existed, and was asked to be as a spec has it.
    Updated(String),
    /// It was deleted, by itself or with what it was below.
    Deleted(String),
}

/// An operation of Azure that takes time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// It creates the resource.
    Provisioning,
    /// It changes the resource.
    Updating,
    /// It deletes the resource, by itself or with what it is below.
    Deleting,
}

/// A resource: its id as it was written, what Azure reports of it, and what Azure is at, with the time when that is over.
#[derive(Clone, Debug)]
struct Resource {
    id: String,
    state: Value,
    work: Option<(Work, Timestamp)>,
}

/// Empty, but for what a person must create before or beside a fleet, which is there once it is asked for: resources that
/// the fleet only reads, and the Secrets of console clients.
impl Default for Azure {
    fn default() -> Self {
        Self {
            resources: Arc::default(),
            has_prerequisites: true,
            deeds: None,
            births: Arc::default(),
            lost: Arc::default(),
            scopes: Arc::default(),
            balancers: None,
        }
    }
}

impl Azure {
    /// Empty, also of what a person must create.
    #[must_use]
    pub fn bare() -> Self {
        Self {
            has_prerequisites: false,
            ..Self::default()
        }
    }

    /// Keeps the load balancers of the management cluster in this resource group of a subscription, instead of beside the subnets for
    /// Private Link.
    #[must_use]
    pub fn with_balancers_in(self, subscription: &str, group: &str) -> Self {
        let id = format!("/subscriptions/{subscription}/resourceGroups/{group}");
        Self {
            balancers: Some(id),
            ..self
        }
    }

    /// The ARM ID of the resource group of the load balancers, if they are all in one.
    pub(super) fn balancers(&self) -> Option<&str> {
        self.balancers.as_deref()
    }

    /// Records from now on what is done, also by copies made later.
    #[must_use]
    pub fn recording(self) -> Self {
        Self {
            deeds: Some(Arc::default()),
            ..self
        }
    }

    /// The deeds since it records, oldest first.
    #[must_use]
    pub fn deeds(&self) -> Vec<Deed> {
        let deeds = self.deeds.as_ref();
        deeds.map_or_else(Vec::new, |deeds| deeds.lock().clone())
    }

    fn note(&self, deed: impl FnOnce() -> Deed) {
        if let Some(deeds) = &self.deeds {
            deeds.lock().push(deed());
        }
    }

    /// Deletes a resource as a person does: the operator finds that out later.
    pub fn lose(&self, id: &str) {
        self.delete(id);
        self.lost.lock().insert(key(id));
    }

    /// Returns true if somebody deleted the resource, and nobody made it again.
    pub(super) fn is_lost(&self, id: &str) -> bool {
        self.lost.lock().contains(&key(id))
    }

    /// Lets the credential in a Secret, `NAMESPACE/NAME`, reach only what is below an ID.
    pub fn limit(&self, secret: &str, scope: &str) {
        let mut scopes = self.scopes.lock();
        scopes.insert(secret.to_owned(), key(scope));
    }

    /// Returns true if the credential in a Secret reaches a resource.
    pub(super) fn reaches(&self, secret: &str, id: &str) -> bool {
        let scopes = self.scopes.lock();
        scopes
            .get(secret)
            .is_none_or(|scope| key(id).starts_with(scope.as_str()))
    }

    /// A mark for what is made now.
    pub(super) fn birth(&self) -> String {
        self.births.fetch_add(1, Ordering::Relaxed).to_string()
    }

    /// The resources whose IDs have this part, in any case, with what Azure reports of them.
    pub(super) fn below(&self, part: &str) -> Vec<(String, Value)> {
        let part = part.to_ascii_lowercase();
        let resources = self.resources.lock();
        let found = resources.iter().filter(|(id, _)| id.contains(&part));
        found
            .map(|(_, one)| (one.id.clone(), one.state.clone()))
            .collect()
    }

    /// Returns true if all that a person must create is there.
    pub(super) const fn has_prerequisites(&self) -> bool {
        self.has_prerequisites
    }

    /// Creates a resource, or replaces what Azure reports of it: fields of an ASO status, such as `tags`.
    pub fn put(&self, id: &str, state: Value) {
        let resource = Resource {
            id: id.to_owned(),
            state,
            work: None,
        };
        if self.resources.lock().insert(key(id), resource).is_none() {
            self.note(|| Deed::Created(id.to_owned()));
        }
    }

    /// Creates a resource of which Azure reports nothing yet, or begins to update it if it exists. That is over at `until`.
    pub(super) fn begin(&self, id: &str, until: Timestamp) {
        let exists = self.has(id);
        self.lost.lock().remove(&key(id));
        let new = || Resource {
            id: id.to_owned(),
            state: Value::Null,
            work: None,
        };
        let mut resources = self.resources.lock();
        let resource = resources.entry(key(id)).or_insert_with(new);
        let work = match resource.state.is_null() {
            true => Work::Provisioning,
            false => Work::Updating,
        };
        resource.work = Some((work, until));
        let deed = if exists { Deed::Updated } else { Deed::Created };
        self.note(|| deed(id.to_owned()));
    }

    /// Takes back what [`Self::begin`] created, unless Azure reports something of it by now.
    pub(super) fn abandon(&self, id: &str) {
        let mut resources = self.resources.lock();
        let Some(resource) = resources.get_mut(&key(id)) else {
            return;
        };
        resource.work = None;
        if resource.state.is_null() {
            resources.remove(&key(id));
            self.note(|| Deed::Deleted(id.to_owned()));
        }
    }

    /// Begins to delete a resource with everything below it. That is over at
    /// `until`.
    pub(super) fn begin_deletion(&self, id: &str, until: Timestamp) {
        let goes = with_all_below(id);
        let mut resources = self.resources.lock();
        for (_, resource) in resources.iter_mut().filter(|(other, _)| goes(other)) {
            resource.work = Some((Work::Deleting, until));
        }
    }

    /// The operation on a resource at this time.
    pub(super) fn work(&self, id: &str, now: Timestamp) -> Option<Work> {
        let work = self.resources.lock().get(&key(id))?.work;
        let (work, _) = work.filter(|(_, until)| now < *until)?;
        Some(work)
    }

    /// The ids of what Azure should have deleted by now.
    pub(super) fn overdue(&self, now: Timestamp) -> Vec<String> {
        let is_over =
            |one: &&Resource| matches!(one.work, Some((Work::Deleting, until)) if until <= now);
        let resources = self.resources.lock();
        let over = resources.values().filter(is_over);
        over.map(|one| one.id.clone()).collect()
    }

    /// The number of resources of a type right below another.
    pub(super) fn count(&self, above: &str, of: &str) -> usize {
        let start = format!("{}/{}/", key(above), key(of));
        let resources = self.resources.lock();
        let below = resources.keys().filter_map(|id| id.strip_prefix(&start));
        below.filter(|name| !name.contains('/')).count()
    }

    /// The resource as Azure reports it; null while it is created. `None` if it does not exist.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<Value> {
        let resources = self.resources.lock();
        resources.get(&key(id)).map(|one| one.state.clone())
    }

    /// Returns true if a resource exists.
    pub(super) fn has(&self, id: &str) -> bool {
        self.resources.lock().contains_key(&key(id))
    }

    /// Deletes a resource with everything below it.
    pub fn delete(&self, id: &str) {
        let goes = with_all_below(id);
        self.resources.lock().retain(|other, resource| {
            let goes = goes(other);
            if goes {
                self.note(|| Deed::Deleted(resource.id.clone()));
            }
            !goes
        });
    }

    /// The ids of all resources, sorted without regard to case.
    #[must_use]
    pub fn ids(&self) -> Vec<String> {
        self.resources
            .lock()
            .values()
            .map(|one| one.id.clone())
            .collect()
    }
}

/// A test for the keys of this resource and of all below it.
fn with_all_below(id: &str) -> impl Fn(&String) -> bool + use<> {
    let (id, below) = (key(id), format!("{}/", key(id)));
    move |other| *other == id || other.starts_with(&below)
}

/// Azure compares ids without regard to case.
fn key(id: &str) -> String {
    id.to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_resource_goes_with_everything_below_it_and_nothing_else() {
        let azure = Azure::default();
        for id in ["/rg/a", "/rg/a/vnet/v", "/rg/a/vnet/v/subnets/s", "/rg/ab"] {
            azure.put(id, json!({}));
        }
        azure.delete("/RG/A/vnet/V");
        assert_eq!(azure.ids(), ["/rg/a", "/rg/ab"]);
        azure.delete("/rg/a");
        assert_eq!(azure.ids(), ["/rg/ab"]);
    }

    #[test]
    fn copies_are_about_the_same_azure() {
        let azure = Azure::default();
        azure.clone().put("/a", json!({"tags": {"b": "c"}}));
        assert_eq!(azure.get("/A"), Some(json!({"tags": {"b": "c"}})));
        azure.begin("/a", Timestamp::MAX);
        assert!(azure.get("/a").is_some_and(|state| state.is_object()));
    }

    #[test]
    fn what_is_done_is_recorded_once_somebody_wants_it() {
        let azure = Azure::default();
        azure.begin("/before", Timestamp::MAX);
        let azure = azure.recording();
        azure.begin("/a", Timestamp::MAX);
        azure.put("/a", json!({}));
        azure.clone().begin("/A", Timestamp::MAX);
        azure.put("/a/b", json!({}));
        azure.delete("/a");
        let of = |deed: fn(String) -> Deed, id: &str| deed(id.to_owned());
        let expected = [
            of(Deed::Created, "/a"),
            of(Deed::Updated, "/A"),
            of(Deed::Created, "/a/b"),
            of(Deed::Deleted, "/a"),
            of(Deed::Deleted, "/a/b"),
        ];
        assert_eq!(azure.deeds(), expected);
    }

    #[test]
    fn only_what_nothing_is_reported_of_is_taken_back() {
        let azure = Azure::default();
        for id in ["/new", "/old"] {
            azure.begin(id, Timestamp::MAX);
        }
        azure.put("/old", json!({}));
        azure.abandon("/new");
        azure.abandon("/old");
        assert_eq!(azure.ids(), ["/old"]);
    }
}
