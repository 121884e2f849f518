//! What becomes of the dependents of an object that goes.
//!
//! The uid of an owner that never was is made up of digits, so that it reads as one.

use serde_json::{Value as Json, json};

use super::{behaviours, orbit, thing};
use crate::reply::Reply;
use crate::session::{Ask, GROUP, Session};

const NOBODY: &str = "11111111-2222-3333-4444-555555555555";

/// Makes a ConfigMap with these owners.
async fn config_map(s: &Session, name: &str, owners: &[Json]) -> Reply {
    let metadata = json!({"name": name, "ownerReferences": owners});
    let made = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata});
    let reply = s
        .send(Ask::new("POST", "configmaps").json(&made).silent())
        .await;
    assert_eq!(reply.status, 201, "{}", reply.text);
    reply
}

async fn a_thing(s: &Session, metadata: &Json) -> Reply {
    let made = json!({"apiVersion": format!("{GROUP}/v1"), "kind": "Thing", "metadata": metadata});
    let reply = s
        .send(Ask::new("POST", "things").json(&made).silent())
        .await;
    assert_eq!(reply.status, 201, "{}", reply.text);
    reply
}

/// A reference to what was just made.
fn owner(made: &Reply) -> Json {
    json!({"apiVersion": made.at("/apiVersion"), "kind": made.at("/kind"),
        "name": made.at("/metadata/name"), "uid": made.uid()})
}

fn blocking(made: &Reply) -> Json {
    let mut owner = owner(made);
    owner["blockOwnerDeletion"] = json!(true);
    owner
}

async fn gone(s: &Session, path: &str) {
    s.until(path, |reply| reply.status == 404).await;
}

/// Waits until the real server's collector has seen every object of these kinds: it forgets what hangs
/// on nobody, in the order of its events.
async fn seen(s: &Session, plurals: &[&str]) {
    let nobody = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "nobody", "uid": NOBODY});
    let metadata = json!({"name": "last-of-its-kind", "ownerReferences": [nobody]});
    for plural in plurals {
        let made = match *plural {
            "things" => {
                json!({"apiVersion": format!("{GROUP}/v1"), "kind": "Thing", "metadata": metadata})
            }
            _ => json!({"metadata": metadata}),
        };
        let reply = s.send(Ask::new("POST", plural).json(&made).silent()).await;
        assert_eq!(reply.status, 201, "{}", reply.text);
    }
    for plural in plurals {
        let path = format!("{plural}/last-of-its-kind");
        s.meet(&path, |reply| reply.status == 404).await;
    }
}

fn is_free(reply: &Reply) -> bool {
    reply.body["metadata"].get("ownerReferences").is_none()
}

fn policy(name: &str) -> Json {
    json!({"propagationPolicy": name})
}

async fn dependents_follow_in_the_background(s: &Session) {
    let owner_made = config_map(s, "owner", &[]).await;
    config_map(s, "dependent", &[owner(&owner_made)]).await;
    config_map(s, "free", &[]).await;
    s.delete("configmaps/owner").await;
    gone(s, "configmaps/dependent").await;
    s.get("configmaps/free").await;
}

async fn dependents_of_a_custom_object_follow(s: &Session) {
    s.install(&thing()).await;
    let owner_made = a_thing(s, &json!({"name": "owner"})).await;
    let middle = a_thing(
        s,
        &json!({"name": "middle", "ownerReferences": [owner(&owner_made)]}),
    )
    .await;
    config_map(s, "last", &[owner(&middle)]).await;
    s.delete_with("things/owner", &policy("Background")).await;
    gone(s, "things/middle").await;
    gone(s, "configmaps/last").await;
}

async fn dependents_go_first_in_the_foreground(s: &Session) {
    s.install(&thing()).await;
    let owner_made = config_map(s, "owner", &[]).await;
    let held = json!({"name": "held", "finalizers": ["capstan.dev/f"], "ownerReferences": [blocking(&owner_made)]});
    a_thing(s, &held).await;
    config_map(s, "dependent", &[blocking(&owner_made)]).await;
    seen(s, &["configmaps", "things"]).await;
    s.delete_with("configmaps/owner", &policy("Foreground"))
        .await;
    gone(s, "configmaps/dependent").await;
    s.until("things/held", |reply| {
        !reply.at("/metadata/deletionTimestamp").is_empty()
    })
    .await;
    s.get("configmaps/owner").await;
    s.merge("things/held", &json!({"metadata": {"finalizers": null}}))
        .await;
    gone(s, "configmaps/owner").await;
}

async fn only_who_blocks_is_waited_for(s: &Session) {
    s.install(&thing()).await;
    let owner_made = config_map(s, "owner", &[]).await;
    let held = json!({"name": "held", "finalizers": ["capstan.dev/f"], "ownerReferences": [owner(&owner_made)]});
    a_thing(s, &held).await;
    seen(s, &["configmaps", "things"]).await;
    s.delete_with("configmaps/owner", &policy("Foreground"))
        .await;
    gone(s, "configmaps/owner").await;
    s.until("things/held", |reply| {
        !reply.at("/metadata/deletionTimestamp").is_empty()
    })
    .await;
    s.merge("things/held", &json!({"metadata": {"finalizers": null}}))
        .await;
    s.get("things/held").await;
}

