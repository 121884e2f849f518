//! Private clusters, what the controllers decide about them, and the writes carried out.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeMap;

use jiff::ToSpan;
use serde_json::{Value, json};

use crate::api::azure_private_link_service::KIND;
use crate::api::fleet::Mode;
use crate::api::kinds::{INFRASTRUCTURE, PRIVATE_LINK};
use crate::api::platform::HYPERSHIFT;
use crate::health::Live;
use crate::model::{AzureError, AzureFault, Frontend, ObjectId};
use crate::reconcile::controller::Controller;
use crate::reconcile::fixture::Fixture;
use crate::reconcile::outcome::{Need, Outcome, Write};
use crate::reconcile::private_link::{Management, Place, PlatformSettings, all};
use crate::reconcile::world::{GroupKind, World};

pub(super) const API: &str = "hypershift.openshift.io/v1beta1";
pub(super) const NETWORK: &str = "network.azure.com";
/// The subscription of the clusters.
pub(super) const GUEST: &str = "3f0c7d3e-52a4-4b6b-9a51-2f1f0d9c7a10";
/// The subscription of the management cluster.
pub(super) const HUB: &str = "9d1c7d3e-52a4-4b6b-9a51-2f1f0d9c7a11";
/// The namespace of the platform controller.
pub(super) const PLATFORM: &str = "capstan-system";
/// The address of every router.
pub(super) const ADDRESS: &str = "10.0.0.7";

/// The controllers, in the order in which [`all`] has them.
pub(super) const OBSERVER: usize = 0;
pub(super) const SERVICE: usize = 1;
pub(super) const ENDPOINT: usize = 2;

/// More rounds than this without time passing is an endless loop.
const MOST_ROUNDS: usize = 60;

/// The path of something in the network provider of the clusters' resource group.
pub(super) fn guest(below: &str) -> String {
    format!("/subscriptions/{GUEST}/resourceGroups/rg/providers/Microsoft.Network/{below}")
}

/// The same in that of the management cluster's network.
pub(super) fn hub(below: &str) -> String {
    format!("/subscriptions/{HUB}/resourceGroups/hub-net/providers/Microsoft.Network/{below}")
}

pub(super) struct Scene {
    pub(super) fixture: Fixture,
    settings: PlatformSettings,
    controllers: Vec<Controller>,
    /// What Azure Resource Manager answers about frontends; nothing if it is silent.
    pub(super) frontend: Option<Result<Frontend, AzureError>>,
    /// How many connections a service has when it is asked, one answer after the other; then none.
    pub(super) connections: Vec<Result<usize, AzureError>>,
    /// The requests to reject connections.
    pub(super) rejected: Vec<String>,
    /// Whether Azure Service Operator works.
    pub(super) has_aso: bool,
    /// What exists in Azure, by ARM ID.
    pub(super) azure: BTreeMap<String, Value>,
    /// How many services and endpoints Azure has made.
    pub(super) made: usize,
    statuses: BTreeMap<(ObjectId, &'static str), Value>,
}

impl Scene {
    /// A management cluster with the identity of the management side, and no cluster.
    pub(super) fn new() -> Self {
        Self::with(Mode::Auto)
    }

