//! What everybody around the controllers does to a cluster: Azure Service Operator, Cluster API, people, and time.
//!
//! In: a step. Out: the cluster after it. It does not know what the controllers do.

use jiff::ToSpan;
use serde_json::{Value, json};

use super::super::bench::{Bench, HCP_API, object};
use super::super::links::owned_by;
use super::super::world::GroupKind;
use super::scene::{LISTS, Scene};
use super::start::HCP;
use crate::api::aso;
use crate::api::kinds::CAPI;
use crate::api::labels::{RECONCILE_POLICY, SKIP};
use crate::health::Live;
use crate::model::{AdapterError, ErrorClass, ObjectId, WorkloadNode};

const FINALIZER: &str = "serviceoperator.azure.com/finalizer";
/// What people and Cluster API delete.
const TOP: [&str; 5] = [
    "Cluster",
    "MachinePool",
    "AROMachinePool",
    "AROControlPlane",
    "AROCluster",
];
/// What Azure Service Operator says: status, reason, severity.
const ANSWERS: [(&str, &str, &str); 4] = [
    ("True", "Succeeded", ""),
    ("False", "AzureResourceNotFound", "Warning"),
    ("False", aso::RECONCILING, "Info"),
    ("False", "InvalidRequestContent", "Error"),
];

/// What happens next. A number chooses among what there is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    /// The controllers decide about one object.
    Decide(usize),
    /// They go on until there is nothing to do.
    Rest,
    /// Azure Service Operator says something about a resource.
    Answer(usize, usize),
    /// It says that everything is ready, or not in Azure yet, and the API server responds.
    Succeed,
    /// It has deleted a resource in Azure, if it was to.
    Finish(usize),
    /// Somebody deletes a resource.
    Lose(usize),
    /// Somebody deletes one of the objects above the resources.
    Delete(usize),
    /// Cluster API goes on with deletions.
    ClusterApi,
    /// The workload cluster has so many nodes, or does not answer.
    Nodes(usize),
    /// What others do to a kind is not seen.
    Lag(usize),
    /// Everything is seen.
    CatchUp,
    /// So many seconds pass.
    Wait(i64),
    /// The cluster is paused, or not any more.
    Pause(bool),
    /// Somebody takes a resource out of the lists, or puts all of them back.
    List(Option<usize>),
    /// Somebody lists a second HCP cluster.
    Double,
    /// Somebody changes the version of a listed resource.
    Version(usize),
    /// Somebody sets a reconcile policy on a listed resource, or takes it off.
    Policy(usize, usize),
    /// The API server refuses to apply a resource from now on, or nothing any more.
    Refuse(Option<usize>),
}

/// What people set, and none.
const POLICIES: [Option<&str>; 4] = [Some("manage"), Some(SKIP), Some("detach-on-delete"), None];
/// Versions that are served.
const VERSIONS: [&str; 2] = ["v1api20251223preview", "v1api20260630preview"];

impl Scene {
    /// Lets others do something.
    pub(super) fn take(&mut self, step: Step) {
        let choose = |ids: Vec<ObjectId>, place: usize| ids.get(place % ids.len().max(1)).cloned();
        match step {
            Step::Decide(_) | Step::Rest => {}
            Step::Answer(place, answer) => {
                if let Some(id) = choose(self.resources(), place) {
                    self.answer(&id, ANSWERS[answer % ANSWERS.len()]);
                }
            }
            Step::Succeed => self.succeed(),
            Step::Finish(place) => {
                if let Some(id) = choose(self.resources(), place) {
                    self.finish(&id);
                }
            }
            Step::Lose(place) => {
                if let Some(id) = choose(self.resources(), place) {
                    self.bench.fixture.delete(&id);
                }
            }
            Step::Delete(place) => self.delete(TOP[place % TOP.len()]),
            Step::ClusterApi => self.cluster_api(),
            Step::Nodes(count) => self.nodes(count),
            Step::Lag(place) => {
                let ids = self.real().ids().cloned().collect();
                self.lagging
                    .extend(choose(ids, place).as_ref().map(GroupKind::from));
            }
            Step::CatchUp => self.lagging.clear(),
            Step::Wait(seconds) => {
                let later = self.bench.fixture.now.checked_add(seconds.seconds());
                self.bench.fixture.now = later.expect("a time");
            }
            Step::Pause(is_paused) => {
                if self.bench.find("Cluster", "c").is_some() {
                    self.bench.edit("Cluster", "c", |one| {
                        one["spec"]["paused"] = json!(is_paused)
                    });
                }
            }
            Step::List(place) => self.list(place),
            Step::Double => self.double(),
            Step::Version(place) => self.item(place, |item| {
                let version = Live(item).version();
                let version = VERSIONS[usize::from(version == VERSIONS[0])];
                item["apiVersion"] = json!(format!("{}/{version}", Live(item).group()));
            }),
            Step::Policy(place, policy) => self.item(place, |item| {
                item["metadata"]["annotations"] = match POLICIES[policy] {
                    Some(policy) => json!({RECONCILE_POLICY: policy}),
                    None => json!({}),
                };
            }),
            Step::Refuse(place) => {
                let refused = place.and_then(|place| choose(self.resources(), place));
                self.refused = refused.into_iter().collect();
                self.seen.refusals.clear();
            }
        }
        self.see();
    }

