//! Definitions and removals that wait for a merge, each on a branch of its own with a pull request.
//!
//! In: the name of a branch, and what the forge says of its pull request. Out: the next step, and what the instance waits for. It does not
//! know how branches and pull requests are read or written.

use super::request::is_instance_id;
use crate::model::{OwnPullRequest, PullRequestState};

/// The number of digits that tell the branches of one instance apart.
pub const MARK: usize = 8;

/// The most branches that are followed.
pub const MOST: usize = 1_000;

/// The change that a branch proposes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topic {
    /// A new definition.
    Add,
    /// The removal of a definition.
    Remove,
}

impl Topic {
    const fn word(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Remove => "remove",
        }
    }

    /// The short name of a branch for an instance of this fleet: `capstan/FLEET/add-ID-MARK` or `capstan/FLEET/remove-ID-MARK`. The mark is
    /// [`MARK`] hexadecimal digits, new for each proposal: a forge that hears late of the end of a branch closes the pull requests of its name.
    #[must_use]
    pub fn branch(self, fleet: &str, id: &str, mark: &str) -> String {
        format!("{}{}-{id}-{mark}", beginning(fleet), self.word())
    }

    /// Reads the short name of a branch: the change that it proposes, and the ID of the instance. `None` for other branches than those of this
    /// fleet's provider.
    #[must_use]
    pub fn of<'a>(branch: &'a str, fleet: &str) -> Option<(Self, &'a str)> {
        let (word, rest) = branch.strip_prefix(&beginning(fleet))?.split_once('-')?;
        let topic = [Self::Add, Self::Remove]
            .into_iter()
            .find(|topic| topic.word() == word)?;
        let (id, mark) = rest.rsplit_once('-')?;
        let is_mark = mark.len() == MARK && mark.bytes().all(|byte| byte.is_ascii_hexdigit());
        (is_mark && is_instance_id(id)).then_some((topic, id))
    }
}

/// The beginning of the short names of a fleet's branches.
#[must_use]
pub fn beginning(fleet: &str) -> String {
    format!("capstan/{fleet}/")
}

/// What a proposal waits for. Addresses are those of the pull request's page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Review {
    /// Its pull request is opened next.
    Unopened,
    /// Somebody has to merge it.
    Open(String),
    /// Somebody closed it without a merge.
    Closed(String),
}

/// The next action about a branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A pull request is opened.
    Open,
    /// The instance waits.
    Wait(Review),
    /// The branch is deleted: nobody needs it any longer.
    Finish,
}

/// The next step for a branch, by the pull request that the forge knows. `is_followed` tells whether its merge is part of the followed branch as
/// it was last read: until then the instance waits, or it would be in neither place.
#[must_use]
pub fn step(topic: Topic, found: Option<&OwnPullRequest>, is_followed: bool) -> Step {
    let Some(found) = found else {
        return Step::Open;
    };
    let url = || found.url.clone();
    match &found.state {
        PullRequestState::Merged { .. } if is_followed => Step::Finish,
        PullRequestState::Open | PullRequestState::Merged { .. } => Step::Wait(Review::Open(url())),
        PullRequestState::Closed => match topic {
            Topic::Add => Step::Wait(Review::Closed(url())),
            // The cluster stays as it is.
            Topic::Remove => Step::Finish,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_names_its_fleet_its_change_and_its_instance() {
        for (topic, branch) in [
            (Topic::Add, "capstan/prod/add-dev-1-0a1b2c3d"),
            (Topic::Remove, "capstan/prod/remove-dev-1-0a1b2c3d"),
        ] {
            assert_eq!(topic.branch("prod", "dev-1", "0a1b2c3d"), branch);
            assert_eq!(Topic::of(branch, "prod"), Some((topic, "dev-1")));
            assert_eq!(Topic::of(branch, "test"), None);
        }
        for other in [
            "main",
            "capstan/prod/add",
            "capstan/prod/add-",
            "capstan/prod/add-dev",
            "capstan/prod/add-0a1b2c3d",
            "capstan/prod/add--0a1b2c3d",
            "capstan/prod/add-dev-0a1b2c3",
            "capstan/prod/add-dev-0a1b2c3g",
            "capstan/prod/add-A b-0a1b2c3d",
            "capstan/prod/change-dev-0a1b2c3d",
            "capstan/prod/more/add-dev-0a1b2c3d",
        ] {
            assert_eq!(Topic::of(other, "prod"), None, "{other}");
        }
    }

    #[test]
    fn a_proposal_waits_for_its_merge_to_be_followed() {
        let url = "https://git.example/o/r/pulls/7".to_owned();
        let found = |state| OwnPullRequest {
            number: 7,
            url: url.clone(),
            state,
        };
        let merged = || PullRequestState::Merged {
            commit: "8".repeat(40),
        };
        let open = Step::Wait(Review::Open(url.clone()));
        for topic in [Topic::Add, Topic::Remove] {
            let next = |state, is_followed| step(topic, Some(&found(state)), is_followed);
            assert_eq!(step(topic, None, false), Step::Open);
            assert_eq!(next(PullRequestState::Open, false), open);
            assert_eq!(next(merged(), false), open);
            assert_eq!(next(merged(), true), Step::Finish);
            let expected = match topic {
                Topic::Add => Step::Wait(Review::Closed(url.clone())),
                Topic::Remove => Step::Finish,
            };
            assert_eq!(next(PullRequestState::Closed, false), expected);
        }
    }
}
