//! What is sent for an embedded resource, and whether it is there already.
//!
//! In: an item of the list, and how to apply it. Out: the patch. Nothing is copied before it is known that there is
//! something to send.

use serde_json::{Map, Value, json};

use super::digest::Digest;
use super::ledger::Ledger;
use super::owners::{self, Controller};
use super::policy::Terms;
use crate::api::aso;
use crate::api::labels::{
    APPLIED_DIGEST, CREDENTIAL_FROM, KEPT_POLICY, OWNED, RECONCILE_POLICY, ownership_tag,
};
use crate::health::Live;
use crate::reconcile::links;
use crate::reconcile::outcome::covers;

/// Fields of an item that are not sent as they are: ASO's own, and those with terms of their own.
const ELSEWHERE: [&str; 4] = ["apiVersion", "kind", "metadata", "status"];
/// Metadata that is sent as it is; the server or the owner decides about the rest.
const METADATA: [&str; 3] = ["annotations", "finalizers", "labels"];

/// What an embedded resource is to be.
pub(super) struct Payload<'a> {
    owner: Live<'a>,
    item: Live<'a>,
    policy: &'a str,
    /// Whether it is recorded that the policy stays.
    is_kept: bool,
    /// The Secret with its credential; empty if it names one itself, or needs none.
    credential: &'a str,
    tag: Option<String>,
    digest: String,
}

impl<'a> Payload<'a> {
    /// An item, applied on these terms.
    pub(super) fn new(
        ledger: &Ledger<'a>,
        item: Live<'a>,
        live: Option<Live<'_>>,
        terms: Terms<'a>,
    ) -> Self {
        let credential = credential(ledger, item, live);
        let has_tags = aso::has_tags(item.group(), item.kind()) && !ledger.cluster.is_empty();
        let tag = (terms.is_tagged && has_tags).then(|| ownership_tag(ledger.cluster));
        let mut digest = Digest::new();
        for (key, value) in parts(item) {
            digest.text(key);
            digest.value(value);
        }
        for text in [item.text(&["apiVersion"]), terms.policy] {
            digest.text(text);
        }
        if !credential.is_empty() {
            digest.text(credential);
        }
        if terms.is_kept {
            digest.text(KEPT_POLICY);
        }
        digest.text(tag.as_deref().unwrap_or_default());
        Self {
            owner: ledger.owner,
            item,
            policy: terms.policy,
            is_kept: terms.is_kept,
            credential,
            tag,
            digest: digest.finish(),
        }
    }

    /// Whether the server took exactly this at some time.
    pub(super) fn is_applied(&self, live: Live<'_>) -> bool {
        live.annotation(APPLIED_DIGEST) == self.digest
    }

    /// Whether the live resource has it all.
    pub(super) fn is_held(&self, live: Live<'_>) -> bool {
        let has_tag = |tag: &String| live.text(&["spec", "tags", tag]) == OWNED;
        self.is_applied(live)
            && matches!(owners::controller(self.owner, live), Controller::Owner)
            && (self.policy.is_empty() || live.annotation(RECONCILE_POLICY) == self.policy)
            && (!self.is_kept || live.annotation(KEPT_POLICY) == self.policy)
            && (self.credential.is_empty() || live.annotation(CREDENTIAL_FROM) == self.credential)
            && self.tag.as_ref().is_none_or(has_tag)
            && parts(self.item).all(|(key, value)| match METADATA.contains(&key) {
                true => has(live.0.get("metadata"), key, value),
                false => has(Some(live.0), key, value),
            })
    }

    /// Whether the live resource has the spec of the item.
    pub(super) fn is_specified(&self, live: Live<'_>) -> bool {
        let spec = self.item.at(&["spec"]);
        spec.is_none_or(|spec| has(Some(live.0), "spec", spec))
    }

    /// The patch.
    pub(super) fn patch(&self) -> Value {
        let mut patch = Map::new();
        let mut metadata = Map::new();
        for (key, value) in parts(self.item) {
            let place = if METADATA.contains(&key) {
                &mut metadata
            } else {
                &mut patch
            };
            place.insert(key.to_owned(), value.clone());
        }
        metadata.insert("name".to_owned(), json!(self.item.name()));
        metadata.insert("namespace".to_owned(), json!(self.owner.namespace()));
        let owners = json!([links::owned_by(self.owner, true)]);
        metadata.insert("ownerReferences".to_owned(), owners);
        let mut patch = Value::Object(patch);
        patch["apiVersion"] = json!(self.item.text(&["apiVersion"]));
        patch["kind"] = json!(self.item.kind());
        patch["metadata"] = Value::Object(metadata);
        let annotations = &mut patch["metadata"]["annotations"];
        set(annotations, APPLIED_DIGEST, &self.digest);
        if !self.policy.is_empty() {
            set(annotations, RECONCILE_POLICY, self.policy);
        }
        if self.is_kept {
            set(annotations, KEPT_POLICY, self.policy);
        }
        if !self.credential.is_empty() {
            set(annotations, CREDENTIAL_FROM, self.credential);
        }
        if let Some(tag) = &self.tag {
            let spec = &mut patch["spec"];
            if !spec.is_object() {
                *spec = json!({});
            }
            set(&mut spec["tags"], tag, OWNED);
        }
        patch
    }
}

/// The credential of an item: the cluster's, unless somebody chose another in the list or on the resource.
fn credential<'a>(ledger: &Ledger<'a>, item: Live<'_>, live: Option<Live<'_>>) -> &'a str {
    let held = live.map_or("", |live| live.annotation(CREDENTIAL_FROM));
    let is_chosen = !held.is_empty() && held != ledger.credential;
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

/// The fields of an item that are sent as they are.
fn parts(item: Live<'_>) -> impl Iterator<Item = (&str, &Value)> {
    let metadata = item.at(&["metadata"]).and_then(Value::as_object);
    let metadata = metadata.into_iter().flatten();
    let metadata = metadata.filter(|(key, _)| METADATA.contains(&key.as_str()));
    let top = item.0.as_object().into_iter().flatten();
    let top = top.filter(|(key, _)| {
        let key = key.as_str();
        !ELSEWHERE.contains(&key) && !METADATA.contains(&key)
    });
    metadata
        .chain(top)
        .map(|(key, value)| (key.as_str(), value))
}

/// Whether the value of a key has all that `wanted` has; nothing is wanted of a null.
fn has(held: Option<&Value>, key: &str, wanted: &Value) -> bool {
    let held = held.and_then(|held| held.get(key));
    wanted.is_null() || held.is_some_and(|held| covers(held, wanted))
}

/// Sets a text in a map, which is made if need be.
fn set(map: &mut Value, key: &str, text: &str) {
    if !map.is_object() {
        *map = json!({});
    }
    map[key] = json!(text);
}
