//! What usually helps when an object is not ready.
//!
//! In: a health that is not ready. Out: one line of help, if the cause is a common one. Sources:
//! facts/aro-rules.md §1.3–§1.5 and §4.3, facts/aro-controllers.md §3, §5 and §8. It does not know
//! how long something has lasted or which objects wait for it.

use std::slice;

use super::cause::{Cause, message, reason};
use super::private_link;
use crate::api::aso;
use crate::api::conditions::{LAST_NODE_POOL_HELP, REASONS};
use crate::model::Health;

/// Causes in Azure, in Azure Service Operator and in Cluster API. The first match wins: a message is more exact than a
/// reason.
const CAUSES: &[Cause] = &[
    message(
        aso::IN_STATE_ERROR,
        "the cluster failed to provision, and Azure accepts no changes to it: fix the cause (usually a missing role assignment), then let Capstan recreate the cluster, as the condition HcpClusterReady of the AROControlPlane describes, or delete the HcpOpenShiftCluster; its controller creates it again",
    ),
    message(aso::LAST_NODE_POOL, LAST_NODE_POOL_HELP),
    message(
        "lacks required actions",
        "a role assignment is missing, or had not yet propagated when the cluster was created: add it if it is missing, then delete the HcpOpenShiftCluster; its controller creates it again",
    ),
    message(
        "the Cluster is paused",
        "to end the pause, set spec.paused of the Cluster to false; if a file sets it, in that file",
    ),
    message(
        "writes once it is corrected",
        "correct the AROControlPlane as the message says",
    ),
    reason(
        &[aso::MULTIPLE_ERRORS_OCCURRED],
        "Azure rejected several values and does not report which ones: find the operation in Azure's activity log, or run `capstan validate` on the manifests, then correct them; waiting does not help",
    ),
    reason(
        &[
            "AuthorizationFailed",
            "LinkedAuthorizationFailed",
            "MissingRequiredPermissions",
        ],
        "grant the identity of Azure Service Operator the role Owner, or Contributor and User Access Administrator, on the scope in the message; Azure Service Operator retries by itself",
    ),
    reason(
        &["PrincipalNotFound", "ManagedIdentitiesNotFound"],
        "a new identity takes minutes to propagate in Azure, and the request is retried; if the error persists, set principalType: ServicePrincipal, or check whether the identity was deleted in Azure",
    ),
    reason(
        &[
            "QuotaExceeded",
            "ResourceQuotaExceeded",
            "InsufficientVMQuota",
        ],
        "request more quota for this region, or use another VM size or fewer nodes; the request is retried",
    ),
    message(
        "exceeding approved",
        "request more quota for this region, or use another VM size or fewer nodes; the request is retried",
    ),
    reason(
        &[
            "SkuNotAvailable",
            "AllocationFailed",
            "RegionIsOfferRestricted",
            "InvalidResourceGroupLocation",
        ],
        "this VM size is not available to the subscription in this region: use another VM size or region",
    ),
    reason(
        &["RequestDisallowedByPolicy"],
        "an Azure Policy denies the request: comply with the policy in the message (often about a tag or a region), or ask for an exemption",
    ),
    reason(
        &["ScopeLocked"],
        "the scope is locked in Azure: remove the lock, or ask its owner to remove it",
    ),
    reason(
        &[
            "MissingSubscriptionRegistration",
            "SubscriptionNotRegistered",
            "NoRegisteredProviderFound",
            "InvalidSubscriptionRegistrationState",
            "ResourceProvidersNotRegistered",
        ],
        "register the resource provider in the message: az provider register --namespace NAME",
    ),
    reason(
        &["SubscriptionMismatch"],
        "the credential is for another subscription than the resource: correct the Secret, or the name of the Secret in the annotation serviceoperator.azure.com/credential-from",
    ),
    reason(
        &["SubscriptionNotFound"],
        "the subscription does not exist, or the credential has no access to it: correct its ID, or grant the credential a role on it",
    ),
    reason(
        &[
            "ResourceGroupNotFound",
            "ParentResourceNotFound",
            "ResourceNotFound",
            "InvalidResourceReference",
        ],
        "a resource that this one needs is not in Azure, perhaps because somebody deleted it: check whether the resource in the message exists; the request is retried",
    ),
    reason(
        &[aso::SECRET_NOT_FOUND],
        "create the Secret and key in the message, or correct the name where it is used",
    ),
    reason(
        &[aso::CONFIG_MAP_NOT_FOUND],
        "usually an identity writes this ConfigMap when it becomes ready; if the identity is ready, somebody deleted the ConfigMap",
    ),
    reason(
        &[aso::WAITING_FOR_OWNER, aso::REFERENCE_NOT_FOUND],
        "check that the object in the message exists and is ready, and that its name is correct",
    ),
    reason(
        &[aso::AZURE_RESOURCE_NOT_FOUND],
        "Azure Service Operator may only read this resource (reconcile-policy: skip), and it is not in Azure: create it there, or use reconcile-policy: manage",
    ),
    reason(
        &[aso::RECONCILIATION_BLOCKED, aso::RECONCILIATION_POSTPONED],
        "usually nothing to do: another operation on this resource, such as an earlier deletion, is still running in Azure",
    ),
    reason(
        &["Conflict", "AnotherOperationInProgress"],
        "usually nothing to do: another operation on this resource is still running in Azure, and the request is retried",
    ),
    reason(
        &["PropertyChangeNotAllowed"],
        "Azure cannot change this value of an existing resource: revert the change, or add the cluster under a new name and remove the old one",
    ),
    message(
        "allowed namespaces",
        "add the namespace to spec.allowedNamespaces of the AzureClusterIdentity, or use an identity that allows it",
    ),
    reason(
        &["NodesNotReady"],
        "if this persists: check that the node pool has its machines in Azure (quota), and that they reach the control plane (network)",
    ),
    reason(
        &["Terminating"],
        "nothing can be created in a namespace that is being deleted: wait until it is gone, or see its status for what blocks its deletion",
    ),
    reason(
        &["LatestGenerationNotObserved", "NotObserved"],
        "its controller has not reported a status yet: if this persists, check that its controller runs: Capstan or CAPZ for the ARO kinds, Azure Service Operator for Azure resources, Cluster API for Cluster and MachinePool",
    ),
    reason(
        &["DeletionNotSupportedInAzure"],
        "Azure cannot delete this resource while its parent exists: delete the parent, or set reconcile-policy: detach-on-delete",
    ),
];

