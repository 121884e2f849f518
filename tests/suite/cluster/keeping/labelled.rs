//! Objects that carry the label of the fleet, and that it did not apply.

use capstan::apply::{PruneStatus, State, is_member};
use serde_json::{Value as Json, json};

use super::fixture::{Fixture, comes, map, on_real, prove, revision, theirs};

const ADOPTABLE: [&str; 4] = ["labels", "annotations", "name", "namespace"];

/// What `kubectl get -o yaml` shows of an object, but for what an API server sets.
fn copied(live: &Json, name: &str) -> Json {
    let mut copy = live.clone();
    let metadata = copy["metadata"].as_object_mut().expect("metadata");
    metadata.retain(|key, _| ADOPTABLE.contains(&key.as_str()));
    copy["metadata"]["name"] = json!(name);
    copy
}

async fn applied(fixture: &Fixture, name: &str) -> Json {
    let live = fixture.config_map(name).await;
    live.unwrap_or_else(|| panic!("{name} is not there"))
}

async fn is_ours(fixture: &Fixture, name: &str) -> bool {
    is_member(&applied(fixture, name).await, &fixture.set("one").id())
}

#[test]
fn copies_are_left_alone_and_hold_nothing_up() {
    prove("copies_of_the_label", &async |fixture: &Fixture| {
        let both = format!("{}{}", map("a", "v"), map("b", "v"));
        let mut kept = fixture.keep(&both, &revision("1")).await;
        let a = applied(fixture, "a").await;
        let mut child = copied(&a, "of-an-operator");
        child["metadata"]["ownerReferences"] = json!([{"apiVersion": "v1", "kind": "ConfigMap",
            "name": "a", "uid": a["metadata"]["uid"], "controller": true}]);
        let mut dependent = copied(&a, "dependent");
        dependent["metadata"]["finalizers"] = json!(["example.com/never"]);
        dependent["metadata"]["annotations"]["config.kubernetes.io/depends-on"] =
            json!(format!("/namespaces/{}/ConfigMap/b", fixture.namespace));
        for copy in [copied(&a, "by-a-person"), child, dependent] {
            fixture.create_as("some-operator", &copy).await;
        }
        // The same watch reports this after them.
        let changed = theirs("a", &json!({"k": "theirs"}));
        fixture.change_as("somebody", &changed).await;
        kept.until("a", State::Progressing).await;
        kept.until_so(async || applied(fixture, "a").await["data"]["k"] == "v")
            .await;
        drop(kept);
        for name in ["2", "3"] {
            let kept = fixture.keep(&map("a", "v"), &revision(name)).await;
            let left: Vec<&String> = kept.leaving.keys().collect();
            let expected = format!("ConfigMap/{}/b", fixture.namespace);
            let expected = if name == "2" { vec![&expected] } else { vec![] };
            assert_eq!(left, expected, "nothing is said of the copies");
        }
        let all = ["a", "by-a-person", "dependent", "of-an-operator"];
        assert_eq!(fixture.config_maps().await, all);
        // A file names what an operator made: that is not the fleet's, unless it adopts it.
        let named = format!("{}{}", map("a", "v"), map("of-an-operator", "w"));
        let mut kept = fixture.begin(&named, &revision("4"));
        let refused = kept.until("of-an-operator", State::Failed).await;
        assert!(
            refused.message.contains("not part of this fleet"),
            "{refused:?}"
        );
        drop(kept);
        let done = json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "dependent", "finalizers": null}});
        fixture.change_as("somebody", &done).await;
    });
}

/// Kubernetes itself copies the labels of a Service to its EndpointSlices.
#[test]
fn the_endpoints_of_a_service_stay() {
    on_real("endpoints_stay", &async |fixture: &Fixture| {
        let service = "---\n{apiVersion: v1, kind: Service, metadata: {name: shop, namespace: NS}, spec: {selector: {app: shop}, ports: [{name: http, port: 80}]}}\n";
        let slice = "---\n{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: own, namespace: NS}, addressType: IPv4, endpoints: [{addresses: [192.0.2.10]}]}\n";
        let all = format!("{service}{slice}{}", map("a", "v"));
        drop(fixture.keep(&all, &revision("1")).await);
        let live = fixture.live("v1", "Service", "shop").await;
        let live = live.expect("it was applied");
        let made = json!({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
            "metadata": {"name": "shop-x7f2k", "labels": live["metadata"]["labels"],
                "ownerReferences": [{"apiVersion": "v1", "kind": "Service", "name": "shop",
                    "uid": live["metadata"]["uid"], "controller": true}]},
            "addressType": "IPv4", "endpoints": [{"addresses": ["192.0.2.11"]}]});
        fixture.apply_as("endpointslice-controller", &made).await;
        let rest = format!("{service}{}", map("a", "v"));
        drop(fixture.keep(&rest, &revision("2")).await);
        let slice = |name| fixture.live("discovery.k8s.io/v1", "EndpointSlice", name);
        assert!(slice("own").await.is_none(), "it was ours");
        assert!(slice("shop-x7f2k").await.is_some(), "it was not");
    });
}

