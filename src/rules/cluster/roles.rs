//! V07 and W07: every identity that the fleet creates for a cluster has the roles that Azure requires.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::encryption::vault_name;
use super::operators::{self, Grant, Operator, Plane, Scope};
use super::reference::{IDENTITY, SECURITY_GROUP, SUBNET, Wanted, name_in};
use crate::api::embedded;
use crate::api::kinds::{AUTHORIZATION, KEYVAULT, MANAGED_IDENTITY, RED_HAT_OPENSHIFT};
use crate::model::{Finding, message};
use crate::rules::arm::{ArmId, Resource, World};
use crate::schema::nearest;

/// A key of a ConfigMap: namespace, name, key.
pub(in crate::rules) type ConfigMapKey<'a> = (&'a str, &'a str, &'a str);

/// A role on a resource, assigned by a RoleAssignment.
struct Given<'a> {
    role: &'a str,
    on: ArmId,
}

/// The role assignments of a fleet, by principal.
pub(in crate::rules) struct Assignments<'a> {
    /// Those whose principal is read from a ConfigMap.
    to: HashMap<ConfigMapKey<'a>, Vec<Given<'a>>>,
    /// Those whose principal is given as an id: its identity is unknown.
    to_somebody: Vec<Given<'a>>,
    /// The ConfigMap keys that the fleet's identities write their ids to; several if several objects are one
    /// identity.
    keys: HashMap<ArmId, Vec<ConfigMapKey<'a>>>,
    /// The fleet's vaults, by their Azure names.
    vaults: BTreeMap<String, ArmId>,
}

impl<'a> Assignments<'a> {
    pub(in crate::rules) fn of(world: &'a World<'_>) -> Self {
        let mut to: HashMap<ConfigMapKey<'a>, Vec<Given<'a>>> = HashMap::new();
        let mut to_somebody = Vec::new();
        for assignment in world.of_kind(AUTHORIZATION, "RoleAssignment") {
            let Some(given) = given(world, assignment) else {
                continue;
            };
            match principal(assignment) {
                Some(key) => to.entry(key).or_default().push(given),
                None => to_somebody.push(given),
            }
        }
        let identities = world.of_kind(MANAGED_IDENTITY, "UserAssignedIdentity");
        let mut keys: HashMap<ArmId, Vec<ConfigMapKey<'a>>> = HashMap::new();
        for identity in identities {
            let key = config_map_key(identity, "spec.operatorSpec.configMaps.principalId");
            if let (Some(id), Some(key)) = (world.name_of(identity), key) {
                keys.entry(id).or_default().push(key);
            }
        }
        let vaults = world.of_kind(KEYVAULT, "Vault");
        let vaults = vaults.filter_map(|vault| world.name_of(vault));
        Self {
            to,
            to_somebody,
            keys,
            vaults: vaults.map(|id| (id.name().to_owned(), id)).collect(),
        }
    }

    /// Whether the operator of a cluster that uses its key has a role on its vault.
    pub(in crate::rules) fn give_the_key_to(
        &self,
        world: &World<'_>,
        cluster: &Resource<'_>,
        vault: &Resource<'_>,
    ) -> bool {
        let operators = operators::of(cluster);
        let mut roles = operators::required().roles.iter();
        let grant = roles.find(|grant| grant.scopes.contains(&Scope::Vault));
        let user = |grant: &&Grant| {
            let mut operators = operators.iter();
            operators.find(|one| one.is(grant.plane, &grant.operator))
        };
        let Some((grant, user)) = grant.and_then(|grant| Some((grant, user(&grant)?))) else {
            return false;
        };
        let identity = world.referred(cluster, &user.field);
        let keys = identity.and_then(|id| self.keys.get(&id));
        let vault = world.name_of(vault).map(Target::Known);
        let keys = keys.map_or(&[][..], Vec::as_slice);
        vault.is_some_and(|vault| self.have(keys, grant, &vault))
    }

    /// The beginning of a help if a vault of the fleet may be meant instead.
    fn question(&self, target: &Target) -> String {
        let Target::Vault(name) = target else {
            return String::new();
        };
        match nearest(name, self.vaults.keys().map(String::as_str)) {
            Some(meant) => format!(
                "if you mean the vault {meant} of this fleet, correct `vaultName`; otherwise "
            ),
            None => String::new(),
        }
    }

