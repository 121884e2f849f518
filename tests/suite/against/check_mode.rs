//! A daemon that only checks: its plans are those of `capstan plan --against`, and it asks no cluster.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value as Json;

use super::{Clone, config_map};
use crate::sources::repository::git;

/// An API server that has a Secret, refuses everything else, and remembers what it was asked.
struct Recorder {
    kubeconfig: PathBuf,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Recorder {
    fn start(place: &Path) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let requests: Arc<Mutex<Vec<String>>> = Arc::default();
        let recorded = Arc::clone(&requests);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let mut line = String::new();
                drop(BufReader::new(&stream).read_line(&mut line));
                let answer = answer(&line);
                recorded.lock().expect("sound").push(line);
                drop((&stream).write_all(answer.as_bytes()));
            }
        });
        let kubeconfig = place.join("kubeconfig");
        let text = format!(
            "{{apiVersion: v1, kind: Config, current-context: c, clusters: [{{name: c, cluster: {{server: \"http://{address}\"}}}}], contexts: [{{name: c, context: {{cluster: c, user: u}}}}], users: [{{name: u, user: {{}}}}]}}"
        );
        fs::write(&kubeconfig, text).expect("written");
        Self {
            kubeconfig,
            requests,
        }
    }

    fn requests(&self) -> Vec<String> {
        self.requests.lock().expect("sound").clone()
    }
}

/// The answer to a request with this first line.
fn answer(line: &str) -> String {
    let secret = r#"{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "hook", "namespace": "capstan-system", "resourceVersion": "1"}, "data": {"token": "aGVsbG8="}}"#;
    let list = format!(
        r#"{{"apiVersion": "v1", "kind": "SecretList", "metadata": {{"resourceVersion": "1"}}, "items": [{secret}]}}"#
    );
    let (status, body) = match line {
        line if !line.starts_with("GET ") || line.contains("watch=") => ("403 Forbidden", ""),
        line if line.contains("/secrets/hook") => ("200 OK", secret),
        line if line.contains("/secrets?") => ("200 OK", list.as_str()),
        _ => ("403 Forbidden", ""),
    };
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

/// A daemon that ends with this.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// A daemon of the fleet in `clone`, in this mode.
fn daemon(clone: &Clone, mode: &str, place: &Path, recorder: &Recorder) -> Running {
    let config = place.join("fleet.yaml");
    let url = clone.dir.path().display();
    let text = format!(
        "apiVersion: capstan.dev/v1alpha1\nkind: Fleet\nmetadata: {{name: f}}\nspec:\n  mode: {mode}\n  source: {{git: {{url: \"{url}\", ref: {{branch: main}}, interval: 1s}}}}\n"
    );
    fs::write(&config, text).expect("written");
    let child = Command::new(env!("CARGO_BIN_EXE_capstan"))
        .arg("run")
        .arg("--config")
        .arg(config)
        .env("KUBECONFIG", &recorder.kubeconfig)
        .env("CAPSTAN_CACHE", place.join("cache"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    Running(child.expect("it starts"))
}

/// What `read` answers once that is something.
fn within_a_minute<T>(what: &str, mut read: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(60) {
        if let Some(found) = read() {
            return found;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("{what} did not come");
}

/// The ended check of this context in the note on a commit.
fn noted(clone: &Clone, commit: &str, context: &str) -> Option<Json> {
    let note = git(
        clone.dir.path(),
        &["notes", "--ref=capstan", "show", commit],
    )
    .ok()?;
    let line = note.lines().find(|line| line.starts_with("{\"v\":1,"))?;
    let note: Json = serde_json::from_str(line).ok()?;
    let mut checks = note["checks"].as_array()?.iter();
    let check = checks.find(|check| check["context"] == context)?;
    (check["state"] != "pending").then(|| check.clone())
}

/// For fleets that something else applies.
#[test]
fn a_daemon_that_only_checks_gives_the_text_of_the_plan_and_asks_no_cluster() {
    let Some(clone) = Clone::empty() else { return };
    clone.write("a.yaml", &config_map("a", "old"));
    clone.commit("begin");
    clone.git(&["checkout", "--quiet", "-b", "pr/1"]);
    clone.write("a.yaml", &config_map("a", "new"));
    let head = clone.commit("change it");
    clone.git(&["checkout", "--quiet", "main"]);
    clone.write("b.yaml", &config_map("b", "x"));
    let base = clone.commit("meanwhile");
    clone.git(&["checkout", "--quiet", "pr/1"]);
    let place = tempfile::tempdir().expect("a directory");
    let recorder = Recorder::start(place.path());

    let checking = daemon(&clone, "check", place.path(), &recorder);
    let check = within_a_minute("the plan", || noted(&clone, &head, "capstan/f/plan"));
    let (title, summary) = (check["title"].as_str(), check["summary"].as_str());
    let (title, summary) = (title.expect("a title"), summary.expect("a text"));
    assert_eq!(title.split(';').next(), Some("1 object changed"), "{title}");
    let plan = clone.plan(&["--against", "main", "--format", "markdown"], 0);
    assert_eq!(format!("### {title}\n\n{}\n", summary.trim()), plan);
    let sync = within_a_minute("the check", || noted(&clone, &base, "capstan/f/sync"));
    assert_eq!(
        (&sync["state"], &sync["title"]),
        (&"success".into(), &"checked: no errors".into())
    );

    // A broken head is reported, and nothing can be planned on it.
    clone.git(&["checkout", "--quiet", "main"]);
    clone.write("c.yaml", "kind: ConfigMap\n");
    let broken = clone.commit("break it");
    let sync = within_a_minute("the check", || noted(&clone, &broken, "capstan/f/sync"));
    assert_eq!(
        (&sync["state"], &sync["title"]),
        (&"failure".into(), &"checked: 1 error".into())
    );
    assert_eq!(recorder.requests(), [] as [String; 0]);
    drop(checking);

    // Secrets are read; nothing is ever written.
    let secret =
        "check\n  checks: {webhookSecretRef: {name: hook}}\n  serve: {address: \"127.0.0.1:0\"}";
    let reading = daemon(&clone, secret, place.path(), &recorder);
    within_a_minute("a request", || recorder.requests().first().cloned());
    clone.edit("c.yaml", "kind: ConfigMap\n", &config_map("c", "x"));
    let mended = clone.commit("mend it");
    let is_checked = || noted(&clone, &mended, "capstan/f/sync");
    within_a_minute(
        &format!("the check, after {:?}", recorder.requests()),
        is_checked,
    );
    let requests = recorder.requests();
    assert!(
        requests.iter().all(|line| line.starts_with("GET ")),
        "{requests:?}"
    );
    assert!(
        requests.iter().all(|line| line.contains("/secrets")),
        "{requests:?}"
    );
    drop(reading);

    let _applying = daemon(&clone, "apply", place.path(), &recorder);
    within_a_minute("a request", || {
        let requests = recorder.requests();
        requests.into_iter().find(|line| !line.contains("/secrets"))
    });
}
