//! A cluster on the fixture for tests of the ARO controllers, with nobody else at work: a test says what Azure Service
//! Operator and Cluster API would do.

#![allow(clippy::panic, clippy::needless_pass_by_value)]

use std::time::Duration;

use jiff::ToSpan;
use serde_json::{Value, json};

use super::fixture::Fixture;
use super::links::owned_by;
use super::outcome::{Outcome, Write};
use super::world::World;
use super::{ProcessIdentity, Settings, aro};
use crate::api::fleet::FirstApply;
use crate::api::kinds::{CAPI, CONTROL_PLANE, INFRASTRUCTURE};
use crate::health::Live;
use crate::model::{Namespaces, ObjectId};

/// How long the role assignments settle.
pub(super) const SETTLE: Duration = Duration::from_secs(120);
/// The API of the HCP kinds.
pub(super) const HCP_API: &str = "redhatopenshift.azure.com/v1api20251223preview";

/// A cluster, and what was decided about it.
pub(super) struct Bench {
    pub(super) fixture: Fixture,
}

/// An object with a spec.
pub(super) fn object(api: &str, kind: &str, name: &str, spec: Value) -> Value {
    json!({"apiVersion": api, "kind": kind, "metadata": {"name": name}, "spec": spec})
}

/// The infrastructure: a resource group and a vault in it.
pub(super) fn infrastructure() -> Value {
    json!([
        object(
            "resources.azure.com/v1api20200601",
            "ResourceGroup",
            "rg",
            json!({"location": "uksouth"})
        ),
        object(
            "keyvault.azure.com/v1api20230701",
            "Vault",
            "vault",
            json!({"azureName": "kv", "owner": {"name": "rg"}})
        ),
    ])
}

/// The HCP cluster and its external authentication.
pub(super) fn hosted(kms: &Value) -> Value {
    let mut properties = json!({"version": {"id": "4.20"}});
    if !kms.is_null() {
        properties["etcd"] = json!({"dataEncryption": {"customerManaged": {"kms": kms}}});
    }
    let spec = json!({"location": "uksouth", "owner": {"name": "rg"}, "properties": properties});
    json!([
        object(HCP_API, "HcpOpenShiftCluster", "c", spec),
        object(
            HCP_API,
            "HcpOpenShiftClustersExternalAuth",
            "c-ea",
            json!({})
        ),
    ])
}

impl Bench {
    /// A Cluster `c` with an AROCluster and an AROControlPlane, which own nothing yet; no encryption.
    pub(super) fn new() -> Self {
        Self::made(None)
    }

    /// The same with an identity of the process.
    pub(super) fn with_default() -> Self {
        Self::with_default_for(Namespaces::All)
    }

    /// The same if only some namespaces may use it.
    pub(super) fn with_default_for(namespaces: Namespaces) -> Self {
        Self::made(Some(ProcessIdentity {
            namespaces,
            ..ProcessIdentity::default()
        }))
    }

    /// Another process starts, which has this identity.
    pub(super) fn restart_with(&mut self, identity: ProcessIdentity) {
        self.fixture.controllers = aro(Self::settings(Some(identity)));
    }

    const fn settings(identity: Option<ProcessIdentity>) -> Settings {
        Settings {
            settle: SETTLE,
            first_apply: FirstApply::Direct,
            identity,
        }
    }

    fn made(identity: Option<ProcessIdentity>) -> Self {
        let mut bench = Self {
            fixture: Fixture::new(aro(Self::settings(identity))),
        };
        let reference =
            |group: &str, kind: &str| json!({"apiGroup": group, "kind": kind, "name": "c"});
        let spec = json!({
            "infrastructureRef": reference(INFRASTRUCTURE, "AROCluster"),
            "controlPlaneRef": reference(CONTROL_PLANE, "AROControlPlane"),
        });
        bench.put(object(&format!("{CAPI}/v1beta2"), "Cluster", "c", spec));
        let cluster = bench.live("Cluster", "c");
        let owner = json!([owned_by(Live(&cluster), true)]);
        let parts = [
            (INFRASTRUCTURE, "AROCluster", infrastructure()),
            (CONTROL_PLANE, "AROControlPlane", hosted(&Value::Null)),
        ];
        for (group, kind, resources) in parts {
            let spec = json!({"resources": resources});
            let mut part = object(&format!("{group}/v1beta2"), kind, "c", spec);
            part["metadata"]["ownerReferences"] = owner.clone();
            part["metadata"]["labels"] = json!({"cluster.x-k8s.io/cluster-name": "c"});
            bench.put(part);
        }
        bench
    }

    pub(super) fn put(&mut self, object: Value) {
        self.fixture.put(object);
    }

    pub(super) fn find(&self, kind: &str, name: &str) -> Option<Value> {
        self.fixture.live(kind, name)
    }

    pub(super) fn live(&self, kind: &str, name: &str) -> Value {
        self.find(kind, name)
            .unwrap_or_else(|| panic!("there is no {kind} {name}"))
    }

    /// Changes an object as a person would.
    pub(super) fn edit(&mut self, kind: &str, name: &str, change: impl FnOnce(&mut Value)) {
        let mut object = self.live(kind, name);
        change(&mut object);
        self.put(object);
    }

