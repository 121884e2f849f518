//! V07: every identity that the fleet makes for a cluster may do what Azure asks of it.

use std::collections::{HashMap, HashSet};

use super::operators::{self, Grant, Operator, Plane, Scope};
use super::reference::{IDENTITY, SECURITY_GROUP, SUBNET, Wanted, name_in};
use crate::api::kinds::{AUTHORIZATION, KEYVAULT, MANAGED_IDENTITY, RED_HAT_OPENSHIFT};
use crate::model::Finding;
use crate::rules::arm::{ArmId, Resource, World};

/// A key of a ConfigMap: namespace, name, key.
type Place<'a> = (&'a str, &'a str, &'a str);

/// A role on a resource, as a RoleAssignment gives it.
struct Given<'a> {
    role: &'a str,
    on: ArmId,
}

/// The role assignments of a fleet, by who gets them.
struct Assignments<'a> {
    /// To those whose id is read from a ConfigMap.
    to: HashMap<Place<'a>, Vec<Given<'a>>>,
    /// To those whose id is written out: who that is cannot be told.
    to_somebody: Vec<Given<'a>>,
    /// Where the fleet's identities write their ids; of one that several objects are, in several places.
    places: HashMap<ArmId, Vec<Place<'a>>>,
    /// The fleet's vaults, by their names in Azure.
    vaults: HashMap<String, ArmId>,
}

impl<'a> Assignments<'a> {
    fn of(world: &'a World<'_>) -> Self {
        let mut to: HashMap<Place<'a>, Vec<Given<'a>>> = HashMap::new();
        let mut to_somebody = Vec::new();
        for assignment in world.of_kind(AUTHORIZATION, "RoleAssignment") {
            let Some(given) = given(world, assignment) else {
                continue;
            };
            match place(assignment, "spec.principalIdFromConfig") {
                Some(place) => to.entry(place).or_default().push(given),
                None => to_somebody.push(given),
            }
        }
        let identities = world.of_kind(MANAGED_IDENTITY, "UserAssignedIdentity");
        let mut places: HashMap<ArmId, Vec<Place<'a>>> = HashMap::new();
        for identity in identities {
            let place = place(identity, "spec.operatorSpec.configMaps.principalId");
            if let (Some(id), Some(place)) = (world.name_of(identity), place) {
                places.entry(id).or_default().push(place);
            }
        }
        let vaults = world.of_kind(KEYVAULT, "Vault");
        let vaults = vaults.filter_map(|vault| world.name_of(vault));
        Self {
            to,
            to_somebody,
            places,
            vaults: vaults.map(|id| (id.name().to_owned(), id)).collect(),
        }
    }

