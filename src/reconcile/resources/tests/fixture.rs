//! An owner of embedded resources, and what is decided for it.

use serde_json::{Value, json};

use super::super::{Entry, Ledger, listed, mark, pause, reconcile, remove, resume};
use crate::api::fleet::FirstApply;
use crate::api::labels::{CLUSTER_NAME, OWNED_KINDS, RECONCILE_POLICY};
use crate::health::Live;
use crate::model::ObjectId;
use crate::reconcile::fixture::Fixture;
use crate::reconcile::outcome::{self, Outcome, Write};
use crate::reconcile::world::World;

/// More rounds than this are an endless loop.
const MOST_ROUNDS: usize = 12;

/// The record of every kind that the tests use.
pub(super) const EVERY_KIND: &str = "HcpOpenShiftCluster.v1.redhatopenshift.azure.com;NetworkSecurityGroup.v1.network.azure.com;ResourceGroup.v1.resources.azure.com;RoleAssignment.v1.authorization.azure.com;UserAssignedIdentity.v1.managedidentity.azure.com;Vault.v1.keyvault.azure.com;VirtualNetwork.v1.network.azure.com;VirtualNetworksSubnet.v1.network.azure.com";

/// An AROCluster, `c`, whose resources are reconciled.
pub(super) struct Bed {
    pub(super) fixture: Fixture,
    pub(super) first_apply: FirstApply,
    /// The Secret with the cluster's credential.
    pub(super) credential: &'static str,
}

impl Bed {
    /// An owner of these resources that records every kind.
    pub(super) fn new(first_apply: FirstApply, list: &Value) -> Self {
        let mut bed = Self {
            fixture: Fixture::new(Vec::new()),
            first_apply,
            credential: "",
        };
        bed.fixture.put(json!({
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2",
            "kind": "AROCluster",
            "metadata": {"name": "c", "labels": {CLUSTER_NAME: "c"}, "annotations": {OWNED_KINDS: EVERY_KIND}},
            "spec": {"resources": list},
        }));
        bed
    }

    /// The same without a check whether a resource exists.
    pub(super) fn direct(list: &Value) -> Self {
        Self::new(FirstApply::Direct, list)
    }

    /// With this record of kinds.
    pub(super) fn recorded(mut self, record: &str) -> Self {
        self.edit("AROCluster", "c", |owner| {
            owner["metadata"]["annotations"][OWNED_KINDS] = json!(record);
        });
        self
    }

    /// Puts an object the owner controls, with ASO's condition.
    pub(super) fn held(&mut self, item: &Value, mut ready: Value) {
        ready["observedGeneration"] = json!(1);
        let mut object = item.clone();
        let uid = Live(&self.owner()).uid().to_owned();
        object["metadata"]["ownerReferences"] = json!([{"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2",
            "kind": "AROCluster", "name": "c", "uid": uid, "controller": true}]);
        object["metadata"]["managedFields"] =
            json!([{"manager": "capz-manager", "operation": "Apply"}]);
        object["status"]["conditions"] = json!([ready]);
        self.fixture.put(object);
    }

    /// Replaces the list.
    pub(super) fn list(&mut self, list: Value) {
        self.edit("AROCluster", "c", |owner| owner["spec"]["resources"] = list);
    }

    /// Changes an object.
    pub(super) fn edit(&mut self, kind: &str, name: &str, edit: impl FnOnce(&mut Value)) {
        let mut object = self.fixture.live(kind, name).expect("an object");
        edit(&mut object);
        self.fixture.put(object);
    }

    /// Lets ASO report a condition.
    pub(super) fn reports(&mut self, kind: &str, name: &str, mut ready: Value) {
        self.edit(kind, name, |object| {
            if ready["observedGeneration"].is_null() {
                ready["observedGeneration"] = object["metadata"]["generation"].clone();
            }
            object["status"]["conditions"] = json!([ready]);
        });
    }

    pub(super) fn owner(&self) -> Value {
        self.fixture.live("AROCluster", "c").expect("the owner")
    }

