//! `--approve`: the clusters that may be deleted.
//!
//! In: the values of the flag, the fleet, and what leaves it. Out: approvals, and which of them cannot be meant. It does
//! not know: what is deleted.

use std::collections::BTreeSet;

use anyhow::Context as _;

use crate::api::kinds::CAPI;
use crate::compile::Compiled;
use crate::model::ObjectId;
use crate::plan::approvals::{Approval, What};

/// `namespace/name`.
fn named(id: &ObjectId) -> String {
    format!("{}/{}", id.namespace, id.name)
}

/// What these values of the flag approve, each of which may be of use whatever the cluster has.
///
/// # Errors
/// When one is not written `namespace/name`, or names a cluster that is still in the fleet.
pub(super) fn approvals(flags: &[String], compiled: &Compiled) -> anyhow::Result<Vec<Approval>> {
    let read = |flag: &String| {
        let mut objects = compiled.objects.iter().map(|object| &object.id);
        anyhow::ensure!(
            !objects.any(|id| id.is(CAPI, "Cluster") && named(id) == *flag),
            "--approve {flag}: the cluster is still in the fleet; remove its file first"
        );
        let what = What::deletion(flag);
        let what =
            what.with_context(|| format!("--approve {flag}: a cluster is written namespace/name"))?;
        Ok(Approval::flag(what))
    };
    flags.iter().map(read).collect()
}

/// What to say of the approvals that name no cluster among those that leave the fleet.
pub(super) fn unused<'a>(
    approvals: &[Approval],
    leaving: impl Iterator<Item = &'a ObjectId>,
) -> Vec<String> {
    let clusters = leaving.filter(|id| id.is(CAPI, "Cluster")).map(named);
    let clusters: BTreeSet<String> = clusters.collect();
    let approved = approvals.iter().filter_map(|one| one.what.deletes());
    let unused = approved.filter(|cluster| !clusters.contains(*cluster));
    unused
        .map(|cluster| format!("--approve {cluster}: no such cluster leaves the fleet"))
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

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
        let checked = |approval: &str| approvals(&[approval.to_owned()], &compiled).is_ok();
        assert!(checked("c/two"));
        assert!(!checked("c/one") && !checked("two") && !checked("c/") && !checked("a/b/c"));
    }

    #[test]
    fn an_approval_of_what_does_not_leave_is_of_no_use() {
        let id = |group: &str, kind: &str, name: &str| ObjectId::new(group, kind, "c", name);
        let leaving = [id(CAPI, "Cluster", "one"), id("", "ConfigMap", "two")];
        let approved = ["c/one", "c/two", "c/nope"];
        let approved = approved.map(|name| Approval::flag(What::deletion(name).unwrap()));
        assert_eq!(
            unused(&approved, leaving.iter()),
            [
                "--approve c/two: no such cluster leaves the fleet",
                "--approve c/nope: no such cluster leaves the fleet",
            ]
        );
    }
}
