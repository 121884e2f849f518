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
    if provider.write_mode != WriteMode::Direct {
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::api::fleet::{BareMetal, SecretName};

    fn objects(provider: &ServiceProvider) -> Vec<Json> {
        objects_with(provider, Mode::Off)
    }

    fn objects_with(provider: &ServiceProvider, aro: Mode) -> Vec<Json> {
        let component = Component {
            name: SERVICE_PROVIDER,
            namespace: "home".to_owned(),
            image: "i".to_owned(),
        };
        let settings = ProviderSettings {
            provider: provider.clone(),
            document: "a: b\n".to_owned(),
            port: 8443,
            aro,
            secrets: vec!["provider".to_owned(), "signing".to_owned()],
            replicas: 1,
            ..ProviderSettings::default()
        };
        service_provider(&component, &settings)
    }

    /// The rights, each as `namespace: resource verb`, without a namespace for those in the whole cluster.
    fn rights(provider: &ServiceProvider) -> BTreeSet<String> {
        let mut rights = BTreeSet::new();
        for role in objects(provider) {
            let namespace = role["metadata"]["namespace"].as_str().unwrap_or_default();
            for rule in role["rules"].as_array().into_iter().flatten() {
                assert!(!rule.to_string().contains('*'), "{rule}");
                for resource in rule["resources"].as_array().into_iter().flatten() {
                    for verb in rule["verbs"].as_array().into_iter().flatten() {
                        let [resource, verb] =
                            [resource, verb].map(|text| text.as_str().unwrap_or_default());
                        let names = rule["resourceNames"].as_array();
                        let named = names.map_or(vec![String::new()], |names| {
                            names.iter().map(|name| format!("[{name}]")).collect()
                        });
                        let right = |name| format!("{namespace}: {resource}{name} {verb}");
                        rights.extend(named.into_iter().map(right));
                    }
                }
            }
        }
        rights
    }

    fn direct() -> ServiceProvider {
        ServiceProvider {
            namespace: "clusters".to_owned(),
            ..ServiceProvider::default()
        }
    }

    /// Asserts that a change of the settings takes these rights away, and brings those.
    #[track_caller]
    fn changes(change: impl FnOnce(&mut ServiceProvider), without: &[&str], with: &[&str]) {
        let mut changed = direct();
        change(&mut changed);
        let (before, after) = (rights(&direct()), rights(&changed));
        let lost: Vec<&str> = before.difference(&after).map(String::as_str).collect();
        let won: Vec<&str> = after.difference(&before).map(String::as_str).collect();
        assert_eq!((&*lost, &*won), (without, with));
    }

    #[test]
    fn each_setting_decides_about_its_own_rights() {
        let machines = ": virtualmachineinstances list";
        changes(
            |it| it.platforms = Some(vec![ProviderPlatform::BareMetal]),
            &[machines],
            &[],
        );
        changes(
            |it| it.managed_cluster = ManagedClusterPolicy::Ignore,
            &[
                ": managedclusters delete",
                ": managedclusters get",
                "clusters: configmaps[\"acm-cluster-sp-clusters\"] create",
                "clusters: configmaps[\"acm-cluster-sp-clusters\"] get",
                "clusters: configmaps[\"acm-cluster-sp-clusters\"] patch",
            ],
            &[],
        );
        let name = "own".to_owned();
        changes(
            |it| it.pull_secret_ref = Some(SecretName { name }),
            &[
                "clusters: secrets[\"acm-cluster-sp-pull-secret\"] create",
                "clusters: secrets[\"acm-cluster-sp-pull-secret\"] patch",
            ],
            &[],
        );
        let elsewhere = json!({"kubeconfigSecretRef": {"name": "infra"}, "namespace": "machines"});
        changes(
            |it| it.kube_virt = serde_json::from_value(elsewhere).expect("valid"),
            &[machines],
            &[],
        );
        let nats = json!({"url": "nats://nats:4222"});
        changes(
            |it| it.messaging = serde_json::from_value(nats).expect("valid"),
            &[],
            &[
                "clusters: configmaps[\"acm-cluster-sp-delivered\"] create",
                "clusters: configmaps[\"acm-cluster-sp-delivered\"] get",
                "clusters: configmaps[\"acm-cluster-sp-delivered\"] patch",
            ],
        );
        let agent_namespace = Some("machines".to_owned());
        changes(
            |it| {
                it.bare_metal = BareMetal {
                    agent_namespace,
                    ..BareMetal::default()
                }
            },
            &["clusters: agents list", "clusters: agents watch"],
            &["machines: agents list", "machines: agents watch"],
        );
    }

    #[test]
    fn the_secrets_of_the_document_may_be_read_and_no_others_there() {
        let secrets = rights(&direct());
        let own = secrets
            .iter()
            .filter(|right| right.starts_with("home: secrets"));
        let expected = ["provider", "signing"].map(|name| format!("home: secrets[\"{name}\"] get"));
        assert!(own.eq(&expected), "{secrets:?}");
    }

    #[test]
    fn aro_controllers_bring_their_rights_unless_they_are_off() {
        for (mode, argument, are_there) in [
            (Mode::Off, "--aro=off", false),
            (Mode::Auto, "--aro=auto", true),
            (Mode::On, "--aro=on", true),
        ] {
            let printed = json!(objects_with(&direct(), mode)).to_string();
            assert!(printed.contains(argument), "{printed}");
            assert_eq!(
                printed.contains("arocontrolplanes"),
                are_there,
                "{argument}"
            );
        }
    }

    #[test]
    fn a_provider_that_commits_leaves_the_clusters_to_its_daemon() {
        let mut committing = direct();
        committing.write_mode = WriteMode::Commit;
        let (direct, committing) = (rights(&direct()), rights(&committing));
        let of_clusters = |rights: &BTreeSet<String>, place: &str| {
            let place = format!("{place}: hostedclusters ");
            let verbs = rights.iter().filter_map(|right| right.strip_prefix(&place));
            verbs.map(str::to_owned).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            of_clusters(&direct, "clusters"),
            "create delete get list watch"
        );
        assert_eq!(of_clusters(&direct, ""), "");
        assert_eq!(of_clusters(&committing, "clusters"), "");
        assert_eq!(
            of_clusters(&committing, ""),
            "create delete get list patch watch"
        );
    }

    #[test]
    fn the_document_is_a_file_whose_change_brings_new_pods() {
        let all = objects(&direct());
        let of_kind = |kind: &str| {
            let mut own = all.iter().filter(|object| object["kind"] == kind);
            own.next().expect("it is there").clone()
        };
        assert_eq!(of_kind("ConfigMap")["data"]["fleet.yaml"], "a: b\n");
        let pod = &of_kind("Deployment")["spec"]["template"];
        let expected = [
            "run",
            "--config",
            "/etc/capstan/fleet.yaml",
            "--aro=off",
            "--serve=:8080",
        ];
        assert_eq!(pod["spec"]["containers"][0]["args"], json!(expected));
        let digest = &pod["metadata"]["annotations"]["capstan.dev/config-digest"];
        assert_eq!(digest.as_str().map(str::len), Some(16));
        let service = of_kind("Service");
        assert_eq!(service["spec"]["ports"][1]["port"], 8443);
        assert_eq!(service["spec"]["ports"][1]["targetPort"], "api");
        let port = &pod["spec"]["containers"][0]["ports"][1];
        assert_eq!(*port, json!({"name": "api", "containerPort": 8443}));
    }
}
