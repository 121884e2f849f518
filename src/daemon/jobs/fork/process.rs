//! The process that plans the head of a fork: started, watched from outside and ended.
//!
//! In: a program, a request and limits. Out: the bytes of its answer, or why there are none. The process gets no
//! environment, and none of the daemon's credentials. It does not know what is asked.

use std::io::{Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use tokio::time::Instant;

use super::limits::{exceeded, resident};
use super::message::MOST_ANSWERED;
use crate::reporting::report::NotPlanned;
use crate::settings::ForkLimits;

/// How often the process is looked at.
const LOOK: Duration = Duration::from_millis(50);
/// How often a process is looked at that has closed its output.
const MOST_LOOKS: u32 = 20;
/// What lowers the priority of a program, where it is installed.
const NICE: [&str; 2] = ["/usr/bin/nice", "/bin/nice"];

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum Ended {
    /// It met a limit.
    Limit(NotPlanned),
    /// Anything else.
    Failed(String),
}

/// A process that ends when this is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs `program` with `arguments`, gives it one line, and returns what it writes.
///
/// # Errors
/// Returns why it was ended, or ended without an answer.
pub(super) fn run(
    program: &Path,
    arguments: &[&str],
    line: Vec<u8>,
    limits: &ForkLimits,
) -> Result<Vec<u8>, Ended> {
    let start = Instant::now();
    let child = start_quietly(program, arguments)
        .map_err(|error| Ended::Failed(format!("cannot start {}: {error}", program.display())))?;
    let mut running = Running(child);
    let answered = talk(&mut running.0, line);
    let status = format!("/proc/{}/status", running.0.id());
    loop {
        match answered.recv_timeout(LOOK) {
            Ok(bytes) => return complete(bytes, &mut running),
            Err(RecvTimeoutError::Disconnected) => return complete(Vec::new(), &mut running),
            Err(RecvTimeoutError::Timeout) => {}
        }
        let status = std::fs::read_to_string(&status);
        let resident = status.ok().and_then(|status| resident(&status));
        if let Some(limit) = exceeded(limits, start.elapsed(), resident) {
            return Err(Ended::Limit(limit));
        }
    }
}

/// With a lower priority where that is possible, one thread for what could use many, and out of reach of the terminal.
fn start_quietly(program: &Path, arguments: &[&str]) -> std::io::Result<Child> {
    let nice = NICE.into_iter().find(|path| Path::new(path).exists());
    let mut command = match nice {
        Some(nice) => {
            let mut command = Command::new(nice);
            command.args(["-n", "10"]).arg(program);
            command
        }
        None => Command::new(program),
    };
    command
        .args(arguments)
        .env_clear()
        .env("RAYON_NUM_THREADS", "1")
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
}

/// Writes the line and reads the answer on a thread of its own, which must not hold up the watch. The input stays open
/// until the process ends; that it closes tells the process that the daemon is gone.
fn talk(child: &mut Child, line: Vec<u8>) -> Receiver<Vec<u8>> {
    let (sender, answered) = mpsc::channel();
    let (input, output) = (child.stdin.take(), child.stdout.take());
    thread::spawn(move || {
        let written = input.map(|mut input| input.write_all(&line).map(|()| input));
        let mut bytes = Vec::new();
        if let Some(output) = output {
            let _ = output.take(MOST_ANSWERED + 1).read_to_end(&mut bytes);
        }
        let _ = sender.send(bytes);
        drop(written);
    });
    answered
}

fn complete(bytes: Vec<u8>, running: &mut Running) -> Result<Vec<u8>, Ended> {
    if bytes.len() as u64 > MOST_ANSWERED {
        return Err(Ended::Failed("its answer is too long".to_owned()));
    }
    if !bytes.is_empty() {
        return Ok(bytes);
    }
    // It has closed its output, so it ends now; if not, it is ended.
    for _ in 0..MOST_LOOKS {
        if let Ok(Some(status)) = running.0.try_wait() {
            let message = format!("it ended without an answer ({status})");
            return Err(Ended::Failed(message));
        }
        thread::sleep(LOOK);
    }
    Err(Ended::Failed("it gave no answer".to_owned()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]

    use super::*;

    /// Longer than anything takes that ends by itself, however busy the machine is.
    const LONG: Duration = Duration::from_secs(600);

    fn shell(script: &str, line: &[u8], time: Duration) -> Result<Vec<u8>, Ended> {
        let limits = ForkLimits {
            time,
            memory: 64 << 20,
        };
        run(
            Path::new("/bin/sh"),
            &["-c", script],
            line.to_vec(),
            &limits,
        )
    }

    #[test]
    fn a_process_answers_its_line_without_an_environment() {
        let script = "read -r line; echo \"$line $HOME $RAYON_NUM_THREADS\"";
        let answer = shell(script, b"hello\n", LONG).unwrap();
        assert_eq!(answer, b"hello  1\n");
    }

    #[test]
    fn a_process_that_hangs_is_ended_at_its_deadline() {
        // It reads nothing, too.
        let endless = vec![b'x'; 1 << 20];
        match shell("while :; do :; done", &endless, Duration::from_millis(500)) {
            Err(Ended::Limit(NotPlanned::Time(limit))) => assert_eq!(limit.as_millis(), 500),
            other => panic!("{other:?}"),
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_that_takes_too_much_memory_is_ended() {
        let mebibyte =
            "c=xxxxxxxx; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17; do c=$c$c; done";
        let script = format!("{mebibyte}; while :; do b=$b$c; done");
        match shell(&script, b"", LONG) {
            Err(Ended::Limit(NotPlanned::Memory(limit))) => assert_eq!(limit, 64 << 20),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_process_without_a_proper_answer_is_an_error() {
        for (script, expected) in [
            ("exit 3", "it ended without an answer (exit status: 3)"),
            (
                "kill -9 $$",
                "it ended without an answer (signal: 9 (SIGKILL))",
            ),
            (
                "while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done",
                "its answer is too long",
            ),
        ] {
            match shell(script, b"", LONG) {
                Err(Ended::Failed(message)) => assert_eq!(message, expected),
                other => panic!("{script}: {other:?}"),
            }
        }
        let limits = ForkLimits::default();
        let missing = run(Path::new("/nowhere/capstan"), &[], Vec::new(), &limits);
        assert!(matches!(missing, Err(Ended::Failed(_))), "{missing:?}");
    }
}
