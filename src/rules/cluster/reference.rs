//! References of a cluster to Azure resources: what they must name, and where that must be.

use crate::api::kinds::{MANAGED_IDENTITY, NETWORK};
use crate::model::{Finding, message};
use crate::rules::arm::{ArmId, Field, Resource, World};

/// What a reference must name.
pub(super) struct Wanted {
    /// Its name in messages.
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

/// A finding if a reference names nothing, or something of another type.
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
            let message = message!(
                "{called} does not name {wanted}",
                called,
                wanted = wanted.called
            );
            let help = "set either armId, or group, kind and name of a resource in the fleet";
            return Some(reference.finding(id, message).help(help));
        };
        let other = (of, text) != wanted.object;
        let message = message!(
            "{called} must name {wanted}, not a {text} of {of}",
            called,
            wanted = wanted.called,
            text,
            of
        );
        return other.then(|| kind.finding(id, message));
    };
    if [group, kind, name].iter().any(Field::is_given) {
        let message = message!("{called} has both armId and group, kind or name", called);
        return Some(reference.finding(id, message).help("remove one of them"));
    }
    let message = match ArmId::parse(text) {
        Err(why) => message!("{text:?} is not an Azure resource id: {why}", text),
        Ok(arm) if arm.kind() != wanted.arm => {
            message!(
                "{text:?} does not name {wanted}: its type must be {kind}",
                text,
                wanted = wanted.called,
                kind = wanted.arm
            )
        }
        Ok(arm) if arm.group.is_empty() => message!("{text:?} has no resource group", text),
        Ok(_) => return None,
    };
    Some(field.finding(id, message))
}

/// The field to point at for what a reference names.
pub(in crate::rules) fn name_in<'a>(reference: &Field<'a>) -> Field<'a> {
    let fields = ["armId", "name"].map(|name| reference.key(name));
    let given = fields.into_iter().find(Field::is_given);
    given.unwrap_or_else(|| reference.clone())
}

/// A finding if something that `cluster` uses is in another subscription, or in the managed resource group.
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
        let message = message!(
            "{called} is in subscription {used}, but the cluster is in {own}",
            called,
            used = used.subscription,
            own = own.subscription
        );
        let help = "use a resource in the cluster's subscription: Azure looks only there";
        return Some(name_in(reference).finding(id, message).help(help));
    }
    let managed = cluster.field("spec.properties.platform.managedResourceGroup");
    let managed = managed.text()?.to_lowercase();
    // C22 reports it if they are the same.
    let is_own = own.is_some_and(|own| own.group == managed);
    (used.group == managed && !is_own).then(|| {
        let message = message!(
            "{called} is in {managed}, the managed resource group",
            called,
            managed
        );
        let help = "use another resource group: only Azure may create resources in this one";
        name_in(reference).finding(id, message).help(help)
    })
}
