//! What the API server of a workload cluster may answer. Whoever writes the Secret with its kubeconfig chooses that server.
//!
//! In: a client. Out: a client whose answers are bounded in bytes, count and time before they are held in memory. An answer
//! beyond that is an error, and what was met is noted for whoever reports it. It does not know what nodes are for.

use std::sync::Arc;
use std::time::Duration;

use futures::stream::{self, BoxStream, StreamExt};
use http::{Request, Response};
use http_body_util::{BodyExt as _, BodyStream, StreamBody};
use kube::Client;
use kube::client::Body;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::seen::Seen;
use crate::model::Clock;

/// How many nodes one list is asked for. With images and managed fields a node takes about 30 KB.
pub(super) const PAGE: u32 = 25;
/// The most nodes of a cluster. ARO has 500, and Kubernetes is built for 5,000.
pub(super) const MOST_NODES: usize = 5_000;
/// The most lists until the last one.
const MOST_PAGES: usize = MOST_NODES / PAGE as usize;
/// The largest list, in bytes.
const LARGEST_LIST: usize = 4 << 20;
/// The largest refusal, in bytes.
const LARGEST_REFUSAL: usize = 64 << 10;
/// The longest line of a watch, in bytes: one node.
const LONGEST_LINE: usize = 1 << 20;
/// The most that one watch may say, in bytes: ten times what 500 nodes say in five minutes.
const LONGEST_WATCH: usize = 64 << 20;
/// How long a watch may last. It asks for less than five minutes.
const PATIENCE: Duration = Duration::from_secs(600);
/// The least time between the beginnings of two watches: a server may end each at once.
const PACE: Duration = Duration::from_secs(1);

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// What bounds the answers of one API server, and what was met of them.
#[derive(Clone)]
pub(super) struct Bounds {
    met: Arc<Mutex<Met>>,
    clock: Arc<dyn Clock>,
}

#[derive(Default)]
struct Met {
    /// What was beyond a limit.
    beyond: Option<String>,
    /// The lists and nodes since the last first list.
    pages: usize,
    nodes: usize,
    /// When the last watch began.
    watched: Option<Instant>,
}

