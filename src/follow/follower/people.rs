//! What people ask: to look at the repository now, to make a check again, to approve with a button, a comment or an annotation, to
//! suspend or resume.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;

use super::Follower;
use crate::apply::Steering;
use crate::follow::command::{Command, Record, Wait};
use crate::follow::comments::{CommentAnswer, CommentQuestion};
use crate::follow::event::{PressAnswer, TimeEvent};
use crate::model::{Hint, Press, Rerun};
use crate::plan::approvals::{How, Pressed, annotated};

/// How long an annotation that could not be taken off the parent waits before that is tried again.
const RETRY: Duration = Duration::from_secs(15);

impl Follower {
    pub(super) fn steered(&mut self, steering: Steering) {
        self.annotation
            .seen(steering.approve.clone(), &steering.applying);
        if self.releases.steered(steering, &mut self.turn) {
            tracing::info!("looking for commits now: somebody asked to");
            self.look_now();
        }
    }

    /// Has the annotation that approves losses taken off the parent, once something is applied.
    pub(super) fn take_annotation(&mut self) {
        if self.releases.accepted().is_some()
            && let Some(text) = self.annotation.begin()
        {
            self.turn.push(Command::TakeAnnotation(text));
        }
    }

    /// Takes in how that ended. What the annotation approves counts for what is applied now.
    pub(super) fn annotation_taken(&mut self, text: &str, answer: Result<bool, String>) {
        let is_taken = match answer {
            Ok(is_taken) => is_taken,
            Err(error) => {
                if self.annotation.failed() {
                    tracing::warn!(%error, "the annotation capstan.dev/approve approves nothing yet: it cannot be taken off the ConfigMap of the fleet. Let the daemon get and patch it; it is tried again");
                }
                return self.turn.wake(Wait::Wall(RETRY), TimeEvent::TakeAnnotation);
            }
        };
        let seen = self.annotation.ended(text).filter(|_| is_taken);
        let revision = self.releases.accepted();
        let revision = revision.filter(|revision| seen.as_deref() == Some(revision));
        let Some(revision) = revision.map(str::to_owned) else {
            tracing::info!(
                text,
                "the annotation capstan.dev/approve is gone from the ConfigMap of the fleet, and approves nothing more; if losses still wait, set it again"
            );
            return;
        };
        let at = self.turn.now.calendar;
        self.approved(annotated(text, &revision, at));
    }

    pub(super) fn webhook_received(&mut self, hint: &Hint) {
        if self.polling.hint() {
            let seconds = self.polling.wait().as_secs();
            tracing::info!(
                seconds,
                "webhooks arrive: the repository is polled less often"
            );
        }
        self.look_now();
        for rerun in &hint.reruns {
            self.rerun(rerun);
        }
        for press in &hint.presses {
            self.pressed(press);
        }
    }

    /// Somebody wants checks of a commit again. They are made anew where the fleet still reports on it.
    fn rerun(&mut self, rerun: &Rerun) {
        let is_wanted = |context: &str| rerun.context.as_deref().is_none_or(|name| name == context);
        let (plan, sync) = (self.turn.plan_context(), self.turn.sync_context());
        if is_wanted(&plan) {
            for commit in self.plans.matching(&rerun.head) {
                if self.renew(&commit, &plan) {
                    self.plans.again(&commit);
                }
            }
            self.show_waiting();
            self.plan_next();
        }
        if !is_wanted(&sync) {
            return;
        }
        let followed = [self.heads.newest(), self.releases.accepted()];
        let followed: BTreeSet<String> =
            followed.into_iter().flatten().map(str::to_owned).collect();
        for commit in followed {
            if rerun.head.is(&commit, None) && self.renew(&commit, &sync) {
                self.reexamine(&commit);
                self.releases.retry_failed(&mut self.turn);
            }
        }
    }

    /// Makes the next write of a check a new one; `false` if it was made again a moment ago.
    fn renew(&mut self, commit: &str, context: &str) -> bool {
        if !self.reruns.admit(context, commit, self.turn.now.cluster) {
            tracing::debug!(
                revision = commit,
                context,
                "this check was made again within the last minute"
            );
            return false;
        }
        tracing::info!(
            revision = commit,
            context,
            "somebody wants this check again"
        );
        self.turn.checks.renew(context, commit);
        true
    }

    /// Somebody pressed a button. The forge is asked who that is.
    fn pressed(&mut self, press: &Press) {
        let contexts = [self.turn.plan_context(), self.turn.sync_context()];
        if !contexts.contains(&press.context) || !self.turn.settings.ways.button {
            return;
        }
        if !self.is_reported(&press.context, &press.commit) {
            return ignored(press);
        }
        let (press, check) = (
            press.clone(),
            self.turn.checks.wanted(&press.context, &press.commit),
        );
        let check = check.cloned();
        self.turn.push(Command::AskPress(Box::new((press, check))));
    }

    /// Returns true if the fleet still reports on the commit of this check.
    fn is_reported(&self, context: &str, commit: &str) -> bool {
        if context == self.turn.sync_context() {
            self.releases.accepted() == Some(commit)
        } else {
            self.plans.commits().any(|known| known == commit)
        }
    }

