//! The rules for objects before they are applied. Pull requests, admission and reconciles use the same rules.
//!
//! In: objects, expanded or plain. Out: findings with the ids of the rules. One file per family; each rule is a
//! function.
//!
//! It does not know: files, clusters, what is done with the findings.

mod admission;
pub(crate) mod allowed_namespaces;
mod arm;
mod azure_name;
pub mod book;
mod bound_clients;
mod cidr;
mod cluster;
mod contract;
mod data;
mod dead_ends;
mod duration;
mod external_auth;
mod fleet;
mod groups;
mod hosted;
mod identity;
mod key_version;
mod links;
mod live;
mod mistyped;
mod networks;
mod placeholder;
mod pool;
mod properties;
mod resources;
mod rule;
mod second_owner;
mod secrets;
pub mod sensitive;
mod served;
mod shape;
mod spelling;
pub(crate) mod tenancy;
#[cfg(test)]
mod tests;
pub(crate) mod upgrade;
mod values;
mod vaults;
mod version;
mod way;
mod wording;

use std::collections::HashMap;

use rayon::prelude::*;

use crate::api::fleet::FleetPolicy;
use crate::api::kinds::RED_HAT_OPENSHIFT;
use crate::model::{Finding, Object, Path, Segment, Severity, rule_id, work};
use crate::schema::nearest;
use arm::{Resource, World};
pub(crate) use azure_name::of_azure;
pub(crate) use groups::Groups;
pub(crate) use links::{Links, is_environment, links};
pub use live::check_live;
use mistyped::Mistyped;
use rule::{FleetRule, ResourceRule, Rule};
pub(crate) use second_owner::has_resources;
pub use second_owner::second_owners;
pub use secrets::{holds_values, is_encrypted, joined};
pub(crate) use wording::of_label_key;

/// The rules for any object, by id.
const RULES: &[Rule] = &[
    secrets::secrets_are_encrypted,
    secrets::texts_hold_no_secrets,
    secrets::encrypted_is_left_alone,
    secrets::no_ciphertext_is_applied,
    values::are_texts,
    shape::is_known,
    contract::is_current,
];

/// The rules of the provider's admission webhooks, by id.
const ADMISSION_RULES: &[Rule] = &[
    admission::resources_present,
    admission::resources_well_formed,
    admission::identity_ref_named,
    admission::cloud_is_known,
    admission::name_allowed,
    key_version::key_version_given,
    identity::fields_fit_the_type,
    admission::namespace_is_the_carriers,
];

/// The rules for clusters, by id.
const CLUSTER_RULES: &[ResourceRule] = &[
    cluster::naming::location,
    cluster::naming::name,
    cluster::version::is_major_minor,
    cluster::version::is_supported,
    cluster::version::channel_group,
    cluster::naming::domain_prefix,
    cluster::fields::network_type,
    cluster::network::networks_are_canonical,
    cluster::network::host_prefix_in_range,
    cluster::network::networks_are_apart,
    cluster::fields::visibility,
    cluster::network::authorized_networks,
    cluster::fields::ingress_type,
    cluster::fields::crypto_restrictions,
    cluster::naming::managed_group,
    cluster::naming::managed_group_is_apart,
    cluster::platform::names_network,
    cluster::platform::network_is_at_hand,
    cluster::platform::subnets_share_a_network,
    cluster::integration::integration_subnet_is_given,
    cluster::platform::nothing_is_null,
    cluster::fields::outbound_type,
    cluster::identities::operators_have_identities,
    cluster::identities::identities_are_at_hand,
    cluster::identities::identities_are_distinct,
    cluster::identities::used_are_assigned,
    cluster::identities::assigned_are_used,
    cluster::identities::nodes_are_not_assigned,
    cluster::identities::identity_type,
    cluster::required::service_has_an_identity,
    cluster::fields::drain_limit,
    cluster::fields::autoscaling,
    cluster::encryption::key_management,
    cluster::encryption::customer_managed,
    cluster::encryption::key_is_named,
    cluster::fields::registry_state,
    cluster::mirrors::image_mirrors,
    cluster::tags::experimental,
    cluster::integration::private_endpoints_are_reached,
    cluster::integration::tag_fits_the_subnet,
    cluster::required::operators_are_complete,
    cluster::required::kms_has_an_identity,
    cluster::required::operators_are_known,
];

/// The rules that compare resources, by id.
const FLEET_RULES: &[FleetRule] = &[
    cluster::network::networks_are_roomy,
    cluster::sharing::managed_groups_are_apart,
    cluster::sharing::subnets_are_apart,
    cluster::sharing::security_groups_are_apart,
    cluster::api_version::api_versions,
    cluster::api_version::bodies_are_small,
    cluster::roles::roles_are_complete,
    cluster::sharing::integration_subnets_are_apart,
    pool::size::clusters_have_room,
];

/// The findings of all rules for `objects`, with the settings of the Fleet document. Tenancy is checked apart.
#[must_use]
pub fn check(objects: &[Object], policy: &FleetPolicy) -> Vec<Finding> {
    check_beside(objects, &[], policy)
}

