//! Resolves flags, environment and Fleet document once. The only reader of the environment.
//!
//! In: a Fleet document and `CAPSTAN_*`. Out: small values for the other modules. It does not know what
//! they do with them.

mod azure;
mod credential;
mod environment;
mod object;
mod object_only;
mod provider;
mod provider_environment;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value as Json;

use crate::api::fleet::{
    self, ApprovalRules, CheckProvider, Controllers, DeletionGuard, DeletionPolicy, Fleet,
    FleetMode, FleetPolicy, GitReference, Verify, VerifyMode,
};
use crate::api::period::Period;
use crate::api::timeline;
use crate::model::{Finding, ForgeKind, Node, PublicKey, RepositoryUrl, Severity, Value, hex};
use crate::yaml;

pub use azure::{Azure, AzureIdentity};
pub use credential::SourceCredential;
pub use environment::{Environment, HttpsProxy};
pub use object::FleetOwner;
pub use provider::ProviderConfig;
pub use provider_environment::ProviderEnvironment;

pub use crate::api::fleet::suspending;

/// The commits that must be signed, and the keys that count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verification {
    /// The commits that must be signed.
    pub mode: VerifyMode,
    /// The keys that are accepted.
    pub keys: Vec<PublicKey>,
}

impl From<Verify> for Verification {
    /// A key that cannot be read is a finding of the document, and accepts nothing.
    fn from(verify: Verify) -> Self {
        let keys = verify.keys.iter().flat_map(|key| PublicKey::read(key));
        Self {
            mode: verify.mode,
            keys: keys.flatten().collect(),
        }
    }
}

/// The forge on which checks are shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForgeConfig {
    /// Its kind.
    pub provider: ForgeKind,
    /// The repository there, `owner/name` or a URL; `None` for that of the source.
    pub repository: Option<String>,
    /// The web address of the forge; `None` for the server of the source.
    pub address: Option<String>,
    /// The place of its credential; `None` for that of the source.
    pub credential: Option<SourceCredential>,
}

/// What planning the head of a fork may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForkLimits {
    /// The longest time.
    pub time: Duration,
    /// The most memory, in bytes.
    pub memory: u64,
}

impl Default for ForkLimits {
    fn default() -> Self {
        fleet::Forks::default().into()
    }
}

impl From<fleet::Forks> for ForkLimits {
    fn from(forks: fleet::Forks) -> Self {
        Self {
            time: forks.timeout.0.max(Duration::from_secs(1)),
            memory: u64::try_from(forks.memory).unwrap_or_default() << 20,
        }
    }
}

