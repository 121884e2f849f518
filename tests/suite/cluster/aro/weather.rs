//! Our controllers under random schedules of faults: a cluster is made, upgraded and deleted, and Azure is as if nothing
//! had happened.
//!
//! `CAPSTAN_SEQUENCES=n` sets the number of schedules, `CAPSTAN_SEED=n` the first seed.

use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use capstan::adapters::azure_sim::{Azure, Deed};
use tokio_util::task::AbortOnDropHandle;

use super::fixture::Fixture;
use super::manifests::Cluster;
use crate::faults::injection::{FaultInjector, Schedule};
use crate::faults::rng::Rng;
use crate::play::ours;

/// The number of schedules by default.
const SEQUENCES: u64 = 8;

/// Our controllers behind an injector; they crash when it says so, and once more at random.
async fn processes(fixture: Arc<Fixture>, injector: Arc<FaultInjector>, mut rng: Rng) {
    let ends = injector.schedule().ends;
    loop {
        let _ours = ours(&injector.client(), &fixture.clock);
        let until_crash = Duration::from_secs(60 + rng.below(3600));
        tokio::select! {
            () = injector.crash.notified() => {}
            () = tokio::time::sleep(until_crash) => {}
            // All connections break when it is over, also those that nothing comes from.
            () = tokio::time::sleep_until(ends) => {
                injector.cut.send_modify(|cuts| *cuts += 1);
                std::future::pending::<()>().await;
            }
        }
        tokio::time::sleep(Duration::from_millis(rng.below(30_000))).await;
    }
}

/// Starts our controllers under a schedule that lasts for this many seconds.
fn bad_times(
    fixture: &Arc<Fixture>,
    rng: &mut Rng,
    seconds: u64,
) -> (AbortOnDropHandle<()>, tokio::time::Instant) {
    let schedule = Schedule::lasting(rng, seconds);
    let ends = schedule.ends;
    let server = fixture.server.as_ref().expect("a simulator");
    let injector = FaultInjector::new(server.router(), Rng::new(rng.below(u64::MAX)), schedule);
    let rng = Rng::new(rng.below(u64::MAX));
    let work = processes(Arc::clone(fixture), injector, rng);
    (AbortOnDropHandle::new(tokio::spawn(work)), ends)
}

async fn life(seed: u64) {
    let mut rng = Rng::new(seed);
    let fixture = Arc::new(Fixture::simulated(Azure::default().recording()).await);
    let _actors = fixture.actors();
    let mut cluster = Cluster::new("one");
    let lasts = 600 + rng.below(3000);
    let (work, ends) = bad_times(&fixture, &mut rng, lasts);
    fixture.apply(&cluster).await;
    fixture.pass(Duration::from_secs(rng.below(2400))).await;
    cluster.version = "4.21".to_owned();
    cluster.pools[0].1 = 4;
    fixture.apply(&cluster).await;
    tokio::time::sleep_until(ends).await;
    fixture.until_ready(14).await;
    fixture
        .until("the newest is there", async || {
            let plane = fixture.live("AROControlPlane", "one").await;
            let pool = fixture.live("AROMachinePool", "one-mp1").await;
            plane["status"]["version"] == "4.21" && pool["status"]["replicas"] == 4
        })
        .await;
    let tally = fixture.tally();
    assert!(
        tally.len() == 9 && tally.values().all(|counts| *counts == (1, 0)),
        "{tally:#?}"
    );

    drop(work);
    let lasts = 600 + rng.below(1800);
    let (_work, ends) = bad_times(&fixture, &mut rng, lasts);
    fixture.delete("Cluster", "one").await;
    tokio::time::sleep_until(ends).await;
    fixture.until_gone().await;
    let tally = fixture.tally();
    // What is deleted already may be applied once more, and is then deleted again. Nothing can prevent that: the watches of
    // two kinds are not ordered, so that a process may see that a subnet is gone before it sees that its AROCluster is being
    // deleted. It takes that for a loss, which it repairs, and the API server knows no condition on another object. Not even
    // a read of the owner before each write would do: the deletion may come between the two. For a cluster or its node pools
    // no schedule has shown it, and none may.
    let is_right = |(id, (made, deleted)): (&String, &(usize, usize))| {
        let most = if id.contains("hcpOpenShiftClusters") {
            1
        } else {
            2
        };
        made == deleted && (1..=most).contains(made)
    };
    assert!(tally.iter().all(is_right), "{tally:#?}");
    in_order(&fixture.azure.deeds());
}

/// External authentication goes before the HCP cluster, which takes its node pools along, and the resource group goes last.
fn in_order(deeds: &[Deed]) {
    let place = |kind: &str| {
        let of =
            |deed: &Deed| matches!(deed, Deed::Deleted(id) if id.rsplit('/').nth(1) == Some(kind));
        deeds.iter().position(of)
    };
    let order = [
        "externalAuths",
        "hcpOpenShiftClusters",
        "nodePools",
        "vaults",
        "resourceGroups",
    ]
    .map(place);
    assert!(order.is_sorted(), "{order:?}: {deeds:#?}");
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().expect("a number"))
}

#[test]
fn under_every_fault_schedule_a_cluster_is_made_once_and_deleted_in_order() {
    let began = std::time::Instant::now();
    let first = number("CAPSTAN_SEED").unwrap_or(1);
    let count = number("CAPSTAN_SEQUENCES").unwrap_or(SEQUENCES);
    let next = AtomicU64::new(first);
    let work = || {
        let mut bad = Vec::new();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= first + count {
                return bad;
            }
            let lived = catch_unwind(AssertUnwindSafe(|| {
                let mut runtime = tokio::runtime::Builder::new_current_thread();
                let runtime = runtime.enable_all().start_paused(true).build();
                runtime.expect("a runtime").block_on(life(seed));
            }));
            if lived.is_err() {
                let _ = writeln!(std::io::stderr(), "weather: CAPSTAN_SEED={seed} failed");
                bad.push(seed);
            }
        }
    };
    let bad: Vec<u64> = std::thread::scope(|scope| {
        let all = [(); 2].map(|()| scope.spawn(work));
        all.into_iter()
            .flat_map(|one| one.join().expect("no panic"))
            .collect()
    });
    let _ = writeln!(
        std::io::stderr(),
        "weather: {count} schedules from CAPSTAN_SEED={first} on, {:.1?}",
        began.elapsed()
    );
    assert!(
        bad.is_empty(),
        "CAPSTAN_SEED={} CAPSTAN_SEQUENCES=1 repeats the first of {bad:?}",
        bad[0]
    );
}
