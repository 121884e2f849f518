//! Random courses: whatever the registry, the hub and the Lease do, the provider is registered in the end.

use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug)]
enum Step {
    Reply(Reply),
    /// The hub offers this minor version from now on.
    Hub(u64),
    Announce(u64),
    HubFails,
    Lead,
    Lose,
    Serve,
    Wake,
    AnswerLate,
    /// An answer to an attempt that may never have been.
    Stale(u64, u16),
    Pass(u64),
}

fn reply() -> impl Strategy<Value = Reply> {
    let status = || {
        prop_oneof![
            Just(200),
            Just(201),
            Just(500),
            Just(429),
            Just(400),
            0_u16..700
        ]
    };
    prop_oneof![
        4 => status().prop_map(Reply::Status),
        1 => (status(), 0_u64..5000).prop_map(|(status, after)| Reply::Later(status, after)),
        1 => Just(Reply::Unreachable),
        1 => Just(Reply::Silent),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => reply().prop_map(Step::Reply),
        2 => (3_u64..9).prop_map(Step::Hub),
        2 => (3_u64..9).prop_map(Step::Announce),
        1 => Just(Step::HubFails),
        1 => Just(Step::Lead),
        1 => Just(Step::Lose),
        1 => Just(Step::Serve),
        1 => Just(Step::Wake),
        1 => Just(Step::AnswerLate),
        1 => (0_u64..20, 100_u16..600).prop_map(|(attempt, status)| Step::Stale(attempt, status)),
        6 => (0_u64..700).prop_map(Step::Pass),
    ]
}

fn of_minor(minor: u64) -> Capabilities {
    offering(&[&format!("4.{minor}.0")])
}

fn take(course: &mut Course, step: &Step) {
    match *step {
        Step::Reply(reply) => course.reply = reply,
        Step::Hub(minor) => course.hub = Ok(of_minor(minor)),
        Step::Announce(minor) => {
            course.hub = Ok(of_minor(minor));
            course.tell(Event::Discovered(of_minor(minor)));
        }
        Step::HubFails => course.hub = Err("no route".to_owned()),
        Step::Lead => course.tell(Event::LeadershipGained),
        Step::Lose => course.tell(Event::LeadershipLost),
        Step::Serve => course.tell(Event::ServingBegan),
        Step::Wake => course.tell(Event::Woken),
        Step::AnswerLate => course.answer_late(),
        Step::Stale(attempt, status) => stale(course, attempt, status),
        Step::Pass(seconds) => course.pass(seconds),
    }
}

fn stale(course: &mut Course, attempt: u64, status: u16) {
    if course
        .under_way
        .is_some_and(|(current, _)| current == attempt)
    {
        return;
    }
    let answer = Answer {
        status,
        retry_after: None,
        body: String::new(),
    };
    let before = course.reports.len();
    course.tell(Event::Answered { attempt, answer });
    assert!(
        course.reports[before..]
            .iter()
            .all(|(_, text)| !text.contains(&format!(" {status}"))),
        "a stale answer is reported"
    );
}

fn is_refused(reply: Reply) -> bool {
    let (Reply::Status(status) | Reply::Later(status, _)) = reply else {
        return false;
    };
    matches!(status, 300..=499) && ![408, 425, 429].contains(&status)
}

/// The registry, the hub and the Lease are well from now on. A registry asks for an hour at most, and a request hangs for
/// 45 seconds at most.
fn recover(course: &mut Course) {
    course.reply = Reply::Status(201);
    course.tell(Event::ServingBegan);
    course.tell(Event::LeadershipGained);
    course.pass(3600 + 300 + 45 + 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_registry_that_recovers_has_what_the_hub_offers(
        steps in proptest::collection::vec(step(), 0..60),
        seed in any::<u64>(),
    ) {
        let pace = Pace { seed, ..Pace::default() };
        let mut course = Course::with_pace(&["4.17.3"], Reply::Status(201), pace);
        for step in steps {
            take(&mut course, &step);
        }
        // A version that was never there: a refusal of the others does not count.
        course.hub = Ok(offering(&["4.30.0"]));
        recover(&mut course);
        let registered = course.registered.as_ref().expect("it recovered");
        prop_assert_eq!(kubernetes_versions(registered), ["1.43"]);
        let before = course.posts.len();
        course.pass(600);
        prop_assert_eq!(course.posts.len(), before + 10);
    }

    #[test]
    fn without_a_refusal_no_change_is_needed(
        steps in proptest::collection::vec(step(), 0..60),
        seed in any::<u64>(),
    ) {
        let pace = Pace { seed, ..Pace::default() };
        let mut course = Course::with_pace(&["4.17.3"], Reply::Unreachable, pace);
        for step in steps {
            if matches!(step, Step::Reply(reply) if is_refused(reply)) {
                continue;
            }
            take(&mut course, &step);
        }
        let expected = course.hub.clone().unwrap_or_else(|_| offering(&["4.17.3"]));
        course.hub = Ok(expected.clone());
        recover(&mut course);
        let registered = course.registered.as_ref().expect("it recovered");
        prop_assert_eq!(kubernetes_versions(registered), expected.versions_kubernetes);
    }

    #[test]
    fn clocks_out_of_order_do_no_harm(
        steps in proptest::collection::vec((0_u8..5, any::<u64>()), 0..40),
    ) {
        let mut registrar = Registrar::new(identity(), Pace::default());
        for (kind, seconds) in steps {
            let event = match kind {
                0 => Event::ServingBegan,
                1 => Event::LeadershipGained,
                2 => Event::Discovered(of_minor(seconds % 30)),
                3 => Event::Unanswered { attempt: seconds % 4, text: String::new() },
                _ => Event::Woken,
            };
            let commands = registrar.on(event, Duration::from_secs(seconds));
            prop_assert!(commands.len() <= 6);
        }
    }
}
