//! Which lists of Kubernetes' own kinds merge, and what identifies their items.
//!
//! In: a kind and its version, then one field after the other. Out: how a strategic merge patch and how
//! server-side apply identify the items of a list. The two differ for some lists: a patch knows the ports
//! of a Service by `port`, an apply by `port` and `protocol`. The facts are in [`published`], which is
//! generated. This module does not know custom resources: their schemas say how lists merge
//! ([`ListKind`](crate::ListKind)).

mod fields;
#[rustfmt::skip]
pub mod published;

pub use fields::{Items, Published, PublishedField};

impl Published {
    /// A whole object of a kind; none if the kind is not Kubernetes' own.
    #[must_use]
    pub fn of(api_version: &str, kind: &str) -> Option<&'static Self> {
        let mut kinds = published::KINDS.iter();
        let found = kinds.find(|row| row.1 == kind && row.0 == api_version);
        found.map(|row| row.2)
    }
}

#[cfg(test)]
mod tests {
    use super::Items::{Keys, Values, Whole};
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
