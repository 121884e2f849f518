//! The daemon's port: a delivery leads to a fetch at once, a flood to few, and mistakes in its settings
//! to errors at the start.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use capstan::adapters::git::{Access, Author, Files};
use capstan::adapters::kubernetes::Target;
use capstan::daemon::{self, Endpoint, Setup, View, wall_time};
use capstan::model::CheckState;
use capstan::settings::{Environment, SourceCredential, SyncConfig};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube_sim::{Server, SimClock};
use ring::hmac;
use serde_json::json;
use tempfile::TempDir;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::daemon::{DEFINITION, SYNC, World};
use crate::patience::{PATIENCE, until};

/// One request on a connection of its own: the status and the body.
pub(crate) fn ask(address: SocketAddr, head: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).expect("it listens");
    let (line, headers) = head.split_once('\n').unwrap_or((head, ""));
    let headers: String = headers.lines().map(|line| format!("{line}\r\n")).collect();
    let length = body.len();
    let request = format!(
        "{line} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
    );
    stream.write_all(request.as_bytes()).expect("written");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("answered");
    let status = answer
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok());
    let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    (status.expect("a status"), body.to_owned())
}

/// The HMAC-SHA256 of a body in hexadecimal digits.
pub(crate) fn signature(secret: &str, body: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    let tag = hmac::sign(&key, body.as_bytes());
    let bytes = tag.as_ref().iter();
    bytes.map(|byte| format!("{byte:02x}")).collect()
}

/// A push, as Gitea delivers it.
fn deliver(address: SocketAddr, secret: &str, url: &str) -> u16 {
    let body = json!({"ref": "refs/heads/main", "repository": {"clone_url": url}}).to_string();
    let signature = signature(secret, &body);
    let head = format!(
        "POST /webhook/gitea\nContent-Type: application/json\nX-Gitea-Event: push\nX-Gitea-Signature: {signature}"
    );
    let (status, body) = ask(address, &head, &body);
    assert_eq!(body, "");
    status
}

pub(crate) fn metric(address: SocketAddr, name: &str) -> u64 {
    let (status, text) = ask(address, "GET /metrics", "");
    assert_eq!(status, 200);
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(name));
    let value = lines.next().and_then(|value| value.trim().parse().ok());
    value.unwrap_or_default()
}

pub(crate) const FETCHES: &str = "capstan_fetches_total{result=\"ok\"}";

/// A daemon; it is killed when this is dropped.
struct Served {
    daemon: Child,
    address: SocketAddr,
}

