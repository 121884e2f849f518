//! A NATS server on loopback, with a directory of its own, that can be killed and started again; and what a
//! test asks of it as another client.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use async_nats::client::Client;
use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::kubernetes;
use crate::patience::until;

/// Kills the server when its standard input is closed, that is, when the test ends, however it ends.
const KEEPER: &str = r#"
"$1" -c "$2/nats.conf" >>"$2/log" 2>&1 &
echo $! >"$2/pid"
cat >/dev/null
kill -9 $!
wait $!
"#;
const HELP: &str = "needs the program nats-server; install the package nats-server";

/// A server, which ends with this value.
pub(crate) struct NatsServer {
    program: PathBuf,
    dir: TempDir,
    /// The settings besides its address.
    settings: String,
    pub(crate) port: u16,
    keeper: Option<Child>,
}

/// A message that a stream stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) subject: String,
    pub(crate) id: String,
    pub(crate) payload: String,
}

impl NatsServer {
    /// One with JetStream.
    pub(crate) fn with_jetstream() -> Option<Self> {
        Self::start("jetstream { store_dir: \"DIR/streams\" }")
    }

    /// One with these settings, in which `DIR` is its directory; none when the program is not here.
    pub(crate) fn start(settings: &str) -> Option<Self> {
        Self::at(settings, 0)
    }

    /// The same at a port; at any if it is 0.
    pub(crate) fn at(settings: &str, port: u16) -> Option<Self> {
        Self::with_files(settings, &[], port)
    }

    /// The same with files in its directory, which the settings name.
    pub(crate) fn with_files(settings: &str, files: &[(&str, &str)], port: u16) -> Option<Self> {
        let program = program()?;
        let dir = tempfile::tempdir().expect("a directory");
        for (name, text) in files {
            fs::write(dir.path().join(name), text).expect("written");
        }
        let settings = settings.replace("DIR", &dir.path().display().to_string());
        let mut server = Self {
            program,
            dir,
            settings,
            port,
            keeper: None,
        };
        server.restart();
        Some(server)
    }

    /// Starts it at its port, with the data that it has.
    pub(crate) fn restart(&mut self) {
        self.kill();
        let dir = self.dir.path();
        let port = match self.port {
            0 => "-1".to_owned(),
            port => port.to_string(),
        };
        let (shown, settings) = (dir.display(), &self.settings);
        let text =
            format!("listen: \"127.0.0.1:{port}\"\nports_file_dir: \"{shown}\"\n{settings}\n");
        fs::write(dir.join("nats.conf"), text).expect("written");
        let keeper = Command::new("sh")
            .args(["-c", KEEPER, "sh"])
            .args([&self.program, dir])
            .stdin(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        self.keeper = Some(keeper.expect("sh runs"));
        self.port = until(
            || self.bound(),
            || format!("no NATS server: {}", self.log()),
        );
        let port = self.port;
        let listens = || std::net::TcpStream::connect(("127.0.0.1", port)).ok();
        drop(until(listens, || format!("no NATS server: {}", self.log())));
    }

    /// Kills it, as a machine that fails does.
    pub(crate) fn kill(&mut self) {
        let Some(mut keeper) = self.keeper.take() else {
            return;
        };
        drop(keeper.stdin.take());
        let _ended = keeper.wait();
        if let Some(path) = self.ports_file() {
            let _removed = fs::remove_file(path);
        }
    }

    /// Lets it hang, or go on.
    pub(crate) fn signal(&self, signal: &str) {
        let pid = fs::read_to_string(self.dir.path().join("pid")).expect("a pid");
        let done = Command::new("kill").args([signal, pid.trim()]).status();
        assert!(done.expect("kill runs").success());
    }

    /// `nats://127.0.0.1:PORT`
    pub(crate) fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// Another client.
    pub(crate) async fn client(&self) -> Client {
        let connected = async_nats::connect(self.url()).await;
        connected.expect("the server is there")
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.dir.path().join("log")).unwrap_or_default()
    }

    fn ports_file(&self) -> Option<PathBuf> {
        let entries = fs::read_dir(self.dir.path()).ok()?;
        let mut paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
        paths.find(|path| path.extension().is_some_and(|end| end == "ports"))
    }

    /// The port that it says to have.
    fn bound(&self) -> Option<u16> {
        let text = fs::read_to_string(self.ports_file()?).ok()?;
        let ports: Value = serde_json::from_str(&text).ok()?;
        let address = ports["nats"][0].as_str()?;
        address.rsplit(':').next()?.parse().ok()
    }
}

impl Drop for NatsServer {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The program, which distributions put where only root looks.
fn program() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut dirs: Vec<PathBuf> = std::env::split_paths(&path).collect();
    dirs.push("/usr/sbin".into());
    let mut programs = dirs.into_iter().map(|dir| dir.join("nats-server"));
    let found = programs.find(|program| program.is_file());
    if found.is_none() {
        assert!(
            !kubernetes::is_required("nats"),
            "CAPSTAN_REQUIRE=nats, but {HELP}"
        );
        eprintln!("skipped: {HELP}");
    }
    found
}

/// Makes a stream for these subjects.
pub(crate) async fn create_stream(client: &Client, name: &str, subjects: &[&str]) {
    let config = json!({
        "name": name, "subjects": subjects, "storage": "file", "retention": "limits",
        "max_consumers": -1, "max_msgs": -1, "max_bytes": -1, "max_age": 0, "num_replicas": 1,
        "discard": "old",
    });
    let answer = api(client, &format!("STREAM.CREATE.{name}"), &config).await;
    assert!(answer["error"].is_null(), "{answer}");
}

/// All messages of a stream, in its order.
pub(crate) async fn stored(client: &Client, name: &str) -> Vec<Stored> {
    let info = api(client, &format!("STREAM.INFO.{name}"), &json!({})).await;
    let last = info["state"]["last_seq"].as_u64().expect("a number");
    let mut all = Vec::new();
    for seq in 1..=last {
        let answer = api(
            client,
            &format!("STREAM.MSG.GET.{name}"),
            &json!({ "seq": seq }),
        )
        .await;
        all.push(message(&answer["message"]));
    }
    all
}

fn message(message: &Value) -> Stored {
    let text = |key: &str| {
        let bytes = BASE64_STANDARD.decode(message[key].as_str().unwrap_or_default());
        String::from_utf8(bytes.expect("base64")).expect("text")
    };
    let headers = text("hdrs");
    let mut lines = headers.lines();
    let id = lines.find_map(|line| line.strip_prefix("Nats-Msg-Id: "));
    Stored {
        subject: message["subject"].as_str().unwrap_or_default().to_owned(),
        id: id.unwrap_or_default().to_owned(),
        payload: text("data"),
    }
}

/// Asks JetStream, also while it is starting.
async fn api(client: &Client, request: &str, body: &Value) -> Value {
    for _ in 0..100 {
        let body = body.to_string().into_bytes().into();
        match client.request(format!("$JS.API.{request}"), body).await {
            Ok(answer) => return serde_json::from_slice(&answer.payload).expect("JSON"),
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
    panic!("JetStream does not answer {request}");
}
