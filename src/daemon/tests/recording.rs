//! What the daemon of a test says, as text: the checks that it writes and the lines that it logs, in order.
//!
//! Each test has a file in `recorded`, with one section per daemon that it starts. `CAPSTAN_RECORD=1` writes the files again:
//! read the difference before you commit it.

use std::cell::RefCell;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::rc::{Rc, Weak};
use std::sync::{Arc, Mutex};

use tracing::subscriber::DefaultGuard;
use tracing_subscriber::EnvFilter;

/// Tests whose jobs end in any order. Their output differs from run to run.
const UNORDERED: [&str; 1] =
    ["second_owners.a_pushed_second_owner_is_refused_until_the_first_one_is_detached"];
/// What begins a section.
const SECTION: &str = "== ";

thread_local! {
    /// The recording of the test of this thread, and how many it began.
    static CURRENT: RefCell<(Weak<Recording>, usize)> = const { RefCell::new((Weak::new(), 0)) };
}

/// Records until it is dropped, and compares then.
pub(super) struct Recording {
    lines: Lines,
    /// Which of its test, from 1.
    number: usize,
    /// What is a directory of this run, and no other.
    dir: PathBuf,
    _guard: DefaultGuard,
}

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(text)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Recording {
    /// The recording of this test: a new one, unless another daemon of the test is recorded now.
    pub(super) fn of_test(dir: &Path) -> Rc<Self> {
        CURRENT.with_borrow_mut(|(current, count)| {
            if let Some(current) = current.upgrade() {
                return current;
            }
            *count += 1;
            let recording = Rc::new(Self::begin(dir, *count));
            *current = Rc::downgrade(&recording);
            recording
        })
    }

    fn begin(dir: &Path, number: usize) -> Self {
        let lines = Lines::default();
        let writer = lines.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_env_filter(EnvFilter::new("capstan=info,capstan::checks=trace"))
            .with_writer(move || writer.clone())
            .with_ansi(false)
            .with_target(false)
            .without_time()
            .finish();
        Self {
            lines,
            number,
            dir: dir.to_owned(),
            _guard: tracing::subscriber::set_default(subscriber),
        }
    }

    fn text(&self) -> String {
        let lines = self.lines.0.lock().unwrap();
        let text = String::from_utf8_lossy(&lines);
        text.replace(&*self.dir.display().to_string(), "DIR")
    }

    /// Compares what was recorded with the section of the file, or writes it.
    fn compare(&self, test: &str) {
        if UNORDERED.contains(&test) {
            return;
        }
        let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/src/daemon/tests/recorded");
        let path = PathBuf::from(directory).join(format!("{test}.txt"));
        let number = self.number;
        let held = fs::read_to_string(&path).unwrap_or_default();
        let sections = held.split_inclusive('\n').collect::<Vec<_>>();
        let is_start = |line: &&str| line.starts_with(SECTION);
        let starts = (0..sections.len()).filter(|at| is_start(&sections[*at]));
        let starts: Vec<usize> = starts.chain([sections.len()]).collect();
        if std::env::var_os("CAPSTAN_RECORD").is_some() {
            let before = starts.get(number - 1).copied().unwrap_or_default();
            let text = format!(
                "{}{SECTION}{number}\n{}",
                sections[..before].concat(),
                self.text()
            );
            fs::write(&path, text).unwrap();
            return;
        }
        let section = match starts[..] {
            _ if number >= starts.len() => "",
            _ => &*sections[starts[number - 1] + 1..starts[number]].concat(),
        };
        let text = self.text();
        let mut lines = text.lines().zip(section.lines());
        let differing = lines.find(|(said, recorded)| said != recorded);
        let (said, recorded) = (text.lines().count(), section.lines().count());
        assert!(
            text == section,
            "daemon {number} of {test} said {said} lines, {recorded} are recorded; the first that differ: {differing:#?}"
        );
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        let thread = std::thread::current();
        let name = thread.name().and_then(|name| name.rsplit_once("tests::"));
        // With one thread for all tests, it is not known which one this is.
        if let Some((_, test)) = name.filter(|_| !std::thread::panicking()) {
            self.compare(&test.replace("::", "."));
        }
    }
}
