//! The settings of the service provider: a REST API for clusters, registered at a DCM and reporting to it.

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::settings::SecretName;
use crate::api::period::Period;
use crate::schema::patterns::{DOMAIN, LABEL, SUBDOMAIN};

/// A REST API that creates, reads and deletes hosted clusters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ServiceProvider {
    /// The provider's name: in its registration, in subjects of its messages, and in the name of its pull secret.
    #[schemars(
        regex(pattern = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"),
        length(min = 1, max = 50)
    )]
    pub name: String,
    /// Its name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 200))]
    pub display_name: Option<String>,
    /// What becomes of a request.
    pub write_mode: WriteMode,
    /// The directory of the definitions, below the fleet's path.
    #[schemars(
        regex(pattern = r"^[a-z0-9]([-a-z0-9_]*[a-z0-9])?(/[a-z0-9]([-a-z0-9_]*[a-z0-9])?)*$"),
        length(min = 1, max = 200)
    )]
    pub directory: String,
    /// The namespace of the clusters.
    #[schemars(regex(pattern = LABEL), length(min = 1, max = 63))]
    pub namespace: String,
    /// Secret with the kubeconfig of the hub, in the Fleet's namespace: another name of `spec.cluster.kubeconfigSecretRef`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hub_kubeconfig: Option<SecretName>,
    /// The platform of requests that name none.
    pub default_platform: ProviderPlatform,
    /// The platforms that are offered; if absent, those that the management cluster serves.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2))]
    pub platforms: Option<Vec<ProviderPlatform>>,
    /// The base domain of requests that name none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = DOMAIN), length(max = 253))]
    pub base_domain: Option<String>,
    /// Secret with the pull secret of the clusters, in their namespace; defaults to the one that the provider keeps,
    /// `<name>-pull-secret`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pull_secret_ref: Option<SecretName>,
    /// Secret with the public SSH key of the nodes in `id_rsa.pub`, in the clusters' namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ssh_key_ref: Option<SecretName>,
    /// Another cluster for the virtual machines of KubeVirt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kube_virt: Option<InfrastructureCluster>,
    /// The place of bare-metal machines.
    pub bare_metal: BareMetal,
    /// The Kubernetes minor version of each OpenShift minor version, such as `"4.17": "1.30"`; defaults to the known ones.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(length(max = 100))]
    pub kubernetes_versions: BTreeMap<String, String>,
    /// The address of a cluster's console; `{name}` and `{base_domain}` are replaced.
    #[schemars(length(max = 500))]
    #[serde(rename = "consoleURL")]
    pub console_url: String,
    /// The fields of answers.
    pub api_dialect: ApiDialect,
    /// The answer to a request for a cluster that was made by an equal request.
    pub duplicate_create: DuplicateCreate,
    /// How conditions become a status.
    pub status_mapping: StatusMapping,
    /// The words for a status.
    pub status_vocabulary: StatusVocabulary,
    /// Whether lists have the kubeconfigs of clusters, as a single read has.
    pub kubeconfig_in_lists: bool,
    /// What becomes of the ManagedCluster of a deleted cluster.
    pub managed_cluster: ManagedClusterPolicy,
    /// Secret with `tokens`, `tls.crt` and `tls.key`, `.dockerconfigjson`, and the credential of the messaging, in the Fleet's namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<SecretName>,
    /// Secret with the private key that signs the provider's commits in `identity`, in the Fleet's namespace. It is required where
    /// `source.git.verify` is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signing_key_secret_ref: Option<SecretName>,
    /// Whether everybody who reaches the address may create, read and delete clusters, as DCM expects today.
    pub allow_unauthenticated: bool,
    /// The most requests a second with one token, and of all without a valid one; a burst may be twice as many.
    #[schemars(range(min = 1, max = 10_000))]
    pub requests_per_second: u32,
    /// The registration at a DCM; the provider registers nowhere if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub registration: Option<Registration>,
    /// Status messages over NATS; none are sent if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messaging: Option<Messaging>,
}

impl Default for ServiceProvider {
    fn default() -> Self {
        Self {
            name: "acm-cluster-sp".to_owned(),
            display_name: None,
            write_mode: WriteMode::default(),
            directory: "dcm".to_owned(),
            namespace: "default".to_owned(),
            hub_kubeconfig: None,
            default_platform: ProviderPlatform::default(),
            platforms: None,
            base_domain: None,
            pull_secret_ref: None,
            ssh_key_ref: None,
            kube_virt: None,
            bare_metal: BareMetal::default(),
            kubernetes_versions: BTreeMap::new(),
            console_url: "https://console-openshift-console.apps.{name}.{base_domain}".to_owned(),
            api_dialect: ApiDialect::default(),
            duplicate_create: DuplicateCreate::default(),
            status_mapping: StatusMapping::default(),
            status_vocabulary: StatusVocabulary::default(),
            kubeconfig_in_lists: true,
            managed_cluster: ManagedClusterPolicy::default(),
            secret_ref: None,
            signing_key_secret_ref: None,
            allow_unauthenticated: false,
            requests_per_second: 100,
            registration: None,
            messaging: None,
        }
    }
}

