//! References of a cluster to Azure resources: what they must name, and where that must be.

use crate::api::kinds::{MANAGED_IDENTITY, NETWORK};
use crate::model::{Finding, message};
use crate::rules::arm::{ArmId, Field, Resource, World};

/// What a reference must name.
pub(in crate::rules) struct Wanted {
    /// Its name in messages.
    pub(in crate::rules) called: &'static str,
    /// Its group and kind as an object.
    pub(in crate::rules) object: (&'static str, &'static str),
    /// Its type in Azure, in lower case.
    pub(in crate::rules) arm: &'static str,
    /// The end of its ARM id, after the resource group.
    pub(in crate::rules) form: &'static str,
}

pub(in crate::rules) const SUBNET: Wanted = Wanted {
    called: "a subnet",
    object: (NETWORK, "VirtualNetworksSubnet"),
    arm: "microsoft.network/virtualnetworks/subnets",
    form: "Microsoft.Network/virtualNetworks/<network>/subnets/<subnet>",
};

pub(super) const SECURITY_GROUP: Wanted = Wanted {
    called: "a network security group",
    object: (NETWORK, "NetworkSecurityGroup"),
    arm: "microsoft.network/networksecuritygroups",
    form: "Microsoft.Network/networkSecurityGroups/<name>",
};

pub(super) const IDENTITY: Wanted = Wanted {
    called: "a user-assigned identity",
    object: (MANAGED_IDENTITY, "UserAssignedIdentity"),
    arm: "microsoft.managedidentity/userassignedidentities",
    form: "Microsoft.ManagedIdentity/userAssignedIdentities/<name>",
};

impl Wanted {
    /// How to write its ARM id.
    fn as_id(&self) -> String {
        let form = self.form;
        format!("write /subscriptions/<id>/resourceGroups/<group>/providers/{form}")
    }

    /// How to name it as an object.
    pub(super) fn as_object(&self) -> String {
        let (group, kind) = self.object;
        format!("{{group: {group}, kind: {kind}, name: ...}}")
    }
}

/// Whether a reference names anything.
pub(super) fn names_something(reference: &Field<'_>) -> bool {
    let texts = ["armId", "name"].map(|name| reference.key(name).text());
    texts.into_iter().flatten().any(|text| !text.is_empty())
}

/// A finding if a reference names nothing, or something of another type.
pub(in crate::rules) fn fault(
    id: &'static str,
    reference: &Field<'_>,
    wanted: &Wanted,
) -> Option<Finding> {
    let arm = reference.key("armId");
    let named = ["name", "kind", "group"].map(|name| reference.key(name));
    match (arm.text(), named.iter().any(Field::is_given)) {
        (None, _) => of_object(id, reference, wanted),
        (Some(text), false) => of_id(id, (&arm, text), wanted),
        (Some(_), true) => Some(both(id, reference, &arm, &named)),
    }
}

/// A finding if a reference names an object of another kind, or none.
fn of_object(id: &'static str, reference: &Field<'_>, wanted: &Wanted) -> Option<Finding> {
    let (group, kind, name) = (
        reference.key("group"),
        reference.key("kind"),
        reference.key("name"),
    );
    let (called, what, form) = (reference.name(), wanted.called, wanted.as_object());
    let (Some(of), Some(text), Some(_)) = (group.text(), kind.text(), name.text()) else {
        let message = message!("{called} does not name {what}", called, what);
        let help = format!("write `{form}` for a resource in the fleet, or its armId");
        return Some(reference.finding(id, message).help(help));
    };
    let message = message!(
        "{called} must name {what}, not a {text} of {of}",
        called,
        what,
        text,
        of
    );
    let finding = || kind.finding(id, message).help(format!("write `{form}`"));
    ((of, text) != wanted.object).then(finding)
}

/// A finding if an ARM id is not one of the type.
fn of_id(id: &'static str, (field, text): (&Field<'_>, &str), wanted: &Wanted) -> Option<Finding> {
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
    Some(field.finding(id, message).help(wanted.as_id()))
}

/// A reference that names a resource in two ways. The finding points at what a person wrote.
fn both(id: &'static str, reference: &Field<'_>, arm: &Field<'_>, named: &[Field<'_>]) -> Finding {
    let called = reference.name();
    let message = message!("{called} has both armId and group, kind or name", called);
    let added = !arm.is_default() && reference.is_default();
    let help = match added {
        true => {
            "add `group: null`, `kind: null` and `name: null`, which removes the generated name"
        }
        false => "remove armId, or group, kind and name",
    };
    let written = std::iter::once(arm).chain(named);
    let at = written
        .into_iter()
        .find(|field| field.is_given() && !field.is_default());
    at.unwrap_or(reference).finding(id, message).help(help)
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