async fn a_chain_goes_from_its_end_in_the_foreground(s: &Session) {
    s.install(&thing()).await;
    let first = config_map(s, "first", &[]).await;
    let second = config_map(s, "second", &[blocking(&first)]).await;
    let last = json!({"name": "last", "finalizers": ["capstan.dev/f"], "ownerReferences": [blocking(&second)]});
    a_thing(s, &last).await;
    seen(s, &["configmaps", "things"]).await;
    s.delete_with("configmaps/first", &policy("Foreground"))
        .await;
    s.until("things/last", |reply| {
        !reply.at("/metadata/deletionTimestamp").is_empty()
    })
    .await;
    s.get("configmaps/second").await;
    s.get("configmaps/first").await;
    s.merge("things/last", &json!({"metadata": {"finalizers": null}}))
        .await;
    gone(s, "configmaps/second").await;
    gone(s, "configmaps/first").await;
}

async fn orphans_stay_without_their_owner(s: &Session) {
    s.install(&thing()).await;
    let owner_made = config_map(s, "owner", &[]).await;
    config_map(s, "dependent", &[blocking(&owner_made)]).await;
    a_thing(
        s,
        &json!({"name": "other", "ownerReferences": [owner(&owner_made)]}),
    )
    .await;
    seen(s, &["configmaps", "things"]).await;
    s.delete_with("configmaps/owner", &policy("Orphan")).await;
    gone(s, "configmaps/owner").await;
    s.until("configmaps/dependent", is_free).await;
    s.until("things/other", is_free).await;
}

async fn orphans_are_left_by_the_older_option(s: &Session) {
    let owner_made = config_map(s, "owner", &[]).await;
    config_map(s, "dependent", &[owner(&owner_made)]).await;
    seen(s, &["configmaps"]).await;
    s.delete_with("configmaps/owner", &json!({"orphanDependents": true}))
        .await;
    gone(s, "configmaps/owner").await;
    s.until("configmaps/dependent", is_free).await;
    let owner_made = config_map(s, "second", &[]).await;
    config_map(s, "follower", &[owner(&owner_made)]).await;
    s.delete_with("configmaps/second", &json!({"orphanDependents": false}))
        .await;
    gone(s, "configmaps/follower").await;
}

async fn one_owner_of_two_is_enough(s: &Session) {
    let (a, b) = (config_map(s, "a", &[]).await, config_map(s, "b", &[]).await);
    config_map(s, "dependent", &[owner(&a), owner(&b)]).await;
    s.delete("configmaps/a").await;
    let released = |reply: &Reply| {
        reply.body["metadata"]["ownerReferences"]
            .as_array()
            .is_some_and(|list| list.len() == 1)
    };
    s.until("configmaps/dependent", released).await;
    s.delete("configmaps/b").await;
    gone(s, "configmaps/dependent").await;
}

async fn an_owner_of_two_in_the_foreground_lets_go(s: &Session) {
    let (a, b) = (config_map(s, "a", &[]).await, config_map(s, "b", &[]).await);
    config_map(s, "dependent", &[blocking(&a), owner(&b)]).await;
    seen(s, &["configmaps"]).await;
    s.delete_with("configmaps/a", &policy("Foreground")).await;
    gone(s, "configmaps/a").await;
    let released = |reply: &Reply| {
        reply.body["metadata"]["ownerReferences"]
            .as_array()
            .is_some_and(|list| list.len() == 1)
    };
    s.until("configmaps/dependent", released).await;
}

async fn an_owner_that_is_not_there_takes_its_dependents_along(s: &Session) {
    let made = config_map(s, "owner", &[]).await;
    let mut absent = owner(&made);
    absent["uid"] = json!(NOBODY);
    config_map(s, "by-uid", &[absent.clone()]).await;
    gone(s, "configmaps/by-uid").await;
    config_map(s, "half", &[owner(&made), absent]).await;
    let released = |reply: &Reply| {
        reply.body["metadata"]["ownerReferences"]
            .as_array()
            .is_some_and(|list| list.len() == 1)
    };
    s.until("configmaps/half", released).await;
}

async fn an_owner_has_the_right_kind(s: &Session) {
    let made = config_map(s, "owner", &[]).await;
    let mut secret = owner(&made);
    secret["kind"] = json!("Secret");
    config_map(s, "dependent", &[secret]).await;
    gone(s, "configmaps/dependent").await;
    s.get("configmaps/owner").await;
}

async fn an_owner_lies_in_the_same_namespace(s: &Session) {
    let other = format!("{}-2", s.namespace);
    let made = json!({"metadata": {"name": other}});
    s.send(Ask::new("POST", "namespaces").json(&made).silent())
        .await;
    let owner_made = config_map(s, "owner", &[]).await;
    let path = format!("/api/v1/namespaces/{other}/configmaps");
    let metadata = json!({"name": "dependent", "ownerReferences": [owner(&owner_made)]});
    s.post(&path, &json!({"metadata": metadata})).await;
    gone(s, &format!("{path}/dependent")).await;
    s.get("configmaps/owner").await;
}

