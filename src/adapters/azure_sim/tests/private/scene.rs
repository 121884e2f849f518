//! A management cluster on the in-process API, on a virtual clock, with private hosted clusters in one resource group.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kube::Client;
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams};
use kube_sim::{Server, SimClock};
use serde_json::{Value, json};

use super::front::Front;
use crate::adapters::azure_sim::{
    Azure, Deed, Options, SimulatedCredentials, SimulatedLinks, controllers, crds,
};
use crate::adapters::kubernetes::controller::{self, Connectors, Running, writer};
use crate::api::azure_private_link_service::{AVAILABLE, CONDITIONS, KIND};
use crate::api::crds::crds as ours;
use crate::api::fleet::Mode;
use crate::api::kinds::INFRASTRUCTURE;
use crate::api::labels::NAT_SUBNET_RANGE;
use crate::health::{Live, health};
use crate::model::{Clock, ObjectId};
use crate::reconcile::private_link::{self, Management, Place, PlatformSettings};

pub(super) const SUBSCRIPTION: &str = "3f0c7d3e-52a4-4b6b-9a51-2f1f0d9c7a10";
pub(super) const HUB: &str = "9d1c7d3e-52a4-4b6b-9a51-2f1f0d9c7a11";
/// The namespace of the platform controller.
pub(super) const PLATFORM: &str = "capstan-system";
/// The field manager of people.
pub(super) const PERSON: &str = "kubectl";
const API: &str = "hypershift.openshift.io/v1beta1";

/// The path of something in the network provider of the customer's resource group.
pub(super) fn guest(below: &str) -> String {
    format!("/subscriptions/{SUBSCRIPTION}/resourceGroups/rg/providers/Microsoft.Network/{below}")
}

/// The same in that of the management cluster.
pub(super) fn hub(below: &str) -> String {
    format!("/subscriptions/{HUB}/resourceGroups/hub/providers/Microsoft.Network/{below}")
}

pub(super) struct Scene {
    pub(super) server: Server,
    pub(super) client: Client,
    pub(super) azure: Azure,
    pub(super) clock: Arc<dyn Clock>,
    /// Our controllers reach the server through it.
    pub(super) front: Front,
    /// The mode of our controllers from their next start on.
    pub(super) mode: Mode,
    _around: Running,
    ours: Option<Running>,
}

/// A server with all definitions, the namespaces, and the identity of the management side.
pub(super) struct Stage {
    server: Server,
    time: SimClock,
}

impl Stage {
    pub(super) async fn new() -> Self {
        let time = SimClock::new(Timestamp::UNIX_EPOCH, 1);
        let server = Server::new(Arc::new(time));
        let client = server.client("default");
        for definition in crds::foreign()
            .into_iter()
            .chain(crds::hyper_shift())
            .chain(ours())
        {
            apply(&client, &definition, PERSON).await;
        }
        for name in ["clusters", "others", PLATFORM] {
            let namespace =
                json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
            apply(&client, &namespace, PERSON).await;
        }
        apply(&client, &identity(PLATFORM, "management"), PERSON).await;
        Self { server, time }
    }

    /// Everything runs on a copy of the server, but for our controllers.
    pub(super) fn scene(&self, azure: Azure) -> Scene {
        let server = self.server.copy(Arc::new(self.time));
        let client = server.client("default");
        let clock: Arc<dyn Clock> = Arc::new(self.time);
        let options = Options {
            azure: azure.clone(),
            ..Options::default()
        };
        let around = controller::spawn(
            client.clone(),
            Arc::clone(&clock),
            controllers(&options),
            Connectors::default(),
        );
        Scene {
            front: Front::before(&server),
            server,
            client,
            azure,
            clock,
            mode: Mode::Auto,
            _around: around,
            ours: None,
        }
    }
}

impl Scene {
    /// Everything runs.
    pub(super) async fn open() -> Self {
        let mut scene = Stage::new().await.scene(Azure::bare().recording());
        scene.start();
        scene
    }

