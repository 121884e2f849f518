//! A delivery, from its first header to the answer.
//!
//! The order is that of cost: the type, the announced length, the counted length, the signature, and only
//! then the payload. Whoever is authenticated gets 200, also when there is nothing to do: Azure DevOps and
//! GitLab switch off a webhook that is answered otherwise. All others learn nothing.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use http::header::CONTENT_LENGTH;
use http::{HeaderMap, StatusCode};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use jiff::Timestamp;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::compare::Refusal;
use super::event::{self, Event, Kind};
use super::form::{self, BodyType};
use super::hints::Hints;
use super::metrics::{Delivered, Metrics};
use super::repository::{self, Spelling};
use super::secrets::SecretSource;
use super::sender::Sender;
use super::signature::{Delivery, authenticate};

/// How long a body may take to arrive: GitHub, the slowest, gives up after 10 seconds.
const ARRIVAL: Duration = Duration::from_secs(10);
/// How many KiB of bodies may be in memory at once, whoever sends them.
const ROOM: usize = 64 * 1024;
/// The same for one of several fleets: the largest body has room, and what is sent to one keeps no other out.
const ROOM_OF_ONE: usize = ROOM / 2;

/// The room of several fleets together.
pub(super) fn shared_room() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(ROOM))
}

/// Takes deliveries for one repository.
pub struct Webhooks {
    secrets: SecretSource,
    /// The repository's path; `None` if its address has none: then every delivery is for it.
    repository: Option<String>,
    hints: Arc<Hints>,
    metrics: Arc<Metrics>,
    /// The time outside.
    now: fn() -> Timestamp,
    room: Room,
}

/// The memory for bodies, in KiB.
struct Room {
    own: Semaphore,
    /// That of several fleets together.
    shared: Option<Arc<Semaphore>>,
}

impl Room {
    /// Takes so much of it, until the answer is dropped.
    fn take(&self, more: u32) -> Result<[Option<SemaphorePermit<'_>>; 2], Delivered> {
        let own = self.own.try_acquire_many(more);
        let own = own.map_err(|_| Delivered::Busy)?;
        let shared = self.shared.as_ref().map(|room| room.try_acquire_many(more));
        let shared = shared.transpose().map_err(|_| Delivered::Busy)?;
        Ok([Some(own), shared])
    }
}

impl Webhooks {
    /// For the repository at `url`, whose senders know one of `secrets`.
    #[must_use]
    pub fn new(
        url: &str,
        secrets: SecretSource,
        hints: Arc<Hints>,
        metrics: Arc<Metrics>,
        now: fn() -> Timestamp,
    ) -> Self {
        Self {
            secrets,
            repository: repository::path(url),
            hints,
            metrics,
            now,
            room: Room {
                own: Semaphore::new(ROOM),
                shared: None,
            },
        }
    }

    /// The same beside the webhooks of other fleets, all of which have this room.
    #[must_use]
    pub(super) fn beside_others(self, shared: &Arc<Semaphore>) -> Self {
        let room = Room {
            own: Semaphore::new(ROOM_OF_ONE),
            shared: Some(Arc::clone(shared)),
        };
        Self { room, ..self }
    }

    /// Takes one delivery in.
    pub(super) async fn deliver(&self, sender: Sender, request: Request) -> StatusCode {
        let result = self.judge(sender, request).await;
        let result = result.unwrap_or_else(|refused| refused);
        let count = self.metrics.delivered(sender, result);
        let forge = sender.name();
        match result {
            Delivered::Unsigned | Delivered::Unauthorized if count == 1 => tracing::warn!(
                forge,
                "a webhook delivery is not authenticated: compare the secret of the webhook with the one configured here; \
                 further ones are counted in /metrics"
            ),
            _ => tracing::debug!(forge, result = result.name(), "a webhook delivery"),
        }
        status(result)
    }

