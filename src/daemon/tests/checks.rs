//! When checks are written.

use super::*;
use crate::model::{AdapterError, ErrorClass};

#[tokio::test(start_paused = true)]
async fn progress_is_written_a_minute_after_the_last_word() {
    let mut case = Case::new();
    for title in ["1/3", "2/3"] {
        case.daemon
            .set_check(case.check(CheckState::Pending, title));
        case.daemon.publish();
        if title == "1/3" {
            assert_eq!(case.handle_next().await, (0, "Published"));
        }
    }
    // Asked again, it sets no second alarm.
    case.daemon.publish();
    assert_eq!(case.handle_next().await, (3000, "Tick"));
    assert_eq!(case.jobs().await, [(0, "Published")]);
}

#[tokio::test(start_paused = true)]
async fn checks_that_could_not_be_written_are_tried_again_after_15_seconds_then_30() {
    let mut case = Case::new();
    for seconds in [15, 30, 60] {
        case.daemon.published(&Err(away().into()));
        case.daemon.publish();
        assert_eq!(case.jobs().await, [(seconds * 1000, "Retry")]);
    }
}

#[tokio::test(start_paused = true)]
async fn the_last_words_are_waited_for_but_not_for_longer_than_5_seconds() {
    for (takes, expected) in [(2, 2), (5000, 5)] {
        let mut case = Case::new();
        case.daemon
            .set_check(case.check(CheckState::Success, "done"));
        case.daemon.publish();
        assert!(case.daemon.checks.is_busy());
        // The push itself is let go of; another stands in for it.
        case.daemon.jobs.detach_all();
        let push = Event::Published(Ok(Vec::new()));
        case.daemon.after(Duration::from_secs(takes), push);
        let start = Instant::now();
        case.daemon.close().await;
        assert_eq!(start.elapsed(), Duration::from_secs(expected));
    }
}

/// The last row of forges.md §11: one question, and one warning.
#[tokio::test(start_paused = true)]
async fn it_is_asked_once_whether_checks_can_be_written() {
    let mut case = Case::new();
    case.daemon.probed = false;
    for _ in 0..2 {
        case.daemon.reachable();
    }
    assert_eq!(case.handle_next().await, (0, "Probed"));
    assert_eq!(case.jobs().await, []);
    // What may pass is no reason to warn.
    case.daemon.probed(&Err(away().into()));
    assert!(!case.daemon.checks.is_failing());
    let denied = AdapterError::new(ErrorClass::Denied, "no right");
    case.daemon.probed(&Err(denied.clone()));
    assert!(case.daemon.checks.is_failing(), "it was said");
    case.daemon.published(&Ok(Vec::new()));
    assert!(!case.daemon.checks.is_failing());
    case.daemon.published(&Err(denied));
    case.daemon.publish();
    assert_eq!(case.jobs().await, [(15_000, "Retry")]);
}
