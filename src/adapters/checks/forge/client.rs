//! The requests to one forge with one credential, one at a time.
//!
//! In: calls. Out: their answers, or why there is none. It waits between changes as long as the forge
//! wants, repeats a request once with a new token, follows redirects on the same server, and sends nothing
//! while the forge limits it or a permission is missing.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue, USER_AGENT};
use http::{Method, Request};
use jiff::Timestamp;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::fault::Fault;
use super::verdict::{Verdict, pause, remaining, verdict};
use super::wire::{Answer, Call, Transport, TransportError};
use crate::model::{Clock, ErrorClass, RateRemaining, Token, TokenSource};

/// GitHub refuses requests without a name.
const AGENT: &str = concat!("capstan/", env!("CARGO_PKG_VERSION"));
/// A pause up to this long is waited for; a longer one is an error, and the caller comes again.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long nothing is sent after a permission was missing, unless the token changes (forges.md §0.7).
const DENIED: Duration = Duration::from_secs(600);
/// How long a forge is left alone that limits requests without saying for how long; twice as long each
/// time (forges.md §1d).
const LIMITED: Duration = Duration::from_secs(60);
const MOST_LIMITED: Duration = Duration::from_secs(3_600);
/// How many redirects are followed.
const HOPS: usize = 5;

/// How a request proves who sends it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// `Authorization: Bearer`.
    Bearer,
    /// `Authorization: Basic` with this user, and the token as the password.
    Basic(String),
    /// `Authorization: Basic` with a token that is `user:password`; a token without a colon is a bearer token.
    Pair,
    /// The token alone in a header of the forge's own.
    Header(&'static str),
}

/// What one forge wants of all requests.
#[derive(Clone, Debug)]
pub struct Dialect {
    /// Headers of every request.
    pub headers: Vec<(&'static str, &'static str)>,
    /// The least time between two changes.
    pub spacing: Duration,
    /// What an answer means, where the rules for all forges do not hold.
    pub verdict: fn(&Call, &Answer) -> Option<Verdict>,
}

/// Sends the requests to one forge with one credential.
pub struct Client {
    transport: Arc<dyn Transport>,
    tokens: Arc<dyn TokenSource>,
    scheme: Scheme,
    dialect: Dialect,
    clock: Arc<dyn Clock>,
    gate: Arc<Mutex<Gate>>,
    denied: parking_lot::Mutex<Option<Denial>>,
    remaining: RateRemaining,
}

/// The pace of all requests, whoever sends them.
#[derive(Default)]
struct Gate {
    last_change: Option<Instant>,
    /// Nothing is sent before.
    paused: Option<Instant>,
    /// How often in a row the forge limited requests without saying for how long.
    limited: u32,
}

/// A permission that is missing.
struct Denial {
    /// Of this token.
    token: Token,
    /// Nothing is sent with it before.
    until: Instant,
    fault: Fault,
}

