//! Azure Service Operator and Azure, at their simplest: everything works at once.

use serde_json::{Value, json};

use super::scene::{NETWORK, Scene};
use crate::health::Live;
use crate::model::ObjectId;

const FINALIZER: &str = "serviceoperator.azure.com/finalizer";
const POLICY: &str = "serviceoperator.azure.com/reconcile-policy";

impl Scene {
    /// Does everything that there is to do. Returns what was done.
    pub(super) fn act(&mut self) -> Vec<String> {
        let ids = self.fixture.snapshot.ids();
        let ids: Vec<ObjectId> = ids.filter(|id| id.group == NETWORK).cloned().collect();
        ids.iter().filter_map(|id| self.act_on(id)).collect()
    }

    /// The ARM ID of a resource; nothing while its owner is not there.
    pub(super) fn arm(&self, resource: &Value) -> Option<String> {
        let live = Live(resource);
        let name = live.text(&["spec", "azureName"]);
        let owner = Live(live.at(&["spec", "owner"])?);
        let owner = match owner.text(&["name"]) {
            "" => owner.text(&["armId"]).to_lowercase(),
            owner => {
                let id = ObjectId::new(NETWORK, "PrivateDnsZone", live.namespace(), owner);
                self.arm(&self.find(&id)?)?
            }
        };
        Some(format!("{owner}/{}/{name}", live.kind()))
    }

    pub(super) fn act_on(&mut self, id: &ObjectId) -> Option<String> {
        let before = self.find(id)?;
        let policy = Live(&before).annotation(POLICY).to_owned();
        let arm = self.arm(&before);
        if Live(&before).is_deleting() {
            if let Some(arm) = arm.filter(|_| policy == "manage") {
                self.azure
                    .retain(|id, _| *id != arm && !id.starts_with(&format!("{arm}/")));
            }
            self.edit(id, |object| object["metadata"]["finalizers"] = json!([]));
            self.delete(id);
            return Some(format!("{id} is gone"));
        }
        let arm = arm?;
        if policy != "skip" && !self.azure.contains_key(&arm) {
            self.made += 1;
            let alias = format!(
                "s{}.00000000-0000-4000-8000-000000000000.uksouth.azure.privatelinkservice",
                self.made
            );
            let state = match id.kind.as_str() {
                "PrivateLinkService" => json!({"alias": alias}),
                "PrivateEndpoint" => {
                    json!({"address": format!("10.1.0.{}", self.made), "state": "Approved"})
                }
                _ => json!({}),
            };
            self.azure.insert(arm.clone(), state);
        }
        if let Some(state) = self.azure.get_mut(&arm).filter(|_| policy != "skip") {
            state["tags"] = before["spec"]["tags"].clone();
        }
        let state = self.azure.get(&arm).cloned();
        self.report(id, &arm, state.as_ref());
        (self.live(id) != before).then(|| format!("{id} is reported"))
    }

    fn report(&mut self, id: &ObjectId, arm: &str, state: Option<&Value>) {
        let held = self.live(id);
        let mut object = held.clone();
        object["metadata"]["finalizers"] = json!([FINALIZER]);
        let ready = |status: &str, reason: &str, severity: &str| {
            json!([{"type": "Ready", "status": status, "reason": reason, "severity": severity,
                "observedGeneration": held["metadata"]["generation"]}])
        };
        if let Some(state) = state {
            let is_endpoint = id.kind == "PrivateEndpoint";
            let mut status = json!({"id": arm, "tags": state["tags"]});
            if let Some(alias) = state.get("alias") {
                status["alias"] = alias.clone();
            }
            if is_endpoint {
                status["manualPrivateLinkServiceConnections"] =
                    json!([{"privateLinkServiceConnectionState": {"status": state["state"]}}]);
            }
            let is_connected = !is_endpoint || state["state"] == "Approved";
            status["conditions"] = if is_connected {
                ready("True", "Succeeded", "")
            } else {
                ready("False", "NotApproved", "Warning")
            };
            object["status"] = status;
            if is_endpoint && is_connected {
                let map = ObjectId::new("", "ConfigMap", &*id.namespace, &*id.name);
                let data = json!({"privateEndpointIP": state["address"]});
                if self.find(&map).is_none_or(|map| map["data"] != data) {
                    let metadata = json!({"name": id.name, "namespace": id.namespace});
                    self.put(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}));
                }
            }
        } else {
            object["status"]["conditions"] = ready("False", "AzureResourceNotFound", "Warning");
        }
        if object != held {
            self.fixture.put(object);
        }
    }

    /// The ARM IDs that have this part.
    pub(super) fn in_azure(&self, part: &str) -> Vec<&str> {
        let ids = self.azure.keys().map(String::as_str);
        ids.filter(|id| id.contains(part)).collect()
    }

    /// Azure Service Operator reports an error of Azure.
    pub(super) fn fail(&mut self, id: &ObjectId, reason: &str, severity: &str, message: &str) {
        self.edit(id, |object| {
            object["status"]["conditions"] = json!([{"type": "Ready", "status": "False", "reason": reason,
                "severity": severity, "message": message, "observedGeneration": object["metadata"]["generation"]}]);
        });
    }
}
