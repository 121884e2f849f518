//! Many clusters, and many readers.

use std::time::{Duration, Instant};

use super::api::kube_virt;
use super::world::{World, git};
use crate::patience::until;

const CLUSTERS: usize = 500;
/// The seconds of the measurement, and the reads of each.
const SECONDS: usize = 30;
const READS: usize = 200;

/// Prints how long reads take, which nothing asserts: `.ci/deep readers` shows it.
#[test]
#[ignore = "it takes minutes"]
fn five_hundred_clusters_and_two_hundred_reads_a_second() {
    let world = World::start("writeMode: commit");
    let made = world.post("/clusters?id=kv-0", &kube_virt("kv-0"));
    assert_eq!(made.status, 201, "{made:?}");
    let work = world.work();
    git(&work, &["pull", "-q", "origin", "main"]);
    let text = std::fs::read_to_string(work.join("fleet/dcm/kv-0.yaml")).expect("read");
    for number in 1..CLUSTERS {
        let name = format!("kv-{number}");
        let path = work.join(format!("fleet/dcm/{name}.yaml"));
        std::fs::write(path, text.replace("kv-0", &name)).expect("written");
    }
    git(&work, &["add", "-A"]);
    git(&work, &["commit", "-q", "-m", "Add many clusters"]);
    git(&work, &["push", "-q", "origin", "main"]);
    let last = format!("/clusters/kv-{}", CLUSTERS - 1);
    let all_ready = || {
        let is_ready = |path: &str| world.get(path).body["status"] == "READY";
        (is_ready(&last) && is_ready("/clusters/kv-250")).then_some(())
    };
    until(all_ready, || world.get(&last).body.to_string());

    let path = |read: usize| match read % 10 {
        0 => "/health".to_owned(),
        1..=3 => "/clusters?max_page_size=50".to_owned(),
        _ => format!("/clusters/kv-{}", read * 7 % CLUSTERS),
    };
    let paths = (0..SECONDS * READS).map(path).collect();
    let begun = Instant::now();
    let mut times = world.get_at_pace(paths, Duration::from_secs(1) / READS as u32);
    times.sort();
    let at = |part: f64| times[((times.len() - 1) as f64 * part) as usize];
    eprintln!(
        "{} reads of {CLUSTERS} clusters in {:.1?}: p50 {:.1?}, p99 {:.1?}, at most {:.1?}",
        times.len(),
        begun.elapsed(),
        at(0.5),
        at(0.99),
        at(1.0)
    );
}
