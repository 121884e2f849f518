//! Registrations that succeed, are renewed and change.

use super::*;

#[test]
fn a_registry_that_answers_201_has_the_capabilities_of_the_hub() {
    let course = Course::started(&["4.16.0", "4.17.3"], Reply::Status(201));
    assert_eq!(course.versions(), [["1.29", "1.30"]]);
    assert_eq!(
        course.reports,
        [(
            Level::Info,
            "registered at DCM as acm-cluster-sp; platforms: baremetal, kubevirt; OpenShift versions: 4.16, 4.17; Kubernetes versions: 1.29, 1.30"
                .to_owned()
        )]
    );
}

#[test]
fn an_update_answered_with_200_is_as_good() {
    let course = Course::started(&["4.17.3"], Reply::Status(200));
    assert_eq!(course.posts.len(), 1);
    assert!(course.registered.is_some());
    assert_eq!(course.reports.len(), 1);
    assert_eq!(course.reports[0].0, Level::Info);
}

#[test]
fn without_sets_an_empty_list_is_registered() {
    let course = Course::started(&[], Reply::Status(201));
    assert_eq!(course.versions(), [[""; 0]]);
    assert!(course.reports[0].1.contains("OpenShift versions: none"));
}

#[test]
fn a_registration_is_renewed_every_minute_in_silence() {
    let mut course = Course::started(&["4.17.3"], Reply::Status(201));
    course.pass(300);
    assert_eq!(course.waits(), [60.0; 5]);
    assert_eq!(course.reports.len(), 1);
    let pace = Pace {
        renewal: Duration::from_secs(20),
        ..Pace::default()
    };
    let mut course = Course::with_pace(&["4.17.3"], Reply::Status(200), pace);
    course.tell(Event::LeadershipGained);
    course.tell(Event::ServingBegan);
    course.pass(60);
    assert_eq!(course.waits(), [20.0; 3]);
}

#[test]
fn a_renewal_without_pause_comes_once_a_second() {
    let pace = Pace {
        renewal: Duration::ZERO,
        discovery: Duration::ZERO,
        ..Pace::default()
    };
    let mut course = Course::with_pace(&["4.17.3"], Reply::Status(200), pace);
    course.tell(Event::LeadershipGained);
    course.tell(Event::ServingBegan);
    course.pass(10);
    assert_eq!(course.waits(), [1.0; 10]);
    assert_eq!(course.discoveries.len(), 11);
}

#[test]
fn sets_that_come_and_go_are_registered_with_the_next_look() {
    let mut course = Course::started(&["4.16.0", "4.17.3"], Reply::Status(201));
    course.hub = Ok(offering(&["4.16.0", "4.17.3", "4.18.0"]));
    course.pass(299);
    assert_eq!(course.discoveries.len(), 1);
    course.pass(2);
    assert_eq!(course.discoveries.len(), 2);
    assert_eq!(
        *course.versions().last().expect("it is sent"),
        ["1.29", "1.30", "1.31"]
    );
    course.hub = Ok(offering(&["4.17.3", "4.18.0"]));
    course.pass(300);
    assert_eq!(
        *course.versions().last().expect("it is sent"),
        ["1.30", "1.31"]
    );
    assert_eq!(course.reports.len(), 3);
}

#[test]
fn a_change_that_the_hub_announces_is_registered_at_once() {
    let mut course = Course::started(&["4.17.3"], Reply::Status(201));
    course.pass(10);
    let announced = || Event::Discovered(offering(&["4.17.3", "4.18.0"]));
    course.tell(announced());
    assert_eq!(course.waits(), [10.0]);
    course.tell(announced());
    assert_eq!(course.posts.len(), 2, "nothing changed");
    // Another one a moment later waits until the second is over.
    course.tell(Event::Discovered(offering(&["4.18.0"])));
    assert_eq!(course.posts.len(), 2);
    course.pass(1);
    assert_eq!(course.waits(), [10.0, 1.0]);
    assert_eq!(course.versions()[2], ["1.31"]);
}

#[test]
fn a_change_during_a_request_is_sent_after_it() {
    let mut course = Course::started(&["4.17.3"], Reply::Silent);
    course.tell(Event::Discovered(offering(&["4.18.0"])));
    course.pass(5);
    assert_eq!(course.posts.len(), 1, "one is under way");
    course.reply = Reply::Status(201);
    course.answer_late();
    course.pass(1);
    assert_eq!(course.versions(), [["1.30"], ["1.31"]]);
    course.pass(59);
    assert_eq!(course.posts.len(), 2);
    course.pass(1);
    assert_eq!(course.versions()[2], ["1.31"]);
}

