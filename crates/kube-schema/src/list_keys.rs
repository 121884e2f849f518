//! Which lists of Kubernetes' own kinds merge, and what identifies their items.
//!
//! In: a kind, the field that holds the map with the list, and the name of the list. Out: how a
//! strategic merge patch and how server-side apply identify its items. The two differ for some lists:
//! a patch knows the ports of a Service by `port`, an apply by `port` and `protocol`. Sources: the
//! `patchStrategy`, `patchMergeKey`, `listType` and `listMapKey` of k8s.io/api 1.34. It does not know
//! custom resources: their schemas say how lists merge ([`ListKind`](crate::ListKind)).

use Items::{Keys, Values, Whole};

/// How the items of a list are identified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Items {
    /// They are not: the list is one value.
    Whole,
    /// By their own value; no two are equal.
    Values,
    /// By these fields.
    Keys(&'static [&'static str]),
}

/// A list of Kubernetes' own kinds.
#[derive(Clone, Copy, Debug)]
pub struct MergingList {
    /// The kind that it is part of; empty for any kind.
    pub kind: &'static str,
    /// The field that holds the map with the list, or the list of such maps; empty for any field.
    pub parent: &'static str,
    /// The name of the list.
    pub name: &'static str,
    /// What a strategic merge patch identifies its items by.
    pub patch: Items,
    /// What server-side apply identifies its items by.
    pub apply: Items,
}

/// A list that both ways of merging treat alike.
const fn both(
    kind: &'static str,
    parent: &'static str,
    name: &'static str,
    items: Items,
) -> MergingList {
    differing(kind, parent, name, items, items)
}

const fn differing(
    kind: &'static str,
    parent: &'static str,
    name: &'static str,
    patch: Items,
    apply: Items,
) -> MergingList {
    MergingList {
        kind,
        parent,
        name,
        patch,
        apply,
    }
}

const NAME: Items = Keys(&["name"]);
const TYPE: Items = Keys(&["type"]);
const PORT_OF_CONTAINER: (Items, Items) = (
    Keys(&["containerPort"]),
    Keys(&["containerPort", "protocol"]),
);

/// Every list; the first that fits counts.
pub const MERGING_LISTS: &[MergingList] = &[
    // Metadata and status of every kind.
    both("", "metadata", "finalizers", Values),
    both("", "metadata", "ownerReferences", Keys(&["uid"])),
    differing(
        "CustomResourceDefinition",
        "status",
        "conditions",
        Whole,
        TYPE,
    ),
    differing("Job", "status", "conditions", TYPE, Whole),
    both("", "status", "conditions", TYPE),
    // Pods and their templates.
    both("", "", "containers", NAME),
    both("", "", "ephemeralContainers", NAME),
    both("", "", "initContainers", NAME),
    ports_of("containers"),
    ports_of("ephemeralContainers"),
    ports_of("initContainers"),
    both("", "", "env", NAME),
    both("", "", "hostAliases", Keys(&["ip"])),
    both("", "", "imagePullSecrets", NAME),
    both("", "", "resourceClaims", NAME),
    both("", "", "schedulingGates", NAME),
    differing(
        "",
        "",
        "topologySpreadConstraints",
        Keys(&["topologyKey"]),
        Keys(&["topologyKey", "whenUnsatisfiable"]),
    ),
    both("", "", "volumeDevices", Keys(&["devicePath"])),
    both("", "", "volumeMounts", Keys(&["mountPath"])),
    both("", "", "volumes", NAME),
    differing("", "resources", "claims", Whole, NAME),
    differing("Pod", "status", "hostIPs", Keys(&["ip"]), Whole),
    both("Pod", "status", "podIPs", Keys(&["ip"])),
    both("Pod", "status", "resourceClaimStatuses", NAME),
    // Other kinds.
    differing("CSIDriver", "spec", "volumeLifecycleModes", Whole, Values),
    differing("Job", "uncountedTerminatedPods", "failed", Whole, Values),
    differing("Job", "uncountedTerminatedPods", "succeeded", Whole, Values),
    both("MutatingWebhookConfiguration", "", "webhooks", NAME),
    both(
        "MutatingWebhookConfiguration",
        "webhooks",
        "matchConditions",
        NAME,
    ),
    both("Node", "spec", "podCIDRs", Values),
    both("Node", "status", "addresses", TYPE),
    differing(
        "Service",
        "spec",
        "ports",
        Keys(&["port"]),
        Keys(&["port", "protocol"]),
    ),
    both("ServiceAccount", "", "secrets", NAME),
    both("ValidatingAdmissionPolicy", "spec", "matchConditions", NAME),
    both("ValidatingAdmissionPolicy", "spec", "variables", NAME),
    differing(
        "ValidatingAdmissionPolicyBinding",
        "spec",
        "validationActions",
        Whole,
        Values,
    ),
    both("ValidatingWebhookConfiguration", "", "webhooks", NAME),
    both(
        "ValidatingWebhookConfiguration",
        "webhooks",
        "matchConditions",
        NAME,
    ),
];

const fn ports_of(containers: &'static str) -> MergingList {
    let (patch, apply) = PORT_OF_CONTAINER;
    differing("", containers, "ports", patch, apply)
}

/// The list `name` below the field `parent` of an object of a kind; none for a list that nothing is
/// known of, which is one value.
#[must_use]
pub const fn merging_list(kind: &str, parent: &str, name: &str) -> Option<&'static MergingList> {
    let mut at = 0;
    while at < MERGING_LISTS.len() {
        let row = &MERGING_LISTS[at];
        let fits = is_any_or(row.kind, kind) && is_any_or(row.parent, parent);
        if fits && is(row.name, name) {
            return Some(row);
        }
        at += 1;
    }
    None
}

const fn is_any_or(wanted: &str, given: &str) -> bool {
    wanted.is_empty() || is(wanted, given)
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
    use super::*;

    fn apply(kind: &str, parent: &str, name: &str) -> Option<Items> {
        merging_list(kind, parent, name).map(|list| list.apply)
    }

    #[test]
    fn a_patch_and_an_apply_may_know_items_by_other_keys() {
        let constraints = merging_list("Deployment", "spec", "topologySpreadConstraints");
        let found = constraints.map(|list| (list.patch, list.apply));
        let keys = Keys(&["topologyKey", "whenUnsatisfiable"]);
        assert_eq!(found, Some((Keys(&["topologyKey"]), keys)));
    }

    #[test]
    fn the_kind_and_the_parent_count_where_the_row_says_them() {
        let ports = Keys(&["port", "protocol"]);
        assert_eq!(apply("Service", "spec", "ports"), Some(ports));
        assert_eq!(apply("NetworkPolicy", "ingress", "ports"), None);
        assert_eq!(apply("Job", "status", "conditions"), Some(Whole));
        assert_eq!(apply("Pod", "status", "conditions"), Some(TYPE));
        assert_eq!(apply("Pod", "spec", "conditions"), None);
    }

    #[test]
    fn no_row_hides_another() {
        for (at, row) in MERGING_LISTS.iter().enumerate() {
            let found = merging_list(row.kind, row.parent, row.name);
            let first = MERGING_LISTS
                .iter()
                .position(|other| found.is_some_and(|found| std::ptr::eq(other, found)));
            assert!(first.is_none_or(|first| first == at), "{row:?}");
        }
    }
}
