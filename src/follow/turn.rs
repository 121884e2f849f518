//! What every part of a follower uses beside its own state: the settings, the time, the checks, and where commands go.

use super::command::{Command, Wait};
use super::event::TimeEvent;
use super::settings::Settings;
use super::view::ViewChange;
use crate::model::Check;
use crate::reporting::{CheckDesk, Now, plan_context, sync_context};

/// See the module.
pub(crate) struct Turn {
    pub(crate) settings: Settings,
    pub(crate) checks: CheckDesk,
    /// The time of the event that is being handled.
    pub(crate) now: Now,
    commands: Vec<Command>,
}

impl Turn {
    pub(crate) fn new(settings: Settings, now: Now) -> Self {
        Self {
            settings,
            checks: CheckDesk::default(),
            now,
            commands: Vec::new(),
        }
    }

    pub(crate) fn push(&mut self, command: Command) {
        self.commands.push(command);
    }

    /// Takes the commands since the last call, in order.
    pub(crate) fn take_commands(&mut self) -> Vec<Command> {
        std::mem::take(&mut self.commands)
    }

    /// Asks for an event after this time.
    pub(crate) fn wake(&mut self, wait: Wait, event: TimeEvent) {
        self.push(Command::Wake(wait, event));
    }

    /// Sets a check and shows it.
    pub(crate) fn set_check(&mut self, check: Check) {
        let (context, revision) = (check.context.clone(), check.revision.clone());
        self.checks.set(check);
        if let Some(check) = self.checks.wanted(&context, &revision) {
            let change = ViewChange::Check(Box::new(check.clone()));
            self.push(Command::Show(change));
        }
    }

    /// The name of checks of candidates.
    pub(crate) fn plan_context(&self) -> String {
        plan_context(&self.settings.fleet)
    }

    /// The name of checks of the followed ref.
    pub(crate) fn sync_context(&self) -> String {
        sync_context(&self.settings.fleet)
    }
}
