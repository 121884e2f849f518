//! Fleets that move on a simulated API server.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::{Method, Request, Response};
use jiff::Timestamp;
use kube::api::PostParams;
use kube::client::Body;
use kube_sim::{Server as Sim, SimClock};
use tower::ServiceExt as _;

use super::*;
use crate::plan::MANAGER;

fn sets() -> (ApplySet, ApplySet) {
    let from = ApplySet::new("old", "one");
    (from, ApplySet::new("new", "two"))
}

fn sim() -> Sim {
    Sim::new(Arc::new(SimClock::new(Timestamp::UNIX_EPOCH, 1)))
}

/// A client of which the request after `count` writes fails, and all that follow.
fn cut_off(server: &Sim, count: usize) -> Client {
    let (router, writes) = (server.router(), Arc::new(AtomicUsize::new(0)));
    let service = tower::service_fn(move |request: Request<Body>| {
        let (router, writes) = (router.clone(), Arc::clone(&writes));
        async move {
            let is_write = request.method() != Method::GET;
            let before = writes.fetch_add(usize::from(is_write), Ordering::Relaxed);
            if before + usize::from(is_write) > count {
                return Err("the line was cut off".into());
            }
            let (head, body) = router.oneshot(request).await?.into_parts();
            let body = axum::body::to_bytes(body, usize::MAX).await?;
            Ok::<_, Box<dyn std::error::Error + Send + Sync>>(Response::from_parts(
                head,
                Body::from(body),
            ))
        }
    });
    Client::new(service, "default")
}

fn maps(client: &Client) -> Api<ConfigMap> {
    Api::namespaced(client.clone(), "one")
}

/// Three members of the first fleet, a copy of one that is none, and the record of approvals.
async fn fleet(client: &Client) {
    let (from, _) = sets();
    for namespace in ["one", "two"] {
        parent::make_namespace(client, namespace).await.unwrap();
    }
    let mut known = Parent {
        applying: "a1".to_owned(),
        applied: "a1".to_owned(),
        ..Parent::default()
    };
    known.kinds.insert((String::new(), "ConfigMap".to_owned()));
    parent::write(client, &from, &known, "").await.unwrap();
    let beside = json!({"data": {APPROVALS: "record"}, "metadata": {"annotations": {labels::SUSPENDED: "then"}}});
    patch_parent(client, &from, DAEMON, beside).await.unwrap();
    for name in ["a", "b", "c"] {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"k": "v"},
            "metadata": {"name": name, "namespace": "one",
                "labels": {labels::PART_OF: from.id()}, "annotations": {labels::APPLIED: "h"}}});
        let params = PatchParams::apply(MANAGER).force();
        let applied = maps(client)
            .patch(name, &params, &Patch::Apply(&object))
            .await;
        applied.unwrap();
    }
    let copy = json!({"metadata": {"name": "copy", "labels": {labels::PART_OF: from.id()}}});
    let copy = serde_json::from_value(copy).unwrap();
    maps(client)
        .create(&PostParams::default(), &copy)
        .await
        .unwrap();
}

