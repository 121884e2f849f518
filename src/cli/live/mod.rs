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

use super::log_lines::TALK;
use super::screen::Screen;
use super::ui::Ui;
use crate::apply::ClusterSummary;
use crate::daemon::wall_time;
use crate::model::Check;
use crate::model::cut::head;

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

    /// Prints a line above the progress. Without a terminal, the line starts with the time, as log lines do.
    pub(super) fn say(&self, ui: &Ui, text: &str) {
        if ui.screen().is_some() || ui.is_log() {
            return ui.message(text);
        }
        ui.message(&format!("{}  {text}", wall_time().strftime("%FT%TZ")));
    }

    /// Says that a check has another state.
    pub(super) fn say_check(&self, ui: &Ui, check: &Check) {
        let (context, state, title) = (&check.context, check.state.word(), &check.title);
        let revision = &check.revision;
        if ui.is_log() {
            tracing::info!(target: TALK, revision, "{context}: {state}, {title}");
        } else {
            let revision = head(revision, 10);
            self.say(ui, &format!("{context} on {revision}: {state}, {title}"));
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
