//! What is published after a start.

use super::*;

#[test]
fn the_first_start_publishes_each_instance_once() {
    let objects = [seen("a", Ready), seen("b", Provisioning), seen("c", Failed)];
    let mut rig = Rig::with(&objects, &[]);
    rig.wake(999);
    assert_eq!(rig.sent, []);
    let expected = [("a", Ready), ("b", Provisioning), ("c", Failed)]
        .map(|(id, state)| (id.to_owned(), state));
    assert_eq!(rig.delivered(1_000), expected);
    assert_eq!(rig.delivered(9_000), []);
}

#[test]
fn a_later_start_publishes_what_changed_or_is_not_known_and_what_is_gone() {
    let objects = [
        seen("a", Ready),
        seen("b", Ready),
        seen("c", Failed),
        seen("d", Pending),
    ];
    let kept = [
        ("a", Some(Ready)),
        ("b", Some(Provisioning)),
        ("c", None),
        ("x", Some(Ready)),
        ("y", None),
        ("z", Some(Deleting)),
    ];
    let mut rig = Rig::with(&objects, &kept);
    let expected = [
        ("b", Ready),
        ("c", Failed),
        ("d", Pending),
        ("x", Deleted),
        ("y", Deleted),
        ("z", Deleted),
    ];
    assert_eq!(
        rig.delivered(1_000),
        expected.map(|(id, state)| (id.to_owned(), state))
    );
    rig.wake(5_000);
    let now = [
        ("a", Some(Ready)),
        ("b", Some(Ready)),
        ("c", Some(Failed)),
        ("d", Some(Pending)),
    ];
    assert_eq!(rig.kept, record(&now));
}

#[test]
fn nothing_is_published_before_the_list_and_the_record_are_known() {
    for is_listed_first in [true, false] {
        let mut rig = Rig::cold(Settings::default());
        rig.on(Event::Connected, 0);
        rig.see("a", Ready, 0);
        rig.lose("b", 0);
        assert_eq!(rig.delivered(60_000), []);
        if is_listed_first {
            rig.list(&[seen("a", Ready)], 60_000);
        } else {
            rig.on(Event::RecordRead(record(&[("b", Some(Ready))])), 60_000);
        }
        rig.see("a", Unavailable, 61_000);
        assert_eq!(rig.delivered(120_000), []);
        assert_eq!((rig.writes, rig.alarm), (0, None));
        if is_listed_first {
            rig.on(Event::RecordRead(record(&[("b", Some(Ready))])), 120_000);
        } else {
            rig.list(&[seen("a", Unavailable)], 120_000);
        }
        let expected = [("a".to_owned(), Unavailable), ("b".to_owned(), Deleted)];
        assert_eq!(rig.delivered(121_000), expected);
    }
}

#[test]
fn an_entry_of_the_record_that_is_no_id_is_passed_over() {
    let mut rig = Rig::with(&[], &[("", Some(Ready)), ("a.b", None), ("a", Some(Ready))]);
    assert_eq!(rig.delivered(1_000), [("a".to_owned(), Deleted)]);
}

#[test]
fn nothing_is_published_without_a_connection() {
    let mut rig = Rig::cold(Settings::default());
    rig.list(&[seen("a", Ready)], 0);
    rig.on(Event::RecordRead(Record::new()), 0);
    rig.wake(3_000);
    assert_eq!(rig.sent, []);
    assert_eq!(rig.alarm, None, "only a connection helps");
    rig.see("a", Unavailable, 60_000);
    rig.wake(70_000);
    rig.on(Event::Connected, 80_000);
    assert_eq!(
        rig.states(80_000),
        [Unavailable],
        "at once, and the newest only"
    );
}
