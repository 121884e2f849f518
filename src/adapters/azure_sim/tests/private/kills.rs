//! Our process is killed after any of its writes, and nothing comes of it.

#![allow(clippy::unwrap_used, clippy::panic)]

use serde_json::json;

use super::scene::*;
use crate::adapters::azure_sim::{Azure, Deed};
use crate::health::Live;

/// The result of a life: the objects while it was ready, and what came and went in Azure.
#[derive(Debug, PartialEq, Eq)]
struct Life {
    objects: Vec<String>,
    deeds: Vec<Deed>,
}

/// The end of a process: after this many writes, counted from its first start alone, or from each of its starts.
#[derive(Clone, Copy, Debug)]
enum Kill {
    Never,
    Once(usize),
    Always(usize),
}

/// A cluster from nothing to ready, with another address, and to its end. Returns how often the process was started, too.
async fn live(stage: &Stage, kill: Kill) -> (Life, usize) {
    let mut scene = stage.scene(Azure::bare().recording());
    let mut starts = 0;
    start(&mut scene, kill, &mut starts);
    let mut cluster = hosted("clusters", "one");
    cluster["spec"]["clusterID"] = json!("5b1c7d3e-52a4-4b6b-9a51-2f1f0d9c7a15");
    scene.put(&cluster).await;
    scene.put(&pool("clusters", "one")).await;
    scene = until(scene, kill, &mut starts, |scene| {
        scene.is_ready("clusters", "one")
    })
    .await;
    let status = json!({"status": {"loadBalancer": {"ingress": [{"ip": "10.9.9.9"}]}}});
    scene
        .merge_status(&router_id("clusters", "one"), status)
        .await;
    scene = until(scene, kill, &mut starts, |scene| {
        let connection = scene.connection("clusters", "one").unwrap();
        let address = Live(&connection).text(&["spec", "loadBalancerIP"]);
        address == "10.9.9.9" && scene.is_ready("clusters", "one")
    })
    .await;
    let objects = objects(&scene);
    scene.delete(&hosted_id("clusters", "one")).await;
    scene = until(scene, kill, &mut starts, |scene| {
        scene.find(&hosted_id("clusters", "one")).is_none()
    })
    .await;
    assert_eq!(scene.azure.ids(), Vec::<String>::new(), "{kill:?}");
    let mut deeds = scene.births_and_deaths();
    deeds.sort();
    (Life { objects, deeds }, starts)
}

/// Our objects with their specs.
fn objects(scene: &Scene) -> Vec<String> {
    let all = scene.all();
    let ours = all.iter().map(Live).filter(|live| {
        let is_secret = live.kind() == "Secret" && live.name().contains("private-link");
        live.group() == "network.azure.com" || live.kind() == "AzurePrivateLinkService" || is_secret
    });
    ours.map(|live| {
        format!(
            "{} {}",
            live.id(),
            live.at(&["spec"]).unwrap_or(&json!(null))
        )
    })
    .collect()
}

fn start(scene: &mut Scene, kill: Kill, starts: &mut usize) {
    let written = scene.front.written();
    scene.front.die_after(match kill {
        Kill::Once(writes) if *starts == 0 => written + writes,
        Kill::Always(writes) => written + writes,
        Kill::Never | Kill::Once(_) => usize::MAX,
    });
    *starts += 1;
    scene.start();
}

/// Waits, and starts the process again whenever it is dead.
async fn until(
    mut scene: Scene,
    kill: Kill,
    starts: &mut usize,
    done: impl Fn(&Scene) -> bool,
) -> Scene {
    for _ in 0..8 * 60 {
        if scene.front.is_dead() {
            scene.stop();
            start(&mut scene, kill, starts);
            scene.wait(20).await;
        } else if done(&scene) {
            return scene;
        } else {
            scene.wait(60).await;
        }
    }
    panic!(
        "{kill:?}: {:#?} {:#?}",
        scene.connections(),
        scene.azure.ids()
    );
}

#[tokio::test(start_paused = true)]
async fn a_kill_after_any_write_changes_nothing() {
    let stage = Stage::new().await;
    let (expected, _) = live(&stage, Kill::Never).await;
    let mut kills = 0;
    loop {
        let kill = Kill::Once(kills + 1);
        let (life, starts) = live(&stage, kill).await;
        assert_eq!(life, expected, "{kill:?}");
        if starts == 1 {
            break;
        }
        kills += 1;
    }
    assert!(kills > 40, "{kills}");
}

#[tokio::test(start_paused = true)]
async fn kills_that_do_not_end_change_nothing() {
    let stage = Stage::new().await;
    let (expected, _) = live(&stage, Kill::Never).await;
    for writes in [3, 4, 7] {
        let kill = Kill::Always(writes);
        let (life, starts) = live(&stage, kill).await;
        assert_eq!(life, expected, "{kill:?}");
        assert!(starts > 5, "{starts}");
    }
}
