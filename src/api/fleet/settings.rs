//! How a fleet is checked, applied and served.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Serialize};

use crate::api::period::Period;
use crate::model::{ForgeKind, ObjectId};

/// A Secret in the fleet's namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SecretName {
    /// Its name.
    #[schemars(length(min = 1))]
    pub name: String,
}

/// The cluster to which definitions are applied.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cluster {
    /// Secret with a kubeconfig; defaults to the cluster the daemon runs in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubeconfig_secret_ref: Option<SecretName>,
}

/// How commits are checked and reported.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct Checks {
    /// Where checks are reported.
    pub provider: CheckProvider,
    /// The repository at the provider, such as `owner/name`, or its URL; defaults to that of `source.git.url`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    /// The web address of the provider; defaults to the server of `source.git.url`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Secret with the credential for the provider; defaults to that of `source.git`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<SecretName>,
    /// Secret for the signatures of webhooks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub webhook_secret_ref: Option<SecretName>,
    /// The pull requests to plan.
    pub pull_requests: PullRequests,
}

/// Where checks are reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CheckProvider {
    /// Git notes, which work with any remote.
    #[default]
    GitNotes,
    /// A forge.
    Forge(ForgeKind),
}

impl CheckProvider {
    fn all() -> impl Iterator<Item = Self> {
        let forges = ForgeKind::ALL.into_iter().map(Self::Forge);
        std::iter::once(Self::GitNotes).chain(forges)
    }

    const fn name(self) -> &'static str {
        match self {
            Self::GitNotes => "GitNotes",
            Self::Forge(kind) => kind.name(),
        }
    }
}

impl Serialize for CheckProvider {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for CheckProvider {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let found = Self::all().find(|provider| provider.name() == text);
        found.ok_or_else(|| D::Error::custom(format!("unknown provider {text:?}")))
    }
}

impl JsonSchema for CheckProvider {
    fn schema_name() -> Cow<'static, str> {
        "CheckProvider".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<&str> = Self::all().map(Self::name).collect();
        json_schema!({"description": "Where checks are reported.", "type": "string", "enum": names})
    }
}

/// The heads of pull requests at GitHub, Gitea and Forgejo; of merge requests at GitLab; of pull requests at Bitbucket
/// Data Center; and branches of that name, for remotes without such refs.
pub const PULL_REQUESTS: [&str; 4] = [
    "refs/pull/*/head",
    "refs/merge-requests/*/head",
    "refs/pull-requests/*/from",
    "refs/heads/pr/*",
];

/// On Azure DevOps, which has no refs of heads: the test merges, whose second parent is the head.
pub const TEST_MERGES: &str = "refs/pull/*/merge";

/// The merges that the merge queue of this branch tries on GitHub, which waits for their required checks: branches such as
/// `gh-readonly-queue/main/pr-12-1a2b3c` (GitHub's documentation of merge queues).
#[must_use]
pub fn merge_queue(branch: &str) -> String {
    let literal: String = branch
        .chars()
        .map(|c| match c {
            '*' | '?' | '[' | ']' | '{' | '}' => format!("[{c}]"),
            c => c.to_string(),
        })
        .collect();
    format!("refs/heads/gh-readonly-queue/{literal}/*")
}

/// The pull requests to plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PullRequests {
    /// Whether pull requests are planned.
    pub enabled: bool,
    /// The refs of their heads.
    pub refs: Vec<String>,
    /// What planning the head of a fork may cost. Anybody can open a pull request.
    pub forks: Forks,
}

impl Default for PullRequests {
    fn default() -> Self {
        Self {
            enabled: true,
            refs: PULL_REQUESTS.map(str::to_owned).to_vec(),
            forks: Forks::default(),
        }
    }
}

/// What planning the head of a fork may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Forks {
    /// How long it may take. The plan of a branch, which runs in the daemon, is waited for five times as long.
    pub timeout: Period,
    /// How many MiB of memory it may take.
    #[serde(rename = "memoryMiB")]
    #[schemars(range(min = 64, max = 65536))]
    pub memory: i64,
}

impl Default for Forks {
    fn default() -> Self {
        Self {
            timeout: Period(Duration::from_secs(60)),
            memory: 512,
        }
    }
}

/// How changes are applied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct Apply {
    /// Whether applying is suspended.
    pub suspend: bool,
    /// Whether objects are deleted when they are removed from the fleet.
    pub prune: bool,
    /// The maximum number of concurrent requests.
    #[schemars(range(min = 1, max = 1024))]
    pub concurrency: i64,
    /// How long new role assignments get to propagate in Azure.
    pub settle: Period,
    /// Limits losses without approval.
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

