//! References of a cluster to resources of Azure: what they must name, and where that must be.

use crate::api::kinds::{MANAGED_IDENTITY, NETWORK};
use crate::model::Finding;
use crate::rules::arm::{ArmId, Field, Resource, World};

/// What a reference must name.
pub(super) struct Wanted {
    /// What messages call it.
    pub(super) called: &'static str,
    /// Its group and kind as an object.
    pub(super) object: (&'static str, &'static str),
    /// Its type in Azure, in lower case.
    pub(super) arm: &'static str,
}

pub(super) const SUBNET: Wanted = Wanted {
    called: "a subnet",
    object: (NETWORK, "VirtualNetworksSubnet"),
    arm: "microsoft.network/virtualnetworks/subnets",
};

pub(super) const SECURITY_GROUP: Wanted = Wanted {
    called: "a network security group",
    object: (NETWORK, "NetworkSecurityGroup"),
    arm: "microsoft.network/networksecuritygroups",
};

pub(super) const IDENTITY: Wanted = Wanted {
    called: "a user-assigned identity",
    object: (MANAGED_IDENTITY, "UserAssignedIdentity"),
    arm: "microsoft.managedidentity/userassignedidentities",
};

/// What is wrong with a reference that is there: it names nothing, or something of another type.
pub(super) fn fault(id: &'static str, reference: &Field<'_>, wanted: &Wanted) -> Option<Finding> {
    let (group, kind, name) = (
        reference.key("group"),
        reference.key("kind"),
        reference.key("name"),
    );
    let field = reference.key("armId");
    let called = reference.name();
    let Some(text) = field.text() else {
        let (Some(of), Some(text), Some(_)) = (group.text(), kind.text(), name.text()) else {
            let message = format!("{called} does not name {}", wanted.called);
            let help = "write either armId, or group, kind and name of a resource of the fleet";
            return Some(reference.finding(id, message).help(help));
        };
        let other = (of, text) != wanted.object;
        let message = format!(
            "{called} names a {text} of {of}, and {} is expected",
            wanted.called
        );
        return other.then(|| kind.finding(id, message));
    };
    if [group, kind, name].iter().any(Field::is_given) {
        let message = format!("{called} has both armId and group, kind or name");
        return Some(reference.finding(id, message).help("keep one of the two"));
    }
    let message = match ArmId::parse(text) {
        Err(why) => format!("{text:?} is no id of a resource of Azure: {why}"),
        Ok(arm) if arm.kind() != wanted.arm => {
            format!(
                "{text:?} does not name {}: its type must be {}",
                wanted.called, wanted.arm
            )
        }
        Ok(arm) if arm.group.is_empty() => format!("{text:?} has no resource group"),
        Ok(_) => return None,
    };
    Some(field.finding(id, message))
}

/// Where to point for what a reference names.
pub(super) fn name_in<'a>(reference: &Field<'a>) -> Field<'a> {
    let fields = ["armId", "name"].map(|name| reference.key(name));
    let given = fields.into_iter().find(Field::is_given);
    given.unwrap_or_else(|| reference.clone())
}

/// What is wrong with where something is that `cluster` uses: in another subscription, or in the
/// resource group that Azure keeps for itself.
pub(super) fn out_of_place(
    id: &'static str,
    world: &World<'_>,
    cluster: &Resource<'_>,
    reference: &Field<'_>,
) -> Option<Finding> {
    let used = world.referred(cluster, reference)?;
    let called = reference.name();
    let own = world.name_of(cluster);
    if let Some(own) = own.as_ref().filter(|own| !own.shares_subscription(&used)) {
        let message = format!(
            "{called} is in subscription {}, and the cluster is in {}",
            used.subscription, own.subscription
        );
        let help = "use what is in the cluster's subscription: Azure looks nowhere else";
        return Some(name_in(reference).finding(id, message).help(help));
    }
    let managed = cluster.field("spec.properties.platform.managedResourceGroup");
    let managed = managed.text()?.to_lowercase();
    // Then C22 tells of it.
    let is_own = own.is_some_and(|own| own.group == managed);
    (used.group == managed && !is_own).then(|| {
        let message = format!("{called} is in {managed}, the resource group that Azure manages");
        let help = "use another resource group: nobody but Azure may put anything there";
        name_in(reference).finding(id, message).help(help)
    })
}
