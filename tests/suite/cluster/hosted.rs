//! HostedClusters on three platforms from nothing to ready and back, on both servers, while the actors play HyperShift. The
//! definitions are the real ones where they are at hand.

use capstan::adapters::azure_sim as actors;
use capstan::adapters::azure_sim::crds::{definition, hyper_shift};
use capstan::api::kinds::PRIVATE_LINK;
use serde_json::{Value as Json, json};

use super::pipeline::{Management, apply, established};
use crate::cli::{stderr, stdout};
use crate::fleet::directory;
use crate::patience::until;
use crate::play::management;
use crate::real::crds;

const SPEED: u32 = 600;
pub(super) const API: &str = "/apis/hypershift.openshift.io/v1beta1/namespaces/clusters";
const SUBSCRIPTION: &str = "3f0c7d3e-52a4-4b6b-9a51-2f1f0d9c7a10";

/// A HostedCluster, and a NodePool with two nodes.
fn hosted(name: &str, platform: &Json, of_nodes: &Json) -> String {
    let release = json!({"image": "quay.io/openshift-release-dev/ocp-release:4.17.3-multi"});
    let service = |(service, strategy): (&str, &str)| json!({"service": service, "servicePublishingStrategy": {"type": strategy}});
    let services = [
        ("APIServer", "Route"),
        ("OAuthServer", "Route"),
        ("Konnectivity", "Route"),
        ("Ignition", "Route"),
    ];
    let cluster = json!({
        "apiVersion": "hypershift.openshift.io/v1beta1", "kind": "HostedCluster",
        "metadata": {"name": name, "namespace": "clusters"},
        "spec": {
            "release": release, "platform": platform, "pullSecret": {"name": "pull"}, "networking": {},
            "dns": {"baseDomain": "example.com"}, "services": services.map(service),
            "etcd": {"managementType": "Managed", "managed": {"storage": {"type": "PersistentVolume"}}},
        },
    });
    let pool = json!({
        "apiVersion": "hypershift.openshift.io/v1beta1", "kind": "NodePool",
        "metadata": {"name": format!("{name}-a"), "namespace": "clusters"},
        "spec": {"clusterName": name, "replicas": 2, "release": release, "platform": of_nodes,
            "management": {"upgradeType": "Replace"}},
    });
    format!("---\n{cluster}\n---\n{pool}\n")
}

fn azure() -> Json {
    let group =
        format!("/subscriptions/{SUBSCRIPTION}/resourceGroups/rg/providers/Microsoft.Network");
    let identity = json!({"clientID": SUBSCRIPTION});
    let roles = [
        "cloudProvider",
        "controlPlaneOperator",
        "disk",
        "file",
        "imageRegistry",
        "ingress",
        "network",
        "nodePoolManagement",
    ];
    let identities: serde_json::Map<String, Json> = roles
        .iter()
        .map(|role| ((*role).to_owned(), identity.clone()))
        .collect();
    json!({
        "location": "uksouth", "resourceGroup": "rg", "subscriptionID": SUBSCRIPTION, "tenantID": SUBSCRIPTION,
        "vnetID": format!("{group}/virtualNetworks/vnet"),
        "subnetID": format!("{group}/virtualNetworks/vnet/subnets/nodes"),
        "securityGroupID": format!("{group}/networkSecurityGroups/nsg"),
        "topology": "Private",
        "private": {"type": "PrivateLink", "privateLink": {"natSubnetID": format!("{group}/virtualNetworks/hub/subnets/nat")}},
        "azureAuthenticationConfig": {"azureAuthenticationConfigType": "WorkloadIdentities",
            "workloadIdentities": identities},
    })
}

/// A private cluster in Azure, as objects.
pub(super) fn hosted_in_azure() -> Vec<Json> {
    let all = fleet();
    let documents = all.split("---\n").filter(|text| !text.trim().is_empty());
    let objects = documents.map(|text| serde_json::from_str(text).expect("JSON"));
    let is_it = |object: &Json| {
        object["metadata"]["name"]
            .as_str()
            .is_some_and(|name| name.starts_with("cloud"))
    };
    objects.filter(is_it).collect()
}

