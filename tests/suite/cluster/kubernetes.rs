//! A real API server on loopback, one for all tests of this process, which ends with it.
//!
//! The program is `tests/kubernetes`, as `tests/kubernetes/build` left it in the cache. Without it the
//! tests run on the simulator alone and say so in one line; `CAPSTAN_REQUIRE=kubernetes` makes that
//! a failure, as CI does.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, Once, OnceLock, PoisonError};

use hyper_util::client::legacy::Client as Http;
use hyper_util::rt::TokioExecutor;
use kube::client::ConfigExt;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use sha2::{Digest, Sha256};
use tower::{BoxError, ServiceBuilder};

const HELP: &str = "kube-apiserver is not built: tests run on the simulator alone; \
                    `tests/kubernetes/build` builds it (needs Go, about ten minutes the first time)";

/// A running server and the pipe through which it is told things.
pub(super) struct Kubernetes {
    kubeconfig: PathBuf,
    pipe: Mutex<Pipe>,
    /// Ends when its standard input is closed, that is, with this process.
    child: Child,
}

impl Drop for Kubernetes {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Pipe {
    commands: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Kubernetes {
    /// The server of this process; none when the machine has none.
    pub(super) fn shared() -> Option<&'static Self> {
        static SHARED: OnceLock<Option<Kubernetes>> = OnceLock::new();
        SHARED.get_or_init(Self::own).as_ref()
    }

    /// One more server, which ends when it is dropped.
    pub(super) fn own() -> Option<Self> {
        static TOLD: Once = Once::new();
        let program = program();
        if program.is_none() {
            let required = std::env::var("CAPSTAN_REQUIRE");
            let required = required.is_ok_and(|parts| parts.contains("kubernetes"));
            assert!(!required, "{HELP}");
            TOLD.call_once(|| eprintln!("{HELP}"));
        }
        program.map(|program| Self::start(&program))
    }

    fn start(program: &Path) -> Self {
        let mut child = Command::new(program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server's program can be run");
        let commands = child.stdin.take().expect("stdin is a pipe");
        let answers = BufReader::new(child.stdout.take().expect("stdout is a pipe"));
        let mut pipe = Pipe { commands, answers };
        let kubeconfig = PathBuf::from(pipe.line());
        assert!(kubeconfig.is_file(), "kube-apiserver did not start");
        Self {
            kubeconfig,
            pipe: Mutex::new(pipe),
            child,
        }
    }

    /// Whether garbage is collected and namespaces end.
    pub(super) const fn has_controllers(&self) -> bool {
        true
    }

    /// The administrator's kubeconfig.
    pub(super) fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// A client without the retries that hide what a server answers.
    pub(super) async fn client(&self) -> Client {
        let file = Kubeconfig::read_from(&self.kubeconfig).expect("the kubeconfig can be read");
        let options = KubeConfigOptions::default();
        let config = Config::from_custom_kubeconfig(file, &options).await;
        let config = config.expect("the kubeconfig is whole");
        let https = config.rustls_https_connector().expect("TLS is set up");
        let service = ServiceBuilder::new()
            .layer(config.base_uri_layer())
            .option_layer(config.auth_layer().expect("a token"))
            .map_err(BoxError::from)
            .service(Http::builder(TokioExecutor::new()).build(https));
        Client::new(service, "default")
    }

    /// Forgets all history, in etcd and in the watch caches.
    pub(super) fn compact(&self) {
        let mut pipe = self.pipe.lock().unwrap_or_else(PoisonError::into_inner);
        writeln!(pipe.commands, "compact").expect("the server reads");
        assert_eq!(pipe.line(), "compacted");
    }
}

impl Pipe {
    fn line(&mut self) -> String {
        let mut line = String::new();
        let read = self.answers.read_line(&mut line);
        read.expect("the server answers");
        line.trim_end().to_owned()
    }
}

/// Where `tests/kubernetes/build` leaves the program, if it was run for these sources.
fn program() -> Option<PathBuf> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kubernetes");
    let mut names: Vec<PathBuf> = std::fs::read_dir(sources)
        .expect("tests/kubernetes is there")
        .map(|entry| entry.expect("entry").path())
        .filter(|path| {
            let ending = path.extension().and_then(|ending| ending.to_str());
            matches!(ending, Some("go" | "mod" | "sum"))
        })
        .collect();
    names.sort();
    let mut digest = Sha256::new();
    for name in names {
        digest.update(std::fs::read(name).expect("a source can be read"));
    }
    let key: String = digest.finalize()[..8]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache"));
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let program = cache.or_else(home)?;
    let program = program.join(format!("capstan/kubernetes-{key}/server"));
    program.is_file().then_some(program)
}
