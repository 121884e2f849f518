//! What a client is told when something does not work that its request needs.
//!
//! In: an error, and whose it is. Out: a problem. The words of the error are for the log.

use crate::model::{AdapterError, ErrorClass};
use crate::provider::problem::Problem;

/// The repository of the fleet.
pub(super) const REPOSITORY: &str = "the config repository";
/// The forge with its pull requests.
pub(super) const FORGE: &str = "the forge";

/// The problem of a request that needs `whose` answer. Where time alone does not help, it says who can.
pub(super) fn fault(whose: &str, error: &AdapterError) -> Problem {
    match error.class() {
        ErrorClass::Transient | ErrorClass::Conflict => {
            Problem::later(format!("{whose} does not answer: try again later"), 10)
        }
        ErrorClass::Denied | ErrorClass::Invalid | ErrorClass::Gone => Problem::later(
            format!("{whose} refuses this provider: its operator finds the reason in its log"),
            60,
        ),
        ErrorClass::Bug => Problem::internal(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_passes_is_to_be_tried_again_soon() {
        for (class, status, detail) in [
            (
                ErrorClass::Transient,
                503,
                "the forge does not answer: try again later",
            ),
            (
                ErrorClass::Denied,
                503,
                "the forge refuses this provider: its operator finds the reason in its log",
            ),
            (ErrorClass::Bug, 500, "an internal error occurred"),
        ] {
            let error = AdapterError::new(class, "token of x: 403".to_owned());
            let problem = fault(FORGE, &error);
            assert_eq!((problem.status(), &*problem.detail), (status, detail));
        }
    }
}
