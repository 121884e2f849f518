//! The parts of a cluster that choose its credential.
//!
//! In: a control plane and an AROCluster. Out: what the cluster uses of what they say: the control plane's before the
//! AROCluster's. It does not know whether any of it works.

use super::chosen::{identity, no};
use crate::api::conditions as c;
use crate::health::Live;
use crate::model::ObjectId;
use crate::reconcile::conditions::Typed;

/// The parts of a cluster that choose its credential.
#[derive(Clone, Copy)]
pub(in crate::reconcile) struct Parts<'a> {
    /// The control plane.
    pub(in crate::reconcile) plane: Option<Live<'a>>,
    /// The infrastructure.
    pub(in crate::reconcile) infrastructure: Option<Live<'a>>,
}

impl<'a> Parts<'a> {
    /// The identity of the cluster: the control plane's, or the infrastructure's if the control plane names none.
    pub(super) fn identity(self) -> Option<ObjectId> {
        let mut parts = [self.plane, self.infrastructure].into_iter().flatten();
        parts.find_map(identity)
    }

    /// The subscription, in the same way.
    pub(super) fn subscription(self) -> &'a str {
        let parts = [self.plane, self.infrastructure].into_iter().flatten();
        let mut named = parts.map(|part| part.text(&["spec", "subscriptionID"]));
        named.find(|named| !named.is_empty()).unwrap_or_default()
    }

    /// The cloud, which the control plane alone names.
    pub(super) fn environment(self) -> &'a str {
        let plane = self.plane;
        plane.map_or("", |plane| plane.text(&["spec", "azureEnvironment"]))
    }

    /// Whether this owner writes the Secret: the control plane, or the infrastructure as long as there is none.
    pub(super) fn is_writer(self, owner: Live<'_>) -> bool {
        let writer = self.plane.or(self.infrastructure);
        writer.is_some_and(|writer| writer.uid() == owner.uid())
    }

    /// Refuses an infrastructure in another subscription than its control plane: nobody knows which of the two is meant.
    pub(super) fn agree(self) -> Result<(), Typed> {
        let (Some(plane), Some(infrastructure)) = (self.plane, self.infrastructure) else {
            return Ok(());
        };
        let [whole, part] =
            [plane, infrastructure].map(|part| part.text(&["spec", "subscriptionID"]));
        if part.is_empty() || whole.is_empty() || part.eq_ignore_ascii_case(whole) {
            return Ok(());
        }
        let names = (infrastructure.name(), plane.name());
        let message = c::subscriptions_differ(names, (part, whole));
        no(c::SUBSCRIPTIONS_DIFFER, message)
    }

    /// What the infrastructure names and the control plane overrides.
    pub(super) fn overridden(self) -> Option<String> {
        let plane = self.plane?;
        let used = identity(plane)?;
        let named = identity(self.infrastructure?)?;
        (named != used).then(|| c::identity_overridden(&named, plane.name(), &used))
    }
}