impl Served {
    fn start(mut command: Command) -> Self {
        let mut daemon = command.stderr(Stdio::piped()).spawn().expect("it starts");
        let mut lines = BufReader::new(daemon.stderr.take().expect("piped")).lines();
        let address = lines.by_ref().map_while(Result::ok).find_map(|line| {
            let (_, rest) = line.split_once("webhooks on http://")?;
            rest.split_whitespace().next()?.parse().ok()
        });
        // What it says later must not hold it up.
        std::thread::spawn(move || lines.for_each(drop));
        Self {
            daemon,
            address: address.expect("it says where it listens"),
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
    }
}

fn secret(dir: &Path, value: &str) -> String {
    let dir = dir.join("hook");
    std::fs::create_dir_all(&dir).expect("made");
    std::fs::write(dir.join("token"), value).expect("written");
    dir.display().to_string()
}

#[test]
fn a_delivery_is_followed_by_a_fetch_at_once_and_a_thousand_by_two() {
    let world = World::on(None);
    let first = world.push("main", None, DEFINITION);
    let (url, dir) = (world.source(), tempfile::tempdir().expect("a directory"));
    let secret = secret(dir.path(), "s3cret\n");
    let arguments = [
        "--source",
        &url,
        "--interval",
        "1h",
        "--serve",
        "127.0.0.1:0",
    ];
    let arguments = [&arguments[..], &["--webhook-secret", &secret]].concat();
    let served = Served::start(world.command(3000, &arguments));
    let address = served.address;
    world.wait(&first, SYNC, CheckState::Success);
    assert_eq!(ask(address, "GET /readyz", "").0, 200);

    let second = world.push(
        "main",
        Some(&first),
        &format!("{DEFINITION}    replicas: 3\n"),
    );
    assert_eq!(deliver(address, "other", &url), 401);
    assert_eq!(deliver(address, "s3cret", "https://h/o/r.git"), 200);
    assert_eq!(metric(address, FETCHES), 1, "neither is a reason");
    assert_eq!(deliver(address, "s3cret", &url), 200);
    // The next look by itself is an hour away.
    world.wait(&second, SYNC, CheckState::Success);
    let info = format!("capstan_revision_info{{fleet=\"config\",revision=\"{second}\"}}");
    assert_eq!(metric(address, &info), 1);
    let refused = "capstan_webhook_deliveries_total{forge=\"gitea\",result=\"unauthorized\"}";
    assert_eq!(metric(address, refused), 1);

    std::thread::sleep(Duration::from_secs(2));
    let (before, start) = (metric(address, FETCHES), Instant::now());
    for _ in 0..1000 {
        assert_eq!(deliver(address, "s3cret", &url), 200);
    }
    // A busy machine needs more than a second for them; a fetch every two seconds is right then.
    let allowed = 2 + start.elapsed().as_secs() / 2;
    std::thread::sleep(Duration::from_secs(3));
    let fetches = metric(address, FETCHES) - before;
    assert!((1..=allowed).contains(&fetches), "{fetches} of {allowed}");
}

#[test]
fn mistakes_in_the_settings_of_the_port_are_errors_at_the_start() {
    let (world, dir) = (World::on(None), tempfile::tempdir().expect("a directory"));
    let held = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let taken = held.local_addr().expect("known").to_string();
    let (url, empty) = (world.source(), secret(dir.path(), "\n"));
    for (arguments, expected) in [
        (
            vec!["--serve", taken.as_str()],
            format!("cannot listen on {taken}: Address already in use"),
        ),
        (
            vec!["--serve", "8080"],
            "cannot listen on 8080: ".to_owned(),
        ),
        (
            vec!["--webhook-secret", &empty],
            "set spec.serve.address in the Fleet document, or --serve".to_owned(),
        ),
        (
            vec!["--serve", "127.0.0.1:0", "--webhook-secret", &empty],
            "key token is empty".to_owned(),
        ),
        (
            vec!["--serve", "127.0.0.1:0", "--webhook-secret", "/nowhere"],
            "cannot read /nowhere: No such file or directory".to_owned(),
        ),
    ] {
        let arguments = [vec!["--source", &url], arguments].concat();
        let output = world.command(1, &arguments).stderr(Stdio::piped()).output();
        let output = output.expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(&expected), "{arguments:?}: {said}");
        assert_eq!(output.status.code(), Some(2), "{said}");
    }
}

/// A daemon in this process, on a cluster with the Secret.
struct Inside {
    _dir: TempDir,
    author: Author,
    server: Server,
    address: SocketAddr,
    view: watch::Receiver<View>,
    _task: AbortOnDropHandle<()>,
}

fn tokens(value: &str) -> Secret {
    let token = k8s_openapi::ByteString(value.into());
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "hook"},
        "data": {"token": token}});
    serde_json::from_value(secret).expect("a Secret")
}

