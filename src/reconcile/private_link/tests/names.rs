//! The names of clusters: zones, links and records.

#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};

use super::scene::*;
use crate::api::azure_private_link_service::{AVAILABLE, DNS_AVAILABLE as DNS};
use crate::health::Live;
use crate::model::ObjectId;

const ZONE: &str = "PrivateDnsZone";
const LINK: &str = "PrivateDnsZonesVirtualNetworkLink";
const RECORD: &str = "PrivateDnsZonesARecord";
const POLICY: &str = "serviceoperator.azure.com/reconcile-policy";

/// The resources in Azure, without the path of the resource group.
fn in_azure(scene: &Scene, kind: &str) -> Vec<String> {
    let group = format!("/subscriptions/{GUEST}/resourcegroups/rg/");
    let ids = scene.in_azure(&format!("/{kind}/"));
    let ids = ids.iter().map(|id| id.replace(&group, ""));
    ids.collect()
}

fn without_domain() -> Scene {
    let mut scene = Scene::one();
    scene.edit(&plane_id("clusters", "one"), |one| {
        one["spec"]["services"] = json!([])
    });
    scene.settle();
    scene
}

/// The object of a zone of this name.
fn zone(scene: &Scene, namespace: &str, name: &str) -> ObjectId {
    let mut ids = scene.fixture.snapshot.ids();
    let is_it = |id: &&ObjectId| {
        let spec = scene.live(id)["spec"]["azureName"].clone();
        id.kind == ZONE && id.namespace == namespace && spec == name
    };
    ids.find(is_it).unwrap().clone()
}

fn policy(scene: &Scene, namespace: &str, name: &str) -> String {
    let zone = scene.live(&zone(scene, namespace, name));
    Live(&zone).annotation(POLICY).to_owned()
}

#[test]
fn the_names_of_a_cluster_lead_to_its_endpoint() {
    let scene = Scene::connected();
    assert_eq!(in_azure(&scene, ZONE).len(), 8);
    let records = [
        "PrivateDnsZone/ext.example.com/PrivateDnsZonesARecord/api-one",
        "PrivateDnsZone/ext.example.com/PrivateDnsZonesARecord/oauth-one",
        "PrivateDnsZone/one.hypershift.local/PrivateDnsZonesARecord/*.apps",
        "PrivateDnsZone/one.hypershift.local/PrivateDnsZonesARecord/api",
    ];
    assert_eq!(in_azure(&scene, RECORD), records);
    let ids = scene.fixture.snapshot.ids();
    let ids: Vec<&ObjectId> = ids.filter(|id| id.kind == RECORD).collect();
    for id in ids {
        let spec = &scene.live(id)["spec"];
        assert_eq!(
            spec["aRecords"],
            json!([{"ipv4Address": "10.1.0.2"}]),
            "{id}"
        );
        assert_eq!(spec["ttl"], 300);
    }
    let links = in_azure(&scene, LINK);
    assert_eq!(links.len(), 2);
    assert!(
        links
            .iter()
            .all(|link| link.contains(&format!("/{LINK}/vnet-"))),
        "{links:?}"
    );
    let tags = |name| {
        scene.live(&zone(&scene, "clusters", name))["spec"]["tags"]["capstan.dev_hosted-cluster"]
            .clone()
    };
    assert_eq!(tags("one.hypershift.local"), "id-clusters-one");
    assert_eq!(tags("ext.example.com"), "shared");
    assert_eq!(scene.field("dnsZoneName"), "one.hypershift.local");
    let path = format!("/subscriptions/{GUEST}/resourcegroups/rg/PrivateDnsZone");
    assert_eq!(
        scene.field("privateDNSZoneID"),
        format!("{path}/one.hypershift.local")
    );
    assert_eq!(
        scene.field("baseDomainDNSZoneID"),
        format!("{path}/ext.example.com")
    );
}

#[test]
fn a_link_joins_the_network_without_registering_machines() {
    let scene = without_domain();
    let link = scene.live(&scene.only(LINK));
    assert_eq!(
        link["spec"]["virtualNetwork"]["reference"]["armId"],
        json!(guest("virtualNetworks/vnet"))
    );
    assert_eq!(link["spec"]["registrationEnabled"], false);
    assert_eq!(link["spec"]["owner"]["name"], json!(scene.only(ZONE).name));
}

