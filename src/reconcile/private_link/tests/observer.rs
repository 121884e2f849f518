//! The observer: which routers are described, and how.

#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};

use super::scene::*;
use crate::api::fleet::Mode;
use crate::health::Live;
use crate::model::ObjectId;
use crate::reconcile::outcome::Write;

const CONNECTION: &str = "AzurePrivateLinkService";

fn described(scene: &Scene) -> Value {
    let outcome = scene.observe();
    let patch = applied(&outcome, CONNECTION);
    patch.cloned().unwrap_or_default()
}

fn edited(id: &ObjectId, change: impl FnOnce(&mut Value)) -> Scene {
    let mut scene = Scene::one();
    scene.edit(id, change);
    scene
}

#[test]
fn a_router_with_an_address_is_described() {
    let scene = Scene::one();
    let patch = described(&scene);
    let plane = scene.live(&plane_id("clusters", "one"));
    let wanted = json!({
        "apiVersion": API,
        "kind": CONNECTION,
        "metadata": {
            "name": "private-router",
            "namespace": "clusters-one",
            "annotations": {"hypershift.openshift.io/cluster": "clusters/one"},
            "ownerReferences": [{"apiVersion": API, "kind": "HostedControlPlane", "name": "one",
                "uid": plane["metadata"]["uid"], "controller": true, "blockOwnerDeletion": true}],
        },
        "spec": {
            "loadBalancerIP": ADDRESS,
            "subscriptionID": GUEST,
            "resourceGroupName": "rg",
            "location": "uksouth",
            "guestSubnetID": guest("virtualNetworks/vnet/subnets/nodes"),
            "guestVNetID": guest("virtualNetworks/vnet"),
            "natSubnetID": hub("virtualNetworks/hub/subnets/nat"),
            "baseDomain": "ext.example.com",
        },
    });
    assert_eq!(patch, wanted);
    assert_eq!(scene.observe().writes.len(), 1);
}

#[test]
fn what_is_not_reached_over_private_link_is_not_described() {
    const INTERNAL: &str = "service.beta.kubernetes.io/azure-load-balancer-internal";
    let (router, plane) = (router_id("clusters", "one"), plane_id("clusters", "one"));
    let azure = ["spec", "platform", "azure"];
    let at = |object: &mut Value, field: &str, value: Value| {
        azure.iter().fold(object, |value, key| &mut value[*key])[field] = value;
    };
    let cases: Vec<(&str, Scene)> = vec![
        (
            "no annotation",
            edited(&router, |one| one["metadata"]["annotations"] = json!({})),
        ),
        (
            "not internal",
            edited(&router, |one| {
                one["metadata"]["annotations"][INTERNAL] = json!("false")
            }),
        ),
        (
            "a flag",
            edited(&router, |one| {
                one["metadata"]["annotations"][INTERNAL] = json!(true)
            }),
        ),
        (
            "no address",
            edited(&router, |one| one["status"] = json!({})),
        ),
        (
            "an empty ingress",
            edited(&router, |one| {
                one["status"]["loadBalancer"]["ingress"] = json!([{}])
            }),
        ),
        (
            "it goes",
            edited(&router, |one| {
                one["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z")
            }),
        ),
        (
            "the plane goes",
            edited(&plane, |one| {
                one["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z")
            }),
        ),
        (
            "public",
            edited(&plane, |one| at(one, "topology", json!("Public"))),
        ),
        (
            "no topology",
            edited(&plane, |one| at(one, "topology", Value::Null)),
        ),
        (
            "Swift",
            edited(&plane, |one| {
                at(
                    one,
                    "private",
                    json!({"type": "Swift", "swift": {"podNetworkInstance": "a"}}),
                )
            }),
        ),
        (
            "no type",
            edited(&plane, |one| at(one, "private", json!({"privateLink": {}}))),
        ),
        (
            "no Azure",
            edited(&plane, |one| {
                one["spec"]["platform"] = json!({"type": "AWS"})
            }),
        ),
    ];
    for (case, scene) in cases {
        assert_eq!(verbs(&scene.observe()), Vec::<String>::new(), "{case}");
    }
}

