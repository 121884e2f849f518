//! An account as Markdown.
//!
//! In: an account. Out: parts of a check's summary. What others wrote is escaped.

use std::time::Duration;

use super::Account;
use crate::graph::about;
use crate::model::markdown::markdown;
use crate::plan::losses::Unit;
use crate::reporting::report::changes;
use crate::reporting::report::parts::{counted, list, unread_text};

/// The most clusters that are named.
const NAMED: usize = 5;

impl Account {
    /// Which clusters it touches, which nodes go, are replaced and are made, and how long it takes; empty without changes.
    pub(in crate::reporting::report) fn reach(&self) -> String {
        if self.is_empty() {
            return match self.moved {
                0 => String::new(),
                moved => format!(
                    "{}; nothing else changes.\n\n",
                    match moved {
                        1 => "1 file moved".to_owned(),
                        moved => format!("{moved} files moved"),
                    }
                ),
            };
        }
        let touched: Vec<Unit> = self.counts.touched().collect();
        let named = touched.iter().take(NAMED).map(Unit::to_string);
        let named: Vec<String> = named.collect();
        let more = match touched.len() - named.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let clusters = match touched.len() {
            0 => "No cluster is touched".to_owned(),
            count => format!(
                "Touches {count} of {}: {}{more}",
                counted(self.clusters.max(count), "cluster"),
                markdown(&named.join(", "))
            ),
        };
        let time = match self.takes {
            Duration::ZERO => String::new(),
            takes => format!(
                " It takes {} until all is ready, as long as Azure usually needs.",
                about(takes)
            ),
        };
        format!("{clusters}; {}.{time}\n\n", self.nodes())
    }

    /// `2 nodes go, 14 nodes are replaced, 6 nodes are new`
    fn nodes(&self) -> String {
        let of = |count: u64, one: &str, many: &str| match count {
            0 => None,
            1 => Some(format!("1 node {one}")),
            count => Some(format!("{count} nodes {many}")),
        };
        let counts = [
            of(self.counts.lost_nodes(), "goes", "go"),
            of(self.counts.rolled_nodes(), "is replaced", "are replaced"),
            of(self.counts.new_nodes, "is new", "are new"),
        ];
        let counts: Vec<String> = counts.into_iter().flatten().collect();
        match counts.is_empty() {
            true => "no node goes or is replaced".to_owned(),
            false => counts.join(", "),
        }
    }

    /// What leaves because of files that are not read, then what is created, released and removed, then the changed
    /// values.
    pub(in crate::reporting::report) fn text(&self) -> String {
        let created = self.created.lines();
        let others = self.others.iter().map(|id| format!("create {id}"));
        let reordered = self.reordered.iter();
        let reordered = reordered.map(|id| format!("change {id}: only the order of values"));
        let released = self.leaving.released_others.iter();
        let released = released.map(|id| format!("release {id}, which stays in the cluster"));
        let mut text = unread_text(&self.unread)
            + &list(created.into_iter())
            + &list(others)
            + &list(reordered)
            + &list(released);
        text += &list(self.leaving.removed.iter().cloned());
        text += &list(self.leaving.held.iter().cloned());
        if self.leaving.kept > 0 {
            let kept = counted(self.leaving.kept, "object");
            text +=
                &format!("- keep {kept} that the fleet no longer has: `spec.apply.prune` is off\n");
        }
        if !text.is_empty() {
            text.push('\n');
        }
        text + &self.created.total() + &changes::text(&self.changes)
    }
}
