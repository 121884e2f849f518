//! Resolves flags, environment and Fleet document once. The only reader of the environment.
//!
//! In: a Fleet document and `CAPSTAN_*`. Out: small values for the other modules. It does not know what
//! they do with them.

mod environment;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::api::fleet::{self, Fleet, FleetPolicy, GitReference, Provider, Verify, VerifyMode};
use crate::api::timeline;
use crate::model::{Finding, Node, Path, PublicKey, Severity, Value};
use crate::yaml;

pub use environment::{Environment, HttpsProxy};

/// Where the credential of the repository is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceCredential {
    /// Files in a directory, named as the keys of a Secret.
    Directory(PathBuf),
    /// A Secret in the fleet's namespace in the cluster that Capstan connects to.
    Secret(String),
}

/// What must be signed, and by whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verification {
    /// What must be signed.
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
    /// Which kind; never git notes.
    pub provider: Provider,
    /// The repository there, `owner/name` or a URL; `None` for that of the source.
    pub repository: Option<String>,
    /// The web address of the forge; `None` for the server of the source.
    pub address: Option<String>,
    /// Where its credential is; `None` for that of the source.
    pub credential: Option<SourceCredential>,
}

/// What the daemon follows, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct SyncConfig {
    /// The fleet's name: part of the checks' contexts and of the ApplySet.
    pub fleet: String,
    /// The namespace of the ApplySet's parent.
    pub namespace: String,
    /// The repository.
    pub url: String,
    /// Where its credential is, if it needs one.
    pub credential: Option<SourceCredential>,
    /// The proxy to it.
    pub proxy: Option<HttpsProxy>,
    /// The ref to follow; `None` is the default branch.
    pub reference: Option<GitReference>,
    /// What must be signed before it is applied; `None` for nothing.
    pub verify: Option<Verification>,
    /// The fleet's directory in the repository; empty for its root.
    pub path: String,
    /// Directories of overlays in the repository.
    pub overlays: Vec<String>,
    /// Directories of overlays on this machine.
    pub local_overlays: Vec<PathBuf>,
    /// How often to look for new commits.
    pub interval: Duration,
    /// Refs whose commits get a plan check.
    pub candidates: Vec<String>,
    /// How many requests to the cluster may run at once.
    pub concurrency: usize,
    /// How long new role assignments take to propagate.
    pub settle: Duration,
    /// Whether new revisions are planned but not applied.
    pub suspend: bool,
    /// Whether objects are deleted when their files are.
    pub prune: bool,
    /// How many clusters one revision may delete without approval.
    pub max_clusters: usize,
    /// The Secret with the kubeconfig of the cluster to apply to. It is in the fleet's namespace in the cluster
    /// that Capstan connects to; `None` to apply to that cluster itself.
    pub kubeconfig_secret: Option<String>,
    /// The forge on which checks are shown; `None` for git notes.
    pub forge: Option<ForgeConfig>,
    /// The settings that the fleet's rules depend on.
    pub policy: FleetPolicy,
    /// Where health, metrics and webhooks are served, if they are: `host:port` or `:port`.
    pub serve: Option<String>,
    /// Where the secrets of webhooks are, if there are webhooks.
    pub webhook_secret: Option<SourceCredential>,
    /// Where the mirror of the repository is kept.
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
    /// A setting that this version does not support. Ignoring it could be unsafe.
    #[error("{place}: this version does not support {setting}; remove it to continue without it")]
    Unsupported {
        /// Where it is set.
        place: String,
        /// The setting.
        setting: String,
    },
}

