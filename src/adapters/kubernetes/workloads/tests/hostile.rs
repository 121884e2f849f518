//! API servers that answer anything. What is taken of an answer is counted in bytes.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::convert::Infallible;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::body::Body as Answer;
use futures::stream;
use http::{Request, Response, StatusCode};
use jiff::Timestamp;
use kube::client::Body;
use kube_sim::SimClock;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_util::task::AbortOnDropHandle;

use super::super::*;
use super::kubeconfig;

const MIB: usize = 1 << 20;

type Parts = BoxStream<'static, Vec<u8>>;

/// A server, and what was asked and taken of it.
#[derive(Clone, Default)]
struct Hostile {
    /// The seconds at which it was asked for a list, and for a watch.
    lists: Arc<Mutex<Vec<u64>>>,
    watches: Arc<Mutex<Vec<u64>>>,
    taken: Arc<AtomicUsize>,
}

impl Hostile {
    fn client(&self, answer: impl Fn(bool) -> (u16, Parts) + Send + Sync + 'static) -> Client {
        let (hostile, start) = (self.clone(), Instant::now());
        let service = tower::service_fn(move |request: Request<Body>| {
            let is_watch = request.uri().to_string().contains("watch=true");
            let asked = match is_watch {
                true => &hostile.watches,
                false => &hostile.lists,
            };
            asked.lock().unwrap().push(start.elapsed().as_secs());
            let (status, parts) = answer(is_watch);
            let taken = Arc::clone(&hostile.taken);
            let parts = parts.map(move |part| {
                taken.fetch_add(part.len(), Ordering::SeqCst);
                Ok::<_, Infallible>(part)
            });
            let mut response = Response::new(Answer::from_stream(parts));
            *response.status_mut() = StatusCode::from_u16(status).unwrap();
            let location = "https://elsewhere.example/api/v1/nodes".parse().unwrap();
            response.headers_mut().insert("location", location);
            std::future::ready(Ok::<_, Infallible>(response))
        });
        Client::new(service, "default")
    }

    /// What is heard of it, and what is taken meanwhile.
    fn heard(
        &self,
        answer: impl Fn(bool) -> (u16, Parts) + Send + Sync + 'static,
    ) -> BoxStream<'static, Heard> {
        let cluster = ObjectId::new("cluster.x-k8s.io", "Cluster", "ns", "c");
        let clock = Arc::new(SimClock::new(Timestamp::UNIX_EPOCH, 1));
        Watch::new(cluster, &self.client(answer), clock).heard()
    }

    async fn error(&self, answer: impl Fn(bool) -> (u16, Parts) + Send + Sync + 'static) -> String {
        let mut heard = self.heard(answer);
        loop {
            if let Err(error) = heard.next().await.unwrap() {
                assert_eq!(error.class(), ErrorClass::Invalid, "{error}");
                return error.to_string();
            }
        }
    }

    fn taken(&self) -> usize {
        self.taken.load(Ordering::SeqCst)
    }

    fn lists(&self) -> usize {
        self.lists.lock().unwrap().len()
    }
}

fn endless(part: Vec<u8>) -> Parts {
    stream::repeat(part).boxed()
}

fn once(body: &Value) -> Parts {
    let body = body.to_string().into_bytes();
    stream::iter([body]).boxed()
}

fn node(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "resourceVersion": "7"}})
}

fn line(kind: &str, node: &Value) -> Vec<u8> {
    let mut line = json!({"type": kind, "object": node}).to_string();
    line.push('\n');
    line.into_bytes()
}

