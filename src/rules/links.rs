//! By what two parts of a fleet can concern each other: the names, ranges and limits that rules compare.
//!
//! In: the objects of one part of a fleet, such as those of a definition. Out: its [`Links`]. Rules compare only what is
//! linked: parts that no link joins have, together, the findings that each of them has alone. It does not know the other
//! parts, and what the rules say about them.
//!
//! A rule that compares what no link here joins needs a new one. The tests of the rules fail without it: they check
//! their objects as a whole, and part by part.

use std::hash::{BuildHasher as _, Hash};

use foldhash::quality::FixedState;

use super::arm::{ArmId, Field, Resource, World};
use super::cluster::encryption::vault_name;
use super::cluster::roles;
use super::{fleet, hosted, vaults};
use crate::api::arm_version::{ArmVersion, AsoVersion};
use crate::api::fleet::FleetPolicy;
use crate::api::kinds::{
    AUTHORIZATION, CAPI, CONTROL_PLANE, INFRASTRUCTURE, KEYVAULT, NETWORK, RED_HAT_OPENSHIFT,
    RESOURCES, find,
};
use crate::api::{capi, embedded, labels};
use crate::graph;
use crate::model::{Finding, Node, Object, ObjectId, QuickSet, Value, rule_id};

/// A name that links parts, as a hash: two names with one hash link parts that do not concern each other, which costs
/// time and changes nothing.
pub(crate) type Link = u64;

/// What a part of a fleet has in common with other parts.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Links {
    /// All parts with one of these concern each other: what only one may have, such as an id.
    pub(crate) shared: Box<[Link]>,
    /// What others may refer to.
    pub(crate) offered: Box<[Link]>,
    /// What it refers to and does not offer. It concerns all parts that offer it.
    pub(crate) wanted: Box<[Link]>,
    /// What it both offers and refers to: most of its links.
    pub(crate) own: Box<[Link]>,
    /// Objects of its [environment](is_environment) that it refers to.
    pub(crate) needed: Box<[ObjectId]>,
    /// What is counted: parts concern each other if [`CROWD`] of them have it.
    pub(crate) counted: Box<[Link]>,
}

/// What a part has a link for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Role {
    Shared,
    Offered,
    Wanted,
    Own,
    Counted,
}

impl Links {
    /// All links, by what the part has them for.
    pub(super) fn by_role(&self) -> [(Role, &[Link]); 5] {
        [
            (Role::Shared, &self.shared),
            (Role::Offered, &self.offered),
            (Role::Wanted, &self.wanted),
            (Role::Own, &self.own),
            (Role::Counted, &self.counted),
        ]
    }
}

/// The same while they are collected: each is there once.
#[derive(Default)]
pub(super) struct LinkSets {
    shared: QuickSet<Link>,
    offered: QuickSet<Link>,
    wanted: QuickSet<Link>,
    needed: QuickSet<ObjectId>,
    counted: QuickSet<Link>,
}

impl From<LinkSets> for Links {
    fn from(sets: LinkSets) -> Self {
        let LinkSets {
            offered, wanted, ..
        } = &sets;
        Self {
            offered: sorted(offered.difference(wanted).copied()),
            wanted: sorted(wanted.difference(offered).copied()),
            own: sorted(offered.intersection(wanted).copied()),
            shared: sorted(sets.shared),
            needed: sorted(sets.needed),
            counted: sorted(sets.counted),
        }
    }
}

/// Sets have a random order. Sorted, the links of a part are equal each time.
fn sorted<T: Ord>(all: impl IntoIterator<Item = T>) -> Box<[T]> {
    let mut all: Vec<T> = all.into_iter().collect();
    all.sort_unstable();
    all.into()
}

/// How many parts must have a [counted](Links::counted) link in common.
pub(crate) const CROWD: usize = hosted::fleet::NEAR;

/// Whether parts are checked beside this object without being joined by it: half a fleet may refer to it, and the rules say
/// nothing of it for the sake of what does. It refers to nothing but such objects, so it is part of no cycle.
pub(crate) fn is_environment(object: &Object) -> bool {
    is_of_environment(&object.id) && {
        let named = graph::names_in(&object.id, &object.node);
        let is_identity = object.id.kind == "AzureClusterIdentity";
        named
            .iter()
            .all(|(to, ..)| to.is("", "Namespace") || is_identity && to.is("", "Secret"))
    }
}

fn is_of_environment(id: &ObjectId) -> bool {
    match id.group.as_str() {
        "" => ["ConfigMap", "Namespace", "Secret"].contains(&&*id.kind),
        "apiextensions.k8s.io" => id.kind == "CustomResourceDefinition",
        INFRASTRUCTURE => id.kind == "AzureClusterIdentity",
        _ => false,
    }
}

