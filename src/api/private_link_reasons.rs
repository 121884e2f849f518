//! The reasons of the conditions of private clusters.
//!
//! In: nothing. Out: a constant for each. Those that HyperShift's controllers give as well have its names. It does not know
//! when a reason is given.

/// The object does not name the hosted cluster of its namespace.
pub const INVALID_OBJECT: &str = "InvalidObject";
/// The hosted cluster does not exist.
pub const HOSTED_CLUSTER_NOT_FOUND: &str = "HostedClusterNotFound";
/// HyperShift has not given the cluster its ID yet.
pub const WAITING_FOR_CLUSTER_ID: &str = "WaitingForClusterID";
/// Nobody says where the management cluster is in Azure.
pub const MANAGEMENT_NOT_CONFIGURED: &str = "ManagementNotConfigured";
/// The cluster names another identity than that of the management side.
pub const IDENTITY_MISMATCH: &str = "IdentityMismatch";
/// The router has no address yet, or its load balancer is being looked for.
pub const WAITING_FOR_LOAD_BALANCER: &str = "WaitingForLoadBalancer";
/// No load balancer has the address of the router.
pub const ILB_NOT_FOUND: &str = "ILBNotFound";
/// Several load balancers have the address of the router.
pub const ILB_AMBIGUOUS: &str = "ILBAmbiguous";
/// Azure does not answer which load balancer has the address.
pub const ILB_LOOKUP_FAILED: &str = "ILBLookupFailed";
/// The subnet for the addresses of the service is being made.
pub const WAITING_FOR_NAT_SUBNET: &str = "WaitingForNATSubnet";
/// There is no subnet for the addresses of the service, or it may not be used.
pub const NAT_SUBNET_CREATION_FAILED: &str = "NATSubnetCreationFailed";
/// The Private Link Service is being made or changed.
pub const WAITING_FOR_SERVICE: &str = "WaitingForService";
/// Azure refuses the Private Link Service.
pub const PLS_CREATION_FAILED: &str = "PLSCreationFailed";
/// Azure refuses a change of the Private Link Service.
pub const PLS_UPDATE_FAILED: &str = "PLSUpdateFailed";
/// The Private Endpoint is being made, or has no address yet.
pub const WAITING_FOR_ENDPOINT: &str = "WaitingForEndpoint";
/// Azure refuses the Private Endpoint.
pub const PRIVATE_ENDPOINT_CREATION_FAILED: &str = "PrivateEndpointCreationFailed";
/// The Private Endpoint is deleted and made again.
pub const PRIVATE_ENDPOINT_REPLACED: &str = "PrivateEndpointReplaced";
/// The connection of the Private Endpoint is pending or rejected.
pub const PRIVATE_ENDPOINT_CONNECTION_NOT_APPROVED: &str = "PrivateEndpointConnectionNotApproved";
/// A zone, link or record is being made.
pub const WAITING_FOR_DNS: &str = "WaitingForDNS";
/// The zone is not shared safely yet.
pub const WAITING_FOR_NEIGHBOR: &str = "WaitingForNeighbor";
/// Another cluster has the names of this one.
pub const NAMES_TAKEN: &str = "NamesTaken";
/// A record cannot be made.
pub const A_RECORD_CREATION_FAILED: &str = "ARecordCreationFailed";
/// The zone of the external names cannot be made.
pub const BASE_DOMAIN_DNS_ZONE_CREATION_FAILED: &str = "BaseDomainDNSZoneCreationFailed";
/// Something is being deleted.
pub const DELETING: &str = "Deleting";
/// It is deleted.
pub const DELETED: &str = "Deleted";
