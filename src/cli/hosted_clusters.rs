//! The APIs of the hosted clusters of a simulated hub, each with the nodes of its node pools.
//!
//! In: requests with the token of a cluster's kubeconfig. Out: the answers of an API server that begins with the first request for its
//! cluster. Nodes are made and deleted as the node pools report them, at each request. It does not know who works in the clusters.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use axum::routing::any;
use http::{HeaderValue, StatusCode, Uri, header};
use k8s_openapi::api::core::v1::Node;
use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use kube::core::GroupVersionKind;
use kube::{Api, Client, ResourceExt as _};
use kube_sim::{Server, SimClock};
use parking_lot::Mutex;
use serde_json::{Value as Json, json};
use sha2::{Digest as _, Sha256};
use tower::ServiceExt as _;

use crate::adapters::azure_sim::HostedApis;
use crate::api::platform::HYPERSHIFT;

const HOSTED_CLUSTER: &str = "HostedCluster";
const NODE_POOL: &str = "NodePool";

/// The most nodes of a cluster.
const MOST_NODES: usize = 500;

/// The APIs behind one hub.
pub(super) struct HostedClusters {
    hub: Client,
    clock: SimClock,
    apis: HostedApis,
    /// The servers of the clusters that somebody asked, by the UID of the cluster.
    servers: Mutex<BTreeMap<String, Server>>,
    /// Held while nodes are made and deleted.
    keeping: tokio::sync::Mutex<()>,
}

impl HostedClusters {
    pub(super) fn new(hub: Client, clock: SimClock, apis: HostedApis) -> Self {
        Self {
            hub,
            clock,
            apis,
            servers: Mutex::default(),
            keeping: tokio::sync::Mutex::default(),
        }
    }

    /// They are served at this URL, with a certificate of this authority (PEM); their tokens are made of the secret.
    pub(super) fn open(&self, url: String, authority: String, secret: &[u8]) {
        self.apis.open(url, authority, secret);
    }

    /// Their paths.
    pub(super) fn router(self) -> Router {
        Router::new()
            .route(&format!("{}{{*path}}", HostedApis::ROOT), any(answer))
            .with_state(Arc::new(self))
    }

    /// Returns true if the header `Authorization` of a request has the token of the cluster with this UID.
    fn admits(&self, given: Option<&HeaderValue>, uid: &str) -> bool {
        let token = self.apis.token(uid);
        given.zip(token).is_some_and(|(given, token)| {
            // Digests take equally long to compare wherever they differ from what an attacker can choose.
            Sha256::digest(given.as_bytes()) == Sha256::digest(format!("Bearer {token}"))
        })
    }

    /// The server of a cluster, with its nodes; `None` if there is no such cluster, or the token belongs to another cluster.
    async fn server(
        &self,
        given: Option<&HeaderValue>,
        namespace: &str,
        name: &str,
    ) -> kube::Result<Option<Server>> {
        let api = self.api(HOSTED_CLUSTER, Some(namespace));
        let cluster = api.get_opt(name).await?;
        let uid = cluster.and_then(|cluster| cluster.uid());
        let Some(uid) = uid.filter(|uid| self.admits(given, uid)) else {
            return Ok(None);
        };
        let known = self.servers.lock().get(&uid).cloned();
        let server = match known {
            Some(server) => server,
            None => self.add(uid).await?,
        };
        self.keep_nodes(&server, namespace, name).await?;
        Ok(Some(server))
    }

    /// Adds a server, and drops those of clusters that are gone.
    async fn add(&self, uid: String) -> kube::Result<Server> {
        let clusters = self.api(HOSTED_CLUSTER, None);
        let clusters = clusters.list(&ListParams::default()).await?;
        let there: BTreeSet<String> = clusters.iter().filter_map(kube::ResourceExt::uid).collect();
        let mut servers = self.servers.lock();
        servers.retain(|uid, _| there.contains(uid));
        let new = || Server::new(Arc::new(self.clock));
        Ok(servers.entry(uid).or_insert_with(new).clone())
    }

