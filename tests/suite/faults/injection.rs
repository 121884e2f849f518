//! Injects faults between the runner and the server for a while.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use bytes::Bytes;
use futures::StreamExt as _;
use http::{Method, Request, Response, StatusCode, header};
use serde_json::json;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep, sleep_until};
use tower::ServiceExt as _;

use super::rng::Rng;

type Fault = Box<dyn std::error::Error + Send + Sync>;

/// What may happen to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Harm {
    Slow,
    TooMany,
    Broken,
    Unavailable,
    ResetBefore,
    ResetAfter,
    SilentBefore,
    SilentAfter,
    /// A write is refused, as if somebody else had been faster.
    Conflict,
}

const HARMS: [Harm; 8] = [
    Harm::Slow,
    Harm::TooMany,
    Harm::Broken,
    Harm::Unavailable,
    Harm::ResetBefore,
    Harm::ResetAfter,
    Harm::SilentBefore,
    Harm::SilentAfter,
];

/// What may happen to a watch that is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// It ends in the middle of a line.
    Torn,
    /// Nothing comes any more.
    Frozen,
}

/// When the server answers nobody.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Closed {
    /// It is started anew.
    Restart,
    /// It knows nobody.
    Unauthorized,
}

/// What happens, and how often.
#[derive(Debug)]
pub(crate) struct Schedule {
    harms: Vec<Harm>,
    /// How many requests of a hundred come to harm.
    percent: u64,
    /// How many watches of a hundred do.
    watches: u64,
    pub(crate) closed: Vec<(Instant, Instant, Closed)>,
    /// By how many seconds at most a watch is behind.
    lag: u64,
    /// After how many requests the runner crashes.
    crash: Option<usize>,
    pub(crate) ends: Instant,
}

impl Schedule {
    pub(crate) fn random(rng: &mut Rng) -> Self {
        let start = Instant::now();
        let lasts = 30 + rng.below(200);
        let mut closed = Vec::new();
        for kind in [Closed::Restart, Closed::Unauthorized] {
            if rng.chance(40) {
                let from = start + Duration::from_millis(rng.below(lasts * 1000));
                let to = from + Duration::from_millis(500 + rng.below(40_000));
                closed.push((from, to, kind));
            }
        }
        Self {
            harms: HARMS.into_iter().filter(|_| rng.chance(60)).collect(),
            percent: rng.below(60),
            watches: rng.below(80),
            lag: 0,
            closed,
            crash: rng.chance(50).then(|| rng.below(120) as usize),
            ends: start + Duration::from_secs(lasts),
        }
    }

    /// One of many seconds, with conflicts, and with watches that are behind.
    pub(crate) fn lasting(rng: &mut Rng, seconds: u64) -> Self {
        let start = Instant::now();
        let short = Self::random(rng);
        let mut closed = Vec::new();
        for kind in [Closed::Restart, Closed::Unauthorized] {
            for _ in 0..rng.below(4) {
                let from = start + Duration::from_secs(rng.below(seconds));
                let to = from + Duration::from_millis(500 + rng.below(60_000));
                closed.push((from, to, kind));
            }
        }
        let mut harms = short.harms;
        harms.extend(rng.chance(70).then_some(Harm::Conflict));
        Self {
            harms,
            lag: [0, 3, 20][rng.below(3) as usize],
            closed,
            crash: rng.chance(50).then(|| rng.below(400) as usize),
            ends: start + Duration::from_secs(seconds),
            ..short
        }
    }
}

/// The requests to the server and its answers, delivered or not.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) at: Instant,
    pub(crate) method: Method,
    pub(crate) path: String,
    /// Whether it is a watch.
    pub(crate) watch: bool,
    pub(crate) status: StatusCode,
}

