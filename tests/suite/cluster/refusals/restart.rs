//! The API server is away for a while, or is stopped and started again with its data. (On the simulator, whole fleets go
//! through that in `faults`.)

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use capstan::model::CheckState;
use http::{Response, StatusCode};
use kube::Client;
use serde_json::json;
use tokio::net::TcpSocket;
use tokio::runtime::Runtime;

use super::fixture::{FREE, Fixture};
use crate::kubernetes::Kubernetes;
use crate::servers::anonymous;

/// An address that is ours as long as this socket is bound to it: nobody else gets its port, and nobody
/// answers there until another socket of ours listens.
struct Address(TcpSocket);

impl Address {
    fn new() -> Self {
        Self(bound("127.0.0.1:0"))
    }

    fn name(&self) -> String {
        self.0.local_addr().expect("an address").to_string()
    }
}

/// A socket that may share its address with others that do not listen.
fn bound(address: &str) -> TcpSocket {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.set_reuseaddr(true).expect("its address is shared");
    socket
        .bind(address.parse().expect("an address"))
        .expect("the address is free");
    socket
}

/// The server behind an address that stays: that of the server itself is another each time. Nobody
/// answers there while it is stopped.
struct Front {
    server: Kubernetes,
    runtime: Runtime,
}

impl Front {
    fn start(dir: &Path, address: &Address) -> Option<Self> {
        let server = Kubernetes::with_data(dir)?;
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads(2).enable_all().build();
        let runtime = runtime.expect("a runtime");
        let client = runtime.block_on(server.client());
        let listener = runtime.block_on(async { bound(&address.name()).listen(1024) });
        let listener = listener.expect("nobody else listens there");
        let client = Arc::new(client);
        let router = Router::new().fallback(move |request: Request| {
            let client = Arc::clone(&client);
            async move { passed_on(&client, request).await }
        });
        runtime.spawn(async move { axum::serve(listener, router).await });
        Some(Self { server, runtime })
    }

    /// Cuts every connection, and kills the server.
    fn stop(self) {
        self.runtime.shutdown_background();
        drop(self.server);
    }
}

async fn passed_on(client: &Client, request: Request) -> Response<Body> {
    let (mut parts, body) = request.into_parts();
    parts.headers.remove("host");
    let body = axum::body::to_bytes(body, usize::MAX).await;
    let body = body.expect("the request is whole").to_vec();
    let request = Request::from_parts(parts, kube::client::Body::from(body));
    match client.send(request).await {
        Ok(answer) => answer.map(Body::new),
        Err(error) => {
            let mut answer = Response::new(Body::from(error.to_string()));
            *answer.status_mut() = StatusCode::BAD_GATEWAY;
            answer
        }
    }
}

const AWAY: &str = "waiting for the cluster since 20";

/// The simulator behind something that answers in its place while it is away.
#[test]
fn a_commit_says_that_the_cluster_is_away_and_is_applied_once_it_answers() {
    let is_away = Arc::new(AtomicBool::new(false));
    let front = |router: Router| {
        let is_away = Arc::clone(&is_away);
        router.layer(from_fn(move |request: Request, next: Next| {
            let is_away = is_away.load(Ordering::Relaxed);
            async move {
                if is_away {
                    let mut answer = Response::new(Body::from("no server is available"));
                    *answer.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
                    return answer;
                }
                next.run(request).await
            }
        }))
    };
    let fixture = Fixture::simulated("away", front);
    let mut daemon = fixture.daemon(&fixture.kubeconfig, FREE);
    daemon.succeeds();
    is_away.store(true, Ordering::Relaxed);
    let more = FREE.replace("free", "more");
    daemon.push(&format!("{FREE}{more}"));
    daemon.until(CheckState::Pending, &[AWAY]);
    // The daemon does not apply any more by now, but goes on to look for commits.
    daemon.push(&format!("{FREE}{}", FREE.replace("free", "most")));
    let check = daemon.until(
        CheckState::Pending,
        &[AWAY, "nobody needs to push it again"],
    );
    assert!(check.title.starts_with(AWAY), "{check:#?}");
    is_away.store(false, Ordering::Relaxed);
    daemon.succeeds();
    assert!(fixture.has(&fixture.path("configmaps/most")));
}

#[test]
fn a_daemon_outlives_a_restart_of_the_api_server() {
    let data = tempfile::tempdir().expect("a directory");
    let address = Address::new();
    let Some(front) = Front::start(data.path(), &address) else {
        return;
    };
    let fixture = Fixture::at(&anonymous(&address.name()), "restart");
    let mut daemon = fixture.daemon(&fixture.kubeconfig, FREE);
    daemon.succeeds();
    front.stop();
    let more = FREE.replace("free", "more");
    daemon.push(&format!("{FREE}{more}"));
    let expected = "cannot reach the cluster: Connection refused (os error 111)";
    let check = daemon.until(CheckState::Pending, &[AWAY, expected]);
    assert!(check.title.starts_with(AWAY), "{check:#?}");
    let _front = Front::start(data.path(), &address).expect("it started before");
    daemon.succeeds();
    assert!(fixture.has(&fixture.path("configmaps/more")));
    // What somebody changes is seen again.
    let free = fixture.path("configmaps/free");
    fixture.must("PATCH", &free, &json!({"data": {"k": "theirs"}}));
    fixture.until("it is put right", || {
        fixture.must("GET", &free, &json!({}))["data"]["k"] == "v"
    });
}
