//! The move of a member from one set to another, in two writes that change nothing else.
//!
//! In: the live member. Out: the patch that changes its label, and the one that makes the label Capstan's again: whoever changes
//! a value owns it, and only what Capstan applied is a member. It does not know who asked for the move.

use serde_json::{Value as Json, json};

use super::ownership::{is_ours, mark};
use crate::api::labels::PART_OF;
use crate::health::Live;
use kube_schema::{FieldSet, Managed};

/// The field manager of the first write.
pub(crate) const MOVER: &str = "capstan-adopt";

/// Returns the merge patch that puts a member into the set with the id `set`.
pub(crate) fn relabel(live: &Json, set: &str) -> Json {
    let object = Live(live);
    json!({"metadata": {
        "uid": object.uid(),
        "resourceVersion": object.text(&["metadata", "resourceVersion"]),
        "labels": {PART_OF: set},
    }})
}

/// Returns the merge patch that makes the label of a moved member our own; `None` if nothing has to change.
pub(crate) fn settle(live: &Json) -> Option<Json> {
    let managers = Managed::read(live).ok()?;
    let label = mark("labels", PART_OF);
    let is_mover = |entry: &Managed| entry.manager == MOVER && entry.owns(&label);
    if !managers.iter().any(is_mover) || !managers.iter().any(is_ours) {
        return None;
    }
    let settled = managers.iter().map(|entry| {
        let mut fields = entry.fields.clone();
        if is_ours(entry) {
            fields.insert(&label);
        } else if is_mover(entry) {
            let mut moved = FieldSet::new();
            moved.insert(&label);
            fields.subtract(&moved);
        }
        Managed {
            fields,
            ..entry.clone()
        }
    });
    let settled: Vec<Managed> = settled.filter(|entry| !entry.fields.is_empty()).collect();
    let mut after = json!({"metadata": {}});
    Managed::write(&settled, &mut after);
    let object = Live(live);
    after["metadata"]["uid"] = json!(object.uid());
    after["metadata"]["resourceVersion"] = json!(object.text(&["metadata", "resourceVersion"]));
    Some(after)
}