    /// Our controllers begin.
    pub(super) fn start(&mut self) {
        let identity = ObjectId::new(
            INFRASTRUCTURE,
            "AzureClusterIdentity",
            PLATFORM,
            "management",
        );
        let settings = PlatformSettings {
            mode: self.mode,
            namespace: PLATFORM.to_owned(),
            place: Place::At(Management {
                subscription: HUB.to_owned(),
                resource_group: "hub".to_owned(),
                network_resource_group: "hub".to_owned(),
                identity,
            }),
        };
        let links = SimulatedLinks::new(self.azure.clone());
        let connectors = Connectors {
            credentials: Arc::new(SimulatedCredentials),
            links: Arc::new(links),
            ..Connectors::default()
        };
        let all = private_link::all(settings);
        let client = self.front.client();
        let running = controller::spawn(client, Arc::clone(&self.clock), all, connectors);
        self.ours = Some(running);
    }

    /// Our controllers end.
    pub(super) fn stop(&mut self) {
        self.ours = None;
    }

    /// Applies a private cluster with a pool of two nodes.
    pub(super) async fn cluster(&self, namespace: &str, name: &str) {
        self.put(&hosted(namespace, name)).await;
        self.put(&pool(namespace, name)).await;
    }

    pub(super) async fn put(&self, object: &Value) {
        apply(&self.client, object, PERSON).await;
    }

    /// Applies an object as another controller.
    pub(super) async fn put_as(&self, manager: &str, object: &Value) {
        apply(&self.client, object, manager).await;
    }

    pub(super) async fn merge(&self, id: &ObjectId, patch: Value) {
        self.merge_as(PERSON, id, patch).await;
    }

    pub(super) async fn merge_as(&self, manager: &str, id: &ObjectId, patch: Value) {
        let params = PatchParams {
            field_manager: Some(manager.to_owned()),
            ..PatchParams::default()
        };
        let merged = self
            .api(id)
            .patch(&id.name, &params, &Patch::Merge(patch))
            .await;
        merged.unwrap_or_else(|error| panic!("{id}: {error}"));
    }

    pub(super) async fn merge_status(&self, id: &ObjectId, patch: Value) {
        self.merge_status_as(PERSON, id, patch).await;
    }

    pub(super) async fn merge_status_as(&self, manager: &str, id: &ObjectId, patch: Value) {
        let params = PatchParams {
            field_manager: Some(manager.to_owned()),
            ..PatchParams::default()
        };
        let merged = self
            .api(id)
            .patch_status(&id.name, &params, &Patch::Merge(patch))
            .await;
        merged.unwrap_or_else(|error| panic!("{id}: {error}"));
    }

    pub(super) async fn delete(&self, id: &ObjectId) {
        let deleted = self
            .api(id)
            .delete(&id.name, &DeleteParams::background())
            .await;
        deleted.unwrap_or_else(|error| panic!("{id}: {error}"));
    }

    fn api(&self, id: &ObjectId) -> Api<DynamicObject> {
        let version = self
            .find(id)
            .map_or_else(|| "v1".to_owned(), |held| Live(&held).version().to_owned());
        let resource = writer::resource(&id.group, &version, &id.kind);
        match id.namespace.as_str() {
            "" => Api::all_with(self.client.clone(), &resource),
            namespace => Api::namespaced_with(self.client.clone(), namespace, &resource),
        }
    }

    pub(super) fn all(&self) -> Vec<Value> {
        self.server
            .snapshot()
            .into_iter()
            .map(|object| json!(object))
            .collect()
    }

    pub(super) fn find(&self, id: &ObjectId) -> Option<Value> {
        let mut all = self.server.snapshot().into_iter();
        let found = all.find(|object| Live(object).id() == *id)?;
        Some(json!(found))
    }

    /// The objects of a kind, as `NAMESPACE/NAME`.
    pub(super) fn named(&self, kind: &str) -> Vec<String> {
        let all = self.server.snapshot();
        let of_kind = all.iter().map(Live);
        let of_kind = of_kind.filter(|live| live.kind() == kind);
        of_kind
            .map(|live| format!("{}/{}", live.namespace(), live.name()))
            .collect()
    }

