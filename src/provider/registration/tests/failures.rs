//! Registrations that fail for a while, or for good.

use super::*;

#[test]
fn a_registry_that_answers_500_then_429_then_400_then_201() {
    let mut course = Course::started(&["4.17.3"], Reply::Status(500));
    course.reply = Reply::Later(429, 17);
    course.pass(1);
    assert_eq!(course.waits(), [1.0]);
    course.reply = Reply::Status(400);
    course.body = "schema_version is missing".to_owned();
    course.pass(17);
    assert_eq!(course.waits(), [1.0, 17.0], "the registry is believed");
    course.reply = Reply::Status(201);
    course.pass(24 * 3600);
    assert_eq!(course.posts.len(), 3, "the same is not sent again");
    assert!(course.discoveries.len() > 280, "the loop goes on");
    let levels: Vec<_> = course.reports.iter().map(|(level, _)| *level).collect();
    assert_eq!(levels, [Level::Warning, Level::Warning, Level::Error]);
    course.hub = Ok(offering(&["4.17.3", "4.18.0"]));
    course.pass(301);
    assert!(course.registered.is_some());
    assert_eq!(course.versions()[3], ["1.30", "1.31"]);
    let (level, text) = course.reports.last().expect("it is reported");
    assert_eq!(*level, Level::Info);
    assert!(text.starts_with("registered at DCM as acm-cluster-sp; "));
}

#[test]
fn an_unreachable_registry_is_tried_without_end() {
    let mut course = Course::started(&["4.17.3"], Reply::Unreachable);
    course.pass(7 * 24 * 3600);
    let waits = course.waits();
    assert!(waits.len() > 7 * 24 * 12, "{}", waits.len());
    let (first, rest) = waits.split_at(9);
    let full = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0];
    for (wait, full) in first.iter().zip(full) {
        assert!((full * 0.75..=full).contains(wait), "{wait} of {full}");
    }
    assert!(rest.iter().all(|wait| (225.0..=300.0).contains(wait)));
    assert!(waits.iter().any(|wait| *wait != 300.0), "there is jitter");
    let text = &course.reports[0].1;
    assert_eq!(
        text,
        "the registry of DCM did not answer: connection refused; trying again in 1 s"
    );
    course.reply = Reply::Status(201);
    course.pass(300);
    assert!(course.registered.is_some());
}

#[test]
fn providers_that_fail_together_do_not_try_again_together() {
    let waits = |seed| {
        let pace = Pace {
            seed,
            ..Pace::default()
        };
        let mut course = Course::with_pace(&["4.17.3"], Reply::Unreachable, pace);
        course.tell(Event::ServingBegan);
        course.tell(Event::LeadershipGained);
        course.pass(300);
        course.waits()
    };
    assert_ne!(waits(1), waits(2));
    assert_eq!(waits(1), waits(1));
}

#[test]
fn what_may_pass_is_retried_and_what_does_not_is_not() {
    for status in [408, 425, 429, 500, 502, 503, 504, 599, 0, 600] {
        let mut course = Course::started(&["4.17.3"], Reply::Status(status));
        course.pass(10);
        assert!(course.posts.len() >= 4, "{status}");
        course.reply = Reply::Status(201);
        course.pass(300);
        assert!(course.registered.is_some(), "{status}");
    }
    for status in [
        300, 301, 302, 307, 308, 400, 401, 403, 404, 405, 409, 413, 422, 451,
    ] {
        let mut course = Course::started(&["4.17.3"], Reply::Status(status));
        course.pass(24 * 3600);
        assert_eq!(course.posts.len(), 1, "{status}");
        assert_eq!(course.reports.len(), 1, "{status}");
        assert_eq!(course.reports[0].0, Level::Error, "{status}");
    }
}

#[test]
fn a_refusal_says_what_to_do_and_what_the_registry_said() {
    for (status, expected) in [
        (302, "point DCM_REGISTRATION_URL at the address"),
        (401, "admit this provider"),
        (404, "check that DCM_REGISTRATION_URL leads to"),
        (409, "choose another SP_NAME"),
        (422, "check SP_NAME, SP_ENDPOINT, SP_REGION and SP_ZONE"),
    ] {
        let mut course = Course::new(&["4.17.3"], Reply::Status(status));
        course.body = "name\r\n is \u{1b}[31mtaken".to_owned();
        course.tell(Event::ServingBegan);
        course.tell(Event::LeadershipGained);
        let text = &course.reports[0].1;
        let start = format!(
            "the registry of DCM refused the registration with {status}: name is [31mtaken; "
        );
        assert!(text.starts_with(&start), "{text}");
        assert!(text.contains(expected), "{text}");
        assert!(
            text.ends_with("until then DCM does not use this provider"),
            "{text}"
        );
    }
}

