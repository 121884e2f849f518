//! What a candidate is compared with, and how its check says so.

use super::base::Base;
use crate::model::markdown::markdown;
use crate::plan::Plan;

/// What a candidate is compared with.
#[derive(Clone, Copy)]
pub(crate) enum Comparison<'a> {
    /// No revision is applied.
    Nothing,
    /// The revision that is applied, with its plan if it can be read.
    Applied(&'a str, Option<&'a Plan>),
    /// The commit that it is merged onto, with its plan if it has no errors.
    Base(&'a Base, Option<&'a Plan>),
}

impl<'a> Comparison<'a> {
    /// The plan of what the candidate is compared with.
    pub(crate) const fn plan(self) -> Option<&'a Plan> {
        match self {
            Self::Nothing => None,
            Self::Applied(_, plan) | Self::Base(_, plan) => plan,
        }
    }

    /// Returns true if there is something to compare with that cannot be read: then losses are not known.
    pub(super) const fn is_blind(self) -> bool {
        matches!(self, Self::Applied(_, None) | Self::Base(_, None))
    }

    /// What it is called, as a paragraph.
    pub(super) fn text(self) -> String {
        let sentence = match self {
            Self::Nothing => "No revision is applied to compare it with.".to_owned(),
            Self::Applied(revision, Some(_)) => {
                format!("Compared with the applied revision {}.", markdown(revision))
            }
            Self::Applied(revision, None) => format!(
                "The applied revision {} cannot be read, so this is compared with an empty fleet.",
                markdown(revision)
            ),
            Self::Base(base, Some(_)) => format!("Compared with {}.", place(base)),
            Self::Base(base, None) => format!(
                "Compared with an empty fleet, since {} has errors.",
                place(base)
            ),
        };
        sentence + "\n\n"
    }
}

/// `the branch main at 0123`
fn place(base: &Base) -> String {
    format!("{} at {}", markdown(&base.name), markdown(&base.commit))
}
