//! Which approvals count for a revision, and why others do not.
//!
//! In: the messages on the line of first parents, what is recorded of buttons, comments and annotations, and what the forge
//! says of commits. Out: approvals. What others bring in with a merge, or with the pull request of a fork, approves nothing.
//! It does not know what an approval leads to.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::attribution::{Attribution, Purpose};
use super::commit_approvals::{
    Commits as _, MOST, Said, add_merged, doubt_what_is_back, given_by, losses,
};
use super::recorded_approvals::RecordedApprovals;
use super::revisions::Revisions;
use crate::adapters::git::{Commit, Error, RetainedRef};
use crate::api::fleet::DeletionGuard;
use crate::model::{CommitSource, PullRequests};
use crate::plan::approvals::{self, Approval, Approvals, Doubt, How, Pressed};
use crate::settings::SyncConfig;

/// How much the clock of whoever squashes may be behind Capstan's.
const CLOCKS: Duration = Duration::from_secs(600);
/// How many commits are compared with what was approved elsewhere: each is a merge.
const MOST_COMPARED: usize = 500;

/// Where approvals come from.
pub(in crate::daemon) struct ApprovalSources {
    revisions: Arc<Revisions>,
    /// What the settings let go.
    allowed: DeletionGuard,
    /// What people approved once, and commits with approvals that came too late for what is applied.
    pub(in crate::daemon) recorded: RecordedApprovals,
    /// How the commits came in whose messages approve something.
    pub(in crate::daemon) attribution: Attribution,
}

impl ApprovalSources {
    /// A `forge` is asked how commits came in.
    pub(super) fn open(
        config: &SyncConfig,
        revisions: Arc<Revisions>,
        forge: Option<Arc<dyn PullRequests>>,
    ) -> Self {
        Self {
            revisions,
            allowed: config.allowed,
            recorded: RecordedApprovals::open(&config.mirror),
            attribution: Attribution::new(forge),
        }
    }

    /// Somebody approved losses with the button of a check, a comment or an annotation.
    pub(in crate::daemon) fn add(&self, approval: Pressed) {
        self.recorded.add(approval);
    }

    /// `revision` is going to be applied.
    pub(super) fn take_up(&self, revision: &str) {
        self.recorded.take_up(revision);
    }

    /// What is approved of `revision` after `applied`: in the messages of the commits on the line of first parents from
    /// the one to the other, forced pushes or not; in that of `revision` alone when nothing was applied before. A button
    /// that was pressed on the check of a commit that leads there says the same. It may wait for the forge.
    pub(in crate::daemon) fn for_revision(&self, applied: &str, revision: &str) -> Approvals {
        let from = match applied {
            "" => None,
            // A directory was applied by hand.
            applied if !applied.chars().all(|digit| digit.is_ascii_hexdigit()) => None,
            applied => Some(applied),
        };
        self.recorded.wait();
        let late = self.recorded.late(applied, revision);
        let is_in = |commit: &String| self.leads_to(commit, revision);
        let late: Vec<String> = late.into_iter().filter(is_in).collect();
        let found = self.weigh(from, revision, &late, Purpose::Apply);
        if let (Ok(_), Some(applied)) = (&found, from) {
            // An earlier daemon may have had no time for it.
            self.revisions.retain_later(RetainedRef::Applied, applied);
        }
        let mut found = found.unwrap_or_else(|error| {
            tracing::warn!(%error, "cannot read approvals");
            Approvals::default()
        });
        self.recorded.note(revision, &found);
        self.add_pressed(from, revision, &mut found);
        self.add_annotated(revision, &mut found);
        if from == Some(revision) {
            found.unclear.extend(self.unclear_in(revision));
        }
        found.given.extend(Approval::allowed(self.allowed));
        found.drop_repeated();
        found
    }

    /// What the commits that are not applied yet approve for a candidate, and what those of the candidate alone say of it.
    pub(in crate::daemon) fn for_candidate(
        &self,
        base: &str,
        commit: &str,
        applied: Option<&str>,
    ) -> Approvals {
        self.recorded.wait();
        let weigh = |from: &str, to: &str| {
            let found = self.weigh(Some(from), to, &[], Purpose::Plan);
            let mut found = found.unwrap_or_default();
            found.own = losses(&found.given);
            self.add_pressed(Some(from), to, &mut found);
            found
        };
        let mut found = weigh(base, commit);
        if let Some(applied) = applied {
            let earlier = weigh(applied, base);
            found.given.extend(earlier.given);
            found.doubted.extend(earlier.doubted);
        }
        found.given.extend(Approval::allowed(self.allowed));
        found.drop_repeated();
        found
    }

