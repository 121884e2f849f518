//! The Cluster that an object of the ARO provider belongs to: one uid, and not a name.
//!
//! In: an object, the owner references that lead to its Cluster, and the Cluster of that name. Out: whether that one is it.
//! Cluster API may make an object the new Cluster's that was to be deleted with an old one of the same name. It does not know
//! what follows from it.

use jiff::Timestamp;

use super::links;
use crate::health::Live;
use crate::model::ObjectId;

/// What an object belongs to.
#[derive(Clone, Debug)]
pub(super) struct Membership<'a> {
    /// The Cluster of this name, whether the object belongs to it or not.
    pub(super) named: Option<Live<'a>>,
    /// The uid of the Cluster by the owner references; empty if they name none.
    pub(super) uid: &'a str,
    /// The owner in between if it is gone. Nothing else says which Cluster it was.
    pub(super) lost: Option<ObjectId>,
}

impl<'a> Membership<'a> {
    /// That of an object whose owner references name its Cluster.
    pub(super) fn of(named: Option<Live<'a>>, live: Live<'a>) -> Self {
        Self {
            named,
            uid: links::owner_uid(live, "Cluster"),
            lost: None,
        }
    }

    /// The Cluster that the object belongs to.
    pub(super) fn cluster(&self) -> Option<Live<'a>> {
        let is_it = |cluster: &Live<'_>| self.uid.is_empty() || cluster.uid() == self.uid;
        self.named.filter(|_| self.lost.is_none()).filter(is_it)
    }

    /// The same, if it was there when the deletion of `live` began: nobody who deleted `live` can have meant one that came
    /// later.
    pub(super) fn cluster_of_deletion(&self, live: Live<'_>) -> Option<Live<'a>> {
        self.cluster().filter(|cluster| !is_later(*cluster, live))
    }
}

/// Whether a Cluster was created after, or in the second in which, the deletion of an object began.
fn is_later(cluster: Live<'_>, live: Live<'_>) -> bool {
    let time = |object: Live<'_>, part: &str| -> Option<Timestamp> {
        object.text(&["metadata", part]).parse().ok()
    };
    let (created, deleted) = (
        time(cluster, "creationTimestamp"),
        time(live, "deletionTimestamp"),
    );
    created
        .zip(deleted)
        .is_some_and(|(created, deleted)| created >= deleted)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::api::kinds::CAPI;

    #[test]
    fn a_cluster_is_known_by_its_uid_and_by_when_it_came() {
        let cluster = json!({"kind": "Cluster", "metadata": {"uid": "u", "creationTimestamp": "2026-01-01T00:00:05Z"}});
        let owned = |uid: &str, deleted: &str| {
            json!({"metadata": {"deletionTimestamp": deleted,
                "ownerReferences": [{"apiVersion": format!("{CAPI}/v1beta2"), "kind": "Cluster", "uid": uid}]}})
        };
        for (uid, deleted, expected) in [
            ("u", "", (true, true)),
            ("u", "2026-01-01T00:00:06Z", (true, true)),
            ("u", "2026-01-01T00:00:05Z", (true, false)),
            ("u", "2026-01-01T00:00:04Z", (true, false)),
            ("other", "", (false, false)),
            ("", "", (true, true)),
        ] {
            let owned = owned(uid, deleted);
            let membership = Membership::of(Some(Live(&cluster)), Live(&owned));
            let found = (
                membership.cluster().is_some(),
                membership.cluster_of_deletion(Live(&owned)).is_some(),
            );
            assert_eq!(found, expected, "{uid} {deleted}");
            let lost = Some(ObjectId::new(CAPI, "MachinePool", "ns", "np1"));
            assert!(Membership { lost, ..membership }.cluster().is_none());
        }
    }
}
