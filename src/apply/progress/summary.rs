//! One line about a fleet or a cluster.
//!
//! In: counts, and what is still missing. Out: "31/54 ready, HCP cluster, about 9 min left". It does not
//! know how they were counted.

use std::time::Duration;

use crate::api::kinds::{AUTHORIZATION, MANAGED_IDENTITY, RED_HAT_OPENSHIFT};
use crate::api::platform::HYPERSHIFT;
use crate::graph::about;
use crate::model::ObjectId;
use crate::model::cut::shortened;

/// The most characters of a message in a title: forges show about 140 in all.
const LONGEST: usize = 100;

/// One line about a fleet or a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Objects that are ready, embedded ones counted.
    pub ready: usize,
    /// All objects, embedded ones counted.
    pub total: usize,
    /// What is being waited for, in words; empty when all is ready.
    pub stage: String,
    /// How long until all is ready, by what each kind typically takes.
    pub left: Duration,
    /// The objects that failed, and why.
    pub failed: Vec<(ObjectId, String)>,
    /// Whether one of them can only be helped by a change.
    pub terminal: bool,
}

/// One cluster of the fleet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterSummary {
    /// The Cluster.
    pub id: ObjectId,
    /// Its parts.
    pub summary: Summary,
    /// From the start of the revision until its last part became ready, or until now.
    pub elapsed: Duration,
}

impl ClusterSummary {
    /// The same if nothing happened for this long: clocks go on, but for what is ready.
    #[must_use]
    pub fn later(&self, by: Duration) -> Self {
        let summary = self.summary.later(by);
        let by = match summary.ready < summary.total {
            true => by,
            false => Duration::ZERO,
        };
        Self {
            id: self.id.clone(),
            summary,
            elapsed: self.elapsed + by,
        }
    }
}

impl Summary {
    /// The same if nothing happened for this long.
    #[must_use]
    pub fn later(&self, by: Duration) -> Self {
        Self {
            left: self.left.saturating_sub(by),
            ..self.clone()
        }
    }

    /// `31/54 ready, HCP cluster, about 9 min left`. Always one line, even if messages have several.
    #[must_use]
    pub fn title(&self) -> String {
        let brief = self.brief();
        let Some((_, message)) = self.failed.first() else {
            return brief;
        };
        format!("{brief}: {}", opening(message))
    }

    /// The same without the message of a failure.
    #[must_use]
    pub fn brief(&self) -> String {
        let count = format!("{}/{} ready", self.ready, self.total);
        if let Some((id, _)) = self.failed.first() {
            return format!("{count}, {id} failed");
        }
        match self.ready < self.total {
            true => format!("{count}, {}, {} left", self.stage, about(self.left)),
            false => count,
        }
    }
}

/// The first sentence of a message, on one line: a title has little room, and the whole is shown below it.
fn opening(message: &str) -> String {
    let line = message.split_whitespace().collect::<Vec<_>>().join(" ");
    let sentence = line.split_once(". ").map_or(&*line, |(first, _)| first);
    shortened(sentence, LONGEST, "...")
}

/// What people call a kind.
pub(super) fn label(id: &ObjectId) -> String {
    match (id.group.as_str(), id.kind.as_str()) {
        (AUTHORIZATION, _) => "role assignments".to_owned(),
        (MANAGED_IDENTITY, _) => "managed identities".to_owned(),
        (RED_HAT_OPENSHIFT, "HcpOpenShiftCluster") => "HCP cluster".to_owned(),
        (RED_HAT_OPENSHIFT, "HcpOpenShiftClustersNodePool") => "node pool".to_owned(),
        (RED_HAT_OPENSHIFT, "HcpOpenShiftClustersExternalAuth") => "external auth".to_owned(),
        (HYPERSHIFT, "HostedCluster") => "hosted cluster".to_owned(),
        (HYPERSHIFT, "NodePool") => "node pool".to_owned(),
        (_, kind) => kind.to_owned(),
    }
}