/// The links of a part of a fleet.
pub(crate) fn links(objects: &[&Object], policy: &FleetPolicy) -> Links {
    let mut world = World::of(objects.iter().copied());
    world.regions.clone_from(&policy.regions);
    let mut links = LinkSets::default();
    let named = named(objects);
    for object in objects {
        links.of_object(object, &named);
    }
    for resource in world.all() {
        links.of_resource(&world, resource);
    }
    hosted::links(objects, &mut links);
    links.into()
}

/// What the objects of Cluster API among `objects` name.
fn named(objects: &[&Object]) -> QuickSet<ObjectId> {
    objects.iter().flat_map(|object| targets(object)).collect()
}

/// What an object of Cluster API names.
fn targets(object: &Object) -> impl Iterator<Item = ObjectId> {
    let fields = [
        "spec.infrastructureRef",
        "spec.controlPlaneRef",
        "spec.template.spec.infrastructureRef",
    ];
    let fields = fields.into_iter().filter(|_| object.id.group == CAPI);
    fields.filter_map(|field| capi::target(object, field))
}

/// What a finding suggests comes from all parts that offer this.
pub(crate) fn suggesting(finding: &Finding) -> Option<Link> {
    let arg = |wanted: &str| {
        let mut args = finding.args.iter();
        args.find_map(|(name, value)| (*name == wanted).then_some(&**value))
    };
    match finding.id {
        rule_id::MISSING_REFERENCE => {
            let mut parts = arg("to")?.splitn(3, '/');
            Some(link("similar", (parts.next()?, parts.next()?)))
        }
        "V07" | "W07" => {
            let is_vault = arg("target")?.starts_with("the vault ");
            is_vault.then(|| link("vaults", ()))
        }
        _ => None,
    }
}

fn link(of: &str, what: impl Hash) -> Link {
    FixedState::with_seed(0).hash_one((of, what))
}

/// An id in Azure. Two subscriptions may be one if the fleet does not name them.
fn in_azure(id: &ArmId) -> Link {
    link("arm", (&id.group, &id.provider, &id.parts))
}

impl LinkSets {
    pub(super) fn share(&mut self, of: &str, what: impl Hash) {
        self.shared.insert(link(of, what));
    }

    pub(super) fn offer(&mut self, of: &str, what: impl Hash) {
        self.offered.insert(link(of, what));
    }

    pub(super) fn want(&mut self, of: &str, what: impl Hash) {
        self.wanted.insert(link(of, what));
    }

    pub(super) fn count(&mut self, of: &str, what: impl Hash) {
        self.counted.insert(link(of, what));
    }

    /// What only one object may be, and others refer to.
    fn have(&mut self, of: &str, what: impl Hash) {
        let link = link(of, what);
        self.shared.insert(link);
        self.offered.insert(link);
    }

    fn of_object(&mut self, object: &Object, named: &QuickSet<ObjectId>) {
        let id = &object.id;
        let is_joining = object.definition.is_some() || !is_environment(object);
        self.name(id, is_joining);
        if is_joining {
            self.of_unusual(object);
        }
        self.refer(id, &object.node);
        let namespace = ObjectId::new("", "Namespace", "", &*id.namespace);
        self.want("object", &namespace);
        for (id, _, node) in embedded::nodes(object) {
            self.name(&id, true);
            self.refer(&id, node);
        }
        for target in targets(object) {
            self.want("object", &target);
            if object.definition.is_none() {
                self.offer("dangling", (&target.kind, &target.namespace));
            }
        }
        if [CONTROL_PLANE, INFRASTRUCTURE].contains(&&*id.group) {
            self.of_part(object, named);
        }
        if id.group.ends_with(".cluster.x-k8s.io") && find(&id.group, &id.kind).is_none() {
            self.share("provider", (&id.group, &id.kind));
        }
        self.ids_in(&object.node);
    }

    fn name(&mut self, id: &ObjectId, is_offered: bool) {
        self.share("object", id);
        if is_offered {
            self.offer("object", id);
        }
        self.offer("similar", (&id.kind, &id.namespace));
        self.want("kind", (&id.group, &id.kind));
    }

    /// What others need of an object that would be part of the [environment](is_environment) if it referred to nothing.
    fn of_unusual(&mut self, object: &Object) {
        let id = &object.id;
        match id.kind.as_str() {
            "AzureClusterIdentity" => self.offer("identities", &id.namespace),
            "CustomResourceDefinition" => {
                let text = |names: &[&str]| object.node.text(names);
                let defined = (text(&["spec", "group"]), text(&["spec", "names", "kind"]));
                if let (Some(group), Some(kind)) = defined {
                    self.have("kind", (group, kind));
                }
            }
            _ => {}
        }
    }

