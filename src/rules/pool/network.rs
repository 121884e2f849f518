//! N09 and N10: the subnet of a node pool.

use crate::api::kinds::NETWORK;
use crate::model::{Finding, Message, message};
use crate::rules::arm::{ArmId, Field, Resource, World};

const SUBNET: &str = "spec.properties.platform.subnetReference";
const SUBNETS: &str = "microsoft.network/virtualnetworks/subnets";

/// N09: `subnetReference` names a subnet.
pub(super) fn subnet_is_a_subnet(_: &World<'_>, pool: &Resource<'_>) -> Vec<Finding> {
    let reference = pool.field(SUBNET);
    let fault = not_of_type(&reference, SUBNETS, (NETWORK, "VirtualNetworksSubnet"));
    let finding = fault.map(|(field, fault)| field.finding("N09", fault.of("subnetReference")));
    finding.into_iter().collect()
}

/// N10: the subnet is in the virtual network of the cluster's subnet.
pub(super) fn subnet_is_in_the_clusters_network(
    world: &World<'_>,
    pool: &Resource<'_>,
) -> Vec<Finding> {
    let reference = pool.field(SUBNET);
    let own = network(world, pool);
    let clusters = world
        .owner(pool)
        .and_then(|cluster| network(world, cluster));
    let (Some(own), Some(clusters)) = (own, clusters) else {
        return Vec::new();
    };
    let mut same = own.clone();
    if own.shares_subscription(&clusters) {
        same.subscription.clone_from(&clusters.subscription);
    }
    if same == clusters {
        return Vec::new();
    }
    let message = message!(
        "the subnet is in {own}, but the cluster is in {clusters}",
        own,
        clusters
    );
    let help = "name a subnet of the cluster's virtual network, or remove the reference to use the cluster's own subnet";
    vec![named(&reference).finding("N10", message).help(help)]
}

/// The virtual network of the subnet that a cluster or a pool names.
fn network(world: &World<'_>, resource: &Resource<'_>) -> Option<ArmId> {
    let subnet = world.referred(resource, &resource.field(SUBNET))?;
    subnet.parent().filter(|_| subnet.kind() == SUBNETS)
}

/// The part of a reference that names the resource.
fn named<'a>(reference: &Field<'a>) -> Field<'a> {
    let id = reference.key("armId");
    match id.is_given() {
        true => id,
        false => reference.key("name"),
    }
}

/// Why a reference is wrong, and the resource that it names.
pub(super) struct Fault {
    why: String,
    named: String,
}

impl Fault {
    /// The message about the reference of this name.
    pub(super) fn of(self, reference: &str) -> Message {
        let Self { why, named } = self;
        message!("{reference} {why}", reference, named)
    }
}

/// What is wrong with a reference to a resource of the type `kind` in Azure, and the field to point at.
pub(super) fn not_of_type<'a>(
    reference: &Field<'a>,
    kind: &str,
    object: (&str, &str),
) -> Option<(Field<'a>, Fault)> {
    let id = reference.key("armId");
    if let Some(text) = id.text() {
        let why = match ArmId::parse(text) {
            Err(why) => why,
            Ok(read) if read.kind() != kind => format!("it is of type {}", read.kind()),
            Ok(read) if read.group.is_empty() => "it has no resource group".to_owned(),
            Ok(_) => return None,
        };
        let (why, named) = (format!("does not name a {kind}: {why}"), text.to_owned());
        return Some((id, Fault { why, named }));
    }
    let (group, own) = (reference.key("group"), reference.key("kind"));
    let (of, text) = (group.text()?, own.text()?);
    ((of, text) != object).then(|| {
        let named = format!("{of}/{text}");
        let why = format!("must name a {}/{}, not a {named}", object.0, object.1);
        (own, Fault { why, named })
    })
}
