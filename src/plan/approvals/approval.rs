//! One approval of a loss, whatever its source, and what is approved of a revision.
//!
//! It does not know where an approval comes from, or what it leads to.

use std::collections::BTreeSet;
use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::comment_doubt::CommentDoubt;
use super::lines::is_command;
use crate::api::fleet::{DeletionGuard, PoolGuard};
use crate::plan::losses::Unit;

/// What may happen to a cluster or a node pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verb {
    /// It may be deleted.
    Delete,
    /// It may leave the fleet and stay in Azure.
    Release,
    /// It may be made again under another name, and go under this one.
    Rename,
    /// Its HCP cluster, which Azure failed to create, may be deleted and made again.
    Recreate,
}

/// What somebody approves.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// This may happen to this cluster or node pool.
    Named(Verb, Unit),
    /// As many clusters may be deleted, released or renamed, whichever they are.
    Clusters(usize),
    /// Node pools may be deleted or renamed, whichever they are.
    Pools,
}

/// The way in which somebody approves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum How {
    /// With the trailer `Capstan-Approve` in the message of the commit.
    Trailer,
    /// With the button of the check of the commit.
    #[default]
    Button,
    /// With a comment on the pull request whose head the commit was.
    Comment,
    /// With the annotation on the parent of the set.
    Annotation,
    /// With the flag `--approve`.
    Flag,
    /// With a setting of the fleet.
    Setting,
}

impl How {
    /// The way in one word, as JSON has it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Trailer => "trailer",
            Self::Button => "button",
            Self::Comment => "comment",
            Self::Annotation => "annotation",
            Self::Flag => "flag",
            Self::Setting => "setting",
        }
    }
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
    /// This later commit writes of the cluster or pool again, so that its next removal is another one.
    BroughtBack(String),
    /// It cannot be told whether a later commit writes of it again, and why not.
    Unsearched(String),
    /// The signature of its commit is not accepted, and why not.
    Unverified(String),
    /// The fleet says who may approve, and asks for no signatures.
    Unsigned,
    /// A comment is none that counts.
    Comment(CommentDoubt),
}

/// What is approved of a revision, or of a candidate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Approvals {
    /// Those that count.
    pub(crate) given: Vec<Approval>,
    /// Those that do not, and why.
    pub(crate) doubted: Vec<(Approval, Doubt)>,
    /// What the candidate's own commits approve.
    pub(crate) own: BTreeSet<What>,
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

    /// The approvals that the settings of a fleet amount to.
    pub fn allowed(guard: DeletionGuard) -> impl Iterator<Item = Self> {
        let clusters = usize::try_from(guard.max_clusters).unwrap_or(0);
        let clusters = (clusters > 0).then_some(What::Clusters(clusters));
        let pools = (guard.pools == PoolGuard::Allow).then_some(What::Pools);
        clusters.into_iter().chain(pools).map(Self::setting)
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
    /// Lists what may be deleted, each as `namespace/name`.
    #[cfg(test)]
    pub(crate) fn deletable(&self) -> BTreeSet<String> {
        let losses = self.given.iter().filter_map(|one| one.what.loss());
        let deletions = losses.filter(|(verb, _)| *verb == Verb::Delete);
        deletions.map(|(_, unit)| unit.to_string()).collect()
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

    /// The same without what comments say.
    pub(crate) fn without_comments(&self) -> Self {
        let mut rest = self.clone();
        let is_comment = |doubt: &Doubt| matches!(doubt, Doubt::Comment(_));
        rest.doubted.retain(|(_, doubt)| !is_comment(doubt));
        rest.unclear.retain(|line| !is_command(line));
        rest
    }

    /// Takes in what comments say, in place of what they said before. What they approve is recorded when it is given.
    pub(crate) fn set_comments(&mut self, comments: &Self) {
        *self = self.without_comments();
        self.doubted.extend(comments.doubted.iter().cloned());
        self.unclear.extend(comments.unclear.iter().cloned());
    }

    /// Lists the clusters whose HCP cluster may be recreated.
    pub(crate) fn recreatable(&self) -> BTreeSet<Unit> {
        let given = self.given.iter().filter_map(|one| match &one.what {
            What::Named(Verb::Recreate, cluster) => Some(cluster.clone()),
            What::Named(..) | What::Clusters(_) | What::Pools => None,
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

impl Verb {
    /// All of them.
    pub(crate) const ALL: [Self; 4] = [Self::Delete, Self::Release, Self::Rename, Self::Recreate];

    /// The word in an approval.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Delete => "delete",
            Self::Release => "release",
            Self::Rename => "rename",
            Self::Recreate => "recreate",
        }
    }

    /// The word for what happens.
    #[must_use]
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Delete => "deletion",
            Self::Release => "release",
            Self::Rename => "rename",
            Self::Recreate => "recreation",
        }
    }
}

impl What {
    /// Reads `<verb> <namespace>/<cluster>[/<pool>]`. No pool is recreated.
    #[must_use]
    pub fn parse(value: &str) -> Option<Self> {
        let (word, name) = value.trim().split_once(' ')?;
        let verb = Verb::ALL.into_iter().find(|verb| verb.word() == word)?;
        let unit = Unit::parse(name.trim())?;
        let is_possible = verb != Verb::Recreate || unit.pool.is_none();
        is_possible.then_some(Self::Named(verb, unit))
    }

    /// The deletion of the cluster or pool of this name.
    #[must_use]
    pub fn deletion(name: &str) -> Option<Self> {
        let unit = Unit::parse(name)?;
        Some(Self::Named(Verb::Delete, unit))
    }

    /// The loss that it allows: a cluster or pool that goes, and how.
    pub(crate) fn loss(&self) -> Option<(Verb, &Unit)> {
        match self {
            Self::Named(Verb::Recreate, _) | Self::Clusters(_) | Self::Pools => None,
            Self::Named(verb, unit) => Some((*verb, unit)),
        }
    }
}

/// As the trailer has it.
impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(verb, unit) => write!(f, "{} {unit}", verb.word()),
            Self::Clusters(count) => write!(f, "{count} clusters"),
            Self::Pools => f.write_str("node pools"),
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
                "the later commit {} has its name in a file again; repeat the line in a commit after it",
                short(commit)
            ),
            Self::Unsearched(why) => write!(
                f,
                "it cannot be told whether a later commit brings the cluster back: {why}; repeat the line in a new commit"
            ),
            Self::Unverified(why) => write!(f, "the commit is not verified: {why}"),
            Self::Unsigned => f.write_str(
                "spec.approvals of the Fleet says who may approve, and anybody may write any name into a commit; sign commits and set spec.source.git.verify, or approve with a comment",
            ),
            Self::Comment(doubt) => doubt.fmt(f),
        }
    }
}

/// The beginning of a commit's id, as people read it.
pub(crate) fn short(commit: &str) -> &str {
    commit.get(..10).unwrap_or(commit)
}