    /// What is approved from `from` to `to`, without `from` in the message of `to` alone, and in the messages of `late`.
    fn weigh(
        &self,
        from: Option<&str>,
        to: &str,
        late: &[String],
        purpose: Purpose,
    ) -> Result<Approvals, Error> {
        let most = from.map_or(1, |_| MOST);
        let line = self.revisions.origin.first_parents(from, to, most)?;
        let mut said = Vec::new();
        let on_line: BTreeSet<String> = line.iter().map(|commit| commit.id.clone()).collect();
        let late = late.iter().filter(|commit| !on_line.contains(*commit));
        let late: Result<Vec<Commit>, Error> = late.map(|id| self.commit(id)).collect();
        for commit in line.into_iter().chain(late?) {
            let text = self.revisions.origin.message(&commit.id)?;
            let one = Said::of(commit, &text);
            let is_of_use = !one.given.is_empty() || !one.unclear.is_empty();
            said.extend(is_of_use.then_some(one));
        }
        let approving = said.iter().filter(|one| !one.given.is_empty());
        let commits = approving.map(|one| one.commit.id.clone());
        let trusted =
            commits.filter(|commit| self.revisions.signatures.doubt_approval(commit).is_none());
        self.attribution.ask_new(&trusted.collect(), purpose);
        let mut found = Approvals::default();
        for one in &said {
            found.unclear.extend(one.unclear.iter().cloned());
            for approval in one.approvals() {
                match self.doubt(&approval.commit, purpose) {
                    None => found.given.push(approval),
                    Some(doubt) => found.doubted.push((approval, doubt)),
                }
            }
        }
        if from.is_some() {
            add_merged(&self.revisions.origin, from, to, &on_line, &mut found);
        }
        Ok(found)
    }

    /// Adds what people approved on a commit, and takes out what a later commit has made void.
    fn add_pressed(&self, from: Option<&str>, to: &str, found: &mut Approvals) {
        let pressed = self.pressed(from, to);
        found
            .given
            .extend(pressed.iter().flat_map(Pressed::approvals));
        if let Some(from) = from {
            doubt_what_is_back(&self.revisions.origin, from, to, found);
        }
    }

    /// The presses that count for `to` after `from` was applied, as trailers do: of the commits that lead to `to` and not to
    /// `from`, or were squashed on the way; without `from` of `to` alone. If `to` is applied already, what was pressed on its
    /// check since counts.
    fn pressed(&self, from: Option<&str>, to: &str) -> Vec<Pressed> {
        let mut presses = self.recorded.record().approvals().to_vec();
        presses.retain(|press| press.how != How::Annotation);
        match from {
            None => presses.retain(|press| press.commit == to),
            Some(from) if from == to => {
                presses.retain(|press| press.is_applied && press.commit == to);
            }
            Some(from) => {
                let (leading, others) = presses
                    .into_iter()
                    .partition(|press| self.leads_from(from, press, to));
                presses = leading;
                presses.extend(self.squashed(from, to, others));
            }
        }
        presses
    }

    /// Those of these presses whose commit was squashed between `from` and `to`, each on the commit that it became. Squashes
    /// come after approvals, but for clocks that differ.
    fn squashed(&self, from: &str, to: &str, presses: Vec<Pressed>) -> Vec<Pressed> {
        let Ok(repository) = self.revisions.origin.repository() else {
            return Vec::new();
        };
        let line = self.revisions.origin.first_parents(Some(from), to, MOST);
        let line = line.unwrap_or_default();
        let mut found = Vec::new();
        let mut compared = 0;
        for press in presses {
            let later = line.iter().filter(|commit| {
                commit
                    .at
                    .saturating_add(CLOCKS)
                    .is_ok_and(|at| at >= press.at)
            });
            for commit in later {
                compared += 1;
                if compared > MOST_COMPARED {
                    return found;
                }
                if repository
                    .is_squash(&commit.id, &press.commit)
                    .unwrap_or(false)
                {
                    found.push(Pressed {
                        commit: commit.id.clone(),
                        ..press
                    });
                    break;
                }
            }
        }
        found
    }

    /// Adds what the annotation on the parent approves of `revision`, and nothing else: not even of what leads there.
    fn add_annotated(&self, revision: &str, found: &mut Approvals) {
        let record = self.recorded.record();
        let annotated = record
            .approvals()
            .iter()
            .filter(|one| one.how == How::Annotation && one.is_applied && one.commit == revision);
        for one in annotated {
            found.given.extend(one.approvals());
            found.unclear.extend(one.unclear());
        }
    }

    /// Why an approval in the message of this commit does not count.
    fn doubt(&self, commit: &str, purpose: Purpose) -> Option<Doubt> {
        if let Some(doubt) = self.revisions.signatures.doubt_approval(commit) {
            return Some(doubt);
        }
        match self.attribution.answer(commit, purpose) {
            Ok(CommitSource::Own | CommitSource::Unlisted) => None,
            Ok(CommitSource::Fork(number)) => Some(Doubt::Fork(number)),
            Err(why) => Some(Doubt::Unattributed(why)),
        }
    }

    /// The lines of this one message that look like an approval and are none.
    fn unclear_in(&self, commit: &str) -> Vec<String> {
        let text = self.revisions.origin.message(commit).unwrap_or_default();
        approvals::unclear(&text, &given_by(&text))
    }

    fn commit(&self, id: &str) -> Result<Commit, Error> {
        self.revisions.origin.repository()?.commit(id)
    }

    /// Whether `commit` is `revision` or leads to it. What cannot be told approves nothing.
    fn leads_to(&self, commit: &str, revision: &str) -> bool {
        let repository = self.revisions.origin.repository();
        let leads = repository.and_then(|it| it.is_ancestor(commit, revision));
        leads.unwrap_or(false)
    }

    /// Whether the commit of a press leads to `to` and not to `from`. What cannot be told approves nothing.
    fn leads_from(&self, from: &str, press: &Pressed, to: &str) -> bool {
        let Ok(repository) = self.revisions.origin.repository() else {
            return false;
        };
        let is_in = |revision| repository.is_ancestor(&press.commit, revision);
        is_in(to).unwrap_or(false) && !is_in(from).unwrap_or(true)
    }
}
