//! What is written, and when.

use super::*;

const SYNC: &str = "capstan/a/sync";

fn check(revision: &str, state: CheckState) -> Check {
    Check::new(SYNC, revision, state, "")
}

/// So many seconds after the start, on both clocks.
fn at(second: i64) -> Now {
    Now {
        calendar: Timestamp::from_second(second).expect("in range"),
        cluster: Timestamp::from_second(second).expect("in range"),
        wall: Duration::from_secs(second.unsigned_abs()),
    }
}

/// What is written now.
fn written(desk: &mut CheckDesk, second: i64) -> Vec<Check> {
    match desk.next(at(second)) {
        Next::Write(checks) => checks,
        _ => Vec::new(),
    }
}

fn succeed(desk: &mut CheckDesk, second: i64) {
    desk.answered(Ok(&[]), at(second));
}

fn fail(desk: &mut CheckDesk, second: i64) {
    let error = AdapterError::new(ErrorClass::Transient, "it is away");
    desk.answered(Err(&error), at(second));
}

/// A desk that writes this check.
fn writing(check: Check) -> CheckDesk {
    let mut desk = CheckDesk::default();
    desk.set(check);
    assert_eq!(written(&mut desk, 0).len(), 1);
    desk
}

/// How many checks it knows.
fn known(desk: &CheckDesk) -> usize {
    let entries = desk.entries.values();
    entries.filter(|entry| entry.wanted.is_some()).count()
}

#[test]
fn what_failed_to_arrive_is_due_again_after_a_while_and_holds_nobody_up() {
    let mut desk = writing(check("a", CheckState::Pending));
    assert!(desk.has_due("a", at(0)), "it is under way");
    fail(&mut desk, 0);
    assert!(!desk.is_busy() && !desk.has_due("a", at(1)));
    assert_eq!(desk.next(at(1)), Next::Retry(RETRY));
    assert_eq!(desk.next(at(2)), Next::Nothing, "it is asked for once");
    assert_eq!(written(&mut desk, 15).len(), 1);
}

#[test]
fn a_repository_that_takes_nothing_is_tried_less_and_less() {
    let mut desk = CheckDesk::default();
    let mut wait = |succeeds: bool| {
        match succeeds {
            true => succeed(&mut desk, 0),
            false => fail(&mut desk, 0),
        }
        desk.held_until.map_or(0, |until| until.as_secs())
    };
    let waits: Vec<u64> = (0..7).map(|_| wait(false)).collect();
    assert_eq!(waits, [15, 30, 60, 120, 240, 300, 300]);
    desk.held_until = None;
    succeed(&mut desk, 0);
    fail(&mut desk, 0);
    assert_eq!(desk.held_until, Some(RETRY));
}

#[test]
fn of_what_waits_a_few_are_written_at_a_time_and_results_all_at_once() {
    let mut desk = CheckDesk::default();
    for revision in 0..20 {
        let mut waits = check(&format!("w{revision}"), CheckState::Pending);
        waits.detail = Some(CheckDetail::Queued);
        desk.set(waits);
        desk.set(check(&format!("r{revision}"), CheckState::Success));
    }
    let counts = std::array::from_fn(|_| {
        let checks = written(&mut desk, 0);
        succeed(&mut desk, 0);
        checks.len()
    });
    assert_eq!(counts, [20 + MOST_QUEUED, 5, 5, 5, 0]);
}

#[test]
fn the_followed_ref_does_not_wait_for_the_checks_of_candidates() {
    let mut desk = CheckDesk::default();
    let of = |context: &str, revision: &str| Check {
        context: format!("capstan/prod/{context}"),
        ..check(revision, CheckState::Success)
    };
    for revision in 0..MOST_PLANS + 3 {
        desk.set(of("plan", &revision.to_string()));
    }
    let mut round = |meanwhile: Option<Check>| {
        let checks = written(&mut desk, 0);
        if let Some(check) = meanwhile {
            desk.set(check);
        }
        succeed(&mut desk, 0);
        let revisions = checks.into_iter().map(|check| check.revision);
        revisions.collect::<Vec<_>>()
    };
    assert_eq!(round(Some(of("sync", "main"))).len(), MOST_PLANS);
    assert_eq!(round(None), ["main"]);
    assert_eq!(round(None).len(), 3);
    assert_eq!(round(None).len(), 0);
}

#[test]
fn only_what_nobody_can_have_seen_is_taken_back() {
    let mut desk = CheckDesk::default();
    desk.set(check("a", CheckState::Pending));
    assert!(desk.withdraw(SYNC, "a"));
    assert_eq!(known(&desk), 0);
    let mut desk = writing(check("a", CheckState::Pending));
    // Some of a write that failed may have arrived.
    fail(&mut desk, 0);
    desk.renew(SYNC, "a");
    assert!(!desk.withdraw(SYNC, "a"));
    desk.leave(SYNC, "b", String::new());
    assert!(!desk.withdraw(SYNC, "b"));
}

#[test]
fn what_an_earlier_process_left_is_pending_until_this_one_says_something() {
    let mut desk = CheckDesk::default();
    desk.set(check("own", CheckState::Success));
    desk.leave(SYNC, "own", "1/2".to_owned());
    desk.leave(SYNC, "left", "1/2".to_owned());
    desk.leave("capstan/a/plan", "left", String::new());
    desk.set(check("new", CheckState::Pending));
    let pending = |desk: &CheckDesk| {
        let pending = desk.pending(SYNC);
        let pending = pending.map(|(revision, title)| format!("{revision} {title}"));
        pending.collect::<Vec<_>>()
    };
    assert_eq!(pending(&desk), ["left 1/2", "new "]);
    desk.forget(|_| false);
    assert_eq!(pending(&desk), ["left 1/2", "new "], "it is not ended");
    desk.set(check("left", CheckState::Error));
    assert_eq!(pending(&desk), ["new "]);
}

