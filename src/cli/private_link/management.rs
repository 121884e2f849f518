//! The management side of private clusters in a Fleet document.
//!
//! In: the document's words. Out: the place as the platform controller takes it. It does not know flags.

use crate::api::fleet;
use crate::api::kinds::INFRASTRUCTURE;
use crate::model::ObjectId;
use crate::reconcile::private_link::Management;

/// The management side as a Fleet of this namespace describes it.
pub(super) fn management_of(of: &fleet::Management, namespace: &str) -> Management {
    let identity = &of.identity_ref;
    let namespace = identity.namespace.as_deref().unwrap_or(namespace);
    Management {
        subscription: of.subscription_id.clone(),
        resource_group: of.resource_group.clone(),
        network_resource_group: of.network_resource_group().to_owned(),
        identity: ObjectId::new(
            INFRASTRUCTURE,
            "AzureClusterIdentity",
            namespace,
            identity.name.as_str(),
        ),
    }
}
