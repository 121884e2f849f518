//! Fleet objects that are deleted: what they applied stays, or goes first, and nothing holds them for ever.

use serde_json::{Value as Json, json};

use super::fixture::{Fixture, prove};
use super::fleets::{daemon, git, install, map, path, put, wait};
use crate::daemon::World;

/// A kind of clusters as far as a fleet knows it.
fn clusters() -> Json {
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "clusters.cluster.x-k8s.io"},
        "spec": {"group": "cluster.x-k8s.io", "scope": "Namespaced",
            "names": {"kind": "Cluster", "plural": "clusters", "singular": "cluster"},
            "versions": [{"name": "v1beta2", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}]}})
}

fn cluster(fixture: &Fixture, name: &str) -> String {
    let namespace = &fixture.namespace;
    format!(
        "{{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {{name: {name}, namespace: {namespace}, annotations: {{capstan.dev/deletion-policy: Delete}}}}}}\n"
    )
}

fn has_cluster(fixture: &Fixture, name: &str) -> bool {
    let namespace = &fixture.namespace;
    fixture.has(&format!(
        "/apis/cluster.x-k8s.io/v1beta2/namespaces/{namespace}/clusters/{name}"
    ))
}

fn delete(fixture: &Fixture, name: &str) {
    fixture.must("DELETE", &path(fixture, name), &json!({}));
}

fn mirrors(fixture: &Fixture, name: &str) -> usize {
    let directory = fixture.dir.path().join("cache/fleets");
    let directory = directory.join(&fixture.namespace);
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|file| file.starts_with(name)).count()
}

#[test]
fn a_deleted_fleet_takes_its_objects_along_if_it_says_so_and_no_cluster_without_approval() {
    prove("deleted", |fixture| {
        install(fixture);
        fixture.put(&clusters());
        let [first, second, third] = [(); 3].map(|()| World::on(None));
        let both = [map(fixture, "one"), cluster(fixture, "c")].join("---\n");
        first.push("main", None, &both);
        second.push("main", None, &map(fixture, "two"));
        third.push("main", None, &map(fixture, "three"));
        let goes = json!({"deletionPolicy": "Delete"});
        put(fixture, "going", &git(&first), &goes);
        put(fixture, "staying", &git(&second), &goes);
        put(fixture, "resumed", &git(&third), &goes);
        let daemon = daemon(fixture);
        wait(fixture, "going", "Applied", "True", "");
        wait(fixture, "staying", "Ready", "True Succeeded", "");
        wait(fixture, "resumed", "Ready", "True Succeeded", "");
        let held = fixture.must("GET", &path(fixture, "going"), &Json::Null);
        assert_eq!(held["metadata"]["finalizers"], json!(["capstan.dev/fleet"]));
        assert!(mirrors(fixture, "going-") > 0);

        delete(fixture, "going");
        let loss = format!("delete {}/c", fixture.namespace);
        wait(fixture, "going", "Stalled", "True DeletionWithheld", &loss);
        assert!(has_cluster(fixture, "c"), "nobody approved");
        let approval = json!({"metadata": {"annotations": {"capstan.dev/approve": loss}}});
        let parent = fixture.path("configmaps/capstan-going");
        fixture.must("PATCH", &parent, &approval);
        fixture.until("the fleet is gone", || {
            !fixture.has(&path(fixture, "going"))
        });
        assert!(!has_cluster(fixture, "c"));
        assert!(!fixture.has(&fixture.path("configmaps/one")));
        assert!(!fixture.has(&parent));
        fixture.until("its mirror is gone", || mirrors(fixture, "going-") == 0);

        let words = "set spec.deletionPolicy: Orphan";
        fixture.asked(&["suspend", "--name", "resumed"]);
        delete(fixture, "resumed");
        wait(fixture, "resumed", "Stalled", "True Suspended", words);
        assert!(fixture.has(&fixture.path("configmaps/three")), "it waits");
        fixture.asked(&["resume", "--name", "resumed"]);
        fixture.until("the fleet is gone", || {
            !fixture.has(&path(fixture, "resumed"))
        });
        assert!(!fixture.has(&fixture.path("configmaps/three")));

        // One that nobody wants to wait for any more.
        let suspended = json!({"metadata": {"annotations": {"capstan.dev/suspended": "ann"}}});
        fixture.must("PATCH", &path(fixture, "staying"), &suspended);
        delete(fixture, "staying");
        wait(fixture, "staying", "Stalled", "True Suspended", words);
        assert!(fixture.has(&fixture.path("configmaps/two")), "it waits");
        let orphan = json!({"spec": {"deletionPolicy": "Orphan"}});
        fixture.must("PATCH", &path(fixture, "staying"), &orphan);
        fixture.until("the fleet is gone", || {
            !fixture.has(&path(fixture, "staying"))
        });
        assert!(fixture.has(&fixture.path("configmaps/two")), "it stays");
        daemon.wait("its objects stay, because spec.deletionPolicy is Orphan");
        let (code, said) = daemon.stop();
        assert_eq!(code, Some(0), "{said}");
    });
}

#[test]
fn a_fleet_whose_cluster_is_not_known_any_more_is_let_go() {
    prove("let-go", |fixture| {
        install(fixture);
        let world = World::on(None);
        world.push("main", None, &map(fixture, "one"));
        put(
            fixture,
            "prod",
            &git(&world),
            &json!({"deletionPolicy": "Delete"}),
        );
        let daemon = daemon(fixture);
        wait(fixture, "prod", "Ready", "True Succeeded", "");
        let absent = json!({"spec": {"cluster": {"kubeconfigSecretRef": {"name": "absent"}}}});
        fixture.must("PATCH", &path(fixture, "prod"), &absent);
        wait(fixture, "prod", "Stalled", "True ClusterNotReady", "");
        delete(fixture, "prod");
        daemon.wait("because Secret absent with the kubeconfig does not exist");
        fixture.until("the fleet is gone", || !fixture.has(&path(fixture, "prod")));
        assert!(fixture.has(&fixture.path("configmaps/one")), "it stays");
        let events = format!(
            "/apis/events.k8s.io/v1/namespaces/{}/events",
            fixture.namespace
        );
        let events = fixture.must("GET", &events, &Json::Null);
        let events = events["items"].as_array().expect("a list");
        let mut orphaned = events.iter().filter(|one| one["reason"] == "Orphaned");
        let event = orphaned.next().expect("it is reported");
        let note = event["note"].as_str().unwrap_or_default();
        assert!(note.contains("Secret absent with the kubeconfig"), "{note}");
        let (code, said) = daemon.stop();
        assert_eq!(code, Some(0), "{said}");
    });
}
