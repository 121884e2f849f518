//! Problems of requests that need the repository or the forge, when those fail.
//!
//! In: an error, and whose it is. Out: a problem. The words of the error are for the log.

use std::time::Duration;

use tokio::time::Instant;

use crate::daemon::provider::pace::at;
use crate::model::{AdapterError, ErrorClass};
use crate::provider::problem::Problem;

/// The repository of the fleet.
pub(super) const REPOSITORY: &str = "the config repository";

/// The longest wait for the forge. Other requests wait for their turn meanwhile.
const PATIENCE: Duration = Duration::from_secs(8);

/// Waits for an answer of the forge, which may be slow.
pub(super) async fn of_forge<T>(
    answer: impl Future<Output = Result<T, AdapterError>>,
) -> Result<T, Problem> {
    let answer = tokio::select! {
        biased;
        answer = answer => answer,
        () = at(Some(Instant::now() + PATIENCE)) => {
            let message = "no answer in time".to_owned();
            Err(AdapterError::new(ErrorClass::Transient, message))
        }
    };
    answer.map_err(|error| {
        tracing::warn!(%error, "the service provider cannot use a pull request");
        fault("the forge", &error)
    })
}

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
            let problem = fault("the forge", &error);
            assert_eq!((problem.status(), &*problem.detail), (status, detail));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_for_the_forge_for_more_than_8_seconds() {
        let begun = Instant::now();
        let answer = of_forge(std::future::pending::<Result<(), _>>()).await;
        let status = answer.map_err(|problem| problem.status());
        assert_eq!((status, begun.elapsed().as_secs()), (Err(503), 8));
        assert_eq!(of_forge(async { Ok(7) }).await.ok(), Some(7));
    }
}
