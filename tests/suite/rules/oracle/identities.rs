//! Clusters: what they use in Azure, and the identities of their operators.

use super::{CLUSTER, Case, at, bad, case, hold, null};

const SUBSCRIPTION: &str = "/subscriptions/3f0c7d3e-52a4-4b6b-9a51-2f1f0d9c7a10";
const ELSEWHERE: &str = "/subscriptions/11111111-2222-4333-8444-555555555555";
const MANAGED: &str = "capz_node_one_one-resgroup_rg";

/// The identities a cluster uses exist in Azure; nothing else is configured.
fn uses(field: &str, id: &str, mark: &str) -> Vec<Case> {
    let value = format!("\n$patch: replace\narmId: {id} # {mark}");
    vec![at(CLUSTER, &format!("platform.{field}"), &value)]
}

fn network(place: &str, of: &str) -> String {
    format!("{place}/providers/Microsoft.Network/{of}")
}

#[test]
fn networks_are_at_hand() {
    let group = format!("{SUBSCRIPTION}/resourceGroups/nets");
    let managed = format!("{SUBSCRIPTION}/resourceGroups/{}", MANAGED.to_uppercase());
    let away = format!("{ELSEWHERE}/resourceGroups/nets");
    const NET: &str = "virtualNetworks/v";
    const SUBNET: &str = "virtualNetworks/v/subnets/s";
    const GROUP: &str = "networkSecurityGroups/g";
    let guarded = |id: &str, mark| uses("networkSecurityGroupReference", id, mark);
    let subnet = |id: &str, mark| uses("subnetReference", id, mark);
    let joined = |id: &str, mark| uses("vnetIntegrationSubnetReference", id, mark);
    let unset = |field: &str| {
        null(
            CLUSTER,
            &format!("/spec/properties/platform/{field}"),
            "C23",
        )
    };
    // Roles are given on what the fleet makes: on anything else they are missing.
    hold(&[
        guarded(&network(&group, GROUP), "W05; elsewhere: V07"),
        guarded(&network(&group, NET), "C23"),
        guarded("g", "C23"),
        guarded(&network(SUBSCRIPTION, GROUP), "C23; elsewhere: V07"),
        guarded(&network(&managed, GROUP), "C24; elsewhere: V07"),
        guarded(&network(&away, GROUP), "C24; elsewhere: V07"),
        subnet(&network(&managed, SUBNET), "C24; elsewhere: C25, N10, V07"),
        subnet(&network(&away, SUBNET), "C24; elsewhere: C25, N10, V07"),
        subnet(&network(&group, NET), "C23"),
        joined(&network(&group, SUBNET), "C25"),
        joined(&network(&group, GROUP), "C23"),
        unset("subnetReference"),
        unset("networkSecurityGroupReference"),
    ]);
}

fn identity(place: &str, name: &str) -> String {
    format!("{place}/providers/Microsoft.ManagedIdentity/userAssignedIdentities/{name}")
}

/// An operator of the nodes acts as that.
fn acts_as(id: &str, mark: &str) -> Vec<Case> {
    const OPERATOR: &str = "operatorsAuthentication.userAssignedIdentities.dataPlaneOperatorsReferences.image-registry";
    uses(OPERATOR, id, mark)
}

/// The identities that are listed are changed by these steps.
fn listed(steps: &str) -> Vec<Case> {
    vec![case(CLUSTER, steps)]
}

fn added(id: &str, mark: &str) -> Vec<Case> {
    listed(&format!(
        "- op: add\n  path: /spec/identity/userAssignedIdentities/-\n  value:\n    reference:\n      armId: {id}{mark}\n"
    ))
}

const OPERATORS: &str = "/spec/properties/platform/operatorsAuthentication/userAssignedIdentities";

#[test]
fn identities_are_at_hand() {
    let own = format!("{SUBSCRIPTION}/resourceGroups/one-resgroup");
    let managed = format!("{SUBSCRIPTION}/resourceGroups/{MANAGED}");
    let away = format!("{ELSEWHERE}/resourceGroups/ids");
    let operator = |name: &str| format!("{OPERATORS}/dataPlaneOperatorsReferences/{name}");
    let nameless = format!(
        "\n\"\":\n  armId: {} # key: C31; elsewhere: V07",
        identity(&own, "a")
    );
    // The service has no role on an identity that the fleet does not make.
    hold(&[
        acts_as(&network(&own, "virtualNetworks/v"), "C31"),
        acts_as(&identity(&managed, "a"), "C32; elsewhere: V07"),
        acts_as(&identity(&away, "a"), "C32; elsewhere: V07"),
        acts_as(&identity(&own, "ONE-dp-disk-csi-driver-074a45"), "C33"),
        null(CLUSTER, &operator("image-registry"), "C31"),
        null(
            CLUSTER,
            &format!("{OPERATORS}/serviceManagedIdentityReference"),
            "C38; elsewhere: C35",
        ),
        vec![at(
            CLUSTER,
            "platform.operatorsAuthentication.userAssignedIdentities.dataPlaneOperatorsReferences",
            &nameless,
        )],
    ]);
}

#[test]
fn identities_are_listed_once_and_used_once() {
    let own = format!("{SUBSCRIPTION}/resourceGroups/one-resgroup");
    let ingress = identity(&own, "ONE-cp-ingress-074a45");
    // The positions of the two identities in the list.
    let (of_ingress, of_kms) = (3, 8);
    let twice = format!(
        "- op: replace\n  path: {OPERATORS}/controlPlaneOperatorsReferences/kms\n  value:\n    armId: {ingress} # C33, V07\n\
         - op: replace\n  path: /spec/identity/userAssignedIdentities/{of_ingress}/reference\n  value:\n    armId: {ingress} # C35\n\
         - op: remove\n  path: /spec/identity/userAssignedIdentities/{of_kms}\n"
    );
    hold(&[
        added(&identity(&own, "spare"), " # C35"),
        added(&identity(&own, "one-dp-file-csi-driver-074a45"), " # C36"),
        // One identity for two operators, where it is used and where it is listed. It lacks a role too.
        listed(&twice),
        vec![at(
            CLUSTER,
            "spec.identity.userAssignedIdentities",
            "[] # C34",
        )],
        bad(CLUSTER, "C37", "spec.identity.type", &["Bogus", "\"\""]),
        added(&network(&own, "virtualNetworks/v"), " # C37"),
    ]);
}