#[test]
fn without_a_domain_there_are_only_internal_names() {
    let scene = without_domain();
    scene.assert_connected("clusters", "one");
    let records = [
        "PrivateDnsZone/one.hypershift.local/PrivateDnsZonesARecord/*.apps",
        "PrivateDnsZone/one.hypershift.local/PrivateDnsZonesARecord/api",
    ];
    assert_eq!(in_azure(&scene, RECORD), records);
    assert_eq!(scene.field("baseDomainDNSZoneID"), "");
}

#[test]
fn a_new_address_is_followed_and_drift_is_repaired() {
    let mut scene = Scene::connected();
    let endpoint = scene.only("PrivateEndpoint");
    let map = ObjectId::new("", "ConfigMap", &*endpoint.namespace, &*endpoint.name);
    scene
        .azure
        .values_mut()
        .filter(|state| state.get("address").is_some())
        .for_each(|state| state["address"] = json!("10.1.0.99"));
    scene.edit(&map, |map| {
        map["data"]["privateEndpointIP"] = json!("10.1.0.99")
    });
    scene.settle();
    let ids = scene.fixture.snapshot.ids();
    let records: Vec<ObjectId> = ids.filter(|id| id.kind == RECORD).cloned().collect();
    let addresses = |scene: &Scene| {
        let values = records
            .iter()
            .map(|id| scene.live(id)["spec"]["aRecords"].clone());
        values.collect::<Vec<_>>()
    };
    let wanted = vec![json!([{"ipv4Address": "10.1.0.99"}]); 4];
    assert_eq!(addresses(&scene), wanted);
    assert_eq!(scene.field("privateEndpointIP"), "10.1.0.99");
    for id in &records {
        scene.edit(id, |record| {
            record["spec"]["aRecords"] = json!([{"ipv4Address": "6.6.6.6"}])
        });
    }
    scene.settle();
    assert_eq!(addresses(&scene), wanted);
    scene.assert_connected("clusters", "one");
}

#[test]
fn an_address_of_ipv6_is_refused() {
    let mut scene = Scene::connected();
    let endpoint = scene.only("PrivateEndpoint");
    let map = ObjectId::new("", "ConfigMap", &*endpoint.namespace, &*endpoint.name);
    scene.has_aso = false;
    scene.edit(&map, |map| {
        map["data"]["privateEndpointIP"] = json!("fd00::1")
    });
    scene.settle();
    assert_eq!(
        scene.said(DNS),
        "False ARecordCreationFailed: the address of the endpoint is fd00::1, and only IPv4 is supported"
    );
}

/// Each part that Azure refuses has its reason; the condition does not go back and forth between the zones.
#[test]
fn each_part_that_fails_has_its_reason() {
    let cases = [
        (ZONE, false, "DNSZoneCreationFailed"),
        (LINK, false, "VNetLinkCreationFailed"),
        (RECORD, false, "ARecordCreationFailed"),
        (ZONE, true, "BaseDomainDNSZoneCreationFailed"),
        (LINK, true, "BaseDomainVNetLinkCreationFailed"),
        (RECORD, true, "BaseDomainARecordCreationFailed"),
    ];
    for (kind, is_external, reason) in cases {
        let mut scene = Scene::connected();
        scene.has_aso = false;
        let zones = [
            zone(&scene, "clusters", "one.hypershift.local"),
            zone(&scene, "clusters", "ext.example.com"),
        ];
        let above = &zones[usize::from(is_external)];
        let ids = scene.fixture.snapshot.ids().cloned();
        let ids: Vec<ObjectId> = ids.collect();
        let of_zone = |id: &&ObjectId| {
            let owner = scene.live(id)["spec"]["owner"]["name"].clone();
            id.kind == kind && (**id == *above || owner == above.name.as_str())
        };
        let failing = (*ids.iter().find(of_zone).unwrap()).clone();
        scene.fail(
            &failing,
            "BadRequest",
            "Error",
            "already linked to the virtual network",
        );
        scene.warnings();
        scene.settle();
        let said = scene.said(DNS);
        assert!(
            said.starts_with(&format!("False {reason}: {kind} ")),
            "{said}"
        );
        assert!(
            said.ends_with("already linked to the virtual network"),
            "{said}"
        );
        assert_eq!(
            scene.said(AVAILABLE),
            "False AzureError: Not True for the present spec: AzurePrivateDNSAvailable"
        );
        assert_eq!(scene.warnings(), [reason]);
        assert_eq!(verbs(&scene.connect()), Vec::<String>::new());
    }
}

