//! Listings that many clusters share.

use std::time::Duration;

use futures::future::join_all;

use super::arm::{Reply, error};
use super::*;

fn many(count: usize) -> Value {
    let all: Vec<(String, String)> = (0..count)
        .map(|n| (format!("f{n}"), format!("10.0.0.{n}")))
        .collect();
    let all: Vec<_> = all
        .iter()
        .map(|(n, a)| (n.as_str(), a.as_str(), "vnet-a"))
        .collect();
    balancer("lb", &all)
}

#[tokio::test(start_paused = true)]
async fn a_hundred_clusters_get_one_listing_for_30_seconds() {
    let arm = Arm::slow(3);
    let links = links(&arm);
    arm.list(LIST, vec![vec![many(100)], vec![]]);
    let all = (0..100).map(|n| links.frontend(&request(&format!("10.0.0.{n}"))));
    let answers = join_all(all).await;
    assert!(answers.iter().all(Result::is_ok));
    assert_eq!(arm.requests().len(), 2);
    // It was begun six seconds ago.
    tokio::time::sleep(Duration::from_secs(23)).await;
    links.frontend(&request("10.0.0.7")).await.unwrap();
    assert_eq!(arm.requests().len(), 2);
    tokio::time::sleep(Duration::from_secs(1)).await;
    links.frontend(&request("10.0.0.7")).await.unwrap();
    assert_eq!(arm.requests().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_new_frontend_is_looked_for_again_after_5_seconds() {
    let (links, arm) = world();
    arm.list(LIST, vec![vec![many(1)]]);
    links.frontend(&request("10.0.0.0")).await.unwrap();
    arm.list(LIST, vec![vec![many(2)]]);
    tokio::time::sleep(Duration::from_secs(5)).await;
    links.frontend(&request("10.0.0.1")).await.unwrap_err();
    assert_eq!(arm.requests().len(), 1);
    tokio::time::sleep(Duration::from_secs(1)).await;
    links.frontend(&request("10.0.0.1")).await.unwrap();
    assert_eq!(arm.requests().len(), 2);
    // The fresh one is kept in turn.
    links.frontend(&request("10.0.0.0")).await.unwrap();
    links.frontend(&request("10.0.0.9")).await.unwrap_err();
    assert_eq!(arm.requests().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_slow_listing_without_the_frontend_is_not_read_twice() {
    let arm = Arm::slow(20);
    arm.list(LIST, vec![vec![]]);
    let error = links(&arm).frontend(&request("10.0.0.1")).await;
    assert_eq!(error.unwrap_err().fault, AzureFault::NotFound);
    assert_eq!(arm.requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_failed_listing_is_shared_by_those_who_wait_and_not_kept() {
    let arm = Arm::slow(3);
    let links = links(&arm);
    arm.list(LIST, vec![vec![many(1)]]);
    arm.reply(
        "GET",
        Reply::Status(429, Some("7"), error("TooManyRequests", "slow")),
    );
    let answers = join_all((0..10).map(|_| links.frontend(&request("10.0.0.0")))).await;
    for answer in answers {
        let error = answer.unwrap_err();
        assert_eq!(error.fault, AzureFault::Throttled);
        assert_eq!(error.pause().as_secs(), 7);
    }
    assert_eq!(arm.requests().len(), 1);
    arm.recover();
    links.frontend(&request("10.0.0.0")).await.unwrap();
    assert_eq!(arm.requests().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_failed_second_look_is_an_error_and_keeps_nothing() {
    let (links, arm) = world();
    arm.list(LIST, vec![vec![many(1)]]);
    links.frontend(&request("10.0.0.0")).await.unwrap();
    tokio::time::sleep(Duration::from_secs(10)).await;
    arm.reply("GET", Reply::Status(503, None, json!({})));
    let error = links.frontend(&request("10.0.0.1")).await.unwrap_err();
    assert_eq!(error.fault, AzureFault::Other);
    arm.recover();
    arm.list(LIST, vec![vec![many(2)]]);
    links.frontend(&request("10.0.0.1")).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn another_caller_or_group_has_a_listing_of_its_own() {
    let (links, arm) = world();
    arm.list(LIST, vec![vec![many(1)]]);
    links.frontend(&request("10.0.0.0")).await.unwrap();
    let mut other = request("10.0.0.0");
    other.caller.namespace = "ns-2".to_owned();
    links.frontend(&other).await.unwrap();
    assert_eq!(arm.requests().len(), 2);
    // A namespace that may not use the identity sees nothing of what others have listed.
    other.caller.namespace = "forbidden".to_owned();
    let error = links.frontend(&other).await.unwrap_err();
    assert_eq!(error.fault, AzureFault::Denied);
    let mut other = request("10.0.0.0");
    other.resource_group = "rg-2".to_owned();
    arm.list(&LIST.replace("/rg/", "/rg-2/"), vec![vec![]]);
    links.frontend(&other).await.unwrap_err();
    assert_eq!(arm.requests().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_listing_that_one_cluster_gives_up_is_read_on_for_another() {
    let arm = Arm::slow(3);
    let links = links(&arm);
    arm.list(LIST, vec![vec![many(1)]]);
    let impatient = links.frontend(&request("10.0.0.0"));
    let given_up = tokio::time::timeout(Duration::from_secs(1), impatient).await;
    assert!(given_up.is_err());
    links.frontend(&request("10.0.0.0")).await.unwrap();
    assert_eq!(arm.requests().len(), 1);
}