    /// Azure Service Operator reports this about a resource.
    pub(super) fn report(
        &mut self,
        kind: &str,
        name: &str,
        status: &str,
        reason: &str,
        message: &str,
    ) {
        let now = self.fixture.now.to_string();
        self.edit(kind, name, |object| {
            let severity = match status {
                "True" => "",
                _ if message.contains("[E]") => "Error",
                _ if message.contains("[W]") => "Warning",
                _ => "Info",
            };
            let message = message.replace("[E]", "").replace("[W]", "");
            object["status"]["conditions"] = json!([{
                "type": "Ready", "status": status, "reason": reason, "message": message, "severity": severity,
                "lastTransitionTime": now, "observedGeneration": object["metadata"]["generation"],
            }]);
        });
    }

    /// Azure has this resource as requested.
    pub(super) fn ready(&mut self, kind: &str, name: &str) {
        self.report(kind, name, "True", "Succeeded", "");
    }

    /// Lets the controllers decide and write until they rest.
    pub(super) fn rest(&mut self) {
        self.fixture.run_to(self.fixture.elapsed());
    }

    /// The same after some time.
    pub(super) fn wait(&mut self, seconds: i64) {
        let to = self.fixture.elapsed() + seconds;
        self.fixture.run_to(to);
        self.rest();
    }

    /// The infrastructure is there.
    pub(super) fn build(&mut self) {
        self.rest();
        self.ready("ResourceGroup", "rg");
        self.ready("Vault", "vault");
        self.rest();
    }

    /// What would be decided now about the object `c` of a kind.
    pub(super) fn decide(&self, kind: &str) -> Outcome {
        let group = if kind == "AROControlPlane" {
            CONTROL_PLANE
        } else {
            INFRASTRUCTURE
        };
        let id = ObjectId::new(group, kind, "ns", "c");
        let live = self.fixture.snapshot.get(&id);
        let live = live.unwrap_or_else(|| panic!("there is no {id}"));
        let controllers = aro(Self::settings(None));
        let controller = controllers.iter().find(|one| (one.handles)(&id));
        let controller = controller.unwrap_or_else(|| panic!("nobody handles {id}"));
        (controller.reconcile)(World::of(&self.fixture.snapshot), live, self.fixture.now)
    }

    /// Status, reason and message of a condition of the object `c` of a kind.
    pub(super) fn condition(&self, kind: &str, condition: &str) -> (String, String, String) {
        let object = self.live(kind, "c");
        let found = Live(&object).condition(condition);
        found.map_or_else(Default::default, |found| {
            let [status, reason, message] = [found.status(), found.reason(), found.message()];
            (status.to_owned(), reason.to_owned(), message.to_owned())
        })
    }

    /// The reason of a condition.
    pub(super) fn reason(&self, kind: &str, condition: &str) -> String {
        self.condition(kind, condition).1
    }

    /// Takes the reasons of the warnings that were reported since.
    pub(super) fn warnings(&mut self) -> Vec<String> {
        let events = std::mem::take(&mut self.fixture.events);
        let warnings = events.into_iter().filter(|event| event.is_warning);
        warnings.map(|event| event.reason).collect()
    }

    /// Deletes the object `c` of a kind.
    pub(super) fn delete(&mut self, kind: &str, name: &str) {
        let object = self.live(kind, name);
        self.fixture.delete(&Live(&object).id());
    }

    /// A kubeconfig as Azure Service Operator writes it.
    pub(super) fn kubeconfig(&mut self, cluster: Value) {
        use base64::prelude::{BASE64_STANDARD, Engine as _};
        let config = json!({
            "clusters": [{"name": "c", "cluster": cluster}],
            "users": [{"name": "u", "user": {"token": "secret"}}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "x",
        });
        let value = BASE64_STANDARD.encode(config.to_string());
        let mut secret =
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "c-kubeconfig"}});
        if let Some(held) = self.find("Secret", "c-kubeconfig") {
            secret = held;
        }
        secret["data"] = json!({"value": value});
        self.put(secret);
    }

    /// The HCP cluster is there with its kubeconfig.
    pub(super) fn provision(&mut self) {
        self.build();
        self.edit("HcpOpenShiftCluster", "c", |hcp| {
            hcp["status"] = json!({"properties": {"api": {"url": "https://api.example:443/"}}});
        });
        self.ready("HcpOpenShiftCluster", "c");
        self.kubeconfig(json!({"server": "https://api.example:443"}));
        self.rest();
    }
}

/// The kinds that are applied, in order.
pub(super) fn applied(outcome: &Outcome) -> Vec<String> {
    let writes = outcome.writes.iter();
    let applied = writes.filter_map(|write| match write {
        Write::ApplyAs(_, patch) => Some(Live(patch).kind().to_owned()),
        _ => None,
    });
    applied.collect()
}

/// The kinds that are deleted, in order.
pub(super) fn deleted(outcome: &Outcome) -> Vec<String> {
    let writes = outcome.writes.iter();
    let deleted = writes.filter_map(|write| match write {
        Write::Delete { id, .. } => Some(id.kind.clone()),
        _ => None,
    });
    deleted.collect()
}

/// The seconds until the next wake-up.
pub(super) fn wakes_in(bench: &Bench, outcome: &Outcome) -> Option<i64> {
    let wake = outcome.wake?;
    Some(wake.duration_since(bench.fixture.now).as_secs())
}

/// A time some seconds from now.
pub(super) fn later(bench: &Bench, seconds: i64) -> String {
    let time = bench.fixture.now.checked_add(seconds.seconds());
    time.map_or_else(|error| panic!("{error}"), |time| time.to_string())
}