async fn an_owner_without_a_namespace_may_own_anywhere(s: &Session) {
    s.install(&orbit()).await;
    let made = json!({"apiVersion": format!("{GROUP}/v1"), "kind": "Orbit", "metadata": {"name": "owner-of-anything"}});
    let made = s.post("orbits", &made).await;
    config_map(s, "dependent", &[owner(&made)]).await;
    let metadata = json!({"name": "dependent-of-an-orbit", "ownerReferences": [owner(&made)]});
    s.post(
        "orbits",
        &json!({"apiVersion": format!("{GROUP}/v1"), "kind": "Orbit", "metadata": metadata}),
    )
    .await;
    s.delete("orbits/owner-of-anything").await;
    gone(s, "configmaps/dependent").await;
    gone(s, "orbits/dependent-of-an-orbit").await;
}

async fn an_owner_in_a_namespace_owns_nothing_outside(s: &Session) {
    s.install(&orbit()).await;
    let owner_made = config_map(s, "owner", &[]).await;
    let metadata =
        json!({"name": "owned-from-a-namespace", "ownerReferences": [owner(&owner_made)]});
    s.post(
        "orbits",
        &json!({"apiVersion": format!("{GROUP}/v1"), "kind": "Orbit", "metadata": metadata}),
    )
    .await;
    config_map(s, "witness", &[owner(&owner_made)]).await;
    s.delete("configmaps/owner").await;
    gone(s, "configmaps/witness").await;
    s.get("orbits/owned-from-a-namespace").await;
    s.send(Ask::new("DELETE", "orbits/owned-from-a-namespace").silent())
        .await;
}

async fn an_owner_of_an_unknown_kind_is_believed(s: &Session) {
    let unknown = json!({"apiVersion": "nowhere.capstan.dev/v1", "kind": "Nothing", "name": "o", "uid": NOBODY});
    config_map(s, "dependent", &[unknown]).await;
    let owner_made = config_map(s, "owner", &[]).await;
    config_map(s, "witness", &[owner(&owner_made)]).await;
    s.delete("configmaps/owner").await;
    gone(s, "configmaps/witness").await;
    s.get("configmaps/dependent").await;
}

async fn a_dependent_of_what_goes_in_a_collection_follows(s: &Session) {
    s.install(&thing()).await;
    let owner_made = a_thing(s, &json!({"name": "owner", "labels": {"l": "1"}})).await;
    config_map(s, "dependent", &[owner(&owner_made)]).await;
    s.delete("things?labelSelector=l%3D1&propagationPolicy=Foreground")
        .await;
    gone(s, "things/owner").await;
    gone(s, "configmaps/dependent").await;
}

async fn an_object_may_ask_for_the_foreground_itself(s: &Session) {
    config_map(s, "owner", &[]).await;
    let held = json!({"metadata": {"finalizers": ["foregroundDeletion"]}});
    s.merge("configmaps/owner", &held).await;
    s.delete("configmaps/owner").await;
    gone(s, "configmaps/owner").await;
    let owner_made = config_map(s, "owner", &[]).await;
    config_map(s, "dependent", &[owner(&owner_made)]).await;
    s.merge(
        "configmaps/owner",
        &json!({"metadata": {"finalizers": ["orphan"]}}),
    )
    .await;
    s.delete_with("configmaps/owner", &policy("Background"))
        .await;
    gone(s, "configmaps/dependent").await;
}

async fn a_change_of_owners_is_seen(s: &Session) {
    config_map(s, "dependent", &[]).await;
    let owner_made = config_map(s, "owner", &[]).await;
    s.merge(
        "configmaps/dependent",
        &json!({"metadata": {"ownerReferences": [owner(&owner_made)]}}),
    )
    .await;
    config_map(s, "released", &[owner(&owner_made)]).await;
    s.merge(
        "configmaps/released",
        &json!({"metadata": {"ownerReferences": null}}),
    )
    .await;
    s.delete("configmaps/owner").await;
    gone(s, "configmaps/dependent").await;
    s.get("configmaps/released").await;
}

behaviours! { Controllers:
    dependents_follow_in_the_background,
    dependents_of_a_custom_object_follow,
    dependents_go_first_in_the_foreground,
    only_who_blocks_is_waited_for,
    a_chain_goes_from_its_end_in_the_foreground,
    orphans_stay_without_their_owner,
    orphans_are_left_by_the_older_option,
    one_owner_of_two_is_enough,
    an_owner_of_two_in_the_foreground_lets_go,
    an_owner_that_is_not_there_takes_its_dependents_along,
    an_owner_has_the_right_kind,
    an_owner_lies_in_the_same_namespace,
    an_owner_without_a_namespace_may_own_anywhere,
    an_owner_in_a_namespace_owns_nothing_outside,
    an_owner_of_an_unknown_kind_is_believed,
    a_dependent_of_what_goes_in_a_collection_follows,
    an_object_may_ask_for_the_foreground_itself,
    a_change_of_owners_is_seen,
}
