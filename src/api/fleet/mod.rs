//! `Fleet`: one source synced to one management cluster. It is a file of the daemon's
//! configuration or a custom resource, with the same type.

mod account;
mod private_link;
mod service_provider;
mod settings;
mod source;
mod status;
mod suspension;
mod tenancy;

use std::sync::LazyLock;

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

pub use private_link::{IdentityName, LinkSwitches, Management, PrivateLink};
pub use service_provider::{
    ApiDialect, BareMetal, DuplicateCreate, InfrastructureCluster, ManagedClusterPolicy, Messaging,
    ProviderPlatform, Registration, ServiceProvider, StatusMapping, StatusVocabulary, WriteMode,
};
pub use settings::{
    Admission, Apply, ApprovalRules, CheckProvider, Checks, Cluster, Controllers, DeletionGuard,
    DeletionPolicy, FailurePolicy, FirstApply, FleetMode, Forks, Mode, OutsideObject,
    PULL_REQUESTS, PoolGuard, ProviderServer, PullRequests, Rules, SecretName, Serve, TEST_MERGES,
    merge_queue,
};
pub use source::{Directory, Git, GitReference, Source, Verify, VerifyMode};
pub use status::{FleetObjects, FleetResult, FleetStatus};
pub use suspension::{suspended_by, suspending};
pub use tenancy::{FleetPolicy, Tenant};

use super::{document, structural};
use crate::model::{ClientBindings, Finding, Node, Value};
use kube_schema::Schema;

/// The source of a fleet, its cluster and its settings.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "capstan.dev",
    version = "v1alpha1",
    kind = "Fleet",
    plural = "fleets",
    namespaced,
    status = "FleetStatus",
    category = "capstan",
    derive = "PartialEq",
    doc = "One source of cluster definitions, synced to one management cluster.",
    shortname = "flt",
    printcolumn = r#"{"name": "Ready", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].status", "description": "Whether the newest revision is applied and ready"}"#,
    printcolumn = r#"{"name": "Status", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].message", "description": "What the newest revision has come to"}"#,
    printcolumn = r#"{"name": "Revision", "type": "string", "jsonPath": ".status.appliedRevision", "description": "The last revision that was applied"}"#,
    printcolumn = r#"{"name": "Objects", "type": "integer", "jsonPath": ".status.objects.total", "description": "Objects of the revision, with the resources that they carry"}"#,
    printcolumn = r#"{"name": "Suspended", "type": "string", "jsonPath": ".status.suspendedSince", "description": "Time of suspension"}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp", "description": "Time since its creation"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct FleetSpec {
    /// The source of the definitions.
    pub source: Source,
    /// The cluster to which they are applied.
    #[serde(default)]
    pub cluster: Cluster,
    /// Fleets of the same namespace whose newest revision must be ready before this one begins; for Fleet objects alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub depends_on: Vec<FleetName>,
    /// Policy for the applied objects when this Fleet is deleted; for Fleet objects alone.
    #[serde(default)]
    pub deletion_policy: DeletionPolicy,
    /// ServiceAccount of the Fleet's namespace that applies the definitions; defaults to the daemon's own, or, outside of the
    /// daemon's namespace, to that of `--default-service-account`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_account_name: Option<String>,
    /// Whether revisions are applied, or only checked because something else applies them.
    #[serde(default)]
    pub mode: FleetMode,
    /// How commits are checked and reported.
    #[serde(default)]
    pub checks: Checks,
    /// How changes are applied.
    #[serde(default)]
    pub apply: Apply,
    /// Who may approve losses.
    #[serde(default)]
    pub approvals: ApprovalRules,
    /// Who may use what. If empty, everybody may use everything; otherwise files that match no tenant's path are
    /// errors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tenancy: Vec<Tenant>,
    /// Objects that something else applies, such as another repository. References to them are not errors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outside: Vec<OutsideObject>,
    /// The controllers that run.
    #[serde(default)]
    pub controllers: Controllers,
    /// Azure Private Link to the API servers of private clusters; for Fleets of the daemon's namespace alone.
    #[serde(default)]
    pub private_link: PrivateLink,
    /// Settings of the rules.
    #[serde(default)]
    pub rules: Rules,
    /// A REST API that creates, reads and deletes hosted clusters; for a Fleet document alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_provider: Option<ServiceProvider>,
    /// The HTTP servers.
    #[serde(default)]
    pub serve: Serve,
}

/// Another Fleet of the same namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FleetName {
    /// Its name.
    #[schemars(length(min = 1))]
    pub name: String,
}

const KIND: &str = "Fleet";

static SCHEMA: LazyLock<Schema> = LazyLock::new(|| document::compiled(&schema()));

/// The JSON schema of a whole document.
pub(super) fn schema() -> Json {
    document::schema(KIND, &structural::of::<FleetSpec>())
}

