//! The only place that prints. Data goes to stdout, messages to stderr.

use std::io::{self, IsTerminal, Write};

use anyhow::Context as _;
use tracing_subscriber::EnvFilter;

use super::args::ColorChoice;
use crate::settings::Environment;

/// A text as one line that cannot move the cursor of a terminal, nor be a command to GitHub's runner,
/// which reads a line as one when it begins with `::`.
pub(super) fn plain(text: &str) -> String {
    let shown = |c: char| match c {
        '\n' | '\r' | '\t' => ' ',
        c if c.is_control() => char::REPLACEMENT_CHARACTER,
        c => c,
    };
    let line: String = text.chars().map(shown).collect();
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

/// Output for the person who started the program.
pub(super) struct Ui {
    /// Whether messages are coloured.
    colour: bool,
    /// Whether data is coloured.
    colour_data: bool,
    /// Whether stderr is a terminal on which lines can be redrawn.
    terminal: bool,
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
            terminal,
        }
    }

    /// Sends logs to stderr: progress, or errors only when `quiet`, or what CAPSTAN_LOG selects. On a
    /// terminal progress is drawn instead, and other lines would disturb it. The errors of a request are
    /// reported by the code that made it.
    pub(super) fn log(&self, environment: &Environment, quiet: bool) {
        let default = if quiet || self.terminal {
            "error,kube_client=off"
        } else {
            "warn,capstan=info,kube_client=off"
        };
        let filter = environment.log.as_deref().unwrap_or(default);
        let filter = EnvFilter::try_new(filter).unwrap_or_else(|_| EnvFilter::new(default));
        tracing_subscriber::fmt()
            .with_env_filter(filter)
            .with_writer(io::stderr)
            .with_ansi(self.colour)
            .with_target(false)
            .init();
    }

    /// Whether lines can be redrawn.
    pub(super) fn can_redraw(&self) -> bool {
        self.terminal
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
        let mut stdout = io::stdout().lock();
        let written = stdout.write_all(text.as_bytes());
        match written.and_then(|()| stdout.flush()) {
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

    /// Says something, which others may have written: it steers no terminal.
    pub(super) fn message(&self, text: &str) {
        self.coloured_message(&plain_lines(text));
    }

    /// Says something that is plain but for colours of ours.
    pub(super) fn coloured_message(&self, text: &str) {
        let _ = writeln!(io::stderr(), "{text}");
    }

    /// Says what went wrong.
    pub(super) fn error(&self, text: &str) {
        let mark = if self.colour {
            "\u{1b}[1;31merror\u{1b}[0m"
        } else {
            "error"
        };
        self.coloured_message(&format!("{mark}: {}", plain_lines(text)));
    }

    /// Says a heading.
    pub(super) fn heading(&self, text: &str) {
        let text = plain(text);
        self.coloured_message(&match self.colour {
            true => format!("\n\u{1b}[1m{text}\u{1b}[0m"),
            false => format!("\n{text}"),
        });
    }

    /// Takes back the last `lines` lines, so that they can be drawn anew.
    pub(super) fn take_back(&self, lines: usize) {
        if self.terminal && lines > 0 {
            let _ = write!(io::stderr(), "\u{1b}[{lines}A\u{1b}[J");
        }
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
        ] {
            assert_eq!(plain(text), expected);
        }
        assert_eq!(plain_lines("a\n::b\r\n"), "a\n\u{fffd}:b \n");
    }
}