impl ServiceProvider {
    /// The name of the Secret with the pull secret of the clusters.
    #[must_use]
    pub fn pull_secret(&self) -> String {
        let named = self.pull_secret_ref.as_ref();
        named.map_or_else(
            || format!("{}-pull-secret", self.name),
            |secret| secret.name.clone(),
        )
    }

    /// The name of the ConfigMap with the statuses that were delivered.
    #[must_use]
    pub fn delivered_record(&self) -> String {
        format!("{}-delivered", self.name)
    }

    /// The name of the ConfigMap with the clusters whose ManagedClusters are deleted after them.
    #[must_use]
    pub fn clusters_record(&self) -> String {
        format!("{}-clusters", self.name)
    }
}

/// What becomes of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum WriteMode {
    /// The cluster's objects are written to the management cluster; no file is.
    #[default]
    Direct,
    /// A definition is committed to the followed branch.
    Commit,
    /// A definition is proposed to the followed branch, as a pull request on GitHub, Gitea or Forgejo.
    PullRequest,
}

/// The infrastructure of the nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ProviderPlatform {
    /// Virtual machines of OpenShift Virtualization.
    #[default]
    KubeVirt,
    /// Machines that the assisted installer has found.
    BareMetal,
}

/// Another cluster for virtual machines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InfrastructureCluster {
    /// Secret with a kubeconfig of the cluster in `kubeconfig`, in the clusters' namespace.
    pub kubeconfig_secret_ref: SecretName,
    /// The namespace of the virtual machines.
    #[schemars(regex(pattern = LABEL), length(min = 1, max = 63))]
    pub namespace: String,
}

/// The place of bare-metal machines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct BareMetal {
    /// The namespace of the Agent objects; bare metal is not offered if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = LABEL), length(min = 1, max = 63))]
    pub agent_namespace: Option<String>,
    /// The InfraEnv of requests that name none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = SUBDOMAIN), length(min = 1, max = 63))]
    pub infra_env: Option<String>,
    /// The label of an Agent with the name of its InfraEnv.
    #[schemars(length(min = 1, max = 316))]
    pub infra_env_label_key: String,
}

impl Default for BareMetal {
    fn default() -> Self {
        Self {
            agent_namespace: None,
            infra_env: None,
            infra_env_label_key: "infraenvs.agent-install.openshift.io".to_owned(),
        }
    }
}

/// The fields of answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ApiDialect {
    /// A POST is answered in its own dialect; reads have the fields of both.
    #[default]
    Auto,
    /// Those of the proposal.
    Proposal,
    /// Those that DCM reads.
    Dcm,
}

/// The answer to a request for a cluster that was made by an equal request. A request with the same `Idempotency-Key` always gets the first
/// answer again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DuplicateCreate {
    /// 409.
    #[default]
    Conflict,
    /// The first answer again, for a request with the same ID, name and content.
    Replay,
}

/// How conditions become a status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum StatusMapping {
    /// A cluster that comes up is not reported as failed or unavailable.
    #[default]
    Tolerant,
    /// The table of the proposal.
    Strict,
}

/// The words for a status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum StatusVocabulary {
    /// Those of the proposal.
    #[default]
    Proposal,
    /// Those of DCM's service provider manager, for which a ready cluster is RUNNING. It has no word for a cluster that does not serve:
    /// that one is PROVISIONING.
    Sprm,
}

/// What becomes of the ManagedCluster that ACM makes of a hosted cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ManagedClusterPolicy {
    /// It is deleted after its hosted cluster.
    #[default]
    Auto,
    /// It is left to ACM.
    Ignore,
}

/// The registration at a DCM.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Registration {
    /// The address of the registry: `https://host/api/v1alpha1`.
    #[schemars(regex(pattern = r"^https?://[^\s/]+(/\S*)?$"), length(max = 2_000))]
    pub url: String,
    /// The address at which the registry reaches this provider: `https://host:port`.
    #[schemars(regex(pattern = r"^https?://[^\s/]+(/\S*)?$"), length(max = 2_000))]
    pub endpoint: String,
    /// The provider's region.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 200))]
    pub region: Option<String>,
    /// The provider's zone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 200))]
    pub zone: Option<String>,
    /// The time between two registrations.
    #[serde(default = "renewal")]
    pub renewal: Period,
}

const fn renewal() -> Period {
    Period(Duration::from_secs(60))
}

/// Status messages over NATS.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Messaging {
    /// The addresses of the servers, separated by commas: `nats://host:4222`.
    #[schemars(length(min = 1, max = 2_000))]
    pub url: String,
    /// The time in which changes of a cluster become one message.
    #[serde(default = "debounce")]
    pub debounce: Period,
    /// The time between two looks at every cluster.
    #[serde(default = "resync")]
    pub resync: Period,
}

const fn debounce() -> Period {
    Period(Duration::from_secs(1))
}

const fn resync() -> Period {
    Period(Duration::from_secs(600))
}