impl Client {
    /// A client that sends nothing yet.
    pub fn new(
        transport: Arc<dyn Transport>,
        tokens: Arc<dyn TokenSource>,
        scheme: Scheme,
        dialect: Dialect,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            transport,
            tokens,
            scheme,
            dialect,
            clock,
            gate: Arc::default(),
            denied: parking_lot::Mutex::default(),
            remaining: RateRemaining::default(),
        }
    }

    /// The time now.
    pub(super) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Notes in `remaining` what the limit of the forge leaves, as the last answer that says so has it.
    #[must_use]
    pub fn counting(self, remaining: RateRemaining) -> Self {
        remaining.forget();
        Self { remaining, ..self }
    }

    /// Another client of the same forge and credential, with rules of its own. The two send one request at a time, and both
    /// obey a limit that one meets. A permission that one of them lacks stops only that one.
    #[must_use]
    pub fn beside(&self, dialect: Dialect) -> Self {
        Self {
            transport: Arc::clone(&self.transport),
            tokens: Arc::clone(&self.tokens),
            scheme: self.scheme.clone(),
            dialect,
            clock: Arc::clone(&self.clock),
            gate: Arc::clone(&self.gate),
            denied: parking_lot::Mutex::default(),
            remaining: self.remaining.clone(),
        }
    }

    /// Sends `call` and returns the answer, which is a success.
    ///
    /// # Errors
    /// When it is none, or nothing may be sent now.
    pub async fn call(&self, call: &Call) -> Result<Answer, Fault> {
        let mut gate = self.gate.lock().await;
        let mut call = call.clone();
        let (mut hops, mut renewed) = (0, false);
        loop {
            let token = self.token().await?;
            self.permit(&token)?;
            admit(&mut gate, &call, self.dialect.spacing).await?;
            let answer = self.send(&call, &token).await?;
            match self.judge(&mut gate, &call, &answer) {
                Verdict::Done => return Ok(answer),
                Verdict::Limited(wait) => return Err(gate.limit(wait)),
                Verdict::Moved(url) if hops < HOPS => {
                    tracing::warn!(from = %call.url.path(), to = %url, "the repository has moved; update its URL");
                    (call.url, hops) = (url, hops + 1);
                }
                Verdict::Moved(_) => {
                    return Err(Fault::Refused("it redirects too often".to_owned()));
                }
                // What else the token is for tells whether it is good.
                Verdict::Unauthenticated(said) | Verdict::Fault(Fault::Denied(said))
                    if call.is_aside =>
                {
                    return Err(Fault::Refused(said));
                }
                Verdict::Unauthenticated(said) if renewed => {
                    return Err(self.deny(token, Fault::Denied(expired(&said))));
                }
                Verdict::Unauthenticated(said) => {
                    renewed = true;
                    self.renew(token, &said).await?;
                }
                Verdict::Fault(fault @ Fault::Denied(_)) => return Err(self.deny(token, fault)),
                Verdict::Fault(fault) => return Err(fault),
            }
        }
    }

    /// Sends nothing with the present token for a while, since `why`.
    pub(super) async fn block(&self, why: Fault) -> Fault {
        match self.token().await {
            Ok(token) => self.deny(token, why),
            Err(fault) => fault,
        }
    }

    async fn token(&self) -> Result<Token, Fault> {
        let token = self.tokens.token().await;
        token.map_err(|error| match error.class() {
            ErrorClass::Transient | ErrorClass::Conflict => Fault::Busy(error.to_string()),
            _ => Fault::Denied(error.to_string()),
        })
    }

    /// Gets another token in place of one that was refused.
    async fn renew(&self, refused: Token, said: &str) -> Result<(), Fault> {
        self.tokens.refused(&refused);
        match self.token().await? == refused {
            true => Err(self.deny(refused, Fault::Denied(expired(said)))),
            false => Ok(()),
        }
    }

    /// Refuses a token that lacked a permission a while ago.
    fn permit(&self, token: &Token) -> Result<(), Fault> {
        let mut denied = self.denied.lock();
        match &*denied {
            Some(denial) if denial.token == *token && Instant::now() < denial.until => {
                Err(denial.fault.clone())
            }
            _ => {
                *denied = None;
                Ok(())
            }
        }
    }

    fn deny(&self, token: Token, fault: Fault) -> Fault {
        *self.denied.lock() = Some(Denial {
            token,
            until: Instant::now() + DENIED,
            fault: fault.clone(),
        });
        fault
    }

    async fn send(&self, call: &Call, token: &Token) -> Result<Answer, Fault> {
        let request = self.request(call, token)?;
        let sent = self.transport.send(request).await;
        sent.map(Answer::from).map_err(|error| match error {
            TransportError::Unclear(cause) if call.is_change() => Fault::Unclear(cause),
            TransportError::TooLarge(_) if call.is_change() => Fault::Unclear(error.to_string()),
            // It would be as large next time.
            TransportError::TooLarge(_) => Fault::Refused(error.to_string()),
            TransportError::Unclear(cause) | TransportError::Unsent(cause) => Fault::Busy(cause),
        })
    }

    fn request(&self, call: &Call, token: &Token) -> Result<Request<Vec<u8>>, Fault> {
        let mut request = Request::builder()
            .method(call.method.clone())
            .uri(call.url.as_str())
            .header(USER_AGENT, AGENT);
        for (name, value) in &self.dialect.headers {
            request = request.header(*name, *value);
        }
        let (name, value) = self.authorization(token)?;
        request = request.header(name, value);
        let mut body = Vec::new();
        if let Some(json) = &call.body {
            let kind = call.content_type.unwrap_or("application/json");
            request = request.header(CONTENT_TYPE, kind);
            body = json.to_string().into_bytes();
        }
        let request = request.body(body);
        request.map_err(|cause| Fault::Refused(format!("no request can be made of it: {cause}")))
    }

    fn authorization(&self, token: &Token) -> Result<(HeaderName, HeaderValue), Fault> {
        let secret = token.secret();
        let (name, value) = match &self.scheme {
            Scheme::Bearer => (AUTHORIZATION, format!("Bearer {secret}")),
            Scheme::Basic(user) => {
                let pair = STANDARD.encode(format!("{user}:{secret}"));
                (AUTHORIZATION, format!("Basic {pair}"))
            }
            Scheme::Pair => match secret.matches(':').count() {
                0 => (AUTHORIZATION, format!("Bearer {secret}")),
                1 => (AUTHORIZATION, format!("Basic {}", STANDARD.encode(secret))),
                _ => {
                    let wrong = "the token is neither user:password nor a token alone";
                    return Err(Fault::Denied(wrong.to_owned()));
                }
            },
            Scheme::Header(name) => (HeaderName::from_static(name), secret.to_owned()),
        };
        let mut value = HeaderValue::from_str(&value)
            .map_err(|_| Fault::Denied("the token has invalid characters".to_owned()))?;
        value.set_sensitive(true);
        Ok((name, value))
    }

    /// What the answer means; and how long to wait after it.
    fn judge(&self, gate: &mut Gate, call: &Call, answer: &Answer) -> Verdict {
        let now = self.clock.now();
        if let Some(remaining) = remaining(answer) {
            self.remaining.set(remaining);
        }
        let own = (self.dialect.verdict)(call, answer);
        let verdict = match (
            own.unwrap_or_else(|| verdict(call, answer, now)),
            call.needs,
        ) {
            (Verdict::Fault(Fault::Denied(said)), Some(needs)) if answer.status == 403 => {
                Verdict::Fault(Fault::Denied(format!("{said}; {needs}")))
            }
            (verdict, _) => verdict,
        };
        if verdict == Verdict::Done {
            gate.limited = 0;
        }
        if let Some(wait) = pause(answer, now) {
            gate.paused = Some(Instant::now() + wait);
        }
        verdict
    }
}

impl Gate {
    /// Leaves the forge alone.
    fn limit(&mut self, wait: Option<Duration>) -> Fault {
        let grown = LIMITED.saturating_mul(1 << self.limited.min(8));
        let wait = wait.unwrap_or_else(|| {
            self.limited = self.limited.saturating_add(1);
            grown.min(MOST_LIMITED)
        });
        self.paused = Some(Instant::now() + wait);
        Fault::Limited(wait)
    }
}

/// Waits until `call` may be sent, or says why it may not.
async fn admit(gate: &mut Gate, call: &Call, spacing: Duration) -> Result<(), Fault> {
    let now = Instant::now();
    let mut at = gate.paused.unwrap_or(now);
    let left = at.saturating_duration_since(now);
    if left > PATIENCE {
        return Err(Fault::Limited(left));
    }
    if call.is_change() {
        at = at.max(gate.last_change.map_or(now, |last| last + spacing));
    }
    tokio::time::sleep_until(at).await;
    if call.method != Method::GET {
        gate.last_change = Some(Instant::now());
    }
    Ok(())
}

fn expired(said: &str) -> String {
    format!("the token is not accepted ({said}); it may be expired or revoked: replace it")
}
