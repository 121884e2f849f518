//! The only place that prints. Data goes to stdout, messages to stderr.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::panic;
use std::sync::Arc;

use anyhow::Context as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use super::args::ColorChoice;
use super::log_lines::{self, LogFormat, TALK};
use super::screen::Screen;
use crate::model::words::is_unseen;
use crate::settings::Environment;

/// The most characters of a panic's message that are printed: it may have a whole file in it.
const MOST_PANIC: usize = 2_000;

/// A text in which no CI system finds a command in the middle of a line: the agent of Azure Pipelines obeys
/// `##vso[` and GitHub's runner `##[` wherever they stand. As long as before, so that what
/// points at a column still does.
pub(super) fn without_commands(text: &str) -> Cow<'_, str> {
    if !text.contains("##") {
        return Cow::Borrowed(text);
    }
    let is_command = |rest: &str| {
        let begins = |word: &str| {
            let start = rest.get(..word.len());
            start.is_some_and(|start| start.eq_ignore_ascii_case(word))
        };
        begins("##[") || begins("##vso[")
    };
    let mut safe = String::with_capacity(text.len());
    let mut was_command = false;
    for (at, c) in text.char_indices() {
        safe.push(if was_command {
            char::REPLACEMENT_CHARACTER
        } else {
            c
        });
        was_command = c == '#' && text.get(at..).is_some_and(is_command);
    }
    Cow::Owned(safe)
}

/// A text as one line that cannot move the cursor of a terminal, nor be a command to a CI system: GitHub's runner
/// reads a line as one when it begins with `::`.
pub(super) fn plain(text: &str) -> String {
    let shown = |c: char| match c {
        '\n' | '\r' | '\t' => ' ',
        c if is_unseen(c) => char::REPLACEMENT_CHARACTER,
        c => c,
    };
    let line: String = text.chars().map(shown).collect();
    let line = without_commands(&line).into_owned();
    match line.trim_start().starts_with("::") {
        true => line.replacen(':', "\u{fffd}", 1),
        false => line,
    }
}

/// The same of each line of a text.
pub(super) fn plain_lines(text: &str) -> String {
    let lines: Vec<String> = text.split('\n').map(plain).collect();
    lines.join("\n")
}

/// Formats the message that reports a panic at `place`.
fn panicked(words: &str, place: &str) -> String {
    let words: String = plain(words).chars().take(MOST_PANIC).collect();
    format!(
        "a bug in capstan at {place}: {words}; please report it, and with RUST_BACKTRACE=1 where it came from"
    )
}

/// The logs that a command shows.
#[derive(Clone, Copy)]
pub(super) enum Logs {
    /// Errors.
    Errors,
    /// Progress; on a terminal it is drawn instead, unless a format is asked for: log lines would disturb it.
    UnlessDrawn(Option<LogFormat>),
    /// Progress, on a terminal too.
    Progress(Option<LogFormat>),
}

/// Output for the person who started the program.
pub(super) struct Ui {
    /// Whether messages are coloured.
    colour: bool,
    /// Whether data is coloured.
    colour_data: bool,
    /// The end of the terminal behind stderr.
    screen: Option<Arc<Screen>>,
    /// Messages are log lines: this is a daemon, and nothing is drawn.
    is_log: bool,
}

impl Ui {
    pub(super) fn new(environment: &Environment, color: ColorChoice) -> Self {
        let terminal = io::stderr().is_terminal();
        let (colour, colour_data) = match color {
            ColorChoice::Auto => {
                let colour = environment.colour && terminal;
                (colour, colour && io::stdout().is_terminal())
            }
            ColorChoice::Always => (true, true),
            ColorChoice::Never => (false, false),
        };
        Self {
            colour,
            colour_data,
            screen: (terminal && !environment.dumb)
                .then(|| Arc::new(Screen::new(Box::new(io::stderr())))),
            is_log: false,
        }
    }

