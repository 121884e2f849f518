//! Whether an AROControlPlane or an AROCluster may be applied with the identity that it names.
//!
//! In: what is sent, the live identity, and the labels of the live namespace if they are needed. Out: why
//! it is not sent, if so. It does not know: how they are read.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::Withheld;
use crate::api::aro_control_plane::{identity_namespace, names_identity};
use crate::api::azure_cluster_identity::Allowed;
use crate::api::kinds::INFRASTRUCTURE;
use crate::model::{ObjectId, Step};
use crate::rules::allowed_namespaces::refusal;

/// The use of an identity by a control plane or an infrastructure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdentityUse {
    /// The identity.
    pub identity: ObjectId,
    /// The namespace that it is used from.
    pub namespace: String,
}

impl IdentityUse {
    /// The use by a step, if it applies an object that names an identity.
    #[must_use]
    pub fn of(step: &Step) -> Option<Self> {
        if !names_identity(&step.object) {
            return None;
        }
        let payload = &step.action.payload;
        let reference = &payload.json()["spec"]["identityRef"];
        let namespace = &step.object.namespace;
        let of = identity_namespace(reference["namespace"].as_str(), namespace);
        let name = reference["name"].as_str()?;
        Some(Self {
            identity: ObjectId::new(INFRASTRUCTURE, "AzureClusterIdentity", of, name),
            namespace: namespace.clone(),
        })
    }

    /// Whether what `identity` allows depends on the labels of the namespace.
    #[must_use]
    pub fn needs_labels(&self, identity: &Json) -> bool {
        Allowed::read(identity)
            .allows(&self.namespace, None)
            .is_none()
    }

    /// The labels of the namespace: those it has in the cluster, where it may not exist yet, overridden by those
    /// that `steps` apply before the control plane.
    #[must_use]
    pub fn labels(&self, live: Option<&Json>, steps: &[Step]) -> BTreeMap<String, String> {
        let planned = steps
            .iter()
            .find(|step| step.object.is("", "Namespace") && step.object.name == self.namespace);
        let planned = planned.map(|step| {
            let payload = &step.action.payload;
            payload.json()
        });
        let both = live.into_iter().chain(&planned);
        both.flat_map(labels).collect()
    }

    /// Whether `identity`, as it is in the cluster, allows the namespace, which has these `labels`.
    ///
    /// # Errors
    /// When it does not, or does not exist.
    pub fn judge(
        &self,
        identity: Option<&Json>,
        labels: &BTreeMap<String, String>,
    ) -> Result<(), Withheld> {
        let (name, namespace) = (&self.identity, &self.namespace);
        let Some(identity) = identity else {
            return Err(Withheld::NoIdentity(format!(
                "{name} does not exist, so it is unknown whether namespace {namespace} may use it; create it, or use another identity"
            )));
        };
        let allowed = Allowed::read(identity);
        if allowed.allows(namespace, Some(labels)) == Some(true) {
            return Ok(());
        }
        let (message, help) = refusal(name, &allowed, namespace);
        Err(Withheld::Identity(format!("{message}; {help}")))
    }
}

fn labels(object: &Json) -> BTreeMap<String, String> {
    let labels = object["metadata"]["labels"].clone();
    serde_json::from_value(labels).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::api::kinds::CONTROL_PLANE;
    use crate::model::Payload;

    fn control_plane(kind: &str, identity: &Json) -> Step {
        let sent = json!({"spec": {"identityRef": identity}});
        let object = ObjectId::new(CONTROL_PLANE, kind, "team-a", "c");
        Step::bare(object, &[]).sending(Payload::new(&sent, "", ""))
    }

    #[test]
    fn a_control_plane_uses_the_identity_that_it_names() {
        let of = |kind: &str, identity: &Json| {
            let uses = IdentityUse::of(&control_plane(kind, identity));
            uses.map(|uses| uses.identity.to_string())
        };
        let own = of("AROControlPlane", &json!({"name": "id"}));
        assert_eq!(own.as_deref(), Some("AzureClusterIdentity/team-a/id"));
        let other = json!({"name": "id", "namespace": "platform"});
        let other = of("AROControlPlane", &other);
        assert_eq!(other.as_deref(), Some("AzureClusterIdentity/platform/id"));
        let empty = of("AROControlPlane", &json!({"name": "id", "namespace": ""}));
        assert_eq!(empty, own);
        assert_eq!(of("AROControlPlane", &Json::Null), None);
        assert_eq!(of("AROCluster", &json!({"name": "id"})), None);
    }

    #[test]
    fn labels_of_the_plan_lie_over_those_of_the_cluster() {
        let uses = IdentityUse::of(&control_plane("AROControlPlane", &json!({"name": "id"})));
        let uses = uses.expect("it uses one");
        let namespace = |name: &str| {
            let object = ObjectId::new("", "Namespace", "", name);
            let sent = json!({"metadata": {"labels": {"team": name, "of": "plan"}}});
            Step::bare(object, &[]).sending(Payload::new(&sent, "", ""))
        };
        let live = json!({"metadata": {"labels": {"team": "old", "env": "prod"}}});
        let rendered = |live, steps: &[Step]| {
            let labels = uses.labels(live, steps).into_iter();
            let labels: Vec<String> = labels
                .map(|(key, value)| format!("{key}={value}"))
                .collect();
            labels.join(" ")
        };
        let steps = [namespace("other"), namespace("team-a")];
        assert_eq!(
            rendered(Some(&live), &steps),
            "env=prod of=plan team=team-a"
        );
        assert_eq!(rendered(Some(&live), &steps[..1]), "env=prod team=old");
        assert_eq!(rendered(None, &steps), "of=plan team=team-a");
    }

    #[test]
    fn a_missing_identity_is_waited_for_and_a_refusal_explains_what_to_do() {
        let step = control_plane("AROControlPlane", &json!({"name": "id"}));
        let uses = IdentityUse::of(&step).expect("it uses one");
        let none = BTreeMap::new();
        let gone = uses.judge(None, &none);
        assert!(matches!(gone, Err(Withheld::NoIdentity(_))), "{gone:?}");
        let identity = |allowed: Json| json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "spec": {"allowedNamespaces": allowed}});
        assert_eq!(uses.judge(Some(&identity(json!({}))), &none), Ok(()));
        let refused = uses.judge(Some(&identity(json!({"list": ["x"]}))), &none);
        let message = refused.expect_err("refused").to_string();
        assert!(
            message.contains("add team-a to spec.allowedNamespaces.list"),
            "{message}"
        );
        let selects = identity(json!({"selector": {"matchLabels": {"team": "a"}}}));
        assert!(uses.needs_labels(&selects));
        assert!(uses.judge(Some(&selects), &none).is_err());
        let labels = [("team".to_owned(), "a".to_owned())].into();
        assert_eq!(uses.judge(Some(&selects), &labels), Ok(()));
    }
}