    async fn judge(&self, sender: Sender, request: Request) -> Result<Delivered, Delivered> {
        let (parts, body) = request.into_parts();
        let headers = parts.headers;
        let body_type = body_type(sender, &headers)?;
        let limit = sender.body_limit();
        if announced(&headers).is_some_and(|length| length > limit) {
            return Err(Delivered::TooLarge);
        }
        let arriving = tokio::time::timeout(ARRIVAL, self.body(body, limit));
        let body = arriving.await.map_err(|_| Delivered::Incomplete)??;
        let delivery = Delivery {
            sender,
            headers: &headers,
            body: &body,
            body_type,
        };
        let secrets = (self.secrets)().await.ok_or(Delivered::Busy)?;
        let now = (self.now)().as_second();
        authenticate(&delivery, &secrets, now).map_err(|refusal| match refusal {
            Refusal::Unsigned => Delivered::Unsigned,
            Refusal::Wrong => Delivered::Unauthorized,
        })?;
        Ok(self.authentic(&delivery))
    }

    /// The body takes room as it arrives: what is only announced must not keep others out.
    async fn body(&self, body: Body, limit: usize) -> Result<Vec<u8>, Delivered> {
        let mut body = Limited::new(body, limit);
        let (mut whole, mut room) = (Vec::new(), Vec::new());
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame.map_err(|error| broken(&*error))?.into_data() else {
                continue;
            };
            let held = whole.len().div_ceil(1024);
            whole.extend_from_slice(&data);
            let more = whole.len().div_ceil(1024) - held;
            let more = u32::try_from(more).map_err(|_| Delivered::TooLarge)?;
            room.push(self.room.take(more)?);
        }
        Ok(whole)
    }

    /// Leaves a hint if the delivery is a reason to fetch.
    fn authentic(&self, delivery: &Delivery<'_>) -> Delivered {
        let from_form = match delivery.body_type {
            Some(BodyType::Form) => form::payload(delivery.body),
            _ => None,
        };
        let payload = from_form.as_deref().unwrap_or(delivery.body);
        let Ok(event) = event::read(delivery.sender, delivery.headers, payload) else {
            return Delivered::Unreadable;
        };
        if event.kind == Kind::Other {
            return Delivered::Ignored;
        }
        if delivery.sender != Sender::Generic && !self.is_ours(&event) {
            return Delivered::OtherRepository;
        }
        match event.kind {
            Kind::Rerun(rerun) => self.hints.leave(Some(rerun)),
            Kind::Press(press) => self.hints.leave_press(press),
            _ => self.hints.leave(None),
        }
        Delivered::Accepted
    }

    fn is_ours(&self, event: &Event) -> bool {
        let Some(ours) = &self.repository else {
            return true;
        };
        let is_ours = repository::is_named(ours, &event.repository);
        if !is_ours {
            let named: Vec<&str> = event.repository.iter().map(Spelling::text).collect();
            tracing::debug!(
                ours,
                named = named.join(", "),
                "a webhook delivery for another repository"
            );
        }
        is_ours
    }
}

/// The type of a body that `sender` may send.
fn body_type(sender: Sender, headers: &HeaderMap) -> Result<Option<BodyType>, Delivered> {
    if sender.takes_anything() {
        return Ok(None);
    }
    match form::body_type(headers) {
        Some(BodyType::Form) if !sender.takes_forms() => Err(Delivered::UnsupportedType),
        None => Err(Delivered::UnsupportedType),
        known => Ok(known),
    }
}

/// Why a body did not arrive.
fn broken(error: &(dyn std::error::Error + Send + Sync + 'static)) -> Delivered {
    match error.is::<LengthLimitError>() {
        true => Delivered::TooLarge,
        false => Delivered::Incomplete,
    }
}

fn announced(headers: &HeaderMap) -> Option<usize> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

const fn status(result: Delivered) -> StatusCode {
    match result {
        Delivered::Accepted
        | Delivered::Ignored
        | Delivered::OtherRepository
        | Delivered::Unreadable => StatusCode::OK,
        Delivered::Unsigned | Delivered::Unauthorized => StatusCode::UNAUTHORIZED,
        Delivered::UnsupportedType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        Delivered::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        Delivered::Incomplete => StatusCode::REQUEST_TIMEOUT,
        Delivered::Busy => StatusCode::SERVICE_UNAVAILABLE,
    }
}
