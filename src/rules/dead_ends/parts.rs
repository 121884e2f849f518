//! The objects of Cluster API and of the ARO provider in a fleet, which of them name each other, and what they carry.

use std::collections::{HashMap, HashSet};

use crate::api::kinds::{CAPI, CONTROL_PLANE, INFRASTRUCTURE, RED_HAT_OPENSHIFT};
use crate::api::{capi, embedded, labels};
use crate::model::{Finding, Message, Node, Object, ObjectId, Path};
use crate::rules::book;

/// The field of a Cluster that names its infrastructure.
pub(super) const INFRASTRUCTURE_REF: &str = "spec.infrastructureRef";
/// The one that names its control plane.
pub(super) const CONTROL_PLANE_REF: &str = "spec.controlPlaneRef";
/// The field of a MachinePool that names its infrastructure.
pub(super) const POOL_REF: &str = "spec.template.spec.infrastructureRef";

/// The resources of ARO HCP of a kind that an object carries, each with its path.
pub(super) fn carried<'a>(
    carrier: &'a Object,
    kind: &'a str,
) -> impl Iterator<Item = (Path, &'a Node)> {
    let is_its = move |item: &Node| {
        let version = item.text(&["apiVersion"]).unwrap_or_default();
        let group = version.split('/').next();
        group == Some(RED_HAT_OPENSHIFT) && item.text(&["kind"]) == Some(kind)
    };
    let items = embedded::items(carrier).iter().enumerate();
    let its = items.filter(move |(_, item)| is_its(item));
    its.map(|(at, item)| (Path::dotted("spec.resources").index(at), item))
}

/// The objects of a fleet, by id, and what names them.
pub(super) struct Parts<'a> {
    pub(super) objects: &'a [Object],
    /// What is beside these.
    pub(super) environment: Vec<&'a Object>,
    by_id: HashMap<&'a ObjectId, &'a Object>,
    /// What names each object.
    users: HashMap<ObjectId, &'a Object>,
    /// Kinds, each in a namespace, of which something names an object that is not there: R01 reports that.
    dangling: HashSet<(String, String)>,
}

impl<'a> Parts<'a> {
    pub(super) fn of(objects: &'a [Object], environment: &[&'a Object]) -> Self {
        let is_part =
            |one: &&Object| [CAPI, CONTROL_PLANE, INFRASTRUCTURE].contains(&&*one.id.group);
        let known = objects.iter().filter(is_part);
        let by_id: HashMap<_, _> = known.map(|one| (&one.id, one)).collect();
        let mut users = HashMap::new();
        let mut dangling = HashSet::new();
        for object in objects.iter().filter(|one| one.id.group == CAPI) {
            for field in [INFRASTRUCTURE_REF, CONTROL_PLANE_REF, POOL_REF] {
                let Some(target) = capi::target(object, field) else {
                    continue;
                };
                // A definition may be in a phase without the target.
                if !by_id.contains_key(&target) && object.definition.is_none() {
                    dangling.insert((target.kind.clone(), target.namespace.clone()));
                }
                users.entry(target).or_insert(object);
            }
        }
        Self {
            objects,
            environment: environment.to_vec(),
            by_id,
            users,
            dangling,
        }
    }

    /// The objects of a kind.
    pub(super) fn of_kind(&self, group: &str, kind: &str) -> impl Iterator<Item = &'a Object> {
        let all = self.objects.iter();
        all.filter(move |object| object.id.is(group, kind))
    }

    pub(super) fn clusters(&self) -> impl Iterator<Item = &'a Object> {
        self.of_kind(CAPI, "Cluster")
    }

    pub(super) fn planes(&self) -> impl Iterator<Item = &'a Object> {
        self.of_kind(CONTROL_PLANE, "AROControlPlane")
    }

    pub(super) fn pools(&self) -> impl Iterator<Item = &'a Object> {
        self.of_kind(INFRASTRUCTURE, "AROMachinePool")
    }

    /// The object of this id.
    pub(super) fn find(&self, id: &ObjectId) -> Option<&'a Object> {
        self.by_id.get(id).copied()
    }

    /// Whether the fleet has an object, of whatever kind.
    pub(super) fn has(&self, id: &ObjectId) -> bool {
        let mut all = self.objects.iter().chain(self.environment.iter().copied());
        self.by_id.contains_key(id) || all.any(|object| object.id == *id)
    }

    /// What names an object: the Cluster of a control plane, the MachinePool of a pool.
    pub(super) fn user(&self, of: &Object) -> Option<&'a Object> {
        self.users.get(&of.id).copied()
    }

    /// Whether R01 reports a reference to another object of this kind and namespace.
    pub(super) fn has_dangling(&self, like: &ObjectId) -> bool {
        let key = (like.kind.clone(), like.namespace.clone());
        self.dangling.contains(&key)
    }

    /// The Cluster that an object is meant for, by its label or by its own name.
    pub(super) fn cluster_meant(&self, object: &Object) -> Option<&'a Object> {
        let name = object.label(labels::CLUSTER_NAME);
        let name = name.unwrap_or(&object.id.name);
        let id = ObjectId::new(CAPI, "Cluster", &*object.id.namespace, name);
        self.find(&id)
    }

    /// The name of the Cluster of a pool, as its MachinePool has it.
    pub(super) fn cluster_of_pool(&self, pool: &Object) -> Option<&'a str> {
        let machine_pool = self.user(pool)?;
        machine_pool.node.text(&["spec", "clusterName"])
    }
}

/// A finding about a field of an object, or about the nearest one around it.
pub(super) fn finding(
    id: &'static str,
    object: &Object,
    field: &Path,
    message: impl Into<Message>,
) -> Finding {
    Finding {
        severity: book::severity(id),
        ..Finding::error(id, message)
    }
    .at(object.node.nearest(field).span())
    .of(&object.id)
    .field(field)
}