impl Inside {
    async fn start() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let author = Author::init(&dir.path().join("config.git")).expect("a bare repository");
        let time = SimClock::new(wall_time(), 100);
        let server = Server::new(Arc::new(time));
        let client = server.client("default");
        let api: Api<Secret> = Api::namespaced(client.clone(), "default");
        let created = api.create(&PostParams::default(), &tokens("old")).await;
        created.expect("created");
        let url = author.dir().display().to_string();
        let config = SyncConfig {
            namespace: "default".to_owned(),
            interval: Duration::from_secs(3600),
            mirror: dir.path().join("mirror"),
            serve: Some("127.0.0.1:0".to_owned()),
            webhook_secret: Some(SourceCredential::Secret("hook".to_owned())),
            ..SyncConfig::source(&url, None, &Environment::default())
        };
        let endpoint = Endpoint::open(&config, &client).await.expect("it is sound");
        let shown = endpoint.as_ref().expect("it is set").shown();
        let address = shown.split_once("http://").expect("an address").1.parse();
        let (sender, view) = watch::channel(View::default());
        let clock = Arc::new(time);
        let target = Target::new(client, clock);
        let stop = CancellationToken::new();
        let task = tokio::spawn(async move {
            let access = Access::default();
            let setup = Setup {
                hints: None,
                config,
                access,
                endpoint,
                forge: None,
                holder: None,
                provider: None,
            };
            let run = daemon::run_with(setup, target, sender, stop);
            run.await.expect("the settings are sound");
        });
        Self {
            _dir: dir,
            author,
            server,
            address: address.expect("an address"),
            view,
            _task: AbortOnDropHandle::new(task),
        }
    }

    fn push(&self, onto: Option<&str>, text: &str) -> String {
        let files: Files = [("a.yaml".to_owned(), text.to_owned())].into();
        let pushed = self
            .author
            .push("main", onto, &files, "it", Timestamp::UNIX_EPOCH);
        pushed.expect("pushed")
    }

    async fn deliver(&self, secret: &'static str) -> u16 {
        let (address, url) = (self.address, self.author.dir().display().to_string());
        let delivered = tokio::task::spawn_blocking(move || deliver(address, secret, &url));
        delivered.await.expect("no panic")
    }

    async fn wait(&mut self, revision: &str) {
        let is_applied = |view: &View| {
            let check = view.check(SYNC, revision);
            check.is_some_and(|check| check.state == CheckState::Success)
        };
        let applied = tokio::time::timeout(PATIENCE, self.view.wait_for(is_applied)).await;
        applied.expect("in time").expect("it runs");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_secret_is_valid_without_a_restart() {
    let mut inside = Inside::start().await;
    let map = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default}}";
    let first = inside.push(None, map);
    // It may have looked before the push.
    assert_eq!(inside.deliver("old").await, 200);
    inside.wait(&first).await;
    let api: Api<Secret> = Api::namespaced(inside.server.client("default"), "default");
    let (params, patch) = (PatchParams::default(), Patch::Merge(tokens("new")));
    api.patch("hook", &params, &patch).await.expect("patched");
    let start = Instant::now();
    while inside.deliver("new").await != 200 {
        assert!(start.elapsed() < PATIENCE, "the new secret is not valid");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(inside.deliver("old").await, 401);
    let second = inside.push(Some(&first), &map.replace("name: a", "name: b"));
    assert_eq!(inside.deliver("new").await, 200);
    inside.wait(&second).await;
    // An empty one is not taken.
    let patch = Patch::Merge(tokens(""));
    api.patch("hook", &params, &patch).await.expect("patched");
    assert_eq!(inside.deliver("new").await, 200);
}

#[test]
fn a_secret_in_a_directory_may_change() {
    let (world, dir) = (World::on(None), tempfile::tempdir().expect("a directory"));
    world.push("main", None, DEFINITION);
    let (url, directory) = (world.source(), secret(dir.path(), "old"));
    let arguments = [
        "--source",
        &url,
        "--interval",
        "1h",
        "--serve",
        "127.0.0.1:0",
    ];
    let arguments = [&arguments[..], &["--webhook-secret", &directory]].concat();
    let served = Served::start(world.command(3000, &arguments));
    let accepted = |token: &str| deliver(served.address, token, &url) == 200;
    until(
        || accepted("old").then_some(()),
        || "it is refused".to_owned(),
    );
    secret(dir.path(), "new");
    assert!(accepted("new") && !accepted("old"));
}
