//! `AzureClusterIdentity`: credentials for Azure, and the namespaces that may use them.
//!
//! Shape: facts/aro-controllers.md §1 and §5.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::SecretReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};
use kube::CustomResource;
use kube::core::{Selector, SelectorExt as _};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::kinds::INFRASTRUCTURE;
use super::labels::LINK_IDENTITY;
use super::platform::HYPERSHIFT;
use crate::model::{ClientBindings, Node, Object, ObjectId};

/// The identity that an annotation of a HostedCluster names for its Private Endpoint and DNS zones, with the annotation.
#[must_use]
pub fn link_identity(object: &Object) -> Option<(&Node, ObjectId)> {
    link_identity_in(&object.id, &object.node)
}

/// The same, of an object with this id and content.
#[must_use]
pub fn link_identity_in<'n>(of: &ObjectId, node: &'n Node) -> Option<(&'n Node, ObjectId)> {
    let node = node.at(&["metadata", "annotations", LINK_IDENTITY])?;
    let (namespace, name) = node.as_str()?.split_once('/')?;
    let is_whole = !namespace.is_empty() && !name.is_empty() && !name.contains('/');
    let id = || ObjectId::new(INFRASTRUCTURE, "AzureClusterIdentity", namespace, name);
    (is_whole && of.is(HYPERSHIFT, "HostedCluster")).then(|| (node, id()))
}

/// Credentials for Azure.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "infrastructure.cluster.x-k8s.io",
    version = "v1beta1",
    kind = "AzureClusterIdentity",
    plural = "azureclusteridentities",
    namespaced,
    status = "AzureClusterIdentityStatus",
    category = "cluster-api",
    label("cluster.x-k8s.io/provider", "infrastructure-azure"),
    label("cluster.x-k8s.io/v1beta1", "v1beta1"),
    derive = "PartialEq",
    doc = "Credentials for Azure, and the namespaces that may use them.",
    printcolumn = r#"{"name": "Type", "type": "string", "jsonPath": ".spec.type", "description": "Kind of credential"}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp", "description": "Time since it was made"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct AzureClusterIdentitySpec {
    /// Kind of credentials; immutable.
    #[serde(rename = "type")]
    pub kind: IdentityType,
    /// Client ID of the service principal or managed identity.
    #[serde(rename = "clientID")]
    pub client_id: String,
    /// Tenant ID of the principal.
    #[serde(rename = "tenantID")]
    pub tenant_id: String,
    /// Has no effect.
    #[serde(
        default,
        rename = "resourceID",
        skip_serializing_if = "Option::is_none"
    )]
    pub resource_id: Option<String>,
    /// Secret with the password or certificate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-map-type" = "atomic"))]
    pub client_secret: Option<SecretReference>,
    /// Path of a file with the certificate; takes precedence over `clientSecret`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cert_path: Option<String>,
    /// Path of a file with the credentials of a managed identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_assigned_identity_credentials_path: Option<String>,
    /// Cloud of those credentials: `public` (default), `china` or `usgovernment`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_assigned_identity_credentials_cloud_type: Option<String>,
    /// Namespaces that may use the identity. If absent, none may; `{}` allows all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_namespaces: Option<AllowedNamespaces>,
}

impl AzureClusterIdentitySpec {
    /// Reads the spec of a whole identity, of any version.
    ///
    /// # Errors
    /// When a field is missing, or is not of its type.
    pub fn from_json(identity: &Json) -> Result<Self, serde_json::Error> {
        let mut spec = identity["spec"].clone();
        if let Some(fields) = spec.as_object_mut() {
            // It differs between versions, and is read by itself.
            fields.remove("allowedNamespaces");
        }
        serde_json::from_value(spec)
    }

    /// The Secret of an identity in `namespace`, if it names one. Without a namespace it is in that of the identity.
    #[must_use]
    pub fn secret(&self, namespace: &str) -> Option<ObjectId> {
        let secret = self.client_secret.as_ref()?;
        let name = secret.name.as_deref().filter(|name| !name.is_empty())?;
        let own = secret.namespace.as_deref();
        let namespace = own.filter(|own| !own.is_empty()).unwrap_or(namespace);
        Some(ObjectId::new("", "Secret", namespace, name))
    }
}

/// Kinds of credentials.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum IdentityType {
    /// A service principal with a password.
    ServicePrincipal,
    /// The same, under its old name.
    ManualServicePrincipal,
    /// A service principal with a certificate.
    ServicePrincipalCertificate,
    /// A managed identity of the machine.
    #[serde(rename = "UserAssignedMSI")]
    UserAssignedMsi,
    /// A federated token of the pod's service account.
    WorkloadIdentity,
    /// A managed identity whose credentials are in a file.
    UserAssignedIdentityCredential,
}

impl IdentityType {
    /// Whether an identity proves itself as this process: by its service account or its machine, and by nothing of its
    /// own. Whoever writes one becomes any client that trusts this process.
    #[must_use]
    pub const fn is_of_process(self) -> bool {
        matches!(self, Self::WorkloadIdentity | Self::UserAssignedMsi)
    }
}

/// Why identities in `namespace` may not name this client. The client is not repeated: it may be a password in the wrong
/// place.
#[must_use]
pub fn unbound(
    bindings: &ClientBindings,
    namespace: &str,
    (kind, client): (IdentityType, &str),
) -> Option<String> {
    let is_refused = kind.is_of_process() && !bindings.allow(namespace, client);
    is_refused.then(|| {
        format!(
            "spec.clientID is not bound to the namespace {namespace}, and an identity of this type authenticates as Capstan itself"
        )
    })
}

