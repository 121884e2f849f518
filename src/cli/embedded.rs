//! A simulated cluster with simulated Azure, in this process, and our controllers at work on it.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use axum::Router;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams};
use kube::core::GroupVersionKind;
use kube::runtime::wait::await_condition;
use kube::{Api, Client};
use serde_json::{Value as Json, json};

use super::hosted_clusters::HostedClusters;
use super::private_link::SimulatedPrivateLinks;
use crate::adapters::azure_sim as actors;
use crate::adapters::azure_sim::crds::{foreign, hub, hyper_shift, image_sets};
use crate::adapters::azure_sim::{
    HostedApis, SimulatedCredentials, SimulatedLinks, SimulatedVaults, SimulatedWorkloads,
};
use crate::adapters::kubernetes::Target;
use crate::adapters::kubernetes::controller::{self, Connectors, Running};
use crate::api::crds::crds;
use crate::api::fleet::FirstApply;
use crate::graph::{Graph, Place};
use crate::model::{Clock, ObjectId};
use crate::reconcile::{self, Settings};
use kube_sim::{Server, SimClock};

/// A running simulation; it ends when this is dropped.
pub(super) struct Embedded {
    pub(super) target: Target,
    /// Its API.
    pub(super) router: Router,
    /// The objects that the management side of private clusters needs there.
    pub(super) expected: Vec<ObjectId>,
    clock: SimClock,
    apis: HostedApis,
    _controllers: Running,
}

impl Embedded {
    /// Starts one on `clock`, with the kinds of Cluster API, ASO, the ARO provider and HyperShift installed, in
    /// which nothing fails. Our controllers apply the HCP cluster `settle` after its last role assignment.
    pub(super) async fn start(
        clock: SimClock,
        settle: Duration,
        links: &SimulatedPrivateLinks,
    ) -> anyhow::Result<Self> {
        let options = actors::Options {
            azure: links.azure(),
            ..actors::Options::default()
        };
        let server = server(clock).await?;
        supply_hub(&server.client("default")).await?;
        let router = server.router();
        Ok(Self::behind(router, clock, &options, settle, links))
    }

    /// The same on an API server that has those kinds, played as `options` say.
    pub(super) fn behind(
        router: Router,
        clock: SimClock,
        options: &actors::Options,
        settle: Duration,
        links: &SimulatedPrivateLinks,
    ) -> Self {
        let sim_clock = clock;
        let clock: Arc<dyn Clock> = Arc::new(clock);
        let client = Client::new(router.clone(), "default");
        let mut controllers = actors::controllers(options);
        controllers.extend(reconcile::aro(Settings {
            settle,
            first_apply: FirstApply::default(),
            identity: None,
        }));
        controllers.extend(links.controllers());
        let connectors = Connectors {
            workloads: Arc::new(SimulatedWorkloads::new(client.clone(), &*clock)),
            keys: Arc::new(SimulatedVaults::new(Arc::clone(&clock))),
            credentials: Arc::new(SimulatedCredentials),
            links: Arc::new(SimulatedLinks::new(options.azure.clone())),
        };
        let at_work =
            controller::spawn(client.clone(), Arc::clone(&clock), controllers, connectors);
        Self {
            target: Target::new(client, clock),
            router,
            expected: links.expected(),
            clock: sim_clock,
            apis: options.apis.clone(),
            _controllers: at_work,
        }
    }

    /// The APIs of its hosted clusters, for whoever serves them.
    pub(super) fn hosted(&self) -> HostedClusters {
        let hub = Client::new(self.router.clone(), "default");
        HostedClusters::new(hub, self.clock, self.apis.clone())
    }
}

/// Installs the kinds of a hub that a service provider looks for, with releases.
async fn supply_hub(client: &Client) -> anyhow::Result<()> {
    for crd in hub() {
        let name = crd["metadata"]["name"].as_str().unwrap_or_default();
        let id = ObjectId::new("apiextensions.k8s.io", "CustomResourceDefinition", "", name);
        apply(client, "customresourcedefinitions", "v1", &id, &crd).await?;
    }
    for set in image_sets() {
        let name = set["metadata"]["name"].as_str().unwrap_or_default();
        let id = ObjectId::new("hive.openshift.io", "ClusterImageSet", "", name);
        apply(client, "clusterimagesets", "v1", &id, &set).await?;
    }
    Ok(())
}

