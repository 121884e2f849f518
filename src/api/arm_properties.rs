//! The fields of Azure's API below `spec.properties` of the ARO HCP kinds, in all of its versions.
//!
//! In: a kind. Out: the schema of its properties. It does not know which values are allowed or which
//! version has which field: [`ArmVersion`](super::arm_version::ArmVersion) does. Source:
//! facts/aro-rules.md §2.2 to §2.4, and the CRDs themselves.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde_json::Value as Json;

use super::document::compiled;
use super::fields;
use kube_schema::Schema;

/// Kind, type, fields, as [`fields`] expects them.
const FIELDS: &[(&str, &str, &str)] = &[
    (
        "HcpOpenShiftCluster",
        "string",
        "api.authorizedCidrs[] api.visibility clusterImageRegistry.state cryptoRestrictions
         dns.baseDomainPrefix etcd.dataEncryption.keyManagementMode
         etcd.dataEncryption.customerManaged.encryptionType
         etcd.dataEncryption.customerManaged.kms.activeKey.name
         etcd.dataEncryption.customerManaged.kms.activeKey.vaultName
         etcd.dataEncryption.customerManaged.kms.activeKey.version
         etcd.dataEncryption.customerManaged.kms.vaultName
         etcd.dataEncryption.customerManaged.kms.visibility
         imageDigestMirrors[].mirrors[] imageDigestMirrors[].source ingress.type
         network.machineCidr network.networkType network.podCidr network.serviceCidr
         platform.managedResourceGroup platform.outboundType version.channelGroup version.id",
    ),
    (
        "HcpOpenShiftCluster",
        "integer",
        "autoscaling.maxNodeProvisionTimeSeconds autoscaling.maxNodesTotal
         autoscaling.maxPodGracePeriodSeconds autoscaling.podPriorityThreshold network.hostPrefix
         nodeDrainTimeoutMinutes",
    ),
    (
        "HcpOpenShiftCluster",
        "reference",
        "platform.networkSecurityGroupReference platform.subnetReference
         platform.vnetIntegrationSubnetReference
         platform.operatorsAuthentication.userAssignedIdentities.controlPlaneOperatorsReferences{}
         platform.operatorsAuthentication.userAssignedIdentities.dataPlaneOperatorsReferences{}
         platform.operatorsAuthentication.userAssignedIdentities.serviceManagedIdentityReference",
    ),
    (
        "HcpOpenShiftClustersNodePool",
        "string",
        "labels[].key labels[].value platform.availabilityZone
         platform.osDisk.diskStorageAccountType platform.osDisk.diskType platform.vmSize
         taints[].effect taints[].key taints[].value version.channelGroup version.id",
    ),
    (
        "HcpOpenShiftClustersNodePool",
        "integer",
        "autoScaling.max autoScaling.min nodeDrainTimeoutMinutes platform.osDisk.sizeGiB replicas",
    ),
    (
        "HcpOpenShiftClustersNodePool",
        "boolean",
        "autoRepair platform.enableEncryptionAtHost",
    ),
    (
        "HcpOpenShiftClustersNodePool",
        "reference",
        "platform.osDisk.encryptionSetReference platform.subnetReference",
    ),
    (
        "HcpOpenShiftClustersExternalAuth",
        "string",
        "claim.mappings.groups.claim claim.mappings.groups.prefix claim.mappings.username.claim
         claim.mappings.username.prefix claim.mappings.username.prefixPolicy
         claim.validationRules[].requiredClaim.claim
         claim.validationRules[].requiredClaim.requiredValue claim.validationRules[].type
         clients[].clientId clients[].component.authClientNamespace clients[].component.name
         clients[].extraScopes[] clients[].type issuer.audiences[] issuer.ca issuer.url",
    ),
];

/// The schema of `spec.properties` of a kind; `None` for kinds other than those of ARO HCP.
#[must_use]
pub fn schema(kind: &str) -> Option<&'static Schema> {
    static SCHEMAS: OnceLock<BTreeMap<&str, Schema>> = OnceLock::new();
    let schemas = SCHEMAS.get_or_init(|| {
        let kinds = FIELDS.iter().map(|(kind, ..)| *kind);
        kinds.map(|kind| (kind, compiled(&json(kind)))).collect()
    });
    schemas.get(kind)
}

/// The same as a JSON schema, which has no fields for other kinds.
#[must_use]
pub fn json(kind: &str) -> Json {
    let lines = FIELDS.iter().filter(|(of, ..)| *of == kind);
    fields::schema(lines.map(|(_, of, fields)| (*of, *fields)))
}