#[test]
fn two_hundred_characters_of_a_body_are_reported() {
    for (status, body, expected) in [
        (500, "ü".repeat(200), format!(" 500: {};", "ü".repeat(200))),
        (500, "ü".repeat(201), format!(" 500: {}…;", "ü".repeat(200))),
        (
            400,
            "x".repeat(1 << 22),
            format!(" 400: {}…;", "x".repeat(200)),
        ),
        (400, "\n".repeat(1 << 22), " 400; ".to_owned()),
        (503, String::new(), " 503; ".to_owned()),
    ] {
        let mut course = Course::new(&["4.17.3"], Reply::Status(status));
        course.body = body;
        course.tell(Event::ServingBegan);
        course.tell(Event::LeadershipGained);
        let text = &course.reports[0].1;
        assert!(text.contains(&expected), "{text}");
    }
}

#[test]
fn a_registry_may_ask_for_an_hour_at_most_and_for_less_in_vain() {
    for (asked, expected) in [(0, 1.0), (90, 90.0), (3600, 3600.0), (u64::MAX, 3600.0)] {
        for status in [429, 503] {
            let mut course = Course::started(&["4.17.3"], Reply::Later(status, asked));
            course.reply = Reply::Status(201);
            // A change does not break the promise.
            course.tell(Event::Discovered(offering(&["4.18.0"])));
            course.pass(3600);
            assert_eq!(course.waits()[0], expected, "{status} {asked}");
            assert!(course.registered.is_some());
        }
    }
}

#[test]
fn the_header_has_seconds_or_a_date() {
    let now: jiff::Timestamp = "2026-11-29T09:00:00Z".parse().expect("it is a time");
    for (header, expected) in [
        ("120", Some(120)),
        (" 7 ", Some(7)),
        ("0", Some(0)),
        ("Sun, 29 Nov 2026 09:01:30 GMT", Some(90)),
        ("Sun, 29 Nov 2026 08:59:00 GMT", Some(0)),
        ("Sun, 06 Nov 1994 08:49:37 GMT", Some(0)),
        ("-1", None),
        ("1.5", None),
        ("soon", None),
        ("", None),
        ("99999999999999999999999", None),
    ] {
        let expected = expected.map(Duration::from_secs);
        assert_eq!(retry_after(header, now), expected, "{header}");
    }
}

#[test]
fn a_request_without_an_answer_is_given_up() {
    let mut course = Course::started(&["4.17.3"], Reply::Silent);
    let (stale, _) = course.under_way.expect("it was sent");
    course.pass(44);
    assert_eq!((course.posts.len(), course.reports.len()), (1, 0));
    course.pass(2);
    assert_eq!(course.waits(), [46.0]);
    assert!(course.reports[0].1.contains("no answer within 45 s"));
    // The answer to the first request decides nothing about the second.
    let answer = Answer {
        status: 400,
        retry_after: None,
        body: String::new(),
    };
    let late = Event::Answered {
        attempt: stale,
        answer,
    };
    course.tell(late);
    assert_eq!(course.reports.len(), 1);
    course.reply = Reply::Status(201);
    course.answer_late();
    assert!(course.registered.is_some());
    assert_eq!(course.posts.len(), 2);
}

#[test]
fn a_hub_that_cannot_be_asked_is_asked_again() {
    let mut course = Course::new(&[], Reply::Status(201));
    course.hub = Err("forbidden\nby role".to_owned());
    course.tell(Event::ServingBegan);
    course.tell(Event::LeadershipGained);
    course.pass(3600);
    assert_eq!(course.posts.len(), 0, "nothing is known");
    assert!(course.discoveries.len() > 15);
    assert_eq!(
        course.reports[0].1,
        "the hub could not be asked which platforms and versions it offers: forbiddenby role; trying again in 1 s"
    );
    course.hub = Ok(offering(&["4.17.3"]));
    course.pass(300);
    assert_eq!(course.versions()[0], ["1.30"]);
}

