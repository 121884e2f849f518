//! The body of a request for a cluster, in either dialect.
//!
//! In: the bytes of the body, and the ID that the client chose. Out: the typed request, or one problem that names every mistake. It does
//! not know the hub, its releases, or the provider's settings.
//!
//! The proposal writes camelCase without an envelope. DCM writes snake_case in `spec`, and its agents write the bare spec. Every spelling is
//! understood in every place; unknown properties are ignored, as are those that only answers have.

mod fields;
mod id;
#[cfg(test)]
mod tests;
mod unique;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value as Json;

use fields::{Fields, Kind};
pub use id::{instance_id, is_instance_id};
use unique::Unique;

use super::capabilities::Platform;
use super::problem::Problem;
use crate::model::is_dns_subdomain;
use crate::schema::patterns::{DOMAIN, IMAGE};

/// The pattern of names of clusters and of IDs.
pub const NAME: &str = "^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$";
/// The longest name of a cluster: with the shortest namespace and a hyphen before it, it names a namespace.
pub const LONGEST_CLUSTER: usize = 61;
/// The pattern of amounts of memory and storage.
const AMOUNT: &str = "[1-9][0-9]*(MB|GB|TB)";
/// The longest text of an amount.
const LONGEST_AMOUNT: usize = 16;
/// The most agent labels.
const MOST_LABELS: usize = 64;

static NAMES: LazyLock<Regex> = LazyLock::new(|| pattern(NAME));
static AMOUNTS: LazyLock<Regex> = LazyLock::new(|| pattern(&format!("^{AMOUNT}$")));
static DOMAINS: LazyLock<Regex> = LazyLock::new(|| pattern(DOMAIN));
static IMAGES: LazyLock<Regex> = LazyLock::new(|| pattern(IMAGE));
static LABEL_KEYS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$",
    )
});
static LABEL_VALUES: LazyLock<Regex> =
    LazyLock::new(|| pattern("^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$"));

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("our patterns are valid")
}

/// The shape of a request, which is that of its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// That of the proposal: camelCase, flat.
    Proposal,
    /// That of DCM: snake_case, with the request in `spec`.
    Dcm,
}

impl Dialect {
    /// The dialect in which `body` is written.
    #[must_use]
    pub fn of(body: &Json) -> Self {
        const SNAKE: [&str; 3] = ["spec", "service_type", "provider_hints"];
        let is_given = |key: &&str| body.get(*key).is_some_and(|value| !value.is_null());
        let is_dcm = SNAKE.iter().any(is_given);
        if is_dcm { Self::Dcm } else { Self::Proposal }
    }
}

/// The machines of the control plane, or of the workers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Machines {
    /// The number of them.
    pub count: Option<u32>,
    /// Processors.
    pub cpu: Option<u32>,
    /// Memory, as Kubernetes writes amounts: `16G`.
    pub memory: Option<String>,
    /// Storage, likewise.
    pub storage: Option<String>,
}

/// A request for a cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The name of the cluster.
    pub name: String,
    /// The version, as it was asked for.
    pub version: String,
    /// The image of the release, in place of that of the version.
    pub release_image: Option<String>,
    /// The platform; `None` for the provider's default.
    pub platform: Option<Platform>,
    /// The base domain; `None` for the provider's.
    pub base_domain: Option<String>,
    /// The InfraEnv of the agents; `None` for the provider's.
    pub infra_env: Option<String>,
    /// The labels of the agents.
    pub agent_labels: BTreeMap<String, String>,
    /// The control plane.
    pub control_plane: Machines,
    /// The workers.
    pub worker: Machines,
    /// The shape in which it was written.
    pub dialect: Dialect,
    /// The request itself, without its envelope, as it was sent.
    pub sent: Json,
}

impl Request {
    /// Reads the body of a POST.
    ///
    /// # Errors
    /// 400 if it is not valid; 422 if it asks for a platform or a way of provisioning that no version of this API has.
    pub fn read(body: &[u8]) -> Result<Self, Problem> {
        let Unique(whole) = serde_json::from_slice(body).map_err(|error| {
            Problem::invalid(format!(
                "request body: failed to decode request body: {error}"
            ))
        })?;
        let dialect = Dialect::of(&whole);
        let spec = whole.get("spec").filter(|spec| !spec.is_null());
        let sent = spec.unwrap_or(&whole);
        let mut fields = Fields::of(sent);
        let request = Self::of(&mut fields, dialect, sent);
        let mistakes = fields.into_mistakes();
        if !mistakes.is_empty() {
            return Err(Problem::invalid(mistakes.join("; ")));
        }
        request
    }

    /// Reads a request that was accepted before.
    #[must_use]
    pub fn recall(sent: &Json, dialect: Dialect) -> Option<Self> {
        let mut fields = Fields::of(sent);
        let request = Self::of(&mut fields, dialect, sent).ok()?;
        fields.into_mistakes().is_empty().then_some(request)
    }