/// Help for every failure that is not listed above and that Azure Service Operator does not retry.
const REFUSED: &str = "Azure rejected a value, and nothing is retried until the spec changes: correct it in the definition, or in spec.resources of the object that has it";

/// All common causes, in the order in which they are looked up; the reasons of our own controllers are the last.
pub fn causes() -> impl Iterator<Item = Cause> {
    let ours = REASONS.iter().filter(|reason| !reason.help.is_empty());
    let ours = ours.map(|row| reason(slice::from_ref(&row.name), row.help));
    let links = private_link::CAUSES.iter();
    CAUSES.iter().chain(links).copied().chain(ours)
}

/// What usually helps; `None` if the cause is not a common one.
#[must_use]
pub fn help(health: &Health) -> Option<&'static str> {
    let fits = |cause: &Cause| match cause.contains {
        "" => cause.reasons.contains(&health.reason.as_str()),
        contains => health.message.contains(contains),
    };
    let listed = causes().find(fits).map(|cause| cause.help);
    listed.or_else(|| (aso::severity(&health.reason) == aso::ERROR).then_some(REFUSED))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::HealthState;

    fn helped(reason: &str, message: &str) -> &'static str {
        let health = Health::new(HealthState::Progressing, reason, message);
        help(&health).unwrap_or_default()
    }

    #[test]
    fn a_message_is_more_exact_than_its_reason() {
        let broken = "Cluster 'x' is in state 'error', can't update";
        assert!(helped("InvalidRequestContent", broken).contains("delete the HcpOpenShiftCluster"));
        assert_eq!(helped("InvalidRequestContent", "no"), REFUSED);
        let inflight = "service managed identity lacks required actions over one";
        assert!(helped("InternalServerError", inflight).contains("role assignment"));
    }

    #[test]
    fn common_causes_have_help_and_others_do_not() {
        for (reason, word) in [
            ("ResourceQuotaExceeded", "quota"),
            ("AuthorizationFailed", "Owner"),
            ("MultipleErrorsOccurred", "capstan validate"),
            ("PrivateIPAddressInUse", "correct it"),
            ("SecretNotFound", "Secret"),
            ("NamespaceNotAllowedByIdentity", "allowedNamespaces"),
            ("KeyVersionMissing", "identityRef"),
        ] {
            assert!(helped(reason, "").contains(word), "{reason}");
        }
        assert_eq!(helped("SomethingNew", "hello"), "");
        assert_eq!(helped("", ""), "");
    }

    #[test]
    fn no_cause_hides_another() {
        let mut seen = Vec::new();
        for cause in causes() {
            assert_eq!(cause.contains.is_empty(), !cause.reasons.is_empty());
            for reason in cause.reasons {
                assert!(!seen.contains(reason), "{reason} is listed twice");
                seen.push(*reason);
            }
        }
    }
}
