//! What we add to an embedded resource: its credential, the tag of its cluster, and the policy of what is only read.
//!
//! In: an item of the list, and how to apply it. Out: the added fields, and whether the live resource has them from us. On a
//! resource that is managed there is no policy: CAPZ pauses by an apply that would conflict with ours. It does not know how
//! the item itself is applied.

use serde_json::{Value, json};

use super::digest::Digest;
use super::ledger::Ledger;
use super::policy::{self, Terms};
use crate::api::aso;
use crate::api::labels::{
    ADDED_DIGEST, CREDENTIAL_FROM, KEPT_POLICY, OWNED, RECONCILE_POLICY, SKIP, ownership_tag,
};
use crate::health::Live;

/// Ends the digest while our manager owns more than what is added: all of a resource that was just created, or what the item
/// is about to have itself.
const MORE: &str = "+";

/// Stands behind the digest while the item names its credential itself.
const LISTED: &str = "-listed";

/// How far our manager is with a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// It has not applied what is added.
    Missing,
    /// It owns that, and more.
    WithMore,
    /// It owns that alone.
    Alone,
}

/// What is added to an embedded resource.
pub(super) struct Added<'a> {
    /// The policy; empty if there is none, or the item has one.
    policy: &'a str,
    /// Whether it is recorded that the policy stays.
    is_kept: bool,
    /// The Secret with its credential; empty if the item names one itself, or needs none.
    credential: &'a str,
    tag: Option<String>,
    digest: String,
    /// Whether ASO only looks whether the resource exists, so that more is about to be sent.
    pub(super) is_probe: bool,
}

impl<'a> Added<'a> {
    /// What is added to an item that is applied on these terms.
    pub(super) fn new(
        ledger: &Ledger<'a>,
        item: Live<'_>,
        live: Option<Live<'_>>,
        terms: Terms<'a>,
    ) -> Self {
        let policy = policy::written(item).map_or(terms.policy, |_| "");
        let credential = credential(ledger, item, live);
        let has_tags = aso::has_tags(item.group(), item.kind()) && !ledger.cluster.is_empty();
        let tag = (terms.is_tagged && has_tags).then(|| ownership_tag(ledger.cluster));
        let tag = tag.filter(|tag| item.at(&["spec", "tags", tag]).is_none());
        let mut digest = Digest::new();
        for text in [policy, credential, tag.as_deref().unwrap_or_default()] {
            digest.text(text);
        }
        if terms.is_kept {
            digest.text(KEPT_POLICY);
        }
        let mut digest = digest.finish();
        if has_credential(item) {
            digest.push_str(LISTED);
        }
        Self {
            policy,
            is_kept: terms.is_kept,
            credential,
            tag,
            digest,
            is_probe: policy == SKIP && !terms.is_foreign && !terms.is_kept,
        }
    }

    /// How far our manager is with the live resource.
    pub(super) fn stage(&self, live: Live<'_>) -> Stage {
        let has_tag = |tag: &String| live.text(&["spec", "tags", tag]) == OWNED;
        let has =
            |annotation, value: &str| value.is_empty() || live.annotation(annotation) == value;
        let is_held = has(RECONCILE_POLICY, self.policy)
            && (!self.is_kept || live.annotation(KEPT_POLICY) == self.policy)
            && has(CREDENTIAL_FROM, self.credential)
            && self.tag.as_ref().is_none_or(has_tag);
        let rest = live.annotation(ADDED_DIGEST).strip_prefix(&self.digest);
        match rest.filter(|_| is_held) {
            Some("") => Stage::Alone,
            Some(MORE) => Stage::WithMore,
            _ => Stage::Missing,
        }
    }

    /// Puts it into a patch, with more annotations; without any, the patch is all of the resource.
    pub(super) fn put(&self, patch: &mut Value, more: Option<&Value>) {
        let annotations = &mut patch["metadata"]["annotations"];
        let more_annotations = more.and_then(Value::as_object).into_iter().flatten();
        let mut has_more = more.is_none();
        for (annotation, value) in more_annotations {
            has_more = true;
            set(annotations, annotation, value.as_str().unwrap_or_default());
        }
        let end = if has_more { MORE } else { "" };
        set(annotations, ADDED_DIGEST, &format!("{}{end}", self.digest));
        let added = [
            (RECONCILE_POLICY, self.policy),
            (KEPT_POLICY, if self.is_kept { self.policy } else { "" }),
            (CREDENTIAL_FROM, self.credential),
        ];
        for (annotation, value) in added {
            if !value.is_empty() {
                set(annotations, annotation, value);
            }
        }
        if let Some(tag) = &self.tag {
            let spec = &mut patch["spec"];
            if !spec.is_object() {
                *spec = json!({});
            }
            set(&mut spec["tags"], tag, OWNED);
        }
    }
}

/// Whether our manager owns more of the live resource than what is added.
pub(super) fn owns_more(live: Live<'_>) -> bool {
    live.annotation(ADDED_DIGEST).ends_with(MORE)
}

/// Annotations that the item names itself, as the live resource has them.
pub(super) fn carried(item: Live<'_>, live: Live<'_>) -> Value {
    let mut carried = json!({});
    for annotation in [CREDENTIAL_FROM, RECONCILE_POLICY] {
        let held = live.annotation(annotation);
        let is_named = item.at(&["metadata", "annotations", annotation]).is_some();
        if is_named && !held.is_empty() {
            carried[annotation] = json!(held);
        }
    }
    carried
}

/// The credential of an item: the cluster's, unless somebody chose another in the list or on the resource. One that left the
/// list is replaced, not removed first.
fn credential<'a>(ledger: &Ledger<'a>, item: Live<'_>, live: Option<Live<'_>>) -> &'a str {
    let is_chosen = live.is_some_and(|live| {
        let held = live.annotation(CREDENTIAL_FROM);
        let was_listed = live.annotation(ADDED_DIGEST).contains(LISTED);
        !held.is_empty() && held != ledger.credential && !was_listed
    });
    match has_credential(item) || is_chosen {
        true => "",
        false => ledger.credential,
    }
}

/// Whether an item names its credential itself.
pub(in crate::reconcile) fn has_credential(item: Live<'_>) -> bool {
    let named = item.at(&["metadata", "annotations", CREDENTIAL_FROM]);
    named.is_some_and(|named| !named.is_null())
}

/// Sets a text in a map, which is made if need be.
pub(super) fn set(map: &mut Value, key: &str, text: &str) {
    if !map.is_object() {
        *map = json!({});
    }
    map[key] = json!(text);
}
