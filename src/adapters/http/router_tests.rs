//! The router in memory: what each request is answered, and what is left for the daemon.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use futures::FutureExt as _;
use futures::stream::{self, StreamExt as _};
use http::{Request, StatusCode};
use http_body_util::BodyExt as _;
use jiff::Timestamp;
use tower::ServiceExt as _;

use super::*;
use crate::model::Hint;

const TOKEN: &str = "capstan-test";
/// The signature of three MiB, V10.
const V10: &str = "68ab583be413ae08be5a05c549e8c57133439f321c360df2893201584ab622a0";

struct World {
    hints: Arc<Hints>,
    metrics: Arc<Metrics>,
    router: axum::Router,
}

impl World {
    fn new() -> Self {
        let keys = [("token".to_owned(), TOKEN.as_bytes().to_vec())].into();
        let secrets = Arc::new(Secrets::read("it", &keys).expect("sound"));
        let source: SecretSource =
            Arc::new(move || Box::pin(std::future::ready(Some(Arc::clone(&secrets)))));
        let (hints, metrics) = <(Arc<Hints>, Arc<Metrics>)>::default();
        let webhooks = Webhooks::new(
            "https://github.com/o/r.git",
            source,
            Arc::clone(&hints),
            Arc::clone(&metrics),
            || Timestamp::UNIX_EPOCH,
        );
        let webhooks = Some(Arc::new(webhooks));
        let router = router(Arc::clone(&metrics), webhooks);
        Self {
            hints,
            metrics,
            router,
        }
    }

    async fn ask(&self, request: Request<Body>) -> (StatusCode, String) {
        let answer = self
            .router
            .clone()
            .oneshot(request)
            .await
            .expect("infallible");
        let status = answer.status();
        let allow = answer.headers().get("allow").cloned();
        let body = answer
            .into_body()
            .collect()
            .await
            .expect("a body")
            .to_bytes();
        let body = String::from_utf8(body.into()).expect("text");
        let allow = allow.map(|allow| format!("{allow:?}"));
        (status, allow.unwrap_or(body))
    }

    async fn post(&self, forge: &str, headers: &[(&str, &str)], body: impl Into<Body>) -> u16 {
        let mut request = Request::post(format!("/webhook/{forge}"));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (status, body) = self.ask(request.body(body.into()).expect("sound")).await;
        assert_eq!(body, "", "no detail");
        status.as_u16()
    }

    fn hint(&self) -> Option<Hint> {
        self.hints.next().now_or_never()
    }

    fn counted(&self, line: &str) -> bool {
        let text = self.metrics.text();
        text.lines()
            .any(|known| known == format!("capstan_webhook_deliveries_total{line}"))
    }
}

const JSON: (&str, &str) = ("Content-Type", "application/json");
const OURS: &str = r#"{"ref":"refs/heads/main","repository":{"full_name":"o/r"}}"#;

fn signed(body: &str) -> String {
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, TOKEN.as_bytes());
    let tag = ring::hmac::sign(&key, body.as_bytes());
    crate::model::hex(tag.as_ref())
}

async fn github(world: &World, event: &str, body: &str) -> u16 {
    let signature = format!("sha256={}", signed(body));
    let headers = [
        JSON,
        ("X-GitHub-Event", event),
        ("X-Hub-Signature-256", &signature),
    ];
    world.post("github", &headers, body.to_owned()).await
}

