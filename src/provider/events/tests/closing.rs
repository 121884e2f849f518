//! What happens before the process ends.

use super::*;

#[test]
fn what_waits_goes_out_at_once() {
    let mut rig = Rig::new();
    rig.see("a", Ready, 0);
    rig.see("b", Ready, 0);
    rig.on(Event::Closing, 100);
    assert_eq!(rig.sent.len(), 2);
    assert!(!rig.publisher.is_done(ms(100)));
    assert_eq!(rig.states(100), [Ready, Ready]);
    assert!(rig.publisher.is_done(ms(100)));
    assert_eq!(rig.kept, record(&[("a", Some(Ready)), ("b", Some(Ready))]));
}

#[test]
fn what_waits_after_a_failure_goes_out_once_more_and_is_left_to_the_next_process() {
    let mut rig = Rig::new();
    rig.see("a", Ready, 0);
    rig.wake(1_000);
    rig.fail(Arrival::Never, 1_000);
    rig.on(Event::Closing, 1_100);
    assert_eq!(rig.sent.len(), 1);
    rig.fail(Arrival::Never, 1_100);
    assert!(rig.publisher.is_done(ms(1_100)));
    assert_eq!(rig.kept, record(&[("a", None)]));
}

#[test]
fn without_a_connection_or_a_start_there_is_nothing_to_wait_for() {
    let mut rig = Rig::new();
    rig.on(Event::Disconnected, 0);
    rig.see("a", Ready, 0);
    rig.on(Event::Closing, 0);
    assert!(rig.publisher.is_done(ms(0)));
    assert_eq!((rig.sent.len(), rig.kept), (0, record(&[("a", None)])));
    let mut rig = Rig::cold(Settings::default());
    rig.on(Event::Connected, 0);
    rig.see("a", Ready, 0);
    rig.on(Event::Closing, 0);
    assert!(rig.publisher.is_done(ms(0)));
    rig.list(&[seen("a", Ready)], 0);
    rig.on(Event::RecordRead(Record::new()), 0);
    assert_eq!(rig.states(99_000), [], "it is too late");
}

#[test]
fn a_record_that_cannot_be_written_is_tried_once() {
    let mut rig = Rig::new();
    rig.is_writing_by_hand = true;
    rig.see("a", Ready, 0);
    rig.on(Event::RecordFailed, 0);
    rig.on(Event::Closing, 100);
    assert_eq!(rig.sent.len(), 1, "it does not wait for the record");
    assert_eq!(rig.writes, 2);
    let number = rig.sent.pop().unwrap().number;
    rig.on(Event::Delivered(number), 100);
    assert!(!rig.publisher.is_done(ms(100)));
    rig.on(Event::RecordFailed, 100);
    assert!(rig.publisher.is_done(ms(100)));
    assert_eq!(rig.writes, 2);
}
