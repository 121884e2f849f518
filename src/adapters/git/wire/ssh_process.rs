//! A running `ssh`: what goes in and what comes out, and its end.

use std::io::ErrorKind;
use std::time::Duration;

use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio_util::task::AbortOnDropHandle;

use super::fault::Fault;
use super::ssh_error::Hosts;
use crate::adapters::git::Error;
use crate::adapters::git::access::Patience;

/// How much of what ssh says is kept.
const MOST_WORDS: u64 = 16 << 10;

/// A running `ssh`.
pub(super) struct Process {
    pub(super) input: Input,
    pub(super) output: Box<Output>,
}

/// What goes in.
pub(super) struct Input {
    stdin: ChildStdin,
    idle: Duration,
}

/// What comes out. The program is killed when this is dropped.
pub(super) struct Output {
    child: Child,
    stdout: ChildStdout,
    words: Option<AbortOnDropHandle<String>>,
    hosts: Hosts,
    idle: Duration,
    _files: Option<TempDir>,
}

impl Process {
    pub(super) fn start(
        mut command: Command,
        patience: Patience,
        hosts: Hosts,
        files: Option<TempDir>,
    ) -> Result<Self, Fault> {
        let mut child = command.spawn().map_err(|cause| match cause.kind() {
            ErrorKind::NotFound => Fault::Known(Error::Unusable {
                url: hosts.shown.clone(),
                cause: "the program ssh is not installed".to_owned(),
            }),
            _ => Fault::Connection(format!("cannot run ssh: {cause}")),
        })?;
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = (stdin, stdout, stderr) else {
            return Err(Fault::Connection("ssh has no pipes".to_owned()));
        };
        let idle = patience.idle;
        Ok(Self {
            input: Input { stdin, idle },
            output: Box::new(Output {
                child,
                stdout,
                words: Some(AbortOnDropHandle::new(tokio::spawn(words(stderr)))),
                hosts,
                idle,
                _files: files,
            }),
        })
    }
}

impl Input {
    /// Writes a request.
    pub(super) async fn write(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        let written = in_time(self.idle, self.stdin.write_all(bytes)).await?;
        written.map_err(|cause| Fault::Connection(format!("ssh has ended: {cause}")))
    }
}

impl Output {
    /// The next bytes; `None` at the end. If ssh or the server's program failed, what they said is the
    /// error.
    pub(super) async fn chunk(&mut self) -> Result<Option<Vec<u8>>, Fault> {
        let mut bytes = Vec::with_capacity(16 << 10);
        let read = in_time(self.idle, self.stdout.read_buf(&mut bytes)).await?;
        read.map_err(|cause| Fault::Connection(cause.to_string()))?;
        match bytes.is_empty() {
            true => self.end().await,
            false => Ok(Some(bytes)),
        }
    }

    async fn end(&mut self) -> Result<Option<Vec<u8>>, Fault> {
        let status = in_time(self.idle, self.child.wait()).await?;
        let status = status.map_err(|cause| Fault::Connection(cause.to_string()))?;
        if status.success() {
            return Ok(None);
        }
        let words = match self.words.take() {
            Some(words) => words.await.unwrap_or_default(),
            None => String::new(),
        };
        Err(self.hosts.fault(&words))
    }
}

/// What the program says, from its beginning; the rest is read, so that it never has to wait.
async fn words(mut stderr: ChildStderr) -> String {
    let mut kept = Vec::new();
    let _ = (&mut stderr).take(MOST_WORDS).read_to_end(&mut kept).await;
    let _ = tokio::io::copy(&mut stderr, &mut tokio::io::sink()).await;
    String::from_utf8_lossy(&kept).into_owned()
}

/// What came, unless nothing did for too long.
async fn in_time<T>(idle: Duration, work: impl Future<Output = T>) -> Result<T, Fault> {
    let done = tokio::time::timeout(idle, work).await;
    done.map_err(|_| Fault::Idle)
}
