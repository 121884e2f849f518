//! The shipped daemon as a process.

use std::io::Read as _;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use crate::patience::until;

/// A daemon, which is killed when this is dropped.
pub(crate) struct Running {
    child: Child,
    said: Arc<Mutex<String>>,
    reader: Option<JoinHandle<()>>,
}

impl Running {
    /// `capstan run` with these arguments; its own files are in `dir`.
    pub(crate) fn start(dir: &Path, arguments: &[&str]) -> Self {
        Self::command("run", dir, arguments)
    }

    /// The same with few open files, as many systems start a process.
    pub(crate) fn with_few_files(dir: &Path, arguments: &[&str]) -> Self {
        let mut program = Command::new("sh");
        program
            .args(["-c", "ulimit -Sn 1024 && exec \"$0\" run \"$@\""])
            .arg(env!("CARGO_BIN_EXE_capstan"))
            .args(arguments)
            .env("CAPSTAN_CACHE", dir.join("cache"));
        Self::spawn(program)
    }

    /// The same of another command that runs until it is stopped.
    pub(crate) fn command(command: &str, dir: &Path, arguments: &[&str]) -> Self {
        let mut program = Command::new(env!("CARGO_BIN_EXE_capstan"));
        program
            .arg(command)
            .args(arguments)
            .env("CAPSTAN_CACHE", dir.join("cache"));
        Self::spawn(program)
    }

    /// The same of a command that is ready to start.
    pub(crate) fn spawn(mut program: Command) -> Self {
        let child = program.stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
        let mut child = child.expect("it starts");
        let stderr = child.stderr.take().expect("piped");
        let said = Arc::new(Mutex::default());
        let heard = Arc::clone(&said);
        Self {
            child,
            said,
            reader: Some(std::thread::spawn(move || listen(stderr, &heard))),
        }
    }

    /// Its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// What it has said.
    pub(crate) fn said(&self) -> String {
        self.said.lock().expect("no panic").clone()
    }

    /// Waits until it says this.
    #[track_caller]
    pub(crate) fn wait(&self, words: &str) {
        let found = || self.said().contains(words).then_some(());
        until(found, || format!("not said: {words}\n{}", self.said()));
    }

    /// Asks it to stop, and returns its exit code and all it said.
    pub(crate) fn stop(mut self) -> (Option<i32>, String) {
        let id = self.child.id().to_string();
        let asked = Command::new("kill").args(["-TERM", &id]).status();
        assert!(asked.expect("a kill program").success());
        let ended = || self.child.try_wait().expect("it can be waited for");
        let ended = until(ended, || "it did not stop".to_owned());
        if let Some(reader) = self.reader.take() {
            reader.join().expect("no panic");
        }
        (ended.code(), self.said())
    }

    /// Ends it, and returns all it said.
    pub(crate) fn words(mut self) -> String {
        drop(self.child.kill());
        if let Some(reader) = self.reader.take() {
            reader.join().expect("no panic");
        }
        self.said()
    }
}

fn listen(mut stderr: ChildStderr, heard: &Mutex<String>) {
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = stderr.read(&mut buffer) {
        let text = String::from_utf8_lossy(&buffer[..count]);
        heard.lock().expect("no panic").push_str(&text);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
