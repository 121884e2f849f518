//! A management cluster of two teams: each has a namespace, an identity, a subscription and a vault.
//!
//! Our controllers have the connectors of the daemon: credentials of identities, which get tokens from an Entra ID of our
//! own, and keys in vaults, which know whose token asks. Everything else is played.

use std::sync::Arc;
use std::time::Duration;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use capstan::adapters::azure::AzureKeys;
use capstan::adapters::azure::credentials::{AzureCredentials, Settings};
use capstan::adapters::azure_sim::{Options, SimulatedWorkloads, controllers};
use capstan::adapters::kubernetes::KubeObjects;
use capstan::adapters::kubernetes::controller::{self, Connectors, Running};
use capstan::api::kinds::KINDS;
use capstan::daemon::wall_time;
use capstan::health::{Live, health};
use capstan::model::{ClientBindings, Clock};
use capstan::reconcile::aro;
use jiff::Timestamp;
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, ListParams, Patch, PatchParams};
use kube::core::GroupVersionKind;
use serde_json::{Value as Json, json};
use tokio::runtime::Runtime;

use super::super::aro::manifests::Cluster;
use super::super::pipeline::{Management, apply, runtime};
use super::authority::{Asked, Authority, Known, certificate};
use super::vaults::Vaults;
use crate::patience::until;
use crate::play::settings;

/// How much faster than outside time passes: a vault must answer within a minute of it.
const SPEED: u32 = 200;
const IDENTITY: &str = "infrastructure.cluster.x-k8s.io/v1beta1";

/// What one team has.
pub(super) struct Team {
    pub(super) namespace: &'static str,
    /// Its cluster, whose vault is `<cluster>-kv`.
    pub(super) cluster: &'static str,
    pub(super) subscription: &'static str,
    /// Its tenant in Entra ID.
    pub(super) tenant: &'static str,
    pub(super) client: &'static str,
}

pub(super) const A: Team = Team {
    namespace: "team-a",
    cluster: "alpha",
    subscription: "aaaaaaaa-0000-4000-8000-000000000001",
    tenant: "aaaaaaaa-0000-4000-8000-000000000002",
    client: "aaaaaaaa-0000-4000-8000-000000000003",
};

pub(super) const B: Team = Team {
    namespace: "team-b",
    cluster: "beta",
    subscription: "bbbbbbbb-0000-4000-8000-000000000001",
    tenant: "bbbbbbbb-0000-4000-8000-000000000002",
    client: "bbbbbbbb-0000-4000-8000-000000000003",
};

/// The password of team A.
pub(super) const PASSWORD: &str = "seeded-password";

impl Team {
    /// Its vault.
    pub(super) fn vault(&self) -> String {
        format!("{}-kv", self.cluster)
    }

    /// The whole of a cluster in its namespace and subscription, with this `identityRef`.
    pub(super) fn whole(&self, name: &str, identity: &Json) -> Vec<Json> {
        let mut objects = Cluster::new(name).objects();
        for object in &mut objects {
            object["metadata"]["namespace"] = json!(self.namespace);
            if object["kind"] == "AROControlPlane" {
                object["spec"]["identityRef"] = identity.clone();
                object["spec"]["subscriptionID"] = json!(self.subscription);
            }
        }
        objects
    }

    /// An identity in its namespace, for its namespace.
    pub(super) fn identity(&self, name: &str, spec: &Json) -> Json {
        let mut object = json!({"apiVersion": IDENTITY, "kind": "AzureClusterIdentity",
            "metadata": {"name": name, "namespace": self.namespace}, "spec": spec});
        object["spec"]["allowedNamespaces"] = json!({"list": [self.namespace]});
        object
    }

    fn secret(&self, value: &str) -> Json {
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "proof", "namespace": self.namespace},
            "data": {"clientSecret": BASE64_STANDARD.encode(value)}})
    }
}

/// Each team may name its own client ID in identities that authenticate as Capstan.
fn bindings() -> ClientBindings {
    let bound = [A, B].map(|team| format!("{}={}", team.namespace, team.client));
    ClientBindings::of_text(&bound.join(",")).expect("bindings")
}

struct WallClock;

impl Clock for WallClock {
    fn now(&self) -> Timestamp {
        wall_time()
    }

    fn real(&self, pause: Duration) -> Duration {
        pause
    }
}

