//! How long a key waits after a failure.

use std::time::Duration;

use crate::model::ErrorClass;

/// How long to wait after the `failures`th failure in a row: doubling from the first wait up to the
/// longest of the class.
pub(super) fn backoff(class: ErrorClass, failures: u32) -> Duration {
    let (first, longest) = match class {
        ErrorClass::Conflict => (1, 30),
        ErrorClass::Transient => (1, 60),
        ErrorClass::Gone => (2, 60),
        ErrorClass::Denied | ErrorClass::Invalid | ErrorClass::Bug => (30, 300),
    };
    let doubled = 1_u64 << failures.saturating_sub(1).min(16);
    Duration::from_secs((first * doubled).min(longest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_limit() {
        let seconds = |class| [1, 2, 3, 40].map(|failures| backoff(class, failures).as_secs());
        assert_eq!(seconds(ErrorClass::Transient), [1, 2, 4, 60]);
        assert_eq!(seconds(ErrorClass::Invalid), [30, 60, 120, 300]);
    }
}
