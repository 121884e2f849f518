//! Progress where nothing can be drawn over: a line per change of state.
//!
//! In: how things stand, again and again. Out: a line for each cluster whose state is another one than
//! before, and one for the fleet when it waits for something else.

use std::collections::BTreeMap;

use super::layout::{Picture, State, details};
use crate::model::ObjectId;

/// What was reported so far.
#[derive(Debug, Default)]
pub(super) struct Changes {
    fleet: String,
    clusters: BTreeMap<ObjectId, State>,
}

impl Changes {
    /// What changed since the last time. The fleet comes last: it sums up.
    pub(super) fn since_last(&mut self, picture: &Picture<'_>) -> Vec<String> {
        let mut lines = Vec::new();
        for cluster in picture.clusters {
            let (summary, state) = (&cluster.summary, State::of(&cluster.summary));
            if self.clusters.insert(cluster.id.clone(), state) == Some(state) {
                continue;
            }
            let name = &cluster.id.name;
            let count = format!("{}/{} ready", summary.ready, summary.total);
            let details = details(summary);
            let parts = [count, details].into_iter().filter(|part| !part.is_empty());
            let parts: Vec<String> = parts.collect();
            lines.push(format!("{name}: {}, {}", state.word(), parts.join(", ")));
        }
        let ids: Vec<&ObjectId> = picture.clusters.iter().map(|cluster| &cluster.id).collect();
        self.clusters.retain(|id, _| ids.contains(&id));
        let waits_for = waits_for(picture.title);
        if waits_for != self.fleet {
            waits_for.clone_into(&mut self.fleet);
            lines.push(picture.title.to_owned());
        }
        lines
    }
}

/// A title without its count and its time: `HCP cluster` of `31/54 ready, HCP cluster, about 9 min left`; the
/// whole title where nothing is waited for.
fn waits_for(title: &str) -> &str {
    let behind = title.split_once(" ready, ").map_or(title, |(_, rest)| rest);
    let timed = behind.rsplit_once(", ");
    timed.map_or(behind, |(stage, time)| match time.ends_with(" left") {
        true => stage,
        false => behind,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::live::layout::tests::cluster;

    #[test]
    fn a_line_tells_each_change_of_state_and_nothing_else() {
        let mut changes = Changes::default();
        let mut reported = |title: &str, ready: usize, failed: &[&str]| {
            let clusters = [cluster("one", ready, failed), cluster("two", 4, &[])];
            changes.since_last(&Picture {
                title,
                summary: None,
                clusters: &clusters,
            })
        };
        let first = [
            "one: Waiting, 0/4 ready, HCP cluster, 1m00s left",
            "two: Ready, 4/4 ready",
            "4/8 ready, HCP cluster, about 9 min left",
        ];
        assert_eq!(reported(first[2], 0, &[]), first);
        assert!(reported("4/8 ready, HCP cluster, about 8 min left", 0, &[]).is_empty());
        assert_eq!(
            reported("5/8 ready, HCP cluster, less than a minute left", 1, &[]),
            ["one: Provisioning, 1/4 ready, HCP cluster, 1m00s left"]
        );
        assert!(reported("6/8 ready, HCP cluster, about 3 min left", 2, &[]).is_empty());
        assert_eq!(
            reported("6/8 ready, Vault/c/kv failed", 2, &["kv"]),
            [
                "one: Failed, 2/4 ready, Vault/clusters/kv: QuotaExceeded",
                "6/8 ready, Vault/c/kv failed"
            ]
        );
        assert_eq!(
            reported("8/8 ready", 4, &[]),
            ["one: Ready, 4/4 ready", "8/8 ready"]
        );
    }
}
