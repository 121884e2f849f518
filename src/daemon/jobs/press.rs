//! The answer to a pressed approval button.
//!
//! In: the press, the check, and the forge that shows it. Out: what it approves, or why nothing. It does not know what an
//! approval leads to.

use crate::daemon::ForgePorts;
use crate::follow::PressAnswer;
use crate::model::{Check, Press};

/// Asks what a press approves. Without the check, the forge is asked for what it shows.
pub(super) async fn ask(forge: &ForgePorts, press: &Press, check: Option<Check>) -> PressAnswer {
    let Some(buttons) = &forge.buttons else {
        return PressAnswer::Stale;
    };
    let check = match check {
        Some(check) => Some(check),
        None => {
            let revisions = [press.commit.clone()];
            match forge.checks.read(&revisions, &press.context).await {
                Ok(mut written) => written.pop(),
                Err(error) => return PressAnswer::Refused(error),
            }
        }
    };
    let button = check.and_then(|check| check.button);
    let Some(button) = button.filter(|button| button.id == press.button) else {
        return PressAnswer::Stale;
    };
    match buttons.may_approve(&press.login).await {
        Ok(()) => PressAnswer::Approved(button),
        Err(error) => PressAnswer::Refused(error),
    }
}