    /// Lets a panic tell what happened, on a terminal below what is drawn. Its message may repeat what a repository or a
    /// cluster says.
    pub(super) fn report_panics(&self) {
        let (screen, is_log) = (self.screen.clone(), self.is_log);
        panic::set_hook(Box::new(move |info| {
            if let Some(screen) = &screen {
                screen.give_up();
            }
            let place = info.location().map(ToString::to_string);
            let payload = info.payload();
            let owned = || payload.downcast_ref().map(String::as_str);
            let words = payload.downcast_ref::<&str>().copied().or_else(owned);
            let message = panicked(words.unwrap_or("no message"), &place.unwrap_or_default());
            let trace = Backtrace::capture();
            let trace = (trace.status() == BacktraceStatus::Captured).then(|| trace.to_string());
            if is_log {
                tracing::error!(target: TALK, backtrace = trace, "{message}");
                return;
            }
            let trace = trace.map(|trace| format!("\n{trace}")).unwrap_or_default();
            // There is nobody to tell that it cannot be told.
            let _ = writeln!(io::stderr(), "error: {message}{trace}");
        }));
    }

    /// Sends logs to stderr: those of the command, or what CAPSTAN_LOG selects. The errors of a request are
    /// reported by the code that made it.
    ///
    /// # Errors
    /// When the environment names an unknown format.
    pub(super) fn log(&mut self, environment: &Environment, logs: Logs) -> anyhow::Result<()> {
        let format = match logs {
            Logs::Errors => None,
            Logs::UnlessDrawn(asked) | Logs::Progress(asked) => match &environment.log_format {
                Some(text) if asked.is_none() => Some(LogFormat::read(text)?),
                _ => asked,
            },
        };
        self.is_log = match logs {
            Logs::Errors => false,
            Logs::UnlessDrawn(_) => self.screen.is_none() || format.is_some(),
            Logs::Progress(_) => true,
        };
        let default = match self.is_log {
            true => {
                self.screen = None;
                "warn,capstan=info,kube_runtime=off"
            }
            false => "error,kube_runtime=off",
        };
        let (filter, fault) = log_lines::filter(environment.log.as_deref(), default);
        let format = format.unwrap_or(LogFormat::Text);
        log_lines::subscriber(filter, format, self.log_writer(), self.colour).init();
        if let Some(fault) = fault {
            self.error(&format!("CAPSTAN_LOG selects nothing ({fault}); use levels and modules, such as `info` or `warn,capstan=debug`"));
        }
        Ok(())
    }

