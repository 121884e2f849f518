//! Deliveries that fail, and their order.

use super::*;

#[test]
fn a_failed_delivery_is_tried_again_for_ever_and_less_and_less() {
    let mut rig = Rig::new();
    rig.see("a", Ready, 0);
    rig.wake(1_000);
    let mut now = 1_000;
    for seconds in [1, 2, 4, 8, 16, 32, 60, 60, 60] {
        let number = rig.sent[0].number;
        rig.fail(Arrival::Never, now);
        now += seconds * 1_000;
        rig.wake(now - 1);
        assert_eq!(rig.sent, []);
        rig.wake(now);
        assert_eq!((rig.sent[0].state, rig.sent[0].number), (Ready, number));
    }
    assert_eq!(rig.states(now), [Ready]);
    // The next failure waits for a second again.
    rig.see("a", Failed, now);
    rig.wake(now + 1_000);
    rig.fail(Arrival::Never, now + 1_000);
    assert_eq!(rig.states(now + 2_000), [Failed]);
}

#[test]
fn three_failures_and_a_success_are_four_deliveries() {
    let mut rig = Rig::new();
    rig.see("a", Ready, 0);
    for at in [1_000, 2_000, 4_000] {
        rig.wake(at);
        assert_eq!(rig.sent.len(), 1);
        rig.fail(Arrival::Unknown, at);
    }
    assert_eq!(rig.states(8_000), [Ready]);
    assert_eq!(rig.states(99_000), []);
    // A failure is of one instance only.
    rig.see("b", Ready, 99_000);
    assert_eq!(rig.states(100_000), [Ready]);
}

#[test]
fn only_the_newest_state_is_tried_again() {
    let mut rig = Rig::new();
    rig.see("a", Pending, 0);
    rig.wake(1_000);
    let first = rig.sent[0].number;
    rig.fail(Arrival::Never, 1_000);
    rig.see("a", Provisioning, 1_100);
    rig.see("a", Ready, 1_200);
    let messages = rig.messages(9_000);
    assert_eq!(messages.len(), 1);
    assert_eq!(messages[0].state, Ready);
    assert_ne!(messages[0].number, first, "it is another message");
}

#[test]
fn what_never_arrived_is_not_told_if_it_passed() {
    for (arrival, expected) in [(Arrival::Never, vec![]), (Arrival::Unknown, vec![Ready])] {
        let mut rig = Rig::with(&[seen("a", Ready)], &[("a", Some(Ready))]);
        rig.see("a", Failed, 0);
        rig.wake(1_000);
        rig.see("a", Ready, 1_100);
        rig.fail(arrival, 1_200);
        // Consumers may hold it for failed.
        assert_eq!(rig.states(9_000), expected);
        assert_eq!(rig.kept, record(&[("a", Some(Ready))]));
    }
}

#[test]
fn an_instance_has_one_message_under_way() {
    let mut rig = Rig::new();
    rig.see("a", Pending, 0);
    rig.wake(1_000);
    assert_eq!(rig.sent.len(), 1);
    rig.see("a", Provisioning, 2_000);
    rig.see("a", Ready, 20_000);
    rig.lose("a", 40_000);
    rig.wake(60_000);
    assert_eq!(rig.sent.len(), 1);
    // What changed meanwhile goes at once.
    assert_eq!(rig.states(60_000), [Pending, Deleted]);
}

#[test]
fn so_many_messages_are_under_way_and_the_oldest_change_goes_first() {
    let settings = Settings {
        in_flight: 3,
        ..Settings::default()
    };
    let mut rig = Rig::starting(settings, &[], &[]);
    for (index, name) in ["e", "d", "c", "b", "a"].into_iter().enumerate() {
        rig.see(name, Ready, index as u64);
    }
    rig.wake(5_000);
    let names =
        |rig: &Rig| -> Vec<String> { rig.sent.iter().map(|sent| sent.instance.clone()).collect() };
    assert_eq!(names(&rig), ["e", "d", "c"]);
    let first = rig.sent.remove(0).number;
    rig.on(Event::Delivered(first), 5_000);
    assert_eq!(names(&rig), ["d", "c", "b"]);
    rig.fail(Arrival::Never, 5_001);
    assert_eq!(names(&rig), ["d", "c", "a"]);
}

#[test]
fn an_answer_that_nobody_waits_for_is_passed_over() {
    let mut rig = Rig::new();
    rig.on(Event::Delivered(7), 0);
    rig.on(
        Event::Undelivered {
            number: 1,
            arrival: Arrival::Unknown,
        },
        0,
    );
    rig.see("a", Ready, 0);
    rig.wake(1_000);
    let number = rig.sent[0].number;
    rig.on(Event::Delivered(number), 1_000);
    rig.on(
        Event::Undelivered {
            number,
            arrival: Arrival::Unknown,
        },
        1_000,
    );
    rig.on(Event::Delivered(number), 1_000);
    rig.wake(90_000);
    assert_eq!(rig.sent.len(), 1);
}

#[test]
fn a_connection_that_comes_back_ends_the_wait_after_failures() {
    let mut rig = Rig::new();
    rig.see("a", Ready, 0);
    let mut now = 1_000;
    for seconds in [1, 2, 4, 8, 16, 32] {
        rig.wake(now);
        rig.fail(Arrival::Unknown, now);
        now += seconds * 1_000;
    }
    rig.wake(now);
    rig.fail(Arrival::Unknown, now);
    rig.on(Event::Disconnected, now);
    rig.wake(now + 10_000);
    assert_eq!(rig.sent, []);
    // The next attempt would come after 60 seconds.
    rig.on(Event::Connected, now + 10_000);
    assert_eq!(rig.sent.len(), 1);
}

/// A broker that goes away in the middle of a thousand changes.
#[test]
fn a_thousand_instances_get_their_newest_state_once() {
    let names: Vec<String> = (0..1_000).map(|number| format!("i{number}")).collect();
    let objects: Vec<Observation> = names.iter().map(|name| seen(name, Pending)).collect();
    let mut rig = Rig::with(&objects, &[]);
    rig.wake(1_000);
    assert_eq!(rig.sent.len(), 64);
    let mut arrived: Vec<Message> = Vec::new();
    for _ in 0..500 {
        let message = rig.sent.remove(0);
        rig.on(Event::Delivered(message.number), 1_000);
        assert!(rig.sent.len() <= 64);
        arrived.push(message);
    }
    rig.on(Event::Disconnected, 2_000);
    while !rig.sent.is_empty() {
        rig.fail(Arrival::Unknown, 2_000);
    }
    for name in &names {
        rig.see(name, Provisioning, 3_000);
        rig.see(name, Ready, 4_000);
    }
    rig.on(Event::Connected, 60_000);
    arrived = rig.messages(60_000);
    assert_eq!(arrived.len(), 1_000);
    assert!(arrived.iter().all(|message| message.state == Ready));
    rig.wake(65_000);
    assert!(rig.kept.len() == 1_000 && rig.kept.values().all(|state| *state == Some(Ready)));
    assert!(rig.writes < 20, "{} writes", rig.writes);
}