/// The same for a part of a fleet, beside the objects that [`is_environment`] is true of. There may be findings about these, which
/// are theirs.
#[must_use]
pub(crate) fn check_beside(
    objects: &[Object],
    environment: &[&Object],
    policy: &FleetPolicy,
) -> Vec<Finding> {
    let world = world(objects, environment, policy);
    let fields = fields(&world);
    // Other rules would report a misspelt field as missing.
    let Some((right, mut typos)) = spelling::correct(objects, &world, &fields) else {
        return check_right(objects, environment, policy, &world, fields);
    };
    let world = self::world(&right, environment, policy);
    let fields = self::fields(&world);
    typos.extend(check_right(&right, environment, policy, &world, fields));
    typos
}

fn world<'a>(objects: &'a [Object], environment: &[&'a Object], policy: &FleetPolicy) -> World<'a> {
    let mut world = World::of(objects.iter().chain(environment.iter().copied()));
    world.experimental = policy.experimental;
    world.regions.clone_from(&policy.regions);
    world
}

/// What is wrong with the fields of each resource. Nothing is reported of one that SOPS encrypted with its object.
fn fields(world: &World<'_>) -> Vec<Vec<Finding>> {
    let resources: Vec<&Resource<'_>> = world.all().collect();
    let of_each = resources.par_iter().map(|one| properties::are_known(one));
    let mut of_each: Vec<Vec<Finding>> = of_each.collect();
    // An object is searched once, not for each of its resources.
    let mut encrypted: HashMap<*const Object, bool> = HashMap::new();
    for (resource, found) in resources.iter().zip(&mut of_each) {
        let is_faulty = !found.is_empty();
        let carrier = resource.carrier;
        let known = || is_encrypted(carrier);
        if is_faulty
            && *encrypted
                .entry(std::ptr::from_ref(carrier))
                .or_insert_with(known)
        {
            found.clear();
        }
    }
    of_each
}

/// The findings of all rules for objects without misspelt fields in their resources, and what is wrong with the fields of
/// each of them.
fn check_right(
    objects: &[Object],
    environment: &[&Object],
    policy: &FleetPolicy,
    world: &World<'_>,
    fields: Vec<Vec<Finding>>,
) -> Vec<Finding> {
    let mut found: Vec<Finding> = objects.par_iter().flat_map_iter(of_object).collect();
    let resources: Vec<&Resource<'_>> = world.all().collect();
    let resources = resources.into_par_iter().zip(fields);
    found.par_extend(resources.flat_map_iter(|(one, fields)| of_resource(world, one, fields)));
    let of_fleet = FLEET_RULES.par_iter().chain(fleet::RULES);
    let of_fleet = of_fleet
        .chain(networks::RULES)
        .chain(vaults::RULES)
        .chain(resources::RULES);
    found.par_extend(of_fleet.flat_map_iter(|rule| rule(world)));
    found.extend(allowed_namespaces::check(objects, environment));
    found.extend(served::check(objects, environment));
    found.extend(bound_clients::check(objects, &policy.bindings));
    found.extend(dead_ends::check(objects, environment));
    found.extend(hosted::check(objects, policy));
    found
}

/// The findings about a resource itself, with those about its `fields`. A rule about a field knows better what to write than
/// its type does.
fn of_resource(
    world: &World<'_>,
    resource: &Resource<'_>,
    mut fields: Vec<Finding>,
) -> Vec<Finding> {
    let id = &resource.id;
    let rules = match id.kind.as_str() {
        _ if id.group != RED_HAT_OPENSHIFT => &[],
        "HcpOpenShiftCluster" => CLUSTER_RULES,
        pool::KIND => pool::RULES,
        external_auth::KIND => external_auth::RULES,
        _ => &[],
    };
    let unknown = unknown_in(&fields);
    let own = rules.iter().flat_map(|rule| rule(world, resource));
    let mut own: Vec<Finding> = own.filter(|one| !is_misspelt(one, &unknown)).collect();
    drop(unknown);
    let mut known: HashMap<Option<&Path>, Severity> = HashMap::new();
    for one in &own {
        let severity = known.entry(one.field.as_ref()).or_insert(one.severity);
        *severity = one.severity.min(*severity);
    }
    fields.retain(|found| {
        let known = known.get(&found.field.as_ref());
        found.id == rule_id::UNKNOWN_FIELD || known.is_none_or(|known| *known > found.severity)
    });
    own.append(&mut fields);
    own.extend(properties::are_in_the_version(resource));
    own
}

/// The names of unknown fields, by the path that they are in.
fn unknown_in(found: &[Finding]) -> HashMap<&[Segment], Vec<&str>> {
    let mut unknown: HashMap<&[Segment], Vec<&str>> = HashMap::new();
    for one in found.iter().filter(|one| one.id == rule_id::UNKNOWN_FIELD) {
        if let Some((name, parent)) = name_and_parent(one) {
            unknown.entry(parent).or_default().push(name);
        }
    }
    unknown
}

fn name_and_parent(finding: &Finding) -> Option<(&str, &[Segment])> {
    match finding.field.as_ref()?.0.split_last()? {
        (Segment::Key(name), parent) => Some((name.as_str(), parent)),
        (Segment::Index(_), _) => None,
    }
}

/// Whether a field is reported as missing, and beside it one that is probably meant to be it as unknown.
fn is_misspelt(missing: &Finding, unknown: &HashMap<&[Segment], Vec<&str>>) -> bool {
    name_and_parent(missing).is_some_and(|(name, parent)| {
        let mut beside = unknown.get(parent).into_iter().flatten();
        beside.any(|wrong| {
            work::step();
            nearest(wrong, [name]).is_some()
        })
    })
}

/// As in the API server, admission does not check values of the wrong type.
fn of_object(object: &Object) -> Vec<Finding> {
    let all = |rules: &[Rule]| rules.iter().flat_map(|rule| rule(object)).collect();
    let mut found: Vec<Finding> = all(RULES);
    let mut admission: Vec<Finding> = all(ADMISSION_RULES);
    let mistyped = Mistyped::of(&found);
    admission.retain(|finding| !mistyped.has(finding));
    found.append(&mut admission);
    found
}

/// The objects in YAML documents.
#[cfg(test)]
fn objects_in(yaml: &str) -> Vec<Object> {
    let path = std::sync::Arc::from("test.yaml");
    let (documents, findings) = crate::yaml::read(&path, yaml.as_bytes());
    assert_eq!(findings, [], "the test's YAML is valid");
    let documents = documents.into_iter();
    documents
        .filter_map(|document| Object::from_node(document, "default"))
        .collect()
}

/// What `check` finds in objects. It finds the same in each group of those that links join.
#[cfg(test)]
fn found_in(objects: &[Object], check: impl Fn(&[Object]) -> Vec<Finding>) -> Vec<Finding> {
    let whole = check(objects);
    let mut groups = Groups::of(objects.len());
    for (part, object) in objects.iter().enumerate() {
        groups.add(part, links(&[object], &FleetPolicy::default()).into());
    }
    let environment: Vec<&Object> = objects.iter().filter(|one| is_environment(one)).collect();
    let mut all = std::collections::BTreeSet::new();
    let parts = loop {
        let joined = groups.joined(None);
        let mut parts = Vec::new();
        for group in &*joined {
            let own: Vec<&Object> = group.iter().map(|at| &objects[*at]).collect();
            groups.add(group[0], links(&own, &FleetPolicy::default()).into());
            let is_own = |object: &Object| own.iter().any(|one| std::ptr::eq(*one, object));
            let beside = environment.iter().filter(|one| !is_own(one));
            let members: Vec<Object> = own.iter().chain(beside.clone()).copied().cloned().collect();
            let mut found = check(&members);
            found.retain(|one| {
                let mut others = beside.clone();
                !others.any(|object| one.object.as_ref() == Some(&object.id))
            });
            groups.suggest(group[0], found.iter());
            parts.extend(found);
        }
        if !all.insert(joined) {
            break parts;
        }
    };
    let lines = |found: &[Finding]| {
        let mut lines: Vec<String> = found.iter().map(|one| format!("{one:#?}")).collect();
        lines.sort();
        lines.dedup();
        lines
    };
    assert_eq!(lines(&whole), lines(&parts), "as a whole, and in parts");
    whole
}

/// Findings as `id line:column message`.
#[cfg(test)]
fn placed(findings: impl IntoIterator<Item = Finding>) -> Vec<String> {
    let say = |finding: Finding| {
        let start = finding.span.expect("a rule points somewhere").start;
        let (id, message) = (finding.id, finding.message);
        format!("{id} {}:{} {message}", start.line, start.column)
    };
    findings.into_iter().map(say).collect()
}

/// Runs one rule on YAML objects and shows its findings.
#[cfg(test)]
pub(crate) fn findings_of(rule: Rule, yaml: &str) -> Vec<String> {
    placed(objects_in(yaml).iter().flat_map(rule))
}

/// Runs a rule of fleets on YAML documents and shows its findings.
#[cfg(test)]
fn findings_of_fleet(rule: FleetRule, yaml: &str) -> Vec<String> {
    placed(found_in(&objects_in(yaml), |objects| {
        rule(&World::of(objects))
    }))
}

/// Runs one rule on each resource of a kind in YAML documents, and shows its findings.
#[cfg(test)]
fn findings_of_kind(rule: ResourceRule, kind: &str, yaml: &str) -> Vec<String> {
    let found = |objects: &[Object]| {
        let world = World::of(objects);
        let resources = world.of_kind(RED_HAT_OPENSHIFT, kind);
        let found = resources.flat_map(|resource| rule(&world, resource));
        found.collect()
    };
    placed(found_in(&objects_in(yaml), found))
}