impl Fleet {
    /// The names of the Secrets that it names, all in its namespace.
    pub fn secrets(&self) -> impl Iterator<Item = &str> {
        let spec = &self.spec;
        let source = spec.source.git.as_ref();
        let provider = spec.service_provider.as_ref();
        let named = [
            source.and_then(|git| git.secret_ref.as_ref()),
            spec.checks.secret_ref.as_ref(),
            spec.checks.webhook_secret_ref.as_ref(),
            spec.cluster.kubeconfig_secret_ref.as_ref(),
            provider.and_then(|provider| provider.secret_ref.as_ref()),
            provider.and_then(|provider| provider.signing_key_secret_ref.as_ref()),
        ];
        named
            .into_iter()
            .flatten()
            .map(|secret| secret.name.as_str())
    }

    /// The management side, with the namespace of its identity if that is known.
    fn management(&self) -> Option<Management> {
        let mut management = self.spec.private_link.management.clone()?;
        let identity = &mut management.identity_ref;
        let own = || self.metadata.namespace.clone();
        identity.namespace = identity.namespace.take().or_else(own);
        Some(management)
    }
}

impl From<&Fleet> for FleetPolicy {
    fn from(fleet: &Fleet) -> Self {
        let git = fleet.spec.source.git.as_ref();
        Self {
            root: git.map_or_else(String::new, |git| tenancy::root(&git.path)),
            tenants: fleet.spec.tenancy.clone(),
            outside: fleet.spec.outside.clone(),
            experimental: fleet.spec.rules.experimental_release_features,
            regions: fleet.spec.rules.regions.clone(),
            management: fleet.management(),
            links: Some(fleet.spec.controllers.into()),
            bindings: ClientBindings::default(),
        }
    }
}

/// Reads a fleet from a file. `None` if the findings contain an error.
#[must_use]
pub fn read(written: &Node) -> (Option<Fleet>, Vec<Finding>) {
    let (id, _) = document::identity(written, KIND);
    let mut node = document::without_nulls(written.clone());
    spell_modes(&mut node);
    source::supply(&mut node);
    let (fleet, mut findings) = document::typed(&node, &SCHEMA);
    let more = [
        tenancy::findings(written),
        source::findings(written),
        account::findings(written),
    ]
    .concat();
    let fleet = fleet.filter(|_| more.is_empty());
    findings.extend(more);
    let findings = findings.into_iter().map(|found| found.of(&id)).collect();
    (fleet, findings)
}