/// An empty list, and then a watch.
fn after_a_list(
    watch: impl Fn() -> Parts + Send + Sync + 'static,
) -> impl Fn(bool) -> (u16, Parts) + Send + Sync + 'static {
    move |is_watch| match is_watch {
        true => (200, watch()),
        false => (
            200,
            once(&json!({"metadata": {"resourceVersion": "7"}, "items": []})),
        ),
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_without_an_end_is_given_up() {
    for part in [
        vec![b' '; 1 << 16],
        b"{\"metadata\":{},\"items\":[".to_vec(),
    ] {
        let hostile = Hostile::default();
        let error = hostile.error(move |_| (200, endless(part.clone()))).await;
        assert_eq!(
            error,
            "the nodes of Cluster/ns/c cannot be watched: its API server is not read: its answer is larger than 4194304 bytes"
        );
        assert!(
            hostile.taken() <= 4 * MIB + (1 << 16),
            "{}",
            hostile.taken()
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_without_an_end_is_given_up() {
    let hostile = Hostile::default();
    let error = hostile.error(|_| (500, endless(vec![b'x'; 1 << 10]))).await;
    assert!(error.contains("larger than 65536 bytes"), "{error}");
    assert!(hostile.taken() <= 66 << 10, "{}", hostile.taken());
}

#[tokio::test(start_paused = true)]
async fn a_list_that_always_goes_on_is_given_up() {
    let hostile = Hostile::default();
    let page = json!({"metadata": {"continue": "more", "resourceVersion": "7"}, "items": []});
    let error = hostile.error(move |_| (200, once(&page))).await;
    assert!(error.contains("goes on after 200 parts"), "{error}");
    assert_eq!(hostile.lists(), 200);
}

#[tokio::test(start_paused = true)]
async fn a_million_nodes_are_not_held() {
    let hostile = Hostile::default();
    let nodes: Vec<Value> = (0..1_000).map(|at| node(&format!("n{at}"))).collect();
    let page = json!({"metadata": {"continue": "more"}, "items": nodes});
    let error = hostile.error(move |_| (200, once(&page))).await;
    assert!(error.contains("it has more than 5000 nodes"), "{error}");
    assert_eq!(hostile.lists(), 6);

    // As many as there may be, and one more by the watch.
    let hostile = Hostile::default();
    let asked = AtomicUsize::new(0);
    let mut heard = hostile.heard(move |is_watch| {
        let at = asked.fetch_add(1, Ordering::SeqCst);
        let names = (0..1_000).map(|name| node(&format!("n{at}-{name}")));
        let next = (at < 4).then_some("more");
        let metadata = json!({"continue": next, "resourceVersion": "7"});
        let answer = match is_watch {
            true => stream::iter([line("ADDED", &node("m"))]).boxed(),
            false => once(&json!({"metadata": metadata, "items": names.collect::<Vec<_>>()})),
        };
        (200, answer)
    });
    assert_eq!(heard.next().await.unwrap().unwrap().len(), 5_000);
    let error = heard.next().await.unwrap().unwrap_err();
    assert!(
        error.to_string().ends_with("it has more than 5000 nodes"),
        "{error}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_watch_is_bounded_by_line_and_as_a_whole() {
    let hostile = Hostile::default();
    let watch = || endless(vec![b'x'; 1 << 16]);
    let error = hostile.error(after_a_list(watch)).await;
    assert!(
        error.contains("a line of its watch is longer than 1048576 bytes"),
        "{error}"
    );
    assert!(hostile.taken() <= MIB + (2 << 16), "{}", hostile.taken());

    let hostile = Hostile::default();
    let watch = || {
        let mut part = vec![b' '; MIB - 1];
        part.push(b'\n');
        endless(part)
    };
    let error = hostile.error(after_a_list(watch)).await;
    assert!(
        error.contains("it said more than 67108864 bytes in one watch"),
        "{error}"
    );
    assert!(hostile.taken() <= 66 * MIB, "{}", hostile.taken());
}

#[tokio::test(start_paused = true)]
async fn a_server_that_says_one_byte_each_second_holds_nothing_up_for_ever() {
    let slow = || {
        let seconds = stream::repeat(()).then(|()| async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            b" ".to_vec()
        });
        seconds.boxed()
    };
    let hostile = Hostile::default();
    let mut heard = hostile.heard(move |_| (200, slow()));
    let error = heard.next().await.unwrap().unwrap_err();
    assert!(
        error.to_string().contains("did not answer within 60 s"),
        "{error}"
    );
    assert_eq!(error.class(), ErrorClass::Transient);
    assert!(hostile.taken() <= 61, "{}", hostile.taken());

    // A watch ends after its time, and is taken up again without a word.
    let slow = || {
        let lines = stream::repeat(()).then(|()| async {
            tokio::time::sleep(Duration::from_secs(99)).await;
            line("DELETED", &node("a"))
        });
        lines.boxed()
    };
    let hostile = Hostile::default();
    let mut heard = hostile.heard(after_a_list(slow));
    assert_eq!(heard.next().await.unwrap(), Ok(Vec::new()));
    let silence = tokio::time::timeout(Duration::from_secs(1_801), heard.next()).await;
    assert!(silence.is_err());
    assert_eq!(*hostile.watches.lock().unwrap(), [0, 600, 1_200, 1_800]);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_ends_at_once_begins_once_a_second() {
    let hostile = Hostile::default();
    let mut heard = hostile.heard(after_a_list(|| stream::empty().boxed()));
    assert_eq!(heard.next().await.unwrap(), Ok(Vec::new()));
    let silence = tokio::time::timeout(Duration::from_millis(10_500), heard.next()).await;
    assert!(silence.is_err());
    let asked = hostile.watches.lock().unwrap().clone();
    assert_eq!(asked, (0..=10).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_beyond_its_bounds_is_asked_ever_more_rarely() {
    let hostile = Hostile::default();
    let watch = || {
        let talk = stream::iter([line("ADDED", &node("a")), line("DELETED", &node("a"))]);
        talk.chain(endless(vec![b'x'; 1 << 18])).boxed()
    };
    let mut heard = hostile.heard(after_a_list(watch));
    let all = async { while heard.next().await.is_some() {} };
    let _ = tokio::time::timeout(Duration::from_secs(700), all).await;
    // What it says in between does not make it sound again.
    assert_eq!(*hostile.watches.lock().unwrap(), [0, 15, 45, 105, 225, 465]);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_held_for_two_minutes_is_whole_again() {
    let hostile = Hostile::default();
    let watch = || {
        let later = stream::once(async {
            tokio::time::sleep(Duration::from_secs(200)).await;
            line("DELETED", &node("a"))
        });
        let talk = stream::iter([line("ADDED", &node("a"))]).chain(later);
        talk.chain(endless(vec![b'x'; 1 << 18])).boxed()
    };
    let mut heard = hostile.heard(after_a_list(watch));
    let all = async { while heard.next().await.is_some() {} };
    let _ = tokio::time::timeout(Duration::from_secs(700), all).await;
    assert_eq!(*hostile.watches.lock().unwrap(), [0, 215, 430, 645]);
}

#[tokio::test(start_paused = true)]
async fn no_redirect_is_followed() {
    for status in [301, 302, 303, 307, 308] {
        let hostile = Hostile::default();
        let error = hostile
            .error(move |_| (status, stream::empty().boxed()))
            .await;
        assert!(error.contains("it redirects to another address"), "{error}");
        assert_eq!(hostile.lists(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_no_node_is_an_error_of_one_line() {
    let odd = json!({"metadata": {"name": "a/../../secrets"}});
    let lists = [
        json!({"metadata": {"resourceVersion": "7"}, "items": [odd]}),
        json!({"metadata": {"resourceVersion": "7"}, "items": [{"metadata": {"name": ["\u{1b}[2J"]}}]}),
        json!("\u{1b}[2J\n".repeat(10_000)),
    ];
    for list in lists {
        let error = Hostile::default().error(move |_| (200, once(&list))).await;
        assert!(
            error.contains("it does not answer like an API server: "),
            "{error}"
        );
        assert!(
            !error.contains(char::is_control) && error.len() < 5_000,
            "{error}"
        );
    }
    let watch = || stream::iter([line("ADDED", &json!({"metadata": {"name": "A"}}))]).boxed();
    let error = Hostile::default().error(after_a_list(watch)).await;
    assert!(
        error.ends_with("it does not answer like an API server"),
        "{error}"
    );
}

/// A server on a port that answers each request with these bytes, and goes on with the same part as long as somebody reads,
/// up to 64 MiB.
struct OnPort {
    kubeconfig: Vec<u8>,
    asked: Arc<AtomicUsize>,
    sent: Arc<AtomicUsize>,
    _task: AbortOnDropHandle<()>,
}

impl OnPort {
    async fn start(head: &str, part: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = format!("http://{}", listener.local_addr().unwrap());
        let (asked, sent) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (head, part) = (head.to_owned(), part.to_owned());
        let (counted, written) = (Arc::clone(&asked), Arc::clone(&sent));
        let task = tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                counted.fetch_add(1, Ordering::SeqCst);
                let mut request = [0; 4_096];
                let _ = stream.read(&mut request).await;
                let _ = stream.write_all(head.as_bytes()).await;
                while !part.is_empty() && written.load(Ordering::SeqCst) < 64 * MIB {
                    if stream.write_all(part.as_bytes()).await.is_err() {
                        break;
                    }
                    written.fetch_add(part.len(), Ordering::SeqCst);
                }
            }
        });
        Self {
            kubeconfig: kubeconfig(&json!({"server": server}), &json!({})),
            asked,
            sent,
            _task: AbortOnDropHandle::new(task),
        }
    }

    async fn error(&self) -> String {
        let cluster = ObjectId::new("cluster.x-k8s.io", "Cluster", "ns", "c");
        let clock = Arc::new(SimClock::new(Timestamp::UNIX_EPOCH, 1));
        let mut heard = KubeWorkloads::new(clock).nodes(&cluster, &self.kubeconfig);
        heard.next().await.unwrap().unwrap_err().to_string()
    }
}

/// Buffers of the kernel take some megabytes that nobody reads.
#[tokio::test]
async fn a_server_on_a_port_is_left_at_the_limit() {
    let body = OnPort::start("HTTP/1.1 200 OK\r\n\r\n", &" ".repeat(1 << 16)).await;
    let error = body.error().await;
    assert!(error.contains("larger than 4194304 bytes"), "{error}");
    let header = format!("x-padding: {}\r\n", "a".repeat(1_000));
    let headers = OnPort::start("HTTP/1.1 200 OK\r\n", &header).await;
    let error = headers.error().await;
    assert!(error.contains("cannot be watched"), "{error}");
    for server in [body, headers] {
        let sent = server.sent.load(Ordering::SeqCst);
        assert!(sent < 32 * MIB, "{sent}");
    }
}

#[tokio::test]
async fn a_server_on_a_port_leads_to_no_other() {
    let other = OnPort::start("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", "").await;
    let text = String::from_utf8(other.kubeconfig.clone()).unwrap();
    let address = text
        .split('"')
        .find(|part| part.starts_with("http://"))
        .unwrap();
    let head = format!(
        "HTTP/1.1 307 Temporary Redirect\r\nlocation: {address}/api/v1/nodes\r\ncontent-length: 0\r\n\r\n"
    );
    let error = OnPort::start(&head, "").await.error().await;
    assert!(error.contains("it redirects to another address"), "{error}");
    assert_eq!(other.asked.load(Ordering::SeqCst), 0);
}