#[test]
fn a_change_that_cannot_be_delivered_is_retried_and_the_old_one_stays() {
    let mut course = Course::started(&["4.17.3"], Reply::Status(201));
    course.reply = Reply::Status(500);
    course.pass(10);
    course.hub = Ok(offering(&["4.17.3", "4.18.0"]));
    course.tell(Event::Discovered(offering(&["4.17.3", "4.18.0"])));
    course.pass(600);
    let registered = course.registered.as_ref().expect("it was accepted");
    assert_eq!(kubernetes_versions(registered), ["1.30"]);
    assert!(course.posts.len() > 8, "{}", course.posts.len());
    let versions = course.versions();
    assert!(versions[1..].iter().all(|it| *it == ["1.30", "1.31"]));
    course.reply = Reply::Status(200);
    course.pass(300);
    let registered = course.registered.as_ref().expect("it was accepted");
    assert_eq!(kubernetes_versions(registered), ["1.30", "1.31"]);
}

#[test]
fn nothing_is_sent_before_it_serves_or_while_another_leads() {
    let mut course = Course::new(&["4.17.3"], Reply::Status(201));
    course.tell(Event::LeadershipGained);
    course.pass(1000);
    assert_eq!((course.posts.len(), course.discoveries.len()), (0, 0));
    course.tell(Event::LeadershipLost);
    course.tell(Event::ServingBegan);
    course.tell(Event::Discovered(offering(&["4.17.3"])));
    course.pass(1000);
    assert_eq!((course.posts.len(), course.discoveries.len()), (0, 0));
    course.tell(Event::LeadershipGained);
    assert_eq!((course.posts.len(), course.discoveries.len()), (1, 1));
    course.tell(Event::LeadershipLost);
    course.pass(1000);
    assert_eq!((course.posts.len(), course.discoveries.len()), (1, 1));
}

#[test]
fn a_new_term_asks_the_hub_and_registers_again() {
    let mut course = Course::started(&["4.17.3"], Reply::Status(201));
    course.tell(Event::LeadershipLost);
    course.pass(10);
    course.hub = Err("no route".to_owned());
    course.tell(Event::LeadershipGained);
    assert_eq!(
        course.posts.len(),
        1,
        "what the hub offers now is not known"
    );
    course.hub = Ok(offering(&["4.17.3"]));
    course.pass(1);
    assert_eq!(course.posts.len(), 2, "another replica may have registered");
}

#[test]
fn two_starts_are_one() {
    let mut course = Course::new(&["4.17.3"], Reply::Silent);
    for _ in 0..2 {
        course.tell(Event::ServingBegan);
        course.tell(Event::LeadershipGained);
    }
    assert_eq!((course.posts.len(), course.discoveries.len()), (1, 1));
    course.reply = Reply::Status(201);
    course.answer_late();
    course.tell(Event::ServingBegan);
    course.tell(Event::LeadershipGained);
    course.pass(59);
    assert_eq!((course.posts.len(), course.discoveries.len()), (1, 1));
    course.pass(1);
    assert_eq!(course.posts.len(), 2);
}

#[test]
fn a_slow_registry_holds_nothing_up() {
    let mut course = Course::started(&["4.17.3"], Reply::Silent);
    // Whatever happens meanwhile is taken, and asks for nothing.
    for event in [Event::Woken, Event::ServingBegan, Event::LeadershipGained] {
        let commands = course.registrar.on(event, course.now);
        let wakes = commands.iter().all(|it| matches!(it, Command::WakeAt(_)));
        assert!(wakes, "{commands:?}");
    }
    assert_eq!(course.posts.len(), 1);
}

#[test]
fn an_early_wake_is_arranged_again() {
    let mut course = Course::started(&["4.17.3"], Reply::Status(201));
    let early = course.registrar.on(Event::Woken, course.now);
    let due = course.now + Duration::from_secs(60);
    assert_eq!(early, [Command::WakeAt(due)]);
    assert_eq!(course.registrar.on(Event::ServingBegan, course.now), []);
}
