//! Answers to reviews.
//!
//! In: requests of the API server. Out: an answer to each, in time: a body that is too large or no review, a cluster that
//! cannot be read and a bug in a rule are answered as the setting says. Whoever reaches the port may send requests, so
//! that memory is handed out before a body is read, and namespaces take turns once it is. Work ends when nobody waits for
//! it. It does not know: TLS.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, HttpBody as _};
use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use http::{StatusCode, header};
use http_body_util::{BodyExt as _, Limited};
use serde_json::Value as Json;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::certificates::Serving;
use super::queue::Queue;
use super::reader::Reader;
use crate::admission::{
    Cost, Decision, Malformed, Outline, PATH, Request, decide, queries, refused_as_too_large,
    refused_by_failure, refused_for_now, response, uid_of,
};
use crate::api::fleet::{FailurePolicy, FleetPolicy};

/// How long an answer may take. The API server waits a second longer.
pub const ANSWER: Duration = Duration::from_secs(4);
/// The largest body: the API server accepts objects of 3 MiB, and sends the old and the new one with a little around them.
pub const MOST_BYTES: usize = 2 * (3 << 20) + SHARE / 2;
/// How many shares of bodies are held at once; others wait, unread.
const SHARES: usize = 24;
/// The part of a body that one share is good for. A larger body needs several.
const SHARE: usize = 1 << 20;
/// How many small bodies are held at once beside the others: they do not wait for large ones, and those of one namespace do
/// not take all of it.
const SMALL_AT_ONCE: usize = 128;
/// The largest body that is small. That of a cluster of Capstan has 30 KiB.
const SMALL: usize = 128 << 10;
const LATE: &str = "there was no answer in time; try again, or look for what keeps the webhook or the API server busy";
const BUG: &str = "a rule failed on it; this is a bug in Capstan, please report it";

/// The webhook's answers.
pub struct Webhook {
    reader: Arc<dyn Reader>,
    policy: Arc<FleetPolicy>,
    failure: FailurePolicy,
    shares: Arc<Semaphore>,
    small: Arc<Semaphore>,
    queue: Arc<Queue>,
    /// Those that may be decided: one of a namespace, two in all.
    decisions: Arc<Queue>,
    serving: Arc<Serving>,
}

/// A body, with the memory for it.
struct Held {
    body: Bytes,
    _shares: OwnedSemaphorePermit,
}

/// The outline of a request: what to do with it.
enum Survey {
    /// It cannot make an object worse.
    Exempt,
    /// The object is too large to be checked.
    TooLarge(String),
    /// It waits for the turn of its namespace.
    Waits(String, Cost),
}

/// The reason that a review has no decision.
enum Undecided {
    /// It is answered as the setting says.
    Failed(String),
    /// So, but it is worth another try.
    Busy(String),
    /// It is refused, whatever the setting says.
    TooLarge(String),
}

impl Undecided {
    fn failed(why: &impl ToString) -> Self {
        Self::Failed(why.to_string())
    }
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
            shares: Arc::new(Semaphore::new(SHARES)),
            small: Arc::new(Semaphore::new(SMALL_AT_ONCE)),
            queue: Arc::default(),
            decisions: Arc::default(),
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

    async fn answer(self: Arc<Self>, held: Held, until: Instant) -> Response {
        let Some(uid) = uid_of(&held.body) else {
            return plain(
                StatusCode::BAD_REQUEST,
                "the body is not an AdmissionReview\n",
            );
        };
        let failure = self.failure;
        // A bug ends only the request that it is about.
        let decision = AbortOnDropHandle::new(tokio::spawn(self.decision(held, until)));
        let undecided = match timeout_at(until, decision).await {
            Ok(Ok(Ok(decision))) => return json(&response(&uid, &decision)),
            Ok(Ok(Err(undecided))) => undecided,
            Ok(Err(_)) => Undecided::failed(&BUG),
            Err(_) => Undecided::failed(&LATE),
        };
        match undecided {
            Undecided::TooLarge(why) => {
                tracing::info!("admission: refused: {why}");
                json(&refused_as_too_large(&uid, &why))
            }
            Undecided::Busy(why) => {
                tracing::warn!("admission: a request cannot be judged: {why}");
                json(&refused_for_now(&uid, failure, &why))
            }
            Undecided::Failed(why) => {
                tracing::warn!("admission: a request cannot be judged: {why}");
                json(&refused_by_failure(&uid, failure, &why))
            }
        }
    }