    pub(super) fn with(mode: Mode) -> Self {
        let identity = ObjectId::new(
            INFRASTRUCTURE,
            "AzureClusterIdentity",
            PLATFORM,
            "management",
        );
        let settings = PlatformSettings {
            mode,
            namespace: PLATFORM.to_owned(),
            place: Place::At(Management {
                subscription: HUB.to_owned(),
                resource_group: "hub".to_owned(),
                network_resource_group: "hub-net".to_owned(),
                identity,
            }),
        };
        let mut scene = Self {
            fixture: Fixture::new(Vec::new()),
            controllers: all(settings.clone()),
            settings,
            frontend: Some(Ok(found())),
            connections: Vec::new(),
            rejected: Vec::new(),
            has_aso: true,
            azure: BTreeMap::new(),
            made: 0,
            statuses: BTreeMap::new(),
        };
        let ours = [
            ("", "Service"),
            ("apps", "Deployment"),
            (HYPERSHIFT, KIND),
            (HYPERSHIFT, "HostedCluster"),
            (HYPERSHIFT, "HostedControlPlane"),
            (NETWORK, "VirtualNetworksSubnet"),
        ];
        let kinds = PRIVATE_LINK.iter().map(|kind| (kind.group, kind.kind));
        for (group, kind) in kinds.chain(ours) {
            let kind = GroupKind::new(group, kind);
            scene.fixture.snapshot.sync(&kind, true);
        }
        for namespace in [PLATFORM, "clusters", "others"] {
            scene.put(
                json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}),
            );
        }
        scene.identity(PLATFORM, "management", &json!({}));
        scene
    }

    /// The same controllers with other settings.
    pub(super) fn set(&mut self, change: impl FnOnce(&mut PlatformSettings)) {
        change(&mut self.settings);
        self.controllers = all(self.settings.clone());
    }

    /// One cluster `clusters/one`, to which nothing has been done.
    pub(super) fn one() -> Self {
        let mut scene = Self::new();
        scene.cluster("clusters", "one");
        scene
    }

    /// The same once it is connected.
    pub(super) fn connected() -> Self {
        let mut scene = Self::one();
        scene.settle();
        scene.assert_connected("clusters", "one");
        scene
    }

    pub(super) fn identity(&mut self, namespace: &str, name: &str, allowed: &Value) {
        self.put(
            json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "AzureClusterIdentity",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"type": "WorkloadIdentity", "clientID": HUB, "tenantID": HUB, "allowedNamespaces": allowed}}),
        );
    }

    /// A private cluster with a load balancer before its router.
    pub(super) fn cluster(&mut self, namespace: &str, name: &str) {
        self.put(hosted(namespace, name));
        self.put(plane(namespace, name));
        let owner = self.live(&plane_id(namespace, name));
        self.put(router(&owner));
    }

    pub(super) fn put(&mut self, object: Value) {
        let mut object = object;
        if object["metadata"]["creationTimestamp"].is_null() {
            object["metadata"]["creationTimestamp"] = json!(self.fixture.now.to_string());
        }
        self.fixture.put(object);
    }

    pub(super) fn find(&self, id: &ObjectId) -> Option<Value> {
        self.fixture.snapshot.get(id).map(|live| live.0.clone())
    }

    pub(super) fn live(&self, id: &ObjectId) -> Value {
        self.find(id).unwrap_or_else(|| panic!("there is no {id}"))
    }

    pub(super) fn edit(&mut self, id: &ObjectId, change: impl FnOnce(&mut Value)) {
        let mut object = self.live(id);
        change(&mut object);
        self.fixture.put(object);
    }

    pub(super) fn delete(&mut self, id: &ObjectId) {
        self.fixture.delete(id);
    }

    /// As HyperShift deletes a cluster: its control plane, then the namespace of it.
    pub(super) fn delete_cluster(&mut self, namespace: &str, name: &str) {
        self.delete(&plane_id(namespace, name));
        self.delete(&connection_id(namespace, name));
    }

    pub(super) fn connection(&self, namespace: &str, name: &str) -> Value {
        self.live(&connection_id(namespace, name))
    }

    /// A field of the status of the connection of `clusters/one`.
    pub(super) fn field(&self, name: &str) -> String {
        let connection = self.connection("clusters", "one");
        Live(&connection).text(&["status", name]).to_owned()
    }

    /// `Status Reason: message` of a condition of an object.
    pub(super) fn said_of(&self, id: &ObjectId, kind: &str) -> String {
        let object = self.live(id);
        let condition = Live(&object).condition(kind);
        condition.map_or_else(String::new, |one| {
            format!("{} {}: {}", one.status(), one.reason(), one.message())
        })
    }

    /// The same of the connection of `clusters/one`.
    pub(super) fn said(&self, kind: &str) -> String {
        self.said_of(&connection_id("clusters", "one"), kind)
    }

    /// The objects of a kind, as `NAMESPACE/NAME`.
    pub(super) fn named(&self, kind: &str) -> Vec<String> {
        let ids = self.fixture.snapshot.ids().filter(|id| id.kind == kind);
        ids.map(|id| format!("{}/{}", id.namespace, id.name))
            .collect()
    }

    /// The only object of a kind.
    pub(super) fn only(&self, kind: &str) -> ObjectId {
        let mut ids = self.fixture.snapshot.ids().filter(|id| id.kind == kind);
        let id = ids.next().unwrap_or_else(|| panic!("there is no {kind}"));
        assert_eq!(ids.next(), None, "there is more than one {kind}");
        id.clone()
    }

    /// What would be decided now.
    pub(super) fn decide(&self, controller: usize, id: &ObjectId) -> Outcome {
        let live = self.fixture.snapshot.get(id);
        let live = live.unwrap_or_else(|| panic!("there is no {id}"));
        let controller = &self.controllers[controller];
        assert!((controller.handles)(id), "{id}");
        let world = World::of(&self.fixture.snapshot);
        (controller.reconcile)(world, live, self.fixture.now)
    }

    /// What the observer would decide about the router of `clusters/one`.
    pub(super) fn observe(&self) -> Outcome {
        self.decide(OBSERVER, &router_id("clusters", "one"))
    }

    /// What the platform controller would decide about the connection of `clusters/one`.
    pub(super) fn provide(&self) -> Outcome {
        self.decide(SERVICE, &connection_id("clusters", "one"))
    }

    /// What the endpoint controller would decide about it.
    pub(super) fn connect(&self) -> Outcome {
        self.decide(ENDPOINT, &connection_id("clusters", "one"))
    }

    /// Lets everybody decide and write until nothing is left to do.
    pub(super) fn settle(&mut self) {
        for _ in 0..MOST_ROUNDS {
            let mut writes = Vec::new();
            for place in 0..self.controllers.len() {
                writes.extend(self.round(place));
            }
            if self.has_aso {
                writes.extend(self.act());
            }
            if writes.is_empty() {
                return;
            }
        }
        let last: Vec<Vec<String>> = (0..self.controllers.len())
            .map(|place| self.round(place))
            .collect();
        panic!("the controllers never settle: {last:#?}");
    }

    /// The same after some time.
    pub(super) fn wait(&mut self, seconds: i64) {
        self.fixture.now = self.fixture.now.checked_add(seconds.seconds()).unwrap();
        self.settle();
    }

    /// Lets one controller decide about each of its objects, and carries that out.
    fn round(&mut self, place: usize) -> Vec<String> {
        let mut written = Vec::new();
        for id in self.fixture.snapshot.ids().cloned().collect::<Vec<_>>() {
            if !(self.controllers[place].handles)(&id) || self.find(&id).is_none() {
                continue;
            }
            let manager = self.controllers[place].manager;
            let outcome = self.decide(place, &id);
            written.extend(self.perform(manager, outcome));
        }
        written
    }

    /// Carries out a decision as the runtime does. Returns what was done.
    pub(super) fn perform(&mut self, manager: &'static str, outcome: Outcome) -> Vec<String> {
        let mut done = Vec::new();
        let now = self.fixture.now;
        for need in &outcome.needs {
            if let (Need::Frontend(request), Some(answer)) = (need, self.frontend.clone())
                && self
                    .fixture
                    .snapshot
                    .set_frontend(request.clone(), answer, now)
            {
                done.push(format!("{request:?}"));
            }
        }
        let kinds = outcome.needs.iter().filter_map(Need::kind);
        if kinds
            .into_iter()
            .any(|kind| !self.fixture.snapshot.is_synced(&kind))
        {
            return done;
        }
        self.fixture.events.extend(outcome.events);
        for write in outcome.writes {
            let known = |request| World::of(&self.fixture.snapshot).credential(request);
            if let Write::CheckCredential(request) = &write
                && known(request).is_some_and(|(_, at)| at == now)
            {
                continue;
            }
            done.push(format!("{manager}: {write:?}"));
            match write {
                Write::Status(patch) => self.apply_status(manager, &patch),
                Write::RejectConnections(request) => {
                    self.rejected.push(request.service.clone());
                    let mut answers = std::mem::take(&mut self.connections).into_iter();
                    let found = answers.next().unwrap_or(Ok(0));
                    self.connections = answers.collect();
                    self.fixture.snapshot.set_connections(request, found, now);
                }
                write => {
                    let id = write.object();
                    self.fixture.perform(manager, write);
                    let is_new = |id: &ObjectId| {
                        let held = self.find(id);
                        held.is_some_and(|held| held["metadata"]["creationTimestamp"].is_null())
                    };
                    if let Some(id) = id.filter(is_new) {
                        self.edit(&id, |object| {
                            object["metadata"]["creationTimestamp"] = json!(now.to_string());
                        });
                        let version = self.live(&id)["metadata"]["resourceVersion"].clone();
                        self.fixture
                            .snapshot
                            .set_written(&id, version.as_str().unwrap());
                    }
                }
            }
        }
        done
    }

    /// Server-side apply of a status: what the manager applied before and leaves out now is removed.
    fn apply_status(&mut self, manager: &'static str, patch: &Value) {
        let id = Live(patch).id();
        let before = self.statuses.insert((id.clone(), manager), patch.clone());
        let before = before.map_or(Value::Null, |before| before["status"].clone());
        let wanted = patch["status"].clone();
        self.edit(&id, |object| {
            if !object["status"].is_object() {
                object["status"] = json!({});
            }
            for key in before.as_object().into_iter().flat_map(|map| map.keys()) {
                if key != "conditions" && wanted[key].is_null() {
                    object["status"].as_object_mut().unwrap().remove(key);
                }
            }
            let types = |list: &Value| -> Vec<Value> {
                let list = list.as_array().cloned().unwrap_or_default();
                list.iter().map(|one| one["type"].clone()).collect()
            };
            let mut old = types(&before["conditions"]);
            old.extend(types(&wanted["conditions"]));
            let held = object["status"]["conditions"].as_array().cloned();
            let mut list = held.unwrap_or_default();
            list.retain(|one| !old.contains(&one["type"]));
            list.extend(wanted["conditions"].as_array().unwrap().iter().cloned());
            for (key, value) in wanted.as_object().unwrap() {
                object["status"][key] = value.clone();
            }
            object["status"]["conditions"] = Value::Array(list);
        });
    }

    pub(super) fn assert_connected(&self, namespace: &str, name: &str) {
        let connection = self.connection(namespace, name);
        for kind in crate::api::azure_private_link_service::CONDITIONS {
            assert!(Live(&connection).holds(kind), "{kind}: {connection:#}");
        }
    }

    /// The reasons of the warnings since the last call.
    pub(super) fn warnings(&mut self) -> Vec<String> {
        let events = std::mem::take(&mut self.fixture.events);
        let warnings = events.into_iter().filter(|event| event.is_warning);
        warnings.map(|event| event.reason).collect()
    }
}