impl SyncConfig {
    /// Follows `reference`, or the default branch, of `url`; the fleet is named after the repository.
    #[must_use]
    pub fn source(url: &str, reference: Option<GitReference>, environment: &Environment) -> Self {
        let fleet = name_of(url);
        let apply = fleet::Apply::default();
        Self {
            mirror: environment.cache.join(mirror_name(&fleet, url)),
            fleet,
            namespace: environment.namespace.clone(),
            url: url.to_owned(),
            credential: in_directory(environment),
            proxy: environment.proxy.clone(),
            reference,
            verify: None,
            path: String::new(),
            overlays: Vec::new(),
            local_overlays: Vec::new(),
            interval: match is_local(url) {
                true => Duration::from_secs(1),
                false => Duration::from_secs(60),
            },
            candidates: fleet::PullRequests::default().refs,
            concurrency: usize::try_from(apply.concurrency).unwrap_or(1),
            settle: timeline::SETTLE,
            suspend: false,
            prune: apply.prune,
            max_clusters: 0,
            kubeconfig_secret: None,
            forge: None,
            policy: FleetPolicy::default(),
            serve: None,
            webhook_secret: None,
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

    fn document(path: &str, text: &[u8], environment: &Environment) -> Result<Self, Error> {
        let (document, fleet) = fleet_in(path, text)?;
        let policy = FleetPolicy::from(&fleet);
        if let Some(spec) = document.get("spec") {
            refuse(spec, &Path::default())?;
        }
        let missing = || Error::Mistaken(format!("{path}: spec.source.git is missing"));
        let git = fleet.spec.source.git.ok_or_else(missing)?;
        let name = fleet.metadata.name.unwrap_or_default();
        let forge = forge(&fleet.spec.checks, environment);
        let pulls = fleet.spec.checks.pull_requests;
        let webhook_secret = fleet.spec.checks.webhook_secret_ref;
        let serves = is_set(&document, "serve");
        let cluster = fleet.spec.cluster;
        Ok(Self {
            mirror: environment.cache.join(mirror_name(&name, &git.url)),
            fleet: name,
            namespace: fleet
                .metadata
                .namespace
                .unwrap_or_else(|| environment.namespace.clone()),
            url: git.url,
            credential: in_directory(environment).or_else(|| {
                let secret = git.secret_ref.map(|secret| secret.name);
                secret.map(SourceCredential::Secret)
            }),
            proxy: environment.proxy.clone(),
            reference: Some(git.reference),
            verify: git.verify.map(Verification::from),
            path: git.path,
            overlays: git.overlays,
            local_overlays: Vec::new(),
            interval: git.interval.0.max(Duration::from_secs(1)),
            candidates: if pulls.enabled {
                pulls.refs
            } else {
                Vec::new()
            },
            concurrency: usize::try_from(fleet.spec.apply.concurrency).unwrap_or(1),
            settle: fleet.spec.apply.settle.0,
            suspend: fleet.spec.apply.suspend,
            prune: fleet.spec.apply.prune,
            max_clusters: usize::try_from(fleet.spec.apply.deletion_guard.max_clusters)
                .unwrap_or(0),
            kubeconfig_secret: cluster.kubeconfig_secret_ref.map(|secret| secret.name),
            forge,
            policy,
            serve: serves.then_some(fleet.spec.serve.address),
            webhook_secret: webhook_secret.map(|secret| SourceCredential::Secret(secret.name)),
        })
    }
}

/// Whether the document sets `field` of its spec: a port is opened for those alone who want one.
fn is_set(document: &Node, field: &str) -> bool {
    let value = document.get("spec").and_then(|spec| spec.get(field));
    value.is_some_and(|value| value.value != Value::Null)
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
    (checks.provider != Provider::GitNotes).then(|| ForgeConfig {
        provider: checks.provider,
        repository: checks.repository.clone(),
        address: checks.address.clone(),
        credential: files
            .map(SourceCredential::Directory)
            .or_else(|| secret.map(SourceCredential::Secret)),
    })
}

/// Whether it costs nobody anything to look at the repository every second.
fn is_local(url: &str) -> bool {
    match url.split_once("://") {
        Some((scheme, _)) => scheme == "file",
        None => !url.split('/').next().unwrap_or_default().contains(':'),
    }
}

/// The settings for rules in the Fleet document in `file`; its other settings are ignored.
///
/// # Errors
/// If the file is not a Fleet document or has errors.
pub fn policy(file: &std::path::Path) -> Result<FleetPolicy, Error> {
    let (path, text) = text(file)?;
    Ok(FleetPolicy::from(&fleet_in(&path, &text)?.1))
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

/// The settings that this version supports.
const CARRIED_OUT: [&str; 23] = [
    "source.git.url",
    "source.git.ref",
    "source.git.path",
    "source.git.interval",
    "source.git.overlays",
    "source.git.secretRef",
    "source.git.verify",
    "cluster.kubeconfigSecretRef",
    "checks.provider",
    "checks.repository",
    "checks.address",
    "checks.secretRef",
    "checks.pullRequests",
    "checks.webhookSecretRef",
    "apply.suspend",
    "apply.concurrency",
    "apply.settle",
    "apply.prune",
    "apply.deletionGuard",
    "tenancy",
    "rules.experimentalReleaseFeatures",
    "rules.regions",
    "serve.address",
];

/// Rejects the first setting of `spec` below `at` that this version would have to ignore, since that
/// could be unsafe. A setting that asks only for what this version does anyway is accepted.
fn refuse(node: &Node, at: &Path) -> Result<(), Error> {
    let fields = node.as_map().into_iter().flat_map(|map| map.iter());
    for (key, value) in fields {
        let (path, here) = (
            at.key(key.name.as_ref()),
            at.key(key.name.as_ref()).to_string(),
        );
        let harmless = value.value == Value::Null || CARRIED_OUT.contains(&here.as_str());
        let below = format!("{here}.");
        if harmless {
            continue;
        }
        if !CARRIED_OUT.iter().any(|name| name.starts_with(&below)) {
            return Err(Error::Unsupported {
                place: key.origin.span().to_string(),
                setting: format!("spec.{here}"),
            });
        }
        refuse(value, &path)?;
    }
    Ok(())
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
    let short: String = digest
        .iter()
        .take(4)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("{fleet}-{short}.git")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment() -> Environment {
        Environment::from(|name| (name == "HOME").then(|| "/home/me".to_owned()))
    }

    #[test]
    fn the_credential_is_that_of_the_flag_or_of_the_document() {
        let source =
            "{source: {git: {url: 'https://h/x', secretRef: {name: git}, ref: {semver: 1.x}}}}";
        let config = document(source).expect("it is sound");
        assert_eq!(
            config.credential,
            Some(SourceCredential::Secret("git".to_owned()))
        );
        let range = config.reference.and_then(|reference| reference.semver);
        assert_eq!(range.as_deref(), Some("1.x"));
        let mut environment = environment();
        environment.source_credential = Some("/run/git".into());
        let config = SyncConfig::source("https://h/x", None, &environment);
        let files = SourceCredential::Directory("/run/git".into());
        assert_eq!(config.credential, Some(files));
        assert_eq!(config.interval, Duration::from_secs(60));
        let message = document(&source.replace("1.x", "soon")).expect_err("no range");
        assert!(
            message.contains("\"soon\" is not a range of versions"),
            "{message}"
        );
    }

    #[test]
    fn checks_go_to_the_forge_that_the_document_names() {
        let of = |checks: &str| {
            let spec = format!("{{source: {{git: {{url: 'https://h/o/r'}}}}, checks: {checks}}}");
            document(&spec).expect("it is sound").forge
        };
        assert_eq!(of("{}"), None);
        assert_eq!(of("{provider: GitNotes}"), None);
        let gitea = ForgeConfig {
            provider: Provider::Gitea,
            repository: None,
            address: None,
            credential: None,
        };
        assert_eq!(of("{provider: Gitea}"), Some(gitea.clone()));
        let secret = SourceCredential::Secret("token".to_owned());
        assert_eq!(
            of(
                "{provider: Gitea, repository: o/x, address: 'https://g', secretRef: {name: token}}"
            ),
            Some(ForgeConfig {
                repository: Some("o/x".to_owned()),
                address: Some("https://g".to_owned()),
                credential: Some(secret),
                ..gitea
            })
        );
    }

    #[test]
    fn a_source_is_called_after_its_repository() {
        for (url, name) in [
            ("/srv/Config.git", "config"),
            ("file:///a/b/", "b"),
            ("https://x/y_z.git", "y-z"),
            ("/", "fleet"),
        ] {
            assert_eq!(SyncConfig::source(url, None, &environment()).fleet, name);
        }
        assert_ne!(
            SyncConfig::source("/a/x", None, &environment()).mirror,
            SyncConfig::source("/b/x", None, &environment()).mirror
        );
    }

    fn document(spec: &str) -> Result<SyncConfig, String> {
        let text = format!(
            "apiVersion: capstan.dev/v1alpha1\nkind: Fleet\nmetadata: {{name: prod, namespace: fleets}}\nspec: {spec}\n"
        );
        SyncConfig::document("fleet.yaml", text.as_bytes(), &environment())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_fleet_document_is_resolved_with_its_defaults() {
        let config = document("{source: {git: {url: /srv/config.git, path: fleet, interval: 5s}}}")
            .expect("it is sound");
        assert_eq!(
            (config.fleet.as_str(), config.namespace.as_str()),
            ("prod", "fleets")
        );
        assert_eq!(
            (config.path.as_str(), config.interval),
            ("fleet", Duration::from_secs(5))
        );
        assert_eq!(
            config
                .reference
                .and_then(|reference| reference.branch)
                .as_deref(),
            Some("main")
        );
        assert_eq!(config.candidates, fleet::PULL_REQUESTS);
        assert_eq!(
            (config.concurrency, config.settle),
            (32, Duration::from_secs(120))
        );
        assert_eq!(config.kubeconfig_secret, None);
    }

    #[test]
    fn the_policy_has_what_the_rules_need() {
        let config = document(
            "{source: {git: {url: /x, path: /fleet/}}, tenancy: [{path: a, kinds: []}], rules: {experimentalReleaseFeatures: true}}",
        );
        let policy = config.expect("it is sound").policy;
        assert_eq!((policy.root.as_str(), policy.experimental), ("fleet", true));
        assert_eq!(policy.tenants[0].kinds, Some(Vec::new()));
        let policy = document("{source: {git: {url: /x}}}")
            .expect("it is sound")
            .policy;
        assert_eq!(policy, FleetPolicy::default());
    }

    #[test]
    fn the_cluster_may_be_that_of_a_kubeconfig_in_a_secret() {
        let of = |cluster: &str| {
            document(&format!(
                "{{source: {{git: {{url: /x}}}}, cluster: {cluster}}}"
            ))
        };
        let named = of("{kubeconfigSecretRef: {name: mgmt}}").expect("it is sound");
        assert_eq!(named.kubeconfig_secret.as_deref(), Some("mgmt"));
        assert_eq!(of("{}").expect("it is sound").kubeconfig_secret, None);
        assert!(of("{kubeconfigSecretRef: {name: ''}}").is_err());
        let message = of("{kubeconfigSecretRef: {name: a, key: b}}").expect_err("no such field");
        assert!(message.contains("key"), "{message}");
    }

    #[test]
    fn mistakes_and_what_is_not_supported_yet_are_reported() {
        let cases = [
            ("{source: {git: {url: /x, brnch: main}}}", "fleet.yaml:4:"),
            (
                "{source: {git: {url: /x, verify: {keys: [k]}}}}",
                "fleet.yaml:4:48: S04 the key is neither",
            ),
            (
                "{source: {git: {url: /x, verify: {mode: Tag, keys: [k]}}}}",
                "fleet.yaml:4:47: S04 mode Tag verifies the followed tag",
            ),
            (
                "{source: {git: {url: /x}}, tenancy: [{path: a, identities: }]}",
                "spec.tenancy[0].identities has no value",
            ),
            (
                "{source: {git: {url: /x}}, serve: {admission: {address: ':9443'}}}",
                "fleet.yaml:4:42: this version does not support spec.serve.admission",
            ),
            (
                "{source: {git: {url: /x}}, serve: {serviceProvider: {address: ':1'}}}",
                "does not support spec.serve.serviceProvider",
            ),
            (
                "{source: {directory: {path: /x}}}",
                "does not support spec.source.directory",
            ),
        ];
        for (spec, expected) in cases {
            let message = document(spec).expect_err(spec);
            assert!(message.contains(expected), "{spec}: {message}");
        }
        assert!(SyncConfig::document("f", b"a: [", &environment()).is_err());
    }

    #[test]
    fn a_port_is_opened_only_for_who_asks_for_one() {
        let of = |more: &str| {
            let config = document(&format!("{{source: {{git: {{url: /x}}}}{more}}}"));
            let config = config.expect("it is sound");
            (config.serve, config.webhook_secret)
        };
        assert_eq!(of(""), (None, None));
        let default = Some("127.0.0.1:8080".to_owned());
        assert_eq!(of(", serve: {}"), (default, None));
        let secret = ", serve: {address: ':80'}, checks: {webhookSecretRef: {name: hook}}";
        let name = SourceCredential::Secret("hook".to_owned());
        assert_eq!(of(secret), (Some(":80".to_owned()), Some(name)));
    }

    fn reported(text: &str) -> Vec<String> {
        let error = SyncConfig::document("f", text.as_bytes(), &environment());
        let message = error.expect_err("it has errors").to_string();
        let place = |line: &str| line.split(' ').take(2).collect::<Vec<_>>().join(" ");
        message.lines().map(place).collect()
    }

    #[test]
    fn mistakes_are_reported_in_the_order_of_their_lines() {
        let fleet =
            "apiVersion: capstan.dev/v1alpha1\nkind: Fleet\nmetadata: {name: prod}\nspec:\n";
        let mistakes = "  zeta: 1\n  source: {git: {url: u, interval: soon, brnch: x}}\n  apply: {suspend: maybe, conc: 3}\n  tenancy: [{path: ../b}]\n";
        assert_eq!(
            reported(&format!("{fleet}{mistakes}")),
            [
                "f:5:3: S01",
                "f:6:36: S04",
                "f:6:42: S01",
                "f:7:20: S02",
                "f:7:27: S01",
                "f:8:20: S04"
            ]
        );
    }

    #[test]
    fn a_document_of_another_kind_is_reported_as_that_alone() {
        let overlay = "apiVersion: capstan.dev/v1alpha1\nkind: Overlay\nmetadata: {name: a}\nspec: {aply: 1}\n";
        assert_eq!(reported(overlay), ["f:2:7: S04"]);
        let config_map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
        assert_eq!(reported(config_map), ["f:1:13: S04", "f:2:7: S04"]);
        let two = SyncConfig::document("f", b"a: 1\n---\nb: 1\n", &environment());
        let message = two.expect_err("there are two").to_string();
        assert_eq!(message, "f: expected one Fleet document, found 2 documents");
    }
}
