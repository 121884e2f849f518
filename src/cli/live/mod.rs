//! Progress: on a terminal a block of lines that follows its size, elsewhere a line per change of state.
//!
//! ```text
//! title, clusters ─► layout (pure) ─► lines ─► screen
//!                └─► changes (pure) ─► a line with its time
//! ```

mod changes;
pub(super) mod layout;

use std::time::Duration;

use changes::Changes;
use layout::{Picture, Size, lines};

use super::screen::Screen;
use super::ui::Ui;
use crate::apply::ClusterSummary;
use crate::daemon::wall_time;

/// Shows progress until it is finished.
#[derive(Default)]
pub(super) struct Live {
    changes: Changes,
}

impl Live {
    /// Shows how things stand.
    pub(super) fn draw(&mut self, ui: &Ui, title: &str, clusters: &[ClusterSummary]) {
        let picture = Picture {
            title,
            summary: None,
            clusters,
        };
        self.draw_later(ui, &picture, Duration::ZERO);
    }

    /// Shows how things stood `age` ago, with clocks that went on since then.
    pub(super) fn draw_later(&mut self, ui: &Ui, picture: &Picture<'_>, age: Duration) {
        if let Some(screen) = ui.screen() {
            let (columns, rows) = Screen::size();
            let lines = lines(picture, Size { columns, rows }, age);
            let lines = lines.iter().map(|line| line.shown(ui.colours_messages()));
            screen.draw(lines.collect(), (columns, rows));
            return;
        }
        for line in self.changes.since_last(picture) {
            self.say(ui, &line);
        }
    }

    /// Prints a line above the progress. Without a terminal, the line starts with the time.
    pub(super) fn say(&self, ui: &Ui, text: &str) {
        match ui.screen() {
            Some(_) => ui.message(text),
            None => ui.message(&format!("{}  {text}", wall_time().strftime("%FT%TZ"))),
        }
    }

    /// Shows how it ended; the next output comes below.
    pub(super) fn finish(&mut self, ui: &Ui, title: &str, clusters: &[ClusterSummary]) {
        self.draw(ui, title, clusters);
        if let Some(screen) = ui.screen() {
            screen.leave();
        }
    }
}