/// The uid of each object, and the fleet that it is a member of.
async fn members(client: &Client) -> BTreeMap<String, (String, &'static str)> {
    let (from, to) = sets();
    let all = maps(client).list(&ListParams::default()).await.unwrap();
    let all = all.items.into_iter().map(|object| {
        let live = serde_json::to_value(object).unwrap();
        let fleet = [(&from, "old"), (&to, "new")];
        let fleet = fleet
            .into_iter()
            .find(|(set, _)| apply::is_member(&live, &set.id()));
        let id = Live(&live);
        (
            id.name().to_owned(),
            (id.uid().to_owned(), fleet.map_or("", |(_, name)| name)),
        )
    });
    all.filter(|(name, _)| !name.starts_with("capstan-"))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_move_can_be_cut_off_after_any_write_and_begun_again() {
    let (from, to) = sets();
    let mut count = 0;
    loop {
        let server = sim();
        let client = server.client("default");
        fleet(&client).await;
        let before = members(&client).await;
        let is_whole = adopt(&cut_off(&server, count), &from, &to, false)
            .await
            .is_ok();
        adopt(&client, &from, &to, false).await.unwrap();
        let after = members(&client).await;
        for (name, (uid, fleet)) in &after {
            let expected = if name == "copy" { "" } else { "new" };
            assert_eq!(
                (uid, *fleet),
                (&before[name].0, expected),
                "{name} after {count} writes"
            );
        }
        assert_eq!(after.len(), 4, "nothing was deleted");
        assert!(parent_of(&client, &from).await.unwrap().is_none());
        let parent = parent_of(&client, &to).await.unwrap().unwrap();
        assert_eq!(
            parent.data.as_ref().unwrap()[APPROVALS],
            "record",
            "after {count} writes"
        );
        let json = serde_json::to_value(&parent).unwrap();
        let parent = Parent::read(&to, &json).unwrap();
        assert_eq!(
            (&*parent.applied, &*parent.suspended),
            ("a1", "then"),
            "after {count} writes"
        );
        assert!(parent.namespaces.contains("one"));
        if is_whole {
            break;
        }
        count += 1;
    }
    // The parent in two writes, each member in two, and the removal.
    assert_eq!(count, 2 + 3 * 2 + 1);
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_names_the_members_and_writes_nothing() {
    let (from, to) = sets();
    let server = sim();
    fleet(&server.client("default")).await;
    let client = cut_off(&server, 0);
    let moved = adopt(&client, &from, &to, true).await.unwrap();
    let names: Vec<String> = moved.members.iter().map(ToString::to_string).collect();
    assert_eq!(
        names,
        ["ConfigMap/one/a", "ConfigMap/one/b", "ConfigMap/one/c"]
    );
    let moved = adopt(&client, &to, &from, true).await.unwrap();
    assert_eq!(moved, Moved::default(), "there is no such fleet");
}

#[tokio::test(start_paused = true)]
async fn a_second_fleet_keeps_what_it_has() {
    let (from, to) = sets();
    let client = sim().client("default");
    fleet(&client).await;
    let there = Parent {
        applying: "b1".to_owned(),
        kinds: [("apps".to_owned(), "Deployment".to_owned())].into(),
        ..Parent::default()
    };
    parent::write(&client, &to, &there, "").await.unwrap();
    adopt(&client, &from, &to, false).await.unwrap();
    let (parent, _) = parent::read(&client, &to).await.unwrap().unwrap();
    assert_eq!((&*parent.applying, parent.kinds.len()), ("b1", 2));
}

/// Writes the Lease of the first fleet.
async fn hold(client: &Client, name: &str, renewed: &str, seconds: Option<i32>) {
    let (from, _) = sets();
    let lease = format!("one/{name}");
    let named = json!({"metadata": {"annotations": {labels::LEASE: lease}}});
    patch_parent(client, &from, DAEMON, named).await.unwrap();
    let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": name, "namespace": "one"},
        "spec": {"holderIdentity": "pod-1", "leaseDurationSeconds": seconds, "renewTime": renewed}});
    let api: Api<Lease> = Api::namespaced(client.clone(), "one");
    let params = PatchParams::apply("test").force();
    api.patch(name, &params, &Patch::Apply(&lease))
        .await
        .unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_is_renewed_has_a_daemon_behind_it() {
    let (from, to) = sets();
    let client = sim().client("default");
    assert_eq!(server(&client, &to).await.unwrap(), Server::Nobody);
    fleet(&client).await;
    assert_eq!(server(&client, &from).await.unwrap(), Server::Unknown);
    for (lasts, waited) in [(Some(10), 12), (None, 16), (Some(1000), 302)] {
        hold(&client, "capstan-old", "1970-01-01T00:00:00.000000Z", lasts).await;
        let start = tokio::time::Instant::now();
        assert_eq!(
            server(&client, &from).await.unwrap(),
            Server::Nobody,
            "it is dead"
        );
        assert_eq!(start.elapsed().as_secs(), waited);
    }
    let renewing = async {
        tokio::time::sleep(Duration::from_secs(3)).await;
        hold(
            &client,
            "capstan-old",
            "1970-01-01T00:00:03.000000Z",
            Some(15),
        )
        .await;
    };
    let (found, ()) = tokio::join!(server(&client, &from), renewing);
    let expected = Server::Process {
        holder: "pod-1".to_owned(),
        lease: "one/capstan-old".to_owned(),
    };
    assert_eq!(found.unwrap(), expected);
    // A process that follows Fleet objects lives on when one of them is deleted.
    hold(
        &client,
        "capstan-sync-default",
        "1970-01-01T00:00:03.000000Z",
        Some(15),
    )
    .await;
    let start = tokio::time::Instant::now();
    assert_eq!(server(&client, &from).await.unwrap(), Server::Nobody);
    assert_eq!(start.elapsed().as_secs(), 0);
}
