//! The answer to a pressed approval button.
//!
//! In: the press, the check, and the forge that shows it. Out: what it approves, or why nothing. It does not know what an
//! approval leads to.

use crate::api::fleet::ApprovalRules;
use crate::daemon::ForgePorts;
use crate::follow::PressAnswer;
use crate::model::{AdapterError, Check, ErrorClass, Press};

/// Asks what a press approves. Without the check, the forge is asked for what it shows.
pub(super) async fn ask(
    forge: &ForgePorts,
    rules: &ApprovalRules,
    press: &Press,
    check: Option<Check>,
) -> PressAnswer {
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
    let mut answer = buttons.may_approve(&press.login).await;
    if answer.is_ok() {
        answer = may_approve(forge, rules, press).await;
    }
    match answer {
        Ok(()) => PressAnswer::Approved(button),
        Err(error) => PressAnswer::Refused(error),
    }
}

/// Asks whether the fleet lets this person approve, as its rules for comments say.
async fn may_approve(
    forge: &ForgePorts,
    rules: &ApprovalRules,
    press: &Press,
) -> Result<(), AdapterError> {
    let refused = |why: String| Err(AdapterError::new(ErrorClass::Denied, why));
    let login = &press.login;
    let is_login = |name: &String| name.eq_ignore_ascii_case(login);
    if let Some(approvers) = &rules.approvers
        && !approvers.iter().any(is_login)
    {
        return refused(format!(
            "{login} is not in spec.approvals.approvers of the Fleet; ask one of those to approve"
        ));
    }
    if !rules.not_author {
        return Ok(());
    }
    let Some(comments) = &forge.comments else {
        return refused("nobody can tell who wrote the pull request".to_owned());
    };
    for number in comments.pull_requests(&press.commit).await? {
        if comments.authors(number).await?.iter().any(is_login) {
            return refused(format!(
                "{login} opened pull request {number} or wrote one of its commits, and spec.approvals.notAuthor of the Fleet asks for somebody else; ask another person to approve"
            ));
        }
    }
    Ok(())
}