    /// Changes an item of a list.
    fn item(&mut self, place: usize, change: impl FnOnce(&mut Value)) {
        let Some(mut object) = self.bench.find(LISTS[place % 2], "c") else {
            return;
        };
        let list = object["spec"]["resources"].as_array_mut();
        let item = list.and_then(|list| {
            let count = list.len().max(1);
            list.get_mut(place / 2 % count)
        });
        if let Some(item) = item {
            change(item);
            self.bench.put(object);
        }
    }

    fn double(&mut self) {
        let Some(mut plane) = self.bench.find("AROControlPlane", "c") else {
            return;
        };
        if let Some(list) = plane["spec"]["resources"].as_array_mut() {
            list.push(object(HCP_API, HCP, "d", json!({})));
            self.bench.put(plane);
        }
    }

    fn list(&mut self, place: Option<usize>) {
        for (at, kind) in LISTS.iter().enumerate() {
            let (Some(mut object), whole) = (self.bench.find(kind, "c"), &self.specs[at]) else {
                continue;
            };
            match (place, object["spec"]["resources"].as_array_mut()) {
                (Some(place), Some(list)) if place % 2 == at && !list.is_empty() => {
                    drop(list.remove(place / 2 % list.len()));
                }
                (None, _) => object["spec"]["resources"] = whole["resources"].clone(),
                _ => {}
            }
            self.bench.put(object);
        }
    }

    fn answer(&mut self, id: &ObjectId, (status, reason, severity): (&str, &str, &str)) {
        let live = self.real().get(id).expect("it exists");
        let mut object = live.0.clone();
        let owner = aso::owner_kind(&id.group, &id.kind);
        let owner = owner.and_then(|(_, kind)| {
            self.bench
                .find(kind, Live(&object).text(&["spec", "owner", "name"]))
        });
        if !Live(&object).is_deleting()
            && Live(&object).list(&["metadata", "finalizers"]).is_empty()
        {
            object["metadata"]["finalizers"] = json!([FINALIZER]);
            let owners = object["metadata"]["ownerReferences"].as_array_mut();
            if let (Some(owners), Some(owner)) = (owners, owner) {
                owners.push(owned_by(Live(&owner), false));
            }
        }
        if status == "True" {
            object["status"]["id"] = json!(format!("/{}", id.name));
            object["status"]["properties"] = json!({"provisioningState": "Succeeded", "replicas": 3,
                "api": {"url": "https://api.example:443/"}});
        }
        if reason == aso::RECONCILING && object["status"]["id"].is_null() {
            // Azure says at once how many nodes it will make.
            object["status"]["properties"] =
                json!({"provisioningState": "Provisioning", "replicas": 3});
        }
        object["status"]["conditions"] = json!([{"type": "Ready", "status": status, "reason": reason,
            "severity": severity, "message": "", "observedGeneration": Live(&object).generation(),
            "lastTransitionTime": self.bench.fixture.now.to_string()}]);
        self.bench.put(object);
    }

    fn succeed(&mut self) {
        for id in self.resources() {
            let live = self.real().get(&id).expect("it exists");
            let is_probe = live.annotation(RECONCILE_POLICY) == SKIP
                && live.text(&["status", "id"]).is_empty();
            self.answer(&id, ANSWERS[usize::from(is_probe)]);
        }
        if self.bench.find(HCP, "c").is_some() {
            self.bench
                .kubeconfig(json!({"server": "https://api.example:443"}));
        }
    }

    pub(super) fn finish(&mut self, id: &ObjectId) {
        let live = self.real().get(id).filter(|live| live.is_deleting());
        if let Some(mut object) = live.map(|live| live.0.clone()) {
            object["metadata"]["finalizers"] = Value::Array(Vec::new());
            self.bench.put(object);
            self.bench.fixture.delete(id);
        }
    }

    pub(super) fn delete(&mut self, kind: &str) {
        if self.bench.find(kind, "c").is_some() {
            self.bench.delete(kind, "c");
        }
    }

    fn cluster_api(&mut self) {
        let is_deleting = |bench: &Bench, kind| {
            let found = bench.find(kind, "c");
            found.is_some_and(|one| Live(&one).is_deleting())
        };
        if is_deleting(&self.bench, "Cluster") {
            let mut parts = ["MachinePool", "AROControlPlane", "AROCluster"].into_iter();
            match parts.find(|kind| self.bench.find(kind, "c").is_some()) {
                Some(kind) => self.delete(kind),
                None => self.release("Cluster", &[]),
            }
        }
        if is_deleting(&self.bench, "MachinePool") {
            self.release("MachinePool", &["AROMachinePool"]);
        }
    }

    /// Takes Cluster API's finalizer off an object, once these are gone.
    fn release(&mut self, kind: &str, first: &[&str]) {
        match first
            .iter()
            .find(|first| self.bench.find(first, "c").is_some())
        {
            Some(first) => self.delete(first),
            None => {
                let object = self.bench.live(kind, "c");
                self.finish(&Live(&object).id());
            }
        }
    }

    fn nodes(&mut self, count: usize) {
        let node = |number: usize| WorkloadNode {
            name: number.to_string(),
            pool: "c-np1".to_owned(),
            provider_id: format!("azure:///{number}"),
            ready: true,
        };
        let nodes = match count {
            5.. => Err(AdapterError::new(ErrorClass::Transient, "no route")),
            count => Ok((0..count).map(node).collect()),
        };
        let cluster = ObjectId::new(CAPI, "Cluster", "ns", "c");
        self.bench.fixture.snapshot.set_nodes(&cluster, Some(nodes));
    }
}