    /// Whether the principal at `keys` has the role on the resource or a parent of it. A role that is not
    /// one of the required ones is assumed to be a custom role with the same permissions.
    fn have(&self, keys: &[ConfigMapKey<'_>], grant: &Grant, on: &Target) -> bool {
        let its = keys.iter().filter_map(|key| self.to.get(key)).flatten();
        let mut all = its.chain(&self.to_somebody);
        all.any(|given| on.is_within(&given.on) && serves(given.role, grant))
    }
}

/// The key that the principal of an assignment is read from.
pub(in crate::rules) fn principal<'a>(assignment: &'a Resource<'_>) -> Option<ConfigMapKey<'a>> {
    config_map_key(assignment, "spec.principalIdFromConfig")
}

fn config_map_key<'a>(resource: &'a Resource<'_>, field: &'static str) -> Option<ConfigMapKey<'a>> {
    let field = resource.field(field);
    let (name, key) = (field.key("name").text()?, field.key("key").text()?);
    Some((&resource.id.namespace, name, key))
}

fn given<'a>(world: &World<'_>, assignment: &'a Resource<'_>) -> Option<Given<'a>> {
    let owner = assignment.field("spec.owner");
    let on = match owner.key("armId").text() {
        Some(text) => ArmId::parse(text).ok()?,
        None => world.name_of(world.owner(assignment)?)?,
    };
    let role = assignment.field("spec.roleDefinitionReference");
    let definition = role.key("armId").text();
    let guid = definition.and_then(|id| id.rsplit('/').next());
    let role = guid.or_else(|| role.key("wellKnownName").text())?;
    Some(Given { role, on })
}

fn serves(role: &str, grant: &Grant) -> bool {
    let is = |grant: &Grant| {
        role.eq_ignore_ascii_case(&grant.guid) || role.eq_ignore_ascii_case(&grant.name)
    };
    is(grant) || !operators::required().roles.iter().any(is)
}

/// What a role must be assigned on.
#[derive(Clone)]
enum Target {
    Known(ArmId),
    /// A vault outside of the fleet; vault names are globally unique.
    Vault(String),
}

impl Target {
    fn is_within(&self, scope: &ArmId) -> bool {
        let id = match self {
            Self::Known(id) => id,
            Self::Vault(_) if scope.provider.is_empty() => return true,
            Self::Vault(name) => {
                return scope.provider == "microsoft.keyvault" && scope.name() == name;
            }
        };
        let in_group = scope.group.is_empty() || scope.group == id.group;
        let in_provider = scope.provider.is_empty()
            || scope.provider == id.provider && id.parts.starts_with(&scope.parts);
        scope.shares_subscription(id) && in_group && in_provider
    }

    /// What it is part of: the virtual network of a subnet.
    fn around(&self) -> Option<Self> {
        match self {
            Self::Known(id) => id.parent().map(Self::Known),
            Self::Vault(_) => None,
        }
    }

    fn called(&self) -> String {
        match self {
            Self::Known(id) => id.to_string(),
            Self::Vault(name) => format!("the vault {name}"),
        }
    }
}

/// V07: every identity of the fleet that a cluster uses has the roles it needs.
pub(in crate::rules) fn roles_are_complete(world: &World<'_>) -> Vec<Finding> {
    let assignments = Assignments::of(world);
    let clusters = world.of_kind(RED_HAT_OPENSHIFT, "HcpOpenShiftCluster");
    clusters
        .flat_map(|cluster| of_cluster(world, &assignments, cluster))
        .collect()
}

/// An operator, and its identity if that can be resolved.
struct User<'a> {
    operator: Operator<'a>,
    identity: Option<ArmId>,
}

