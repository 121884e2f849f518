//! Progress as a person sees it: on a terminal of some size, which changes in the middle.

use std::io::{Read as _, Write as _};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use avt::Terminal;
use capstan::adapters::git::Author;
use jiff::Timestamp;
use pty_process::Size;
use pty_process::blocking::{Command, Pty, open};

use crate::cli::ended;
use crate::fleet::{DEFINITION, directory};
use crate::patience::until;

/// The program on a terminal; it ends with the test.
struct Session {
    pty: Arc<Pty>,
    terminal: Arc<Mutex<Terminal>>,
    child: Child,
}

impl Session {
    fn start(arguments: &[&str], (columns, rows): (u16, u16)) -> Self {
        Self::start_with(arguments, (columns, rows), |command| command)
    }

    fn start_with(
        arguments: &[&str],
        (columns, rows): (u16, u16),
        also: impl FnOnce(Command) -> Command,
    ) -> Self {
        let (pty, inside) = open().expect("a pseudo-terminal");
        pty.resize(Size::new(rows, columns)).expect("resized");
        let command = Command::new(env!("CARGO_BIN_EXE_capstan"))
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .args(arguments)
            .env("TERM", "xterm-256color")
            .env_remove("NO_COLOR")
            .env_remove("CAPSTAN_LOG");
        let child = also(command).spawn(inside).expect("started");
        let terminal = Terminal::with_scrollback(columns.into(), rows.into(), None);
        let terminal = Arc::new(Mutex::new(terminal.expect("a size")));
        let pty = Arc::new(pty);
        let (from, to) = (Arc::clone(&pty), Arc::clone(&terminal));
        thread::spawn(move || show(&from, &to));
        Self {
            pty,
            terminal,
            child,
        }
    }