    /// Whether whoever is at `places` has the role on the resource, or on what that is in. A role that
    /// is none of those that Azure asks for is taken for one that was made for this.
    fn have(&self, places: &[Place<'_>], grant: &Grant, on: &Target) -> bool {
        let its = places
            .iter()
            .filter_map(|place| self.to.get(place))
            .flatten();
        let mut all = its.chain(&self.to_somebody);
        all.any(|given| on.is_within(&given.on) && serves(given.role, grant))
    }
}

fn place<'a>(resource: &'a Resource<'_>, field: &str) -> Option<Place<'a>> {
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
    is(grant) || !operators::asked().roles.iter().any(is)
}

/// What a role must be given on.
enum Target {
    Known(ArmId),
    /// A vault that is not in the fleet; names of vaults are unique in Azure.
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

fn of_cluster(
    world: &World<'_>,
    assignments: &Assignments<'_>,
    cluster: &Resource<'_>,
) -> Vec<Finding> {
    let operators = operators::of(cluster);
    let mut findings = Vec::new();
    for grant in &operators::asked().roles {
        let of_grant = |operator: &&Operator<'_>| operator.is(grant.plane, &grant.operator);
        let Some(operator) = operators.iter().find(of_grant) else {
            continue;
        };
        // Who is made elsewhere gets its roles elsewhere.
        let identity = world.referred(cluster, &operator.field);
        let Some((identity, places)) =
            identity.and_then(|id| Some((id.clone(), assignments.places.get(&id)?)))
        else {
            continue;
        };
        let mut told = HashSet::new();
        for scope in &grant.scopes {
            for target in targets(world, assignments, cluster, &operators, *scope) {
                let missing = !assignments.have(places, grant, &target);
                if missing && told.insert(target.called()) {
                    findings.push(missing_role(
                        operator,
                        identity.name(),
                        grant,
                        &target,
                        &places[0],
                    ));
                }
            }
        }
    }
    findings
}

fn missing_role(
    operator: &Operator<'_>,
    identity: &str,
    grant: &Grant,
    target: &Target,
    (_, map, key): &Place<'_>,
) -> Finding {
    let Grant { name, guid, .. } = grant;
    let message = format!(
        "no RoleAssignment gives {identity}, the identity of {operator}, the role {name:?} ({guid}) on {}",
        target.called()
    );
    let help = format!(
        "add a RoleAssignment with that as its owner, `principalIdFromConfig: {{name: {map}, key: {key}}}` and `roleDefinitionReference: {{armId: .../roleDefinitions/{guid}}}`"
    );
    name_in(&operator.field).finding("V07", message).help(help)
}

/// What a scope is for a cluster; nothing when that cannot be told.
fn targets(
    world: &World<'_>,
    assignments: &Assignments<'_>,
    cluster: &Resource<'_>,
    operators: &[Operator<'_>],
    scope: Scope,
) -> Vec<Target> {
    let platform = cluster.field("spec.properties.platform");
    let referred = |name: &str, wanted: &Wanted| {
        let id = world.referred(cluster, &platform.key(name));
        id.filter(|id| id.kind() == wanted.arm)
    };
    let of_plane = |plane: Plane| {
        let of_plane = operators
            .iter()
            .filter(move |operator| operator.plane == plane);
        let ids = of_plane.filter_map(|operator| world.referred(cluster, &operator.field));
        let identities = ids.filter(|id| id.kind() == IDENTITY.arm);
        identities.map(Target::Known).collect()
    };
    let one = match scope {
        Scope::Subnet => referred("subnetReference", &SUBNET).map(Target::Known),
        Scope::Network => {
            let subnet = referred("subnetReference", &SUBNET);
            subnet.and_then(|id| id.parent()).map(Target::Known)
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
    let kms = cluster.field("spec.properties.etcd.dataEncryption.customerManaged.kms");
    let beside = kms.key("vaultName").text();
    let name = beside.or_else(|| kms.key("activeKey").key("vaultName").text())?;
    let name = name.to_lowercase();
    let known = assignments.vaults.get(&name).cloned();
    Some(known.map_or(Target::Vault(name), Target::Known))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic)]

    use std::sync::Arc;

    use super::*;
    use crate::model::{Node, Object, Tree, Value};

    const DEFINITION: &str = concat!(
        include_str!("../../../tests/definition.yaml"),
        "  nameSuffix: s\n"
    );

    /// What the definition comes to.
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

    fn said(objects: &[Object]) -> Vec<String> {
        let found = roles_are_complete(&World::of(objects));
        found.into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn a_role_assignment_that_is_taken_away_is_missed_unless_another_serves() {
        let mut objects = objects();
        assert_eq!(said(&objects), [] as [String; 0]);
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
                let told = said(&objects);
                assert!(told.len() < 2, "{name}: {told:?}");
                let guid = taken.text(&["spec", "roleDefinitionReference", "armId"]);
                let guid = guid.and_then(|id| id.rsplit('/').next()).expect("a role");
                match told.first() {
                    None => not_missed.push(name),
                    Some(message) => {
                        assert!(message.contains(guid), "{name}: {message}");
                        missed += 1;
                    }
                }
            }
            carried(&mut objects).insert(at, taken);
        }
        // The same role on the whole virtual network serves for these.
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
    fn the_roles_of_shared_identities_are_missed_too() {
        let mut objects = compiled(&format!(
            "{DEFINITION}  managedIdentities: {{mode: Shared, resourceGroup: pool-07}}\n"
        ));
        assert_eq!(said(&objects), [] as [String; 0]);
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
            let told = said(&objects);
            assert!(told.len() == 1 && told[0].ends_with(scope), "{told:?}");
            carried(&mut objects).push(taken);
        }
    }

    #[test]
    fn an_identity_that_two_clusters_name_has_the_roles_of_both() {
        let shared = "  managedIdentities: {mode: Shared, resourceGroup: pool-07}\n";
        let one = format!("{DEFINITION}{shared}");
        let two = one.replace("name: one", "name: two");
        let said = said(&compiled(&format!("{one}---\n{two}")));
        assert_eq!(said, [] as [String; 0]);
    }

    #[test]
    fn who_needs_what_where_is_told() {
        let mut objects = objects();
        let is_kms = |node: &Node| {
            let name = node.text(&["metadata", "name"]).unwrap_or_default();
            name == "one-cp-kms-s-keyvaultcryptouserroleid-keyvault"
        };
        carried(&mut objects).retain(|node| !is_kms(node));
        assert_eq!(
            said(&objects),
            [
                "no RoleAssignment gives one-cp-kms-s, the identity of the control plane's operator \"kms\", the role \"Key Vault Crypto User\" (12338af0-0e69-4776-bea7-57ae8d297424) on /subscriptions/3f0c7d3e-52a4-4b6b-9a51-2f1f0d9c7a10/resourcegroups/one-resgroup/providers/microsoft.keyvault/vaults/one-kv-s"
            ]
        );
    }

    #[test]
    fn identities_that_are_made_elsewhere_get_their_roles_elsewhere() {
        let mut objects = objects();
        let here = ["RoleAssignment", "UserAssignedIdentity"];
        carried(&mut objects)
            .retain(|node| !here.contains(&node.text(&["kind"]).unwrap_or_default()));
        assert_eq!(said(&objects), [] as [String; 0]);
    }
}