#[tokio::test]
async fn a_push_to_ours_leaves_a_hint_and_everything_else_is_200_without_one() {
    let world = World::new();
    assert_eq!(github(&world, "push", OURS).await, 200);
    assert_eq!(world.hint(), Some(Hint::default()));
    let other = OURS.replace("o/r", "o/other");
    for (event, body) in [
        ("ping", OURS),
        ("issues", OURS),
        ("push", &other),
        ("push", "["),
    ] {
        assert_eq!(github(&world, event, body).await, 200, "{event} {body}");
        assert_eq!(world.hint(), None, "{event} {body}");
    }
    assert!(world.counted(r#"{forge="github",result="ignored"} 2"#));
    assert!(world.counted(r#"{forge="github",result="other_repository"} 1"#));
    assert!(world.counted(r#"{forge="github",result="unreadable"} 1"#));
    assert!(world.counted(r#"{forge="github",result="accepted"} 1"#));
}

#[tokio::test]
async fn every_forge_has_a_path() {
    let world = World::new();
    let (plain, prefixed) = (signed(OURS), format!("sha256={}", signed(OURS)));
    let basic = ("Authorization", "Basic Y2Fwc3RhbjpjYXBzdGFuLXRlc3Q=");
    let azure =
        r#"{"eventType":"git.push","resource":{"repository":{"remoteUrl":"https://h/o/_git/r"}}}"#;
    let gitlab = r#"{"object_kind":"push","project":{"path_with_namespace":"o/r"}}"#;
    for (forge, headers, body, hints) in [
        (
            "gitea",
            vec![("X-Gitea-Event", "push"), ("X-Gitea-Signature", &plain)],
            OURS,
            true,
        ),
        (
            "forgejo",
            vec![("X-Forgejo-Event", "push"), ("X-Forgejo-Signature", &plain)],
            OURS,
            true,
        ),
        (
            "bitbucket",
            vec![("X-Event-Key", "repo:push"), ("X-Hub-Signature", &prefixed)],
            OURS,
            true,
        ),
        ("gitlab", vec![("X-Gitlab-Token", TOKEN)], gitlab, true),
        ("azuredevops", vec![basic], azure, false),
        (
            "generic",
            vec![("Authorization", "Bearer capstan-test")],
            "{}",
            true,
        ),
    ] {
        let headers = [vec![JSON], headers].concat();
        assert_eq!(world.post(forge, &headers, body).await, 200, "{forge}");
        assert_eq!(world.hint().is_some(), hints, "{forge}");
        assert_eq!(world.post(forge, &[JSON], body).await, 401, "{forge}");
        assert_eq!(world.hint(), None, "{forge}");
        assert!(world.counted(&format!(r#"{{forge="{forge}",result="unsigned"}} 1"#)));
    }
    // The sender of a generic one may send no body.
    let bearer = [("Authorization", "Bearer capstan-test")];
    assert_eq!(world.post("generic", &bearer, Body::empty()).await, 200);
    let wrong = [("Authorization", "Bearer other")];
    assert_eq!(world.post("generic", &wrong, Body::empty()).await, 401);
    assert!(world.counted(r#"{forge="generic",result="unauthorized"} 1"#));
}

/// Oracle rows 5 and 8.
#[tokio::test]
async fn a_malformed_call_is_answered_before_it_is_read() {
    let world = World::new();
    let get = Request::get("/webhook/github")
        .body(Body::empty())
        .expect("sound");
    let (status, allow) = world.ask(get).await;
    assert_eq!((status.as_u16(), allow.as_str()), (405, "\"POST\""));
    let unknown = Request::post("/webhook/other")
        .body(Body::empty())
        .expect("sound");
    assert_eq!(world.ask(unknown).await.0, 404);
    for (forge, content) in [
        ("github", "text/plain"),
        ("github", "application/json; charset="),
        ("gitlab", "application/x-www-form-urlencoded"),
    ] {
        let status = world.post(forge, &[("Content-Type", content)], "{}").await;
        assert_eq!(status, 415, "{forge} {content}");
    }
    assert_eq!(world.post("github", &[], "{}").await, 415);
}

/// Oracle row 8, V10.
#[tokio::test]
async fn a_body_of_three_mib_is_read_and_not_one_byte_more() {
    let world = World::new();
    let whole = format!("{{\"x\":\"{}\"}}", "a".repeat(3_145_720));
    let headers = [JSON, ("X-Gitea-Signature", V10)];
    assert_eq!(world.post("gitea", &headers, whole.clone()).await, 200);
    let larger = whole.replace("\"}", "a\"}");
    let length = larger.len().to_string();
    let announced = [JSON, ("Content-Length", &length)];
    // What is announced is not read at all.
    let unread = Body::from_stream(stream::pending::<Result<Vec<u8>, Infallible>>());
    assert_eq!(world.post("gitea", &announced, unread).await, 413);
    assert_eq!(world.post("gitea", &headers, larger.clone()).await, 413);
    let chunks = larger
        .into_bytes()
        .chunks(64 * 1024)
        .map(<[u8]>::to_vec)
        .collect::<Vec<_>>();
    let chunks = stream::iter(chunks.into_iter().map(Ok::<_, Infallible>));
    let chunked = chunks.chain(stream::pending());
    let chunked = Body::from_stream(chunked);
    assert_eq!(
        world.post("gitea", &headers, chunked).await,
        413,
        "reading stops"
    );
    assert!(world.counted(r#"{forge="gitea",result="too_large"} 3"#));
    // GitHub sends up to 25 MB.
    let large = format!("{{\"x\":\"{}\"}}", "a".repeat(4 << 20));
    assert_eq!(github(&world, "push", &large).await, 200);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_arrive_is_given_up_after_10_seconds() {
    let world = World::new();
    let start = tokio::time::Instant::now();
    let silent = Body::from_stream(stream::pending::<Result<Vec<u8>, Infallible>>());
    assert_eq!(world.post("gitea", &[JSON], silent).await, 408);
    assert_eq!(start.elapsed(), Duration::from_secs(10));
    assert!(world.counted(r#"{forge="gitea",result="incomplete"} 1"#));
}

#[tokio::test(start_paused = true)]
async fn bodies_that_do_not_arrive_keep_nobody_out() {
    let world = World::new();
    let silent = || Body::from_stream(stream::pending::<Result<Vec<u8>, Infallible>>());
    let announced = [JSON, ("Content-Length", "26214400")];
    let sent = (0..40).map(|_| world.post("github", &announced, silent()));
    let waiting = futures::future::join_all(sent);
    let large = format!("{{\"x\":\"{}\"}}", "a".repeat(20 << 20));
    let (waiting, large) = futures::join!(waiting, github(&world, "push", &large));
    assert_eq!(waiting, [408; 40]);
    assert_eq!(large, 200);
}

#[tokio::test(start_paused = true)]
async fn bodies_that_do_not_end_fill_no_memory() {
    let world = World::new();
    let slow = || {
        let begun = stream::iter([Ok::<_, Infallible>(vec![b'a'; 16 << 20])]);
        Body::from_stream(begun.chain(stream::pending()))
    };
    let sent = (0..6).map(|_| world.post("github", &[JSON], slow()));
    let answers = futures::future::join_all(sent).await;
    let busy = answers.iter().filter(|status| **status == 503).count();
    assert_eq!((answers.len(), busy), (6, 2), "four of 16 MiB have room");
    assert_eq!(
        github(&world, "push", OURS).await,
        200,
        "and it is free again"
    );
}

#[tokio::test]
async fn it_is_ready_once_the_repository_was_asked() {
    let world = World::new();
    let get = |path: &str| Request::get(path).body(Body::empty()).expect("sound");
    assert_eq!(
        world.ask(get("/healthz")).await,
        (StatusCode::OK, "ok\n".to_owned())
    );
    assert_eq!(world.ask(get("/readyz")).await.0, 503);
    world.metrics.fetched(false);
    assert_eq!(world.ask(get("/readyz")).await.0, 200);
    let (status, text) = world.ask(get("/metrics")).await;
    assert_eq!((status, text), (StatusCode::OK, world.metrics.text()));
    let bare = router(Arc::new(Metrics::default()), None);
    let request = Request::post("/webhook/github")
        .body(Body::empty())
        .expect("sound");
    let answer = bare.oneshot(request).await.expect("infallible");
    assert_eq!(answer.status(), 404, "there is no secret");
}

#[tokio::test(start_paused = true)]
async fn what_is_sent_to_one_tenant_keeps_no_other_out() {
    let fleets = Arc::new(FleetWebhooks::new(["a".to_owned()].into()));
    let keys = [("token".to_owned(), TOKEN.as_bytes().to_vec())].into();
    let secrets = Arc::new(Secrets::read("it", &keys).expect("sound"));
    let hints = <[Arc<Hints>; 2]>::default();
    for (name, hints) in ["a", "b"].into_iter().zip(&hints) {
        let secrets = Arc::clone(&secrets);
        let source: SecretSource =
            Arc::new(move || Box::pin(std::future::ready(Some(Arc::clone(&secrets)))));
        let now: fn() -> Timestamp = || Timestamp::UNIX_EPOCH;
        let log = (now, tracing::Span::none());
        fleets.set((name, "f"), "", source, Arc::clone(hints), log);
    }
    let router = fleets_router(Arc::new(Metrics::default()), &fleets);
    let post = |path: &str, body: Body| {
        let request = Request::post(format!("/webhook/generic/{path}"))
            .header("Authorization", "Bearer capstan-test");
        let request = request.body(body).expect("sound");
        let answer = router.clone().oneshot(request);
        async move { answer.await.expect("infallible").status().as_u16() }
    };
    assert_eq!(post("a/g", Body::empty()).await, 503, "it may come");
    fleets.listed("a");
    assert_eq!(post("a/g", Body::empty()).await, 401);
    let slow = || {
        let begun = stream::iter([Ok::<_, Infallible>(vec![b'a'; 3 << 20])]);
        Body::from_stream(begun.chain(stream::pending()))
    };
    let sent = (0..30).map(|_| post("a/f", slow()));
    let sent = futures::future::join_all(sent);
    let other = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let own = post("a/f", Body::from(vec![b'a'; 3 << 20])).await;
        (own, post("b/f", Body::from("{}")).await)
    };
    let (sent, other) = futures::join!(sent, other);
    assert_eq!(other, (503, 200), "only the one has no room");
    assert!(sent.contains(&503) && sent.contains(&408), "{sent:?}");
    let [a, b] = hints.map(|hints| hints.next().now_or_never());
    assert_eq!((a, b), (None, Some(Hint::default())));
    fleets.remove("b", "f");
    assert_eq!(post("b/f", Body::empty()).await, 401);
    let text = fleets.metrics();
    let busy = "{namespace=\"a\",fleet=\"f\",forge=\"generic\",result=\"busy\"} ";
    assert!(text.contains(busy), "{text}");
}