    /// Takes in the answer to a press. What counts is the check as it is now: it may have changed meanwhile.
    pub(super) fn press_answered(&mut self, press: &Press, answer: PressAnswer) {
        let Press {
            login,
            commit,
            context,
            ..
        } = press;
        let button = match answer {
            PressAnswer::Approved(button) => button,
            PressAnswer::Stale => return ignored(press),
            PressAnswer::Refused(error) => {
                tracing::warn!(login, revision = commit, context, %error, "the button Approve was pressed, and nothing was approved");
                return;
            }
        };
        let shown = self.turn.checks.wanted(context, commit);
        let is_shown = shown.is_none_or(|check| {
            let shown = check.button.as_ref();
            shown.is_some_and(|shown| shown.id == button.id)
        });
        if !self.is_reported(&press.context, &press.commit) || !is_shown {
            return ignored(press);
        }
        self.approved(Pressed {
            commit: commit.clone(),
            losses: button.losses.into_iter().collect(),
            login: login.clone(),
            how: How::Button,
            at: self.turn.now.calendar,
            is_applied: *context == self.turn.sync_context(),
        });
    }

    /// Somebody approved what a check asks for.
    fn approved(&mut self, approval: Pressed) {
        let Pressed {
            commit,
            login,
            how,
            is_applied,
            ..
        } = &approval;
        let (is_applied, commit) = (*is_applied, commit.clone());
        let losses = approval.approvals().map(|one| one.what.to_string());
        let losses: BTreeSet<String> = losses.collect();
        let losses: Vec<String> = losses.into_iter().collect();
        tracing::info!(
            revision = commit,
            login,
            how = how.word(),
            losses = losses.join(", "),
            "these losses of the commit were approved"
        );
        self.turn.push(Command::Record(Record::Approval(approval)));
        if is_applied {
            self.releases.go_on_approved(&mut self.turn);
        } else {
            self.plan_again(&commit);
        }
    }

    fn plan_again(&mut self, commit: &str) {
        self.plans.again(commit);
        self.show_waiting();
        self.plan_next();
    }

    /// Reads the comments on the pull requests of checks that ask for approvals.
    pub(super) fn read_comments(&mut self) {
        if !self.turn.settings.ways.comment {
            return;
        }
        let sync = self.turn.sync_context();
        let asking = self.turn.checks.asking();
        let asking = asking.map(|(check, since)| CommentQuestion {
            context: check.context.clone(),
            commit: check.revision.clone(),
            pull_requests: check.pull_requests().collect(),
            asked: check.asked.clone(),
            since,
            is_followed: check.context == sync,
        });
        let asking = asking.filter(|one| self.is_reported(&one.context, &one.commit));
        let asking = self.comments.begin(asking.collect());
        if !asking.is_empty() {
            self.turn.push(Command::ReadComments(asking));
        }
    }

    /// Takes in what comments say. What counts is the check as it is now: it may have changed meanwhile.
    pub(super) fn comments_read(&mut self, answers: Vec<CommentAnswer>) {
        self.comments.end();
        for answer in answers {
            let CommentQuestion {
                context, commit, ..
            } = &answer.question;
            let shown = self.turn.checks.wanted(context, commit);
            let asked = shown.map(|check| check.asked.clone()).unwrap_or_default();
            if self.is_reported(context, commit) {
                self.comment_read(answer, &asked);
            }
        }
    }

    fn comment_read(&mut self, answer: CommentAnswer, asked: &[String]) {
        let question = answer.question;
        let mut by_comment: BTreeMap<(String, Option<Timestamp>), BTreeSet<String>> =
            BTreeMap::new();
        for approval in answer.given {
            let what = approval.what.to_string();
            if asked.contains(&what) {
                let key = (approval.who, approval.at);
                by_comment.entry(key).or_default().insert(what);
            }
        }
        if question.is_followed {
            let number = answer.pull_requests.first().copied();
            self.releases
                .set_comments(&question.commit, answer.rest, number, &mut self.turn);
        } else if self.comments.rest(&question.context, &question.commit) != answer.rest {
            // Anybody can comment: who makes mistakes is told of them once a minute.
            let (context, commit) = (&question.context, &question.commit);
            let is_given = !by_comment.is_empty();
            if is_given || self.reruns.admit(context, commit, self.turn.now.cluster) {
                self.comments.set_rest(&question, answer.rest);
                self.plan_again(&question.commit);
            }
        }
        for ((login, at), losses) in by_comment {
            self.approved(Pressed {
                commit: question.commit.clone(),
                losses,
                login,
                how: How::Comment,
                at: at.unwrap_or(self.turn.now.calendar),
                is_applied: question.is_followed,
            });
        }
    }
}

fn ignored(press: &Press) {
    let Press {
        login,
        commit,
        context,
        ..
    } = press;
    tracing::info!(
        login,
        revision = commit,
        context,
        "ignoring a press of the button Approve: the check does not have this button any more; see its newest run"
    );
}
