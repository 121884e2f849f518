//! Progress on a terminal: a tree of clusters with state, elapsed time and the time left.

use std::time::Duration;

use super::ui::Ui;
use crate::apply::{ClusterSummary, Summary};

/// A block of lines that is drawn over itself. Where lines cannot be redrawn, only changes of the
/// title are printed.
#[derive(Default)]
pub(super) struct Live {
    drawn: usize,
    title: String,
}

impl Live {
    /// Draws the block anew.
    pub(super) fn draw(&mut self, ui: &Ui, title: &str, clusters: &[ClusterSummary]) {
        if ui.can_redraw() {
            let lines = lines(title, clusters);
            ui.take_back(self.drawn);
            lines.iter().for_each(|line| ui.message(&cut(line)));
            self.drawn = lines.len();
        } else if self.title != title {
            ui.message(&format!("  {title}"));
            title.clone_into(&mut self.title);
        }
    }

    /// Removes the block: something else is printed in its place.
    pub(super) fn clear(&mut self, ui: &Ui) {
        if ui.can_redraw() {
            ui.take_back(self.drawn);
        }
        self.drawn = 0;
    }

    /// Leaves the block as it is; the next output comes below it.
    pub(super) fn finish(&mut self, ui: &Ui, title: &str, clusters: &[ClusterSummary]) {
        self.draw(ui, title, clusters);
        if !ui.can_redraw() {
            lines(title, clusters)
                .iter()
                .skip(1)
                .for_each(|line| ui.message(line));
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
            elapsed(cluster),
            details(summary),
        );
        lines.push(line.trim_end().to_owned());
    }
    lines
}

/// A line that wraps could not be drawn over: 79 characters fit every terminal.
fn cut(line: &str) -> String {
    const WIDTH: usize = 79;
    if line.chars().count() <= WIDTH {
        return line.to_owned();
    }
    line.chars().take(WIDTH - 1).chain(['…']).collect()
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

/// How long it has taken; nothing for a cluster that this revision left alone.
fn elapsed(cluster: &ClusterSummary) -> String {
    match cluster.elapsed {
        Duration::ZERO => String::new(),
        elapsed => minutes(elapsed),
    }
}

fn details(summary: &Summary) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ObjectId;

    fn cluster(ready: usize, failed: &[&str]) -> ClusterSummary {
        let id = |name: &str| ObjectId::new("keyvault.azure.com", "Vault", "clusters", name);
        let failed = failed
            .iter()
            .map(|name| (id(name), "QuotaExceeded".to_owned()))
            .collect();
        let left = Duration::from_secs(60);
        let summary = Summary {
            ready,
            total: 4,
            stage: "HCP cluster".to_owned(),
            left,
            failed,
            terminal: false,
        };
        ClusterSummary {
            id: id("one"),
            summary,
            elapsed: Duration::from_secs(75),
        }
    }

    #[test]
    fn a_cluster_is_one_line_with_its_state() {
        let line = |cluster| lines("title", &[cluster]).remove(1);
        assert_eq!(
            line(cluster(2, &[])),
            "  └─ one  ██████░░░░░░   2/4   Provisioning    1m15s  HCP cluster, 1m00s left"
        );
        assert_eq!(
            line(cluster(4, &[])),
            "  └─ one  ████████████   4/4   Ready           1m15s"
        );
        assert_eq!(
            line(cluster(0, &[])),
            "  └─ one  ░░░░░░░░░░░░   0/4   Waiting         1m15s  HCP cluster, 1m00s left"
        );
        assert!(
            line(cluster(2, &["kv"]))
                .ends_with("Failed          1m15s  Vault/clusters/kv: QuotaExceeded")
        );
    }

    #[test]
    fn a_line_that_would_wrap_is_cut() {
        assert_eq!(cut(&"ü".repeat(79)), "ü".repeat(79));
        assert_eq!(cut(&"ü".repeat(80)).chars().count(), 79);
    }
}
