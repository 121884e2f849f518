//! The program of `tests/gitea`, and its server on loopback.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use sha2::{Digest, Sha256};

use crate::kubernetes;
use crate::patience::until;

/// Stops the server and removes its directory when its standard input is closed, that is, when the tests end.
const KEEPER: &str = r#"
"$1/gitea" --config "$2/app.ini" web >"$2/log" 2>&1 &
cat >/dev/null
kill $!
wait $!
rm -rf "$2"
"#;
/// How often another port is tried when somebody else took the one that was free.
const TRIES: usize = 3;

/// A running server. It ends with the process.
pub(super) struct Server {
    program: PathBuf,
    dir: PathBuf,
    port: u16,
    /// The certificate that it is recognised by, in PEM.
    pub(super) authority: String,
    _keeper: Child,
}

impl Server {
    /// The server of this process; none when it is not built.
    pub(super) fn shared() -> Option<&'static Self> {
        static SHARED: OnceLock<Option<Server>> = OnceLock::new();
        SHARED.get_or_init(Self::start).as_ref()
    }

    fn start() -> Option<Self> {
        let program = built().filter(|built| built.join("gitea").is_file());
        let Some(program) = program else {
            assert!(
                !kubernetes::is_required("gitea"),
                "CAPSTAN_REQUIRE=gitea, but Gitea is not built"
            );
            eprintln!("skipped: Gitea is not built; `tests/gitea/build` builds it (needs Go)");
            return None;
        };
        let started = (0..TRIES).find_map(|_| Self::at_free_port(&program));
        Some(started.expect("Gitea starts"))
    }

    /// `None` when the port was taken meanwhile.
    fn at_free_port(program: &Path) -> Option<Self> {
        let dir = tempfile::tempdir().expect("a directory").keep();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("bound").port();
        let identity = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("made");
        let write = |name: &str, text: &str| {
            std::fs::write(dir.join(name), text).expect("written");
        };
        write("tls.crt", &identity.cert.pem());
        write("tls.key", &identity.signing_key.serialize_pem());
        write("app.ini", &settings(program, &dir, port));
        let migrated = gitea(program, &dir)
            .arg("migrate")
            .output()
            .expect("it runs");
        assert!(migrated.status.success(), "{migrated:?}");
        drop(listener);
        let keeper = Command::new("sh")
            .args(["-c", KEEPER, "sh"])
            .args([program, &dir])
            .current_dir(&dir)
            .stdin(Stdio::piped())
            .spawn();
        let server = Self {
            program: program.to_owned(),
            dir,
            port,
            authority: identity.cert.pem(),
            _keeper: keeper.expect("sh runs"),
        };
        server.is_up().then_some(server)
    }

    /// Waits until it listens; not when somebody else does.
    fn is_up(&self) -> bool {
        let log = || std::fs::read_to_string(self.dir.join("log")).unwrap_or_default();
        let found = || {
            if log().contains("address already in use") {
                return Some(false);
            }
            let up = std::net::TcpStream::connect(("127.0.0.1", self.port)).is_ok();
            (up && log().contains("Listen: https://")).then_some(true)
        };
        until(found, || format!("Gitea does not start: {}", log()))
    }

    /// `https://localhost:PORT`
    pub(super) fn url(&self) -> String {
        format!("https://localhost:{}", self.port)
    }

    /// The last line that a command for its administrator prints; those before it are a log.
    pub(super) fn admin(&self, arguments: &[&str]) -> String {
        let mut command = gitea(&self.program, &self.dir);
        let output = command.arg("admin").args(arguments).output();
        let output = output.expect("it runs");
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        let printed = String::from_utf8(output.stdout).expect("text");
        printed.lines().last().unwrap_or_default().to_owned()
    }
}

fn gitea(program: &Path, dir: &Path) -> Command {
    let mut command = Command::new(program.join("gitea"));
    command.arg("--config").arg(dir.join("app.ini"));
    command.current_dir(dir);
    command
}

/// What Gitea needs to run without its web pages, on loopback, as any user (`forges.md` §3).
fn settings(program: &Path, dir: &Path, port: u16) -> String {
    format!(
        "RUN_MODE = prod
WORK_PATH = {dir}
I_AM_BEING_UNSAFE_RUNNING_AS_ROOT = true
[server]
PROTOCOL = https
HTTP_ADDR = 127.0.0.1
HTTP_PORT = {port}
ROOT_URL = https://localhost:{port}/
CERT_FILE = {dir}/tls.crt
KEY_FILE = {dir}/tls.key
DISABLE_SSH = true
OFFLINE_MODE = true
STATIC_ROOT_PATH = {program}/static
[database]
DB_TYPE = sqlite3
SQLITE_TIMEOUT = 30000
SQLITE_JOURNAL_MODE = WAL
PATH = {dir}/gitea.db
[repository]
ROOT = {dir}/data/repositories
DEFAULT_BRANCH = main
[security]
INSTALL_LOCK = true
SECRET_KEY = tests
PASSWORD_HASH_ALGO = pbkdf2$1000$50
[webhook]
ALLOWED_HOST_LIST = loopback
[service]
DISABLE_REGISTRATION = true
[cron]
ENABLED = false
[indexer]
ISSUE_INDEXER_TYPE = db
[actions]
ENABLED = false
[log]
MODE = console
LEVEL = Info
",
        dir = dir.display(),
        program = program.display(),
    )
}

/// Where the build of these sources belongs.
fn built() -> Option<PathBuf> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/gitea");
    let mut digest = Sha256::new();
    for name in ["build", "go.mod", "go.sum"] {
        digest.update(std::fs::read(sources.join(name)).expect("a source can be read"));
    }
    let key: String = digest.finalize()[..8]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    Some(kubernetes::cache()?.join(format!("gitea-{key}")))
}
