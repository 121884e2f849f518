//! The record for the next process.

use super::*;

/// A publisher that was told of a change, whose record is written by hand.
fn by_hand() -> Rig {
    let mut rig = Rig::with(&[seen("a", Ready)], &[("a", Some(Ready))]);
    rig.is_writing_by_hand = true;
    rig.see("a", Failed, 0);
    rig
}

#[test]
fn a_message_waits_until_the_record_says_that_it_may_be_told() {
    let mut rig = by_hand();
    assert_eq!(rig.writes, 1, "during the debounce");
    rig.wake(5_000);
    assert_eq!((rig.sent.len(), rig.writes), (0, 1));
    rig.on(Event::RecordWritten, 5_000);
    assert_eq!(rig.states(5_000), [Failed]);
}

#[test]
fn the_record_is_unknown_before_a_message_and_the_state_after_it() {
    let mut rig = Rig::with(&[seen("a", Ready)], &[("a", Some(Ready))]);
    rig.see("a", Failed, 0);
    assert_eq!(rig.kept, record(&[("a", None)]));
    rig.wake(1_000);
    assert_eq!(rig.kept, record(&[("a", None)]));
    assert_eq!(rig.states(1_000), [Failed]);
    rig.wake(2_000);
    assert_eq!(rig.kept, record(&[("a", Some(Failed))]));
    rig.wake(99_000);
    assert_eq!(rig.writes, 2);
}

#[test]
fn a_record_that_is_being_written_with_a_state_does_not_cover_the_next_message() {
    let mut rig = by_hand();
    rig.on(Event::RecordWritten, 0);
    rig.wake(1_000);
    let number = rig.sent.pop().unwrap().number;
    rig.on(Event::Delivered(number), 1_000);
    assert_eq!(rig.writes, 2);
    // The write under way says what was told, and the next message is due before that is done.
    rig.see("a", Ready, 1_500);
    rig.wake(3_000);
    assert_eq!((rig.sent.len(), rig.writes), (0, 2));
    rig.on(Event::RecordWritten, 3_000);
    rig.wake(3_250);
    assert_eq!((rig.sent.len(), rig.writes), (0, 3));
    rig.on(Event::RecordWritten, 3_300);
    assert_eq!(rig.sent.len(), 1);
}

#[test]
fn messages_go_without_a_record_once_none_could_be_written_for_ten_seconds() {
    // The write fails, or takes too long.
    for is_failing in [true, false] {
        let mut rig = by_hand();
        if is_failing {
            rig.on(Event::RecordFailed, 100);
        }
        rig.wake(9_999);
        assert_eq!(rig.sent, []);
        assert_eq!(rig.states(10_000), [Failed]);
        rig.see("a", Ready, 20_000);
        assert_eq!(rig.states(21_000), [Ready]);
        // One that is written counts anew.
        rig.on(Event::RecordWritten, 30_000);
        rig.wake(31_000);
        rig.see("a", Failed, 31_000);
        rig.wake(40_000);
        assert_eq!(rig.sent, []);
    }
}

#[test]
fn a_failed_write_is_tried_again_less_and_less_with_what_is_newest() {
    let mut rig = by_hand();
    let mut now = 0;
    for (failures, seconds) in [1, 2, 4, 8, 16, 32, 60, 60].into_iter().enumerate() {
        rig.on(Event::RecordFailed, now);
        now += seconds * 1_000;
        rig.wake(now - 1);
        assert_eq!(rig.writes, failures + 1);
        rig.wake(now);
        assert_eq!(rig.writes, failures + 2);
    }
    assert_eq!(rig.states(now), [Failed]);
    rig.is_writing_by_hand = false;
    rig.on(Event::RecordFailed, now);
    rig.wake(now + 60_000);
    assert_eq!(rig.kept, record(&[("a", Some(Failed))]));
}

#[test]
fn a_write_that_failed_may_have_been_carried_out() {
    let mut rig = by_hand();
    rig.on(Event::RecordWritten, 0);
    rig.wake(1_000);
    let number = rig.sent.pop().unwrap().number;
    rig.on(Event::Delivered(number), 1_000);
    assert_eq!(rig.writes, 2);
    // The record says FAILED, or still that nothing is known, and READY is about to be told.
    rig.see("a", Ready, 1_100);
    rig.on(Event::RecordFailed, 1_200);
    rig.wake(2_199);
    assert_eq!((rig.sent.len(), rig.writes), (0, 2));
    rig.wake(2_200);
    assert_eq!((rig.sent.len(), rig.writes), (0, 3));
    rig.on(Event::RecordWritten, 2_200);
    assert_eq!(rig.sent.len(), 1);
}

#[test]
fn many_changes_are_one_write_every_quarter_of_a_second() {
    let mut rig = Rig::new();
    for number in 0..100 {
        rig.see(&format!("i{number}"), Pending, number);
    }
    assert_eq!(rig.writes, 1);
    rig.wake(249);
    assert_eq!(rig.writes, 1);
    rig.wake(250);
    assert_eq!((rig.writes, rig.kept.len()), (2, 100));
}

#[test]
fn an_answer_without_a_write_is_passed_over() {
    let mut rig = Rig::new();
    rig.on(Event::RecordFailed, 0);
    rig.on(Event::RecordWritten, 0);
    rig.see("a", Ready, 0);
    assert_eq!(rig.kept, record(&[("a", None)]));
    assert_eq!(rig.states(1_000), [Ready]);
}

#[test]
fn a_record_is_json_of_words_and_nulls() {
    let all = record(&[("a", Some(Ready)), ("b", None)]);
    let json = serde_json::to_string(&all).unwrap();
    assert_eq!(json, r#"{"a":"READY","b":null}"#);
    assert_eq!(serde_json::from_str::<Record>(&json).unwrap(), all);
}
