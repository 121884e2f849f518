//! Watches.

use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use kube::runtime::watcher::{self, watcher};
use serde_json::{Value, json};

use super::super::Server;
use super::{apply, config_map, config_maps, server};
use crate::clock::SimClock;

fn shown(event: &WatchEvent<ConfigMap>) -> String {
    match event {
        WatchEvent::Added(object) => format!("added {}", object.name_any()),
        WatchEvent::Modified(object) => format!("modified {}", object.name_any()),
        WatchEvent::Deleted(object) => format!("deleted {}", object.name_any()),
        WatchEvent::Bookmark(mark) => format!("bookmark {}", mark.metadata.resource_version),
        WatchEvent::Error(status) => format!("error {} {}", status.code, status.reason),
    }
}

/// All events of a watch until it ends.
async fn all(api: &Api<ConfigMap>, params: &WatchParams, version: &str) -> Vec<String> {
    let stream = api.watch(params, version).await.unwrap();
    stream
        .map_ok(|event| shown(&event))
        .try_collect()
        .await
        .unwrap()
}

async fn label(api: &Api<ConfigMap>, name: &str, value: Value) {
    let patch = Patch::Merge(json!({"metadata": {"labels": {"x": value}}}));
    api.patch(name, &PatchParams::default(), &patch)
        .await
        .unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_watch_starts_with_what_is_there_or_after_a_version() {
    let (_, api) = config_maps();
    apply(&api, "me", config_map("a", json!({}))).await.unwrap();
    let b = apply(&api, "me", config_map("b", json!({}))).await.unwrap();
    apply(&api, "me", config_map("a", json!({"k": "v"})))
        .await
        .unwrap();
    api.delete("b", &DeleteParams::default()).await.unwrap();
    let params = WatchParams {
        bookmarks: false,
        ..WatchParams::default().timeout(5)
    };
    assert_eq!(all(&api, &params, "0").await, ["added a"]);
    assert_eq!(all(&api, &params, "").await, ["added a"]);
    let since = b.resource_version().unwrap();
    assert_eq!(
        all(&api, &params, &since).await,
        ["modified a", "deleted b"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_watch_lasts_for_its_timeout_and_sends_bookmarks() {
    let (_, api) = config_maps();
    let made = apply(&api, "me", config_map("a", json!({}))).await.unwrap();
    let start = tokio::time::Instant::now();
    let params = WatchParams::default().timeout(150);
    let stream = api.watch(&params, "0").await.unwrap();
    let events = stream.map_ok(|event| (start.elapsed().as_secs(), shown(&event)));
    let events: Vec<(u64, String)> = events.try_collect().await.unwrap();
    assert_eq!(start.elapsed(), Duration::from_secs(150));
    let mark = format!("bookmark {}", made.resource_version().unwrap());
    // The first comes after what was there at the start.
    let marks = [0, 60, 120, 148].map(|second| (second, mark.clone()));
    assert_eq!(events[0], (0, "added a".to_owned()));
    assert_eq!(events[1..], marks);
    let short = all(&api, &WatchParams::default().timeout(1), "0").await;
    assert_eq!(short, ["added a", &mark]);
}

#[tokio::test(start_paused = true)]
async fn a_watch_ends_sooner_where_time_passes_faster() {
    let clock = SimClock::new(jiff::Timestamp::UNIX_EPOCH, 10);
    let server = Server::new(std::sync::Arc::new(clock));
    let api: Api<ConfigMap> = Api::default_namespaced(server.client("default"));
    let start = tokio::time::Instant::now();
    all(&api, &WatchParams::default().timeout(150), "0").await;
    assert_eq!(start.elapsed(), Duration::from_secs(15));
}

#[tokio::test(start_paused = true)]
async fn objects_enter_and_leave_a_selection() {
    let (_, api) = config_maps();
    let made = apply(&api, "me", config_map("a", json!({}))).await.unwrap();
    label(&api, "a", json!("y")).await;
    label(&api, "a", json!("z")).await;
    label(&api, "a", json!("y")).await;
    apply(&api, "me", config_map("a", json!({"k": "v"})))
        .await
        .unwrap();
    api.delete("a", &DeleteParams::default()).await.unwrap();
    let params = WatchParams {
        bookmarks: false,
        ..WatchParams::default().labels("x=y").timeout(5)
    };
    let since = made.resource_version().unwrap();
    assert_eq!(
        all(&api, &params, &since).await,
        ["added a", "deleted a", "added a", "modified a", "deleted a"]
    );
    let params = WatchParams {
        bookmarks: false,
        ..WatchParams::default().fields("metadata.name=b").timeout(5)
    };
    assert!(all(&api, &params, &since).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_forgotten_version_is_expired() {
    let (server, api) = config_maps();
    let made = apply(&api, "me", config_map("a", json!({}))).await.unwrap();
    apply(&api, "me", config_map("b", json!({}))).await.unwrap();
    server.compact();
    let since = made.resource_version().unwrap();
    let events = all(&api, &WatchParams::default(), &since).await;
    assert_eq!(events, ["error 410 Expired"]);
}

#[tokio::test(start_paused = true)]
async fn a_deletion_has_a_version_of_its_own() {
    let (_, api) = config_maps();
    let made = apply(&api, "me", config_map("a", json!({}))).await.unwrap();
    api.delete("a", &DeleteParams::default()).await.unwrap();
    let since = made.resource_version().unwrap();
    let stream = api
        .watch(&WatchParams::default().timeout(3), &since)
        .await
        .unwrap();
    let events: Vec<_> = stream.try_collect().await.unwrap();
    let WatchEvent::Deleted(gone) = &events[0] else {
        panic!("{events:?}")
    };
    let version = |object: &ConfigMap| object.resource_version().unwrap().parse::<u64>().unwrap();
    assert_eq!(version(gone), version(&made) + 1);
}

#[tokio::test]
async fn a_watcher_sees_every_object_and_every_change() {
    let (_, api) = config_maps();
    for at in 0..30 {
        apply(&api, "me", config_map(&format!("c{at:02}"), json!({})))
            .await
            .unwrap();
    }
    let config = watcher::Config::default().page_size(7);
    let mut seen = watcher(api.clone(), config).boxed();
    let mut names = Vec::new();
    loop {
        match seen.try_next().await.unwrap().unwrap() {
            watcher::Event::InitApply(object) => names.push(object.name_any()),
            watcher::Event::InitDone => break,
            _ => {}
        }
    }
    assert_eq!(names.len(), 30);
    let writer = {
        let api = api.clone();
        tokio::spawn(async move {
            for at in 0..500 {
                let object = config_map("c00", json!({"at": at.to_string()}));
                apply(&api, "me", object).await.unwrap();
            }
        })
    };
    for at in 0..500 {
        let watcher::Event::Apply(object) = seen.try_next().await.unwrap().unwrap() else {
            panic!("an apply is expected")
        };
        assert_eq!(object.data.unwrap()["at"], at.to_string());
    }
    writer.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_watcher_recovers_from_an_expired_version() {
    let (server, api) = config_maps();
    apply(&api, "me", config_map("a", json!({}))).await.unwrap();
    let mut seen = watcher(api.clone(), watcher::Config::default()).boxed();
    while !matches!(
        seen.try_next().await.unwrap().unwrap(),
        watcher::Event::InitDone
    ) {}
    // The watch is not read while the history passes it by.
    apply(&api, "me", config_map("b", json!({}))).await.unwrap();
    server.compact();
    let mut again = Vec::new();
    loop {
        match seen.next().await.unwrap() {
            Ok(watcher::Event::InitApply(object)) => again.push(object.name_any()),
            Ok(watcher::Event::InitDone) => break,
            _ => {}
        }
    }
    assert_eq!(again, ["a", "b"]);
}

#[tokio::test(start_paused = true)]
async fn a_streamed_list_ends_with_a_mark() {
    let (_, api) = config_maps();
    apply(&api, "me", config_map("a", json!({}))).await.unwrap();
    let config = watcher::Config::default().streaming_lists();
    let mut seen = watcher(api, config).boxed();
    let mut names = Vec::new();
    loop {
        match seen.try_next().await.unwrap().unwrap() {
            watcher::Event::InitApply(object) => names.push(object.name_any()),
            watcher::Event::InitDone => break,
            _ => {}
        }
    }
    assert_eq!(names, ["a"]);
}

#[tokio::test(start_paused = true)]
async fn a_slow_reader_holds_up_nobody() {
    let server = server();
    let api: Api<ConfigMap> = Api::default_namespaced(server.client("default"));
    let _unread = api.watch(&WatchParams::default(), "0").await.unwrap();
    for at in 0..100 {
        let object: ConfigMap =
            serde_json::from_value(config_map(&format!("c{at}"), json!({}))).unwrap();
        api.create(&PostParams::default(), &object).await.unwrap();
    }
}