    fn terminal(&self) -> MutexGuard<'_, Terminal> {
        self.terminal.lock().unwrap()
    }

    /// The person pulls at the corner of the window.
    fn resize(&self, (columns, rows): (u16, u16)) {
        let mut terminal = self.terminal();
        self.pty.resize(Size::new(rows, columns)).expect("resized");
        terminal.resize(columns.into(), rows.into());
    }

    /// The lines on the screen.
    fn screen(&self) -> Vec<String> {
        let terminal = self.terminal();
        let lines = terminal.screen().visible_lines();
        lines
            .map(|line| line.text().trim_end().to_owned())
            .collect()
    }

    /// The first screen that is as asked for.
    #[track_caller]
    fn until(&self, is: impl Fn(&[String]) -> bool) -> Vec<String> {
        let find = || Some(self.screen()).filter(|screen| is(screen));
        until(find, || self.screen().join("\n"))
    }

    /// The first screen on which the whole block was drawn for the terminal's size, and the block.
    #[track_caller]
    fn block(&self) -> Vec<String> {
        let columns = self.terminal().size().0;
        let fits = |block: &[String]| {
            let titles = block.iter().filter(|line| line.contains(" ready")).count();
            let last = block.last().is_some_and(|line| line.contains("more: "));
            titles >= 1 && last && block.iter().all(|line| line.chars().count() <= columns)
        };
        let screen = self.until(|screen| fits(&block(screen)));
        block(&screen)
    }

    fn type_in(&self, keys: &[u8]) {
        (&*self.pty).write_all(keys).expect("typed");
    }

    #[track_caller]
    fn ended(&mut self) -> ExitStatus {
        let ended = || self.child.try_wait().expect("it can be asked");
        let status = until(ended, || "it did not end".to_owned());
        // What it wrote last is on its way.
        thread::sleep(Duration::from_millis(200));
        status
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Feeds the terminal until the program has ended. A character may come in two parts.
fn show(pty: &Pty, terminal: &Mutex<Terminal>) {
    let (mut buffer, mut text) = ([0; 4096], Vec::new());
    while let Ok(count @ 1..) = (&mut &*pty).read(&mut buffer) {
        text.extend_from_slice(&buffer[..count]);
        let whole = match std::str::from_utf8(&text) {
            Ok(whole) => whole.len(),
            Err(error) => error.valid_up_to(),
        };
        let whole: Vec<u8> = text.drain(..whole).collect();
        let whole = std::str::from_utf8(&whole).expect("checked");
        terminal.lock().unwrap().feed(whole);
    }
}

/// From the title on.
fn block(screen: &[String]) -> Vec<String> {
    let title = screen.iter().position(|line| line.contains(" ready, "));
    let block = title.map_or(&[][..], |title| &screen[title..]);
    let lines = block.iter().filter(|line| !line.is_empty());
    lines.cloned().collect()
}

/// A file with this many clusters.
fn many(count: usize) -> String {
    let cluster = |at: usize| DEFINITION.replace("name: one", &format!("name: west{at}"));
    (0..count).map(cluster).collect::<Vec<_>>().join("\n---\n")
}

fn is_sound(block: &[String], (columns, rows): (usize, usize), clusters: usize) {
    let shown = block.len() - 2;
    assert!(block.len() < rows, "{rows}: {block:#?}");
    let rest = block.last().unwrap();
    assert!(
        rest.contains(&format!("{} more: ", clusters - shown)),
        "{rest}"
    );
    assert!(block.iter().all(|line| line.chars().count() <= columns));
    let names = block[1..=shown].iter();
    let named = names.filter(|line| line.contains("west") && line.contains("ing"));
    assert_eq!(named.count(), shown, "{block:#?}");
}

#[test]
fn the_display_follows_the_terminal_and_leaves_it_as_it_was() {
    const CLUSTERS: usize = 70;
    let fleet = directory([("fleet.yaml", many(CLUSTERS))]);
    let fleet = fleet.path().to_str().unwrap();
    let arguments = ["apply", fleet, "--embedded", "--wait", "--speed", "1"];
    let mut session = Session::start(&arguments, (80, 24));
    for (columns, rows) in [(80, 24), (40, 20), (200, 60), (40, 20), (80, 24)] {
        session.resize((columns, rows));
        let size = (usize::from(columns), usize::from(rows));
        // Some rows of the last size may remain for a moment.
        let wanted = size.1 - 1;
        session.until(|screen| block(screen).len() == wanted);
        let block = session.block();
        is_sound(&block, size, CLUSTERS);
        assert_eq!(
            block[1].contains('█') || block[1].contains('░'),
            columns > 40
        );
        assert!(
            session.terminal().cursor().position().is_none(),
            "the cursor is hidden"
        );
    }
    session.type_in(b"\x03");
    assert_eq!(session.ended().code(), Some(130));
    let screen = session.screen();
    let at = session.terminal().cursor().position();
    let last = screen.iter().rposition(|line| !line.is_empty()).unwrap();
    assert!(screen[last].contains("interrupted: "), "{screen:#?}");
    assert_eq!(at, Some((0, last + 1)), "{screen:#?}");
    // Nothing of the many drawings was left above the last.
    let terminal = session.terminal();
    let lines = terminal.screen().all_lines();
    let titles = lines
        .filter(|line| line.text().contains(" ready, "))
        .count();
    assert_eq!(titles, 1, "{:#?}", terminal.screen().text());
}

#[test]
fn clocks_tick_without_events_and_log_lines_scroll_above() {
    let dir = tempfile::tempdir().expect("a directory");
    let author = Author::init(&dir.path().join("fleet.git")).expect("a repository");
    let push = |parent: Option<&str>, text: &str| {
        let files = [("fleet.yaml".to_owned(), text.to_owned())].into();
        let pushed = author.push("main", parent, &files, "a change", Timestamp::UNIX_EPOCH);
        pushed.expect("pushed")
    };
    let first = push(None, DEFINITION);
    let source = author.dir().to_str().unwrap().to_owned();
    let arguments = ["run", "--source", &source, "--embedded", "--speed", "1"];
    let cache = dir.path().join("cache");
    let mut session = Session::start_with(&arguments, (100, 20), |command| {
        command.env("CAPSTAN_CACHE", &cache)
    });
    let clock = |screen: &[String]| -> Option<String> {
        let row = screen.iter().find(|line| line.contains("└─ one "))?;
        let words = row
            .split_whitespace()
            .find(|word| word.ends_with('s') && word.contains('m'));
        words.map(str::to_owned)
    };
    let seen = Mutex::new(Vec::new());
    session.until(|screen| {
        let mut seen = seen.lock().unwrap();
        let now = clock(screen);
        if now.is_some() && seen.last() != now.as_ref() {
            seen.extend(now);
        }
        seen.len() > 12
    });
    let seen = seen.into_inner().unwrap();
    let expected: Vec<String> = (0..13).map(|second| format!("0m{second:02}s")).collect();
    // A busy machine may skip one.
    assert!(
        seen.iter().filter(|clock| expected.contains(clock)).count() > 8,
        "{seen:?}"
    );

    push(Some(&first), "kind: [");
    let screen = session.until(|screen| screen.iter().any(|line| line.contains(": failure")));
    let of = |text: &str| screen.iter().position(|line| line.contains(text));
    assert!(of(": failure") < of("└─ one "), "{screen:#?}");
    session.type_in(b"\x03");
    assert_eq!(session.ended().code(), Some(0));
    let screen = session.screen();
    let last = screen.iter().rfind(|line| !line.is_empty()).unwrap();
    assert_eq!(last, "stopped", "{screen:#?}");
}

#[test]
fn without_a_terminal_each_change_of_state_is_a_line_with_its_time() {
    let arguments = [
        "apply",
        "examples/quickstart",
        "--embedded",
        "--wait",
        "--speed",
        "300",
    ];
    let output = ended(&arguments, 0);
    let lines = String::from_utf8(output.stderr).expect("UTF-8");
    let timed = lines
        .lines()
        .filter(|line| line.contains("quickstart: ") || line.contains(" ready"));
    let mut states = Vec::new();
    for line in timed {
        let (time, text) = line.split_once("  ").expect(line);
        assert!(time.parse::<Timestamp>().is_ok(), "{line}");
        assert!(!line.contains('\u{1b}'), "{line:?}");
        let state = text
            .strip_prefix("quickstart: ")
            .and_then(|text| text.split(',').next());
        states.extend(state.map(str::to_owned));
    }
    assert_eq!(states, ["Waiting", "Provisioning", "Ready"], "{lines}");
    let whole = |line: &str| line.ends_with("Z  55/55 ready");
    assert!(lines.lines().any(whole), "{lines}");
}

#[test]
fn the_demo_tells_its_story_on_stdout_and_removes_its_directory_when_interrupted() {
    let place = tempfile::tempdir().expect("a directory");
    let story = tempfile::NamedTempFile::new().expect("a file");
    let out = story.reopen().expect("opened");
    let mut session = Session::start_with(&["demo", "--speed", "1"], (80, 24), |command| {
        command.env("TMPDIR", place.path()).stdout(Stdio::from(out))
    });
    let count = || std::fs::read_dir(place.path()).expect("listed").count();
    let screen = session.until(|screen| screen.iter().any(|line| line.contains(" ready, ")));
    assert!(
        !screen.iter().any(|line| line.contains("lines")),
        "{screen:#?}"
    );
    assert_eq!(count(), 1);
    session.type_in(b"\x03");
    assert_eq!(session.ended().code(), Some(130));
    assert_eq!(count(), 0, "its directory is still there");
    assert!(session.terminal().cursor().position().is_some());
    let story = std::fs::read_to_string(story.path()).expect("read");
    assert!(
        story.contains("\nA git repository of short cluster definitions\n"),
        "{story}"
    );
    assert!(story.contains("The daemon follows main"), "{story}");
    assert!(!story.contains('\u{1b}'), "{story}");
}
