//! `--approve`: the clusters that may be deleted.
//!
//! In: what a person approved, the fleet, and what leaves it. Out: which approvals cannot be meant. It does not
//! know: what is deleted.

use std::collections::BTreeSet;

use crate::api::kinds::CAPI;
use crate::compile::Compiled;
use crate::model::ObjectId;

/// `namespace/name`.
fn named(id: &ObjectId) -> String {
    format!("{}/{}", id.namespace, id.name)
}

/// Refuses approvals that are of no use whatever the cluster has.
///
/// # Errors
/// When one is not written `namespace/name`, or names a cluster that is still in the fleet.
pub(super) fn check_approvals(approved: &[String], compiled: &Compiled) -> anyhow::Result<()> {
    for approval in approved {
        let is_name = matches!(approval.split('/').collect::<Vec<_>>()[..], [namespace, name] if !namespace.is_empty() && !name.is_empty());
        anyhow::ensure!(
            is_name,
            "--approve {approval}: a cluster is written namespace/name"
        );
        let mut objects = compiled.objects.iter().map(|object| &object.id);
        anyhow::ensure!(
            !objects.any(|id| id.is(CAPI, "Cluster") && named(id) == *approval),
            "--approve {approval}: the cluster is still in the fleet; remove its file first"
        );
    }
    Ok(())
}

/// The approvals that name no cluster among those that leave the fleet.
pub(super) fn unused<'a>(
    approved: impl IntoIterator<Item = &'a String>,
    leaving: impl Iterator<Item = &'a ObjectId>,
) -> Vec<String> {
    let clusters = leaving.filter(|id| id.is(CAPI, "Cluster")).map(named);
    let clusters: BTreeSet<String> = clusters.collect();
    let approved = approved.into_iter();
    approved
        .filter(|approval| !clusters.contains(*approval))
        .cloned()
        .collect()
}

/// What to say of an approval that is of no use.
pub(super) fn unused_approval(approval: &str) -> String {
    format!("--approve {approval}: no such cluster leaves the fleet")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::compile::compile;
    use crate::model::Tree;

    #[test]
    fn an_approval_names_a_cluster_that_is_not_in_the_fleet() {
        let cluster = "{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {name: one, namespace: c}}";
        let tree = Tree {
            files: [(Arc::from("a.yaml"), Arc::from(cluster.as_bytes()))].into(),
            ..Tree::default()
        };
        let compiled = compile(&tree, &[]);
        let checked = |approval: &str| check_approvals(&[approval.to_owned()], &compiled).is_ok();
        assert!(checked("c/two"));
        assert!(!checked("c/one") && !checked("two") && !checked("c/") && !checked("a/b/c"));
    }

    #[test]
    fn an_approval_of_what_does_not_leave_is_of_no_use() {
        let id = |group: &str, kind: &str, name: &str| ObjectId::new(group, kind, "c", name);
        let leaving = [id(CAPI, "Cluster", "one"), id("", "ConfigMap", "two")];
        let approved = ["c/one", "c/two", "c/nope"].map(str::to_owned);
        assert_eq!(unused(&approved, leaving.iter()), ["c/two", "c/nope"]);
    }
}
