//! A real API server on loopback, which ends with the process that started it.
//!
//! The program is `tests/kubernetes`, as `tests/kubernetes/build` left it in the cache, or what
//! `KUBEBUILDER_ASSETS` names. Without either the tests run on the simulator alone and say so in one
//! line; `CAPSTAN_REQUIRE=kubernetes` makes that a failure, as CI does.
//!
//! What the simulator shows as well is shown on a real server only if `CAPSTAN_REAL=all` asks for it,
//! as `.ci/deep` does.

mod assets;
mod program;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Once, OnceLock};

use hyper_util::client::legacy::Client as Http;
use hyper_util::rt::TokioExecutor;
use kube::client::ConfigExt;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use tower::{BoxError, ServiceBuilder};

use assets::Assets;
use program::Program;

const HELP: &str = "kube-apiserver is not built: tests run on the simulator alone; \
                    `tests/kubernetes/build` builds it (needs Go, about ten minutes the first time)";
const HALF: &str =
    "KUBEBUILDER_ASSETS has no controllers: tests that need them run on the simulator alone";

/// The kubectl of the same release, or the machine's own; none when it has none.
#[allow(dead_code, reason = "the benchmark has no use for it")]
pub(crate) fn kubectl() -> Option<PathBuf> {
    program::kubectl()
}

/// Where the parts are kept that tests need and `cargo` does not bring.
pub(crate) fn cache() -> Option<PathBuf> {
    let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache"));
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    Some(cache.or_else(home)?.join("capstan"))
}

/// Whether tests may not go without a part, as in CI.
pub(crate) fn is_required(part: &str) -> bool {
    let required = std::env::var("CAPSTAN_REQUIRE");
    required.is_ok_and(|parts| parts.split(',').any(|one| one == part))
}

/// A real server for what the simulator, or a smaller test, shows as well; none unless somebody asks for it.
#[allow(dead_code, reason = "benchmarks always ask for it")]
pub(crate) fn if_asked<T>(server: impl FnOnce() -> Option<T>) -> Option<T> {
    if std::env::var_os("CAPSTAN_REAL").is_some_and(|which| which == "all") {
        server()
    } else {
        None
    }
}

/// A running server.
pub(crate) enum Kubernetes {
    /// Ours: with controllers, and with a history that can be forgotten.
    Program(Program),
    /// The bare server of others.
    Assets(Assets),
}

impl Kubernetes {
    /// The server of this process; none when the machine has none.
    pub(crate) fn shared() -> Option<&'static Self> {
        static SHARED: OnceLock<Option<Kubernetes>> = OnceLock::new();
        SHARED.get_or_init(Self::own).as_ref()
    }

    /// A server whose controllers are not held up: the namespace controller asks for every kind, and
    /// some tests of the shared server leave kinds behind that cannot be listed. It also has policies that
    /// change what is admitted.
    pub(crate) fn orderly() -> Option<&'static Self> {
        Self::common().filter(|server| server.is_whole())
    }

    /// The same server, or one without controllers.
    pub(crate) fn common() -> Option<&'static Self> {
        static COMMON: OnceLock<Option<Kubernetes>> = OnceLock::new();
        let common = COMMON.get_or_init(|| Self::with(&["-policies".as_ref()]));
        common.as_ref()
    }

    /// One more server, which ends when it is dropped.
    pub(crate) fn own() -> Option<Self> {
        Self::with(&[])
    }

    /// One more server, which writes each request that it answered to `log`.
    #[allow(dead_code, reason = "one of the suites has no use for it")]
    pub(crate) fn audited(log: &Path) -> Option<Self> {
        Self::with(&["-audit".as_ref(), log.as_os_str()]).filter(Self::is_whole)
    }

    fn with(arguments: &[&OsStr]) -> Option<Self> {
        static TOLD: Once = Once::new();
        if let Some(assets) = std::env::var_os("KUBEBUILDER_ASSETS") {
            TOLD.call_once(|| eprintln!("{HALF}"));
            return Some(Self::Assets(Assets::start(Path::new(&assets))));
        }
        let built = program::built();
        if built.is_none() {
            assert!(!is_required("kubernetes"), "{HELP}");
            TOLD.call_once(|| eprintln!("{HELP}"));
        }
        built.map(|path| Self::Program(Program::start(&path, arguments)))
    }

    /// One with the data of `dir`, also those of an earlier one. It has another address each time, and
    /// other credentials.
    #[allow(dead_code, reason = "the benchmark has no use for it")]
    pub(crate) fn with_data(dir: &Path) -> Option<Self> {
        Self::orderly()?;
        let path = program::built()?;
        let arguments = ["-dir".as_ref(), dir.as_os_str()];
        Some(Self::Program(Program::start(&path, &arguments)))
    }

    /// Whether garbage is collected, namespaces end and history can be forgotten.
    pub(crate) const fn is_whole(&self) -> bool {
        matches!(self, Self::Program(_))
    }

    /// The one process that all of it is; none when there are several.
    #[allow(dead_code, reason = "the benchmark asks for it")]
    pub(crate) fn pid(&self) -> Option<u32> {
        match self {
            Self::Program(program) => Some(program.pid()),
            Self::Assets(_) => None,
        }
    }

    /// The administrator's kubeconfig.
    pub(crate) fn kubeconfig(&self) -> &Path {
        match self {
            Self::Program(program) => &program.kubeconfig,
            Self::Assets(assets) => &assets.kubeconfig,
        }
    }

    /// A client without the retries that hide what a server answers.
    pub(crate) async fn client(&self) -> Client {
        plain_client(self.kubeconfig()).await
    }

    /// Forgets all history in etcd. Lists of the past learn of it within 15 seconds; watches live on the
    /// server's cache, which keeps what it has.
    pub(crate) fn compact(&self) {
        match self {
            Self::Program(program) => program.compact(),
            Self::Assets(_) => unreachable!("only a whole server is asked to"),
        }
    }
}

async fn plain_client(kubeconfig: &Path) -> Client {
    let file = Kubeconfig::read_from(kubeconfig).expect("the kubeconfig can be read");
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

/// Whether the server of a kubeconfig has made the namespace `default`, among the last of what it
/// makes when it starts.
fn answers(kubeconfig: &Path) -> bool {
    let asked = async {
        let request = http::Request::get("/api/v1/namespaces/default");
        let request = request
            .body(kube::client::Body::empty())
            .expect("a request");
        let answer = plain_client(kubeconfig).await.send(request).await;
        answer.is_ok_and(|answer| answer.status() == 200)
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.expect("a runtime").block_on(asked)
}