    async fn keep_nodes(
        &self,
        server: &Server,
        namespace: &str,
        cluster: &str,
    ) -> kube::Result<()> {
        let _keeping = self.keeping.lock().await;
        let pools = self.api(NODE_POOL, Some(namespace));
        let pools = pools.list(&ListParams::default()).await?;
        let of_cluster = pools
            .iter()
            .filter(|pool| pool.data["spec"]["clusterName"] == cluster);
        let mut wanted: Vec<Json> = of_cluster.flat_map(nodes).collect();
        wanted.truncate(MOST_NODES);
        let api: Api<Node> = Api::all(server.client("default"));
        let there = api.list(&ListParams::default()).await?;
        // A request that was cut off may have left one without a status.
        let whole = there.iter().filter(|node| {
            node.status
                .as_ref()
                .is_some_and(|status| status.conditions.is_some())
        });
        let whole: BTreeSet<String> = whole.map(Node::name_any).collect();
        let there: BTreeSet<String> = there.iter().map(Node::name_any).collect();
        let name = |node: &Json| {
            node["metadata"]["name"]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        };
        let names: BTreeSet<String> = wanted.iter().map(name).collect();
        for gone in there.difference(&names) {
            api.delete(gone, &DeleteParams::default()).await?;
        }
        let params = PatchParams::apply("capstan-embedded").force();
        for node in wanted.iter().filter(|node| !whole.contains(&name(node))) {
            let (name, patch) = (name(node), Patch::Apply(node));
            api.patch(&name, &params, &patch).await?;
            api.patch_status(&name, &params, &patch).await?;
        }
        Ok(())
    }

    fn api(&self, kind: &str, namespace: Option<&str>) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk(HYPERSHIFT, "v1beta1", kind);
        let (hub, kind) = (self.hub.clone(), ApiResource::from_gvk(&kind));
        match namespace {
            Some(namespace) => Api::namespaced_with(hub, namespace, &kind),
            None => Api::all_with(hub, &kind),
        }
    }
}

/// The nodes of a node pool, all of them ready.
fn nodes(pool: &DynamicObject) -> impl Iterator<Item = Json> {
    let name = pool.name_any();
    let count = pool.data["status"]["replicas"].as_u64().unwrap_or_default();
    let count = usize::try_from(count).unwrap_or_default().min(MOST_NODES);
    (0..count).map(move |number| {
        json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": format!("{name}-{number}"), "labels": {"hypershift.openshift.io/nodePool": name}},
            "status": {"conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]},
        })
    })
}

async fn answer(State(clusters): State<Arc<HostedClusters>>, mut request: Request) -> Response {
    // As it was sent: the server behind decodes it.
    let path = request.uri().path().strip_prefix(HostedApis::ROOT);
    let mut parts = path.unwrap_or_default().splitn(3, '/').map(str::to_owned);
    let [namespace, name, rest] = [(); 3].map(|()| parts.next().unwrap_or_default());
    let given = request.headers().get(header::AUTHORIZATION).cloned();
    let server = match clusters.server(given.as_ref(), &namespace, &name).await {
        Ok(Some(server)) => server,
        Ok(None) => return status(StatusCode::UNAUTHORIZED, "Unauthorized"),
        Err(error) => {
            tracing::debug!(%error, "the simulated hub does not say what a hosted cluster has");
            return status(StatusCode::INTERNAL_SERVER_ERROR, "InternalError");
        }
    };
    let query = request.uri().query().map(|query| format!("?{query}"));
    let Ok(uri) = format!("/{rest}{}", query.unwrap_or_default()).parse::<Uri>() else {
        return status(StatusCode::BAD_REQUEST, "BadRequest");
    };
    *request.uri_mut() = uri;
    let request: Request<Body> = request;
    match server.router().oneshot(request).await {
        Ok(answer) => answer,
        Err(never) => match never {},
    }
}

fn status(code: StatusCode, reason: &str) -> Response {
    let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": reason, "reason": reason, "code": code.as_u16()});
    let json = [(header::CONTENT_TYPE, "application/json")];
    (code, json, status.to_string()).into_response()
}