    /// Log lines scroll above what is drawn.
    fn log_writer(&self) -> impl Fn() -> LogWriter + Send + Sync + 'static {
        let screen = self.screen.clone();
        move || LogWriter(screen.clone())
    }

    /// The end of the terminal, if stderr is one on which lines can be drawn over.
    pub(super) fn screen(&self) -> Option<&Screen> {
        self.screen.as_deref()
    }

    /// Writes whole lines above what is drawn.
    fn above(&self, write: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        match &self.screen {
            Some(screen) => screen.above(write),
            None => write(),
        }
    }

    /// Whether findings may be coloured on stdout.
    pub(super) fn colours_data(&self) -> bool {
        self.colour_data
    }

    /// Whether findings may be coloured on stderr.
    pub(super) fn colours_messages(&self) -> bool {
        self.colour
    }

    /// Writes data. A reader that has gone (a closed pipe) is not an error.
    ///
    /// # Errors
    /// When the data did not arrive for another reason, such as a full disk: what was written then
    /// is not whole.
    pub(super) fn data(&self, text: &str) -> anyhow::Result<()> {
        self.stream(std::iter::once(text))
    }

    /// The same for data that is written while it is made.
    ///
    /// # Errors
    /// As [`Self::data`].
    pub(super) fn stream(
        &self,
        texts: impl Iterator<Item = impl AsRef<str>>,
    ) -> anyhow::Result<()> {
        let write = || {
            let mut stdout = io::stdout().lock();
            for text in texts {
                stdout.write_all(text.as_ref().as_bytes())?;
            }
            stdout.flush()
        };
        match self.above(write) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(error).context("cannot write to standard output")
            }
            _ => Ok(()),
        }
    }

    /// Shows data in place of what was shown before; below it where that cannot be done.
    ///
    /// # Errors
    /// As [`Self::data`].
    pub(super) fn repaint(&self, text: &str) -> anyhow::Result<()> {
        if !io::stdout().is_terminal() {
            return self.data(&format!("{text}\n"));
        }
        // Clears line by line: a screen that is cleared as a whole flickers.
        let lines = text.replace('\n', "\u{1b}[K\n");
        self.data(&format!("\u{1b}[H{lines}\u{1b}[J"))
    }

    /// Returns true if messages are log lines, which have a time and a level.
    pub(super) fn is_log(&self) -> bool {
        self.is_log
    }

    /// Says something, which others may have written: it steers no terminal.
    pub(super) fn message(&self, text: &str) {
        match self.is_log {
            true => tracing::info!(target: TALK, "{text}"),
            false => self.coloured_message(&plain_lines(text)),
        }
    }

    /// Says something that is plain but for colours of ours.
    pub(super) fn coloured_message(&self, text: &str) {
        let _ = self.above(|| writeln!(io::stderr(), "{text}"));
    }

    /// Says what went wrong.
    pub(super) fn error(&self, text: &str) {
        if self.is_log {
            tracing::error!(target: TALK, "{text}");
            return;
        }
        let mark = if self.colour {
            "\u{1b}[1;31merror\u{1b}[0m"
        } else {
            "error"
        };
        self.coloured_message(&format!("{mark}: {}", plain_lines(text)));
    }

    /// Tells a line of a story, which is data.
    pub(super) fn tell(&self, text: &str) -> anyhow::Result<()> {
        self.data(&format!("{}\n", plain_lines(text)))
    }

    /// Tells a heading of a story.
    pub(super) fn heading(&self, text: &str) -> anyhow::Result<()> {
        let text = plain(text);
        self.data(&match self.colours_data() {
            true => format!("\n\u{1b}[1m{text}\u{1b}[0m\n"),
            false => format!("\n{text}\n"),
        })
    }

    /// Leaves the terminal as it was, below what is drawn.
    pub(super) fn leave(&self) {
        if let Some(screen) = &self.screen {
            screen.leave();
        }
    }
}

/// Writes log lines above what is drawn.
struct LogWriter(Option<Arc<Screen>>);

impl Write for LogWriter {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let write = || io::stderr().write_all(line);
        match &self.0 {
            Some(screen) => screen.above(write)?,
            None => write()?,
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_is_a_command() {
        for (text, expected) in [
            ("a: b", "a: b"),
            ("a\n::error::b", "a ::error::b"),
            (" ::error::b", " \u{fffd}:error::b"),
            ("\u{1b}[2J\u{9b}a\tb\r", "\u{fffd}[2J\u{fffd}a b "),
            ("a ##vso[b.c]d", "a #\u{fffd}vso[b.c]d"),
            ("##VsO[b.c]##[d]", "#\u{fffd}VsO[b.c]#\u{fffd}[d]"),
            ("###vso[b.c]", "##\u{fffd}vso[b.c]"),
            ("## a #[b] ##", "## a #[b] ##"),
        ] {
            assert_eq!(plain(text), expected);
        }
        assert_eq!(plain_lines("a\n::b\r\n"), "a\n\u{fffd}:b \n");
    }

    #[test]
    fn what_a_panic_says_is_one_harmless_line() {
        let words = format!(
            "::error::x\n##vso[task.x]\u{1b}[2J\u{202e}{}",
            "é".repeat(9_000)
        );
        let line = panicked(&words, "src/a.rs:1:2");
        assert!(line.starts_with("a bug in capstan at src/a.rs:1:2: \u{fffd}:error::x "));
        assert_eq!(line.lines().count(), 1);
        assert!(line.chars().count() < 2_200, "{line}");
        for harm in ["##vso[", "\u{1b}", "\u{202e}"] {
            assert!(!line.contains(harm), "{line}");
        }
    }
}