#[test]
fn clusters_of_one_domain_share_its_zone_and_nothing_else() {
    let mut scene = Scene::one();
    scene.cluster("clusters", "two");
    scene.cluster("others", "three");
    scene.settle();
    for (namespace, name) in [
        ("clusters", "one"),
        ("clusters", "two"),
        ("others", "three"),
    ] {
        scene.assert_connected(namespace, name);
    }
    assert_eq!(scene.in_azure("/PrivateDnsZonesARecord/").len(), 12);
    // One object per namespace; neither may take the zone in Azure with it.
    assert_eq!(
        policy(&scene, "clusters", "ext.example.com"),
        "detach-on-delete"
    );
    assert_eq!(
        policy(&scene, "others", "ext.example.com"),
        "detach-on-delete"
    );
    assert_eq!(policy(&scene, "clusters", "one.hypershift.local"), "manage");
    // The one that is left alone in its namespace keeps all of its names.
    for (namespace, name) in [("clusters", "one"), ("clusters", "two")] {
        scene.delete_cluster(namespace, name);
        scene.settle();
        assert!(
            scene.find(&connection_id(namespace, name)).is_none(),
            "{name}"
        );
    }
    scene.assert_connected("others", "three");
    assert_eq!(scene.in_azure("/PrivateDnsZonesARecord/").len(), 4);
    assert_eq!(policy(&scene, "others", "ext.example.com"), "manage");
    scene.delete_cluster("others", "three");
    scene.settle();
    assert!(scene.azure.is_empty(), "{:?}", scene.azure);
    assert_eq!(scene.named(ZONE), Vec::<String>::new());
}

/// However many go at once, the zone goes with the last.
#[test]
fn a_shared_zone_goes_with_the_last_of_many() {
    let mut scene = Scene::one();
    scene.cluster("clusters", "two");
    scene.cluster("others", "three");
    scene.cluster("others", "four");
    scene.settle();
    for (namespace, name) in [
        ("clusters", "one"),
        ("clusters", "two"),
        ("others", "three"),
        ("others", "four"),
    ] {
        scene.delete_cluster(namespace, name);
    }
    scene.settle();
    assert!(scene.azure.is_empty(), "{:?}", scene.azure);
    assert_eq!(scene.named("AzurePrivateLinkService"), Vec::<String>::new());
}

/// It may stay so for good, and its deletion takes nothing along.
#[test]
fn a_neighbor_that_only_looked_at_the_zone_stops_nobody() {
    let mut scene = Scene::connected();
    let own = zone(&scene, "clusters", "ext.example.com");
    let hosted = hosted_id("clusters", "one");
    scene.edit(&hosted, |one| one["spec"]["pausedUntil"] = json!("true"));
    scene.edit(&own, |one| {
        one["metadata"]["annotations"][POLICY] = json!("skip")
    });
    scene.cluster("others", "two");
    scene.settle();
    assert_eq!(policy(&scene, "clusters", "ext.example.com"), "skip");
    scene.assert_connected("others", "two");
    scene.edit(&hosted, |one| one["spec"]["pausedUntil"] = Value::Null);
    scene.delete_cluster("clusters", "one");
    scene.settle();
    let left = in_azure(&scene, ZONE);
    assert!(
        left.contains(&"PrivateDnsZone/ext.example.com".to_owned()),
        "{left:?}"
    );
    scene.assert_connected("others", "two");
}

/// One that never made anything does not keep the zone, which it would never delete.
#[test]
fn a_cluster_that_has_no_names_yet_keeps_no_zone() {
    let mut scene = Scene::connected();
    scene.cluster("clusters", "two");
    scene.edit(&hosted_id("clusters", "two"), |one| {
        one["spec"]["clusterID"] = Value::Null
    });
    scene.settle();
    assert!(scene.find(&connection_id("clusters", "two")).is_some());
    scene.delete_cluster("clusters", "one");
    scene.settle();
    assert_eq!(scene.named(ZONE), Vec::<String>::new());
    assert!(scene.azure.is_empty(), "{:?}", scene.azure);
}

