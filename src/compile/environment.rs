//! The objects that any part of a fleet may need beside it: namespaces, identities, secrets, and definitions of kinds.
//!
//! In: the plain objects of a fleet. Out: those that a part of it is checked with. It does not know the rules.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::api::{embedded, kinds::INFRASTRUCTURE};
use crate::model::{Object, ObjectId};
use crate::rules::is_environment;

/// The environment of a fleet.
#[derive(Default)]
pub(super) struct Environment<'a> {
    /// The first object of each id.
    objects: HashMap<&'a ObjectId, &'a Object>,
    /// The definitions of kinds, by group and kind.
    definitions: HashMap<(&'a str, &'a str), Vec<&'a Object>>,
    /// The identities, by namespace.
    identities: HashMap<&'a str, Vec<&'a Object>>,
}

impl<'a> Environment<'a> {
    pub(super) fn of(raw: &'a [Object]) -> Self {
        let mut all = Self::default();
        for object in raw.iter().filter(|object| is_environment(object)) {
            if all.objects.contains_key(&object.id) {
                continue;
            }
            all.objects.insert(&object.id, object);
            if let Some(kind) = defined(object) {
                all.definitions.entry(kind).or_default().push(object);
            }
            if object.id.kind == "AzureClusterIdentity" {
                let namespace = object.id.namespace.as_str();
                all.identities.entry(namespace).or_default().push(object);
            }
        }
        all
    }

    /// All objects.
    pub(super) fn objects(&self) -> impl Iterator<Item = &'a Object> {
        self.objects.values().copied()
    }

    /// What `objects` are checked with, by id: what they need, their namespaces, the definitions of their kinds, and the
    /// identities with names that may be meant.
    pub(super) fn beside(&self, objects: &[Object], needed: &[ObjectId]) -> Vec<&'a Object> {
        if self.objects.is_empty() {
            return Vec::new();
        }
        let own: HashSet<&ObjectId> = objects.iter().map(|object| &object.id).collect();
        let mut beside: BTreeMap<&ObjectId, &'a Object> = BTreeMap::new();
        let mut add = |object: &'a Object| {
            if !own.contains(&object.id) {
                beside.insert(&object.id, object);
            }
        };
        for id in needed {
            if let Some(object) = self.objects.get(id) {
                add(object);
            } else if id.is(INFRASTRUCTURE, "AzureClusterIdentity") {
                let same = self.identities.get(&*id.namespace).into_iter().flatten();
                same.for_each(|object| add(object));
            }
        }
        let namespaces: HashSet<&str> = objects.iter().map(|one| &*one.id.namespace).collect();
        for name in namespaces {
            let id = ObjectId::new("", "Namespace", "", name);
            self.objects.get(&id).into_iter().for_each(|one| add(one));
        }
        let carried = objects.iter().flat_map(embedded::ids).map(|(id, _)| id);
        let kinds = objects.iter().map(|object| object.id.clone());
        for id in kinds.chain(carried) {
            let defined = self.definitions.get(&(&*id.group, &*id.kind));
            defined.into_iter().flatten().for_each(|one| add(one));
        }
        beside.into_values().collect()
    }
}

fn defined(object: &Object) -> Option<(&str, &str)> {
    let (group, kind) = ("apiextensions.k8s.io", "CustomResourceDefinition");
    let spec = object
        .node
        .get("spec")
        .filter(|_| object.id.is(group, kind))?;
    Some((spec.text(&["group"])?, spec.text(&["names", "kind"])?))
}
