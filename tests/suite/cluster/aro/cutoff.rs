//! Our controllers killed at any of their writes, and started again: the same cluster in the end, and nothing made twice.
//!
//! `CAPSTAN_CUTS=n` kills at every n-th write, each in a life of its own; 1 is every one of them.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use capstan::adapters::azure_sim::Azure;
use serde_json::Value as Json;
use tokio_util::task::AbortOnDropHandle;

use super::clients::Mortal;
use super::fixture::Fixture;
use super::manifests::Cluster;
use crate::play::ours;

/// How long it takes until a process is started again.
const AWAY: Duration = Duration::from_secs(2);
/// Kills at every so-manieth write, unless the environment says otherwise.
const EVERY: usize = 60;
/// More writes than any life has.
const FOREVER: usize = usize::MAX;

/// How a life ended.
#[derive(Debug, PartialEq)]
struct End {
    /// The objects when all were ready.
    objects: BTreeMap<(String, String), Json>,
    /// Of each resource in Azure how often it was created and deleted.
    tally: BTreeMap<String, (usize, usize)>,
}

/// Without what differs from life to life.
fn normalized(value: &mut Json) {
    match value {
        Json::Object(map) => {
            for key in [
                "uid",
                "resourceVersion",
                "creationTimestamp",
                "lastTransitionTime",
                "time",
                // When Azure was asked.
                "serviceoperator.azure.com/poller-resume-token",
            ] {
                map.remove(key);
            }
            map.retain(|key, _| !key.starts_with("k:{\"uid\""));
            map.values_mut().for_each(normalized);
        }
        Json::Array(list) => {
            list.iter_mut().for_each(normalized);
            // What came first is a matter of time.
            list.sort_by_key(Json::to_string);
        }
        _ => {}
    }
}

/// One process after the other, each for as many writes as `lives` says. Counts the writes and the processes.
async fn processes(
    fixture: Arc<Fixture>,
    lives: impl Fn(usize) -> usize,
    counts: Arc<[AtomicUsize; 2]>,
) {
    for number in 0.. {
        let life = lives(number);
        let mortal = Mortal::ending_with(life);
        let _ours = ours(&mortal.client(&fixture.client), &fixture.clock);
        counts[1].fetch_add(1, Ordering::SeqCst);
        let mut before = life;
        loop {
            let over = tokio::time::timeout(Duration::from_secs(60), mortal.over()).await;
            let left = mortal.left();
            counts[0].fetch_add(before - left, Ordering::SeqCst);
            before = left;
            if over.is_ok() {
                break;
            }
        }
        tokio::time::sleep(AWAY).await;
    }
}

/// A cluster is made and deleted again. How it ended, how many writes it took, and how many processes.
fn live(lives: impl Fn(usize) -> usize + Send + 'static) -> (End, usize, usize) {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().start_paused(true).build();
    runtime.expect("a runtime").block_on(async {
        let fixture = Arc::new(Fixture::simulated(Azure::default().recording()).await);
        let _actors = fixture.actors();
        let counts = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
        let work = processes(Arc::clone(&fixture), lives, Arc::clone(&counts));
        let _work = AbortOnDropHandle::new(tokio::spawn(work));
        fixture.apply(&Cluster::new("one")).await;
        fixture.until_ready(14).await;
        fixture.pass(Duration::from_secs(600)).await;
        let mut objects = fixture.objects().await;
        objects.values_mut().for_each(normalized);
        fixture.delete("Cluster", "one").await;
        fixture.until_gone().await;
        fixture.pass(Duration::from_secs(600)).await;
        assert!(fixture.objects().await.is_empty());
        let tally = fixture.tally();
        let [writes, processes] = [0, 1].map(|place| counts[place].load(Ordering::SeqCst));
        (End { objects, tally }, writes, processes)
    })
}

/// Where two values differ.
fn compare(path: &str, found: &Json, expected: &Json, different: &mut Vec<String>) {
    match (found, expected) {
        (Json::Object(found), Json::Object(expected)) => {
            let keys: BTreeSet<&String> = found.keys().chain(expected.keys()).collect();
            for key in keys {
                let of =
                    |map: &serde_json::Map<String, Json>| map.get(key).cloned().unwrap_or_default();
                compare(
                    &format!("{path}.{key}"),
                    &of(found),
                    &of(expected),
                    different,
                );
            }
        }
        (Json::Array(found), Json::Array(expected)) if found.len() == expected.len() => {
            for (place, (found, expected)) in found.iter().zip(expected).enumerate() {
                compare(&format!("{path}[{place}]"), found, expected, different);
            }
        }
        _ if found == expected => {}
        _ => different.push(format!("{path}: {found}, not {expected}")),
    }
}

fn must_be_same(end: &End, expected: &End, how: &str) {
    assert_eq!(end.tally, expected.tally, "{how}");
    for (id, object) in &expected.objects {
        let found = end.objects.get(id).cloned().unwrap_or_default();
        let mut different = Vec::new();
        compare("", &found, object, &mut different);
        assert!(different.is_empty(), "{how}: {id:?}: {different:#?}");
    }
    assert_eq!(end.objects.len(), expected.objects.len(), "{how}");
}

/// Each process ends with its first write; then each with its third.
#[test]
fn processes_that_end_after_a_few_writes_make_and_delete_a_cluster() {
    let (expected, writes, processes) = live(|_| FOREVER);
    assert_eq!(processes, 1);
    assert!(
        expected.tally.values().all(|counts| *counts == (1, 1)),
        "{expected:#?}"
    );
    let ends_after = |life: usize| {
        let (end, _, processes) = live(move |_| life);
        must_be_same(&end, &expected, &format!("{life} writes each"));
        assert!(
            processes * life * 2 > writes,
            "{processes} processes of {writes} writes"
        );
    };
    std::thread::scope(|scope| {
        scope.spawn(|| ends_after(1));
        scope.spawn(|| ends_after(3));
    });
}

#[test]
fn a_kill_at_any_write_changes_nothing_in_the_end() {
    let began = std::time::Instant::now();
    let every = std::env::var("CAPSTAN_CUTS").ok();
    let every = every.map_or(EVERY, |every| every.parse().expect("a number"));
    let (expected, writes, _) = live(|_| FOREVER);
    let next = AtomicUsize::new(1);
    let work = || loop {
        let at = next.fetch_add(every, Ordering::SeqCst);
        if at > writes {
            return;
        }
        let (end, _, processes) = live(move |number| if number == 0 { at } else { FOREVER });
        must_be_same(
            &end,
            &expected,
            &format!("killed at write {at} of {writes}"),
        );
        // A write that was decided together with another may be left out.
        assert!(
            processes == 2 || at + 4 > writes,
            "write {at} of {writes} did not come"
        );
    };
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(work);
        }
    });
    let took = began.elapsed();
    let _ = writeln!(
        std::io::stderr(),
        "cutoff: every {every}. of {writes} writes, {took:.1?}"
    );
}
