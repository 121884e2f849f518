//! The `etcd` and `kube-apiserver` of `KUBEBUILDER_ASSETS`, which people may have already. They come
//! without controllers, and receive no input while they run.

use std::fs::OpenOptions;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rcgen::KeyPair;
use serde_json::json;
use tempfile::TempDir;

const TOKEN: &str = "suite";
const PATIENCE: Duration = Duration::from_secs(240);

/// Runs a program until standard input ends: with its parent, even one that is killed.
const UNTIL_INPUT_ENDS: &str = r#""$0" "$@" & cat >/dev/null; kill $!; wait $!"#;

/// Both at work; they end when this is dropped, or with this process.
pub(crate) struct Assets {
    pub(super) kubeconfig: PathBuf,
    children: Vec<Child>,
    dir: TempDir,
}

impl Drop for Assets {
    fn drop(&mut self) {
        for child in &mut self.children {
            drop(child.stdin.take());
            let _ = child.wait();
        }
    }
}

impl Assets {
    /// Starts both from `programs` on free ports of loopback.
    pub(super) fn start(programs: &Path) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let [client, peer, secure] = ports();
        let (client, peer) = (
            format!("http://127.0.0.1:{client}"),
            format!("http://127.0.0.1:{peer}"),
        );
        let etcd = [
            format!("--data-dir={}", dir.path().join("etcd").display()),
            format!("--listen-client-urls={client}"),
            format!("--advertise-client-urls={client}"),
            format!("--listen-peer-urls={peer}"),
            format!("--initial-advertise-peer-urls={peer}"),
            format!("--initial-cluster=default={peer}"),
            "--unsafe-no-fsync".to_owned(),
        ];
        let [key, public, tokens] = ["service-account.key", "service-account.pub", "tokens.csv"]
            .map(|name| dir.path().join(name));
        let pair = KeyPair::generate().expect("there is randomness");
        std::fs::write(&key, pair.serialize_pem()).expect("written");
        std::fs::write(&public, pair.public_key_pem()).expect("written");
        std::fs::write(&tokens, format!("{TOKEN},admin,admin,system:masters\n")).expect("written");
        let api_server = [
            "--advertise-address=127.0.0.1".to_owned(),
            "--authorization-mode=RBAC".to_owned(),
            "--bind-address=127.0.0.1".to_owned(),
            format!("--cert-dir={}", dir.path().display()),
            "--disable-admission-plugins=ServiceAccount".to_owned(),
            format!("--etcd-servers={client}"),
            format!("--secure-port={secure}"),
            "--service-account-issuer=https://capstan.test".to_owned(),
            format!("--service-account-key-file={}", public.display()),
            format!("--service-account-signing-key-file={}", key.display()),
            "--service-cluster-ip-range=10.0.0.0/16".to_owned(),
            format!("--token-auth-file={}", tokens.display()),
        ];
        let children = vec![
            spawn(&programs.join("etcd"), &etcd, dir.path()),
            spawn(&programs.join("kube-apiserver"), &api_server, dir.path()),
        ];
        let kubeconfig = dir.path().join("kubeconfig");
        let certificate = dir.path().join("apiserver.crt");
        std::fs::write(&kubeconfig, administrator(secure, &certificate)).expect("written");
        let assets = Self {
            kubeconfig,
            children,
            dir,
        };
        assets.wait_ready(&certificate);
        assets
    }

    /// The last output of both.
    fn log(&self) -> String {
        let log = std::fs::read_to_string(self.dir.path().join("log")).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(5)..].join("\n")
    }

    fn wait_ready(&self, certificate: &Path) {
        let start = Instant::now();
        // The certificate is the server's own work.
        while !certificate.is_file() || !super::answers(&self.kubeconfig) {
            assert!(
                start.elapsed() < PATIENCE,
                "kube-apiserver did not start: {}",
                self.log()
            );
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

fn ports() -> [u16; 3] {
    let listeners = [0; 3].map(|_| TcpListener::bind("127.0.0.1:0").expect("a port"));
    listeners.map(|listener| listener.local_addr().expect("an address").port())
}

/// Its output goes to a file in `dir`.
fn spawn(program: &Path, arguments: &[String], dir: &Path) -> Child {
    let log = OpenOptions::new()
        .create(true)
        .append(true)
        .open(dir.join("log"));
    Command::new("sh")
        .args(["-c", UNTIL_INPUT_ENDS])
        .arg(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(log.expect("a log"))
        .spawn()
        .unwrap_or_else(|error| panic!("{}: {error}", program.display()))
}

fn administrator(port: u16, certificate: &Path) -> String {
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "test",
        "clusters": [{"name": "test", "cluster": {
            "server": format!("https://127.0.0.1:{port}"), "certificate-authority": certificate,
        }}],
        "users": [{"name": "test", "user": {"token": TOKEN}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
    });
    config.to_string()
}
