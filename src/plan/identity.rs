//! Whether an AROControlPlane may be applied with the identity that it names.
//!
//! In: what is sent, the live identity, and the labels of the live namespace if they are needed. Out: why
//! it is not sent, if so. It does not know: how they are read.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::Withheld;
use crate::api::azure_cluster_identity::Allowed;
use crate::api::kinds::{CONTROL_PLANE, INFRASTRUCTURE};
use crate::health::Live;
use crate::model::ObjectId;
use crate::rules::allowed_namespaces::{allows, refusal};

/// A control plane's use of an identity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdentityUse {
    /// The identity.
    pub identity: ObjectId,
    /// The namespace that it is used from.
    pub namespace: String,
}

impl IdentityUse {
    /// That of the object which is sent, if it is a control plane that names one.
    #[must_use]
    pub fn of(sent: &Json) -> Option<Self> {
        let live = Live(sent);
        if (live.group(), sent["kind"].as_str()?) != (CONTROL_PLANE, "AROControlPlane") {
            return None;
        }
        let text = |value: &Json| value.as_str().map(str::to_owned);
        let namespace = text(&sent["metadata"]["namespace"]).unwrap_or_default();
        let reference = &sent["spec"]["identityRef"];
        let of = text(&reference["namespace"]).unwrap_or_else(|| namespace.clone());
        let name = text(&reference["name"])?;
        Some(Self {
            identity: ObjectId::new(INFRASTRUCTURE, "AzureClusterIdentity", of, name),
            namespace,
        })
    }

    /// Whether what `identity` allows depends on the labels of the namespace.
    #[must_use]
    pub fn needs_labels(&self, identity: &Json) -> bool {
        allows(&Allowed::read(identity), &self.namespace, None).is_none()
    }

    /// Whether `identity`, as it is in the cluster, allows the namespace, which has these `labels`.
    ///
    /// # Errors
    /// When it does not, or is not there.
    pub fn judge(
        &self,
        identity: Option<&Json>,
        labels: &BTreeMap<String, String>,
    ) -> Result<(), Withheld> {
        let (name, namespace) = (&self.identity, &self.namespace);
        let Some(identity) = identity else {
            return Err(Withheld::NoIdentity(format!(
                "{name} is not there, so nobody can tell whether it may be used from the namespace {namespace}; make it, or name another"
            )));
        };
        let allowed = Allowed::read(identity);
        if allows(&allowed, namespace, Some(labels)) == Some(true) {
            return Ok(());
        }
        let (message, help) = refusal(name, &allowed, namespace);
        Err(Withheld::Identity(format!("{message}; {help}")))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn control_plane(identity: &Json) -> Json {
        json!({"apiVersion": "controlplane.cluster.x-k8s.io/v1beta2", "kind": "AROControlPlane",
            "metadata": {"name": "c", "namespace": "team-a"}, "spec": {"identityRef": identity}})
    }

    #[test]
    fn a_control_plane_uses_the_identity_that_it_names() {
        let of = |identity: &Json| {
            IdentityUse::of(&control_plane(identity)).map(|uses| uses.identity.to_string())
        };
        let own = of(&json!({"name": "id"}));
        assert_eq!(own.as_deref(), Some("AzureClusterIdentity/team-a/id"));
        let other = of(&json!({"name": "id", "namespace": "platform"}));
        assert_eq!(other.as_deref(), Some("AzureClusterIdentity/platform/id"));
        assert_eq!(of(&Json::Null), None);
        let mut cluster = control_plane(&json!({"name": "id"}));
        cluster["kind"] = json!("AROCluster");
        assert_eq!(IdentityUse::of(&cluster), None);
    }

    #[test]
    fn what_is_not_there_is_waited_for_and_what_refuses_says_what_to_do() {
        let uses = IdentityUse::of(&control_plane(&json!({"name": "id"}))).expect("it uses one");
        let none = BTreeMap::new();
        let gone = uses.judge(None, &none);
        assert!(matches!(gone, Err(Withheld::NoIdentity(_))), "{gone:?}");
        let identity = |allowed: Json| json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "spec": {"allowedNamespaces": allowed}});
        assert_eq!(uses.judge(Some(&identity(json!({}))), &none), Ok(()));
        let refused = uses.judge(Some(&identity(json!({"list": ["x"]}))), &none);
        let said = refused.expect_err("refused").to_string();
        assert!(
            said.contains("add team-a to spec.allowedNamespaces.list"),
            "{said}"
        );
        let selects = identity(json!({"selector": {"matchLabels": {"team": "a"}}}));
        assert!(uses.needs_labels(&selects));
        assert!(uses.judge(Some(&selects), &none).is_err());
        let labels = [("team".to_owned(), "a".to_owned())].into();
        assert_eq!(uses.judge(Some(&selects), &labels), Ok(()));
    }
}