/// The source that the daemon follows, and its settings.
#[derive(Clone, Debug, PartialEq)]
pub struct SyncConfig {
    /// The fleet's name: part of the checks' contexts and of the ApplySet.
    pub fleet: String,
    /// It is a tenant's: fleets of other tenants may have its name.
    pub is_tenants: bool,
    /// The namespace of the ApplySet's parent.
    pub namespace: String,
    /// The Fleets of that namespace that must be ready before this one begins.
    pub depends_on: Vec<String>,
    /// The policy for the applied objects when the Fleet object is deleted.
    pub deletion_policy: DeletionPolicy,
    /// The ServiceAccount of that namespace that applies the objects; `None` for that of the process, or of the kubeconfig.
    pub service_account: Option<String>,
    /// The repository; of a directory, its path.
    pub url: String,
    /// The directory to follow in place of a repository.
    pub directory: Option<PathBuf>,
    /// Nothing is followed: the service provider writes to the hub alone.
    pub follows_nothing: bool,
    /// The file for the checks of a directory; `None` for a file beside its mirror.
    pub status_file: Option<PathBuf>,
    /// The place of its credential, if it needs one.
    pub credential: Option<SourceCredential>,
    /// The proxy to it.
    pub proxy: Option<HttpsProxy>,
    /// The ref to follow; `None` is the default branch.
    pub reference: Option<GitReference>,
    /// The signatures that are required before a commit is applied; `None` for none.
    pub verify: Option<Verification>,
    /// The fleet's directory in the repository; empty for its root.
    pub path: String,
    /// Directories of overlays in the repository.
    pub overlays: Vec<String>,
    /// Directories of overlays on this machine.
    pub local_overlays: Vec<PathBuf>,
    /// What becomes of revisions without errors.
    pub mode: FleetMode,
    /// The time between two looks for new commits.
    pub interval: Duration,
    /// Refs whose commits get a plan check.
    pub candidates: Vec<String>,
    /// The program that plans heads of forks in a process of its own: Capstan. `None` plans them in this process, which
    /// is only for input that can be trusted.
    pub fork_planner: Option<PathBuf>,
    /// The limits of planning the head of a fork.
    pub fork_limits: ForkLimits,
    /// The most requests to the cluster at once.
    pub concurrency: usize,
    /// The time that new role assignments take to propagate.
    pub settle: Duration,
    /// True if new revisions are planned but not applied.
    pub suspend: bool,
    /// True if objects are deleted when their files are.
    pub prune: bool,
    /// The losses that need no approval.
    pub allowed: DeletionGuard,
    /// The people who may approve losses.
    pub approvals: ApprovalRules,
    /// The Secret with the kubeconfig of the cluster to apply to. It is in the fleet's namespace in the cluster
    /// that Capstan connects to; `None` to apply to that cluster itself.
    pub kubeconfig_secret: Option<String>,
    /// The forge on which checks are shown; `None` for git notes.
    pub forge: Option<ForgeConfig>,
    /// The controllers that run.
    pub controllers: Controllers,
    /// The settings that the fleet's rules depend on.
    pub policy: FleetPolicy,
    /// The address of health, metrics and webhooks, if they are served: `host:port` or `:port`.
    pub serve: Option<String>,
    /// The settings of the admission webhook, if it is served.
    pub admission: Option<fleet::Admission>,
    /// The place of the secrets of webhooks, if there are webhooks.
    pub webhook_secret: Option<SourceCredential>,
    /// The service provider, if there is one.
    pub provider: Option<ProviderConfig>,
    /// The directory of the mirror of the repository.
    pub mirror: PathBuf,
}

/// A Fleet document that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be read.
    #[error("cannot read {path}: {cause}")]
    Unreadable {
        /// The file.
        path: String,
        /// The system's error.
        cause: std::io::Error,
    },
    /// The file is not a Fleet document, or has errors.
    #[error("{0}")]
    Mistaken(String),
}

impl SyncConfig {
    /// Follows `reference`, or the default branch, of `url`; the fleet is named after the repository.
    #[must_use]
    pub fn source(url: &str, reference: Option<GitReference>, environment: &Environment) -> Self {
        let fleet = name_of(url);
        let apply = fleet::Apply::default();
        Self {
            mirror: environment.cache.join(mirror_name(&fleet, url)),
            is_tenants: false,
            follows_nothing: false,
            fleet,
            namespace: environment.namespace.clone(),
            service_account: None,
            depends_on: Vec::new(),
            deletion_policy: DeletionPolicy::default(),
            url: url.to_owned(),
            directory: None,
            status_file: None,
            credential: in_directory(environment),
            proxy: environment.proxy.clone(),
            reference,
            verify: None,
            path: String::new(),
            overlays: Vec::new(),
            local_overlays: Vec::new(),
            mode: FleetMode::Apply,
            interval: match RepositoryUrl::split(url).is_local() {
                true => Duration::from_secs(1),
                false => Duration::from_secs(60),
            },
            candidates: fleet::PullRequests::default().refs,
            fork_planner: None,
            fork_limits: ForkLimits::default(),
            concurrency: usize::try_from(apply.concurrency).unwrap_or(1),
            settle: timeline::SETTLE,
            suspend: false,
            prune: apply.prune,
            allowed: DeletionGuard::default(),
            approvals: ApprovalRules::default(),
            kubeconfig_secret: None,
            forge: None,
            controllers: Controllers::default(),
            policy: FleetPolicy {
                bindings: environment.azure.bindings.clone(),
                ..FleetPolicy::default()
            },
            serve: None,
            admission: None,
            webhook_secret: None,
            provider: None,
        }
    }