fn of_cluster(
    world: &World<'_>,
    assignments: &Assignments<'_>,
    cluster: &Resource<'_>,
) -> Vec<Finding> {
    let operators: Vec<User<'_>> = operators::of(cluster)
        .into_iter()
        .map(|operator| User {
            identity: world.referred(cluster, &operator.field),
            operator,
        })
        .collect();
    let mut of_scopes: HashMap<Scope, Vec<Target>> = HashMap::new();
    let mut findings = Vec::new();
    for grant in &operators::required().roles {
        let of_grant = |user: &&User<'_>| user.operator.is(grant.plane, &grant.operator);
        let Some(User { operator, identity }) = operators.iter().find(of_grant) else {
            continue;
        };
        // An identity from elsewhere gets its roles elsewhere.
        let keys = |id| Some((id, assignments.keys.get(id)?));
        let Some((identity, keys)) = identity.as_ref().and_then(keys) else {
            continue;
        };
        let mut reported = HashSet::new();
        for scope in &grant.scopes {
            let targets = of_scopes
                .entry(*scope)
                .or_insert_with(|| targets(world, assignments, cluster, &operators, *scope));
            let missing = targets
                .iter()
                .filter(|target| !assignments.have(keys, grant, target));
            for target in missing.cloned() {
                if !reported.insert(target.called()) {
                    continue;
                }
                let (id, target) = place(*scope, target);
                reported.insert(target.called());
                let name = identity.name();
                let role = (grant, &target, assignments.question(&target));
                findings.push(missing_role(id, operator, name, role, &keys[0]));
            }
        }
    }
    findings
}

/// The rule that reports a missing role, and what the role should be on. The network of the integration subnet is
/// enough, and then it is not reported again that the network itself lacks the role.
fn place(scope: Scope, target: Target) -> (&'static str, Target) {
    match scope {
        Scope::IntegrationSubnet => ("W07", target.around().unwrap_or(target)),
        _ => ("V07", target),
    }
}

fn missing_role(
    id: &'static str,
    operator: &Operator<'_>,
    identity: &str,
    (grant, target, question): (&Grant, &Target, String),
    (_, map, key): &ConfigMapKey<'_>,
) -> Finding {
    let Grant { name, guid, .. } = grant;
    let on = match id {
        "W07" => "the integration subnet or its virtual network, ",
        _ => "",
    };
    let message = message!(
        "no RoleAssignment gives {identity}, the identity of {operator}, the role {name:?} ({guid}) on {on}{target}",
        identity,
        name,
        guid,
        target = target.called()
    );
    let help = format!(
        "{question}add a RoleAssignment with that resource as its owner, `principalIdFromConfig: {{name: {map}, key: {key}}}` and `roleDefinitionReference: {{armId: .../roleDefinitions/{guid}}}`"
    );
    name_in(&operator.field).finding(id, message).help(help)
}

