//! What people ask: to look at the repository now, to make a check again, to approve with a button, to suspend or resume.

use std::collections::BTreeSet;

use super::Follower;
use crate::apply::Steering;
use crate::follow::command::{Command, Record};
use crate::follow::event::PressAnswer;
use crate::model::{Hint, Press, Rerun};

impl Follower {
    pub(super) fn steered(&mut self, steering: Steering) {
        if self.releases.steered(steering, &mut self.turn) {
            tracing::info!("looking for commits now: somebody asked to");
            self.look_now();
        }
    }

    pub(super) fn webhook_received(&mut self, hint: &Hint) {
        if self.polling.hint() {
            let every = self.polling.wait();
            tracing::info!(
                ?every,
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
                commit,
                context,
                "this check was made again within the last minute"
            );
            return false;
        }
        tracing::info!(commit, context, "somebody wants this check again");
        self.turn.checks.renew(context, commit);
        true
    }

    /// Somebody pressed a button. The forge is asked who that is.
    fn pressed(&mut self, press: &Press) {
        let contexts = [self.turn.plan_context(), self.turn.sync_context()];
        if !contexts.contains(&press.context) || !self.turn.settings.has_buttons {
            return;
        }
        if !self.is_reported(press) {
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
    fn is_reported(&self, press: &Press) -> bool {
        if press.context == self.turn.sync_context() {
            self.releases.accepted() == Some(&press.commit)
        } else {
            self.plans.commits().any(|commit| commit == press.commit)
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
                tracing::warn!(login, commit, context, %error, "the button Approve was pressed, and nothing was approved");
                return;
            }
        };
        let shown = self.turn.checks.wanted(context, commit);
        let is_shown = shown.is_none_or(|check| {
            let shown = check.button.as_ref();
            shown.is_some_and(|shown| shown.id == button.id)
        });
        if !self.is_reported(press) || !is_shown {
            return ignored(press);
        }
        let losses = button.losses.join(", ");
        tracing::info!(
            login,
            commit,
            context,
            losses,
            "these losses were approved with the button of the check"
        );
        let is_sync = *context == self.turn.sync_context();
        self.turn.push(Command::Record(Record::Approval {
            press: press.clone(),
            losses: button.losses,
            is_applied: is_sync,
        }));
        if is_sync {
            self.releases.go_on_approved(&mut self.turn);
        } else {
            self.plans.again(commit);
            self.show_waiting();
            self.plan_next();
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
        commit,
        context,
        "ignoring a press of the button Approve: the check does not have this button any more; see its newest run"
    );
}
