//! Small clusters as people apply them: six resources of infrastructure, an HCP cluster with external authentication,
//! and node pools.

use serde_json::{Value as Json, json};

/// The namespace of all of it.
pub(in crate::cluster) const NAMESPACE: &str = "aro";
/// The version of Red Hat OpenShift's kinds in ASO.
pub(super) const HCP_VERSION: &str = "redhatopenshift.azure.com/v1api20251223preview";
const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io";
const CONTROL_PLANE: &str = "controlplane.cluster.x-k8s.io";
const CAPI: &str = "cluster.x-k8s.io";

/// The numbers of a cluster that change in its life.
#[derive(Clone, Debug)]
pub(in crate::cluster) struct Cluster {
    pub(super) name: String,
    /// The version of Red Hat OpenShift's kinds in ASO.
    pub(super) api: String,
    /// The version of OpenShift.
    pub(super) version: String,
    /// The node pools: name, replicas.
    pub(super) pools: Vec<(String, u32)>,
}

impl Cluster {
    /// One with a node pool.
    pub(in crate::cluster) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            api: HCP_VERSION.to_owned(),
            version: "4.20".to_owned(),
            pools: vec![(format!("{name}-mp1"), 2)],
        }
    }

    /// Everything that a person applies.
    pub(in crate::cluster) fn objects(&self) -> Vec<Json> {
        let mut objects = vec![
            self.infrastructure(),
            self.control_plane(),
            self.top("Cluster", &self.name, &self.cluster()),
        ];
        for (name, replicas) in &self.pools {
            objects.extend(self.pool(name, *replicas));
        }
        objects
    }

    fn top(&self, kind: &str, name: &str, spec: &Json) -> Json {
        let group = match kind {
            "Cluster" | "MachinePool" => CAPI,
            "AROControlPlane" => CONTROL_PLANE,
            _ => INFRASTRUCTURE,
        };
        json!({"apiVersion": format!("{group}/v1beta2"), "kind": kind, "spec": spec,
            "metadata": {"name": name, "namespace": NAMESPACE, "labels": {"cluster.x-k8s.io/cluster-name": self.name}}})
    }

    fn cluster(&self) -> Json {
        let reference =
            |group: &str, kind: &str| json!({"apiGroup": group, "kind": kind, "name": self.name});
        json!({
            "infrastructureRef": reference(INFRASTRUCTURE, "AROCluster"),
            "controlPlaneRef": reference(CONTROL_PLANE, "AROControlPlane"),
        })
    }

    /// The AROCluster.
    pub(super) fn infrastructure(&self) -> Json {
        let of = |part: &str| format!("{}-{part}", self.name);
        let group = json!({"name": of("rg")});
        let located = |more: Json| {
            let mut spec = json!({"location": "uksouth", "owner": group});
            spec.as_object_mut()
                .expect("a map")
                .extend(more.as_object().expect("a map").clone());
            spec
        };
        let vault = json!({"group": "keyvault.azure.com", "kind": "Vault", "name": of("kv")});
        let id = json!({"name": of("map"), "key": "principalId"});
        let resources = json!([
            embedded(
                "resources.azure.com/v1api20200601",
                "ResourceGroup",
                &of("rg"),
                &json!({"location": "uksouth"})
            ),
            embedded(
                "network.azure.com/v1api20201101",
                "VirtualNetwork",
                &of("vnet"),
                &located(json!({"addressSpace": {"addressPrefixes": ["10.0.0.0/16"]}}))
            ),
            embedded(
                "network.azure.com/v1api20201101",
                "VirtualNetworksSubnet",
                &of("subnet"),
                &json!({"addressPrefix": "10.0.0.0/24", "owner": {"name": of("vnet")}})
            ),
            embedded(
                "keyvault.azure.com/v1api20230701",
                "Vault",
                &of("kv"),
                &located(json!({"azureName": of("kv")}))
            ),
            embedded(
                "managedidentity.azure.com/v1api20230131",
                "UserAssignedIdentity",
                &of("kms"),
                &located(json!({"operatorSpec": {"configMaps": {"principalId": id}}}))
            ),
            embedded(
                "authorization.azure.com/v1api20220401",
                "RoleAssignment",
                &of("kms-kv"),
                &json!({"owner": vault, "principalIdFromConfig": id})
            ),
        ]);
        self.top("AROCluster", &self.name, &json!({"resources": resources}))
    }

    /// The AROControlPlane.
    pub(super) fn control_plane(&self) -> Json {
        let vault = format!("{}-kv", self.name);
        let kms =
            json!({"vaultName": vault, "visibility": "Public", "activeKey": {"name": "etcd"}});
        let properties = json!({"version": {"id": self.version},
            "etcd": {"dataEncryption": {"customerManaged": {"kms": kms}}}});
        let group = json!({"name": format!("{}-rg", self.name)});
        let hcp = json!({"owner": group, "location": "uksouth", "properties": properties});
        let auth = json!({"owner": {"name": self.name}, "azureName": "ea"});
        let spec = json!({
            "subscriptionID": "3f0c7d3e-52a4-4b6b-9a51-2f1f0d9c7a10",
            "identityRef": {"name": "cluster-identity"},
            "resources": [
                embedded(&self.api, "HcpOpenShiftCluster", &self.name, &hcp),
                embedded(&self.api, "HcpOpenShiftClustersExternalAuth", &format!("{}-ea", self.name), &auth),
            ],
        });
        self.top("AROControlPlane", &self.name, &spec)
    }

    /// A MachinePool and its AROMachinePool.
    fn pool(&self, name: &str, replicas: u32) -> [Json; 2] {
        let node_pool = json!({"location": "uksouth", "properties": {"replicas": replicas,
            "version": {"id": format!("{}.1", self.version)}}});
        let resources = json!({"resources": [embedded(&self.api, "HcpOpenShiftClustersNodePool", name, &node_pool)]});
        let infrastructure =
            json!({"apiGroup": INFRASTRUCTURE, "kind": "AROMachinePool", "name": name});
        let template = json!({"spec": {
            "clusterName": self.name,
            "bootstrap": {"dataSecretName": format!("{}-kubeconfig", self.name)},
            "infrastructureRef": infrastructure,
        }});
        let spec = json!({"clusterName": self.name, "replicas": replicas, "template": template});
        [
            self.top("AROMachinePool", name, &resources),
            self.top("MachinePool", name, &spec),
        ]
    }
}

fn embedded(api: &str, kind: &str, name: &str, spec: &Json) -> Json {
    json!({"apiVersion": api, "kind": kind, "metadata": {"name": name}, "spec": spec})
}
