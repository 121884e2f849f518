//! The end of a terminal: a block of lines that is drawn over itself, below everything else.
//!
//! In: the lines of the block, and what is to be written above it. Out: control sequences to stderr. It does
//! not know what the lines say.
//!
//! The cursor stays at the start of the block. A terminal that wraps its lines again when it is
//! resized moves the cursor with the text, so everything from the cursor on can always be erased.

use std::io::{self, Write};

use crossterm::cursor::{Hide, MoveToColumn, MoveUp, Show};
use crossterm::queue;
use crossterm::terminal::{self, Clear, ClearType, DisableLineWrap, EnableLineWrap};
use parking_lot::{Mutex, MutexGuard};

/// The end of a terminal, for all threads that write there.
pub(super) struct Screen(Mutex<Block>);

/// What is drawn.
struct Block {
    terminal: Box<dyn Write + Send>,
    lines: Vec<String>,
    /// Columns and rows of the terminal for which it was made.
    size: (usize, usize),
}

impl Screen {
    /// The end of the terminal that is written to so.
    pub(super) fn new(terminal: Box<dyn Write + Send>) -> Self {
        Self(Mutex::new(Block {
            terminal,
            lines: Vec::new(),
            size: (0, 0),
        }))
    }

    /// The columns and rows of the terminal now; the usual ones if it does not tell.
    pub(super) fn size() -> (usize, usize) {
        match terminal::size() {
            Ok((columns, rows)) if columns > 0 && rows > 0 => (columns.into(), rows.into()),
            _ => (80, 24),
        }
    }

    /// Draws the block, made for a terminal of this size, unless it is there already.
    pub(super) fn draw(&self, lines: Vec<String>, size: (usize, usize)) {
        let mut block = self.lock();
        if (&block.lines, block.size) != (&lines, size) {
            (block.lines, block.size) = (lines, size);
            let _ = block.draw();
        }
    }

    /// Lets `text` write whole lines above the block.
    pub(super) fn above(&self, text: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        let mut block = self.lock();
        if block.lines.is_empty() {
            return text();
        }
        block.write(&erased())?;
        let written = text();
        // A block drawn for a taller terminal would scroll until the next layout.
        block
            .lines
            .truncate(Self::size().1.saturating_sub(1).max(1));
        block.draw()?;
        written
    }

    /// Leaves the block as it is, with the cursor below it.
    pub(super) fn leave(&self) {
        let _ = self.lock().leave();
    }

    /// The same from within a panic, which may have happened while something was drawn.
    pub(super) fn give_up(&self) {
        if let Some(mut block) = self.0.try_lock() {
            let _ = block.leave();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Block> {
        // What is drawn is replaced whole, so a panic leaves it as it was.
        self.0.lock()
    }
}

impl Block {
    /// Erases what is there, draws the lines, and returns to the beginning of the first, all in one go. Should
    /// the terminal be narrower by now, lines are cut rather than wrapped.
    fn draw(&mut self) -> io::Result<()> {
        let mut out = erased();
        queue!(out, Hide, DisableLineWrap)?;
        out.extend(self.lines.join("\r\n").bytes());
        queue!(out, EnableLineWrap, MoveToColumn(0))?;
        let above = self.lines.len().saturating_sub(1);
        if let (1.., Ok(above)) = (above, u16::try_from(above)) {
            queue!(out, MoveUp(above))?;
        }
        self.write(&out)
    }

    /// Draws the lines for the last time. To move down would not scroll, so they are written once more.
    fn leave(&mut self) -> io::Result<()> {
        if self.lines.is_empty() {
            return Ok(());
        }
        let lines = std::mem::take(&mut self.lines).join("\r\n");
        let mut out = erased();
        queue!(out, DisableLineWrap)?;
        out.extend(lines.bytes());
        queue!(out, EnableLineWrap)?;
        out.extend(b"\r\n");
        queue!(out, Show)?;
        self.write(&out)
    }

    fn write(&mut self, text: &[u8]) -> io::Result<()> {
        self.terminal.write_all(text)?;
        self.terminal.flush()
    }
}

fn erased() -> Vec<u8> {
    let mut out = Vec::new();
    let _ = queue!(out, MoveToColumn(0), Clear(ClearType::FromCursorDown));
    out
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use avt::Terminal;

    use super::*;

    /// A terminal of 20 columns and 6 rows.
    #[derive(Clone)]
    struct Window(Arc<Mutex<Terminal>>);

    impl Window {
        fn open() -> (Self, Screen) {
            let terminal = Terminal::new(20, 6).expect("a size");
            let window = Self(Arc::new(Mutex::new(terminal)));
            let screen = Screen::new(Box::new(window.clone()));
            (window, screen)
        }

        fn terminal(&self) -> MutexGuard<'_, Terminal> {
            self.0.lock()
        }

        fn say(&self, line: &str) -> io::Result<()> {
            self.clone().write_all(format!("{line}\r\n").as_bytes())
        }

        fn text(&self) -> Vec<String> {
            let terminal = self.terminal();
            let lines = terminal.screen().visible_lines();
            let lines = lines.map(|line| line.text().trim_end().to_owned());
            let mut lines: Vec<String> = lines.collect();
            while lines.last().is_some_and(String::is_empty) {
                lines.pop();
            }
            lines
        }
    }

    impl Write for Window {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let text = std::str::from_utf8(bytes).expect("UTF-8");
            self.terminal().feed(text);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn draw(screen: &Screen, lines: &[&str]) {
        screen.draw(lines.iter().map(ToString::to_string).collect(), (0, 0));
    }

    #[test]
    fn a_block_is_drawn_over_itself_even_if_the_terminal_wrapped_it_anew() {
        for (columns, rows) in [(20, 6), (7, 6), (7, 4), (40, 20)] {
            let (window, screen) = Window::open();
            window.say("$ capstan").expect("reported");
            draw(&screen, &["title", "one is ready", "two"]);
            window.terminal().resize(columns, rows);
            draw(&screen, &["ready", "x"]);
            let shown = window.text();
            assert_eq!(shown[shown.len() - 2..], ["ready", "x"], "{columns}x{rows}");
            let above = shown[..shown.len() - 2].concat();
            assert!("$ capstan".ends_with(&above), "{columns}x{rows}: {shown:?}");
        }
    }

    #[test]
    fn what_is_said_scrolls_above_the_block() {
        let (window, screen) = Window::open();
        draw(&screen, &["title", "one", "two"]);
        for line in 0..9 {
            let log = || window.say(&format!("log {line}"));
            screen.above(log).expect("reported");
        }
        let expected = ["log 6", "log 7", "log 8", "title", "one", "two"];
        assert_eq!(window.text(), expected);
        assert_eq!(window.terminal().cursor().position(), None, "it is hidden");
        screen.give_up();
        window.say("panicked").expect("reported");
        let expected = ["log 8", "title", "one", "two", "panicked"];
        assert_eq!(window.text(), expected);
        assert_eq!(window.terminal().cursor().position(), Some((0, 5)));
    }

    #[test]
    fn a_line_that_is_too_wide_is_cut_and_the_terminal_wraps_again_afterwards() {
        let (window, screen) = Window::open();
        draw(&screen, &["012345678901234567890123", "two"]);
        assert_eq!(window.text().len(), 2);
        draw(&screen, &["one", "two"]);
        screen.leave();
        window.say("01234567890123456789abc").expect("reported");
        assert_eq!(window.text(), ["one", "two", "01234567890123456789", "abc"]);
    }
}