pub(crate) struct FaultInjector {
    router: Router,
    rng: Mutex<Rng>,
    schedule: Schedule,
    log: Mutex<Vec<Asked>>,
    count: Mutex<usize>,
    /// How often all connections were cut.
    pub(crate) cut: watch::Sender<u64>,
    pub(crate) crash: Notify,
    /// Notifies that a Deployment was written.
    pub(crate) deployed: Notify,
}

impl FaultInjector {
    pub(crate) fn new(router: Router, rng: Rng, schedule: Schedule) -> Arc<Self> {
        Arc::new(Self {
            router,
            rng: Mutex::new(rng),
            schedule,
            log: Mutex::default(),
            count: Mutex::default(),
            cut: watch::Sender::new(0),
            crash: Notify::new(),
            deployed: Notify::new(),
        })
    }

    /// A client whose requests go through the injector.
    pub(crate) fn client(self: &Arc<Self>) -> kube::Client {
        let injector = Arc::clone(self);
        let service = tower::service_fn(move |request: Request<kube::client::Body>| {
            let injector = Arc::clone(&injector);
            async move { injector.serve(request.map(Body::new)).await }
        });
        kube::Client::new(service, "default")
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.log.lock().unwrap().clone()
    }

    /// The number of requests per path with `method` and the answer `status`.
    pub(crate) fn counted(&self, method: &Method, status: StatusCode) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        let all = self.asked().into_iter();
        for asked in all.filter(|asked| asked.method == *method && asked.status == status) {
            *counts.entry(asked.path).or_default() += 1;
        }
        counts
    }

    pub(crate) const fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    fn roll<T>(&self, roll: impl FnOnce(&mut Rng) -> T) -> T {
        roll(&mut self.rng.lock().unwrap())
    }

    async fn serve(self: &Arc<Self>, request: Request<Body>) -> Result<Response<Body>, Fault> {
        {
            let mut count = self.count.lock().unwrap();
            *count += 1;
            if self.schedule.crash == Some(*count) {
                self.crash.notify_one();
            }
        }
        let now = Instant::now();
        if now >= self.schedule.ends {
            return self.deliver(request).await;
        }
        let closed = self.schedule.closed.iter();
        let closed = closed
            .clone()
            .find(|(from, to, _)| (*from..*to).contains(&now));
        match closed {
            Some((_, _, Closed::Unauthorized)) => return Ok(refusal(StatusCode::UNAUTHORIZED, 0)),
            Some((_, _, Closed::Restart)) if self.roll(|rng| rng.chance(50)) => {
                return Err(reset());
            }
            Some((_, _, Closed::Restart)) => {
                return Ok(refusal(StatusCode::SERVICE_UNAVAILABLE, 0));
            }
            None => {}
        }
        let harms = &self.schedule.harms;
        let harmed = |rng: &mut Rng| {
            (!harms.is_empty() && rng.chance(self.schedule.percent)).then(|| *rng.pick(harms))
        };
        match self.roll(harmed) {
            None => self.deliver(request).await,
            Some(harm) => self.harm(harm, request).await,
        }
    }

    async fn harm(
        self: &Arc<Self>,
        harm: Harm,
        request: Request<Body>,
    ) -> Result<Response<Body>, Fault> {
        let seconds = |most: u64| Duration::from_millis(self.roll(|rng| rng.below(most * 1000)));
        match harm {
            Harm::Slow => {
                sleep(seconds(20)).await;
                let answer = self.deliver(request).await;
                sleep(seconds(35)).await;
                answer
            }
            Harm::TooMany => {
                let wait = self.roll(|rng| rng.below(30));
                Ok(refusal(StatusCode::TOO_MANY_REQUESTS, wait))
            }
            Harm::Broken => Ok(refusal(StatusCode::INTERNAL_SERVER_ERROR, 0)),
            Harm::Unavailable => Ok(refusal(StatusCode::SERVICE_UNAVAILABLE, 0)),
            Harm::Conflict if request.method() == Method::GET => self.deliver(request).await,
            Harm::Conflict => Ok(refusal(StatusCode::CONFLICT, 0)),
            Harm::ResetBefore => Err(reset()),
            Harm::ResetAfter => {
                self.deliver(request).await?;
                Err(reset())
            }
            Harm::SilentBefore => std::future::pending().await,
            Harm::SilentAfter => {
                let _answer = self.deliver(request).await?;
                std::future::pending().await
            }
        }
    }

    /// A request that reached the server is carried out, even if nobody waits for the answer.
    async fn deliver(self: &Arc<Self>, request: Request<Body>) -> Result<Response<Body>, Fault> {
        let watch = request
            .uri()
            .query()
            .unwrap_or_default()
            .contains("watch=true");
        let (router, injector) = (self.router.clone(), Arc::clone(self));
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let answer = tokio::spawn(async move {
            let answer = router.oneshot(request).await;
            if method == Method::PATCH && path.contains("/deployments/") {
                injector.deployed.notify_one();
            }
            let status = answer.as_ref().map(Response::status).unwrap_or_default();
            let asked = Asked {
                at: Instant::now(),
                method,
                path,
                watch,
                status,
            };
            injector.log.lock().unwrap().push(asked);
            answer
        });
        let answer = answer.await??;
        match watch && answer.status() == StatusCode::OK {
            true => Ok(self.wear(answer)),
            false => Ok(answer),
        }
    }

    /// A watch that ends with the connections, or sooner.
    fn wear(&self, answer: Response<Body>) -> Response<Body> {
        let bad = Instant::now() < self.schedule.ends;
        let ends = self.roll(|rng| {
            let bad = bad && rng.chance(self.schedule.watches);
            let at = Instant::now() + Duration::from_millis(rng.below(40_000));
            bad.then(|| (at, *rng.pick(&[End::Torn, End::Frozen])))
        });
        let (parts, body) = answer.into_parts();
        let state = (body.into_data_stream(), self.cut.subscribe(), ends, false);
        // Others have no use for another number.
        let lag = match self.schedule.lag {
            0 => 0,
            most => self.roll(|rng| rng.below(most + 1)),
        };
        let lag = Duration::from_secs(lag);
        let lags_until = self.schedule.ends;
        let stream =
            futures::stream::unfold(state, move |(mut data, mut cut, ends, over)| async move {
                if over {
                    return None;
                }
                let lag = if Instant::now() < lags_until {
                    lag
                } else {
                    Duration::ZERO
                };
                let end = async {
                    match ends {
                        Some((at, end)) => {
                            sleep_until(at).await;
                            end
                        }
                        None => std::future::pending().await,
                    }
                };
                let (piece, over): (Result<Bytes, Fault>, bool) = tokio::select! {
                    biased;
                    _ = cut.changed() => (Err(reset()), true),
                    end = end => match end {
                        End::Torn => (Ok(Bytes::from_static(b"{\"type\":\"ADDED\",\"obj")), true),
                        End::Frozen => {
                            let _ = cut.changed().await;
                            (Err(reset()), true)
                        }
                    },
                    piece = data.next() => (piece?.map_err(Into::into), false),
                };
                if !lag.is_zero() {
                    sleep(lag).await;
                }
                Some((piece, (data, cut, ends, over)))
            });
        Response::from_parts(parts, Body::from_stream(stream))
    }
}

fn reset() -> Fault {
    std::io::Error::from(std::io::ErrorKind::ConnectionReset).into()
}

fn refusal(code: StatusCode, retry_after: u64) -> Response<Body> {
    let status = json!({
        "apiVersion": "v1", "kind": "Status", "status": "Failure", "code": code.as_u16(),
        "reason": code.canonical_reason().unwrap_or_default().replace(' ', ""), "message": "not now",
        "details": {"retryAfterSeconds": retry_after},
    });
    let mut response = Response::new(Body::from(status.to_string()));
    *response.status_mut() = code;
    response
        .headers_mut()
        .insert(header::RETRY_AFTER, retry_after.into());
    response
}
