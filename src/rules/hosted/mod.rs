//! H: HostedClusters and NodePools of HyperShift, expanded or written by hand.
//!
//! In: all objects, the place of the management cluster, and the switches of our controllers. Out: findings with the words that HyperShift's API and operator would use, where they have some. It does not know the
//! fields of the kinds: `shape` does; nor changes: `plan` does.

mod cluster;
mod connection;
mod controllers;
mod credential;
pub(super) mod fleet;
mod links;
mod nat;
mod parts;
mod pool;
mod zones;

pub(super) use links::links;
use parts::{Hosted, Parts};

use crate::api::fleet::FleetPolicy;
use crate::api::platform::HYPERSHIFT;
use crate::model::{Finding, Object, Path};

/// A rule for all hosted clusters.
type HostedRule = fn(&Parts<'_>) -> Vec<Finding>;

/// The rules, in order of id.
const RULES: &[HostedRule] = &[
    cluster::names_fit_a_namespace,
    cluster::services_are_published,
    connection::connections_are_complete,
    connection::private_servers_have_a_route,
    cluster::networks_are_apart,
    pool::scaling_is_possible,
    pool::platforms_agree,
    connection::nat_subnets_are_dedicated,
    fleet::names_are_apart_in_a_network,
    zones::zones_shadow_nothing,
    fleet::private_links_are_few,
    pool::releases_are_near,
    pool::labels_are_well_formed,
    connection::subnets_are_in_the_network,
    fleet::names_are_apart_in_a_group,
    nat::nat_subnets_are_apart,
    nat::nat_subnets_are_in_the_management_network,
    credential::credentials_fit,
    controllers::somebody_connects,
];

/// The field that makes a HostedCluster private, if Azure Service Operator makes its connection with a credential of its own.
pub(super) fn without_credential(object: &Object) -> Option<Path> {
    let is_hosted = object.id.is(HYPERSHIFT, "HostedCluster");
    credential::lacking(Hosted { object }).filter(|_| is_hosted)
}

/// The findings of all rules.
pub(super) fn check(objects: &[Object], policy: &FleetPolicy) -> Vec<Finding> {
    let objects: Vec<&Object> = objects.iter().collect();
    let parts = Parts::of(&objects, policy);
    if parts.is_empty() {
        return Vec::new();
    }
    RULES.iter().flat_map(|rule| rule(&parts)).collect()
}

/// Runs one rule on YAML documents and shows its findings as `id line:column message`.
#[cfg(test)]
fn findings_of(rule: HostedRule, yaml: &str) -> Vec<String> {
    findings_by(&FleetPolicy::default(), rule, yaml)
}

/// The same with the settings of a Fleet document.
#[cfg(test)]
fn findings_by(policy: &FleetPolicy, rule: HostedRule, yaml: &str) -> Vec<String> {
    let objects = super::objects_in(yaml);
    let found = |objects: &[Object]| rule(&Parts::of(&Vec::from_iter(objects), policy));
    super::placed(super::found_in(&objects, found))
}

/// The messages alone.
#[cfg(test)]
fn messages_of(rule: HostedRule, yaml: &str) -> Vec<String> {
    let (objects, policy) = (super::objects_in(yaml), FleetPolicy::default());
    let found = |objects: &[Object]| rule(&Parts::of(&Vec::from_iter(objects), &policy));
    let found = super::found_in(&objects, found).into_iter();
    found.map(|finding| finding.message).collect()
}