    fn of(fields: &mut Fields, dialect: Dialect, sent: &Json) -> Result<Self, Problem> {
        fields.constant(&["serviceType"], "cluster", true);
        fields.constant(&["schemaVersion"], "v1alpha1", false);
        let version = fields.required_text(&["version"], 64).unwrap_or_default();
        let name = name(fields);
        let labels = fields.texts(&["metadata", "labels"], usize::MAX);
        drop(labels);
        let control_plane = machines(fields, Kind::ControlPlane);
        let worker = machines(fields, Kind::Worker);
        let hints = Hints::of(fields);
        let provisioning = [
            fields.text(&["provisioningType"], 64),
            fields.text(&["providerHints", "acm", "provisioningType"], 64),
        ];
        let other = provisioning.into_iter().flatten();
        if let Some(other) = other.into_iter().find(|one| one != "hypershift") {
            let detail = format!("unsupported provisioning type {other:?}: use \"hypershift\"");
            return Err(Problem::unprocessable(detail));
        }
        Ok(Self {
            name,
            version,
            release_image: hints.release_image,
            platform: hints.platform?,
            base_domain: hints.base_domain,
            infra_env: hints.infra_env,
            agent_labels: hints.agent_labels,
            control_plane,
            worker,
            dialect,
            sent: sent.clone(),
        })
    }
}

fn name(fields: &mut Fields) -> String {
    let path = ["metadata", "name"];
    let name = fields
        .required_text(&path, LONGEST_CLUSTER)
        .unwrap_or_default();
    if !name.is_empty() && !NAMES.is_match(&name) {
        fields.mistake(&path, &format!("must match pattern: {NAME}"));
    }
    name
}

fn machines(fields: &mut Fields, kind: Kind) -> Machines {
    let Some(at) = fields.machines(kind) else {
        return Machines::default();
    };
    let path = |field: &'static str| [at[0], at[1], field];
    let (least_cpu, least_count) = match kind {
        Kind::ControlPlane => (2, 1),
        Kind::Worker => (1, 1),
    };
    let count = fields.number(&path("count"), least_count);
    if kind == Kind::ControlPlane && count.is_some_and(|count| ![1, 3, 5].contains(&count)) {
        fields.mistake(&path("count"), "must be 1, 3 or 5");
    }
    Machines {
        count,
        cpu: fields.number(&path("cpu"), least_cpu),
        memory: amount(fields, &path("memory")),
        storage: amount(fields, &path("storage")),
    }
}

/// An amount in decimal units, as Kubernetes writes it.
fn amount(fields: &mut Fields, path: &[&'static str]) -> Option<String> {
    let text = fields.text(path, LONGEST_AMOUNT)?;
    if !AMOUNTS.is_match(&text) {
        fields.mistake(path, &format!("must match format: {AMOUNT}"));
        return None;
    }
    text.strip_suffix('B').map(str::to_owned)
}

/// The hints for this provider.
struct Hints {
    platform: Result<Option<Platform>, Problem>,
    base_domain: Option<String>,
    infra_env: Option<String>,
    agent_labels: BTreeMap<String, String>,
    release_image: Option<String>,
}

impl Hints {
    fn of(fields: &mut Fields) -> Self {
        let path = |field: &'static str| ["providerHints", "acm", field];
        let platform = fields.text(&path("platform"), 64);
        let platform = platform.filter(|name| !name.is_empty());
        let platform = platform.map(|name| {
            let unknown = || Problem::unprocessable(format!("unsupported platform {name:?}"));
            Platform::parse(&name).ok_or_else(unknown)
        });
        let mut matching = |field, most, is_valid: &dyn Fn(&str) -> bool, what: &str| {
            let text = fields.text(&path(field), most)?;
            // An empty text is the provider's own.
            let text = Some(text).filter(|text| !text.is_empty())?;
            if !is_valid(&text) {
                fields.mistake(&path(field), what);
            }
            Some(text)
        };
        let base_domain = matching(
            "baseDomain",
            253,
            &|it| DOMAINS.is_match(it),
            "must be a domain name",
        );
        let infra_env = matching(
            "infraEnv",
            63,
            &is_dns_subdomain,
            "must be the name of an InfraEnv",
        );
        let release_image = matching(
            "releaseImage",
            253,
            &|it| IMAGES.is_match(it),
            "must be the address of an image",
        );
        Self {
            platform: platform.transpose(),
            base_domain,
            infra_env,
            release_image,
            agent_labels: agent_labels(fields),
        }
    }
}

fn agent_labels(fields: &mut Fields) -> BTreeMap<String, String> {
    let path = ["providerHints", "acm", "agentLabels"];
    let labels = fields.texts(&path, MOST_LABELS);
    for (key, value) in &labels {
        let name = key.rsplit('/').next().unwrap_or(key);
        if !LABEL_KEYS.is_match(key) || name.len() > 63 {
            fields.mistake(&path, "has a key that is not a valid label key");
        }
        if !LABEL_VALUES.is_match(value) {
            fields.mistake(&path, "has a value that is not a valid label value");
        }
    }
    labels
}