    /// What `decision` decides now.
    pub(super) fn decide(
        &self,
        decision: impl FnOnce(&Ledger<'_>, &[Value], &mut Outcome) -> Vec<Entry>,
    ) -> (Vec<Entry>, Outcome) {
        let owner = self.owner();
        let owner = Live(&owner);
        let ledger = Ledger {
            credential: self.credential,
            world: World::of(&self.fixture.snapshot),
            owner,
            cluster: owner.label(CLUSTER_NAME),
            first_apply: self.first_apply,
            stays_in_azure: false,
            process: None,
            now: self.fixture.now,
        };
        let mut outcome = Outcome::default();
        let list = owner.list(&["spec", "resources"]);
        let entries = decision(&ledger, list, &mut outcome);
        (entries, outcome)
    }

    /// Reconciles as a controller does: the mark, the resources, the status.
    pub(super) fn whole(&self) -> (Vec<Entry>, Outcome) {
        self.decide(|ledger, list, outcome| {
            mark(ledger, "finalizer", list, Value::Null, outcome);
            let entries = reconcile(ledger, list, outcome);
            let status = json!({"resources": listed(&entries)});
            outcome.maybe(outcome::status(ledger.owner, status));
            entries
        })
    }

    /// Carries out what was decided.
    pub(super) fn perform(&mut self, outcome: Outcome) {
        for write in outcome.writes {
            self.fixture.perform("capstan-arocluster", write);
        }
    }

    /// Repeats a decision until it writes nothing; its last entries.
    pub(super) fn rest(&mut self, decide: impl Fn(&Self) -> (Vec<Entry>, Outcome)) -> Vec<Entry> {
        for _ in 0..MOST_ROUNDS {
            let (entries, outcome) = decide(self);
            if outcome.writes.is_empty() {
                return entries;
            }
            self.perform(outcome);
        }
        panic!("no rest: {:#?}", decide(self).1.writes);
    }

    /// Reconciles until there is nothing to write.
    pub(super) fn settle(&mut self) -> Vec<Entry> {
        self.rest(Self::whole)
    }

    /// Only the resources.
    pub(super) fn reconcile(&self) -> (Vec<Entry>, Outcome) {
        self.decide(reconcile)
    }

    pub(super) fn pause(&self) -> (Vec<Entry>, Outcome) {
        self.decide(pause)
    }

    /// Something else holds back what is in the list.
    pub(super) fn resume(&self) -> (Vec<Entry>, Outcome) {
        self.decide(|ledger, list, outcome| {
            resume(ledger, list, outcome);
            Vec::new()
        })
    }

    pub(super) fn remove(&self, is_doomed: fn(Live<'_>) -> bool) -> (Vec<Entry>, Outcome) {
        self.decide(|ledger, _, outcome| remove(ledger, is_doomed, outcome))
    }

    /// ASO's policy of a resource; `None` without one.
    pub(super) fn policy(&self, kind: &str, name: &str) -> Option<String> {
        let live = self.fixture.live(kind, name)?;
        let policy = Live(&live).at(&["metadata", "annotations", RECONCILE_POLICY])?;
        policy.as_str().map(str::to_owned)
    }
}

/// An embedded resource.
pub(super) fn item(api_version: &str, kind: &str, name: &str, spec: Value) -> Value {
    json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, "spec": spec})
}

/// An embedded resource group.
pub(super) fn group(name: &str) -> Value {
    item(
        "resources.azure.com/v1",
        "ResourceGroup",
        name,
        json!({"location": "uksouth"}),
    )
}

/// An embedded network in the resource group `rg`.
pub(super) fn network(name: &str) -> Value {
    let spec = json!({"location": "uksouth", "owner": {"name": "rg"}, "addressSpace": {"addressPrefixes": ["10.0.0.0/16"]}});
    item("network.azure.com/v1", "VirtualNetwork", name, spec)
}

/// The same with an annotation.
pub(super) fn with(mut item: Value, annotation: &str, value: &str) -> Value {
    item["metadata"]["annotations"][annotation] = json!(value);
    item
}

/// ASO's condition.
pub(super) fn ready() -> Value {
    json!({"type": "Ready", "status": "True", "reason": "Succeeded"})
}

/// ASO's condition when it is not ready.
pub(super) fn unready(severity: &str, reason: &str, message: &str) -> Value {
    json!({"type": "Ready", "status": "False", "severity": severity, "reason": reason, "message": message})
}

/// What ASO reports of a resource that it only reads and that Azure does not have.
pub(super) fn missing() -> Value {
    unready("Warning", "AzureResourceNotFound", "no such resource")
}

/// Each write as one line: `apply Kind/name`, `merge ...`, `delete ...`.
pub(super) fn lines(outcome: &Outcome) -> Vec<String> {
    let line = |write: &Write| {
        let verb = match write {
            Write::Apply(_) => "mark",
            Write::ApplyAs("capz-manager", _) => "apply",
            Write::ApplyAs("capstan-embedded", _) => "add",
            Write::ApplyAs(..) => "apply as another",
            Write::Status(_) => "status",
            Write::Merge(_) => "merge",
            Write::Delete { .. } => "delete",
            Write::EnsureKey(_) => "key",
            Write::RejectConnections(_) => "reject",
            Write::CheckCredential(_) | Write::CredentialSecret(..) => "credential",
        };
        let id = write
            .object()
            .unwrap_or_else(|| ObjectId::new("", "", "", ""));
        format!("{verb} {}/{}", id.kind, id.name)
    };
    outcome.writes.iter().map(line).collect()
}

/// The names of entries, with `+` for those that are ready.
pub(super) fn names(entries: &[Entry]) -> Vec<String> {
    let name = |entry: &Entry| {
        let sign = if entry.ready { "+" } else { "-" };
        format!("{sign}{}", entry.id.name)
    };
    entries.iter().map(name).collect()
}
