//! The program of `tests/kubernetes`.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};

/// How long it may take to end.
const PATIENCE: Duration = Duration::from_secs(10);

/// A running server and the pipe for its input.
pub(crate) struct Program {
    pub(super) kubeconfig: PathBuf,
    pipe: Mutex<Pipe>,
    /// Ends when its standard input is closed, that is, with this process at the latest.
    child: Child,
}

struct Pipe {
    /// `None` once it was asked to end.
    commands: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Drop for Program {
    /// Closes its standard input, upon which it removes its data and ends.
    fn drop(&mut self) {
        let pipe = self.pipe.get_mut();
        drop(pipe.unwrap_or_else(PoisonError::into_inner).commands.take());
        let asked = Instant::now();
        while asked.elapsed() < PATIENCE && matches!(self.child.try_wait(), Ok(None)) {
            thread::sleep(Duration::from_millis(10));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Program {
    /// Starts it and waits until it is ready. Its data are in `dir`, also those of an earlier run;
    /// without one in a directory of its own.
    pub(super) fn start(program: &Path, arguments: &[&OsStr]) -> Self {
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server's program can be run");
        let commands = child.stdin.take().expect("stdin is a pipe");
        let answers = BufReader::new(child.stdout.take().expect("stdout is a pipe"));
        let commands = Some(commands);
        let mut pipe = Pipe { commands, answers };
        let kubeconfig = PathBuf::from(pipe.line());
        assert!(kubeconfig.is_file(), "kube-apiserver did not start");
        Self {
            kubeconfig,
            pipe: Mutex::new(pipe),
            child,
        }
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Forgets all history in etcd. Lists of the past learn of it within 15 seconds; watches live on the
    /// server's cache, which keeps what it has.
    pub(super) fn compact(&self) {
        let mut pipe = self.pipe.lock().unwrap_or_else(PoisonError::into_inner);
        let commands = pipe.commands.as_mut().expect("it was not asked to end");
        writeln!(commands, "compact").expect("the server reads");
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
pub(super) fn built() -> Option<PathBuf> {
    Some(cache()?.join("server")).filter(|program| program.is_file())
}

/// The kubectl of the same release, or the machine's own.
pub(super) fn kubectl() -> Option<PathBuf> {
    let built = cache().map(|cache| cache.join("kubectl"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let others: Vec<PathBuf> = std::env::split_paths(&path)
        .map(|dir| dir.join("kubectl"))
        .collect();
    built
        .into_iter()
        .chain(others)
        .find(|program| program.is_file())
}

/// Where the build of these sources belongs.
fn cache() -> Option<PathBuf> {
    // The sources are at the workspace's root, two directories above that of a library.
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let sources = package
        .ancestors()
        .map(|directory| directory.join("tests/kubernetes"))
        .find(|sources| sources.join("go.mod").is_file())
        .expect("tests/kubernetes is there");
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
    Some(super::cache()?.join(format!("kubernetes-{key}")))
}
