//! All resources of a fleet, by their names in the cluster and in Azure.

use std::sync::OnceLock;

use super::{ArmId, Field, Resource};
use crate::api::kinds::{self, CONTROL_PLANE, RED_HAT_OPENSHIFT, RESOURCES};
use crate::api::{aso, embedded, labels};
use crate::model::{Finding, Node, Object, ObjectId, Path, QuickMap, Severity, work};

/// What to know about experimental tags if the Fleet document does not enable them.
const IGNORED: &str = "Azure ignores such tags unless the subscription has the feature ExperimentalReleaseFeatures; if it has, set rules.experimentalReleaseFeatures in the Fleet document";

/// The Azure resources of a fleet, embedded or not.
pub(in crate::rules) struct World<'a> {
    /// C06: whether the subscriptions have the Azure feature `ExperimentalReleaseFeatures`, which allows
    /// patches, later major versions and more channels.
    pub(in crate::rules) experimental: bool,
    /// F08: more regions with the service.
    pub(in crate::rules) regions: Vec<String>,
    resources: Vec<Resource<'a>>,
    by_id: QuickMap<ObjectId, usize>,
    /// By group and kind, in order.
    by_kind: QuickMap<String, QuickMap<String, Vec<usize>>>,
    /// By namespace and name of a cluster: the subscription that its control plane names.
    subscriptions: QuickMap<(String, String), String>,
    /// By the same key: its cluster in Azure.
    clusters: QuickMap<(String, String), usize>,
    /// The parts of each cluster in Azure by their kind, in order.
    parts: QuickMap<ObjectId, QuickMap<String, Vec<usize>>>,
    /// The definitions of kinds in the fleet.
    crds: Vec<&'a Object>,
    /// By their ARM ids, built on first use.
    by_name: OnceLock<QuickMap<ArmId, usize>>,
}

impl<'a> World<'a> {
    /// The resources of `objects`, without experimental features.
    pub(in crate::rules) fn of(objects: impl IntoIterator<Item = &'a Object>) -> Self {
        let objects: Vec<&'a Object> = objects.into_iter().collect();
        let resources: Vec<Resource<'a>> = objects.iter().copied().flat_map(resources).collect();
        let by_id = resources.iter().enumerate();
        let by_id = by_id
            .map(|(at, resource)| (resource.id.clone(), at))
            .collect();
        let planes = objects
            .iter()
            .filter(|object| object.id.is(CONTROL_PLANE, "AROControlPlane"));
        let subscriptions = planes.filter_map(|plane| {
            let subscription = plane.node.text(&["spec", "subscriptionID"])?;
            Some((key(plane), subscription.to_owned()))
        });
        let mut world = Self {
            experimental: false,
            regions: Vec::new(),
            by_id,
            by_kind: by_kind(&resources),
            subscriptions: subscriptions.collect(),
            clusters: QuickMap::default(),
            parts: QuickMap::default(),
            crds: objects.iter().copied().filter(defines_a_kind).collect(),
            by_name: OnceLock::new(),
            resources,
        };
        for (at, cluster) in world.resources.iter().enumerate() {
            if cluster.id.is(RED_HAT_OPENSHIFT, "HcpOpenShiftCluster") {
                world.clusters.entry(key(cluster.carrier)).or_insert(at);
            }
        }
        let mut parts: QuickMap<ObjectId, QuickMap<String, Vec<usize>>> = QuickMap::default();
        for (at, part) in world.resources.iter().enumerate() {
            let owner = (part.id.group == RED_HAT_OPENSHIFT).then(|| world.owner(part));
            if let Some(owner) = owner.flatten() {
                let kinds = parts.entry(owner.id.clone()).or_default();
                kinds.entry(part.id.kind.clone()).or_default().push(at);
            }
        }
        world.parts = parts;
        world
    }

