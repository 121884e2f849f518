//! What a refusal, a missing kind or another writer does to a run.

use capstan::apply::State;
use capstan::model::ObjectId;
use capstan::plan::Plan;
use serde_json::{Value as Json, json};
use std::sync::Arc;
use std::time::Duration;

use super::fixture::{Fixture, Run, crd, namespace, version};

const FREE: &str =
    "{apiVersion: v1, kind: ConfigMap, metadata: {name: free, namespace: default}, data: {k: v}}";

fn fleet(object: &str) -> String {
    format!("{object}\n---\n{FREE}\n")
}

/// The message of the first failure of `name`, when `free` is ready all the same.
async fn refused(run: &mut Run, name: &str) -> String {
    let progress = run.until(name, State::Failed).await;
    // In whatever order.
    while !run.ready().contains(&"free") {
        run.until_progress(|progress| progress.state == State::Ready)
            .await;
    }
    progress.message
}

#[tokio::test(start_paused = true)]
async fn an_object_that_violates_its_schema_is_reported_and_applied_once_the_schema_is_fixed() {
    let fixture = Fixture::new();
    let mut widgets = crd("Widget", "Namespaced");
    fixture.apply("somebody", &widgets).await;
    let widget = "{apiVersion: test.dev/v1, kind: Widget, metadata: {name: w, namespace: default}, spec: {size: big}}";
    let mut run = fixture.run(&fleet(widget));
    let message = refused(&mut run, "w").await;
    assert!(
        message.contains("spec.size") && message.starts_with("Widget/default/w: "),
        "{message}"
    );
    assert!(run.seen.iter().any(|progress| progress.terminal));

    let schema = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/size/type";
    *widgets.pointer_mut(schema).expect("it is there") = json!("string");
    fixture.apply("somebody", &widgets).await;
    run.until("w", State::Ready).await;
}

#[tokio::test(start_paused = true)]
async fn a_missing_kind_is_reported_and_its_object_applied_once_the_definition_exists() {
    let fixture = Fixture::new();
    let widget = "{apiVersion: test.dev/v1, kind: Widget, metadata: {name: w, namespace: default}}";
    let mut run = fixture.run(&fleet(widget));
    let message = refused(&mut run, "w").await;
    assert!(
        message.contains("does not serve Widget of test.dev/v1"),
        "{message}"
    );
    // Let it fall into the longest back-off.
    tokio::time::sleep(Duration::from_secs(600)).await;
    let now = fixture.clock.now();
    fixture
        .apply("somebody", &crd("Widget", "Namespaced"))
        .await;
    let ready = run.until("w", State::Ready).await;
    assert!(
        ready.at.duration_since(now).as_secs() <= 1,
        "it waited for {:?}",
        ready.at.duration_since(now)
    );
}

#[tokio::test(start_paused = true)]
async fn a_missing_namespace_is_reported_and_the_step_succeeds_once_it_exists() {
    let fixture = Fixture::new();
    let lost = "{apiVersion: v1, kind: ConfigMap, metadata: {name: lost, namespace: nowhere}}";
    let mut run = fixture.run(&fleet(lost));
    let message = refused(&mut run, "lost").await;
    assert!(message.contains("nowhere"), "{message}");
    assert!(
        !run.seen.iter().any(|progress| progress.terminal),
        "it may yet come"
    );
    let in_vain = run.until_progress(|progress| progress.terminal).await;
    assert_eq!(in_vain.object.name, "lost");
    fixture.apply("somebody", &namespace("nowhere")).await;
    run.until("lost", State::Ready).await;
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_controllers_use_is_watched_once_it_is_served() {
    let fixture = Fixture::new();
    let gadget = ObjectId::new("test.dev", "Gadget", "default", "g");
    let (router, plan) = (fixture.server.router(), Arc::new(Plan::default()));
    let mut run = fixture.start(router, plan, vec![(gadget.into(), "v1".into())], 32);
    let progress = run.until("g", State::Failed).await;
    assert!(!progress.terminal && progress.message.contains("does not serve Gadget"));
    fixture
        .apply("somebody", &crd("Gadget", "Namespaced"))
        .await;
    run.until("g", State::Waiting).await;
    let made = json!({"apiVersion": "test.dev/v1", "kind": "Gadget", "metadata": {"name": "g", "namespace": "default"}});
    fixture.apply("somebody", &made).await;
    run.until("g", State::Ready).await;
}

const THEIRS: &str = "{apiVersion: v1, kind: ConfigMap, metadata: {name: shared, namespace: default, annotations: {capstan.dev/adopt: \"true\", capstan.dev/force-conflicts: \"FORCE\"}}, data: {k: ours}}";

async fn contested() -> Fixture {
    let fixture = Fixture::new();
    let theirs = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "shared", "namespace": "default"}, "data": {"k": "theirs"}});
    fixture.apply("the-neighbour", &theirs).await;
    fixture
}

#[tokio::test(start_paused = true)]
async fn what_another_manager_wrote_is_left_alone_and_the_manager_named() {
    let fixture = contested().await;
    let mut run = fixture.run(&fleet(&THEIRS.replace("FORCE", "false")));
    let message = refused(&mut run, "shared").await;
    assert!(
        message.contains("the-neighbour") && message.contains(".data.k"),
        "{message}"
    );
    run.until_progress(|progress| progress.terminal).await;
    assert_eq!(
        fixture.live("ConfigMap", "shared")["data"]["k"],
        json!("theirs")
    );
}

#[tokio::test(start_paused = true)]
async fn fields_of_another_manager_are_taken_when_the_object_asks_for_it() {
    let fixture = contested().await;
    let mut run = fixture.run(&fleet(&THEIRS.replace("FORCE", "true")));
    run.until_ready().await;
    assert_eq!(
        fixture.live("ConfigMap", "shared")["data"]["k"],
        json!("ours")
    );
}

fn free() -> Json {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "free", "namespace": "default"}})
}

#[tokio::test(start_paused = true)]
async fn a_deletion_by_somebody_else_is_reported_and_so_is_the_return() {
    let fixture = Fixture::new();
    let mut run = fixture.run(FREE);
    run.until("free", State::Ready).await;
    let before = version(&fixture.live("ConfigMap", "free"));
    fixture.delete(&free()).await;
    let progress = run.until("free", State::Progressing).await;
    assert!(
        progress.message.starts_with("it was deleted"),
        "{progress:?}"
    );
    let mut back = free();
    back["metadata"]["labels"] =
        json!({"applyset.kubernetes.io/part-of": super::fixture::set().id()});
    fixture.apply("somebody", &back).await;
    run.until("free", State::Ready).await;
    assert!(version(&fixture.live("ConfigMap", "free")) > before);
}
