//! Which step is sent when.

use std::time::Duration;

use capstan::apply::State;
use serde_json::json;

use super::fixture::{Fixture, crd};

#[tokio::test(start_paused = true)]
async fn a_step_is_sent_after_what_it_needs() {
    let fixture = Fixture::new();
    let mut run = fixture.run(
        "\
{apiVersion: v1, kind: ConfigMap, metadata: {name: last, namespace: here, annotations: {config.kubernetes.io/depends-on: /namespaces/here/ConfigMap/middle}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: middle, namespace: here}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: here}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: free, namespace: default}}
",
    );
    run.until_ready().await;
    // `free` needs nothing: whose kind is listed first comes first.
    let made = fixture.made();
    let needing: Vec<&String> = made.iter().filter(|name| *name != "free").collect();
    assert_eq!(needing, ["here", "middle", "last"]);
}

#[tokio::test(start_paused = true)]
async fn a_raw_vault_is_sent_the_moment_its_resource_group_is_ready() {
    let fixture = Fixture::with_azure().await;
    let mut run = fixture.run(
        "\
{apiVersion: keyvault.azure.com/v1api20230701, kind: Vault, metadata: {name: kv, namespace: default}, spec: {azureName: team-kv, location: uksouth, owner: {name: rg}, properties: {sku: {family: A, name: standard}}}}
---
{apiVersion: resources.azure.com/v1api20200601, kind: ResourceGroup, metadata: {name: rg, namespace: default}, spec: {location: uksouth}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: free, namespace: default}}
",
    );
    run.until_ready().await;
    let ready = run.when("rg", State::Ready);
    assert!(
        ready > run.when("rg", State::Applied),
        "Azure takes a while"
    );
    assert_eq!(
        run.when("kv", State::Applied),
        ready,
        "no earlier and no later"
    );
    assert!(
        run.when("free", State::Applied) < ready,
        "nobody else waits"
    );
}

#[tokio::test(start_paused = true)]
async fn one_plan_holds_a_definition_and_a_resource_of_its_kind() {
    let fixture = Fixture::new();
    let widget = "{apiVersion: test.dev/v1, kind: Widget, metadata: {name: w, namespace: default}}";
    let mut run = fixture.run(&format!("{widget}\n---\n{}\n", crd("Widget", "Namespaced")));
    run.until_ready().await;
    assert_eq!(fixture.made(), ["widgets.test.dev", "w"]);
    assert!(
        run.seen
            .iter()
            .all(|progress| progress.state != State::Failed),
        "{:#?}",
        run.seen
    );
}

/// Files may name a namespace where the kind has none, or leave it to us to guess.
#[tokio::test(start_paused = true)]
async fn a_cluster_scoped_custom_resource_is_followed_too() {
    let fixture = Fixture::new();
    fixture.apply("somebody", &crd("Realm", "Cluster")).await;
    let mut run =
        fixture.run("{apiVersion: test.dev/v1, kind: Realm, metadata: {name: r}, spec: {size: 1}}");
    run.until("r", State::Ready).await;
    let realm = json!({"apiVersion": "test.dev/v1", "kind": "Realm", "metadata": {"name": "r"}});
    fixture.delete(&realm).await;
    let progress = run.until("r", State::Progressing).await;
    assert!(
        progress.message.starts_with("it was deleted"),
        "{progress:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn nothing_is_sent_any_more_once_the_run_is_dropped() {
    let fixture = Fixture::with_azure().await;
    let mut run = fixture.run(
        "\
{apiVersion: keyvault.azure.com/v1api20230701, kind: Vault, metadata: {name: kv, namespace: default}, spec: {azureName: team-kv, location: uksouth, owner: {name: rg}, properties: {sku: {family: A, name: standard}}}}
---
{apiVersion: resources.azure.com/v1api20200601, kind: ResourceGroup, metadata: {name: rg, namespace: default}, spec: {location: uksouth}}
",
    );
    run.until("rg", State::Applied).await;
    drop(run);
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(
        fixture.live("ResourceGroup", "rg")["status"]["conditions"][0]["status"],
        "True"
    );
    assert_eq!(fixture.made(), ["rg"]);
}

#[tokio::test(start_paused = true)]
async fn a_problem_with_a_kind_is_reported_with_the_same_message_for_each_object() {
    let fixture = Fixture::new();
    let widget = |at: usize| {
        format!(
            "---\n{{apiVersion: x.dev/v1, kind: Widget, metadata: {{name: w{at}, namespace: default}}}}\n"
        )
    };
    let mut run = fixture.run(&(0..3).map(widget).collect::<String>());
    // Another request reports nothing new.
    for _ in 0..12 {
        let progress = run
            .until_progress(|progress| progress.state == State::Failed)
            .await;
        let expected = format!(
            "{}: the cluster does not serve Widget of x.dev/v1",
            progress.object
        );
        assert!(
            progress.message.starts_with(&expected),
            "{}",
            progress.message
        );
    }
}
