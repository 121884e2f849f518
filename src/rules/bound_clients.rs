//! T08: an identity that authenticates as Capstan itself names only a client ID that is bound to its namespace. Without
//! that, each namespace could become any client that trusts Capstan.
//!
//! In: identities, and the bindings that the operators of the management cluster set. Out: findings. It does not know: the
//! limits of a fleet's tenants, which may narrow this further.

use crate::api::azure_cluster_identity::{IdentityType, UNBOUND_HELP, unbound};
use crate::api::kinds::INFRASTRUCTURE;
use crate::model::{ClientBindings, Finding, Message, Node, Object, Path, rule_id};

/// The client ID of an identity that authenticates as Capstan itself, and its node.
pub(super) fn process_client(identity: &Node) -> Option<(&str, &Node)> {
    kind(identity)?;
    let client = identity.at(&["spec", "clientID"])?;
    Some((client.as_str()?, client))
}

fn kind(identity: &Node) -> Option<IdentityType> {
    match identity.text(&["spec", "type"])? {
        "WorkloadIdentity" => Some(IdentityType::WorkloadIdentity),
        "UserAssignedMSI" => Some(IdentityType::UserAssignedMsi),
        _ => None,
    }
}

/// T08: the client IDs are bound to the namespaces of their identities.
pub(super) fn check(objects: &[Object], bindings: &ClientBindings) -> Vec<Finding> {
    objects
        .iter()
        .filter(|object| object.id.is(INFRASTRUCTURE, "AzureClusterIdentity"))
        .filter_map(|object| {
            let who = (kind(&object.node)?, process_client(&object.node)?);
            let (kind, (client, node)) = who;
            let why = unbound(bindings, &object.id.namespace, (kind, client))?;
            let message = Message::from(why);
            let finding = Finding::error(rule_id::FOREIGN_CLIENT, message).at(node.span());
            let finding = finding.of(&object.id).field(&Path::dotted("spec.clientID"));
            Some(finding.help(UNBOUND_HELP))
        })
        .collect()
}