/// What Azure Resource Manager finds.
pub(super) fn found() -> Frontend {
    let load_balancer = format!(
        "/subscriptions/{HUB}/resourceGroups/hub/providers/Microsoft.Network/loadBalancers/internal"
    );
    Frontend {
        id: format!("{load_balancer}/frontendIPConfigurations/a1"),
        load_balancer,
        location: "uksouth".to_owned(),
    }
}

pub(super) fn azure_error(fault: AzureFault) -> AzureError {
    AzureError::new(fault, "Azure says no: ask somebody")
}

pub(super) fn home(namespace: &str, name: &str) -> String {
    format!("{namespace}-{name}")
}

pub(super) fn hosted_id(namespace: &str, name: &str) -> ObjectId {
    ObjectId::new(HYPERSHIFT, "HostedCluster", namespace, name)
}

pub(super) fn plane_id(namespace: &str, name: &str) -> ObjectId {
    ObjectId::new(
        HYPERSHIFT,
        "HostedControlPlane",
        home(namespace, name),
        name,
    )
}

pub(super) fn router_id(namespace: &str, name: &str) -> ObjectId {
    ObjectId::new("", "Service", home(namespace, name), "private-router")
}

pub(super) fn connection_id(namespace: &str, name: &str) -> ObjectId {
    ObjectId::new(HYPERSHIFT, KIND, home(namespace, name), "private-router")
}

