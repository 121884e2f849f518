//! One step, sent.
//!
//! In: a step. Out: its object as the cluster holds it now, and how the cluster serves its kind. It
//! does not know: whether the step may be sent, what follows.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures::FutureExt as _;
use kube::api::{DynamicObject, Patch, PatchParams};
use kube::{Api, Client};
use serde_json::Value as Json;

use super::Error;
use super::discovery::{Discovery, Served};
use crate::model::{Action, ObjectId, Step};

/// How long an answer may take. As long as an API server lets a request take, by default.
const PATIENCE: Duration = Duration::from_secs(60);

/// What the cluster made of a step.
pub(super) struct Answer {
    pub(super) served: Served,
    pub(super) live: Json,
}

/// Carries out `step`. A request that panics is an error like others: its place is given back.
pub(super) async fn send(
    client: &Client,
    discovery: &Discovery,
    step: &Step,
) -> Result<Answer, Error> {
    let attempt = AssertUnwindSafe(attempt(client, discovery, step)).catch_unwind();
    match in_time(&step.object, attempt.map(Ok)).await? {
        Ok(answer) => answer,
        Err(_) => Err(Error::Unsendable {
            object: step.object.clone(),
            cause: "a bug in capstan; please report it".to_owned(),
        }),
    }
}

/// The answer to a question about `object`, or the error that none came.
pub(super) async fn in_time<T>(
    object: &ObjectId,
    answer: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    match tokio::time::timeout(PATIENCE, answer).await {
        Ok(answer) => answer,
        Err(_) => Err(Error::Silent {
            object: object.clone(),
            patience: PATIENCE,
        }),
    }
}

async fn attempt(client: &Client, discovery: &Discovery, step: &Step) -> Result<Answer, Error> {
    let Action::Apply {
        payload,
        manager,
        force,
        ..
    } = &step.action;
    let id = &step.object;
    let served = discovery.resolve(id, version(payload)).await?;
    let mut params = PatchParams::apply(manager);
    params.force = *force;
    let api = api(client, &served, &id.namespace);
    let answer = api.patch(&id.name, &params, &Patch::Apply(payload)).await;
    let live = answer.map_err(|error| Error::new(id, error))?;
    // A dynamic object is made of JSON, so it always turns into JSON again.
    let live = serde_json::to_value(live).unwrap_or_default();
    Ok(Answer { served, live })
}

/// The version in `apiVersion`, without the group.
fn version(payload: &Json) -> &str {
    let text = payload["apiVersion"].as_str().unwrap_or_default();
    text.rsplit('/').next().unwrap_or_default()
}

fn api(client: &Client, served: &Served, namespace: &str) -> Api<DynamicObject> {
    match (served.namespaced, namespace) {
        (false, _) => Api::all_with(client.clone(), &served.resource),
        (true, "") => Api::namespaced_with(client.clone(), "default", &served.resource),
        (true, namespace) => Api::namespaced_with(client.clone(), namespace, &served.resource),
    }
}