/// Limits losses without approval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct DeletionGuard {
    /// How many clusters one revision may delete, release or rename without approval.
    #[schemars(range(min = 0))]
    pub max_clusters: i64,
    /// Whether node pools need approval.
    pub pools: PoolGuard,
}

/// Whether the deletion or the rename of a node pool needs approval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum PoolGuard {
    /// Each needs approval.
    #[default]
    Approve,
    /// None needs approval.
    Allow,
}

/// Who may approve the loss of a cluster or a node pool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ApprovalRules {
    /// The accounts at the provider that may approve. If absent, whoever may write to the repository may; if empty, nobody.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approvers: Option<Vec<String>>,
    /// Whether who opened a pull request, or wrote one of its commits, may not approve it.
    pub not_author: bool,
}

impl ApprovalRules {
    /// Returns true if not everybody may approve who may write to the repository.
    #[must_use]
    pub const fn is_set(&self) -> bool {
        self.approvers.is_some() || self.not_author
    }
}

/// An object that something else applies.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OutsideObject {
    /// Its group; any if absent, empty for the core group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Its kind.
    #[schemars(length(min = 1))]
    pub kind: String,
    /// Its namespace; absent for cluster-scoped kinds.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Its name.
    #[schemars(length(min = 1))]
    pub name: String,
}

impl OutsideObject {
    /// Whether it is the object `id`.
    #[must_use]
    pub fn is(&self, id: &ObjectId) -> bool {
        let group = self.group.as_ref();
        group.is_none_or(|group| *group == id.group)
            && (&self.kind, &self.namespace, &self.name) == (&id.kind, &id.namespace, &id.name)
    }
}

/// As other objects are named in messages.
impl fmt::Display for OutsideObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.namespace.as_str() {
            "" => write!(f, "{}/{}", self.kind, self.name),
            namespace => write!(f, "{}/{namespace}/{}", self.kind, self.name),
        }
    }
}

/// The controllers that run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct Controllers {
    /// The controllers of AROCluster, AROControlPlane and AROMachinePool.
    pub aro: Mode,
    /// The controller that declares an AzurePrivateLinkService for each load balancer of a private hosted cluster.
    pub private_link_observer: Mode,
    /// The controller that makes Private Link Services in the management cluster's subscription.
    pub private_link_platform: Mode,
    /// The controller that makes Private Endpoints and DNS zones in the subscriptions of private hosted clusters.
    pub private_link_endpoint: Mode,
    /// How an Azure resource is applied for the first time.
    pub first_apply: FirstApply,
}

/// What becomes of revisions without errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FleetMode {
    /// They are applied.
    #[default]
    Apply,
    /// They are only checked, because something else applies them.
    Check,
}

/// The policy for the objects of a Fleet object that is deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum DeletionPolicy {
    /// They stay.
    #[default]
    Orphan,
    /// They are removed first, by the rules for what leaves a fleet: the loss of a cluster needs approval.
    Delete,
}

/// Whether a controller runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Unless another provider runs it.
    #[default]
    Auto,
    /// Yes.
    On,
    /// No.
    Off,
}

/// How an Azure resource is applied for the first time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FirstApply {
    /// After a check whether it already exists.
    #[default]
    Probe,
    /// Immediately.
    Direct,
}

/// Settings of the rules.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct Rules {
    /// Whether the subscriptions have Azure's feature `ExperimentalReleaseFeatures`.
    pub experimental_release_features: bool,
    /// Regions that have the ARO HCP service, besides those that Capstan knows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub regions: Vec<String>,
}

/// The HTTP servers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct Serve {
    /// Address for health, metrics and webhooks.
    pub address: String,
    /// The admission webhook; disabled if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub admission: Option<Admission>,
    /// The REST API for clusters; disabled if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_provider: Option<ProviderServer>,
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

/// The server of the REST API for clusters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderServer {
    /// Address to listen on.
    #[schemars(length(min = 1))]
    pub address: String,
}

/// The admission webhook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Admission {
    /// Address to listen on.
    #[schemars(length(min = 1))]
    pub address: String,
    /// What happens to a change if the webhook fails.
    #[serde(default)]
    pub failure_policy: FailurePolicy,
}

/// What happens to a change if the admission webhook fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum FailurePolicy {
    /// It is rejected.
    #[default]
    Fail,
    /// It is accepted.
    Ignore,
}
