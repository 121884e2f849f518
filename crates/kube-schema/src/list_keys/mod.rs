//! Which lists of Kubernetes' own kinds merge, and what identifies their items.
//!
//! In: a kind and its version, then one field after the other. Out: how a strategic merge patch and how
//! server-side apply identify the items of a list. The two differ for some lists: a patch knows the ports
//! of a Service by `port`, an apply by `port` and `protocol`. The facts are in [`published`], which is
//! generated. This module does not know custom resources: their schemas say how lists merge
//! ([`ListKind`](crate::ListKind)).

#[rustfmt::skip]
pub mod published;

use Items::Whole;

/// How the items of a list are identified.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Items {
    /// They are not: the list is one value.
    Whole,
    /// By their own value; no two are equal.
    Values,
    /// By these fields.
    Keys(&'static [&'static str]),
}

/// A map of Kubernetes' own kinds with lists that merge, in it or below.
#[derive(Debug)]
pub struct Published {
    fields: &'static [PublishedField],
    /// What is below every key, where keys are free.
    values: Option<&'static Self>,
}

/// A field that is a list that merges, or that has such lists below.
#[derive(Debug)]
pub struct PublishedField {
    name: &'static str,
    /// The map, or the maps that are the items of the list.
    map: Option<&'static Published>,
    /// What a strategic merge patch identifies its items by.
    pub patch: Items,
    /// What server-side apply identifies its items by.
    pub apply: Items,
}

impl Published {
    /// A whole object of a kind; none if the kind is not Kubernetes' own.
    #[must_use]
    pub fn of(api_version: &str, kind: &str) -> Option<&'static Self> {
        let mut kinds = published::KINDS.iter();
        let found = kinds.find(|row| row.1 == kind && row.0 == api_version);
        found.map(|row| row.2)
    }

    /// The field `name`; none for a field without such lists.
    #[must_use]
    pub const fn field(&self, name: &str) -> Option<&'static PublishedField> {
        let mut at = 0;
        while at < self.fields.len() {
            if is(self.fields[at].name, name) {
                return Some(&self.fields[at]);
            }
            at += 1;
        }
        None
    }

    /// The map under the key `name`, or the items of the list there.
    #[must_use]
    pub fn below(&self, name: &str) -> Option<&'static Self> {
        self.field(name).map_or(self.values, |field| field.map)
    }

    /// Its fields that are such lists, or have them below.
    #[must_use]
    pub const fn fields(&self) -> &'static [PublishedField] {
        self.fields
    }

    /// The maps directly below.
    pub fn maps(&self) -> impl Iterator<Item = &'static Self> {
        let fields = self.fields.iter().filter_map(|field| field.map);
        fields.chain(self.values)
    }

    const fn with(fields: &'static [PublishedField]) -> Self {
        let values = None;
        Self { fields, values }
    }

    const fn map_of(values: &'static Self) -> Self {
        let values = Some(values);
        Self {
            fields: &[],
            values,
        }
    }
}

impl PublishedField {
    const fn of(self, map: &'static Published) -> Self {
        let map = Some(map);
        Self { map, ..self }
    }

    const fn merges(self, patch: Items, apply: Items) -> Self {
        Self {
            patch,
            apply,
            ..self
        }
    }
}

const fn field(name: &'static str) -> PublishedField {
    PublishedField {
        name,
        map: None,
        patch: Whole,
        apply: Whole,
    }
}

/// Whether two texts are equal, at compile time, too.
const fn is(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    if one.len() != other.len() {
        return false;
    }
    let mut at = 0;
    while at < one.len() {
        if one[at] != other[at] {
            return false;
        }
        at += 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::Items::{Keys, Values};
    use super::*;

    /// How the list at the end of a dotted path merges, by a patch and by an apply.
    fn list(api_version: &str, kind: &str, path: &str) -> (Items, Items) {
        let mut map = Published::of(api_version, kind);
        let mut last = None;
        for name in path.split('.') {
            last = map.and_then(|map| map.field(name));
            map = map.and_then(|map| map.below(name));
        }
        last.map_or((Whole, Whole), |list| (list.patch, list.apply))
    }

    #[test]
    fn a_patch_and_an_apply_may_know_items_by_other_keys() {
        let constraints = "spec.template.spec.topologySpreadConstraints";
        let keys = Keys(&["topologyKey", "whenUnsatisfiable"]);
        let found = list("apps/v1", "Deployment", constraints);
        assert_eq!(found, (Keys(&["topologyKey"]), keys));
        let ports = list("v1", "Service", "spec.ports");
        assert_eq!(ports, (Keys(&["port"]), Keys(&["port", "protocol"])));
        assert_eq!(list("batch/v1", "Job", "status.conditions").1, Whole);
    }

    #[test]
    fn lists_are_known_by_their_kind_and_their_place() {
        let by = |key: &'static [&'static str]| (Keys(key), Keys(key));
        let pod = "spec.imagePullSecrets";
        assert_eq!(list("v1", "Pod", pod), by(&["name"]));
        assert_eq!(
            list("v1", "ServiceAccount", "imagePullSecrets"),
            (Whole, Whole)
        );
        let policy = [
            "admissionregistration.k8s.io/v1",
            "ValidatingAdmissionPolicy",
        ];
        for field in ["spec.matchConditions", "spec.variables"] {
            assert_eq!(list(policy[0], policy[1], field), by(&["name"]));
        }
        let drivers = list("storage.k8s.io/v1", "CSINode", "spec.drivers");
        assert_eq!(drivers, by(&["name"]));
        let reserved = list("resource.k8s.io/v1", "ResourceClaim", "status.reservedFor");
        assert_eq!(reserved, by(&["uid"]));
        assert_eq!(list("v1", "Pod", "status.podIPs"), by(&["ip"]));
        assert_eq!(list("v1", "Node", "spec.taints"), (Whole, Whole));
        assert_eq!(list("v1", "Node", "metadata.finalizers"), (Values, Values));
        assert!(Published::of("apps/v1", "Service").is_none());
    }

    #[test]
    fn free_keys_and_types_that_hold_themselves_are_followed() {
        let schema = "spec.versions.schema.openAPIV3Schema.properties.spec.properties.size";
        let rules = format!("{schema}.x-kubernetes-validations");
        let found = list(
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            &rules,
        );
        assert_eq!(found, (Keys(&["rule"]), Keys(&["rule"])));
    }
}
