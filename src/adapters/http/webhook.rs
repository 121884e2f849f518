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
use tracing::{Instrument as _, Span};

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
/// The same for the fleets of one namespace of several: the largest body has room, and what is sent to one tenant keeps no other out.
const ROOM_OF_ONE: usize = ROOM / 2;

/// The memory for bodies of all fleets together.
pub(super) fn whole_room() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(ROOM))
}

/// That of the fleets of one namespace.
pub(super) fn room_of_one() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(ROOM_OF_ONE))
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
    /// The memory for bodies, in KiB: a body needs room in each.
    rooms: Vec<Arc<Semaphore>>,
    /// Names the fleet in the log, where there are several.
    span: Span,
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
            rooms: vec![whole_room()],
            span: Span::none(),
        }
    }

    /// The same beside the webhooks of other fleets, with which it shares these rooms.
    #[must_use]
    pub(super) fn beside_others(self, rooms: [&Arc<Semaphore>; 2], span: Span) -> Self {
        let rooms = rooms.map(Arc::clone).to_vec();
        Self {
            rooms,
            span,
            ..self
        }
    }

    /// Takes one delivery in.
    pub(super) async fn deliver(&self, sender: Sender, request: Request) -> StatusCode {
        self.take(sender, request)
            .instrument(self.span.clone())
            .await
    }

    async fn take(&self, sender: Sender, request: Request) -> StatusCode {
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
            room.extend(self.room(more)?);
        }
        Ok(whole)
    }

    fn room(&self, more: u32) -> Result<Vec<SemaphorePermit<'_>>, Delivered> {
        let taken = self.rooms.iter().map(|room| room.try_acquire_many(more));
        taken.collect::<Result<_, _>>().map_err(|_| Delivered::Busy)
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
