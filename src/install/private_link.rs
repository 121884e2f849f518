//! The controllers of private clusters, each in a component of its own with its own rights.
//!
//! In: which one, and the place of the management side. Out: its objects. None has the rights of another: the observer writes
//! the object alone, the platform controller makes services in its own namespace, and the endpoint controller makes what is
//! on the customer's side, in the namespaces of the clusters.

use serde_json::{Value as Json, json};

use super::component::{Component, Pods};
use super::rights::{IDENTITIES, deployment_rule, lease_rules, rule};
use crate::api::kinds::{INFRASTRUCTURE, NETWORK};
use crate::api::platform::HYPERSHIFT;

/// A controller of private clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrivateLinkPart {
    /// The one that describes connections.
    Observer,
    /// The one that makes the management side.
    Platform,
    /// The one that makes the customer's side.
    Endpoint,
}

impl PrivateLinkPart {
    /// The name of its component.
    #[must_use]
    pub const fn component(self) -> &'static str {
        match self {
            Self::Observer => "capstan-private-link-observer",
            Self::Platform => "capstan-private-link-platform",
            Self::Endpoint => "capstan-private-link-endpoint",
        }
    }

    const fn argument(self) -> &'static str {
        match self {
            Self::Observer => "--only=private-link-observer",
            Self::Platform => "--only=private-link-platform",
            Self::Endpoint => "--only=private-link-endpoint",
        }
    }

    /// Its rules in the whole cluster.
    fn wide(self) -> Vec<Json> {
        let seen = ["get", "list", "watch"];
        let written = ["get", "list", "watch", "create", "patch"];
        let connection = |verbs: &[&str]| rule(HYPERSHIFT, &[CONNECTIONS], verbs);
        let reported = rule(HYPERSHIFT, &["azureprivatelinkservices/status"], &["patch"]);
        let mut rules = match self {
            Self::Observer => vec![
                rule("", &["services"], &seen),
                rule(HYPERSHIFT, &["hostedcontrolplanes"], &seen),
                // The control plane is named as an owner that waits for the object.
                rule(HYPERSHIFT, &["hostedcontrolplanes/finalizers"], &["update"]),
                connection(&written),
            ],
            Self::Platform => vec![
                rule(HYPERSHIFT, &["hostedclusters"], &seen),
                connection(&["get", "list", "watch", "patch"]),
                reported,
                rule("", &["namespaces"], &seen),
                rule(INFRASTRUCTURE, &[IDENTITIES], &seen),
            ],
            Self::Endpoint => vec![
                rule(
                    HYPERSHIFT,
                    &["hostedclusters", "hostedcontrolplanes"],
                    &seen,
                ),
                connection(&["get", "list", "watch", "patch"]),
                reported,
                // HyperShift's finalizer is taken off a control plane that is taken over.
                rule(HYPERSHIFT, &["hostedcontrolplanes"], &["patch"]),
                // The conditions of a connection are reported on the cluster, too.
                rule(HYPERSHIFT, &["hostedclusters/status"], &["patch"]),
                rule("", &["namespaces", "configmaps"], &seen),
                rule(INFRASTRUCTURE, &[IDENTITIES], &seen),
                rule(NETWORK, &ENDPOINTS, &MADE),
                rule("", &["secrets"], &MADE),
            ],
        };
        rules.extend([
            deployment_rule(),
            rule("events.k8s.io", &["events"], &["create"]),
        ]);
        rules
    }

    /// Its rules in its own namespace, besides those of its Lease.
    fn near(self) -> Vec<Json> {
        if self == Self::Platform {
            vec![
                rule(
                    NETWORK,
                    &["privatelinkservices", "virtualnetworkssubnets"],
                    &MADE,
                ),
                rule("", &["secrets"], &MADE),
            ]
        } else {
            Vec::new()
        }
    }
}

const CONNECTIONS: &str = "azureprivatelinkservices";
/// All that is done with an object that a controller makes.
const MADE: [&str; 6] = ["get", "list", "watch", "create", "patch", "delete"];
/// The kinds of the customer's side.
const ENDPOINTS: [&str; 4] = [
    "privateendpoints",
    "privatednszones",
    "privatednszonesarecords",
    "privatednszonesvirtualnetworklinks",
];

/// The objects of a controller, in the order to apply them. `arguments` say where the management side is.
#[must_use]
pub fn private_link(
    part: PrivateLinkPart,
    component: &Component,
    replicas: u16,
    arguments: &[String],
) -> Vec<Json> {
    let near = [part.near(), lease_rules()].concat();
    let roles = component.roles(&part.wide(), &near);
    let first = ["controllers".to_owned(), part.argument().to_owned()];
    let pods = Pods {
        arguments: first.into_iter().chain(arguments.iter().cloned()).collect(),
        replicas,
        resources: json!({"requests": {"cpu": "20m", "memory": "32Mi"}, "limits": {"memory": "256Mi"}}),
        ..Pods::default()
    };
    [component.account(), roles, component.deployment(&pods)].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resources(part: PrivateLinkPart) -> Vec<String> {
        let rules = [part.wide(), part.near()].concat();
        let of = |rule: &Json| {
            let list = rule["resources"].as_array().cloned().unwrap_or_default();
            let names = list
                .into_iter()
                .filter_map(|one| one.as_str().map(str::to_owned));
            names.collect::<Vec<_>>()
        };
        rules.iter().flat_map(of).collect()
    }

    #[test]
    fn no_controller_makes_what_is_on_the_side_of_another() {
        let [observer, platform, endpoint] = [
            PrivateLinkPart::Observer,
            PrivateLinkPart::Platform,
            PrivateLinkPart::Endpoint,
        ]
        .map(resources);
        let has = |list: &[String], name: &str| list.iter().any(|one| one == name);
        assert!(!has(&observer, "secrets") && !has(&observer, "privatelinkservices"));
        assert!(has(&platform, "privatelinkservices") && !has(&platform, "privateendpoints"));
        assert!(has(&endpoint, "privateendpoints") && !has(&endpoint, "privatelinkservices"));
        // The platform controller sees no Secret outside of its namespace.
        let wide = PrivateLinkPart::Platform.wide();
        assert!(
            wide.iter()
                .all(|rule| rule["resources"] != json!(["secrets"]))
        );
    }
}
