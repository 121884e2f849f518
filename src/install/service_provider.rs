//! The service provider: a daemon of one Fleet document that also serves the API for clusters.
//!
//! In: the document with its settings, and the kinds of its fleet. Out: plain objects, in the order to apply them, with the rights
//! that these settings need. It does not know the environment of the pods, which has none of the provider's variables.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use super::component::{Component, ConfigFile, Pods};
use super::daemon::aro_argument;
use super::rights::{Applied, controller_rules, definitions_rule, lease_rules, rule};
use crate::api::fleet::{ManagedClusterPolicy, Mode, ProviderPlatform, ServiceProvider, WriteMode};
use crate::api::platform::HYPERSHIFT;

/// The name of the account and of the Deployment of a service provider.
pub const SERVICE_PROVIDER: &str = "capstan-service-provider";
/// The hosted clusters, and their node pools.
const CLUSTERS: [&str; 2] = ["hostedclusters", "nodepools"];

/// A service provider, and its daemon.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProviderSettings {
    /// The settings of its Fleet document.
    pub provider: ServiceProvider,
    /// The Fleet document, as the pods read it.
    pub document: String,
    /// The port of its API.
    pub port: u16,
    /// The kinds of its fleet.
    pub applied: Applied,
    /// The Secrets of its namespace that the document names.
    pub secrets: Vec<String>,
    /// The mode of its ARO controllers.
    pub aro: Mode,
    /// The number of its pods, of which one writes.
    pub replicas: u16,
}

/// The objects of a service provider, in the order to apply them.
#[must_use]
pub fn service_provider(component: &Component, settings: &ProviderSettings) -> Vec<Json> {
    let file = ConfigFile {
        name: "fleet.yaml",
        content: settings.document.clone(),
    };
    let mut arguments = ["run", "--config"].map(str::to_owned).to_vec();
    arguments.push(file.path());
    arguments.push(aro_argument(settings.aro));
    let pods = Pods {
        arguments,
        replicas: settings.replicas,
        resources: json!({"requests": {"cpu": "50m", "memory": "128Mi"}, "limits": {"memory": "1Gi"}}),
        api: Some(settings.port),
        file: Some(file),
    };
    let mut objects = component.account();
    objects.extend(component.roles(&wide(settings), &near(settings)));
    for (namespace, rules) in in_namespaces(&settings.provider) {
        objects.extend(component.roles_in(&[namespace.to_owned()].into(), &rules));
    }
    objects.extend(component.deployment(&pods));
    objects
}

/// The rules in the whole cluster.
fn wide(settings: &ProviderSettings) -> Vec<Json> {
    let provider = &settings.provider;
    let mut applied = settings.applied.clone();
    if provider.write_mode == WriteMode::Commit {
        // The daemon applies what the provider commits.
        let own = CLUSTERS.map(|plural| (HYPERSHIFT.to_owned(), plural.to_owned()));
        applied.written.extend(own);
    }
    let mut rules = applied.rules();
    rules.push(definitions_rule());
    if settings.aro != Mode::Off {
        rules.extend(controller_rules());
    }
    rules.push(rule(
        "hive.openshift.io",
        &["clusterimagesets"],
        &["list", "watch"],
    ));
    if offers(provider, ProviderPlatform::KubeVirt) && provider.kube_virt.is_none() {
        rules.push(rule("kubevirt.io", &["virtualmachineinstances"], &["list"]));
    }
    if provider.managed_cluster == ManagedClusterPolicy::Auto {
        let group = "cluster.open-cluster-management.io";
        rules.push(rule(group, &["managedclusters"], &["get", "delete"]));
    }
    rules
}

/// Returns true if the settings do not rule the platform out.
fn offers(provider: &ServiceProvider, platform: ProviderPlatform) -> bool {
    let platforms = provider.platforms.as_ref();
    platforms.is_none_or(|offered| offered.contains(&platform))
}

/// The rules in the namespace of the Fleet document.
fn near(settings: &ProviderSettings) -> Vec<Json> {
    let mut rules = lease_rules();
    // The parent of the set, which knows how far the fleet has come. Its name is that of the fleet.
    rules.push(rule(
        "",
        &["configmaps"],
        &["get", "list", "watch", "create", "patch"],
    ));
    if !settings.secrets.is_empty() {
        rules.push(named("secrets", &settings.secrets, &["get"]));
    }
    rules
}

/// The rules in the namespaces of the clusters and of the machines, which may be the same.
fn in_namespaces(provider: &ServiceProvider) -> BTreeMap<&str, Vec<Json>> {
    let clusters = provider.namespace.as_str();
    let machines = provider.bare_metal.agent_namespace.as_deref();
    let agents = rule(
        "agent-install.openshift.io",
        &["agents"],
        &["list", "watch"],
    );
    let mut rules = BTreeMap::from([(clusters, of_clusters(provider))]);
    rules
        .entry(machines.unwrap_or(clusters))
        .or_default()
        .push(agents);
    rules
}

/// The rules in the namespace of the clusters.
fn of_clusters(provider: &ServiceProvider) -> Vec<Json> {
    let mut rules = Vec::new();
    if provider.write_mode == WriteMode::Direct {
        rules.extend([
            rule(HYPERSHIFT, &CLUSTERS, &["get", "list", "watch", "create"]),
            rule(HYPERSHIFT, &["hostedclusters"], &["delete"]),
        ]);
    }
    // The name of a cluster's kubeconfig is HyperShift's to choose.
    rules.push(rule("", &["secrets"], &["get"]));
    if provider.pull_secret_ref.is_none() {
        let kept = [provider.pull_secret()];
        rules.push(named("secrets", &kept, &["create", "patch"]));
    }
    let delivered = provider.messaging.as_ref();
    let delivered = delivered.map(|_| provider.delivered_record());
    let managed = (provider.managed_cluster == ManagedClusterPolicy::Auto)
        .then(|| provider.clusters_record());
    let records: Vec<String> = delivered.into_iter().chain(managed).collect();
    if !records.is_empty() {
        rules.push(named("configmaps", &records, &["get", "create", "patch"]));
    }
    rules
}

/// A rule for objects of these names. An apply creates its object by name, so that `create` may have one, too.
fn named(resource: &str, names: &[String], verbs: &[&str]) -> Json {
    json!({"apiGroups": [""], "resources": [resource], "resourceNames": names, "verbs": verbs})
}