    /// Follows a directory that another program keeps up to date; the fleet is named after it.
    #[must_use]
    pub fn directory(directory: &std::path::Path, environment: &Environment) -> Self {
        // `.` has no name.
        let whole = std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned());
        let source = Self::source(&whole.display().to_string(), None, environment);
        Self {
            mirror: source.mirror.with_extension("directory"),
            directory: Some(whole),
            credential: None,
            interval: DIRECTORY_INTERVAL,
            candidates: Vec::new(),
            ..source
        }
    }

    /// Follows what the Fleet document in `file` names.
    ///
    /// # Errors
    /// If the file is not a Fleet document, has errors, or needs what this version does not support.
    pub fn file(file: &std::path::Path, environment: &Environment) -> Result<Self, Error> {
        let (path, text) = text(file)?;
        Self::document(&path, &text, environment)
    }

    /// The fleet in the names of its checks: a tenant's with its namespace.
    #[must_use]
    pub fn checks_name(&self) -> String {
        match self.is_tenants {
            true => format!("{}/{}", self.namespace, self.fleet),
            false => self.fleet.clone(),
        }
    }

    /// Returns true if nothing is applied, because something else does that.
    #[must_use]
    pub fn is_check_only(&self) -> bool {
        self.mode == FleetMode::Check
    }

    /// Returns true if a Secret of a cluster holds something that is needed to follow the fleet.
    #[must_use]
    pub fn reads_secrets(&self) -> bool {
        let forge = self
            .forge
            .as_ref()
            .and_then(|forge| forge.credential.as_ref());
        let needed = [
            self.credential.as_ref(),
            forge,
            self.webhook_secret.as_ref(),
        ];
        let mut needed = needed.into_iter().flatten();
        needed.any(|one| matches!(one, SourceCredential::Secret(_)))
    }

    /// Follows what the Fleet document in a text names; `path` is that of its file in messages.
    ///
    /// # Errors
    /// If the text is not one Fleet document, or the document has errors.
    pub fn document(path: &str, text: &[u8], environment: &Environment) -> Result<Self, Error> {
        let (document, fleet) = fleet_in(path, text)?;
        if let Some(why) = object_only::object_settings(&fleet) {
            return Err(Error::Mistaken(format!("{path}: {why}")));
        }
        Self::settled(path, &document, fleet, environment)
    }

    fn settled(
        path: &str,
        document: &Node,
        fleet: Fleet,
        environment: &Environment,
    ) -> Result<Self, Error> {
        let policy = FleetPolicy {
            bindings: environment.azure.bindings.clone(),
            ..FleetPolicy::from(&fleet)
        };
        let missing = || Error::Mistaken(format!("{path}: spec.source is empty"));
        let provider = provider::config(&fleet.spec, &environment.provider);
        let provider = provider.map_err(|why| Error::Mistaken(format!("{path}: {why}")))?;
        let directory = fleet.spec.source.directory;
        let follows_nothing = directory.as_ref().is_some_and(fleet::Directory::is_nowhere);
        let at = directory.as_ref().map(|directory| {
            if follows_nothing {
                environment.cache.join("nothing")
            } else {
                PathBuf::from(&directory.path)
            }
        });
        let git = fleet.spec.source.git.or_else(|| directory.map(as_git));
        let git = git.ok_or_else(missing)?;
        let name = fleet.metadata.name.unwrap_or_default();
        let forge = forge(&fleet.spec.checks, environment);
        let depends_on = fleet.spec.depends_on;
        let pulls = fleet.spec.checks.pull_requests;
        let fork_limits = pulls.forks.into();
        let webhook_secret = fleet.spec.checks.webhook_secret_ref;
        let serves = is_set(document, "serve");
        let cluster = fleet.spec.cluster;
        let mirror = environment.cache.join(mirror_name(&name, &git.url));
        let candidates = match at {
            Some(_) => Vec::new(),
            None => candidates(pulls, fleet.spec.checks.provider, &git.reference),
        };
        Ok(Self {
            mirror: match &at {
                Some(_) => mirror.with_extension("directory"),
                None => mirror,
            },
            is_tenants: false,
            follows_nothing,
            fleet: name,
            service_account: fleet.spec.service_account_name,
            depends_on: depends_on.into_iter().map(|fleet| fleet.name).collect(),
            deletion_policy: fleet.spec.deletion_policy,
            namespace: fleet
                .metadata
                .namespace
                .unwrap_or_else(|| environment.namespace.clone()),
            url: git.url,
            status_file: None,
            credential: in_directory(environment)
                .filter(|_| at.is_none())
                .or_else(|| {
                    let secret = git.secret_ref.map(|secret| secret.name);
                    secret.map(SourceCredential::Secret)
                }),
            proxy: environment.proxy.clone(),
            directory: at,
            reference: Some(git.reference),
            verify: git.verify.map(Verification::from),
            path: git.path,
            overlays: git.overlays,
            local_overlays: Vec::new(),
            mode: fleet.spec.mode,
            interval: git.interval.0.max(Duration::from_secs(1)),
            candidates,
            fork_planner: None,
            fork_limits,
            concurrency: usize::try_from(fleet.spec.apply.concurrency).unwrap_or(1),
            settle: fleet.spec.apply.settle.0,
            suspend: fleet.spec.apply.suspend,
            prune: fleet.spec.apply.prune,
            allowed: fleet.spec.apply.deletion_guard,
            approvals: fleet.spec.approvals,
            kubeconfig_secret: cluster
                .kubeconfig_secret_ref
                .map(|secret| secret.name)
                .or_else(|| provider.as_ref()?.hub.clone()),
            forge,
            controllers: fleet.spec.controllers,
            policy,
            serve: serves.then_some(fleet.spec.serve.address),
            admission: fleet.spec.serve.admission,
            webhook_secret: webhook_secret.map(|secret| SourceCredential::Secret(secret.name)),
            provider,
        })
    }
}

