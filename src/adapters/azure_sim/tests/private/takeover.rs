//! Our controllers stop and start, or come to connections that HyperShift made.

#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};

use super::scene::*;
use crate::adapters::azure_sim::{Azure, network};
use crate::api::fleet::Mode;
use crate::health::Live;
use crate::model::ObjectId;

const CLUSTER_ID: &str = "5b1c7d3e-52a4-4b6b-9a51-2f1f0d9c7a15";
/// HyperShift's finalizer of the control plane.
const OF_PLANE: &str = "hypershift.openshift.io/azure-pls-endpoint-cleanup";
const THEIRS: [&str; 2] = [
    "hypershift.openshift.io/azure-pls-cleanup",
    "hypershift.openshift.io/azure-private-link-service",
];

/// The uids of what is ours, by name.
fn uids(scene: &Scene) -> Vec<(String, String)> {
    let all = scene.all();
    let ours = all.iter().map(Live).filter(|live| {
        live.group() == "network.azure.com" || live.kind() == "AzurePrivateLinkService"
    });
    ours.map(|live| (live.id().to_string(), live.uid().to_owned()))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn controllers_that_were_off_go_on_where_they_stopped() {
    let mut scene = Scene::open().await;
    scene.cluster("clusters", "one").await;
    scene.until_ready("clusters", "one").await;
    let before = (
        scene.azure.deeds(),
        scene.connection("clusters", "one"),
        uids(&scene),
    );
    scene.stop();
    scene.wait(5 * 3600).await;
    let after = (
        scene.azure.deeds(),
        scene.connection("clusters", "one"),
        uids(&scene),
    );
    assert_eq!(after, before);
    scene.start();
    scene.wait(3600).await;
    assert!(scene.is_ready("clusters", "one"));
    let after = (
        scene.azure.deeds(),
        scene.connection("clusters", "one"),
        uids(&scene),
    );
    assert_eq!(after, before);
    // What changes meanwhile is followed.
    scene.stop();
    let status = json!({"status": {"loadBalancer": {"ingress": [{"ip": "10.9.9.9"}]}}});
    scene
        .merge_status(&router_id("clusters", "one"), status)
        .await;
    scene.wait(3600).await;
    let births = scene.births_and_deaths();
    scene.start();
    scene
        .until("the address is followed", |scene| {
            let connection = scene.connection("clusters", "one").unwrap();
            Live(&connection).text(&["spec", "loadBalancerIP"]) == "10.9.9.9"
        })
        .await;
    scene.until_ready("clusters", "one").await;
    assert_eq!(scene.births_and_deaths(), births);
}

fn tagged(kind: &str, mut state: Value) -> Value {
    state["tags"] = json!({"hypershift.openshift.io_resource-type": kind});
    state["location"] = json!("uksouth");
    state
}

/// Makes in Azure all that HyperShift's controllers make for the cluster `one`. Returns the status that they write.
fn made_by_hyper_shift(azure: &Azure, balancer: &str) -> Value {
    let frontend = azure.get(balancer).unwrap()["frontendIPConfigurations"][0]["id"].clone();
    let service = hub(&format!("privateLinkServices/pls-{CLUSTER_ID}"));
    let alias = format!("pls-{CLUSTER_ID}.{CLUSTER_ID}.uksouth.azure.privatelinkservice");
    let allowed = json!({"subscriptions": [SUBSCRIPTION]});
    azure.put(
        &service,
        tagged(
            "private-link-service",
            json!({
                "etag": "theirs", "alias": alias,
                "loadBalancerFrontendIpConfigurations": [{"id": frontend}],
                "ipConfigurations": [{"subnet": {"id": hub("virtualNetworks/hub/subnets/nat")}}],
                "visibility": allowed, "autoApproval": allowed,
            }),
        ),
    );
    let endpoint = guest("privateEndpoints/private-router-pe");
    let state = tagged(
        "private-endpoint",
        json!({
            "etag": "their-endpoint",
            "subnet": {"id": guest("virtualNetworks/vnet/subnets/nodes")},
            "manualPrivateLinkServiceConnections": [{
                "name": "private-router-pe", "etag": "theirs", "privateLinkServiceId": service,
                "privateLinkServiceConnectionState": {"status": "Approved"},
            }],
        }),
    );
    let address = network::address(&endpoint, &state);
    azure.put(&endpoint, state);
    let mut zones = Vec::new();
    for (name, link, records) in [
        (
            "one.hypershift.local",
            "private-router-vnet-link",
            ["api", "*.apps"],
        ),
        (
            "ext.example.com",
            "private-router-basedomain-vnet-link",
            ["api-one", "oauth-one"],
        ),
    ] {
        let zone = guest(&format!("privateDnsZones/{name}"));
        azure.put(&zone, tagged("private-dns-zone", json!({"etag": name})));
        let network = json!({"id": guest("virtualNetworks/vnet")});
        let link = format!("{zone}/virtualNetworkLinks/{link}");
        azure.put(
            &link,
            tagged(
                "vnet-link",
                json!({"etag": "theirs", "virtualNetwork": network}),
            ),
        );
        for record in records {
            let addresses = json!([{"ipv4Address": address}]);
            let record = format!("{zone}/A/{record}");
            azure.put(
                &record,
                json!({"etag": "theirs", "ttl": 300, "aRecords": addresses}),
            );
        }
        zones.push(zone);
    }
    json!({
        "internalLoadBalancerID": balancer,
        "privateLinkServiceID": service, "privateLinkServiceAlias": alias,
        "privateEndpointID": endpoint, "privateEndpointIP": address,
        "privateDNSZoneID": zones[0], "baseDomainDNSZoneID": zones[1],
        "dnsZoneName": "one.hypershift.local",
    })
}

/// The connection as HyperShift's observer writes it, without its owner.
fn described(plane: Live<'_>) -> Value {
    let id = connection_id("clusters", "one");
    json!({
        "apiVersion": "hypershift.openshift.io/v1beta1", "kind": id.kind,
        "metadata": {"name": id.name, "namespace": id.namespace,
            "annotations": {"hypershift.openshift.io/cluster": "clusters/one"},
            "finalizers": THEIRS,
            "ownerReferences": [{"apiVersion": "hypershift.openshift.io/v1beta1", "kind": plane.kind(),
                "name": plane.name(), "uid": plane.uid(), "controller": true, "blockOwnerDeletion": true}]},
        "spec": {
            "subscriptionID": SUBSCRIPTION, "resourceGroupName": "rg", "location": "uksouth",
            "guestSubnetID": guest("virtualNetworks/vnet/subnets/nodes"),
            "guestVNetID": guest("virtualNetworks/vnet"),
            "natSubnetID": hub("virtualNetworks/hub/subnets/nat"),
            "baseDomain": "ext.example.com",
        },
    })
}

/// A ready cluster that HyperShift connected, without our controllers.
async fn of_hyper_shift() -> Scene {
    let scene = Stage::new().await.scene(Azure::bare().recording());
    let mut cluster = hosted("clusters", "one");
    cluster["spec"]["clusterID"] = json!(CLUSTER_ID);
    scene.put(&cluster).await;
    scene.put(&pool("clusters", "one")).await;
    scene
        .until("there is a load balancer", |scene| {
            !scene.in_azure("/loadBalancers/").is_empty()
        })
        .await;
    let status = made_by_hyper_shift(&scene.azure, &scene.only("/loadBalancers/"));
    let router = scene.find(&router_id("clusters", "one")).unwrap();
    let plane = scene.find(&plane_id("clusters", "one")).unwrap();
    let mut object = described(Live(&plane));
    object["spec"]["loadBalancerIP"] = router["status"]["loadBalancer"]["ingress"][0]["ip"].clone();
    scene.put_as("control-plane-operator", &object).await;
    scene
        .merge_status_as(
            "hypershift-operator",
            &connection_id("clusters", "one"),
            json!({"status": status}),
        )
        .await;
    let held = json!({"metadata": {"finalizers": [OF_PLANE]}});
    scene
        .merge_as("control-plane-operator", &plane_id("clusters", "one"), held)
        .await;
    scene
        .until("the nodes are there", |scene| {
            let pool = scene.find(&pool_id("clusters", "one")).unwrap();
            Live(&pool).count(&["status", "replicas"]) == 2
        })
        .await;
    scene
}

/// The alias, the address and the endpoint of the connection, and everything in Azure.
fn kept(scene: &Scene) -> [String; 4] {
    [
        scene.status("clusters", "one", "privateLinkServiceAlias"),
        scene.status("clusters", "one", "privateEndpointIP"),
        scene.status("clusters", "one", "privateEndpointID"),
        scene.azure.ids().join(" "),
    ]
}

fn finalizers(scene: &Scene) -> Vec<String> {
    let connection = scene.connection("clusters", "one").unwrap();
    serde_json::from_value(connection["metadata"]["finalizers"].clone()).unwrap()
}

async fn is_taken_over(scene: &Scene, before: &[String; 4], births: usize) {
    scene.until_ready("clusters", "one").await;
    scene.wait(3 * 3600).await;
    assert!(scene.is_ready("clusters", "one"));
    assert_eq!(kept(scene), *before);
    assert_eq!(scene.births_and_deaths().len(), births);
    let held = finalizers(scene);
    assert_eq!(held.len(), 2, "{held:?}");
    assert!(
        held.iter().all(|one| one.starts_with("capstan.dev/")),
        "{held:?}"
    );
    let plane = scene.find(&plane_id("clusters", "one")).unwrap();
    assert_eq!(plane["metadata"].get("finalizers"), None);
    scene.delete(&hosted_id("clusters", "one")).await;
    scene.until_gone("clusters", "one").await;
    assert_eq!(scene.azure.ids(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn what_hyper_shift_holds_is_taken_over_if_a_person_says_so() {
    let mut scene = of_hyper_shift().await;
    let (before, births) = (kept(&scene), scene.births_and_deaths().len());
    scene.mode = Mode::On;
    scene.start();
    is_taken_over(&scene, &before, births).await;
}

#[tokio::test(start_paused = true)]
async fn what_hyper_shift_holds_is_left_alone_until_it_lets_go() {
    let mut scene = of_hyper_shift().await;
    let (before, births) = (kept(&scene), scene.births_and_deaths().len());
    let object = scene.connection("clusters", "one");
    scene.start();
    scene.wait(3 * 3600).await;
    assert_eq!(scene.front.written(), 0);
    assert_eq!(scene.connection("clusters", "one"), object);
    let id: ObjectId = connection_id("clusters", "one");
    let gone = json!({"status": {"conditions": [{"type": "AzurePLSCreated", "status": "False",
        "reason": "AzureError", "message": "", "lastTransitionTime": scene.clock.now()}]}});
    scene
        .merge_status_as("hypershift-operator", &id, gone)
        .await;
    let free = json!({"metadata": {"finalizers": null}});
    scene.merge_as("hypershift-operator", &id, free).await;
    scene.wait(9 * 60).await;
    assert_eq!(scene.front.written(), 0);
    scene.wait(2 * 60).await;
    assert!(scene.front.written() > 0);
    is_taken_over(&scene, &before, births).await;
}