/// The clusterID of a cluster.
pub(super) fn cluster_id(namespace: &str, name: &str) -> String {
    format!("id-{namespace}-{name}")
}

/// What a HostedCluster and its control plane have in common.
fn platform() -> Value {
    json!({"type": "Azure", "azure": {
        "location": "uksouth", "resourceGroup": "rg", "subscriptionID": GUEST,
        "vnetID": guest("virtualNetworks/vnet"),
        "subnetID": guest("virtualNetworks/vnet/subnets/nodes"),
        "topology": "Private",
        "private": {"type": "PrivateLink", "privateLink": {"natSubnetID": hub("virtualNetworks/hub/subnets/nat")}},
    }})
}

pub(super) fn hosted(namespace: &str, name: &str) -> Value {
    json!({"apiVersion": API, "kind": "HostedCluster",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"clusterID": cluster_id(namespace, name), "platform": platform()}})
}

/// A control plane whose external names are below `ext.example.com`.
pub(super) fn plane(namespace: &str, name: &str) -> Value {
    let host = format!("oauth-{name}.ext.example.com");
    json!({"apiVersion": API, "kind": "HostedControlPlane",
    "metadata": {"name": name, "namespace": home(namespace, name),
        "annotations": {"hypershift.openshift.io/cluster": format!("{namespace}/{name}")}},
    "spec": {"platform": platform(), "dns": {"baseDomain": "example.com"}, "services": [
        {"service": "OAuthServer", "servicePublishingStrategy": {"type": "Route", "route": {"hostname": host}}},
    ]}})
}