/// YAML 1.1 reads `on` and `off` without quotes as booleans; here they are modes.
fn spell_modes(node: &mut Node) {
    let controllers =
        document::child(node, "spec").and_then(|spec| document::child(spec, "controllers"));
    let Some(Value::Map(controllers)) = controllers.map(|node| &mut node.value) else {
        return;
    };
    for (_, mode) in controllers.iter_mut() {
        if let Value::Bool(on) = mode.value {
            mode.value = Value::String(if on { "on" } else { "off" }.into());
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::Arc;

    use super::*;
    use crate::model::Severity;

    fn read_text(spec: &str) -> (Option<Fleet>, Vec<Finding>) {
        let head = "apiVersion: capstan.dev/v1alpha1\nkind: Fleet\nmetadata: {name: prod}\n";
        let text = format!("{head}spec: {spec}\n");
        let (nodes, findings) = crate::yaml::read(&Arc::from("fleet.yaml"), text.as_bytes());
        assert_eq!(findings, []);
        read(&nodes[0])
    }

    #[test]
    fn a_source_is_enough() {
        let (fleet, findings) = read_text("{source: {git: {url: 'https://example.com/fleet'}}}");
        assert_eq!(findings, []);
        let spec = fleet.unwrap().spec;
        let git = spec.source.git.unwrap();
        assert_eq!(git.reference.branch.as_deref(), Some("main"));
        assert_eq!(git.interval.to_string(), "1m");
        assert_eq!(spec.apply.settle.to_string(), "2m");
        assert_eq!(spec.apply.concurrency, 32);
        assert_eq!(spec.apply.deletion_guard.max_clusters, 0);
        assert!(spec.apply.prune);
        assert_eq!(spec.checks.pull_requests.refs, PULL_REQUESTS);
        assert_eq!(spec.serve.address, "127.0.0.1:8080");
    }

    #[test]
    fn modes_may_be_written_without_quotes() {
        let (fleet, findings) =
            read_text("{source: {directory: {path: /git}}, controllers: {aro: off}}");
        assert_eq!(findings, []);
        assert_eq!(fleet.unwrap().spec.controllers.aro, Mode::Off);
    }

    #[test]
    fn the_controllers_of_private_link_have_a_mode_each() {
        let (fleet, findings) = read_text(
            "{source: {directory: {path: /git}}, controllers: {privateLinkObserver: on, privateLinkPlatform: off}}",
        );
        assert_eq!(findings, []);
        let controllers = fleet.unwrap().spec.controllers;
        assert_eq!(controllers.private_link_observer, Mode::On);
        assert_eq!(controllers.private_link_platform, Mode::Off);
        assert_eq!(controllers.private_link_endpoint, Mode::Auto);
    }

    #[test]
    fn the_management_side_of_private_link_is_whole_and_valid() {
        const WHOLE: &str = "subscriptionID: 3f0c7d3e-52a4-4b6b-9a51-2f1f0d9c7a10, resourceGroup: mgmt, identityRef: {name: link}";
        let read = |management: &str| {
            read_text(&format!(
                "{{source: {{git: {{url: u}}}}, privateLink: {{management: {{{management}}}}}}}"
            ))
        };
        let management = |text: &str| {
            let (fleet, findings) = read(text);
            assert_eq!(findings, []);
            fleet.unwrap().spec.private_link.management.unwrap()
        };
        assert_eq!(management(WHOLE).network_resource_group(), "mgmt");
        let other = management(&format!("{WHOLE}, networkResourceGroup: net"));
        assert_eq!(other.network_resource_group(), "net");
        let none = read_text("{source: {git: {url: u}}, privateLink: {}}");
        assert_eq!(none.0.unwrap().spec.private_link, PrivateLink::default());
        let long = "g".repeat(91);
        for (from, to, field) in [
            ("3f0c7d3e", "mine", "subscriptionID"),
            ("resourceGroup: mgmt, ", "", "resourceGroup"),
            ("mgmt", "a.", "resourceGroup"),
            ("mgmt", "gr\u{fc}n", "resourceGroup"),
            ("mgmt", &long, "resourceGroup"),
            ("mgmt", "''", "resourceGroup"),
            (
                "mgmt",
                "mgmt, networkResourceGroup: a.",
                "networkResourceGroup",
            ),
            (", identityRef: {name: link}", "", "identityRef"),
            ("name: link", "namespace: ns", "identityRef.name"),
            ("name: link", "name: A", "identityRef.name"),
            ("link}", "link, namespace: a.b}", "identityRef.namespace"),
        ] {
            let (fleet, findings) = read(&WHOLE.replace(from, to));
            assert_eq!(fleet, None, "{to}");
            let found = findings[0].field.as_ref().map(ToString::to_string);
            let expected = format!("spec.privateLink.management.{field}");
            assert_eq!(found, Some(expected), "{to}: {findings:?}");
        }
    }

    #[test]
    fn everything_the_design_shows_is_read() {
        let (fleet, findings) = read_text(
            "
  source:
    git: {url: u, ref: {tag: v1}, path: fleet, interval: 90s, overlays: [o], secretRef: {name: git}, verify: {mode: Head, keys: [ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILM+rvN+ot98qgEN796jTiQfZfG1KaT0PtFDJ/XFSqti]}}
  cluster: {kubeconfigSecretRef: {name: mgmt}}
  checks: {provider: GitHub, repository: a/b, secretRef: {name: forge}, webhookSecretRef: {name: hook}, pullRequests: {enabled: true, refs: ['refs/pull/*/head']}}
  apply: {suspend: false, prune: true, concurrency: 32, settle: 2m, deletionGuard: {maxClusters: 0}}
  tenancy: [{path: 'clusters/team-a/**', namespaces: [team-a], subscriptions: [], identities: []}]
  controllers: {aro: auto, firstApply: probe}
  rules: {experimentalReleaseFeatures: false}
  serve: {address: 127.0.0.1:8080, admission: {address: ':9443', failurePolicy: Fail}}",
        );
        assert_eq!(findings, []);
        let tenant = &fleet.unwrap().spec.tenancy[0];
        assert_eq!(tenant.namespaces, Some(vec!["team-a".to_owned()]));
        assert_eq!(tenant.subscriptions, Some(Vec::new()));
        assert_eq!(tenant.kinds, None);
    }

    #[test]
    fn a_tenant_states_all_or_nothing_explicitly() {
        let tenants = |tenants: &str| {
            read_text(&format!(
                "{{source: {{git: {{url: u}}}}, tenancy: {tenants}}}"
            ))
        };
        for (text, place) in [
            ("[{path: a, namespaces: }]", "spec.tenancy[0].namespaces"),
            ("[{path: a}, {path: ../b}]", "spec.tenancy[1].path"),
            ("[{path: '!a'}]", "spec.tenancy[0].path"),
        ] {
            let (fleet, findings) = tenants(text);
            assert_eq!(fleet, None, "{text}");
            let field = findings[0].field.as_ref().map(ToString::to_string);
            assert_eq!(field.as_deref(), Some(place), "{findings:?}");
        }
        let typo = tenants("[{path: a, namespace: [b]}]").1;
        assert!(typo[0].severity == Severity::Error, "{typo:?}");
    }

    #[test]
    fn faults_point_at_their_lines() {
        let (fleet, findings) =
            read_text("\n  source: {git: {url: u, interval: soon}}\n  aply: {prune: false}");
        assert_eq!(fleet, None);
        let mut places: Vec<_> = findings
            .iter()
            .map(|found| (found.span.clone().unwrap().start.line, found.id))
            .collect();
        places.sort_unstable();
        assert_eq!(places, [(5, "S04"), (6, "S01")]);
    }
}