    /// The pattern that the CRD of the fleet has for the name of `resource` in Azure.
    pub(in crate::rules) fn pattern_of_name(&self, resource: &Resource<'_>) -> Option<&'a str> {
        let spec_of = |crd: &&'a Object| crd.node.get("spec");
        let is_its = |spec: &&Node| {
            let (group, kind) = (spec.text(&["group"]), spec.text(&["names", "kind"]));
            resource
                .id
                .is(group.unwrap_or_default(), kind.unwrap_or_default())
        };
        let spec = self.crds.iter().filter_map(spec_of).find(is_its)?;
        let mut versions = spec.get("versions")?.as_list()?.iter();
        let version = versions.find(|one| one.text(&["name"]) == Some(&resource.version))?;
        let schema = version.at(&["schema", "openAPIV3Schema"])?;
        schema.text(&["properties", "spec", "properties", "azureName", "pattern"])
    }

    /// A finding about an experimental tag: Azure rejects unknown ones if the subscription has the feature, and
    /// ignores all of them otherwise.
    pub(in crate::rules) fn of_experiment(&self, finding: Finding) -> Finding {
        match self.experimental {
            true => Finding {
                severity: Severity::Error,
                ..finding
            },
            false => {
                let help = finding.help.clone().unwrap_or_default();
                finding.help(format!("{help}; {IGNORED}"))
            }
        }
    }

    /// The parts of this kind of a cluster, in order.
    pub(in crate::rules) fn parts_of(
        &self,
        cluster: &ObjectId,
        kind: &str,
    ) -> impl Iterator<Item = &Resource<'a>> + use<'_, 'a> {
        let kinds = self.parts.get(cluster);
        let parts = kinds.and_then(|kinds| kinds.get(kind));
        parts.into_iter().flatten().map(|at| {
            work::step();
            &self.resources[*at]
        })
    }

    /// The resources of a kind, in order.
    pub(in crate::rules) fn of_kind(
        &self,
        group: &str,
        kind: &str,
    ) -> impl Iterator<Item = &Resource<'a>> + use<'_, 'a> {
        let kinds = self.by_kind.get(group);
        let of_kind = kinds.and_then(|kinds| kinds.get(kind));
        of_kind.into_iter().flatten().map(|at| &self.resources[*at])
    }

    /// All of them, in order.
    pub(in crate::rules) fn all(&self) -> impl Iterator<Item = &Resource<'a>> {
        self.resources.iter()
    }

    /// The resource of this name in the cluster.
    pub(in crate::rules) fn find(&self, id: &ObjectId) -> Option<&Resource<'a>> {
        self.by_id.get(id).map(|at| &self.resources[*at])
    }

    /// The ARM id that a resource will have; none if not all of its owners are in the fleet.
    pub(in crate::rules) fn name_of(&self, resource: &Resource<'_>) -> Option<ArmId> {
        let known = resource
            .azure_id
            .get_or_init(|| self.name_within(resource, 0));
        known.clone()
    }

    fn name_within(&self, resource: &Resource<'_>, depth: usize) -> Option<ArmId> {
        // No type in Azure is nested deeper: the owners own each other.
        if depth > 8 {
            return None;
        }
        let azure_name = resource.node.text(&["spec", "azureName"]);
        let azure_name = azure_name.unwrap_or(&resource.id.name);
        if resource.id.is(RESOURCES, "ResourceGroup") {
            return Some(ArmId::of_group(self.subscription(resource), azure_name));
        }
        let (provider, kind) = aso::azure_type(&resource.id.group, &resource.id.kind)?;
        let owner = match resource.field("spec.owner.armId").text() {
            Some(text) => ArmId::parse(text).ok()?,
            None => self.name_within(self.owner(resource)?, depth + 1)?,
        };
        Some(owner.child(provider, kind, azure_name))
    }

    /// The resource that owns it, if that is in the fleet.
    pub(in crate::rules) fn owner(&self, resource: &Resource<'_>) -> Option<&Resource<'a>> {
        let owner = resource.field("spec.owner");
        if let Some(id) = owner.key("armId").text() {
            let id = ArmId::parse(id).ok()?;
            // The fleet may not name the subscription of its own cluster.
            let own = || {
                let own = self.injected_owner(resource)?;
                let name = own.azure_name().text()?;
                name.eq_ignore_ascii_case(id.name()).then_some(own)
            };
            return self.with_id(&id).or_else(own);
        }
        let Some(name) = owner.key("name").text() else {
            return self.injected_owner(resource);
        };
        let named = owner
            .key("kind")
            .text()
            .map(|kind| (owner.key("group").text().unwrap_or_default(), kind));
        let (group, kind) =
            named.or_else(|| aso::owner_kind(&resource.id.group, &resource.id.kind))?;
        self.find(&ObjectId::new(group, kind, &*resource.id.namespace, name))
    }

    /// For a node pool or an external auth without an owner, the controller sets the cluster as its owner.
    fn injected_owner(&self, resource: &Resource<'_>) -> Option<&Resource<'a>> {
        let path = Path::dotted("spec.owner");
        let injected = embedded::is_injected(resource.carrier, &resource.id.kind, &path);
        let cluster = self.clusters.get(&key(resource.carrier));
        let cluster = cluster.map(|at| &self.resources[*at]);
        cluster.filter(|_| injected)
    }

    /// The ARM id of the resource that a reference names, by `armId` or as an object of the fleet. None if the
    /// reference cannot be resolved.
    pub(in crate::rules) fn referred(
        &self,
        from: &Resource<'_>,
        reference: &Field<'_>,
    ) -> Option<ArmId> {
        if let Some(text) = reference.key("armId").text() {
            return ArmId::parse(text).ok();
        }
        self.name_of(self.named(from, reference)?)
    }

    /// The resource of the fleet that a reference names, by `armId` or by name.
    pub(in crate::rules) fn resolve(
        &self,
        from: &Resource<'_>,
        reference: &Field<'_>,
    ) -> Option<&Resource<'a>> {
        match reference.key("armId").text() {
            Some(text) => self.with_id(&ArmId::parse(text).ok()?),
            None => self.named(from, reference),
        }
    }

    /// The resource of the fleet with this ARM id. An id without a subscription may match several.
    fn with_id(&self, id: &ArmId) -> Option<&Resource<'a>> {
        let by_name = self.by_name.get_or_init(|| {
            let all = self.resources.iter().enumerate();
            all.filter_map(|(at, resource)| Some((self.name_of(resource)?, at)))
                .collect()
        });
        by_name.get(id).map(|at| &self.resources[*at])
    }

    /// The resource of the fleet that a reference `{group, kind, name}` names.
    fn named(&self, from: &Resource<'_>, reference: &Field<'_>) -> Option<&Resource<'a>> {
        let text = |name: &str| reference.key(name).text();
        let namespace = from.id.namespace.as_str();
        self.find(&ObjectId::new(
            text("group")?,
            text("kind")?,
            namespace,
            text("name")?,
        ))
    }

    fn subscription(&self, resource: &Resource<'_>) -> &str {
        let subscription = self.subscriptions.get(&key(resource.carrier));
        subscription.map_or("", String::as_str)
    }
}

