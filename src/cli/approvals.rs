//! `--approve`: the clusters and node pools that may go.
//!
//! In: the values of the flag, the fleet, and what leaves it. Out: approvals, and which of them cannot be meant. It does
//! not know: what is deleted.

use std::collections::BTreeSet;

use anyhow::Context as _;

use crate::compile::Compiled;
use crate::model::ObjectId;
use crate::plan::approvals::{Approval, What};
use crate::plan::losses::Unit;

/// How an approval is written.
const FORM: &str = "write NAMESPACE/NAME, or as in a commit message: `delete|release|rename NAMESPACE/NAME[/POOL]`";

/// What these values of the flag approve, each of which may be of use whatever the cluster has. A name alone approves a
/// deletion.
///
/// # Errors
/// When one is not written so, or names what is `staying` in the fleet.
pub(super) fn approvals(
    flags: &[String],
    staying: &BTreeSet<Unit>,
) -> anyhow::Result<Vec<Approval>> {
    let read = |flag: &String| {
        let what = What::deletion(flag).or_else(|| What::parse(flag));
        let what = what.filter(|what| what.loss().is_some());
        let what = what.with_context(|| format!("--approve {flag}: {FORM}"))?;
        let stays = what.loss().is_some_and(|(_, unit)| staying.contains(unit));
        anyhow::ensure!(
            !stays,
            "--approve {flag}: it is still in the fleet; remove its file first"
        );
        Ok(Approval::flag(what))
    };
    flags.iter().map(read).collect()
}

/// The clusters and node pools that a fleet has.
pub(super) fn units(compiled: &Compiled) -> BTreeSet<Unit> {
    let objects = compiled.objects.iter();
    objects.filter_map(Unit::of_object).collect()
}

/// What to say of the approvals that name nothing among what leaves the fleet.
pub(super) fn unused<'a>(
    approvals: &[Approval],
    leaving: impl Iterator<Item = &'a ObjectId>,
) -> Vec<String> {
    let leaving: Vec<&ObjectId> = leaving.collect();
    let approved = approvals.iter().filter_map(|one| one.what.loss());
    let unused = approved.filter(|(_, unit)| !leaving.iter().any(|id| unit.may_be(id)));
    unused
        .map(|(_, unit)| {
            let noun = match unit.pool {
                Some(_) => "node pool",
                None => "cluster",
            };
            format!("--approve {unit}: no such {noun} leaves the fleet")
        })
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
        let staying = units(&compile(&tree, &[]));
        let checked = |approval: &str| approvals(&[approval.to_owned()], &staying).is_ok();
        assert!(checked("c/two") && checked("delete c/two") && checked("release c/two/mp1"));
        assert!(!checked("c/one") && !checked("two") && !checked("c/") && !checked("a/b/c/d"));
        assert!(!checked("recreate c/two") && !checked("remove c/two") && !checked("delete c/one"));
    }

    #[test]
    fn an_approval_of_what_does_not_leave_is_of_no_use() {
        use crate::api::kinds::CAPI;
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