/// The Service before the router of a control plane.
pub(super) fn router(plane: &Value) -> Value {
    let owner = Live(plane);
    json!({"apiVersion": "v1", "kind": "Service",
        "metadata": {"name": "private-router", "namespace": owner.namespace(),
            "annotations": {"service.beta.kubernetes.io/azure-load-balancer-internal": "true"},
            "ownerReferences": [{"apiVersion": API, "kind": owner.kind(), "name": owner.name(), "uid": owner.uid()}]},
        "spec": {"type": "LoadBalancer"},
        "status": {"loadBalancer": {"ingress": [{"ip": ADDRESS}]}}})
}

/// `Kind NAMESPACE/NAME` of each write, with its verb.
pub(super) fn verbs(outcome: &Outcome) -> Vec<String> {
    let verb = |write: &Write| match write {
        Write::Apply(_) | Write::ApplyAs(..) => "apply",
        Write::Status(_) => "status",
        Write::Merge(_) => "merge",
        Write::Delete { .. } => "delete",
        Write::EnsureKey(_) => "key",
        Write::CheckCredential(_) => "check",
        Write::RejectConnections(_) => "reject",
        Write::CredentialSecret(..) => "credential",
    };
    let writes = outcome.writes.iter();
    let text = writes.map(|write| match write.object() {
        Some(id) => format!("{} {} {}/{}", verb(write), id.kind, id.namespace, id.name),
        None => verb(write).to_owned(),
    });
    text.collect()
}

/// The patch of the object of this kind that is applied.
pub(super) fn applied<'a>(outcome: &'a Outcome, kind: &str) -> Option<&'a Value> {
    outcome.writes.iter().find_map(|write| match write {
        Write::Apply(patch) if Live(patch).kind() == kind => Some(patch),
        _ => None,
    })
}

impl Scene {
    /// A kind may not be watched.
    pub(super) fn unsee(&mut self, group: &str, kind: &str) {
        let kind = GroupKind::new(group, kind);
        let snapshot = &mut self.fixture.snapshot;
        snapshot.synced.remove(&kind);
        snapshot
            .denied
            .insert(kind, "grant get on it: forbidden".to_owned());
    }
}

impl Scene {
    /// Lets everybody decide and write a few times: a question to Azure that fails is asked again and again, which the
    /// runtime slows down.
    pub(super) fn settle_without_questions(&mut self) {
        for _ in 0..6 {
            for place in 0..self.controllers.len() {
                self.round(place);
            }
        }
    }
}
