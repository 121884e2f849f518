//! An object that its fleet does not have any more, and that stays in the cluster.
//!
//! In: the fleets of a cluster, and an object in it. Out: if its fleet kept or released it, the reason, where it runs on, and
//! what deletes it or takes it back. It does not know how the object is otherwise.

use crate::api::kinds::{CAPI, CONTROL_PLANE, INFRASTRUCTURE, is_aso};
use crate::api::labels::{ORPHANED_FROM, PART_OF};
use crate::api::platform::is_leader;
use crate::apply::Parent;
use crate::health::Live;
use crate::model::ObjectId;
use crate::plan::ApplySet;

/// The word for [`Left::Kept`].
pub(super) const KEPT: &str = "kept";
/// The word for [`Left::Released`].
pub(super) const RELEASED: &str = "released";

/// The way in which an object left its fleet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Left {
    /// It is still a member, until a person acts.
    Kept(String),
    /// It left the set of the fleet.
    Released(String),
}

impl Left {
    /// The way in which this object left one of these fleets, if it did.
    pub(super) fn of(
        fleets: &[(ApplySet, Parent)],
        id: &ObjectId,
        live: Option<Live<'_>>,
    ) -> Option<Self> {
        let live = live.filter(|live| !live.is_deleting())?;
        let kept = fleets.iter().find_map(|(set, parent)| {
            let reason = parent.kept.about(id)?;
            Some((set.fleet(), reason.message.as_str()))
        });
        if let Some((fleet, why)) = kept {
            return Some(Self::Kept(format!(
                "{why}. Until then the fleet {fleet} leaves it as it is{}. To keep it for good, add it to the fleet again",
                runs_on(id)
            )));
        }
        let set = live.annotation(ORPHANED_FROM);
        if set.is_empty() || !live.label(PART_OF).is_empty() {
            return None;
        }
        let fleet = fleets.iter().find(|(fleet, _)| fleet.id() == set);
        let (fleet, back) = match fleet {
            Some((set, _)) => (
                format!("the fleet {}", set.fleet()),
                "a commit that adds it to the fleet again takes it back".to_owned(),
            ),
            None => (
                format!("a fleet that is not in this cluster any more ({set})"),
                format!("another fleet takes it over with the annotation {ADOPTS}"),
            ),
        };
        Some(Self::Released(format!(
            "{fleet} released it, so no commit changes or deletes it{}. {}; {back}",
            runs_on(id),
            deletes(id)
        )))
    }

    /// The way in a word.
    pub(super) const fn word(&self) -> &'static str {
        match self {
            Self::Kept(_) => KEPT,
            Self::Released(_) => RELEASED,
        }
    }

    /// What to know of it.
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Kept(text) | Self::Released(text) => text,
        }
    }

    /// The same, if it left in the way of this word.
    pub(super) fn text_if(&self, word: &str) -> Option<&str> {
        (self.word() == word).then(|| self.text())
    }
}

/// The annotation that takes over what belongs to no fleet.
const ADOPTS: &str = "capstan.dev/adopt: \"true\"";

/// What goes on for an object that stands for something in Azure.
fn runs_on(id: &ObjectId) -> &'static str {
    let is_azure = [CAPI, INFRASTRUCTURE, CONTROL_PLANE].contains(&id.group.as_str());
    match is_azure || is_aso(&id.group) {
        true => ", and it runs on in Azure",
        false => "",
    }
}

/// What deletes an object. A part of a cluster goes with it.
fn deletes(id: &ObjectId) -> String {
    if !is_leader(id) {
        return "It stays until a person deletes it".to_owned();
    }
    let ObjectId {
        group,
        kind,
        name,
        namespace,
    } = id;
    let kind = kind.to_lowercase();
    let also = if group == CAPI { ", in Azure too" } else { "" };
    format!("`kubectl delete {kind}.{group} {name} -n {namespace}` deletes it{also}")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;
    use crate::apply::{Reason, Reasons};

    fn cluster(name: &str) -> ObjectId {
        ObjectId::new(CAPI, "Cluster", "ns", name)
    }

    fn fleets() -> [(ApplySet, Parent); 1] {
        let reason = Reason {
            object: cluster("a").to_string(),
            group: CAPI.to_owned(),
            message: "the release of cluster ns/a needs approval".to_owned(),
            ..Reason::default()
        };
        let kept = Reasons {
            total: 1,
            first: vec![reason],
        };
        let parent = Parent {
            kept,
            ..Parent::default()
        };
        [(ApplySet::new("prod", "capstan-system"), parent)]
    }

    fn text(id: &ObjectId, metadata: &Json) -> Option<String> {
        let live = json!({"metadata": metadata});
        let left = Left::of(&fleets(), id, Some(Live(&live)))?;
        Some(format!("{}: {}", left.word(), left.text()))
    }

    #[test]
    fn a_cluster_that_is_kept_says_until_when_and_that_it_runs_on() {
        let expected = "kept: the release of cluster ns/a needs approval. Until then the fleet prod leaves it as it is, and it runs on in Azure. To keep it for good, add it to the fleet again";
        assert_eq!(text(&cluster("a"), &json!({})).as_deref(), Some(expected));
        assert_eq!(text(&cluster("b"), &json!({})), None);
        let other = ObjectId::new("", "Cluster", "ns", "a");
        assert_eq!(text(&other, &json!({})), None);
        let going = json!({"deletionTimestamp": "2026-11-27T00:00:00Z"});
        assert_eq!(text(&cluster("a"), &going), None);
        assert_eq!(Left::of(&fleets(), &cluster("a"), None), None);
    }

    #[test]
    fn what_was_released_says_what_deletes_it_and_what_takes_it_back() {
        let from = |set: &str| json!({"annotations": {ORPHANED_FROM: set}});
        let ours = from(&fleets()[0].0.id());
        let expected = "released: the fleet prod released it, so no commit changes or deletes it, and it runs on in Azure. `kubectl delete cluster.cluster.x-k8s.io b -n ns` deletes it, in Azure too; a commit that adds it to the fleet again takes it back";
        assert_eq!(text(&cluster("b"), &ours).as_deref(), Some(expected));
        let map = ObjectId::new("", "ConfigMap", "ns", "m");
        let expected = "released: a fleet that is not in this cluster any more (applyset-x-v1) released it, so no commit changes or deletes it. It stays until a person deletes it; another fleet takes it over with the annotation capstan.dev/adopt: \"true\"";
        assert_eq!(
            text(&map, &from("applyset-x-v1")).as_deref(),
            Some(expected)
        );
        let mut taken = ours;
        taken["labels"] = json!({PART_OF: "applyset-x-v1"});
        assert_eq!(text(&cluster("b"), &taken), None);
    }
}