/// An API server with the kinds of Cluster API, ASO, the ARO provider and HyperShift installed.
pub(super) async fn server(clock: SimClock) -> anyhow::Result<Server> {
    let server = Server::new(Arc::new(clock));
    let client = server.client("default");
    for crd in foreign().into_iter().chain(hyper_shift()).chain(crds()) {
        let name = crd["metadata"]["name"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let id = ObjectId::new("apiextensions.k8s.io", "CustomResourceDefinition", "", name);
        apply(&client, "customresourcedefinitions", "v1", &id, &crd).await?;
    }
    // The management side of private clusters.
    for id in SimulatedPrivateLinks::default().own() {
        supply_one(&client, &id).await?;
    }
    Ok(server)
}

/// Makes what the fleet expects of its cluster (namespaces, Secrets, ConfigMaps, identities), and
/// names it; so with what else is `expected`, unless it is in the fleet. Their content is made up. What lives in a namespace of the
/// fleet's own is made once that is there.
pub(super) async fn supply(
    client: &Client,
    graph: &Graph,
    expected: &[ObjectId],
) -> anyhow::Result<Vec<ObjectId>> {
    let outside = graph.outside().map(|vertex| ObjectId::clone(&vertex.id));
    let mut outside: BTreeSet<ObjectId> = outside.collect();
    let in_fleet = |id: &ObjectId| graph.vertices.iter().any(|vertex| *vertex.id == *id);
    outside.extend(expected.iter().filter(|id| !in_fleet(id)).cloned());
    let top_level = graph.vertices.iter();
    let top_level = top_level.filter(|vertex| matches!(vertex.place, Place::TopLevel(_)));
    let own: HashSet<&str> = top_level
        .filter(|vertex| vertex.id.is("", "Namespace"))
        .map(|vertex| vertex.id.name.as_str())
        .collect();
    let namespaces = outside.iter().map(|id| id.namespace.as_str());
    let namespaces = namespaces.filter(|name| !name.is_empty() && !own.contains(name));
    let namespaces = namespaces.map(|name| ObjectId::new("", "Namespace", "", name));
    outside.extend(namespaces.collect::<Vec<_>>());
    let mut outside: Vec<ObjectId> = outside.into_iter().collect();
    // Namespaces first: the others live in them.
    outside.sort_by_key(|id| id.kind != "Namespace");
    for id in &outside {
        match own.contains(id.namespace.as_str()) {
            true => drop(tokio::spawn(supply_later(client.clone(), id.clone()))),
            false => supply_one(client, id).await?,
        }
    }
    Ok(outside)
}

async fn supply_one(client: &Client, id: &ObjectId) -> anyhow::Result<()> {
    let (plural, version, body) = made_up(id);
    apply(client, plural, version, id, &body).await
}

/// Waits for the namespace of `id` first.
async fn supply_later(client: Client, id: ObjectId) {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let is_there = |namespace: Option<&Namespace>| namespace.is_some();
    let supplied = async {
        await_condition(namespaces, &id.namespace, is_there).await?;
        supply_one(&client, &id).await
    };
    if let Err(error) = supplied.await {
        tracing::error!(%error, "cannot create what the fleet expects of the simulated cluster");
    }
}

fn made_up(id: &ObjectId) -> (&'static str, &'static str, Json) {
    match id.kind.as_str() {
        "Namespace" => ("namespaces", "v1", json!({})),
        "Secret" => (
            "secrets",
            "v1",
            json!({"stringData": {"simulated": "true"}}),
        ),
        "ConfigMap" => ("configmaps", "v1", json!({"data": {"simulated": "true"}})),
        _ => {
            // Nobody knows the client ID of the real one: a definition that names it is right.
            let tenant = "00000000-0000-0000-0000-000000000000";
            let spec = json!({"type": "WorkloadIdentity", "clientID": "", "tenantID": tenant, "allowedNamespaces": {}});
            ("azureclusteridentities", "v1beta1", json!({"spec": spec}))
        }
    }
}

async fn apply(
    client: &Client,
    plural: &str,
    version: &str,
    id: &ObjectId,
    body: &Json,
) -> anyhow::Result<()> {
    let gvk = GroupVersionKind::gvk(&id.group, version, &id.kind);
    let resource = ApiResource::from_gvk_with_plural(&gvk, plural);
    let api: Api<DynamicObject> = match id.namespace.as_str() {
        "" => Api::all_with(client.clone(), &resource),
        namespace => Api::namespaced_with(client.clone(), namespace, &resource),
    };
    let mut object = body.clone();
    object["apiVersion"] = json!(resource.api_version);
    object["kind"] = json!(id.kind);
    object["metadata"]["name"] = json!(id.name);
    let params = PatchParams::apply("capstan-embedded").force();
    api.patch(&id.name, &params, &Patch::Apply(&object))
        .await
        .with_context(|| format!("the simulated cluster refused {id}"))?;
    Ok(())
}
