//! Progress on a terminal: a tree of clusters with state, elapsed time and what is left.

use std::time::Duration;

use super::ui::Ui;
use crate::plan::{ClusterSummary, Summary};

/// A block of lines that is drawn over itself. Where lines cannot be redrawn, only changes of the
/// title are said.
#[derive(Default)]
pub(super) struct Live {
    drawn: usize,
    said: String,
}

impl Live {
    /// Draws the block anew.
    pub(super) fn draw(&mut self, ui: &Ui, title: &str, clusters: &[ClusterSummary]) {
        if ui.can_redraw() {
            let lines = lines(title, clusters);
            ui.take_back(self.drawn);
            lines.iter().for_each(|line| ui.say(line));
            self.drawn = lines.len();
        } else if self.said != title {
            ui.say(&format!("  {title}"));
            title.clone_into(&mut self.said);
        }
    }

    /// Leaves the block as it stands; what is said next comes below it.
    pub(super) fn finish(&mut self, ui: &Ui, title: &str, clusters: &[ClusterSummary]) {
        self.draw(ui, title, clusters);
        if !ui.can_redraw() {
            lines(title, clusters)
                .iter()
                .skip(1)
                .for_each(|line| ui.say(line));
        }
        *self = Self::default();
    }
}

fn lines(title: &str, clusters: &[ClusterSummary]) -> Vec<String> {
    let width = clusters
        .iter()
        .map(|cluster| cluster.id.name.len())
        .max()
        .unwrap_or_default();
    let mut lines = vec![format!("  {title}")];
    for (at, cluster) in clusters.iter().enumerate() {
        let branch = if at + 1 == clusters.len() {
            "└─"
        } else {
            "├─"
        };
        let summary = &cluster.summary;
        let line = format!(
            "  {branch} {:<width$}  {} {:>3}/{:<3} {:<13} {:>7}  {}",
            cluster.id.name,
            bar(summary),
            summary.ready,
            summary.total,
            state(summary),
            minutes(cluster.elapsed),
            rest(summary),
        );
        lines.push(line.trim_end().to_owned());
    }
    lines
}

fn bar(summary: &Summary) -> String {
    const WIDTH: usize = 12;
    let full = (summary.ready * WIDTH)
        .checked_div(summary.total)
        .unwrap_or(WIDTH);
    format!("{}{}", "█".repeat(full), "░".repeat(WIDTH - full))
}

fn state(summary: &Summary) -> &'static str {
    match summary {
        Summary { failed, .. } if !failed.is_empty() => "Failed",
        Summary { ready, total, .. } if ready == total => "Ready",
        Summary { ready: 0, .. } => "Waiting",
        _ => "Provisioning",
    }
}

fn rest(summary: &Summary) -> String {
    if let Some((id, message)) = summary.failed.first() {
        return format!("{id}: {message}");
    }
    if summary.ready == summary.total {
        return String::new();
    }
    format!("{}, {} left", summary.stage, minutes(summary.left))
}

/// `12m05s`.
pub(super) fn minutes(duration: Duration) -> String {
    let seconds = duration.as_secs();
    format!("{}m{:02}s", seconds / 60, seconds % 60)
}
