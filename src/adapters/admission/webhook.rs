//! Answers to reviews.
//!
//! In: requests of the API server. Out: an answer to each, in time: a body that is too large or no review, a cluster that
//! cannot be read and a bug in a rule are answered as the setting says. Whoever reaches the port may send requests, so
//! that memory is handed out before a body is read. It does not know: TLS.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, HttpBody as _};
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use http::{StatusCode, header};
use http_body_util::{BodyExt as _, Limited};
use serde_json::Value as Json;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};
use tokio_util::task::AbortOnDropHandle;

use super::certificates::Serving;
use super::reader::Reader;
use crate::admission::{
    Decision, PATH, Request, decide, queries, refused_by_failure, response, uid_of,
};
use crate::api::fleet::{FailurePolicy, FleetPolicy};

/// How long an answer may take. The API server waits a second longer.
pub const ANSWER: Duration = Duration::from_secs(4);
/// The largest body: the API server accepts objects of 3 MiB, and sends the old and the new one with a little around them.
pub const MOST_BYTES: usize = 2 * (3 << 20) + SHARE / 2;
/// How many requests are held at once; others wait their turn, with their bodies unread.
const AT_ONCE: usize = 16;
/// The part of a body that one turn is good for. A larger body needs several turns.
const SHARE: usize = 1 << 20;
const BUG: &str = "a rule failed on it; this is a bug in Capstan, please report it";

/// The webhook's answers.
pub struct Webhook {
    reader: Arc<dyn Reader>,
    policy: Arc<FleetPolicy>,
    failure: FailurePolicy,
    turns: Arc<Semaphore>,
    serving: Arc<Serving>,
}

impl Webhook {
    /// Answers by the rule settings of `policy`, and with `failure` if it cannot judge.
    pub fn new(
        reader: Arc<dyn Reader>,
        policy: FleetPolicy,
        failure: FailurePolicy,
        serving: Arc<Serving>,
    ) -> Self {
        Self {
            reader,
            policy: Arc::new(policy),
            failure,
            turns: Arc::new(Semaphore::new(AT_ONCE)),
            serving,
        }
    }

    /// Reviews, and health.
    pub fn router(self) -> Router {
        Router::new()
            .route(PATH, post(review))
            .route("/healthz", get(async || "ok\n"))
            .route("/readyz", get(ready))
            .with_state(Arc::new(self))
    }

    async fn answer(
        self: Arc<Self>,
        body: Bytes,
        turn: OwnedSemaphorePermit,
        until: Instant,
    ) -> Response {
        let Some(uid) = uid_of(&body) else {
            return plain(
                StatusCode::BAD_REQUEST,
                "the body is not an AdmissionReview\n",
            );
        };
        let failure = self.failure;
        // A bug ends only the request that it is about.
        let decision = AbortOnDropHandle::new(tokio::spawn(self.decision(body, turn)));
        let why = match timeout_at(until, decision).await {
            Ok(Ok(Ok(decision))) => return json(&response(&uid, &decision)),
            Ok(Ok(Err(why))) => why,
            Ok(Err(_)) => BUG.to_owned(),
            Err(_) => format!("no answer within {} seconds", ANSWER.as_secs()),
        };
        tracing::warn!("admission: a request cannot be judged: {why}");
        json(&refused_by_failure(&uid, failure, &why))
    }

    async fn decision(
        self: Arc<Self>,
        body: Bytes,
        turn: OwnedSemaphorePermit,
    ) -> Result<Decision, String> {
        let request = Request::read(&body).map_err(|error| error.to_string())?;
        drop(body);
        let around = self.reader.read(queries(&request)).await;
        let around = around.map_err(|error| error.to_string())?;
        let policy = Arc::clone(&self.policy);
        let id = request.id.clone();
        let judged = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            decide(&request, &around, &policy)
        });
        let decision = judged.await.map_err(|_| BUG.to_owned())?;
        if let [error, more @ ..] = decision.errors.as_slice() {
            let (rule, message, more) = (error.id, &error.message, more.len());
            tracing::info!("admission: refused {id}: {rule} {message}, and {more} more");
        }
        Ok(decision)
    }
}

async fn review(State(webhook): State<Arc<Webhook>>, body: Body) -> Response {
    let until = Instant::now() + ANSWER;
    let too_large = || {
        let text = "the body is too large, or ended early\n";
        plain(StatusCode::PAYLOAD_TOO_LARGE, text)
    };
    let Some(turns) = turns(&body) else {
        return too_large();
    };
    let turn = Arc::clone(&webhook.turns).acquire_many_owned(turns);
    let Ok(Ok(turn)) = timeout_at(until, turn).await else {
        let text = "there are too many requests at once\n";
        return plain(StatusCode::SERVICE_UNAVAILABLE, text);
    };
    match timeout_at(until, Limited::new(body, MOST_BYTES).collect()).await {
        Ok(Ok(body)) => webhook.answer(body.to_bytes(), turn, until).await,
        Ok(Err(_)) => too_large(),
        Err(_) => plain(StatusCode::REQUEST_TIMEOUT, "the body took too long\n"),
    }
}

/// How many turns `body` needs: as many as it could need, if it does not say its length. `None` if it is too large.
fn turns(body: &Body) -> Option<u32> {
    let bytes = body.size_hint().upper().map(usize::try_from);
    let bytes = bytes.map_or(Some(MOST_BYTES), Result::ok)?;
    let is_allowed = bytes <= MOST_BYTES;
    let turns = is_allowed.then(|| bytes.div_ceil(SHARE).max(1))?;
    u32::try_from(turns).ok()
}

fn plain(status: StatusCode, text: &'static str) -> Response {
    (status, text).into_response()
}

async fn ready(State(webhook): State<Arc<Webhook>>) -> (StatusCode, &'static str) {
    match webhook.serving.is_ready() {
        true => (StatusCode::OK, "ok\n"),
        false => (
            StatusCode::SERVICE_UNAVAILABLE,
            "there is no certificate yet\n",
        ),
    }
}

fn json(answer: &Json) -> Response {
    (
        [(header::CONTENT_TYPE, "application/json")],
        answer.to_string(),
    )
        .into_response()
}
