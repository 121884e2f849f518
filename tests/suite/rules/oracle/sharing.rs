//! What no two may share, of clusters and external auths that are written by hand and name things by their
//! ids in Azure, in letters of another case than the first.

use super::super::fixture::{by_hand, found, marked};

/// A cluster of its own resource group, without identities, which uses these.
fn cluster(group: &str, subnet: &str, security_group: &str) -> String {
    format!(
        "\
apiVersion: redhatopenshift.azure.com/v1api20260630preview
kind: HcpOpenShiftCluster
metadata: {{name: two, namespace: clusters}}
spec:
  azureName: two
  location: uksouth
  owner: {{armId: /subscriptions/{SUBSCRIPTION}/resourceGroups/two-resgroup}}
  identity: {{type: UserAssigned}}
  properties:
    version: {{id: \"4.20\"}}
    etcd:
      dataEncryption:
        keyManagementMode: CustomerManaged
        customerManaged:
          encryptionType: KMS
          kms: {{vaultName: kv1, visibility: Public, activeKey: {{name: k, version: x}}}}
    platform:
      managedResourceGroup: {group}
      subnetReference:
        armId: {subnet}
      vnetIntegrationSubnetReference:
        armId: {VNET}/subnets/of-two
      networkSecurityGroupReference:
        armId: {security_group}
      operatorsAuthentication: {{}} # C38, C54, C55
"
    )
}

const SUBSCRIPTION: &str = "3F0C7D3E-52A4-4B6B-9A51-2F1F0D9C7A10";
const VNET: &str = "/SUBSCRIPTIONS/3F0C7D3E-52A4-4B6B-9A51-2F1F0D9C7A10/RESOURCEGROUPS/ONE-RESGROUP/PROVIDERS/MICROSOFT.NETWORK/VIRTUALNETWORKS/ONE-VNET-074A45";

/// What is found in `text` beside the fleet by hand is what is marked in it.
fn hold(text: &str) {
    assert_eq!(found(&by_hand(), text, ""), marked(text), "{text}");
}

#[test]
fn clusters_share_nothing() {
    let group = VNET.replace("VIRTUALNETWORKS/ONE-VNET", "NETWORKSECURITYGROUPS/ONE-NSG");
    let shared = cluster(
        "CAPZ_node_ONE_one-resgroup_rg # C27",
        &format!("{VNET}/SUBNETS/ONE-SUBNET-074A45 # C28"),
        &format!("{group} # C29"),
    );
    hold(&shared);
    let own = cluster(
        "capz_node_two",
        &format!("{VNET}/subnets/two"),
        &group.replace("ONE-NSG", "two-nsg"),
    );
    hold(&own);
}

#[test]
fn parts_know_their_cluster_by_its_id() {
    let owner = format!(
        "/SUBSCRIPTIONS/{SUBSCRIPTION}/resourceGroups/ONE-resgroup/providers/Microsoft.RedHatOpenShift/hcpOpenShiftClusters/ONE"
    );
    let auth = format!(
        "\
apiVersion: redhatopenshift.azure.com/v1api20260630preview
kind: HcpOpenShiftClustersExternalAuth
metadata:
  name: second # E02
  namespace: clusters
spec:
  owner: {{armId: {owner}}}
  properties:
    issuer: {{url: https://login.example.com, audiences: [app]}}
    claim: {{mappings: {{username: {{claim: email}}}}}}
"
    );
    let pool = format!(
        "\
---
apiVersion: redhatopenshift.azure.com/v1api20260630preview
kind: HcpOpenShiftClustersNodePool
metadata: {{name: mp2, namespace: clusters}}
spec:
  owner: {{armId: {owner}}}
  location: westeurope # N01
  properties:
    version:
      id: 4.23.1 # N08
    replicas: 499 # N25
    platform: {{vmSize: Standard_D4s_v3, availabilityZone: \"1\"}}
"
    );
    hold(&(auth + &pool));
}
