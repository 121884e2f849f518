//! Clients between our controllers and a server: what is written is noted, under another name if need be, and a process
//! may end with one of its writes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use capstan::model::Clock;
use capstan::model::cut;
use http::{Method, Request};
use jiff::Timestamp;
use kube::Client;
use kube::client::Body;
use tokio::sync::Notify;

/// A write: when, by whom, what.
pub(super) type Written = (Timestamp, &'static str, String);

/// Whether a request changes something that matters here: no event, no Lease, not the namespace for it, and no note that our
/// controllers step back.
fn is_write(request: &Request<Body>) -> bool {
    let path = request.uri().path();
    let query = request.uri().query().unwrap_or_default();
    if query.contains("fieldManager=capstan-handover") {
        return false;
    }
    let aside = ["/events", "/leases", "/api/v1/namespaces/capstan-system"];
    request.method() != Method::GET
        && !aside.iter().any(|part| path.contains(part))
        && path != "/api/v1/namespaces"
}

/// What was written through the clients of a log.
#[derive(Clone, Default)]
pub(super) struct Log(Arc<Mutex<Vec<Written>>>);

impl Log {
    pub(super) fn written(&self) -> Vec<Written> {
        self.0.lock().expect("no panic").clone()
    }

    /// Who wrote, one after the other.
    pub(super) fn turns(&self) -> Vec<&'static str> {
        let mut turns: Vec<_> = self.written().into_iter().map(|(_, who, _)| who).collect();
        turns.dedup();
        turns
    }

    /// A client of `who`, by the field manager `manager` if there is one.
    pub(super) fn client(
        &self,
        inner: &Client,
        clock: &Arc<dyn Clock>,
        who: &'static str,
        manager: Option<&'static str>,
    ) -> Client {
        let (log, inner, clock) = (self.clone(), inner.clone(), Arc::clone(clock));
        let service = tower::service_fn(move |mut request: Request<Body>| {
            let (log, inner) = (log.clone(), inner.clone());
            if is_write(&request) {
                let what = format!("{} {}", request.method(), request.uri().path());
                log.0
                    .lock()
                    .expect("no panic")
                    .push((clock.now(), who, what));
            }
            if let Some(manager) = manager {
                *request.uri_mut() = managed_by(&request.uri().to_string(), manager)
                    .parse()
                    .expect("a URI");
            }
            async move { inner.send(request).await }
        });
        Client::new(service, "default")
    }
}

/// The same with another field manager for the objects of the provider; embedded resources have CAPZ's and ours in any case.
fn managed_by(uri: &str, manager: &str) -> String {
    let start = "fieldManager=capstan-";
    match uri.split_once(start) {
        Some((before, rest)) if !rest.starts_with("embedded") => {
            let (_, end) = cut::until(rest, |c| c == '&');
            format!("{before}fieldManager={manager}{end}")
        }
        _ => uri.to_owned(),
    }
}

/// A process that ends with one of its writes: the server carries it out, and no answer comes to that nor to anything
/// else.
pub(super) struct Mortal {
    left: Mutex<usize>,
    is_over: AtomicBool,
    over: Notify,
}

impl Mortal {
    /// Ends with the write of this number.
    pub(super) fn ending_with(write: usize) -> Arc<Self> {
        Arc::new(Self {
            left: Mutex::new(write),
            is_over: AtomicBool::new(false),
            over: Notify::new(),
        })
    }

    /// Waits until it is over.
    pub(super) async fn over(&self) {
        self.over.notified().await;
    }

    /// How many writes it had left.
    pub(super) fn left(&self) -> usize {
        *self.left.lock().expect("no panic")
    }

    pub(super) fn client(self: &Arc<Self>, inner: &Client) -> Client {
        let (mortal, inner) = (Arc::clone(self), inner.clone());
        let service = tower::service_fn(move |request: Request<Body>| {
            let (mortal, inner) = (Arc::clone(&mortal), inner.clone());
            async move {
                let is_last = is_write(&request) && mortal.counts_down();
                if mortal.is_over.load(Ordering::SeqCst) && !is_last {
                    return std::future::pending().await;
                }
                let answer = inner.send(request).await;
                if is_last {
                    mortal.over.notify_one();
                    return std::future::pending().await;
                }
                answer
            }
        });
        Client::new(service, "default")
    }

    /// Whether this write is the last.
    fn counts_down(&self) -> bool {
        let mut left = self.left.lock().expect("no panic");
        let is_last = *left == 1;
        *left = left.saturating_sub(1);
        if is_last {
            self.is_over.store(true, Ordering::SeqCst);
        }
        is_last
    }
}