/// An older backup, with more in it; with its managed fields, as some tools restore them, and without.
#[test]
fn what_was_restored_is_applied_again_and_goes_only_after_that() {
    prove("restored", &async |fixture: &Fixture| {
        let all = ["a", "b", "c", "d"].map(|name| map(name, "v")).concat();
        drop(fixture.keep(&all, &revision("1")).await);
        for name in ["a", "b", "c"] {
            let before = applied(fixture, name).await;
            fixture.delete(name).await;
            let mut backup = copied(&before, name);
            backup["data"] = json!({"k": "old", "more": "old"});
            if name == "c" {
                backup["data"] = before["data"].clone();
            }
            fixture.create_as("velero-server", &backup).await;
            if name != "a" {
                let mut managers = before["metadata"]["managedFields"].clone();
                for entry in managers.as_array_mut().expect("a list") {
                    entry["time"] = json!("1960-01-01T00:00:00Z");
                }
                let restored = json!({"apiVersion": "v1", "kind": "ConfigMap",
                    "metadata": {"name": name, "managedFields": managers}});
                fixture.change_as("velero-server", &restored).await;
            }
        }
        let rest = ["a", "c", "d"].map(|name| map(name, "v")).concat();
        let mut planned = fixture.would_change(&rest, "a").await;
        planned.retain(|field| field.starts_with("/data"));
        assert_eq!(planned, ["/data/k", "/data/more"]);
        let kept = fixture.keep(&rest, &revision("2")).await;
        assert!(kept.leaving.is_empty(), "{:?}", kept.leaving);
        drop(kept);
        for name in ["a", "c"] {
            let live = applied(fixture, name).await;
            assert_eq!(live["data"], json!({"k": "v"}), "{name}");
            assert!(is_ours(fixture, name).await, "{live:#}");
        }
        fixture.asked();
        drop(fixture.keep(&rest, &revision("2")).await);
        assert_eq!(fixture.writes(), [], "it is as it is wanted");
        let kept = fixture.keep(&map("d", "v"), &revision("3")).await;
        for name in ["a", "c"] {
            let left = kept.left("ConfigMap", &fixture.namespace, name);
            assert_eq!(left, Some(&PruneStatus::Gone));
        }
        assert_eq!(fixture.config_maps().await, ["b", "d"], "nobody named b");
    });
}

#[test]
fn an_object_without_managed_fields_is_applied_again_or_left_alone() {
    prove("cleared_managers", &async |fixture: &Fixture| {
        let both = format!("{}{}", map("a", "v"), map("b", "v"));
        let kept = fixture.keep(&both, &revision("1")).await;
        let clear = async |name: &str| {
            let cleared = json!({"apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": name, "managedFields": [{}]}});
            fixture.change_as("somebody", &cleared).await;
        };
        clear("a").await;
        assert!(comes(async || is_ours(fixture, "a").await).await);
        let live = applied(fixture, "a").await;
        let managers = live["metadata"]["managedFields"].as_array();
        assert_eq!(managers.map(Vec::len), Some(1), "{live:#}");
        drop(kept);
        clear("b").await;
        drop(fixture.keep(&map("a", "v"), &revision("2")).await);
        assert_eq!(fixture.config_maps().await, ["a", "b"]);
        drop(fixture.keep(&map("b", "w"), &revision("3")).await);
        assert_eq!(fixture.config_maps().await, ["b"], "a was ours again");
        assert!(is_ours(fixture, "b").await);
    });
}

/// What our own objects go through in the hands of others does not make them somebody else's.
#[test]
fn what_others_write_into_our_objects_leaves_them_ours() {
    prove("still_ours", &async |fixture: &Fixture| {
        let both = format!("{}{}", map("a", "v"), map("b", "v"));
        drop(fixture.keep(&both, &revision("1")).await);
        let a = applied(fixture, "a").await;
        let mut forced = copied(&a, "a");
        forced["data"] = json!({"k": "theirs"});
        fixture.apply_as("another-tool", &forced).await;
        fixture
            .change_as("kubectl-client-side-apply", &copied(&a, "a"))
            .await;
        assert!(is_ours(fixture, "a").await);
        drop(fixture.keep(&map("b", "v"), &revision("2")).await);
        assert_eq!(fixture.config_maps().await, ["b"]);
    });
}
