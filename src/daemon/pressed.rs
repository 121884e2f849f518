//! The approve button of a check, from its press to what it approves.
//!
//! In: presses, as the webhook tells of them. Out: an approval in the record, and the work that it was missing for. A
//! press approves only what its check shows now, and only if the forge says that this person may write to the repository.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt as _;

use super::clock::wall_time;
use super::failure::Failure;
use super::press_answer::{Answer, ask};
use super::revision::Stage;
use super::{Daemon, Event};
use crate::api::fleet::Provider;
use crate::model::Check;
use crate::model::Press;
use crate::plan::approvals::Pressed;
use crate::reporting::{plan_context, sync_context};

impl Daemon {
    /// Somebody pressed a button. The forge is asked who that is.
    pub(super) fn pressed(&mut self, press: &Press) {
        let is_own = self.sink.app() == Some(press.app) && self.is_context(&press.context);
        if !is_own || !self.source.has_buttons() {
            return;
        }
        if !self.is_reported(press) {
            return ignored(press);
        }
        let (sink, press) = (Arc::clone(&self.sink), press.clone());
        let shown = self.shown(&press);
        self.jobs.spawn(async move {
            let answer = AssertUnwindSafe(ask(&*sink, &press, shown)).catch_unwind();
            let bug = |panic: Box<dyn std::any::Any + Send>| {
                Answer::Refused(Failure::caught(&*panic).into())
            };
            let answer = answer.await.unwrap_or_else(bug);
            Event::Pressed(Box::new((press, answer)))
        });
    }

    /// Whether checks go to GitHub, the one forge with buttons.
    pub(super) fn is_on_github(&self) -> bool {
        let forge = self.config.forge.as_ref();
        forge.is_some_and(|forge| forge.provider == Provider::GitHub)
    }

    fn is_context(&self, context: &str) -> bool {
        let fleet = &self.config.fleet;
        [plan_context(fleet), sync_context(fleet)].contains(&context.to_owned())
    }

    /// Whether the fleet still reports on the commit of this check.
    fn is_reported(&self, press: &Press) -> bool {
        match press.context == sync_context(&self.config.fleet) {
            true => self.accepted().as_ref() == Some(&press.commit),
            false => self.candidates.commits().any(|it| it == press.commit),
        }
    }

    /// The check as it is now; `None` if this process made none.
    fn shown(&self, press: &Press) -> Option<Check> {
        self.checks.wanted(&press.context, &press.commit).cloned()
    }

    /// It is known what a press comes to.
    pub(super) fn answered(&mut self, press: &Press, answer: Answer) {
        let (login, commit, context) = (&press.login, &press.commit, &press.context);
        let button = match answer {
            Answer::Approved(button) => button,
            Answer::Stale => return ignored(press),
            Answer::Refused(error) => {
                tracing::warn!(login, commit, context, %error, "the button Approve was pressed, and nothing was approved");
                return;
            }
        };
        // The check may have changed meanwhile.
        let is_shown = |check: Check| check.button.is_some_and(|shown| shown.id == button.id);
        if !self.is_reported(press) || !self.shown(press).is_none_or(is_shown) {
            return ignored(press);
        }
        let clusters = button.clusters.join(", ");
        tracing::info!(
            login,
            commit,
            context,
            clusters,
            "the deletion of these clusters was approved with the button of the check"
        );
        let is_sync = *context == sync_context(&self.config.fleet);
        self.source.approve(Pressed {
            commit: commit.clone(),
            clusters: button.clusters.into_iter().collect(),
            login: login.clone(),
            at: wall_time(),
            is_applied: is_sync,
        });
        match is_sync {
            true => self.continue_approved(),
            false => {
                self.candidates.again(commit);
                self.show_waiting();
                self.plan_next();
            }
        }
    }

    /// Removes what waited for an approval.
    fn continue_approved(&mut self) {
        let sync = self.sync.as_ref();
        if sync.is_some_and(|sync| matches!(sync.stage, Stage::Running(_))) {
            self.apply_again();
        }
    }
}

fn ignored(press: &Press) {
    let (login, commit, context) = (&press.login, &press.commit, &press.context);
    tracing::info!(
        login,
        commit,
        context,
        "ignoring a press of the button Approve: the check does not have this button any more; see its newest run"
    );
}