/// The cluster, and the part of Azure that proves who somebody is.
pub(super) struct Scene {
    pub(super) cluster: Management,
    pub(super) authority: Authority,
    pub(super) vaults: Vaults,
    /// The certificate and key of team B.
    pub(super) pem: String,
    _azure: Runtime,
}

impl Scene {
    /// On the simulator.
    pub(super) fn simulated() -> Self {
        let scene = Self::open(|connect| Some(Management::simulated_with(SPEED, connect)));
        scene.expect("the simulator is always there")
    }

    /// None when the machine has no real server.
    pub(super) fn real() -> Option<Self> {
        Self::open(|connect| Management::real_with(SPEED, connect))
    }

    fn open(
        cluster: impl FnOnce(Box<dyn FnOnce(&Client, &Arc<dyn Clock>) -> Running>) -> Option<Management>,
    ) -> Option<Self> {
        let azure = runtime();
        let (authority, vaults) = azure.block_on(async {
            let authority = Authority::start().await;
            let vaults = Vaults::start(authority.register()).await;
            (authority, vaults)
        });
        let (to_entra, entra) = (authority.options(), authority.url());
        let to_vaults = vaults.options();
        let cluster = cluster(Box::new(move |client, clock| {
            let mut all = controllers(&Options::default());
            all.extend(aro(settings()));
            let credentials = Settings {
                options: to_entra,
                authority: Some(entra),
                bindings: bindings(),
                ..Settings::default()
            };
            let objects = Arc::new(KubeObjects::new(client.clone()));
            let credentials = AzureCredentials::new(objects, Arc::new(WallClock), credentials);
            let credentials = Arc::new(credentials);
            let keys = AzureKeys::through(
                Arc::clone(&credentials) as _,
                Arc::new(WallClock),
                to_vaults,
            );
            let connectors = Connectors {
                workloads: Arc::new(SimulatedWorkloads::new(client.clone(), &**clock)),
                keys: Arc::new(keys),
                credentials,
                ..Connectors::default()
            };
            controller::spawn(client.clone(), Arc::clone(clock), all, connectors)
        }))?;
        let (public, pem) = certificate(2020, 2090);
        authority.know(A.tenant, A.client, Known::Password(PASSWORD.to_owned()));
        authority.know(B.tenant, B.client, Known::Certificate(public));
        let scene = Self {
            cluster,
            authority,
            vaults,
            pem,
            _azure: azure,
        };
        scene.install();
        Some(scene)
    }