/// HyperShift's controllers connect the other, and need the zone as well.
#[test]
fn a_zone_that_hypershift_needs_stays_in_azure() {
    let mut scene = Scene::one();
    scene.cluster("others", "two");
    scene.settle();
    scene.edit(&connection_id("others", "two"), |one| {
        one["metadata"]["finalizers"] = json!([
            "hypershift.openshift.io/azure-pls-cleanup",
            "hypershift.openshift.io/azure-private-link-service"
        ]);
    });
    scene.delete_cluster("clusters", "one");
    scene.settle();
    assert!(scene.find(&connection_id("clusters", "one")).is_none());
    assert_eq!(
        scene
            .in_azure("PrivateDnsZone/ext.example.com/PrivateDnsZonesARecord")
            .len(),
        2
    );
}

#[test]
fn two_clusters_of_one_name_do_not_have_the_same_names() {
    let mut scene = Scene::connected();
    scene.cluster("others", "one");
    scene.settle();
    let later = connection_id("others", "one");
    let said = scene.said_of(&later, DNS);
    assert!(
        said.starts_with("False NamesTaken: ") && said.contains("clusters/one"),
        "{said}"
    );
    scene.assert_connected("clusters", "one");
    assert_eq!(scene.in_azure("/PrivateDnsZonesARecord/").len(), 4);
    // Its deletion takes nothing from the first.
    let before = scene.in_azure("PrivateDnsZone").len();
    scene.delete_cluster("others", "one");
    scene.settle();
    assert!(scene.find(&later).is_none());
    assert_eq!(scene.in_azure("PrivateDnsZone").len(), before);
    scene.assert_connected("clusters", "one");
    // And it has the names once the first is gone.
    scene.cluster("others", "one");
    scene.delete_cluster("clusters", "one");
    scene.settle();
    scene.assert_connected("others", "one");
}

/// Its external zone would be the internal one of another, or its own.
#[test]
fn external_names_are_not_put_where_internal_names_are() {
    for domain in [
        "one.hypershift.local",
        "two.hypershift.local",
        "hypershift.local",
        "a.two.HyperShift.Local",
    ] {
        let mut scene = Scene::one();
        scene.cluster("clusters", "two");
        scene.edit(&plane_id("clusters", "one"), |one| {
            one["spec"]["services"][0]["servicePublishingStrategy"]["route"]["hostname"] =
                json!(format!("oauth-one.{domain}"));
        });
        scene.settle();
        let said = scene.said(DNS);
        assert!(
            said.starts_with("False BaseDomainDNSZoneCreationFailed: "),
            "{domain}: {said}"
        );
        scene.assert_connected("clusters", "two");
        assert_eq!(scene.in_azure("/PrivateDnsZonesARecord/").len(), 2 + 4);
        scene.delete_cluster("clusters", "one");
        scene.settle();
        scene.assert_connected("clusters", "two");
        assert_eq!(scene.in_azure("/PrivateDnsZonesARecord/").len(), 4);
    }
    assert!(!super::super::names::is_internal("nohypershift.local"));
}

#[test]
fn a_domain_is_the_same_in_capitals() {
    let mut scene = Scene::one();
    scene.cluster("clusters", "two");
    scene.edit(&plane_id("clusters", "two"), |one| {
        one["spec"]["services"][0]["servicePublishingStrategy"]["route"]["hostname"] =
            json!("oauth-two.EXT.Example.com");
    });
    scene.settle();
    scene.assert_connected("clusters", "two");
    assert_eq!(scene.named(ZONE).len(), 3);
}