    /// Waits until something is so, for at most six hours.
    pub(super) async fn until(&self, what: &str, done: impl Fn(&Self) -> bool) {
        for _ in 0..6 * 60 {
            if done(self) {
                return;
            }
            self.wait(60).await;
        }
        panic!("{what}: {:#?} {:#?}", self.connections(), self.azure.ids());
    }

    pub(super) async fn wait(&self, seconds: u64) {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
    }

    /// Waits until a cluster is ready, with its nodes.
    pub(super) async fn until_ready(&self, namespace: &str, name: &str) {
        self.until(&format!("{namespace}/{name} is ready"), |scene| {
            scene.is_ready(namespace, name)
        })
        .await;
    }

    /// Returns true if a cluster is ready, with its nodes.
    pub(super) fn is_ready(&self, namespace: &str, name: &str) -> bool {
        let is_ready = |id: ObjectId| {
            self.find(&id)
                .is_some_and(|object| health(&object).is_ready())
        };
        is_ready(hosted_id(namespace, name))
            && is_ready(pool_id(namespace, name))
            && self.is_connected(namespace, name)
    }

    /// Waits until a cluster is gone.
    pub(super) async fn until_gone(&self, namespace: &str, name: &str) {
        self.until(&format!("{namespace}/{name} is gone"), |scene| {
            scene.find(&hosted_id(namespace, name)).is_none()
                && scene.connection(namespace, name).is_none()
        })
        .await;
    }

    /// The creations and deletions in Azure, oldest first.
    pub(super) fn births_and_deaths(&self) -> Vec<Deed> {
        let mut deeds = self.azure.deeds();
        deeds.retain(|deed| !matches!(deed, Deed::Updated(_)));
        deeds
    }

    /// The only resource in Azure with this part in its ID.
    pub(super) fn only(&self, part: &str) -> String {
        let [id] = self.in_azure(part).try_into().unwrap();
        id
    }

    pub(super) fn connection(&self, namespace: &str, name: &str) -> Option<Value> {
        self.find(&connection_id(namespace, name))
    }

    /// A field of the status of a connection.
    pub(super) fn status(&self, namespace: &str, name: &str, field: &str) -> String {
        let connection = self.connection(namespace, name).unwrap_or_default();
        Live(&connection).text(&["status", field]).to_owned()
    }

    pub(super) fn is_connected(&self, namespace: &str, name: &str) -> bool {
        let connection = self.connection(namespace, name).unwrap_or_default();
        let live = Live(&connection);
        live.holds(AVAILABLE) && CONDITIONS.iter().all(|kind| live.holds(kind))
    }

    /// `Status Reason: message` of a condition of a connection.
    pub(super) fn said(&self, namespace: &str, name: &str, kind: &str) -> String {
        let connection = self.connection(namespace, name).unwrap_or_default();
        let condition = Live(&connection).condition(kind);
        condition.map_or_else(String::new, |one| {
            format!("{} {}: {}", one.status(), one.reason(), one.message())
        })
    }

    /// All conditions of all connections.
    pub(super) fn connections(&self) -> Vec<String> {
        let all = self.all();
        let connections = all.iter().map(Live).filter(|live| live.kind() == KIND);
        let lines = connections.flat_map(|live| {
            let conditions = live.conditions();
            conditions.map(move |one| {
                format!(
                    "{} {} {} {}: {}",
                    live.namespace(),
                    one.kind(),
                    one.status(),
                    one.reason(),
                    one.message()
                )
            })
        });
        lines.collect()
    }

    /// The resources in Azure with this part in their IDs.
    pub(super) fn in_azure(&self, part: &str) -> Vec<String> {
        let mut ids = self.azure.ids();
        ids.retain(|id| id.contains(part));
        ids
    }
}

pub(super) fn hosted_id(namespace: &str, name: &str) -> ObjectId {
    ObjectId::new("hypershift.openshift.io", "HostedCluster", namespace, name)
}

pub(super) fn pool_id(namespace: &str, name: &str) -> ObjectId {
    let name = format!("{name}-a");
    ObjectId::new("hypershift.openshift.io", "NodePool", namespace, name)
}