/// One on each platform.
fn fleet() -> String {
    let azure = azure();
    let kubevirt = json!({"type": "KubeVirt", "kubevirt": {
        "rootVolume": {"type": "Persistent", "persistent": {"size": "32Gi"}}, "compute": {"cores": 4, "memory": "16Gi"}}});
    let of_azure = json!({"type": "Azure", "azure": {"vmSize": "Standard_D4s_v3", "osDisk": {}, "subnetID": azure["subnetID"],
        "image": {"type": "AzureMarketplace", "azureMarketplace": {"imageGeneration": "Gen2"}}}});
    let selector = json!({"matchLabels": {"rack": "a"}});
    [
        hosted(
            "vm",
            &json!({"type": "KubeVirt", "kubevirt": {}}),
            &kubevirt,
        ),
        hosted(
            "metal",
            &json!({"type": "Agent", "agent": {"agentNamespace": "lab"}}),
            &json!({"type": "Agent", "agent": {"agentLabelSelector": selector}}),
        ),
        hosted(
            "cloud",
            &json!({"type": "Azure", "azure": azure}),
            &of_azure,
        ),
    ]
    .concat()
}

#[test]
fn hosted_clusters_are_rehearsed() {
    let dir = directory([("fleet.yaml", fleet())]);
    let path = dir.path().to_str().expect("UTF-8");
    let ready = stdout(&["rehearse", path], 0);
    assert!(
        ready.contains("ready after 25m00s (virtual): 6 objects"),
        "{ready}"
    );
    let failures = [
        "HostedCluster/clusters/vm=UnsupportedHostedCluster",
        "NodePool/cloud-a=ValidationFailed",
    ];
    let failed = stdout(
        &[
            "rehearse",
            path,
            "--fail",
            failures[0],
            "--fail",
            failures[1],
        ],
        1,
    );
    for part in [
        "HostedCluster/clusters/vm: Failed UnsupportedHostedCluster",
        "NodePool/clusters/cloud-a: Failed ValidationFailed",
        "Ready  HostedCluster/clusters/metal",
    ] {
        assert!(failed.contains(part), "{part}: {failed}");
    }
    let stranger = stderr(&["rehearse", path, "--fail", "NodePool/nobody=NotFound"], 2);
    assert!(
        stranger.contains("the fleet has no such object"),
        "{stranger}"
    );
}

/// The real definitions, or those of a rehearsal.
pub(super) fn definitions() -> Vec<Json> {
    real_definitions().unwrap_or_else(hyper_shift)
}

/// The real definitions, if they are at hand. Those of HyperShift have an annotation whose name no API server accepts.
pub(super) fn real_definitions() -> Option<Vec<Json>> {
    let mut all = [crds("hypershift")?, crds("hub")?].concat();
    for definition in &mut all {
        let metadata = definition["metadata"].as_object_mut();
        metadata?.remove("annotations");
    }
    // Those of Azure Service Operator need its webhook, which converts between versions.
    all.extend(PRIVATE_LINK.iter().map(definition));
    Some(all)
}

/// The object at a path of the server; null if there is none.
pub(super) fn get(cluster: &Management, path: &str) -> Json {
    let request = http::Request::get(path)
        .body(Vec::new())
        .expect("a request");
    let answer = cluster.client.request::<Json>(request);
    match cluster.runtime.block_on(answer) {
        Ok(found) => found,
        Err(kube::Error::Api(status)) if status.code == 404 => Json::Null,
        Err(error) => panic!("{path}: {error}"),
    }
}

fn delete(cluster: &Management, path: &str) {
    let request = http::Request::delete(path)
        .body(Vec::new())
        .expect("a request");
    let answer = cluster.client.request::<Json>(request);
    cluster.runtime.block_on(answer).expect("it is there");
}

/// The number of Agents of the lab that are bound.
fn bound(cluster: &Management) -> usize {
    let all = get(
        cluster,
        "/apis/agent-install.openshift.io/v1beta1/namespaces/lab/agents",
    );
    let all = all["items"].as_array().cloned().unwrap_or_default();
    let name = |agent: &&Json| agent["spec"]["clusterDeploymentName"]["name"].is_string();
    all.iter().filter(name).count()
}

/// The connection of the private cluster.
const CONNECTION: &str = "/apis/hypershift.openshift.io/v1beta1/namespaces/clusters-cloud/azureprivatelinkservices/private-router";

/// The private cluster becomes reachable from outside, and private again: what connects it stays as it is.
fn its_topology_changes(cluster: &Management) {
    let parts = || {
        let connection = get(cluster, CONNECTION);
        let conditions = connection["status"]["conditions"].as_array().cloned();
        let conditions = conditions.unwrap_or_default();
        let is_true = |one: &&Json| one["status"] == "True";
        let status = [
            "privateLinkServiceAlias",
            "privateEndpointID",
            "privateEndpointIP",
        ];
        let status = status.map(|field| connection["status"][field].clone());
        (
            conditions.iter().filter(is_true).count(),
            connection["metadata"]["uid"].clone(),
            status,
        )
    };
    let before = parts();
    assert_eq!(before.0, 5, "{:#}", get(cluster, CONNECTION));
    for topology in ["PublicAndPrivate", "Private"] {
        let patch = json!({"spec": {"platform": {"azure": {"topology": topology}}}});
        let request = http::Request::patch(format!("{API}/hostedclusters/cloud"))
            .header("content-type", "application/merge-patch+json")
            .body(patch.to_string().into_bytes())
            .expect("a request");
        let answer = cluster.client.request::<Json>(request);
        cluster.runtime.block_on(answer).expect("it may change");
        let plane = "/apis/hypershift.openshift.io/v1beta1/namespaces/clusters-cloud/hostedcontrolplanes/cloud";
        let reached = || get(cluster, plane)["spec"]["platform"]["azure"]["topology"] == topology;
        until(|| reached().then_some(()), || format!("never {topology}"));
        assert_eq!(parts(), before);
    }
}

