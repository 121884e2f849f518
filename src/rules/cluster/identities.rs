//! C31 to C37: the identities of a cluster's operators.

use std::collections::{HashMap, HashSet};

use super::fields::missing;
use super::operators::{self, Operator, Plane};
use super::reference::{IDENTITY, fault, name_in, out_of_place};
use crate::model::{Finding, Message, Path, message};
use crate::rules::arm::{ArmId, Field, Resource, World};
use crate::rules::wording::one_of;

/// The identities that are assigned to a cluster.
fn assigned<'a>(cluster: &'a Resource<'a>) -> Field<'a> {
    cluster.field("spec.identity.userAssignedIdentities")
}

/// The operators of a cluster whose identities have a known ARM id.
fn acting<'a>(world: &World<'_>, cluster: &'a Resource<'a>) -> Vec<(Operator<'a>, ArmId)> {
    let operators = operators::of(cluster).into_iter();
    let known = operators.filter_map(|operator| {
        let identity = world.referred(cluster, &operator.field)?;
        (identity.kind() == IDENTITY.arm).then_some((operator, identity))
    });
    known.collect()
}

/// C31: every operator has a name and an identity.
pub(in crate::rules) fn operators_have_identities(
    _: &World<'_>,
    cluster: &Resource<'_>,
) -> Vec<Finding> {
    let operators = operators::of(cluster).into_iter();
    let faults = operators.filter_map(|operator| {
        if operator.name.trim().is_empty() {
            let message = "an operator's name is empty";
            let help = "write the name of an operator, such as ingress";
            return Some(operator.field.finding("C31", message).help(help));
        }
        if !operator.field.is_given() {
            let name = operator.name;
            let message = message!("{operator} has no identity", name);
            let help = format!("write `{name}: {{armId: ...}}` with a user-assigned identity");
            return Some(operator.field.finding("C31", message).help(help));
        }
        fault("C31", &operator.field, &IDENTITY)
    });
    faults.collect()
}

/// C32: identities are in the cluster's subscription, and not in the managed resource group.
pub(in crate::rules) fn identities_are_at_hand(
    world: &World<'_>,
    cluster: &Resource<'_>,
) -> Vec<Finding> {
    if let Some(finding) = all_elsewhere(world, cluster) {
        return vec![finding];
    }
    let operators = operators::of(cluster).into_iter();
    operators
        .filter_map(|operator| out_of_place("C32", world, cluster, &operator.field))
        .collect()
}

/// A finding if all identities are in one other subscription: that of the cluster is probably wrong.
fn all_elsewhere(world: &World<'_>, cluster: &Resource<'_>) -> Option<Finding> {
    let own = world.name_of(cluster)?;
    let acting = acting(world, cluster);
    let subscriptions: HashSet<&str> = acting
        .iter()
        .map(|(_, identity)| identity.subscription.as_str())
        .collect();
    let mut subscriptions = subscriptions.into_iter();
    let (other, None) = (subscriptions.next()?, subscriptions.next()) else {
        return None;
    };
    let is_own = other.is_empty() || own.subscription.is_empty() || other == own.subscription;
    if is_own || acting.len() < 2 {
        return None;
    }
    let message = message!(
        "the cluster is in subscription {own}, but its {count} identities are in {other}",
        own = own.subscription,
        count = acting.len(),
        other
    );
    let field = Path::dotted("spec.subscriptionID");
    let carrier = cluster.carrier;
    let place = match carrier.node.lookup(&field) {
        Some(written) => written.span(),
        None => cluster.node.span(),
    };
    let help = format!(
        "write `subscriptionID: {other}`, or use identities in the cluster's subscription: Azure looks only there"
    );
    let finding = Finding::error("C32", message).at(place).of(&carrier.id);
    Some(finding.field(&field).help(help))
}

/// C33: no two operators share an identity.
pub(in crate::rules) fn identities_are_distinct(
    world: &World<'_>,
    cluster: &Resource<'_>,
) -> Vec<Finding> {
    let acting = acting(world, cluster);
    let mut firsts: HashMap<&ArmId, &Operator<'_>> = HashMap::new();
    let mut findings = Vec::new();
    for (operator, identity) in &acting {
        let Some(first) = firsts.get(identity) else {
            firsts.insert(identity, operator);
            continue;
        };
        let name = identity.name();
        let message = message!(
            "{operator} has the same identity as {first}: {name}",
            name,
            operator = operator.name,
            first = first.name
        );
        let help = "give each operator its own identity";
        findings.push(name_in(&operator.field).finding("C33", message).help(help));
    }
    findings
}

