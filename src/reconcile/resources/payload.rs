//! What is sent for an embedded resource, and whether it is there already.
//!
//! In: an item of the list, and how to apply it. Out: the next patch, and who applies it. The item is applied by CAPZ's
//! manager, what is added to it by ours, always before CAPZ's lets go of anything: so the resource keeps its credential
//! whoever applies the item. Nothing is copied before it is known that there is something to send.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use super::added::{Added, Stage, carried, owns_more, set};
use super::digest::Digest;
use super::ledger::Ledger;
use super::owners::{self, Controller};
use super::policy::Terms;
use crate::api::labels::{ADDED_DIGEST, APPLIED_DIGEST, KEPT_POLICY, PRE_PAUSE_POLICY};
use crate::api::managers::{CAPZ, EMBEDDED};
use crate::health::Live;
use crate::reconcile::links;
use crate::reconcile::outcome::{Write, covers};

/// Fields of an item that are not sent as they are: ASO's own, and those with terms of their own.
const ELSEWHERE: [&str; 4] = ["apiVersion", "kind", "metadata", "status"];
/// Metadata that is sent as it is; the server or the owner decides about the rest.
const METADATA: [&str; 3] = ["annotations", "finalizers", "labels"];

/// What an embedded resource is to be.
pub(super) struct Payload<'a> {
    owner: Live<'a>,
    item: Live<'a>,
    added: Added<'a>,
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
        let mut digest = Digest::new();
        for (key, value) in parts(item) {
            digest.text(key);
            digest.value(&value);
        }
        digest.text(item.text(&["apiVersion"]));
        Self {
            owner: ledger.owner,
            item,
            added: Added::new(ledger, item, live, terms),
            digest: digest.finish(),
        }
    }

    /// Whether the server took exactly this item at some time.
    pub(super) fn is_applied(&self, live: Live<'_>) -> bool {
        live.annotation(APPLIED_DIGEST) == self.digest
    }

    /// Whether the live resource has all of the item.
    fn is_listed(&self, live: Live<'_>) -> bool {
        self.is_applied(live)
            && matches!(owners::controller(self.owner, live), Controller::Owner)
            && parts(self.item).all(|(key, value)| match METADATA.contains(&key) {
                true => has(live.0.get("metadata"), key, &value),
                false => has(Some(live.0), key, &value),
            })
    }

    /// Whether the live resource has the spec of the item.
    pub(super) fn is_specified(&self, live: Live<'_>) -> bool {
        let spec = self.item.at(&["spec"]);
        spec.is_none_or(|spec| has(Some(live.0), "spec", spec))
    }

    /// The next patch; `None` once the live resource has it all.
    pub(super) fn next(&self, live: Option<Live<'_>>) -> Option<Write> {
        let Some(live) = live else {
            return Some(Write::ApplyAs(EMBEDDED, self.whole()));
        };
        match self.added.stage(live) {
            // Ours may be the only manager of the item. What the server did not keep of it does not count here: it never will.
            _ if !self.is_applied(live) && owns_more(live) => {
                Some(Write::ApplyAs(CAPZ, self.listed(live)))
            }
            Stage::Missing => Some(self.add(live)),
            Stage::WithMore if !self.added.is_probe => Some(self.add(live)),
            _ if !self.is_listed(live) => Some(Write::ApplyAs(CAPZ, self.listed(live))),
            Stage::WithMore | Stage::Alone => None,
        }
    }

    /// What is added, alone, except for what the item is to have from now on and the live resource has already: that is let
    /// go once the item is applied.
    fn add(&self, live: Live<'_>) -> Write {
        let mut patch = self.named();
        only(live, &mut patch);
        let carried = match self.is_applied(live) {
            true => json!({}),
            false => carried(self.item, live),
        };
        self.added.put(&mut patch, Some(&carried));
        Write::ApplyAs(EMBEDDED, patch)
    }

    /// All of it, for a resource that does not exist: it is never without its credential.
    fn whole(&self) -> Value {
        let mut patch = self.fields();
        self.added.put(&mut patch, None);
        patch
    }

    /// The item.
    fn listed(&self, live: Live<'_>) -> Value {
        let mut patch = self.fields();
        only(live, &mut patch);
        set(
            &mut patch["metadata"]["annotations"],
            APPLIED_DIGEST,
            &self.digest,
        );
        patch
    }

    /// The fields of the item, and its owner.
    fn fields(&self) -> Value {
        let mut patch = self.named();
        for (key, value) in parts(self.item) {
            let place = match METADATA.contains(&key) {
                true => &mut patch["metadata"],
                false => &mut patch,
            };
            place[key] = value.into_owned();
        }
        patch["metadata"]["ownerReferences"] = json!([links::owned_by(self.owner, true)]);
        patch
    }

    /// What names it.
    fn named(&self) -> Value {
        let mut patch = Map::new();
        patch.insert(
            "apiVersion".to_owned(),
            json!(self.item.text(&["apiVersion"])),
        );
        patch.insert("kind".to_owned(), json!(self.item.kind()));
        let metadata = json!({"name": self.item.name(), "namespace": self.owner.namespace()});
        patch.insert("metadata".to_owned(), metadata);
        Value::Object(patch)
    }
}

/// Makes it a patch of this resource alone: if that is gone, a part of it is not made instead.
fn only(live: Live<'_>, patch: &mut Value) {
    patch["metadata"]["uid"] = json!(live.uid());
}

/// Annotations that only we write. An item that was copied from a live resource has them, too.
const OWN_ANNOTATIONS: [&str; 4] = [ADDED_DIGEST, APPLIED_DIGEST, KEPT_POLICY, PRE_PAUSE_POLICY];

/// The fields of an item that are sent as they are.
fn parts(item: Live<'_>) -> impl Iterator<Item = (&str, Cow<'_, Value>)> {
    let metadata = item.at(&["metadata"]).and_then(Value::as_object);
    let metadata = metadata.into_iter().flatten();
    let metadata = metadata.filter(|(key, _)| METADATA.contains(&key.as_str()));
    let top = item.0.as_object().into_iter().flatten();
    let top = top.filter(|(key, _)| {
        let key = key.as_str();
        !ELSEWHERE.contains(&key) && !METADATA.contains(&key)
    });
    metadata.chain(top).map(|(key, value)| match key.as_str() {
        "annotations" => ("annotations", without_own(value)),
        key => (key, Cow::Borrowed(value)),
    })
}

/// Annotations without those that only we write.
fn without_own(annotations: &Value) -> Cow<'_, Value> {
    if OWN_ANNOTATIONS
        .iter()
        .all(|own| annotations.get(own).is_none())
    {
        return Cow::Borrowed(annotations);
    }
    let mut rest = annotations.clone();
    if let Some(rest) = rest.as_object_mut() {
        rest.retain(|key, _| !OWN_ANNOTATIONS.contains(&key.as_str()));
    }
    Cow::Owned(rest)
}

/// Whether the value of a key has all that `wanted` has; nothing is wanted of a null.
fn has(held: Option<&Value>, key: &str, wanted: &Value) -> bool {
    let held = held.and_then(|held| held.get(key));
    wanted.is_null() || held.is_some_and(|held| covers(held, wanted))
}
