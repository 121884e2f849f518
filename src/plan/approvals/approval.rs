//! One approval of a loss, whatever its source, and what is approved of a revision.
//!
//! It does not know where an approval comes from, or what it leads to.

use std::collections::BTreeSet;
use std::fmt;

use jiff::Timestamp;

/// The word that approves a deletion.
const DELETE: &str = "delete";
/// The word that approves a recreation.
const RECREATE: &str = "recreate";

/// What somebody approves. A cluster is named `namespace/name`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// The cluster may be deleted.
    Delete(String),
    /// As many clusters may be deleted, whichever they are.
    DeleteAny(usize),
    /// Its HCP cluster, which Azure failed to create, may be deleted and made again.
    Recreate(String),
}

/// The way in which somebody approves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// With the trailer `Capstan-Approve` in the message of the commit.
    Trailer,
    /// With the button of the check of the commit.
    Button,
    /// With the flag `--approve`.
    Flag,
    /// With a setting of the fleet.
    Setting,
}

/// One approval, whatever its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approval {
    /// What may happen.
    pub what: What,
    /// The source.
    pub how: How,
    /// The author of the commit, or who pressed; empty if that is not known.
    pub who: String,
    /// The time, as far as it is known.
    pub at: Option<Timestamp>,
    /// The commit that it was given with; empty if there is none.
    pub commit: String,
}

/// Why an approval does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Doubt {
    /// The pull request of a fork with this number brought its commit in.
    Fork(u64),
    /// A merge brought its commit in, which is not on the line of first parents.
    Merged,
    /// It is not known yet how its commit came in, and why not.
    Unattributed(String),
    /// This later commit writes of the cluster again, so that its next removal is another one.
    BroughtBack(String),
    /// It cannot be told whether a later commit writes of the cluster again, and why not.
    Unsearched(String),
    /// The signature of its commit is not accepted, and why not.
    Unverified(String),
}

/// What is approved of a revision, or of a candidate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Approvals {
    /// Those that count.
    pub(crate) given: Vec<Approval>,
    /// Those that do not, and why.
    pub(crate) doubted: Vec<(Approval, Doubt)>,
    /// The clusters, `namespace/name`, whose deletion the candidate's own commits approve.
    pub(crate) own: BTreeSet<String>,
    /// Lines of commits that look like an approval and are none.
    pub(crate) unclear: Vec<String>,
}

impl Approval {
    /// The approval of whoever runs the command.
    #[must_use]
    pub const fn flag(what: What) -> Self {
        Self::unsigned(what, How::Flag)
    }

    /// The approval of whoever may change the settings of the fleet.
    #[must_use]
    pub const fn setting(what: What) -> Self {
        Self::unsigned(what, How::Setting)
    }

    const fn unsigned(what: What, how: How) -> Self {
        Self {
            what,
            how,
            who: String::new(),
            at: None,
            commit: String::new(),
        }
    }
}

impl Approvals {
    /// Lists the clusters, `namespace/name`, that may be deleted.
    #[cfg(test)]
    pub(crate) fn deletable(&self) -> BTreeSet<String> {
        let given = self.given.iter().filter_map(|one| one.what.deletes());
        given.map(str::to_owned).collect()
    }

    /// Takes out those that wait for the forge to say how one of `commits` came in; `true` if there are any: then approvals
    /// are to be read again.
    pub(crate) fn take_attributed(&mut self, commits: &BTreeSet<String>) -> bool {
        let before = self.doubted.len();
        self.doubted.retain(|(approval, doubt)| {
            !matches!(doubt, Doubt::Unattributed(_)) || !commits.contains(&approval.commit)
        });
        self.doubted.len() < before
    }

    /// Lists the clusters, `namespace/name`, whose HCP cluster may be recreated.
    pub(crate) fn recreatable(&self) -> BTreeSet<String> {
        let given = self.given.iter().filter_map(|one| match &one.what {
            What::Recreate(cluster) => Some(cluster.clone()),
            What::Delete(_) | What::DeleteAny(_) => None,
        });
        given.collect()
    }

    /// Drops what a merge brought in and somebody approves elsewhere.
    pub(crate) fn drop_repeated(&mut self) {
        let given: BTreeSet<&What> = self.given.iter().map(|one| &one.what).collect();
        self.doubted
            .retain(|(approval, doubt)| *doubt != Doubt::Merged || !given.contains(&approval.what));
    }

    /// Lists the commits of approvals that wait for the forge.
    pub(crate) fn unattributed(&self) -> impl Iterator<Item = &String> {
        let waiting = self.doubted.iter();
        let waiting = waiting.filter(|(_, doubt)| matches!(doubt, Doubt::Unattributed(_)));
        waiting.map(|(approval, _)| &approval.commit)
    }
}

impl What {
    /// Reads `delete <namespace>/<name>` and `recreate <namespace>/<name>`.
    pub(super) fn parse(value: &str) -> Option<Self> {
        let (verb, name) = value.trim().split_once(' ')?;
        let name = cluster(name.trim())?;
        match verb {
            DELETE => Some(Self::Delete(name)),
            RECREATE => Some(Self::Recreate(name)),
            _ => None,
        }
    }

    /// The deletion of the cluster `<namespace>/<name>`.
    #[must_use]
    pub fn deletion(name: &str) -> Option<Self> {
        cluster(name).map(Self::Delete)
    }

    /// The cluster that may be deleted.
    pub(crate) fn deletes(&self) -> Option<&str> {
        match self {
            Self::Delete(cluster) => Some(cluster),
            Self::DeleteAny(_) | Self::Recreate(_) => None,
        }
    }
}

/// As the trailer has it.
impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Delete(cluster) => write!(f, "{DELETE} {cluster}"),
            Self::DeleteAny(count) => write!(f, "{DELETE} {count} clusters"),
            Self::Recreate(cluster) => write!(f, "{RECREATE} {cluster}"),
        }
    }
}

/// In words that follow "does not count:".
impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fork(number) => write!(
                f,
                "pull request {number} of a fork brought the commit in; whoever may write to the repository approves in a commit of their own"
            ),
            Self::Merged => f.write_str(
                "a merge brought the commit in; repeat the line in the message of a commit on the branch itself, such as the merge",
            ),
            Self::Unattributed(why) => write!(
                f,
                "it is not known yet whether a fork's pull request brought the commit in, which is asked again: {why}"
            ),
            Self::BroughtBack(commit) => write!(
                f,
                "the later commit {} has the cluster's name in a file again; repeat the line in a commit after it",
                short(commit)
            ),
            Self::Unsearched(why) => write!(
                f,
                "it cannot be told whether a later commit brings the cluster back: {why}; repeat the line in a new commit"
            ),
            Self::Unverified(why) => write!(f, "the commit is not verified: {why}"),
        }
    }
}

/// The beginning of a commit's id, as people read it.
pub(crate) fn short(commit: &str) -> &str {
    commit.get(..10).unwrap_or(commit)
}

/// The name of a cluster, without its namespace.
pub(crate) fn name(cluster: &str) -> &str {
    cluster.rsplit_once('/').map_or(cluster, |(_, name)| name)
}

/// The text if it names a cluster.
fn cluster(text: &str) -> Option<String> {
    let (namespace, name) = text.split_once('/')?;
    let is_name = |part: &str| !part.is_empty() && !part.contains(['/', ' ', '\n', '\t']);
    (is_name(namespace) && is_name(name)).then(|| text.to_owned())
}