/// Both write the one object that they share.
#[test]
fn clusters_with_different_credentials_share_a_zone_in_peace() {
    const FROM: &str = "serviceoperator.azure.com/credential-from";
    let annotations = |name: &str| match name {
        "three" => json!({}),
        name => json!({"capstan.dev/private-link-identity": format!("clusters/{name}")}),
    };
    let names = ["one", "two", "three"];
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
        for at_once in [false, true] {
            let mut scene = Scene::new();
            for name in names {
                scene.identity("clusters", name, &json!({}));
                scene.cluster("clusters", name);
                scene.edit(&hosted_id("clusters", name), |one| {
                    one["metadata"]["annotations"] = annotations(name);
                });
            }
            scene.settle();
            for name in names {
                scene.assert_connected("clusters", name);
            }
            for (place, name) in order.map(|place| names[place]).into_iter().enumerate() {
                scene.delete_cluster("clusters", name);
                if at_once {
                    continue;
                }
                scene.settle();
                assert!(scene.find(&connection_id("clusters", name)).is_none());
                if place < 2 {
                    // The Secret of one that is gone is gone, too.
                    let zone = scene.live(&zone(&scene, "clusters", "ext.example.com"));
                    let from = Live(&zone).annotation(FROM);
                    assert!(!from.starts_with(&format!("{name}-")), "{from}");
                    let secret = ObjectId::new("", "Secret", "clusters", from);
                    assert!(from.is_empty() || scene.find(&secret).is_some(), "{from}");
                }
            }
            scene.settle();
            assert!(scene.azure.is_empty(), "{:?}", scene.azure);
        }
    }
}

/// Azure has one resource group, and one network, of a name.
#[test]
fn clusters_that_write_a_name_in_two_ways_share_a_zone_in_peace() {
    let mut scene = Scene::connected();
    scene.cluster("clusters", "two");
    scene.edit(&plane_id("clusters", "two"), |one| {
        let azure = &mut one["spec"]["platform"]["azure"];
        azure["resourceGroup"] = json!("RG");
        azure["subscriptionID"] = json!(GUEST.to_uppercase());
        azure["vnetID"] = json!(guest("virtualNetworks/VNet").replace("/rg/", "/Rg/"));
    });
    scene.settle();
    scene.assert_connected("clusters", "one");
    scene.assert_connected("clusters", "two");
    assert_eq!(scene.named(ZONE).len(), 3);
    assert_eq!(scene.named(LINK).len(), 3);
}

/// The second has waited for them.
#[test]
fn names_that_are_free_again_are_taken() {
    let mut scene = Scene::connected();
    scene.wait(60);
    scene.cluster("others", "one");
    scene.settle();
    assert!(
        scene
            .said_of(&connection_id("others", "one"), DNS)
            .starts_with("False NamesTaken: ")
    );
    assert_eq!(policy(&scene, "clusters", "one.hypershift.local"), "manage");
    scene.delete_cluster("clusters", "one");
    scene.settle();
    scene.assert_connected("others", "one");
    scene.delete_cluster("others", "one");
    scene.settle();
    assert!(scene.azure.is_empty(), "{:?}", scene.azure);
}

/// Otherwise, an object in any namespace could keep the names of a cluster for ever.
#[test]
fn an_older_cluster_that_holds_nothing_has_no_names() {
    let mut scene = Scene::new();
    scene.cluster("others", "one");
    let set_id = |scene: &mut Scene, id: Value| {
        scene.edit(&hosted_id("others", "one"), |one| {
            one["spec"]["clusterID"] = id
        });
    };
    set_id(&mut scene, Value::Null);
    scene.settle();
    scene.wait(60);
    scene.cluster("clusters", "one");
    scene.settle();
    scene.assert_connected("clusters", "one");
    // Names that a cluster has are not taken from it.
    set_id(&mut scene, json!("later"));
    scene.settle();
    let said = scene.said_of(&connection_id("others", "one"), DNS);
    assert!(said.starts_with("False NamesTaken: "), "{said}");
    scene.assert_connected("clusters", "one");
}

#[test]
fn a_link_that_a_stranger_made_gives_no_name() {
    let twin = Scene::connected();
    let kind = "PrivateDnsZonesVirtualNetworkLink";
    let links: Vec<ObjectId> = twin
        .fixture
        .snapshot
        .ids()
        .filter(|id| id.kind == kind)
        .cloned()
        .collect();
    let mut scene = Scene::one();
    scene.cluster("others", "three");
    for id in &links {
        scene.put(
            json!({"apiVersion": "network.azure.com/v1api20240601", "kind": kind,
            "metadata": {"name": id.name, "namespace": "others"}, "spec": {"azureName": "theirs"}}),
        );
    }
    scene.settle();
    for id in &links {
        let live = scene.live(id);
        assert_ne!(live["spec"]["azureName"], "theirs", "{live:#}");
    }
}
