//! Whether installations of Azure Service Operator work in the clouds of our clusters.
//!
//! In: installations, and the clouds that clusters name. Out: findings, and the settings of each cloud but the public one,
//! which is the default. An installation works in one cloud; `azureEnvironment` of a cluster does not change that.

use std::collections::BTreeSet;

use super::operator::{Operator, SETTINGS, Setting};
use super::report::{Finding, Level};

const AUTHORITY: &str = "AZURE_AUTHORITY_HOST";
const ENDPOINT: &str = "AZURE_RESOURCE_MANAGER_ENDPOINT";
const AUDIENCE: &str = "AZURE_RESOURCE_MANAGER_AUDIENCE";

const PUBLIC: &str = "AzurePublicCloud";

/// A cloud, and the settings for it.
struct Cloud {
    environment: &'static str,
    settings: [(&'static str, &'static str); 3],
}

const CLOUDS: [Cloud; 3] = [
    Cloud {
        environment: PUBLIC,
        settings: [
            (AUTHORITY, "https://login.microsoftonline.com"),
            (ENDPOINT, "https://management.azure.com"),
            (AUDIENCE, "https://management.core.windows.net"),
        ],
    },
    Cloud {
        environment: "AzureChinaCloud",
        settings: [
            (AUTHORITY, "https://login.chinacloudapi.cn"),
            (ENDPOINT, "https://management.chinacloudapi.cn"),
            (AUDIENCE, "https://management.core.chinacloudapi.cn"),
        ],
    },
    Cloud {
        environment: "AzureUSGovernmentCloud",
        settings: [
            (AUTHORITY, "https://login.microsoftonline.us"),
            (ENDPOINT, "https://management.usgovcloudapi.net"),
            (AUDIENCE, "https://management.core.usgovcloudapi.net"),
        ],
    },
];

/// The clouds of clusters, each once.
fn used(environments: &BTreeSet<String>) -> impl Iterator<Item = &'static Cloud> + '_ {
    let is_used = |cloud: &&Cloud| {
        let is_public = cloud.environment == PUBLIC;
        environments.contains(cloud.environment) || is_public && environments.contains("")
    };
    CLOUDS.iter().filter(is_used)
}

/// The settings for clouds other than the public one.
pub(super) fn settings(
    environments: &BTreeSet<String>,
) -> impl Iterator<Item = (&'static str, String)> + '_ {
    let others = used(environments).filter(|cloud| cloud.environment != PUBLIC);
    others.flat_map(|cloud| {
        let of_cloud = |(name, value)| (name, format!("{value} for {}", cloud.environment));
        cloud.settings.map(of_cloud)
    })
}

/// Clouds of clusters in which no installation works.
pub(super) fn findings(operators: &[Operator], environments: &BTreeSet<String>) -> Vec<Finding> {
    let Some(first) = operators.first() else {
        return Vec::new();
    };
    let is_served = |cloud: &Cloud| operators.iter().any(|operator| works_in(operator, cloud));
    let lost = used(environments).filter(|cloud| !is_served(cloud));
    lost.map(|cloud| {
        let environment = cloud.environment;
        let wanted = cloud.settings.map(|(name, value)| format!("{name}={value}"));
        let namespace = &first.id.namespace;
        Finding {
            level: Level::Error,
            reason: "OtherCloud",
            message: format!(
                "there are clusters in {environment}, but {} is set up for another cloud ({AUTHORITY}, {ENDPOINT})",
                first.id
            ),
            help: format!(
                "set {} in the Secret {SETTINGS} of the namespace {namespace} and restart it, or correct azureEnvironment of the AROControlPlanes; an installation works in one cloud",
                wanted.join(", ")
            ),
        }
    })
    .collect()
}

/// Whether an installation works in a cloud, as far as its settings can be seen.
fn works_in(operator: &Operator, cloud: &Cloud) -> bool {
    let [authority, endpoint, _] = &cloud.settings;
    [authority, endpoint]
        .into_iter()
        .all(|(name, value)| match operator.setting(name) {
            Setting::Unset => cloud.environment == PUBLIC,
            Setting::Is(set) => set.trim_end_matches('/').eq_ignore_ascii_case(value),
            Setting::Elsewhere => true,
        })
}