    fn refer(&mut self, id: &ObjectId, node: &Node) {
        for (to, ..) in graph::names_in(id, node) {
            self.want("object", &to);
            if to.kind == "AzureClusterIdentity" {
                self.want("identities", &to.namespace);
            }
            if is_of_environment(&to) {
                self.needed.insert(to);
            }
        }
        for made in graph::makes(id, node) {
            self.have("object", &made);
        }
    }

    /// A part of a cluster of the ARO provider: who names it, and which Cluster it is meant for (D03 to D06).
    fn of_part(&mut self, part: &Object, named: &QuickSet<ObjectId>) {
        let (namespace, name) = (&*part.id.namespace, &*part.id.name);
        let meant = part.label(labels::CLUSTER_NAME).unwrap_or(name);
        self.want("object", ObjectId::new(CAPI, "Cluster", namespace, meant));
        self.want(
            "object",
            ObjectId::new(CAPI, "MachinePool", namespace, name),
        );
        if !named.contains(&part.id) {
            self.want("dangling", (&part.id.kind, &part.id.namespace));
        }
        if part.id.is(CONTROL_PLANE, "AROControlPlane") {
            self.have("plane", cluster_of(part));
        }
    }

    /// The ids of Azure in all texts, and what each of them is in.
    fn ids_in(&mut self, node: &Node) {
        match &node.value {
            Value::String(text) if text.starts_with('/') => {
                if let Ok(id) = ArmId::parse(text) {
                    self.want_in_azure(id);
                }
            }
            Value::List(items) => items.iter().for_each(|item| self.ids_in(item)),
            Value::Map(map) => map.iter().for_each(|(_, node)| self.ids_in(node)),
            _ => {}
        }
    }

    /// An id of Azure, what it is in, its resource group and its subscription.
    fn want_in_azure(&mut self, mut id: ArmId) {
        self.wanted.insert(in_azure(&id));
        while !id.parts.is_empty() {
            let parts = id.parts_mut();
            parts.parts.pop();
            if parts.parts.is_empty() {
                parts.provider.clear();
            }
            self.wanted.insert(in_azure(&id));
        }
        id.parts_mut().group.clear();
        self.wanted.insert(in_azure(&id));
    }

    fn of_resource(&mut self, world: &World<'_>, resource: &Resource<'_>) {
        let id = &resource.id;
        let carrier = cluster_of(resource.carrier);
        if let Some(id) = world.name_of(resource) {
            self.shared.insert(in_azure(&id));
            self.offered.insert(in_azure(&id));
            if let (true, Some(network)) =
                (resource.id.kind == "VirtualNetworksSubnet", id.parent())
            {
                self.share("subnets", in_azure(&network));
            }
            self.want_in_azure(id);
        }
        match (id.group.as_str(), id.kind.as_str()) {
            (RESOURCES, "ResourceGroup") => self.want("plane", carrier),
            (RED_HAT_OPENSHIFT, kind) => {
                self.want("cluster", carrier);
                self.of_owner(resource);
                if kind == "HcpOpenShiftCluster" {
                    self.have("cluster", carrier);
                    self.of_cluster(world, resource);
                }
                self.of_subnets(world, resource);
                self.of_version(resource);
            }
            (KEYVAULT, "Vault") if !resource.is_read_only() => {
                let name = resource.azure_name();
                self.have("vault", name.text().unwrap_or_default().to_lowercase());
                self.offer("vaults", ());
            }
            (AUTHORIZATION, "RoleAssignment") => self.of_assignment(world, resource),
            (NETWORK, "VirtualNetworksVirtualNetworkPeering") => {
                let ends = fleet::networks::ends(world, resource);
                for end in ends.into_iter().flat_map(<[ArmId; 2]>::from) {
                    self.wanted.insert(in_azure(&end));
                    self.want("clusters in", in_azure(&end));
                }
            }
            (NETWORK, _) => self.of_private_vaults(world, resource),
            _ => {}
        }
    }

    /// The cluster that a part names as its owner, whatever kind it says that the owner is (D12 and D13).
    fn of_owner(&mut self, part: &Resource<'_>) {
        if let Some(name) = part.node.text(&["spec", "owner", "name"]) {
            let (kind, namespace) = ("HcpOpenShiftCluster", &*part.id.namespace);
            let owner = ObjectId::new(RED_HAT_OPENSHIFT, kind, namespace, name);
            self.want("object", owner);
        }
    }

