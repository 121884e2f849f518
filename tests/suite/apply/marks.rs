//! What the objects carry when they were applied.

use capstan::apply::State;
use serde_json::json;
use sha2::{Digest, Sha256};

use capstan::plan::against_none;

use super::fixture::{Fixture, fleet, set, text, version};

const FLEET: &str = "\
{apiVersion: v1, kind: Namespace, metadata: {name: here}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: here}, data: {k: v}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: here, annotations: {capstan.dev/deletion-policy: Orphan}}}
";

#[tokio::test(start_paused = true)]
async fn objects_say_whose_they_are_what_was_applied_and_how_they_end() {
    let fixture = Fixture::new();
    fixture.run(FLEET).until_ready().await;
    for (kind, name, policy) in [
        ("Namespace", "here", "Orphan"),
        ("ConfigMap", "a", "Delete"),
        ("ConfigMap", "b", "Orphan"),
    ] {
        let live = fixture.live(kind, name);
        let labels = &live["metadata"]["labels"];
        assert_eq!(labels["applyset.kubernetes.io/part-of"], json!(set().id()));
        assert_eq!(labels["app.kubernetes.io/managed-by"], "capstan");
        let annotations = &live["metadata"]["annotations"];
        assert_eq!(annotations["capstan.dev/deletion-policy"], policy, "{name}");
        assert_eq!(annotations["capstan.dev/source"], "fleet.yaml");
        assert_eq!(
            text(annotations, &["capstan.dev/applied"]).len(),
            64,
            "{live}"
        );
    }
}

#[test]
fn the_applied_hash_is_that_of_the_payload_without_it() {
    let compiled = fleet(FLEET);
    let plan = against_none(&compiled.objects, &compiled.graph, &set());
    assert_eq!(plan.steps.len(), 3);
    for step in plan.steps {
        let mut payload = step.action.payload.json();
        let annotations = payload["metadata"]["annotations"].as_object_mut();
        let applied = annotations
            .expect("a map")
            .remove("capstan.dev/applied")
            .expect("a hash");
        let digest = Sha256::digest(payload.to_string());
        let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(applied, json!(digest));
    }
}

#[tokio::test(start_paused = true)]
async fn applying_the_same_again_changes_nothing() {
    let fixture = Fixture::new();
    fixture.run(FLEET).until_ready().await;
    let versions = |fixture: &Fixture| -> Vec<u64> {
        let live = [
            ("Namespace", "here"),
            ("ConfigMap", "a"),
            ("ConfigMap", "b"),
        ];
        live.map(|(kind, name)| version(&fixture.live(kind, name)))
            .into()
    };
    let first = versions(&fixture);
    let mut again = fixture.run(FLEET);
    again.until_ready().await;
    assert_eq!(versions(&fixture), first);
    assert!(
        again
            .seen
            .iter()
            .all(|progress| progress.state != State::Failed)
    );
}