pub(super) fn plane_id(namespace: &str, name: &str) -> ObjectId {
    let home = format!("{namespace}-{name}");
    ObjectId::new("hypershift.openshift.io", "HostedControlPlane", home, name)
}

pub(super) fn namespace_id(name: &str) -> ObjectId {
    ObjectId::new("", "Namespace", "", name)
}

pub(super) fn secret_id(namespace: &str, name: &str) -> ObjectId {
    ObjectId::new("", "Secret", namespace, name)
}

pub(super) fn connection_id(namespace: &str, name: &str) -> ObjectId {
    let home = format!("{namespace}-{name}");
    ObjectId::new("hypershift.openshift.io", KIND, home, "private-router")
}

pub(super) fn router_id(namespace: &str, name: &str) -> ObjectId {
    ObjectId::new(
        "",
        "Service",
        format!("{namespace}-{name}"),
        "private-router",
    )
}

/// A private cluster whose external names are below `ext.example.com`.
pub(super) fn hosted(namespace: &str, name: &str) -> Value {
    let route = |host: &str| json!({"type": "Route", "route": {"hostname": format!("{host}-{name}.ext.example.com")}});
    json!({
        "apiVersion": API, "kind": "HostedCluster",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "release": {"image": "quay.io/openshift-release-dev/ocp-release:4.17.3-multi"},
            "dns": {"baseDomain": "example.com"},
            "services": [
                {"service": "APIServer", "servicePublishingStrategy": route("api")},
                {"service": "OAuthServer", "servicePublishingStrategy": route("oauth")},
            ],
            "platform": {"type": "Azure", "azure": {
                "location": "uksouth", "resourceGroup": "rg", "subscriptionID": SUBSCRIPTION,
                "vnetID": guest("virtualNetworks/vnet"),
                "subnetID": guest("virtualNetworks/vnet/subnets/nodes"),
                "topology": "Private",
                "private": {"type": "PrivateLink", "privateLink": {"natSubnetID": hub("virtualNetworks/hub/subnets/nat")}},
            }},
        },
    })
}

/// The same with a subnet that is made for it.
pub(super) fn hosted_with_subnet(namespace: &str, name: &str) -> Value {
    let mut cluster = hosted(namespace, name);
    let subnet = hub(&format!(
        "virtualNetworks/hub/subnets/{namespace}-{name}-pls-nat"
    ));
    let link = &mut cluster["spec"]["platform"]["azure"]["private"]["privateLink"];
    link["natSubnetID"] = json!(subnet);
    cluster["metadata"]["annotations"] = json!({});
    cluster["metadata"]["annotations"][NAT_SUBNET_RANGE] = json!("10.200.7.0/24");
    cluster
}

pub(super) fn pool(namespace: &str, name: &str) -> Value {
    json!({
        "apiVersion": API, "kind": "NodePool",
        "metadata": {"name": format!("{name}-a"), "namespace": namespace},
        "spec": {"clusterName": name, "replicas": 2,
            "release": {"image": "quay.io/openshift-release-dev/ocp-release:4.17.3-multi"},
            "management": {"upgradeType": "Replace"}, "platform": {"type": "Azure", "azure": {}}},
    })
}

fn identity(namespace: &str, name: &str) -> Value {
    json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "AzureClusterIdentity",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"type": "WorkloadIdentity", "clientID": SUBSCRIPTION, "tenantID": SUBSCRIPTION, "allowedNamespaces": {}}})
}

async fn apply(client: &Client, object: &Value, manager: &str) {
    let live = Live(object);
    let resource = writer::resource(live.group(), live.version(), live.kind());
    let api: Api<DynamicObject> = match live.namespace() {
        "" => Api::all_with(client.clone(), &resource),
        namespace => Api::namespaced_with(client.clone(), namespace, &resource),
    };
    let params = PatchParams::apply(manager).force();
    let applied = api.patch(live.name(), &params, &Patch::Apply(object)).await;
    applied.unwrap_or_else(|error| panic!("{}: {error}", live.id()));
}
