//! The answer to a pressed approval button.
//!
//! In: the press, the check, and the sink that wrote it. Out: what it approves, or why nothing. It does not know what an
//! approval leads to.

use crate::follow::PressAnswer;
use crate::model::{Check, CheckSink, Press};

/// Asks what a press approves. Without the check, the sink is asked for what it wrote.
pub(super) async fn ask(sink: &dyn CheckSink, press: &Press, check: Option<Check>) -> PressAnswer {
    let check = match check {
        Some(check) => Some(check),
        None => {
            let revisions = [press.commit.clone()];
            match sink.read(&revisions, &press.context).await {
                Ok(mut written) => written.pop(),
                Err(error) => return PressAnswer::Refused(error),
            }
        }
    };
    let button = check.and_then(|check| check.button);
    let Some(button) = button.filter(|button| button.id == press.button) else {
        return PressAnswer::Stale;
    };
    match sink.may_approve(&press.login).await {
        Ok(()) => PressAnswer::Approved(button),
        Err(error) => PressAnswer::Refused(error),
    }
}