/// What to do about it.
pub const UNBOUND_HELP: &str = "ask the operators of the management cluster to add the namespace and the client ID to CAPSTAN_AZURE_IDENTITY_BINDINGS, or use a type with a credential of its own, such as ServicePrincipal";

/// Namespaces, by name or by label.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AllowedNamespaces {
    /// By name; an empty list allows none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<Vec<String>>,
    /// By label; an empty selector allows none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-map-type" = "atomic"))]
    pub selector: Option<LabelSelector>,
}

/// The namespaces that may use an identity, in any version.
#[derive(Clone, Debug, PartialEq)]
pub enum Allowed {
    /// All.
    All,
    /// None, not even the identity's own.
    Nobody,
    /// Those with one of these names or with matching labels.
    Some(AllowedNamespaces),
}

/// The versions that identities have ever been served at, newest first.
pub const VERSIONS: [&str; 3] = ["v1beta1", "v1alpha4", "v1alpha3"];

impl Allowed {
    /// Reads a whole identity. Versions before v1beta1 have a list; if that is empty or absent, all namespaces are
    /// allowed. In later versions `{}` allows all, and an absent field none. What cannot be read allows none
    /// (facts/aro-controllers.md §5, §10).
    #[must_use]
    pub fn read(identity: &Json) -> Self {
        let version = identity["apiVersion"].as_str().unwrap_or_default();
        let is_old = version.ends_with("/v1alpha3") || version.ends_with("/v1alpha4");
        match &identity["spec"]["allowedNamespaces"] {
            Json::Null if is_old => Self::All,
            Json::Array(list) if is_old && list.is_empty() => Self::All,
            Json::Array(list) if is_old => {
                let names = list.iter().filter_map(Json::as_str).map(str::to_owned);
                Self::Some(AllowedNamespaces {
                    list: Some(names.collect()),
                    selector: None,
                })
            }
            Json::Object(fields) if fields.is_empty() => Self::All,
            fields @ Json::Object(_) => {
                let selection = serde_json::from_value(fields.clone());
                selection.map_or(Self::Nobody, Self::Some)
            }
            _ => Self::Nobody,
        }
    }

    /// What makes the selector invalid, which then selects no namespace: to Kubernetes, `NotIn` without values is
    /// no selector for everything, but none at all.
    #[must_use]
    pub fn invalid_selector(&self) -> Option<String> {
        let Self::Some(some) = self else { return None };
        let expressions = some.selector.as_ref()?.match_expressions.as_ref()?;
        let wrong = |(at, one): (usize, &LabelSelectorRequirement)| {
            let has_values = one.values.as_ref().is_some_and(|values| !values.is_empty());
            let why = match (one.operator.as_str(), has_values) {
                ("In" | "NotIn", true) | ("Exists" | "DoesNotExist", false) => return None,
                ("In" | "NotIn", false) => "needs values",
                ("Exists" | "DoesNotExist", true) => "takes no values",
                _ => "is not one of In, NotIn, Exists and DoesNotExist",
            };
            Some(format!("matchExpressions[{at}]: {} {why}", one.operator))
        };
        expressions.iter().enumerate().find_map(wrong)
    }

    /// Whether `namespace` may use the identity. None if that depends on labels and `labels` are unknown.
    #[must_use]
    pub fn allows(
        &self,
        namespace: &str,
        labels: Option<&BTreeMap<String, String>>,
    ) -> Option<bool> {
        let some = match self {
            Self::All => return Some(true),
            Self::Nobody => return Some(false),
            Self::Some(some) => some,
        };
        if some.list.iter().flatten().any(|name| name == namespace) {
            return Some(true);
        }
        let is_valid = self.invalid_selector().is_none();
        let selector = some
            .selector
            .as_ref()
            .filter(|selector| is_valid && !is_empty(selector));
        let Some(Ok(selector)) = selector.map(|selector| Selector::try_from(selector.clone()))
        else {
            return Some(false);
        };
        let mut all = labels.cloned().unwrap_or_default();
        all.insert(NAMESPACE_NAME.to_owned(), namespace.to_owned());
        let is_known = labels.is_some() || is_of_name(some.selector.as_ref());
        is_known.then(|| selector.matches(&all))
    }
}

/// The label that every namespace has.
const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";

fn is_empty(selector: &LabelSelector) -> bool {
    let labels = selector.match_labels.as_ref();
    let expressions = selector.match_expressions.as_ref();
    labels.is_none_or(BTreeMap::is_empty) && expressions.is_none_or(Vec::is_empty)
}

/// Whether a selector looks only at the name.
fn is_of_name(selector: Option<&LabelSelector>) -> bool {
    let selector = selector.iter();
    let keys = selector.flat_map(|selector| {
        let labels = selector.match_labels.iter().flat_map(BTreeMap::keys);
        let expressions = selector.match_expressions.iter().flatten();
        labels.chain(expressions.map(|expression| &expression.key))
    });
    keys.into_iter().all(|key| key == NAMESPACE_NAME)
}

/// The observed state of an AzureClusterIdentity.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AzureClusterIdentityStatus {
    /// The current conditions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<ClusterApiCondition>,
}

/// A condition in the format of Cluster API's early versions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterApiCondition {
    /// Its type.
    #[serde(rename = "type")]
    #[schemars(length(min = 1, max = 256))]
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// Severity if false: `Error`, `Warning` or `Info`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    pub severity: Option<String>,
    /// When the status last changed, RFC 3339.
    #[schemars(extend("format" = "date-time"))]
    pub last_transition_time: String,
    /// A CamelCase reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 256))]
    pub reason: Option<String>,
    /// A message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 10240))]
    pub message: Option<String>,
}