/// Returns true if the document sets `field` of its spec: a port is opened for those alone who want one.
fn is_set(document: &Node, field: &str) -> bool {
    let value = document.get("spec").and_then(|spec| spec.get(field));
    value.is_some_and(|value| value.value != Value::Null)
}

/// The time between two looks at a directory although it is watched: some file systems report nothing.
const DIRECTORY_INTERVAL: Duration = Duration::from_secs(30);

/// A directory in the words of a repository.
fn as_git(directory: fleet::Directory) -> fleet::Git {
    fleet::Git {
        url: directory.path,
        reference: GitReference::default(),
        path: String::new(),
        interval: Period(DIRECTORY_INTERVAL),
        overlays: directory.overlays,
        secret_ref: None,
        verify: None,
    }
}

/// The flag and the environment come before the document.
fn in_directory(environment: &Environment) -> Option<SourceCredential> {
    let directory = environment.source_credential.clone();
    directory.map(SourceCredential::Directory)
}

/// The forge that a document names.
fn forge(checks: &fleet::Checks, environment: &Environment) -> Option<ForgeConfig> {
    let files = environment.checks_credential.clone();
    let secret = checks.secret_ref.as_ref().map(|secret| secret.name.clone());
    let CheckProvider::Forge(provider) = checks.provider else {
        return None;
    };
    Some(ForgeConfig {
        provider,
        repository: checks.repository.clone(),
        address: checks.address.clone(),
        credential: files
            .map(SourceCredential::Directory)
            .or_else(|| secret.map(SourceCredential::Secret)),
    })
}

/// The refs of pull requests; where none are set, those of the provider among them.
fn candidates(
    pulls: fleet::PullRequests,
    provider: CheckProvider,
    followed: &GitReference,
) -> Vec<String> {
    let mut refs = match pulls.enabled {
        true => pulls.refs,
        false => return Vec::new(),
    };
    let CheckProvider::Forge(provider) = provider else {
        return refs;
    };
    if refs == fleet::PULL_REQUESTS {
        match (provider, &followed.branch) {
            (ForgeKind::AzureDevOps, _) => refs.push(fleet::TEST_MERGES.to_owned()),
            (ForgeKind::GitHub, Some(branch)) => refs.push(fleet::merge_queue(branch)),
            _ => {}
        }
    }
    refs
}

/// The settings of a plan without a cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanSettings {
    /// The settings that the fleet's rules depend on.
    pub policy: FleetPolicy,
    /// The signatures that are required.
    pub verify: Option<Verification>,
    /// The time that new role assignments take to propagate.
    pub settle: Duration,
    /// True if objects are deleted when their files are.
    pub prune: bool,
    /// The losses that need no approval.
    pub allowed: DeletionGuard,
    /// The people who may approve losses.
    pub approvals: ApprovalRules,
}

impl Default for PlanSettings {
    fn default() -> Self {
        Self {
            policy: FleetPolicy::default(),
            verify: None,
            settle: timeline::SETTLE,
            prune: fleet::Apply::default().prune,
            allowed: DeletionGuard::default(),
            approvals: ApprovalRules::default(),
        }
    }
}