impl Bounds {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            met: Arc::default(),
            clock,
        }
    }

    /// What was beyond a limit since this was asked last.
    pub(super) fn beyond(&self) -> Option<String> {
        self.met.lock().beyond.take()
    }

    fn refuse(&self, what: String) -> BoxError {
        self.met.lock().beyond = Some(what.clone());
        what.into()
    }

    /// A client for lists and watches of nodes, whose answers are bounded.
    pub(super) fn around(&self, client: &Client) -> Client {
        let (inner, namespace) = (client.clone(), client.default_namespace().to_owned());
        let bounds = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let (bounds, inner) = (bounds.clone(), inner.clone());
            async move {
                let query = request.uri().query().unwrap_or_default();
                let has = |what: &str| query.split('&').any(|part| part.starts_with(what));
                let (watches, goes_on) = (has("watch=true"), has("continue="));
                match watches {
                    true => bounds.pace().await,
                    false => bounds.turn(goes_on)?,
                }
                let (parts, body) = inner.send(request).await?.into_parts();
                if parts.status.is_redirection() {
                    let redirects = "it redirects to another address, and no redirect is followed";
                    return Err(bounds.refuse(redirects.to_owned()));
                }
                let body = match (parts.status.is_success(), watches) {
                    (true, true) => {
                        let frames = StreamExt::boxed(BodyStream::new(body));
                        let frames = bounds.lines(frames, |frame| {
                            frame.data_ref().map_or(&[][..], |data| &data[..])
                        });
                        StreamBody::new(frames).boxed_unsync()
                    }
                    (true, false) => {
                        let whole = bounds.whole(body, LARGEST_LIST).await?;
                        let page = Body::from(bounds.page(&whole)?);
                        page.map_err(BoxError::from).boxed_unsync()
                    }
                    (false, _) => {
                        let whole = Body::from(bounds.whole(body, LARGEST_REFUSAL).await?);
                        whole.map_err(BoxError::from).boxed_unsync()
                    }
                };
                Ok(Response::from_parts(parts, body))
            }
        });
        Client::new(service, namespace)
    }

    /// Counts a list: the first one, or one that goes on where another one ended.
    fn turn(&self, goes_on: bool) -> Result<(), BoxError> {
        let mut met = self.met.lock();
        if !goes_on {
            (met.pages, met.nodes) = (0, 0);
        }
        met.pages += 1;
        let is_beyond = met.pages > MOST_PAGES;
        drop(met);
        match is_beyond {
            true => Err(self.refuse(format!(
                "its list of nodes goes on after {MOST_PAGES} parts"
            ))),
            false => Ok(()),
        }
    }

    /// Waits until the next watch may begin.
    async fn pace(&self) {
        let now = Instant::now();
        let pace = self.clock.real(PACE);
        let at = {
            let mut met = self.met.lock();
            let at = met.watched.map_or(now, |last| now.max(last + pace));
            met.watched = Some(at);
            at
        };
        sleep_until(at).await;
    }

    /// The whole body, which is no longer than `longest`.
    async fn whole(&self, body: Body, longest: usize) -> Result<Vec<u8>, BoxError> {
        let mut frames = BodyStream::new(body);
        let mut whole = Vec::new();
        while let Some(frame) = frames.next().await {
            let Ok(data) = frame?.into_data() else {
                continue;
            };
            if whole.len() + data.len() > longest {
                return Err(self.refuse(format!("its answer is larger than {longest} bytes")));
            }
            whole.extend_from_slice(&data);
        }
        Ok(whole)
    }

    /// A list of nodes, without anything else that the answer has.
    fn page(&self, answer: &[u8]) -> Result<Vec<u8>, BoxError> {
        let page: Result<Page<'_>, _> = serde_json::from_slice(answer);
        let Page { metadata, items } = page.map_err(|cause| self.unlike(&cause))?;
        let items = items.unwrap_or_default();
        let nodes = {
            let mut met = self.met.lock();
            met.nodes += items.len();
            met.nodes
        };
        if nodes > MOST_NODES {
            return Err(self.refuse(too_many()));
        }
        for item in &items {
            let read: Result<Seen, _> = serde_json::from_str(item.get());
            read.map_err(|cause| self.unlike(&cause))?;
        }
        let metadata = metadata.unwrap_or_default();
        let marks = json!({"resourceVersion": metadata.version, "continue": metadata.next});
        let page =
            json!({"kind": "NodeList", "apiVersion": "v1", "metadata": marks, "items": items});
        Ok(page.to_string().into_bytes())
    }

    fn unlike(&self, cause: &serde_json::Error) -> BoxError {
        self.refuse(format!("it does not answer like an API server: {cause}"))
    }

    /// The parts of a watch, `data` of each, as long as its lines, all of it and its time are within the limits. After its
    /// time it ends as a server would end it.
    fn lines<F, E>(
        &self,
        parts: BoxStream<'static, Result<F, E>>,
        data: fn(&F) -> &[u8],
    ) -> BoxStream<'static, Result<F, BoxError>>
    where
        F: Send + 'static,
        E: Into<BoxError> + Send + 'static,
    {
        let (bounds, deadline) = (self.clone(), Instant::now() + PATIENCE);
        let next = move |(parts, mut said): (Option<BoxStream<'static, Result<F, E>>>, Said)| {
            let bounds = bounds.clone();
            async move {
                let mut parts = parts?;
                let next = timeout_at(deadline, parts.next()).await.ok()??;
                let heard = next.map_err(Into::into).and_then(|part| {
                    let beyond = said.take(data(&part));
                    beyond.map_or(Ok(part), |beyond| Err(bounds.refuse(beyond)))
                });
                let parts = heard.is_ok().then_some(parts);
                Some((heard, (parts, said)))
            }
        };
        stream::unfold((Some(parts), Said::default()), next).boxed()
    }
}

/// What a cluster with too many nodes is told.
pub(super) fn too_many() -> String {
    format!("it has more than {MOST_NODES} nodes")
}

/// How much a watch has said: since its last line break, and at all.
#[derive(Default)]
struct Said {
    line: usize,
    all: usize,
}

impl Said {
    /// Counts more; what is beyond a limit.
    fn take(&mut self, data: &[u8]) -> Option<String> {
        self.all += data.len();
        let mut lines = data.split(|byte| *byte == b'\n');
        self.line += lines.next().map_or(0, <[u8]>::len);
        let mut longest = self.line;
        for line in lines {
            self.line = line.len();
            longest = longest.max(self.line);
        }
        if longest > LONGEST_LINE {
            return Some(format!(
                "a line of its watch is longer than {LONGEST_LINE} bytes"
            ));
        }
        (self.all > LONGEST_WATCH)
            .then(|| format!("it said more than {LONGEST_WATCH} bytes in one watch"))
    }
}

/// A list, as far as it is read.
#[derive(Deserialize)]
struct Page<'a> {
    metadata: Option<Marks>,
    #[serde(borrow)]
    items: Option<Vec<&'a RawValue>>,
}

#[derive(Default, Deserialize)]
struct Marks {
    #[serde(rename = "resourceVersion")]
    version: Option<String>,
    #[serde(rename = "continue")]
    next: Option<String>,
}