    async fn decision(self: Arc<Self>, held: Held, until: Instant) -> Result<Decision, Undecided> {
        // Dropped with this future: when it is too late, and when the API server hangs up.
        let nobody_waits = CancellationToken::new();
        let _waits = nobody_waits.clone().drop_guard();
        let (survey, held) = in_the_background(|| (survey(&held.body), held)).await?;
        let (namespace, cost) = match survey.map_err(|why| Undecided::failed(&why))? {
            Survey::Exempt => return Ok(Decision::default()),
            Survey::TooLarge(why) => return Err(Undecided::TooLarge(why)),
            Survey::Waits(namespace, cost) => (namespace, cost),
        };
        let too_many = || {
            let why = format!("too many requests of namespace {namespace:?} at once; try again");
            Undecided::Busy(why)
        };
        let turn = self.queue.enter(&namespace, cost).await;
        let turn = turn.ok_or_else(too_many)?;
        // The body and the memory for it are free once it is read.
        let read = in_the_background(move || (Request::read(&held.body), turn));
        let (request, turn) = read.await?;
        let request = request.map_err(|why| Undecided::failed(&why))?;
        let around = self.reader.read(queries(&request)).await;
        let around = around.map_err(|why| Undecided::failed(&why))?;
        let deciding = self.decisions.enter(&namespace, Cost::ALL_OF_ONE).await;
        let deciding = deciding.ok_or_else(too_many)?;
        let is_over = move || nobody_waits.is_cancelled() || Instant::now() >= until;
        let id = request.id.clone();
        let decided = in_the_background(move || {
            let _until_here = (turn, deciding);
            decide(&request, &around, &self.policy, &is_over)
        });
        let decision = decided.await?.ok_or_else(|| Undecided::failed(&LATE))?;
        if let [error, more @ ..] = decision.errors.as_slice() {
            let (rule, message, more) = (error.id, &error.message, more.len());
            tracing::info!("admission: refused {id}: {rule} {message}, and {more} more");
        }
        Ok(decision)
    }
}

/// Does what takes time on a thread that no other request needs.
async fn in_the_background<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Undecided> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|_| Undecided::failed(&BUG))
}

fn survey(body: &[u8]) -> Result<Survey, Malformed> {
    let outline = Outline::read(body)?;
    if outline.is_exempt() {
        return Ok(Survey::Exempt);
    }
    Ok(match outline.excess() {
        Some(why) => Survey::TooLarge(why),
        None => Survey::Waits(outline.namespace().to_owned(), outline.cost()),
    })
}

async fn review(
    State(webhook): State<Arc<Webhook>>,
    RawQuery(query): RawQuery,
    body: Body,
) -> Response {
    let until = Instant::now() + patience(query.as_deref());
    let too_large = || {
        let text = "the body is too large, or ended early\n";
        plain(StatusCode::PAYLOAD_TOO_LARGE, text)
    };
    let Some(bytes) = length(&body) else {
        return too_large();
    };
    let shares = match bytes <= SMALL {
        true => Arc::clone(&webhook.small).acquire_many_owned(1),
        false => Arc::clone(&webhook.shares).acquire_many_owned(shares(bytes)),
    };
    let Ok(Ok(shares)) = timeout_at(until, shares).await else {
        let text = "there are too many requests at once\n";
        return plain(StatusCode::SERVICE_UNAVAILABLE, text);
    };
    match timeout_at(until, Limited::new(body, bytes).collect()).await {
        Ok(Ok(body)) => {
            let held = Held {
                body: body.to_bytes(),
                _shares: shares,
            };
            webhook.answer(held, until).await
        }
        Ok(Err(_)) => too_large(),
        Err(_) => plain(StatusCode::REQUEST_TIMEOUT, "the body took too long\n"),
    }
}

/// How long the API server waits for an answer, if it says so, less what the way back may take; at most [`ANSWER`].
fn patience(query: Option<&str>) -> Duration {
    let mut parameters = query.unwrap_or_default().split('&');
    let seconds = parameters.find_map(|one| one.strip_prefix("timeout=")?.strip_suffix('s'));
    let seconds = seconds.and_then(|text| text.parse::<u8>().ok());
    let waits = seconds.map(|seconds| Duration::from_secs(seconds.into()) * 4 / 5);
    waits.unwrap_or(ANSWER).min(ANSWER)
}

/// How many bytes `body` has, or could have if it does not say. `None` if it is too large.
fn length(body: &Body) -> Option<usize> {
    let bytes = body.size_hint().upper().map(usize::try_from);
    let bytes = bytes.map_or(Some(MOST_BYTES), Result::ok)?;
    (bytes <= MOST_BYTES).then_some(bytes)
}

/// How many shares a body of so many bytes needs.
fn shares(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(SHARE)).unwrap_or(u32::MAX)
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
