//! A bound on what happens in one instant of the virtual clock.
//!
//! In: the requests to the simulated API server. Out: which objects are written again and again while no time passes.
//! Time passes only when everybody waits, so controllers that undo each other's writes would keep a rehearsal from
//! ever ending. It does not know who writes.

use std::collections::HashMap;
use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::http::Method;
use axum::middleware::{Next, from_fn};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;

/// How often an object may be written in one instant. A controller writes an object a few times at most before it
/// waits for something.
const MOST: usize = 1000;
/// Objects that were written at least this often take part.
const PART: usize = MOST / 2;

/// The writes of one instant, by the path of the request.
struct Writes {
    at: Instant,
    counts: HashMap<String, usize>,
}

/// The end of a fight, which never comes by itself.
pub(super) type Fights = watch::Receiver<Vec<String>>;

/// Counts the writes that reach `router`. The receiver gets the names of the objects of a fight.
pub(super) fn watched(router: Router) -> (Router, Fights) {
    let (sender, receiver) = watch::channel(Vec::new());
    let writes = Arc::new(Mutex::new(Writes {
        at: Instant::now(),
        counts: HashMap::new(),
    }));
    let layer = from_fn(move |request: Request, next: Next| {
        let is_read = [Method::GET, Method::HEAD].contains(request.method());
        let path = (!is_read).then(|| request.uri().path().to_owned());
        let mut writes = writes.lock();
        if let Some(fighting) = path.and_then(|path| writes.count(&path)) {
            sender.send_replace(fighting);
        }
        next.run(request)
    });
    (router.layer(layer), receiver)
}

impl Writes {
    /// Counts a write. Returns the objects of a fight, if there is one.
    fn count(&mut self, path: &str) -> Option<Vec<String>> {
        let now = Instant::now();
        if now != self.at {
            self.at = now;
            self.counts.clear();
        }
        let count = self.counts.entry(object(path)).or_default();
        *count += 1;
        if *count < MOST {
            return None;
        }
        let fighting = self.counts.iter().filter(|(_, count)| **count >= PART);
        let mut names: Vec<String> = fighting.map(|(name, _)| name.clone()).collect();
        names.sort();
        Some(names)
    }
}

/// `PLURAL/NAMESPACE/NAME` of the path of a request, as far as it has them. A write of the status is one of the object.
fn object(path: &str) -> String {
    let path = path.strip_suffix("/status").unwrap_or(path);
    match path.split('/').collect::<Vec<_>>().as_slice() {
        [.., "namespaces", namespace, plural, name] => format!("{plural}/{namespace}/{name}"),
        [.., plural, name] => format!("{plural}//{name}"),
        _ => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use axum::body::Body;
    use axum::http::StatusCode;
    use tower::ServiceExt as _;

    use super::*;

    async fn write(router: &Router, path: &str) {
        let request = Request::patch(path).body(Body::empty());
        let answer = router.clone().oneshot(request.expect("a request")).await;
        assert_eq!(answer.expect("an answer").status(), StatusCode::OK);
    }

    #[tokio::test(start_paused = true)]
    async fn objects_that_are_written_without_end_are_named() {
        let (router, fights) = watched(Router::new().fallback(|| async {}));
        let (a, b) = ("/api/v1/namespaces/ns/configmaps/a", "/api/v1/nodes/b");
        write(&router, "/apis/apps/v1/namespaces/ns/deployments/c").await;
        for _ in 0..MOST - 1 {
            write(&router, &format!("{a}/status")).await;
            write(&router, b).await;
        }
        assert!(fights.borrow().is_empty());
        write(&router, a).await;
        assert_eq!(*fights.borrow(), ["configmaps/ns/a", "nodes//b"]);
    }

    #[tokio::test(start_paused = true)]
    async fn writes_of_different_times_and_reads_are_no_fight() {
        let (router, fights) = watched(Router::new().fallback(|| async {}));
        for _ in 0..2 * MOST {
            write(&router, "/api/v1/nodes/b").await;
            tokio::time::advance(Duration::from_millis(1)).await;
        }
        for _ in 0..2 * MOST {
            let request = Request::get("/api/v1/nodes/b").body(Body::empty());
            let answer = router.clone().oneshot(request.expect("a request")).await;
            answer.expect("an answer");
        }
        assert!(fights.borrow().is_empty());
    }
}
