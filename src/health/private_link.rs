//! What usually helps when a private hosted cluster on Azure is not connected.
//!
//! In: nothing. Out: causes by their reasons, as the controllers of private clusters give them. It does not know the objects.

use super::cause::{Cause, reason};
use crate::api::private_link_reasons as r;

/// The reasons for which somebody has to change something.
pub(super) const FAILING: &[&str] = &[
    r::INVALID_OBJECT,
    r::HOSTED_CLUSTER_NOT_FOUND,
    r::MANAGEMENT_NOT_CONFIGURED,
    r::IDENTITY_MISMATCH,
    "IdentityNotFound",
    "IdentityNotWatched",
    "NamespaceNotAllowedByIdentity",
    "CredentialSecretFailed",
    "CredentialsRefused",
    "CredentialsInvalid",
    "CredentialsNotFound",
    r::ILB_NOT_FOUND,
    r::ILB_AMBIGUOUS,
    r::ILB_LOOKUP_FAILED,
    r::NAT_SUBNET_CREATION_FAILED,
    r::PLS_CREATION_FAILED,
    r::PLS_UPDATE_FAILED,
    r::PRIVATE_ENDPOINT_CREATION_FAILED,
    r::PRIVATE_ENDPOINT_CONNECTION_NOT_APPROVED,
    "DNSZoneCreationFailed",
    "VNetLinkCreationFailed",
    r::A_RECORD_CREATION_FAILED,
    r::BASE_DOMAIN_DNS_ZONE_CREATION_FAILED,
    "BaseDomainVNetLinkCreationFailed",
    "BaseDomainARecordCreationFailed",
    r::NAMES_TAKEN,
    // As HyperShift's own controllers report all of these.
    "AzureError",
];

/// The causes, in the order in which the parts of a connection are made.
pub(super) const CAUSES: &[Cause] = &[
    reason(
        &[
            r::ILB_NOT_FOUND,
            r::ILB_LOOKUP_FAILED,
            r::WAITING_FOR_LOAD_BALANCER,
        ],
        "check that the Service private-router in the namespace of the control plane has the address of an internal load balancer (the events of the Service show what Azure's cloud provider says), and that the load balancer is in the resource group that spec.privateLink.management.resourceGroup names",
    ),
    reason(
        &[r::ILB_AMBIGUOUS],
        "several load balancers have this address in one network: delete those that are left over",
    ),
    reason(
        &[r::NAT_SUBNET_CREATION_FAILED],
        "the subnet must be in the virtual network of the management cluster, in the resource group that spec.privateLink.management names, with privateLinkServiceNetworkPolicies Disabled, and be used for nothing else",
    ),
    reason(
        &[r::PLS_CREATION_FAILED, r::PLS_UPDATE_FAILED],
        "check that the identity of the management side has the role Network Contributor on the management resource groups and that its federated credential names the service account, and that privateLinkServiceNetworkPolicies of the NAT subnet is Disabled: with a wrong subnet the Private Link Service must be deleted and made again",
    ),
    reason(
        &[r::PRIVATE_ENDPOINT_CREATION_FAILED],
        "check that the identity of the cluster may create Private Endpoints in the resource group of the cluster and join its subnet, and that no policy of the subnet denies it",
    ),
    reason(
        &[r::PRIVATE_ENDPOINT_CONNECTION_NOT_APPROVED],
        "approve the connection of the Private Endpoint in Azure, or add the subscription of the cluster to the allowed ones; one that was rejected is made again once it is 10 minutes old",
    ),
    reason(
        &[
            "DNSZoneCreationFailed",
            r::A_RECORD_CREATION_FAILED,
            r::BASE_DOMAIN_DNS_ZONE_CREATION_FAILED,
            "BaseDomainARecordCreationFailed",
        ],
        "check that the identity of the cluster may create private DNS zones and records in the resource group of the cluster, and that a zone of this name which is there already is Capstan's",
    ),
    reason(
        &["VNetLinkCreationFailed", "BaseDomainVNetLinkCreationFailed"],
        "a virtual network is linked to one zone of a name: put clusters of one network and domain into one resource group, or unlink the other zone",
    ),
    reason(
        &["PrivateLinkNotConnected"],
        "run the controllers of private clusters (spec.privateLink.management of the Fleet, or capstan controllers --only), or HyperShift's own (--private-platform=Azure)",
    ),
];