/// The objects that the controllers of private clusters expect.
pub(super) fn management_side() -> [Json; 2] {
    let identity = management();
    let unset = "00000000-0000-0000-0000-000000000000";
    [
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": identity.namespace}}),
        json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": identity.kind,
            "metadata": {"name": identity.name, "namespace": identity.namespace},
            "spec": {"type": "WorkloadIdentity", "clientID": unset, "tenantID": unset, "allowedNamespaces": {}}}),
    ]
}

/// Everything is as it should be: soon nobody writes for a second. The controllers may still be at work on the change before.
fn nobody_writes(cluster: &Management) {
    let watched = [
        format!("{API}/hostedclusters/cloud"),
        format!("{API}/nodepools/metal-a"),
        CONNECTION.to_owned(),
        "/apis/hypershift.openshift.io/v1beta1/namespaces/clusters-cloud/hostedcontrolplanes/cloud"
            .to_owned(),
    ];
    let versions = || {
        let version = |path: &String| get(cluster, path)["metadata"]["resourceVersion"].clone();
        watched.each_ref().map(version)
    };
    let mut before = versions();
    let is_quiet = || {
        std::thread::sleep(std::time::Duration::from_secs(1));
        let now = versions();
        let last = std::mem::replace(&mut before, now.clone());
        (now == last).then_some(())
    };
    until(is_quiet, || format!("{watched:?} are written for ever"));
}

fn they_come_and_go(cluster: &Management) {
    cluster.runtime.block_on(async {
        for definition in definitions() {
            apply(&cluster.client, &definition).await;
        }
        established(&cluster.client).await;
        let pull = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "pull", "namespace": "clusters"}});
        apply(&cluster.client, &pull).await;
        for object in management_side() {
            apply(&cluster.client, &object).await;
        }
    });
    let dir = directory([("fleet.yaml", fleet())]);
    let path = dir.path().to_str().expect("UTF-8");
    let output = cluster.capstan(&["apply", path, "--wait", "--timeout", "4m"]);
    let talk = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{talk}");

    let status = get(cluster, &format!("{API}/hostedclusters/cloud"))["status"].clone();
    assert_eq!(
        status["version"]["history"][0]["state"], "Completed",
        "{status:#}"
    );
    assert_eq!(status["kubeconfig"]["name"], "cloud-admin-kubeconfig");
    let router = get(
        cluster,
        "/api/v1/namespaces/clusters-cloud/services/private-router",
    );
    assert!(
        router["status"]["loadBalancer"]["ingress"][0]["ip"].is_string(),
        "{router:#}"
    );
    assert_eq!(bound(cluster), 2);
    its_topology_changes(cluster);

    nobody_writes(cluster);

    let beside = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "beside", "namespace": "clusters-metal"}});
    cluster.runtime.block_on(apply(&cluster.client, &beside));
    for name in ["metal", "cloud"] {
        delete(cluster, &format!("{API}/hostedclusters/{name}"));
    }
    let left = || {
        let mut paths = vec![
            format!("{API}/hostedclusters/metal"),
            format!("{API}/hostedclusters/cloud"),
            format!("{API}/nodepools/metal-a"),
            "/api/v1/namespaces/clusters-metal".to_owned(),
            "/api/v1/namespaces/clusters-cloud".to_owned(),
        ];
        paths.retain(|path| !get(cluster, path).is_null());
        paths
    };
    until(
        || left().is_empty().then_some(()),
        || format!("still there: {:?}", left()),
    );
    assert_eq!(bound(cluster), 0);
    assert!(!get(cluster, &format!("{API}/hostedclusters/vm")).is_null());
}

#[test]
fn hosted_clusters_come_and_go_on_the_simulator() {
    they_come_and_go(&Management::simulated(SPEED, actors::Options::default()));
}

#[test]
fn hosted_clusters_come_and_go_on_kube_apiserver() {
    if let Some(cluster) = Management::real(SPEED, actors::Options::default()) {
        they_come_and_go(&cluster);
    }
}