    /// What no two clusters may have in common (F02, C27 to C29, W08), and where the clusters are that can reach each other
    /// (F05).
    fn of_cluster(&mut self, world: &World<'_>, cluster: &Resource<'_>) {
        let location = cluster.field("spec.location");
        let region = location.text().unwrap_or_default();
        let region = fleet::regions::plain(region);
        let prefix = cluster.field("spec.properties.dns.baseDomainPrefix");
        if let Some(prefix) = prefix.text() {
            self.share("prefix", (&region, prefix.to_lowercase()));
        }
        // F08 counts the clusters of a region.
        if !fleet::regions::has_service(world, &region) {
            self.share("region", &region);
        }
        let platform = cluster.field("spec.properties.platform");
        if let Some(group) = platform.key("managedResourceGroup").text() {
            self.share("managed group", group.to_lowercase());
        }
        let referred = |field: Field<'_>| world.referred(cluster, &field);
        if let Some(group) = referred(platform.key("networkSecurityGroupReference")) {
            self.share("security group", in_azure(&group));
        }
        let network = referred(platform.key("subnetReference")).and_then(|id| id.parent());
        if let Some(network) = &network {
            self.share("clusters in", in_azure(network));
            self.offer("clusters in", in_azure(network));
        }
        let kms = cluster.field(embedded::KMS.join("."));
        let Some(vault) = vault_name(&kms) else {
            return;
        };
        self.want("vault", vault);
        // A role on any resource group may be one on a vault that is not in the fleet.
        self.want("role on a group", ());
        if kms.key("visibility").text() == Some("Private") {
            match network {
                Some(network) => self.want("zone of vaults", Some(in_azure(&network))),
                None => self.want("zones of vaults", ()),
            }
            self.want("zone of vaults", None::<Link>);
        }
    }

    /// The subnets that a cluster or a pool uses.
    fn of_subnets(&mut self, world: &World<'_>, user: &Resource<'_>) {
        let platform = user.field("spec.properties.platform");
        for name in ["subnetReference", "vnetIntegrationSubnetReference"] {
            if let Some(subnet) = world.referred(user, &platform.key(name)) {
                self.share("subnet", in_azure(&subnet));
            }
        }
    }

    /// Resources of an unknown version are counted (C49).
    fn of_version(&mut self, resource: &Resource<'_>) {
        let version = resource.version.as_str();
        let is_storage = AsoVersion::parse(version).is_some_and(|version| version.storage);
        if is_storage || ArmVersion::from_aso(version).is_none() {
            self.share("version", version);
        }
    }

    /// A role of somebody, who may be any identity (V07).
    fn of_assignment(&mut self, world: &World<'_>, assignment: &Resource<'_>) {
        if roles::principal(assignment).is_some() {
            return;
        }
        let owner = assignment.field("spec.owner");
        let on = match owner.key("armId").text() {
            Some(text) => ArmId::parse(text).ok(),
            None => world
                .owner(assignment)
                .and_then(|owner| world.name_of(owner)),
        };
        let Some(on) = on else { return };
        self.offered.insert(in_azure(&on));
        match on.provider.as_str() {
            "" => self.offer("role on a group", ()),
            "microsoft.keyvault" => self.offer("vault", on.name()),
            _ => {}
        }
    }

    /// What leads to vaults privately (K02).
    fn of_private_vaults(&mut self, world: &World<'_>, resource: &Resource<'_>) {
        match resource.id.kind.as_str() {
            "PrivateEndpoint" => {
                for vault in vaults::private::reached(world, resource) {
                    self.offer("vault", vault);
                }
            }
            "PrivateDnsZonesVirtualNetworkLink" => {
                let network = resource.field("spec.virtualNetwork.reference");
                let network = world.referred(resource, &network);
                self.offer("zone of vaults", network.map(|id| in_azure(&id)));
                self.offer("zones of vaults", ());
            }
            _ => {}
        }
    }
}

/// The namespace and the name of the cluster that an object belongs to.
fn cluster_of(object: &Object) -> (&str, &str) {
    let name = object.label(labels::CLUSTER_NAME);
    (&object.id.namespace, name.unwrap_or(&object.id.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_of_the_same_objects_are_equal() {
        let cluster = |name: &str| {
            let text = format!(
                "{{apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: AROCluster, metadata: {{name: {name}, namespace: n}}, spec: {{identityRef: {{kind: AzureClusterIdentity, name: {name}}}}}}}"
            );
            let (documents, _) = crate::yaml::read(&"a.yaml".into(), text.as_bytes());
            Object::from_node(documents[0].clone(), "n").expect("an object")
        };
        let objects = [cluster("a"), cluster("b"), cluster("c")];
        let links = || links(&objects.each_ref(), &FleetPolicy::default());
        let first = links();
        assert!(first.needed.len() > 2 && first.wanted.len() > 2);
        // Each time the sets behind them have another order.
        assert!((0..10).all(|_| links() == first));
    }
}