#[test]
fn what_is_forgotten_while_it_is_pending_is_still_known_to_be() {
    let mut desk = writing(check("a", CheckState::Pending));
    succeed(&mut desk, 0);
    desk.forget(|_| false);
    assert_eq!(known(&desk), 0);
    assert!(desk.is_pending(SYNC, "a"));
    desk.set(check("a", CheckState::Error));
    assert_eq!(written(&mut desk, 1).len(), 1);
    succeed(&mut desk, 1);
    desk.forget(|_| false);
    assert!(desk.entries.is_empty());
}

#[test]
fn what_must_wait_is_written_after_that_and_not_once_nobody_needs_it() {
    let later = |seconds: u64| Later {
        context: SYNC.to_owned(),
        revision: "a".to_owned(),
        wait: Duration::from_secs(seconds),
    };
    let mut desk = writing(check("a", CheckState::Pending));
    desk.answered(Ok(&[later(1)]), at(0));
    assert_eq!(desk.next(at(0)), Next::Retry(Duration::from_secs(1)));
    assert!(desk.has_due("a", at(0)), "in a moment");
    assert_eq!(written(&mut desk, 9).len(), 1, "it was not written yet");
    desk.answered(Ok(&[later(60)]), at(9));
    assert!(!desk.has_due("a", at(9)), "nothing waits for it so long");
    desk.set(check("b", CheckState::Success));
    assert_eq!(written(&mut desk, 9).len(), 1, "others do not wait");
    desk.forget(|revision| revision == "a");
    assert!(desk.wanted(SYNC, "a").is_some());
    desk.forget(|_| false);
    assert!(
        !desk
            .entries
            .contains_key(&key(&check("a", CheckState::Pending)))
    );
}

#[test]
fn what_is_written_after_a_wait_is_ended_whatever_becomes_of_it() {
    for succeeds in [true, false] {
        let mut desk = writing(check("a", CheckState::Pending));
        let later = Later {
            context: SYNC.to_owned(),
            revision: "a".to_owned(),
            wait: Duration::from_secs(1),
        };
        desk.answered(Ok(&[later]), at(0));
        assert_eq!(written(&mut desk, 1).len(), 1);
        desk.set(check("a", CheckState::Error));
        desk.forget(|_| false);
        match succeeds {
            true => succeed(&mut desk, 1),
            false => fail(&mut desk, 1),
        }
        assert_eq!(written(&mut desk, 99), [check("a", CheckState::Error)]);
    }
}

#[test]
fn what_arrived_is_not_due_until_it_changes() {
    let mut desk = writing(check("a", CheckState::Pending));
    succeed(&mut desk, 0);
    assert_eq!(desk.next(at(1)), Next::Nothing);
    desk.set(check("a", CheckState::Success));
    assert_eq!(written(&mut desk, 1), [check("a", CheckState::Success)]);
}

#[test]
fn what_somebody_wants_again_during_a_write_is_written_after_it() {
    let mut desk = writing(check("a", CheckState::Success));
    desk.renew(SYNC, "a");
    succeed(&mut desk, 0);
    let again = written(&mut desk, 1);
    assert_eq!((again.len(), again[0].attempt), (1, 1));
    succeed(&mut desk, 1);
    assert_eq!(desk.next(at(2)), Next::Nothing, "once");
    desk.set(check("a", CheckState::Success));
    assert_eq!(desk.next(at(2)), Next::Nothing, "it is the same");
}

/// Else a revision that is taken up again would wait for a push that never comes.
#[test]
fn nothing_is_owed_when_the_same_was_written_or_its_time_has_not_come() {
    let mut desk = writing(check("a", CheckState::Pending));
    succeed(&mut desk, 0);
    desk.set(check("a", CheckState::Pending));
    assert!(!desk.has_due("a", at(1)), "it was written");
    let mut more = check("a", CheckState::Pending);
    more.title = "1/2".to_owned();
    desk.set(more);
    assert!(!desk.has_due("a", at(1)), "it waits for its minute");
    assert_eq!(desk.next(at(1)), Next::Refresh(at(60).cluster));
    assert_eq!(desk.next(at(2)), Next::Nothing, "it is asked for once");
    assert!(desk.has_due("a", at(61)));
    assert!(!desk.has_due("b", at(61)));
}

#[test]
fn old_revisions_are_forgotten_once_they_were_told() {
    let mut desk = CheckDesk::default();
    desk.set(check("old", CheckState::Success));
    desk.forget(|_| false);
    assert_eq!(known(&desk), 1, "it was not written yet");
    written(&mut desk, 0);
    succeed(&mut desk, 0);
    desk.forget(|revision| revision != "old");
    assert!(desk.entries.is_empty());
}

#[test]
fn the_end_of_what_is_pending_over_there_is_never_forgotten() {
    let mut desk = writing(check("old", CheckState::Pending));
    succeed(&mut desk, 0);
    desk.set(check("old", CheckState::Error));
    for revision in 0..=MOST_UNWRITTEN {
        desk.set(check(&revision.to_string(), CheckState::Failure));
    }
    for _ in 0..2 {
        desk.forget(|_| false);
        assert_eq!(desk.due(at(1)).0, [check("old", CheckState::Error)]);
    }
}

#[test]
fn a_repository_that_takes_nothing_does_not_fill_the_memory() {
    let mut desk = CheckDesk::default();
    for revision in 0..=MOST_UNWRITTEN {
        desk.set(check(&revision.to_string(), CheckState::Failure));
    }
    desk.forget(|revision| revision == "7");
    assert_eq!(desk.entries.len(), 1);
}