#[test]
fn a_hub_that_goes_away_does_not_end_the_registration() {
    let mut course = Course::started(&["4.17.3"], Reply::Status(201));
    course.hub = Err("no route".to_owned());
    course.pass(3600);
    assert_eq!(course.waits(), [60.0; 60]);
    assert!(course.versions().iter().all(|it| *it == ["1.30"]));
}

#[test]
fn a_hub_that_never_answers_is_asked_again() {
    let mut registrar = Registrar::new(identity(), Pace::default());
    let mut now = Duration::ZERO;
    let mut commands = registrar.on(Event::ServingBegan, now);
    commands.extend(registrar.on(Event::LeadershipGained, now));
    let mut discoveries = 0;
    for _ in 0..6 {
        let mut wakes = commands.iter().filter_map(|command| match command {
            Command::WakeAt(at) => Some(*at),
            _ => None,
        });
        now = wakes.next_back().expect("it is woken again");
        let found = commands.iter().filter(|it| **it == Command::Discover);
        discoveries += found.count();
        commands = registrar.on(Event::Woken, now);
    }
    assert_eq!(discoveries, 3);
    assert!(now < Duration::from_secs(200));
}

#[test]
fn a_refused_change_leaves_the_registration_before_it_alive() {
    let mut course = Course::started(&["4.17.3"], Reply::Status(201));
    course.reply = Reply::Status(422);
    course.pass(10);
    course.tell(Event::Discovered(offering(&["4.18.0"])));
    course.reply = Reply::Status(200);
    course.pass(600);
    let versions = course.versions();
    assert_eq!(versions[1], ["1.31"], "refused");
    assert!(versions.len() > 10 && versions[2..].iter().all(|it| *it == ["1.30"]));
    let (level, text) = &course.reports[1];
    assert_eq!(*level, Level::Error);
    assert!(
        text.ends_with("until then the registration before it is kept alive"),
        "{text}"
    );
    assert_eq!(course.reports.len(), 2);
    // The hub went back to what is registered, and on to something else.
    let before = course.posts.len();
    course.tell(Event::Discovered(offering(&["4.17.3"])));
    assert_eq!(course.posts.len(), before);
    course.tell(Event::Discovered(offering(&["4.19.0"])));
    course.pass(1);
    assert_eq!(*course.versions().last().expect("it is sent"), ["1.32"]);
}

#[test]
fn a_refused_renewal_is_reported_once_and_renewed_on() {
    let mut course = Course::started(&["4.17.3"], Reply::Status(201));
    course.reply = Reply::Status(404);
    course.pass(600);
    assert_eq!(course.waits(), [60.0; 10], "the loop goes on");
    let errors = course
        .reports
        .iter()
        .filter(|(level, _)| *level == Level::Error);
    assert_eq!(errors.count(), 1);
    course.reply = Reply::Status(201);
    course.pass(60);
    let (level, _) = course.reports.last().expect("it is reported");
    assert_eq!((*level, course.reports.len()), (Level::Info, 3));
    // The next refusal is another one.
    course.reply = Reply::Status(404);
    course.pass(180);
    let (level, _) = course.reports.last().expect("it is reported");
    assert_eq!((*level, course.reports.len()), (Level::Error, 4));
}

#[test]
fn a_renewal_that_failed_for_a_while_is_reported_when_it_succeeds() {
    let mut course = Course::started(&["4.17.3"], Reply::Status(201));
    course.reply = Reply::Status(503);
    course.pass(60);
    course.reply = Reply::Status(200);
    course.pass(600);
    let levels: Vec<_> = course.reports.iter().map(|(level, _)| *level).collect();
    assert_eq!(levels, [Level::Info, Level::Warning, Level::Info]);
}

#[test]
fn a_new_term_forgets_a_refusal() {
    let mut course = Course::started(&["4.17.3"], Reply::Status(409));
    course.pass(590);
    assert_eq!(course.posts.len(), 1);
    course.tell(Event::LeadershipLost);
    course.pass(15);
    course.tell(Event::LeadershipGained);
    assert_eq!(course.posts.len(), 2);
}
