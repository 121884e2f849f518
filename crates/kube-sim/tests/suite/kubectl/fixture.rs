//! A kubectl at each server, and what is kept of how it went.
//!
//! A behaviour runs kubectl; `expected/<behaviour>.txt` is how that went with a real kube-apiserver.
//! The kubectl is that of the real server's release, or the machine's own; without either these tests
//! are skipped and say so in one line.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex, Once, OnceLock};

use jiff::Timestamp;
use kube_sim::SimClock;
use serde_json::{Value as Json, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::shown;
use crate::difference::difference;
use crate::kubernetes::{self, Kubernetes, if_asked};
use crate::servers::{anonymous, serve};

/// A command that is not over after so many seconds waits for what will never be.
const LIMIT: &str = "90";

/// The real server of these tests. Those of others hold kinds of the same names, among which kubectl
/// picks the first.
fn real_server() -> Option<&'static Kubernetes> {
    static SERVER: OnceLock<Option<Kubernetes>> = OnceLock::new();
    let server = SERVER.get_or_init(|| if_asked(Kubernetes::own)).as_ref();
    server.filter(|server| server.is_whole())
}

/// The kinds of the conformance suite.
const THING: &str = include_str!("../conformance/kinds/thing.yaml");
const ORBIT: &str = include_str!("../conformance/kinds/orbit.yaml");

fn yaml(text: &str) -> Json {
    serde_yaml::from_str(text).expect("this is YAML")
}

/// A namespace of its own and a kubectl that works in it.
pub(crate) struct Kubectl {
    program: PathBuf,
    pub(crate) kubeconfig: PathBuf,
    pub(crate) namespace: String,
    pub(crate) dir: TempDir,
    written: Mutex<String>,
    /// Serves the simulator.
    _runtime: Option<Runtime>,
}

impl Kubectl {
    /// At the simulator, served on a port for as long as this lives.
    fn simulated(program: PathBuf, namespace: &str) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime");
        let server = {
            let _here = runtime.enter();
            kube_sim::Server::new(Arc::new(SimClock::new(Timestamp::now(), 1)))
        };
        let address = runtime.block_on(serve(server));
        let dir = tempfile::tempdir().expect("a directory");
        let kubeconfig = dir.path().join("kubeconfig");
        std::fs::write(&kubeconfig, anonymous(&address)).expect("written");
        Self::open(program, kubeconfig, namespace, dir, Some(runtime))
    }

    fn real(program: PathBuf, kubernetes: &Kubernetes, namespace: &str) -> Self {
        let kubeconfig = kubernetes.kubeconfig().to_owned();
        let dir = tempfile::tempdir().expect("a directory");
        Self::open(program, kubeconfig, namespace, dir, None)
    }

    /// Makes the namespace, and installs the kinds of the conformance suite.
    fn open(
        program: PathBuf,
        kubeconfig: PathBuf,
        namespace: &str,
        dir: TempDir,
        runtime: Option<Runtime>,
    ) -> Self {
        let kubectl = Self {
            program,
            kubeconfig,
            namespace: namespace.to_owned(),
            dir,
            written: Mutex::default(),
            _runtime: runtime,
        };
        for definition in [THING, ORBIT].map(yaml) {
            let name = definition["metadata"]["name"].as_str().expect("a name");
            let name = format!("crd/{name}");
            kubectl.file("definition", std::slice::from_ref(&definition));
            kubectl.quietly(&["apply", "--server-side", "-f", "definition"]);
            kubectl.quietly(&["wait", "--for=condition=Established", &name]);
        }
        let made =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
        kubectl.file("namespace", &[made]);
        kubectl.quietly(&["create", "-f", "namespace"]);
        kubectl
    }

    /// Leaves manifests in a file of the working directory.
    pub(crate) fn file(&self, name: &str, objects: &[Json]) {
        let documents: Vec<String> = objects.iter().map(Json::to_string).collect();
        let path = self.dir.path().join(name);
        std::fs::write(path, documents.join("\n---\n")).expect("written");
    }

    /// kubectl, which ends in time.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("timeout");
        command
            .arg(LIMIT)
            .arg(&self.program)
            .args(["--namespace", &self.namespace])
            .args(arguments)
            .current_dir(self.dir.path())
            .stdin(Stdio::null())
            .env("HOME", self.dir.path())
            .env("KUBECTL_APPLYSET", "true")
            .env("KUBECONFIG", &self.kubeconfig);
        command
    }

    pub(crate) fn output(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("kubectl runs")
    }

    /// Runs it and writes down what it printed and how it ended.
    pub(crate) fn run(&self, arguments: &[&str]) {
        let output = self.output(arguments);
        let mut written = self.written.lock().expect("nobody panicked");
        let code = output.status.code().unwrap_or(-1);
        written.push_str(&format!("> kubectl {}\nexit {code}\n", arguments.join(" ")));
        for (mark, text) in [("|", &output.stdout), ("!", &output.stderr)] {
            for line in shown::lines(&String::from_utf8_lossy(text), self.dir.path()) {
                written.push_str(&format!("{mark} {line}\n"));
            }
        }
    }

    /// Runs a command that must succeed, without recording it.
    pub(crate) fn quietly(&self, arguments: &[&str]) {
        let output = self.output(arguments);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "kubectl {arguments:?}: {errors}");
    }

    fn transcript(&self) -> String {
        self.written.lock().expect("nobody panicked").clone()
    }
}

/// Holds the behaviour against what is kept of it in `directory`, a directory of the package, on every
/// server there is.
pub(crate) fn prove(directory: &str, name: &str, behaviour: impl Fn(&Kubectl)) {
    static TOLD: Once = Once::new();
    let Some(program) = kubernetes::kubectl() else {
        TOLD.call_once(|| eprintln!("there is no kubectl: what it prints is not tested"));
        return;
    };
    let file = format!("{directory}/{name}.txt");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(&file);
    let namespace = name.replace('_', "-");
    let real = real_server().map(|real| {
        let kubectl = Kubectl::real(program.clone(), real, &namespace);
        behaviour(&kubectl);
        kubectl.transcript()
    });
    if std::env::var_os("CAPSTAN_WRITE").is_some()
        && let Some(real) = &real
    {
        std::fs::write(&path, real).expect("the file can be written");
    }
    let expected = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{file}: {error}; CAPSTAN_WRITE=1 makes it"));
    let simulated = Kubectl::simulated(program, &namespace);
    behaviour(&simulated);
    let simulated = simulated.transcript();
    let transcripts = [
        real.map(|real| ("kube-apiserver", real)),
        Some(("the simulator", simulated)),
    ];
    for (who, transcript) in transcripts.into_iter().flatten() {
        if let Some(difference) = difference(&expected, who, &transcript) {
            panic!("{who} differs from {file}, {difference}");
        }
    }
}
