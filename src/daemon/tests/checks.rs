//! When checks are written.

use super::forge::Forge;
use super::*;
use crate::follow::ForgeQuestions;
use crate::model::{AdapterError, ErrorClass};

#[tokio::test(start_paused = true)]
async fn progress_is_written_a_minute_after_the_last_word() {
    let mut case = Case::new();
    for title in ["1/3", "2/3"] {
        case.set_check(case.check(CheckState::Pending, title));
        case.conclude();
        if title == "1/3" {
            assert_eq!(case.handle_next().await, (0, "Published"));
        }
    }
    // Asked again, it sets no second alarm.
    case.conclude();
    assert_eq!(case.handle_next().await, (3000, "Tick"));
    assert_eq!(case.jobs().await, [(0, "Published")]);
}

#[tokio::test(start_paused = true)]
async fn checks_that_could_not_be_written_are_tried_again_after_15_seconds_then_30() {
    let mut case = Case::new();
    for seconds in [15, 30, 60] {
        let failed = ChecksEvent::Published(Err(away().into()));
        case.only(Event::Checks(failed));
        case.conclude();
        assert_eq!(case.jobs().await, [(seconds * 1000, "Retry")]);
    }
}

#[tokio::test(start_paused = true)]
async fn the_last_words_are_waited_for_but_not_for_longer_than_5_seconds() {
    for (takes, expected) in [(2, 2), (5000, 5)] {
        let mut case = Case::new();
        case.set_check(case.check(CheckState::Success, "done"));
        case.conclude();
        assert!(case.parts().turn.checks.is_busy());
        // The push itself is let go of; another stands in for it.
        case.daemon.jobs.detach_all();
        case.daemon.jobs.spawn(async move {
            tokio::time::sleep(Duration::from_secs(takes)).await;
            Event::Checks(ChecksEvent::Published(Ok(Vec::new())))
        });
        let start = Instant::now();
        case.daemon.close().await;
        assert_eq!(start.elapsed(), Duration::from_secs(expected));
    }
}

/// The last row of forges.md §11: one question, and one warning.
#[tokio::test(start_paused = true)]
async fn it_is_asked_once_whether_checks_can_be_written() {
    let mut case = Case::new();
    *case.parts().forge = ForgeQuestions::default();
    for _ in 0..2 {
        let remote = RemoteRefs {
            refs: None,
            head: case.commit.clone(),
            signed_anew: false,
        };
        case.parts().heads.set_examined(&remote.head);
        case.fetched(Ok(remote));
    }
    assert_eq!(case.handle_next().await, (0, "Probed"));
    let others = case.jobs().await;
    assert!(others.iter().all(|(_, name)| *name == "Poll"), "{others:?}");
    let probed = |case: &mut Case, error| {
        case.only(Event::Checks(ChecksEvent::Probed(Err(error))));
        case.parts().turn.checks.is_failing()
    };
    // What may pass is no reason to warn.
    assert!(!probed(&mut case, away().into()));
    let denied = AdapterError::new(ErrorClass::Denied, "no right");
    assert!(probed(&mut case, denied.clone()), "the warning is logged");
    case.only(Event::Checks(ChecksEvent::Published(Ok(Vec::new()))));
    assert!(!case.parts().turn.checks.is_failing());
    case.only(Event::Checks(ChecksEvent::Published(Err(denied))));
    case.conclude();
    assert_eq!(case.jobs().await, [(15_000, "Retry")]);
}

#[tokio::test]
async fn what_the_limit_of_the_forge_leaves_is_a_metric() {
    let forge = Arc::<Forge>::default().ports();
    let remaining = forge.remaining.clone();
    let case = Case::on_forge(forge);
    remaining.set(42);
    let text = case.daemon.metrics.text();
    assert!(text.contains("capstan_forge_rate_remaining 42\n"), "{text}");
}
