//! An account for programs.
//!
//! In: an account. Out: JSON: clusters and pools by name with what happens to them, counts of other objects and of nodes,
//! and losses. It has no value of a field.

use serde_json::{Value as Json, json};

use super::Account;
use super::counts::done;
use crate::reporting::report::asking::meaning;

/// The account as JSON: `{clusters, pools, objects, nodes, losses, movedFiles, seconds}`. `seconds` is null where nothing
/// takes time, or the change is not carried out like this.
pub(in crate::reporting::report) fn json(account: &Account) -> Json {
    let counts = &account.counts;
    let clusters = counts.clusters.iter();
    let clusters =
        clusters.map(|(unit, fate)| json!({"name": unit.to_string(), "change": done(*fate)}));
    let pools = counts.pools.iter().map(|(unit, (fate, nodes))| {
            json!({"name": unit.to_string(), "change": done(*fate), "nodes": nodes})
        });
    let objects = counts.objects.iter();
    let objects = objects.map(|(fate, count)| (done(*fate).to_owned(), Json::from(*count)));
    let losses = account.leaving.losses.iter().map(|loss| {
        json!({
            "name": loss.unit.to_string(),
            "approval": loss.verb.word(),
            "isApproved": loss.is_approved,
            "renamedTo": loss.renamed.as_ref().map(ToString::to_string),
            "nodes": loss.nodes,
            "message": meaning(loss),
        })
    });
    let seconds = account.takes.as_secs();
    json!({
        "clusters": clusters.collect::<Vec<_>>(),
        "pools": pools.collect::<Vec<_>>(),
        "objects": objects.collect::<serde_json::Map<_, _>>(),
        "nodes": {
            "lost": counts.lost_nodes(),
            "replaced": counts.rolled_nodes(),
            "new": counts.new_nodes,
        },
        "losses": losses.collect::<Vec<_>>(),
        "movedFiles": account.moved,
        "seconds": (seconds > 0).then_some(seconds),
    })
}
