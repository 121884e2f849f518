//! When a change is published.

use super::*;

fn quick() -> Settings {
    Settings {
        debounce: ms(500),
        ..Settings::default()
    }
}

#[test]
fn three_changes_within_the_debounce_are_one_message_with_the_last_of_each_instance() {
    let mut rig = Rig::starting(quick(), &[], &[]);
    for (at, state) in [(0, Pending), (100, Provisioning), (200, Ready)] {
        rig.see("a", state, at);
        rig.see("b", if state == Ready { Failed } else { state }, at);
    }
    rig.wake(699);
    assert_eq!(rig.sent, []);
    let expected = [("a".to_owned(), Ready), ("b".to_owned(), Failed)];
    assert_eq!(rig.delivered(700), expected);
    assert_eq!(rig.delivered(99_999), []);
}

#[test]
fn a_change_is_published_a_second_after_the_last_one() {
    let mut rig = Rig::new();
    rig.see("a", Pending, 10_000);
    rig.wake(10_999);
    assert_eq!(rig.sent, []);
    assert_eq!(rig.states(11_000), [Pending]);
}

#[test]
fn constant_changes_are_published_every_ten_seconds() {
    let mut rig = Rig::new();
    let mut published = Vec::new();
    for tick in 0..60 {
        let at = tick * 500;
        rig.see("a", if tick % 2 == 0 { Ready } else { Unavailable }, at);
        published.extend(rig.states(at).into_iter().map(|state| (at, state)));
    }
    assert_eq!(published, [(10_000, Ready), (20_500, Unavailable)]);
    assert_eq!(
        rig.states(30_500).len() + rig.states(31_000).len(),
        0,
        "the last one was told"
    );
}

#[test]
fn a_state_that_passes_within_the_debounce_is_not_published() {
    let mut rig = Rig::with(&[seen("a", Ready)], &[("a", Some(Ready))]);
    rig.see("a", Unavailable, 100);
    rig.see("a", Ready, 900);
    assert_eq!(rig.states(99_999), []);
}

#[test]
fn another_message_alone_publishes_nothing_and_goes_with_the_next_state() {
    let mut rig = Rig::new();
    rig.tell("a", Unavailable, "NodePool: 0 of 2 nodes", 0);
    // It does not hold the state back either.
    rig.tell("a", Unavailable, "NodePool: 1 of 2 nodes", 900);
    let first = rig.messages(1_000);
    assert_eq!(first.len(), 1);
    assert_eq!(first[0].message, "NodePool: 1 of 2 nodes");
    assert_eq!(first[0].time, wall(ms(0)), "the time of the state");
    rig.tell("a", Unavailable, "NodePool: 2 of 3 nodes", 2_000);
    rig.tell("a", Unavailable, "NodePool: 2 of 4 nodes", 3_000);
    assert_eq!(rig.messages(60_000), []);
    rig.tell("a", Failed, "etcd", 60_000);
    rig.tell("a", Failed, "etcd is broken", 60_500);
    let second = rig.messages(61_000);
    assert_eq!(
        (second[0].state, &*second[0].message),
        (Failed, "etcd is broken")
    );
    assert_eq!(second[0].time, wall(ms(60_000)));
}

#[test]
fn a_list_of_the_same_again_publishes_nothing_and_of_changes_that_were_missed_those() {
    let mut rig = Rig::with(&[seen("a", Ready), seen("b", Ready)], &[]);
    assert_eq!(rig.delivered(1_000).len(), 2);
    rig.list(&[seen("a", Ready), seen("b", Ready)], 600_000);
    assert_eq!(rig.delivered(602_000), []);
    rig.list(&[seen("a", Failed), seen("c", Pending)], 1_200_000);
    let expected =
        [("a", Failed), ("b", Deleted), ("c", Pending)].map(|(id, state)| (id.to_owned(), state));
    assert_eq!(rig.delivered(1_201_000), expected);
}

#[test]
fn a_deletion_is_deleting_and_then_deleted() {
    let mut rig = Rig::with(&[seen("a", Ready)], &[("a", Some(Ready))]);
    rig.see("a", Deleting, 1_000);
    assert_eq!(rig.states(2_000), [Deleting]);
    rig.lose("a", 60_000);
    let last = rig.messages(61_000);
    assert_eq!((last[0].state, &*last[0].message), (Deleted, ""));
    assert_eq!(last[0].time, wall(ms(60_000)));
    assert_eq!(rig.kept, record(&[]).clone());
}

#[test]
fn an_instance_that_was_never_told_about_is_told_to_be_deleted() {
    let mut rig = Rig::new();
    rig.see("a", Pending, 0);
    rig.lose("a", 500);
    assert_eq!(rig.states(1_500), [Deleted]);
}

#[test]
fn an_instance_may_come_back() {
    let mut rig = Rig::new();
    rig.see("a", Ready, 0);
    assert_eq!(rig.states(1_000), [Ready]);
    rig.lose("a", 2_000);
    rig.see("a", Pending, 2_500);
    assert_eq!(rig.states(5_000), [Pending], "it was away for a moment");
    rig.lose("a", 6_000);
    assert_eq!(rig.states(7_000), [Deleted]);
    rig.see("a", Pending, 8_000);
    assert_eq!(rig.states(9_000), [Pending]);
}

#[test]
fn a_recovery_is_published() {
    let mut rig = Rig::with(&[seen("a", Ready)], &[("a", Some(Ready))]);
    for (at, state) in [
        (10_000, Unavailable),
        (20_000, Ready),
        (30_000, Provisioning),
        (40_000, Ready),
    ] {
        rig.see("a", state, at);
        assert_eq!(rig.states(at + 1_000), [state]);
    }
}
