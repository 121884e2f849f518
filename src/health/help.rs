//! What usually helps against a cause of not being ready.
//!
//! In: a health that is not ready. Out: one line, where the cause is a frequent one. Sources:
//! facts/aro-rules.md §1.3–§1.5 and §4.3, facts/aro-controllers.md §3, §5 and §8. It does not know:
//! how long anything has lasted, what waits for whom.

use crate::api::{aso, conditions as c};
use crate::model::Health;

/// A frequent cause of not being ready.
#[derive(Debug)]
pub struct Cause {
    /// The reasons that name it; empty where its message does.
    pub reasons: &'static [&'static str],
    /// A part of its message; empty where its reason names it.
    pub says: &'static str,
    /// What usually helps.
    pub help: &'static str,
}

const fn reason(reasons: &'static [&'static str], help: &'static str) -> Cause {
    Cause {
        reasons,
        says: "",
        help,
    }
}

const fn message(says: &'static str, help: &'static str) -> Cause {
    Cause {
        reasons: &[],
        says,
        help,
    }
}

/// The first that fits is told: what a message says is more exact than its reason.
const CAUSES: &[Cause] = &[
    message(
        aso::IN_STATE_ERROR,
        "it failed to come up and Azure takes no change of it: mend what made it fail (mostly a missing role assignment), then delete the HcpOpenShiftCluster; its controller makes it anew",
    ),
    message(
        "lacks required actions",
        "a role assignment is missing, or was not yet known in all of Azure when the cluster was made: mend it, then delete the HcpOpenShiftCluster; its controller makes it anew",
    ),
    reason(
        &[aso::MULTIPLE_ERRORS_OCCURRED],
        "Azure refused several values at once, and which ones is not passed on: run `capstan validate`, or look at the operation in Azure's activity log, then correct the definition; waiting does not help",
    ),
    reason(
        &[
            "AuthorizationFailed",
            "LinkedAuthorizationFailed",
            "MissingRequiredPermissions",
        ],
        "grant the identity that Azure Service Operator uses Owner, or Contributor with User Access Administrator, on the scope that the message names; it tries again by itself",
    ),
    reason(
        &["PrincipalNotFound", "ManagedIdentitiesNotFound"],
        "a new identity takes minutes to be known in all of Azure, and it is tried again; if it stays, set principalType: ServicePrincipal, or see whether the identity was deleted in Azure",
    ),
    reason(
        &["WaitingForRoleAssignments"],
        "nothing to do: new role assignments take about two minutes to be known in all of Azure",
    ),
    reason(
        &[
            "QuotaExceeded",
            "ResourceQuotaExceeded",
            "InsufficientVMQuota",
        ],
        "ask Azure for more quota in this region, or take another VM size or fewer nodes; it is tried again",
    ),
    message(
        "exceeding approved",
        "ask Azure for more quota in this region, or take another VM size or fewer nodes; it is tried again",
    ),
    reason(
        &[
            "SkuNotAvailable",
            "AllocationFailed",
            "RegionIsOfferRestricted",
            "InvalidResourceGroupLocation",
        ],
        "Azure has none of this size here for this subscription: take another VM size or region",
    ),
    reason(
        &["RequestDisallowedByPolicy"],
        "an Azure Policy forbids it: follow the policy that the message names (often a tag or a region), or ask for an exemption",
    ),
    reason(
        &["ScopeLocked"],
        "somebody locked the scope in Azure: remove the lock, or have it removed",
    ),
    reason(
        &[
            "MissingSubscriptionRegistration",
            "SubscriptionNotRegistered",
            "NoRegisteredProviderFound",
            "InvalidSubscriptionRegistrationState",
            "ResourceProvidersNotRegistered",
        ],
        "register the resource provider that the message names: az provider register --namespace NAME",
    ),
    reason(
        &["SubscriptionMismatch"],
        "the credential belongs to another subscription than the resource: correct the Secret, or which one is named by credential-from",
    ),
    reason(
        &["SubscriptionNotFound"],
        "the subscription does not exist, or the credential may not see it: correct its id, or the credential's role",
    ),
    reason(
        &[
            "ResourceGroupNotFound",
            "ParentResourceNotFound",
            "ResourceNotFound",
            "InvalidResourceReference",
        ],
        "something that it stands on is not in Azure, perhaps deleted by hand: see whether what the message names is there; it is tried again",
    ),
    reason(
        &[aso::SECRET_NOT_FOUND],
        "make the Secret and key that the message names, or correct the name where it is used",
    ),
    reason(
        &[aso::CONFIG_MAP_NOT_FOUND],
        "mostly an identity writes this ConfigMap once it is ready; if the identity is ready, somebody deleted it",
    ),
    reason(
        &[aso::WAITING_FOR_OWNER, aso::REFERENCE_NOT_FOUND],
        "see whether what the message names is there and ready, and whether its name is right",
    ),
    reason(
        &[aso::AZURE_RESOURCE_NOT_FOUND],
        "it may only be looked at (reconcile-policy: skip) and is not in Azure: make it there, or let it be managed",
    ),
    reason(
        &[aso::RECONCILIATION_BLOCKED, aso::RECONCILIATION_POSTPONED],
        "mostly nothing to do: Azure is still at something else with it, such as an earlier deletion",
    ),
    reason(
        &["Conflict", "AnotherOperationInProgress"],
        "mostly nothing to do: Azure is still at another operation of it, and it is tried again",
    ),
    reason(
        &["PropertyChangeNotAllowed"],
        "Azure cannot change this value of what exists: put it back, or add the cluster under a new name and remove the old one",
    ),
    reason(
        &[c::NAMESPACE_NOT_ALLOWED_BY_IDENTITY],
        "add the namespace to spec.allowedNamespaces of the AzureClusterIdentity, or use an identity that allows it",
    ),
    message(
        "allowed namespaces",
        "add the namespace to spec.allowedNamespaces of the AzureClusterIdentity, or use an identity that allows it",
    ),
    reason(
        &[c::ACTIVE_KEY_MISSING, c::KEY_VERSION_MISSING],
        "give the definition an identityRef, which makes the key, or make the key and name its version in etcd.encryption.keyVersion",
    ),
    reason(
        &[c::WAITING_FOR_VAULT],
        "see whether the Vault is ready, and whether kms.vaultName is its name in Azure",
    ),
    reason(
        &[c::CREATING_KEY],
        "the identity of identityRef must exist, be allowed in this namespace, and may make keys in the vault (Microsoft.KeyVault/vaults/keys/write)",
    ),
    reason(
        &[c::WAITING_FOR_NODE_POOL],
        "nothing to do: external authentication is made once a node pool is ready",
    ),
    reason(
        &["KubeconfigAwaited"],
        "mostly nothing to do: Azure Service Operator writes the kubeconfig within five minutes of the cluster's being ready",
    ),
    reason(
        &["NodesNotReady"],
        "if it stays: see whether the node pool in Azure has its machines (quota), and whether they reach the control plane (network)",
    ),
    reason(
        &["Terminating"],
        "nothing can be made in a namespace that is being deleted: wait until it is gone, or see what holds it (its status names it)",
    ),
    reason(
        &["LatestGenerationNotObserved", "NotObserved"],
        "its controller has said nothing of it yet: if it stays, see whether the controller runs (capz-system for Azure, capi-system for Cluster API) and serves this kind",
    ),
    reason(
        &["DeletionNotSupportedInAzure"],
        "Azure does not delete it while its parent is there: delete the parent, or detach it (reconcile-policy: detach-on-delete)",
    ),
];

/// Told of failures that are tried again, and of none that are listed above.
const REFUSED: &str = "Azure refused a value, and nothing is tried before the spec changes: correct it in the definition and push";

/// All frequent causes, in the order in which they are looked up.
#[must_use]
pub fn causes() -> &'static [Cause] {
    CAUSES
}

/// What usually helps; none for what is not frequent.
#[must_use]
pub fn help(health: &Health) -> Option<&'static str> {
    let fits = |cause: &&Cause| match cause.says {
        "" => cause.reasons.contains(&health.reason.as_str()),
        says => health.message.contains(says),
    };
    let listed = CAUSES.iter().find(fits).map(|cause| cause.help);
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
    fn frequent_causes_are_known_and_others_are_not() {
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
        for cause in CAUSES {
            assert_eq!(cause.says.is_empty(), !cause.reasons.is_empty());
            for reason in cause.reasons {
                assert!(!seen.contains(reason), "{reason} stands twice");
                seen.push(*reason);
            }
        }
    }
}
