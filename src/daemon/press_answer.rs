//! What the press of a button comes to.
//!
//! In: the press, the check, and the sink that wrote it. Out: what it approves, or why nothing. It does not know what an
//! approval leads to.

use crate::model::Press;
use crate::model::{AdapterError, Button, Check, CheckSink};

/// What a press comes to.
pub(super) enum Answer {
    /// This person may approve what the button is for.
    Approved(Button),
    /// The check has no such button, or not any more.
    Stale,
    /// This person may not, or nobody can tell.
    Refused(AdapterError),
}

/// What this press comes to. `shown` is the check; without it, the sink is asked for what it wrote.
pub(super) async fn ask(sink: &dyn CheckSink, press: &Press, shown: Option<Check>) -> Answer {
    let check = match shown {
        Some(check) => Some(check),
        None => {
            let revisions = [press.commit.clone()];
            match sink.read(&revisions, &press.context).await {
                Ok(mut written) => written.pop(),
                Err(error) => return Answer::Refused(error),
            }
        }
    };
    let button = check.and_then(|check| check.button);
    let Some(button) = button.filter(|button| button.id == press.button) else {
        return Answer::Stale;
    };
    match sink.may_approve(&press.login).await {
        Ok(()) => Answer::Approved(button),
        Err(error) => Answer::Refused(error),
    }
}
