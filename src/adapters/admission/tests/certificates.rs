#![allow(clippy::unwrap_used)]

use std::time::Duration;

use jiff::Timestamp;

use super::super::certificates::{Lifetimes, Serving, Store, Task};

const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(24 * 3600);

fn hosts() -> Vec<String> {
    vec!["localhost".to_owned()]
}

/// Carries out what is due; the tasks without their names.
fn settle(store: &mut Store, now: Timestamp, trusted: Option<&str>) -> Vec<&'static str> {
    let (hosts, lifetimes) = (hosts(), Lifetimes::default());
    let mut done = Vec::new();
    while let Some(task) = store.task(now, &hosts, trusted, &lifetimes) {
        store.carry_out(&task, now, &hosts, &lifetimes).unwrap();
        done.push(match task {
            Task::MakeAuthority => "authority",
            Task::Sign(_) => "sign",
            Task::Drop(_) => "drop",
        });
        assert!(done.len() < 10, "{done:?}");
    }
    done
}

fn authorities(store: &Store) -> usize {
    store.bundle().matches("BEGIN CERTIFICATE").count()
}

#[test]
fn an_authority_is_trusted_before_it_signs_and_until_what_it_signed_is_gone() {
    let start = Timestamp::UNIX_EPOCH + DAY;
    let mut store = Store::default();
    assert_eq!(settle(&mut store, start, Some("")), ["authority", "sign"]);
    let first = store.bundle();
    assert_eq!(settle(&mut store, start + MINUTE, Some(&first)), [""; 0]);
    let renewed = start + 20 * DAY;
    assert_eq!(settle(&mut store, renewed, Some(&first)), ["sign"]);
    assert_eq!(store.bundle(), first, "the authority stays");

    let later = start + 244 * DAY;
    assert_eq!(
        settle(&mut store, later, Some(&first)),
        ["authority", "sign"]
    );
    let both = store.bundle();
    assert_eq!((authorities(&store), both.starts_with(&first)), (2, true));
    let settled = later + 11 * MINUTE;
    assert_eq!(
        settle(&mut store, settled, Some(&first)),
        [""; 0],
        "not injected yet"
    );
    assert_eq!(settle(&mut store, settled, Some(&both)), ["sign"]);
    assert_eq!(
        authorities(&store),
        2,
        "replicas still show the old certificate"
    );
    let over = settled + 11 * MINUTE;
    assert_eq!(settle(&mut store, over, Some(&both)), ["drop"]);
    assert_eq!(
        (authorities(&store), both.ends_with(&store.bundle())),
        (1, true)
    );
}

#[test]
fn everything_expired_is_made_anew() {
    let start = Timestamp::UNIX_EPOCH + DAY;
    let mut store = Store::default();
    settle(&mut store, start, None);
    let late = start + 900 * DAY;
    assert_eq!(
        settle(&mut store, late, None),
        ["drop", "authority", "sign"]
    );
    assert!(store.expires().unwrap() > late);
}

#[test]
fn replicas_with_other_names_do_not_take_turns() {
    let now = Timestamp::UNIX_EPOCH + DAY;
    let lifetimes = Lifetimes::default();
    let mut store = Store::default();
    settle(&mut store, now, None);
    let other = vec!["other".to_owned()];
    let task = store.task(now, &other, None, &lifetimes).unwrap();
    store.carry_out(&task, now, &other, &lifetimes).unwrap();
    assert_eq!(store.task(now, &other, None, &lifetimes), None);
    assert_eq!(store.task(now, &hosts(), None, &lifetimes), None);
}

#[test]
fn a_store_survives_its_secret_and_what_is_broken_is_not_shown() {
    let now = Timestamp::UNIX_EPOCH + DAY;
    let mut store = Store::default();
    settle(&mut store, now, None);
    let text = serde_json::to_string(&store).unwrap();
    let read: Store = serde_json::from_str(&text).unwrap();
    assert!(read == store);
    let serving = Serving::default();
    assert!(!serving.is_ready());
    serving.show(&Store::default()).unwrap();
    assert!(!serving.is_ready());
    serving.show(&read).unwrap();
    assert!(serving.is_ready());
    let broken = text.replace("BEGIN PRIVATE KEY", "BEGIN NOTHING");
    let broken: Store = serde_json::from_str(&broken).unwrap();
    let error = serving.show(&broken).unwrap_err();
    assert!(
        error.contains("cannot be used") && !error.contains("-----"),
        "{error}"
    );
    assert!(serving.is_ready(), "the former one stays");
}
