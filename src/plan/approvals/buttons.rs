//! Approvals that are given once: by the button of a check, a comment, or an annotation.

use std::collections::BTreeSet;
use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::approval::{Approval, How, What, short};
use crate::api::labels::APPROVE_ANNOTATION;

/// Somebody approved losses of a commit, and not in its message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Pressed {
    /// The commit of the check, or the revision that was applied.
    pub(crate) commit: String,
    /// What may happen, each as a trailer has it.
    pub(crate) losses: BTreeSet<String>,
    /// Who approved; empty if that is not known.
    pub(crate) login: String,
    #[serde(default)]
    pub(crate) how: How,
    pub(crate) at: Timestamp,
    /// Whether the commit was applied already, and none since.
    #[serde(default)]
    pub(crate) is_applied: bool,
}

impl Pressed {
    /// Returns true if the other approves the same of the same commit.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        (&self.commit, &self.losses, self.how) == (&other.commit, &other.losses, other.how)
    }

    /// The approvals that it gives, one for each loss.
    pub(crate) fn approvals(&self) -> impl Iterator<Item = Approval> {
        let losses = self.losses.iter().filter_map(|loss| What::parse(loss));
        losses.map(|what| Approval {
            what,
            how: self.how,
            who: self.login.clone(),
            at: Some(self.at),
            commit: self.commit.clone(),
        })
    }
}

/// In words for an Event.
impl fmt::Display for Pressed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let losses: Vec<String> = self.approvals().map(|one| one.what.to_string()).collect();
        let (login, losses, commit) = (&self.login, losses.join(", "), short(&self.commit));
        let place = match self.how {
            How::Annotation => {
                return write!(
                    f,
                    "the annotation {APPROVE_ANNOTATION} approved of {commit}: {losses}"
                );
            }
            How::Comment => "in a comment on",
            How::Trailer | How::Button | How::Flag | How::Setting => "with the button on",
        };
        write!(f, "{login} approved {place} {commit}: {losses}")
    }
}