fn by_kind(resources: &[Resource<'_>]) -> QuickMap<String, QuickMap<String, Vec<usize>>> {
    let mut by_kind: QuickMap<String, QuickMap<String, Vec<usize>>> = QuickMap::default();
    for (at, resource) in resources.iter().enumerate() {
        let kinds = by_kind.entry(resource.id.group.clone()).or_default();
        kinds.entry(resource.id.kind.clone()).or_default().push(at);
    }
    by_kind
}

fn defines_a_kind(object: &&Object) -> bool {
    let (group, kind) = ("apiextensions.k8s.io", "CustomResourceDefinition");
    object.id.is(group, kind)
}

/// The namespace and the name of the cluster that an object belongs to.
fn key(object: &Object) -> (String, String) {
    (object.id.namespace.clone(), cluster_name(object).to_owned())
}

/// The cluster that an object belongs to, by its label or by its own name.
fn cluster_name(object: &Object) -> &str {
    object
        .label(labels::CLUSTER_NAME)
        .unwrap_or(&object.id.name)
}

fn resources(object: &Object) -> Vec<Resource<'_>> {
    let own = kinds::is_aso(&object.id.group).then(|| Resource {
        id: object.id.clone(),
        version: object.version.clone(),
        node: &object.node,
        carrier: object,
        path: Path::default(),
        azure_id: OnceLock::new(),
    });
    let items = embedded::items(object).iter().enumerate();
    let carried = items.filter_map(|(index, node)| embedded_resource(object, index, node));
    own.into_iter().chain(carried).collect()
}

fn embedded_resource<'a>(
    carrier: &'a Object,
    index: usize,
    node: &'a Node,
) -> Option<Resource<'a>> {
    let (id, version) = ObjectId::read(node, "")?;
    Some(Resource {
        id: ObjectId {
            namespace: carrier.id.namespace.clone(),
            ..id
        },
        version,
        node,
        carrier,
        path: Path::dotted("spec.resources").index(index),
        azure_id: OnceLock::new(),
    })
}
