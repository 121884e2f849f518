//! The policy of a paused resource: ASO skips it, and an annotation remembers what it had before.
//!
//! In: a resource. Out: a write of these two annotations and of nothing else. It does not know why.

use serde_json::{Value, json};

use crate::api::labels::{APPLIED_DIGEST, MANAGE, PRE_PAUSE_POLICY, RECONCILE_POLICY, SKIP};
use crate::health::Live;
use crate::reconcile::outcome::{Write, patch_of};

/// Makes ASO skip a resource, and remembers the policy it had.
pub(super) fn skip(live: Live<'_>) -> Option<Write> {
    let policy = live.annotation(RECONCILE_POLICY);
    if policy == SKIP || live.is_deleting() {
        return None;
    }
    let before = live.at(&["metadata", "annotations", PRE_PAUSE_POLICY]);
    let before = before.cloned().unwrap_or_else(|| json!(policy));
    let annotations = json!({RECONCILE_POLICY: SKIP, PRE_PAUSE_POLICY: before});
    Some(annotate(live, annotations))
}

/// Gives a paused resource the policy again that it had; none if ASO manages it, which is the default.
pub(super) fn resume(live: Live<'_>, policy: &str) -> Write {
    let policy = (!["", MANAGE].contains(&policy)).then_some(policy);
    annotate(
        live,
        json!({RECONCILE_POLICY: policy, PRE_PAUSE_POLICY: null}),
    )
}

/// Gives a paused resource the policy of the list before the list is applied, unless it has it: until then it counts as
/// paused, so that the policy is left to the list in the end.
pub(super) fn lift(live: Live<'_>, policy: &str) -> Option<Write> {
    let annotations = [RECONCILE_POLICY, PRE_PAUSE_POLICY];
    let has_it = annotations
        .iter()
        .all(|name| live.annotation(name) == policy);
    let lifted = json!({RECONCILE_POLICY: policy, PRE_PAUSE_POLICY: policy});
    (!has_it).then(|| annotate(live, lifted))
}

/// Leaves the policy of a paused resource to the list again: it is applied next. A policy set here would stay when it
/// leaves the list.
pub(super) fn release(live: Live<'_>) -> Write {
    annotate(
        live,
        json!({RECONCILE_POLICY: null, PRE_PAUSE_POLICY: null, APPLIED_DIGEST: null}),
    )
}

/// Changes annotations of the version that was read, whoever manages them.
fn annotate(live: Live<'_>, annotations: Value) -> Write {
    let mut patch = patch_of(live);
    patch["metadata"]["resourceVersion"] = json!(live.text(&["metadata", "resourceVersion"]));
    patch["metadata"]["annotations"] = annotations;
    Write::Merge(patch)
}
