//! How a fleet is checked, applied and served.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::period::Period;

/// A Secret in the fleet's namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SecretName {
    /// Its name.
    #[schemars(length(min = 1))]
    pub name: String,
}

/// Where definitions are applied.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cluster {
    /// Secret with a kubeconfig; default is the cluster the daemon runs in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubeconfig_secret_ref: Option<SecretName>,
}

/// How commits are told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct Checks {
    /// Where checks are written.
    pub provider: Provider,
    /// The repository at the provider, such as `owner/name`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    /// Secret with the credential for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<SecretName>,
    /// Secret that webhooks are signed with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub webhook_secret_ref: Option<SecretName>,
    /// Which pull requests are planned.
    pub pull_requests: PullRequests,
}

/// Where checks are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Provider {
    /// Git notes, at any remote.
    #[default]
    GitNotes,
    /// GitHub.
    GitHub,
    /// GitLab.
    GitLab,
    /// Gitea and Forgejo.
    Gitea,
    /// Azure DevOps.
    AzureDevOps,
    /// Bitbucket.
    Bitbucket,
}

/// Which pull requests are planned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PullRequests {
    /// Whether any is.
    pub enabled: bool,
    /// The refs that are their heads.
    pub refs: Vec<String>,
}

impl Default for PullRequests {
    fn default() -> Self {
        Self {
            enabled: true,
            refs: ["refs/pull/*/head", "refs/heads/pr/*"]
                .map(str::to_owned)
                .to_vec(),
        }
    }
}

/// How changes are made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct Apply {
    /// Whether nothing is changed for now.
    pub suspend: bool,
    /// Whether objects go away with their files.
    pub prune: bool,
    /// How many requests are under way at once.
    #[schemars(range(min = 1, max = 1024))]
    pub concurrency: i64,
    /// How long role assignments get to reach all of Azure.
    pub settle: Period,
    /// What is deleted without approval.
    pub deletion_guard: DeletionGuard,
}

impl Default for Apply {
    fn default() -> Self {
        Self {
            suspend: false,
            prune: true,
            concurrency: 32,
            settle: Period::minutes(2),
            deletion_guard: DeletionGuard::default(),
        }
    }
}

/// What is deleted without approval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct DeletionGuard {
    /// How many clusters one revision may delete.
    #[schemars(range(min = 0))]
    pub max_clusters: i64,
}

/// Which controllers run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct Controllers {
    /// Those of AROCluster, AROControlPlane and AROMachinePool.
    pub aro: Mode,
    /// Private links: what hosted clusters need.
    pub private_link_observer: Mode,
    /// Private links: the service side.
    pub private_link_platform: Mode,
    /// Private links: the endpoint side.
    pub private_link_endpoint: Mode,
    /// How an Azure resource is first applied.
    pub first_apply: FirstApply,
}

/// Whether a controller runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Unless another provider does its work.
    #[default]
    Auto,
    /// Yes.
    On,
    /// No.
    Off,
}

/// How an Azure resource is first applied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FirstApply {
    /// With a look at whether it exists already.
    #[default]
    Probe,
    /// At once.
    Direct,
}

/// What the rules take into account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct Rules {
    /// Whether the subscriptions have Azure's feature `ExperimentalReleaseFeatures`.
    pub experimental_release_features: bool,
}

/// What is served over HTTP.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct Serve {
    /// Where health, metrics and webhooks are.
    pub address: String,
    /// The admission webhook; absent means none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub admission: Option<Admission>,
    /// The service provider API; absent means none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_provider: Option<ServiceProvider>,
}

impl Default for Serve {
    fn default() -> Self {
        Self {
            address: "127.0.0.1:8080".to_owned(),
            admission: None,
            service_provider: None,
        }
    }
}

/// The admission webhook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Admission {
    /// Where it listens.
    #[schemars(length(min = 1))]
    pub address: String,
    /// What happens when it cannot answer.
    #[serde(default)]
    pub failure_policy: FailurePolicy,
}

/// What happens to a change that the admission webhook cannot judge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum FailurePolicy {
    /// It is refused.
    #[default]
    Fail,
    /// It is let through.
    Ignore,
}

/// The service provider API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServiceProvider {
    /// Where it listens.
    #[schemars(length(min = 1))]
    pub address: String,
}