#[test]
fn a_control_plane_that_nobody_knows_is_waited_for() {
    let mut scene = Scene::one();
    let plane = plane_id("clusters", "one");
    scene.fixture.snapshot.remove(&plane);
    let outcome = scene.observe();
    assert_eq!(verbs(&outcome), Vec::<String>::new());
    let need = crate::reconcile::outcome::Need::Object(plane);
    assert!(outcome.needs.contains(&need));
}

#[test]
fn a_router_without_a_control_plane_is_reported() {
    let router = router_id("clusters", "one");
    for owners in [
        json!(null),
        json!([{"apiVersion": "apps/v1", "kind": "Deployment", "name": "one"}]),
        json!([{"apiVersion": "evil.io/v1", "kind": "HostedControlPlane", "name": "one"}]),
    ] {
        let scene = edited(&router, |one| one["metadata"]["ownerReferences"] = owners);
        let outcome = scene.observe();
        assert_eq!(verbs(&outcome), Vec::<String>::new());
        let reasons: Vec<&str> = outcome.events.iter().map(|one| &*one.reason).collect();
        assert_eq!(reasons, ["NoControlPlane"]);
    }
}

#[test]
fn only_the_router_is_looked_at() {
    let handles = super::super::observer::handles;
    assert!(handles(&ObjectId::new(
        "",
        "Service",
        "a",
        "private-router"
    )));
    assert!(!handles(&ObjectId::new(
        "",
        "Service",
        "a",
        "oauth-openshift"
    )));
    assert!(!handles(&ObjectId::new(
        "",
        "Secret",
        "a",
        "private-router"
    )));
}

#[test]
fn external_names_are_below_what_follows_the_name_of_oauth() {
    let route = |host: &str| json!([{"service": "OAuthServer", "servicePublishingStrategy": {"type": "Route", "route": {"hostname": host}}}]);
    let balanced = json!([{"service": "OAuthServer", "servicePublishingStrategy":
        {"type": "LoadBalancer", "loadBalancer": {"hostname": "oauth-one.lb.example.com"}}}]);
    let api = json!([{"service": "APIServer", "servicePublishingStrategy": {"type": "Route", "route": {"hostname": "oauth-one.no.example.com"}}}]);
    let cases = [
        (route("oauth-one.ext.example.com"), json!("ext.example.com")),
        (balanced, json!("lb.example.com")),
        (route("oauth-other.ext.example.com"), Value::Null),
        (route("login.ext.example.com"), Value::Null),
        (route("oauth-one"), Value::Null),
        (route("oauth-one."), Value::Null),
        (route(""), Value::Null),
        (api, Value::Null),
        (json!([]), Value::Null),
        (Value::Null, Value::Null),
    ];
    for (services, domain) in cases {
        let plane = plane_id("clusters", "one");
        let scene = edited(&plane, |one| one["spec"]["services"] = services.clone());
        assert_eq!(
            described(&scene)["spec"]["baseDomain"],
            domain,
            "{services}"
        );
    }
}

#[test]
fn both_shapes_of_a_private_cluster_are_read() {
    let plane = plane_id("clusters", "one");
    let scene = edited(&plane, |one| {
        one["spec"]["platform"]["azure"]["topology"] = json!("PublicAndPrivate");
        one["spec"]["platform"]["azure"]["private"]["privateLink"]["additionalAllowedSubscriptions"] =
            json!([HUB]);
    });
    assert_eq!(
        described(&scene)["spec"]["additionalAllowedSubscriptions"],
        json!([HUB])
    );
    let scene = edited(&plane, |one| {
        let azure = one["spec"]["platform"]["azure"].as_object_mut().unwrap();
        azure.remove("topology");
        azure.remove("private");
        azure.insert("endpointAccess".to_owned(), json!("Private"));
        let connectivity = json!({"natSubnetID": hub("virtualNetworks/v/subnets/s"), "allowedSubscriptions": [HUB]});
        azure.insert("privateConnectivity".to_owned(), connectivity);
    });
    let spec = described(&scene)["spec"].clone();
    assert_eq!(spec["allowedSubscriptions"], json!([HUB]));
    assert_eq!(
        spec["natSubnetID"],
        json!(hub("virtualNetworks/v/subnets/s"))
    );
    assert_eq!(spec["additionalAllowedSubscriptions"], Value::Null);
}

