//! How long to wait before a failed request is tried again, and when waiting is reported as in vain.
//!
//! In: the class of the error, and how often the request failed in a row. Out: a [`Backoff`]. No
//! other code retries: a request that failed frees its slot for others. It does not know what is retried.

use std::time::Duration;

use crate::model::ErrorClass;

/// How to go on after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Backoff {
    /// How long to wait.
    pub(crate) wait: Duration,
    /// Whether retrying is probably in vain until a person acts.
    pub(crate) in_vain: bool,
}

/// How to go on after the `failures`th failure in a row. `asked` is the wait that the server asked for.
/// A failure that may pass by itself is retried soon; one that a person must fix, rarely. A namespace, a definition
/// or another writer may be gone the next moment, so they count as in vain only from the third time on.
pub(crate) fn backoff(class: ErrorClass, failures: u32, asked: Option<Duration>) -> Backoff {
    let (base, limit, patience) = match class {
        ErrorClass::Transient => (1, 60, u32::MAX),
        ErrorClass::Gone => (1, 60, 3),
        ErrorClass::Conflict => (1, 300, 3),
        ErrorClass::Denied | ErrorClass::Invalid | ErrorClass::Bug => (15, 300, 1),
    };
    let doubled = 1_u64 << failures.saturating_sub(1).min(9);
    let wait = Duration::from_secs((base * doubled).min(limit));
    Backoff {
        wait: wait.max(asked.unwrap_or_default()),
        in_vain: failures >= patience,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(class: ErrorClass) -> Vec<u64> {
        (1..=11)
            .map(|failures| backoff(class, failures, None).wait.as_secs())
            .collect()
    }

    #[test]
    fn waits_double_up_to_a_limit() {
        let soon = [1, 2, 4, 8, 16, 32, 60, 60, 60, 60, 60];
        assert_eq!(waits(ErrorClass::Transient), soon);
        assert_eq!(waits(ErrorClass::Gone), soon);
        assert_eq!(waits(ErrorClass::Invalid)[..6], [15, 30, 60, 120, 240, 300]);
        assert_eq!(
            backoff(ErrorClass::Conflict, u32::MAX, None).wait.as_secs(),
            300
        );
    }

    #[test]
    fn the_server_may_ask_for_longer_but_not_for_less() {
        let asked = |seconds| Some(Duration::from_secs(seconds));
        let wait = |asked| backoff(ErrorClass::Transient, 3, asked).wait.as_secs();
        assert_eq!((wait(asked(30)), wait(asked(1))), (30, 4));
    }

    #[test]
    fn trouble_that_may_pass_is_never_called_in_vain() {
        assert!(!backoff(ErrorClass::Transient, 1000, None).in_vain);
        let gone = |failures| backoff(ErrorClass::Gone, failures, None).in_vain;
        assert_eq!((gone(2), gone(3)), (false, true));
        assert!(backoff(ErrorClass::Invalid, 1, None).in_vain);
    }
}