impl PlanSettings {
    /// Those in the Fleet document in `file`; its other settings are ignored.
    ///
    /// # Errors
    /// If the file is not a Fleet document or has errors.
    pub fn file(file: &std::path::Path) -> Result<Self, Error> {
        let (path, text) = text(file)?;
        let fleet = fleet_in(&path, &text)?.1;
        let apply = &fleet.spec.apply;
        Ok(Self {
            policy: policy_of(&fleet),
            settle: apply.settle.0,
            prune: apply.prune,
            allowed: apply.deletion_guard,
            approvals: fleet.spec.approvals,
            verify: fleet
                .spec
                .source
                .git
                .and_then(|git| git.verify)
                .map(Verification::from),
        })
    }
}

/// The settings for rules in the Fleet document in `file`; its other settings are ignored.
///
/// # Errors
/// If the file is not a Fleet document or has errors.
pub fn policy(file: &std::path::Path) -> Result<FleetPolicy, Error> {
    let (path, text) = text(file)?;
    Ok(policy_of(&fleet_in(&path, &text)?.1))
}

/// The settings for rules in a Fleet document. One that is valid as an object alone starts no controllers.
fn policy_of(fleet: &Fleet) -> FleetPolicy {
    let policy = FleetPolicy::from(fleet);
    FleetPolicy {
        links: policy
            .links
            .filter(|_| object_only::object_settings(fleet).is_none()),
        ..policy
    }
}

/// The Fleet document in `file` as an object, and as it is understood.
///
/// # Errors
/// If the file is not a Fleet document or has errors.
pub fn fleet(file: &std::path::Path) -> Result<(Json, Fleet), Error> {
    let (path, text) = text(file)?;
    let (document, fleet) = fleet_in(&path, &text)?;
    Ok((document.to_json(), fleet))
}

fn text(file: &std::path::Path) -> Result<(String, Vec<u8>), Error> {
    let path = file.display().to_string();
    match std::fs::read(file) {
        Ok(text) => Ok((path, text)),
        Err(cause) => Err(Error::Unreadable { path, cause }),
    }
}

/// The only Fleet document of a text.
fn fleet_in(path: &str, text: &[u8]) -> Result<(Node, Fleet), Error> {
    let (mut documents, mut findings) = yaml::read(&Arc::from(path), text);
    let count = documents.len();
    let (Some(document), true) = (documents.pop(), documents.is_empty()) else {
        let message = findings.first().map_or_else(
            || format!("{path}: expected one Fleet document, found {count} documents"),
            ToString::to_string,
        );
        return Err(Error::Mistaken(message));
    };
    let (fleet, more) = fleet::read(&document);
    findings.extend(more);
    let errors = errors(findings);
    let fleet = fleet.filter(|_| errors.is_empty());
    let fleet = fleet.ok_or_else(|| Error::Mistaken(errors.join("\n")))?;
    Ok((document, fleet))
}

/// The errors in the order of their lines. In a document of another kind nothing else matters.
fn errors(mut findings: Vec<Finding>) -> Vec<String> {
    findings.retain(|finding| finding.severity == Severity::Error);
    let is_kind = |finding: &Finding| {
        let field = finding.field.as_ref().map(ToString::to_string);
        matches!(field.as_deref(), Some("apiVersion" | "kind"))
    };
    if findings.iter().any(is_kind) {
        findings.retain(is_kind);
    }
    let place = |finding: &Finding| {
        let span = finding.span.as_ref()?;
        Some((span.start.line, span.start.column))
    };
    findings.sort_by_key(place);
    findings.iter().map(ToString::to_string).collect()
}

/// The last part of a URL as a Kubernetes name: `https://x/config.git` is `config`.
fn name_of(url: &str) -> String {
    let last = url
        .trim_end_matches('/')
        .rsplit(['/', ':'])
        .next()
        .unwrap_or_default();
    let last = last.strip_suffix(".git").unwrap_or(last).to_lowercase();
    let name: String = last
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    match name.trim_matches('-') {
        "" => "fleet".to_owned(),
        name => name.chars().take(40).collect(),
    }
}

/// A directory name that differs between repositories of the same name.
fn mirror_name(fleet: &str, url: &str) -> String {
    use sha2::{Digest, Sha256};
    let digest = Sha256::digest(url);
    let short = hex(&digest[..4]);
    format!("{fleet}-{short}.git")
}