#[test]
fn a_new_address_is_followed_and_what_may_not_change_stays() {
    let mut scene = Scene::connected();
    scene.edit(&router_id("clusters", "one"), |one| {
        one["status"]["loadBalancer"]["ingress"] = json!([{"ip": "10.0.0.9"}]);
    });
    scene.edit(&plane_id("clusters", "one"), |one| {
        one["spec"]["platform"]["azure"]["location"] = json!("westeurope");
        one["spec"]["services"] = json!([]);
    });
    let before = scene.connection("clusters", "one");
    let patch = described(&scene);
    assert_eq!(patch["spec"]["loadBalancerIP"], "10.0.0.9");
    assert_eq!(patch["spec"]["location"], "uksouth");
    assert_eq!(patch["spec"]["baseDomain"], "ext.example.com");
    assert_eq!(patch["metadata"]["uid"], before["metadata"]["uid"]);
    scene.settle();
    let after = scene.connection("clusters", "one");
    assert_eq!(Live(&after).text(&["spec", "loadBalancerIP"]), "10.0.0.9");
}

/// A subscription that is taken out of the list would keep its right to connect.
#[test]
fn subscriptions_that_may_not_connect_any_more_are_taken_out() {
    let mut scene = Scene::one();
    let plane = plane_id("clusters", "one");
    scene.edit(&plane, |one| {
        one["spec"]["platform"]["azure"]["private"]["privateLink"]["additionalAllowedSubscriptions"] = json!([HUB]);
    });
    scene.settle();
    let service = scene.live(&scene.only("PrivateLinkService"));
    assert_eq!(
        service["spec"]["autoApproval"]["subscriptions"],
        json!([GUEST, HUB])
    );
    // Another manager wrote them, too: leaving them out is not enough.
    let id = connection_id("clusters", "one");
    scene.edit(&plane, |one| {
        one["spec"]["platform"]["azure"]["private"]["privateLink"] =
            json!({"natSubnetID": hub("virtualNetworks/hub/subnets/nat")});
    });
    assert!(matches!(
        scene.observe().writes.as_slice(),
        [Write::Merge(_)]
    ));
    scene.settle();
    assert_eq!(
        scene.live(&id)["spec"]["additionalAllowedSubscriptions"],
        Value::Null
    );
    let service = scene.live(&scene.only("PrivateLinkService"));
    assert_eq!(
        service["spec"]["autoApproval"]["subscriptions"],
        json!([GUEST])
    );
    assert_eq!(
        service["spec"]["visibility"]["subscriptions"],
        json!([GUEST])
    );
    // One of two.
    let other = "550e8400-e29b-41d4-a716-446655440077";
    let list = |subscriptions: Value| {
        json!({"natSubnetID": hub("virtualNetworks/hub/subnets/nat"),
            "additionalAllowedSubscriptions": subscriptions})
    };
    scene.edit(&id, |one| {
        one["spec"]["additionalAllowedSubscriptions"] = json!([HUB, other]);
    });
    scene.edit(&plane, |one| {
        one["spec"]["platform"]["azure"]["private"]["privateLink"] = list(json!([HUB]));
    });
    assert!(matches!(
        scene.observe().writes.as_slice(),
        [Write::Merge(_)]
    ));
    scene.settle();
    assert_eq!(
        scene.live(&id)["spec"]["additionalAllowedSubscriptions"],
        json!([HUB])
    );
}

#[test]
fn nothing_is_written_while_the_object_goes() {
    let mut scene = Scene::connected();
    scene.delete(&connection_id("clusters", "one"));
    scene.edit(&router_id("clusters", "one"), |one| {
        one["status"]["loadBalancer"]["ingress"] = json!([{"ip": "10.0.0.9"}]);
    });
    assert_eq!(verbs(&scene.observe()), Vec::<String>::new());
}

/// It may be HyperShift that connects the cluster.
#[test]
fn deployments_that_may_not_be_seen_are_reported_and_nothing_is_written() {
    let mut scene = Scene::one();
    scene.unsee("apps", "Deployment");
    let outcome = scene.observe();
    assert_eq!(verbs(&outcome), Vec::<String>::new());
    let event = &outcome.events[0];
    assert!(
        event.is_warning && event.message.contains("grant get on it"),
        "{}",
        event.message
    );
    let mut scene = Scene::with(Mode::On);
    scene.cluster("clusters", "one");
    scene.unsee("apps", "Deployment");
    assert_eq!(scene.observe().writes.len(), 1);
}