/// C34: the identities that Azure itself uses are assigned to the cluster.
pub(in crate::rules) fn used_are_assigned(
    world: &World<'_>,
    cluster: &Resource<'_>,
) -> Vec<Finding> {
    let list = assigned(cluster);
    let listed = listed(world, cluster);
    let unlisted = acting(world, cluster)
        .into_iter()
        .filter(|(operator, identity)| of_azure(operator) && !listed.contains(identity));
    let finding = |(operator, identity): (Operator<'_>, ArmId)| {
        let message = message!(
            "identity.userAssignedIdentities does not list {identity}, the identity of {operator}",
            identity = identity.name(),
            name = operator.name
        );
        list.finding("C34", message)
            .help(format!("add `- reference: {{armId: {identity}}}`"))
    };
    unlisted.map(finding).collect()
}

fn listed(world: &World<'_>, cluster: &Resource<'_>) -> HashSet<ArmId> {
    let list = assigned(cluster);
    list.items()
        .filter_map(|item| world.referred(cluster, &item.key("reference")))
        .collect()
}

/// C35: an identity that is assigned to the cluster is used by exactly one of Azure's operators.
pub(in crate::rules) fn assigned_are_used(
    world: &World<'_>,
    cluster: &Resource<'_>,
) -> Vec<Finding> {
    assigned_to_others(world, cluster, "C35", |name, users| match users {
        [] => Some(message!(
            "the identity {name} is assigned to the cluster, but no operator uses it",
            name
        )),
        [first, second, ..] if of_azure(first) && of_azure(second) => Some(message!(
            "the identity {name} is assigned to the cluster, but several operators use it: {first} and {second}",
            name,
            first = first.name,
            second = second.name
        )),
        _ => None,
    })
}

/// C36: the identities of data plane operators are not assigned to the cluster.
pub(in crate::rules) fn nodes_are_not_assigned(
    world: &World<'_>,
    cluster: &Resource<'_>,
) -> Vec<Finding> {
    assigned_to_others(world, cluster, "C36", |name, users| {
        let user = users.iter().find(|operator| !of_azure(operator))?;
        Some(message!(
            "the identity {name} may not be assigned to the cluster: {user} uses it",
            name,
            operator = user.name
        ))
    })
}

/// Whether Azure itself uses its identity.
fn of_azure(operator: &Operator<'_>) -> bool {
    operator.plane != Plane::Data
}

