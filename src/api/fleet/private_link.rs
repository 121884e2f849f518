//! The management cluster's side of Azure Private Link.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::schema::patterns::{LABEL, PLAIN_RESOURCE_GROUP, SUBDOMAIN, UUID};

/// Settings for Azure Private Link to the API servers of private clusters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct PrivateLink {
    /// The management cluster's place in Azure, where the Private Link Services are made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub management: Option<Management>,
}

/// The management cluster's place in Azure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Management {
    /// Azure subscription of the management cluster.
    #[serde(rename = "subscriptionID")]
    #[schemars(regex(pattern = UUID))]
    pub subscription_id: String,
    /// The resource group of its load balancers, in which the Private Link Services are made.
    #[schemars(regex(pattern = PLAIN_RESOURCE_GROUP), length(min = 1, max = 90))]
    pub resource_group: String,
    /// The resource group of its virtual network; defaults to `resourceGroup`. Subnets for Private Link Services of networks elsewhere
    /// are errors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = PLAIN_RESOURCE_GROUP), length(min = 1, max = 90))]
    pub network_resource_group: Option<String>,
    /// The AzureClusterIdentity that makes the Private Link Services and their subnets.
    pub identity_ref: IdentityName,
}

impl Management {
    /// The resource group of the management cluster's virtual network.
    #[must_use]
    pub fn network_resource_group(&self) -> &str {
        let group = self.network_resource_group.as_ref();
        group.unwrap_or(&self.resource_group)
    }
}

/// An AzureClusterIdentity of the management cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IdentityName {
    /// Its name.
    #[schemars(regex(pattern = SUBDOMAIN), length(min = 1, max = 253))]
    pub name: String,
    /// Its namespace; defaults to the Fleet's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = LABEL), length(min = 1, max = 63))]
    pub namespace: Option<String>,
}