    /// What each team has before its first cluster.
    fn install(&self) {
        let proofs = [
            (A, "ServicePrincipal", PASSWORD),
            (B, "ServicePrincipalCertificate", self.pem.as_str()),
        ];
        for (team, kind, proof) in proofs {
            self.vaults.open(&team.vault(), team.tenant, &[team.client]);
            self.apply(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": team.namespace}}));
            self.apply(&team.secret(proof));
            let spec = json!({"type": kind, "clientID": team.client, "tenantID": team.tenant,
                "clientSecret": {"name": "proof"}});
            self.apply(&team.identity("identity", &spec));
        }
    }

    /// Applies an object as a person.
    pub(super) fn apply(&self, object: &Json) {
        let Management {
            runtime, client, ..
        } = &self.cluster;
        runtime.block_on(apply(client, object));
    }

    fn api(&self, kind: &str, namespace: &str) -> Api<DynamicObject> {
        let known = KINDS.iter().find(|known| known.kind == kind);
        let resource = match known {
            Some(known) => {
                let version = known.versions.last().expect("a version");
                let kind = GroupVersionKind::gvk(known.group, version, kind);
                ApiResource::from_gvk_with_plural(&kind, known.plural)
            }
            None if kind == "Event" => {
                ApiResource::from_gvk(&GroupVersionKind::gvk("events.k8s.io", "v1", kind))
            }
            None => ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", kind)),
        };
        Api::namespaced_with(self.cluster.client.clone(), namespace, &resource)
    }

    /// An object; none if it does not exist.
    pub(super) fn get(&self, kind: &str, namespace: &str, name: &str) -> Option<Json> {
        let api = self.api(kind, namespace);
        let found = self.cluster.runtime.block_on(api.get_opt(name));
        let found = found.expect("an answer");
        found.map(|object| serde_json::to_value(object).expect("JSON"))
    }

    /// All objects of a kind in a namespace.
    pub(super) fn list(&self, kind: &str, namespace: &str) -> Vec<Json> {
        let api = self.api(kind, namespace);
        let listed = self
            .cluster
            .runtime
            .block_on(api.list(&ListParams::default()));
        let listed = listed.expect("a list").into_iter();
        let listed = listed.map(|object| serde_json::to_value(object).expect("JSON"));
        let named = listed.map(|mut object| {
            object["kind"] = json!(kind);
            object
        });
        named.collect()
    }

    /// Everything of Cluster API, the ARO provider and Azure Service Operator in a namespace.
    pub(super) fn everything(&self, namespace: &str) -> Vec<Json> {
        let kinds = KINDS.iter().map(|known| known.kind);
        kinds.flat_map(|kind| self.list(kind, namespace)).collect()
    }

    /// Changes an object as a person.
    pub(super) fn merge(&self, kind: &str, namespace: &str, name: &str, patch: &Json) {
        let api = self.api(kind, namespace);
        let (params, patch) = (PatchParams::default(), Patch::Merge(patch));
        let patched = self
            .cluster
            .runtime
            .block_on(api.patch(name, &params, &patch));
        patched.unwrap_or_else(|error| panic!("{kind} {name}: {error}"));
    }

    /// Waits until the cluster of a team, and all that belongs to it, is ready.
    pub(super) fn until_ready(&self, team: &Team) {
        let unready = || {
            let all = self.everything(team.namespace).into_iter();
            let unready = all.filter(|object| !health(object).is_ready());
            unready
                .map(|object| format!("{}: {:?}", Live(&object).id(), health(&object)))
                .collect::<Vec<_>>()
        };
        let is_ready = || {
            let plane = self.get("AROControlPlane", team.namespace, team.cluster)?;
            let done = Live(&plane).flag(&["status", "ready"]) && unready().is_empty();
            done.then_some(())
        };
        until(is_ready, || format!("{:#?}", unready()));
    }

    /// Waits until the control plane of a team may use its identity and is ready.
    pub(super) fn until_plane(&self, team: &Team) {
        let live = || self.get("AROControlPlane", team.namespace, team.cluster);
        let is_ready = || {
            let plane = live()?;
            let identity = Live(&plane).condition("IdentityReady")?;
            let done = identity.is_true() && Live(&plane).flag(&["status", "ready"]);
            done.then_some(())
        };
        until(is_ready, || format!("{:#?}", live()));
    }

    /// The message of a condition once it has this reason.
    #[track_caller]
    pub(super) fn said(
        &self,
        (kind, namespace, name): (&str, &str, &str),
        condition: &str,
        reason: &str,
    ) -> String {
        let found = || {
            let object = self.get(kind, namespace, name)?;
            let found = Live(&object).condition(condition)?;
            (found.reason() == reason).then(|| found.message().to_owned())
        };
        until(found, || {
            let live = self.get(kind, namespace, name);
            format!("{kind} {name} never has {condition} {reason}: {live:#?}")
        })
    }

    /// Waits for an event about an object with this reason.
    #[track_caller]
    pub(super) fn until_event(&self, (kind, namespace, name): (&str, &str, &str), reason: &str) {
        let all = || self.list("Event", namespace);
        let is_it = |event: &Json| {
            let about = &event["regarding"];
            event["reason"] == reason && about["kind"] == kind && about["name"] == name
        };
        let found = || all().iter().any(is_it).then_some(());
        until(found, || {
            format!("no {reason} about {kind} {name}: {:#?}", all())
        });
    }

    /// The tokens that were asked for with the identity of a team.
    pub(super) fn tokens(&self, team: &Team) -> Vec<Asked> {
        let asked = self.authority.asked().into_iter();
        asked.filter(|asked| asked.client == team.client).collect()
    }

    /// Who asked a vault, and what it answered.
    pub(super) fn callers(&self, vault: &str) -> Vec<(String, u16)> {
        let seen = self.vaults.seen().into_iter();
        let seen = seen.filter(|seen| seen.vault == vault);
        let mut callers: Vec<_> = seen.map(|seen| (seen.client, seen.status)).collect();
        callers.sort();
        callers.dedup();
        callers
    }

    /// Lets minutes of the cluster pass.
    pub(super) fn pass(&self, minutes: u32) {
        std::thread::sleep(Duration::from_secs(60) * minutes / SPEED);
    }
}