/// The assigned identities whose users have a problem that `fault` finds.
fn assigned_to_others(
    world: &World<'_>,
    cluster: &Resource<'_>,
    id: &'static str,
    fault: impl Fn(&str, &[&Operator<'_>]) -> Option<Message>,
) -> Vec<Finding> {
    let acting = acting(world, cluster);
    let list = assigned(cluster);
    let faults = list.items().filter_map(|item| {
        let reference = item.key("reference");
        // C37 reports references to anything else.
        let identity = world.referred(cluster, &reference);
        let identity = identity.filter(|identity| identity.kind() == IDENTITY.arm)?;
        let users = acting.iter().filter(|(_, used)| *used == identity);
        let users: Vec<&Operator<'_>> = users.map(|(operator, _)| operator).collect();
        let message = fault(identity.name(), &users)?;
        let help = match users.len() {
            0 | 1 => "remove it from identity.userAssignedIdentities",
            _ => "give each operator its own identity",
        };
        Some(name_in(&reference).finding(id, message).help(help))
    });
    faults.collect()
}

/// C37: the identity type is a known one, and only identities are assigned to the cluster.
pub(in crate::rules) fn identity_type(_: &World<'_>, cluster: &Resource<'_>) -> Vec<Finding> {
    const TYPES: [&str; 4] = [
        "None",
        "SystemAssigned",
        "SystemAssigned,UserAssigned",
        "UserAssigned",
    ];
    let field = cluster.field("spec.identity.type");
    let without = missing("C37", &field);
    let without = without.map(|finding| finding.help("write `type: UserAssigned`"));
    let of_type = without.or_else(|| one_of(&field, "C37", &TYPES));
    let list = assigned(cluster);
    let items = list.items().map(|item| item.key("reference"));
    let wrong: Vec<Finding> = items
        .filter_map(|reference| fault("C37", &reference, &IDENTITY))
        .collect();
    of_type.into_iter().chain(wrong).collect()
}

#[cfg(test)]
mod tests {
    use super::super::findings_of;
    use super::*;
    use crate::rules::ResourceRule;

    /// C31 to C36, in this order.
    const RULES: [ResourceRule; 6] = [
        operators_have_identities,
        identities_are_at_hand,
        identities_are_distinct,
        used_are_assigned,
        assigned_are_used,
        nodes_are_not_assigned,
    ];

    fn id(name: &str) -> String {
        let at = match name.split_once('@') {
            Some((name, at)) => (name, at),
            None => (name, "s/resourceGroups/ids"),
        };
        let (name, at) = at;
        format!(
            "{{armId: /subscriptions/{at}/providers/Microsoft.ManagedIdentity/userAssignedIdentities/{name}}}"
        )
    }

    /// How many findings each rule has for a cluster of subscription `s` with these control plane
    /// operators, data plane operators and listed identities.
    fn faults(control: &[(&str, &str)], data: &[(&str, &str)], listed: &[&str]) -> [usize; 6] {
        let map = |operators: &[(&str, &str)]| {
            let entries = operators
                .iter()
                .map(|(operator, name)| format!("{operator:?}: {}", id(name)));
            entries.collect::<Vec<_>>().join(", ")
        };
        let listed: Vec<String> = listed
            .iter()
            .map(|name| format!("{{reference: {}}}", id(name)))
            .collect();
        let spec = format!(
            "{{owner: {{armId: /subscriptions/S/resourceGroups/G}}, identity: {{userAssignedIdentities: [{}]}}, properties: {{platform: {{managedResourceGroup: Managed, operatorsAuthentication: {{userAssignedIdentities: {{controlPlaneOperatorsReferences: {{{}}}, dataPlaneOperatorsReferences: {{{}}}}}}}}}}}}}",
            listed.join(", "),
            map(control),
            map(data)
        );
        RULES.map(|rule| findings_of(rule, &spec).len())
    }

    #[test]
    fn the_identities_that_azure_uses_are_assigned_and_no_others() {
        let control = [("ingress", "a"), ("kms", "b")];
        let data = [("disk-csi-driver", "d")];
        assert_eq!(faults(&control, &data, &["a", "b"]), [0; 6]);
        assert_eq!(faults(&control, &data, &["A", "B"]), [0; 6]);
        assert_eq!(faults(&control, &data, &["a"]), [0, 0, 0, 1, 0, 0]);
        assert_eq!(
            faults(&control, &data, &["a", "b", "c"]),
            [0, 0, 0, 0, 1, 0]
        );
        assert_eq!(
            faults(&control, &data, &["a", "b", "d"]),
            [0, 0, 0, 0, 0, 1]
        );
        assert_eq!(
            faults(&[("ingress", "a"), ("kms", "A")], &[], &["a"]),
            [0, 0, 1, 0, 1, 0]
        );
        assert_eq!(faults(&[("", "a")], &[], &["a"]), [1, 0, 0, 0, 0, 0]);
        let elsewhere = "a@other/resourceGroups/ids";
        assert_eq!(
            faults(&[("kms", elsewhere)], &[], &[elsewhere]),
            [0, 1, 0, 0, 0, 0]
        );
        let both = ["a@other/resourceGroups/ids", "b@other/resourceGroups/ids"];
        assert_eq!(
            faults(&[("kms", both[0]), ("ingress", both[1])], &[], &both),
            [0, 1, 0, 0, 0, 0],
            "one finding about the cluster's subscription"
        );
        let managed = "a@s/resourceGroups/managed";
        assert_eq!(
            faults(&[("kms", managed)], &[], &[managed]),
            [0, 1, 0, 0, 0, 0]
        );
    }
}