/// The resources that a scope means for a cluster; none if that is unknown.
fn targets(
    world: &World<'_>,
    assignments: &Assignments<'_>,
    cluster: &Resource<'_>,
    users: &[User<'_>],
    scope: Scope,
) -> Vec<Target> {
    let platform = cluster.field("spec.properties.platform");
    let referred = |name: &str, wanted: &Wanted| {
        let id = world.referred(cluster, &platform.key(name));
        id.filter(|id| id.kind() == wanted.arm)
    };
    let of_plane = |plane: Plane| {
        let of_plane = users
            .iter()
            .filter(move |user| user.operator.plane == plane);
        let ids = of_plane.filter_map(|user| user.identity.as_ref());
        let identities = ids.filter(|id| id.kind() == IDENTITY.arm);
        identities.cloned().map(Target::Known).collect()
    };
    let one = match scope {
        Scope::Subnet => referred("subnetReference", &SUBNET).map(Target::Known),
        Scope::Network => {
            let subnet = referred("subnetReference", &SUBNET);
            subnet.and_then(|id| id.parent()).map(Target::Known)
        }
        // C25 reports an integration subnet in another network.
        Scope::IntegrationSubnet => {
            let network = referred("subnetReference", &SUBNET).and_then(|id| id.parent());
            let own = referred("vnetIntegrationSubnetReference", &SUBNET);
            let own = own.filter(|own| network.is_some() && own.parent() == network);
            own.map(Target::Known)
        }
        Scope::SecurityGroup => {
            referred("networkSecurityGroupReference", &SECURITY_GROUP).map(Target::Known)
        }
        Scope::Vault => vault(assignments, cluster),
        Scope::ControlIdentities => return of_plane(Plane::Control),
        Scope::DataIdentities => return of_plane(Plane::Data),
    };
    one.into_iter().collect()
}

fn vault(assignments: &Assignments<'_>, cluster: &Resource<'_>) -> Option<Target> {
    let kms = cluster.field(embedded::KMS.join("."));
    let name = vault_name(&kms)?;
    let known = assignments.vaults.get(&name).cloned();
    Some(known.map_or(Target::Vault(name), Target::Known))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic)]

    use std::sync::Arc;

    use super::*;
    use crate::model::{Node, Object, Path, Tree, Value};

    const DEFINITION: &str = concat!(
        include_str!("../../../tests/definition.yaml"),
        "  nameSuffix: s\n"
    );

    /// The objects of the definition.
    fn objects() -> Vec<Object> {
        compiled(DEFINITION)
    }

    fn compiled(definition: &str) -> Vec<Object> {
        let files = [(Arc::from("a.yaml"), Arc::from(definition.as_bytes()))];
        let tree = Tree {
            files: files.into(),
            ..Tree::default()
        };
        crate::compile::compile(&tree, &[]).objects
    }

    /// The resources in the object that carries the network and the role assignments.
    fn carried(objects: &mut [Object]) -> &mut Vec<Node> {
        let carrier = objects
            .iter_mut()
            .find(|object| object.id.kind == "AROCluster");
        let mut node = &mut carrier.expect("a carrier").node;
        for name in ["spec", "resources"] {
            let Value::Map(map) = &mut node.value else {
                panic!("{name} is in a map");
            };
            node = map.get_mut(name).expect("it is there");
        }
        match &mut node.value {
            Value::List(list) => list,
            _ => panic!("resources are a list"),
        }
    }

    fn findings_of(objects: &[Object]) -> Vec<String> {
        let found = crate::rules::found_in(objects, |all| roles_are_complete(&World::of(all)));
        found.into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn a_removed_role_assignment_is_reported_unless_another_one_is_enough() {
        let mut objects = objects();
        assert_eq!(findings_of(&objects), [] as [String; 0]);
        let count = carried(&mut objects).len();
        let mut not_missed = Vec::new();
        let mut missed = 0;
        for at in 0..count {
            let taken = carried(&mut objects).remove(at);
            let name = taken
                .text(&["metadata", "name"])
                .expect("a name")
                .to_owned();
            if taken.text(&["kind"]) == Some("RoleAssignment") {
                let reported = findings_of(&objects);
                assert!(reported.len() < 2, "{name}: {reported:?}");
                let guid = taken.text(&["spec", "roleDefinitionReference", "armId"]);
                let guid = guid.and_then(|id| id.rsplit('/').next()).expect("a role");
                match reported.first() {
                    None => not_missed.push(name),
                    Some(message) => {
                        assert!(message.contains(guid), "{name}: {message}");
                        missed += 1;
                    }
                }
            }
            carried(&mut objects).insert(at, taken);
        }
        // For these, the same role on the whole virtual network is enough.
        assert_eq!(
            not_missed,
            [
                "one-cp-cloud-network-config-s-networkoperatorroleid-subnet",
                "one-service-managed-identity-s-hcpservicemanagedidentityroleid-subnet",
                "one-service-managed-identity-s-hcpservicemanagedidentityroleid-intsubnet",
            ]
        );
        assert_eq!(missed, 26);
    }

    #[test]
    fn a_misspelt_vault_is_asked_about() {
        let mut objects = objects();
        let items = objects.iter_mut().flat_map(embedded::items_mut);
        let vault = Path::dotted(&format!("{}.vaultName", embedded::KMS.join(".")));
        let mut vaults = items.filter_map(|item| item.lookup_mut(&vault));
        vaults.next().expect("a vault").value = Value::String("one-vk-s".into());
        let found = crate::rules::found_in(&objects, |all| roles_are_complete(&World::of(all)));
        let help = found[0].help.as_deref().unwrap_or_default();
        let expected = "if you mean the vault one-kv-s of this fleet, correct `vaultName`; ";
        assert!(help.starts_with(expected), "{help}");
    }

    #[test]
    fn the_service_may_use_the_integration_subnet() {
        let mut objects = objects();
        let on = |scope: &str, node: &Node| {
            let name = node.text(&["metadata", "name"]).unwrap_or_default();
            name == format!(
                "one-service-managed-identity-s-hcpservicemanagedidentityroleid-{scope}"
            )
        };
        carried(&mut objects).retain(|node| !on("vnet", node));
        let ids = |objects: &[Object]| -> Vec<_> {
            let found = crate::rules::found_in(objects, |all| roles_are_complete(&World::of(all)));
            found.into_iter().map(|finding| finding.id).collect()
        };
        assert_eq!(ids(&objects), ["V07"], "the subnet has a role of its own");
        carried(&mut objects).retain(|node| !on("intsubnet", node));
        assert_eq!(ids(&objects), ["W07"], "and not V07 for the network again");
        let said = findings_of(&objects);
        let network = "on the integration subnet or its virtual network, /subscriptions/3f0c7d3e-52a4-4b6b-9a51-2f1f0d9c7a10/resourcegroups/one-resgroup/providers/microsoft.network/virtualnetworks/one-vnet-s";
        assert!(said[0].ends_with(network), "{said:?}");
    }

    #[test]
    fn missing_roles_of_shared_identities_are_reported() {
        let mut objects = compiled(&format!(
            "{DEFINITION}  managedIdentities: {{mode: Shared, resourceGroup: pool-07}}\n"
        ));
        assert_eq!(findings_of(&objects), [] as [String; 0]);
        for (name, scope) in [
            (
                "one-cp-kms-07-keyvaultcryptouserroleid-keyvault",
                "/vaults/one-kv-s",
            ),
            (
                "one-service-managed-identity-07-readerroleid-kmsmi",
                "/resourcegroups/pool-07/providers/microsoft.managedidentity/userassignedidentities/kms",
            ),
        ] {
            let all = carried(&mut objects);
            let at = all
                .iter()
                .position(|node| node.text(&["metadata", "name"]) == Some(name));
            let taken = all.remove(at.expect(name));
            let reported = findings_of(&objects);
            assert!(
                reported.len() == 1 && reported[0].ends_with(scope),
                "{reported:?}"
            );
            carried(&mut objects).push(taken);
        }
    }

    #[test]
    fn an_identity_that_two_clusters_name_has_the_roles_of_both() {
        let shared = "  managedIdentities: {mode: Shared, resourceGroup: pool-07}\n";
        let one = format!("{DEFINITION}{shared}");
        let two = one.replace("name: one", "name: two");
        let reported = findings_of(&compiled(&format!("{one}---\n{two}")));
        assert_eq!(reported, [] as [String; 0]);
    }

    #[test]
    fn the_message_names_the_identity_the_role_and_the_scope() {
        let mut objects = objects();
        let is_kms = |node: &Node| {
            let name = node.text(&["metadata", "name"]).unwrap_or_default();
            name == "one-cp-kms-s-keyvaultcryptouserroleid-keyvault"
        };
        carried(&mut objects).retain(|node| !is_kms(node));
        assert_eq!(
            findings_of(&objects),
            [
                "no RoleAssignment gives one-cp-kms-s, the identity of control plane operator `kms`, the role \"Key Vault Crypto User\" (12338af0-0e69-4776-bea7-57ae8d297424) on /subscriptions/3f0c7d3e-52a4-4b6b-9a51-2f1f0d9c7a10/resourcegroups/one-resgroup/providers/microsoft.keyvault/vaults/one-kv-s"
            ]
        );
    }

    #[test]
    fn identities_from_elsewhere_get_their_roles_elsewhere() {
        let mut objects = objects();
        let here = ["RoleAssignment", "UserAssignedIdentity"];
        carried(&mut objects)
            .retain(|node| !here.contains(&node.text(&["kind"]).unwrap_or_default()));
        assert_eq!(findings_of(&objects), [] as [String; 0]);
    }
}
