//! What becomes of the resources of objects whose Cluster is gone.

use serde_json::{Value, json};

use crate::api::capi::{DELETE_FOR_MOVE, PAUSED};
use crate::api::conditions as c;
use crate::api::labels::{CLUSTER_DELETED, DELETE_IN_AZURE, KEEP_IN_AZURE, RECONCILE_POLICY, SKIP};
use crate::health::Live;
use crate::model::ObjectId;
use crate::reconcile::bench::Bench;
use crate::reconcile::links::owned_by;
use crate::reconcile::outcome::Need;
use crate::reconcile::world::GroupKind;

const OWNERS: [&str; 2] = ["AROControlPlane", "AROCluster"];
/// What the owners have in Azure.
const RESOURCES: [(&str, &str); 3] = [
    ("HcpOpenShiftCluster", "c"),
    ("Vault", "vault"),
    ("ResourceGroup", "rg"),
];

/// A cluster whose resources Azure Service Operator holds on to while it deletes them.
fn whole() -> Bench {
    let mut bench = Bench::new();
    bench.provision();
    for (kind, name) in RESOURCES {
        bench.edit(kind, name, |object| {
            object["metadata"]["finalizers"] = json!(["serviceoperator.azure.com/finalizer"]);
        });
    }
    bench.rest();
    bench.warnings();
    bench
}

/// Somebody deletes the Cluster, which Cluster API holds on to.
fn delete_cluster(bench: &mut Bench) {
    bench.edit("Cluster", "c", |cluster| {
        cluster["metadata"]["finalizers"] = json!(["cluster.cluster.x-k8s.io"]);
        cluster["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    });
    bench.rest();
}

/// The Cluster disappears, and garbage collection deletes what it owned.
fn lose_cluster(bench: &mut Bench) {
    let id = Live(&bench.live("Cluster", "c")).id();
    bench.fixture.snapshot.remove(&id);
    for owner in OWNERS {
        bench.delete(owner, "c");
    }
    bench.wait(60);
}

/// What is being deleted, each with its policy.
fn going(bench: &Bench) -> Vec<(&'static str, String)> {
    let there = RESOURCES
        .iter()
        .filter_map(|(kind, name)| Some((*kind, bench.find(kind, name)?)));
    let policy = |object: &Value| Live(object).annotation(RECONCILE_POLICY).to_owned();
    there
        .filter(|(_, object)| Live(object).is_deleting())
        .map(|(kind, object)| (kind, policy(&object)))
        .collect()
}

fn policies(bench: &Bench) -> Vec<String> {
    let policy = |(kind, name): &(&str, &str)| {
        let object = bench.live(kind, name);
        Live(&object).annotation(RECONCILE_POLICY).to_owned()
    };
    RESOURCES.iter().map(policy).collect()
}

/// Azure Service Operator lets go of what is being deleted, one after the other, until nothing is left.
fn finish(bench: &mut Bench) -> Vec<(&'static str, String)> {
    let mut gone = Vec::new();
    for _ in 0..6 {
        for (kind, policy) in going(bench) {
            let (_, name) = RESOURCES
                .iter()
                .find(|(known, _)| *known == kind)
                .expect("known");
            bench.edit(kind, name, |object| {
                object["metadata"]["finalizers"] = json!([]);
            });
            bench.delete(kind, name);
            gone.push((kind, policy));
        }
        bench.wait(60);
    }
    gone
}

fn command(bench: &mut Bench, kind: &str, annotation: &str) {
    bench.edit(kind, "c", |owner| {
        let uid = owner["metadata"]["uid"].clone();
        owner["metadata"]["annotations"][annotation] = uid;
    });
}

#[test]
fn a_cluster_that_disappears_takes_nothing_along_in_azure() {
    for is_paused in [false, true] {
        let mut bench = whole();
        bench.edit("Cluster", "c", |cluster| {
            cluster["spec"]["paused"] = json!(is_paused);
        });
        bench.rest();
        lose_cluster(&mut bench);
        assert_eq!(going(&bench), [], "{is_paused}");
        assert_eq!(policies(&bench), [SKIP; 3], "{is_paused}");
        assert_eq!(
            bench.warnings(),
            [c::CLUSTER_NOT_FOUND; 2],
            "one of each owner"
        );
        for owner in OWNERS {
            let (status, reason, message) = bench.condition(owner, c::READY);
            let uid = bench.live(owner, "c")["metadata"]["uid"].clone();
            let uid = uid.as_str().unwrap_or_default();
            assert_eq!(
                (status.as_str(), reason.as_str()),
                ("False", c::CLUSTER_NOT_FOUND)
            );
            for annotation in [KEEP_IN_AZURE, DELETE_IN_AZURE] {
                let command = format!(
                    "`kubectl annotate {} c --namespace ns {annotation}={uid}`",
                    owner.to_lowercase()
                );
                assert!(message.contains(&command), "{message}");
            }
            assert!(bench.decide(owner).writes.is_empty(), "it is said once");
        }
    }
}

#[test]
fn a_cluster_that_was_seen_being_deleted_takes_everything_along() {
    let mut bench = whole();
    delete_cluster(&mut bench);
    // Only what is on the objects is known later: the controllers remember nothing.
    lose_cluster(&mut bench);
    let gone = finish(&mut bench);
    assert_eq!(gone.len(), RESOURCES.len());
    assert!(gone.iter().all(|(_, policy)| policy != SKIP), "{gone:?}");
    for owner in OWNERS {
        assert_eq!(bench.find(owner, "c"), None, "{owner}");
    }
}

#[test]
fn what_was_paused_when_its_cluster_disappeared_stays() {
    let mut bench = whole();
    bench.edit("Cluster", "c", |cluster| {
        cluster["spec"]["paused"] = json!(true);
    });
    delete_cluster(&mut bench);
    lose_cluster(&mut bench);
    assert_eq!(going(&bench), []);
    assert_eq!(policies(&bench), [SKIP; 3]);
}

/// A move broke off while it deleted what it had moved.
#[test]
fn what_is_paused_itself_when_its_cluster_is_gone_asks_and_obeys() {
    let cases = [PAUSED, DELETE_FOR_MOVE]
        .into_iter()
        .flat_map(|mark| [(mark, KEEP_IN_AZURE), (mark, DELETE_IN_AZURE)]);
    for (mark, annotation) in cases {
        let mut bench = whole();
        for owner in OWNERS {
            bench.edit(owner, "c", |owner| {
                owner["metadata"]["annotations"][mark] = json!("");
            });
        }
        delete_cluster(&mut bench);
        bench.warnings();
        lose_cluster(&mut bench);
        assert_eq!(going(&bench), [], "{mark}");
        assert_eq!(policies(&bench), [SKIP; 3], "{mark}");
        assert_eq!(bench.warnings(), [c::CLUSTER_NOT_FOUND; 2], "{mark}");
        for owner in OWNERS {
            let (_, reason, message) = bench.condition(owner, c::READY);
            assert_eq!(reason, c::CLUSTER_NOT_FOUND);
            assert!(message.contains(annotation), "{message}");
            command(&mut bench, owner, annotation);
        }
        bench.wait(60);
        let gone = finish(&mut bench);
        assert_eq!(gone.len(), RESOURCES.len(), "{mark} {annotation}");
        let stays = annotation == KEEP_IN_AZURE;
        assert!(gone.iter().all(|(_, policy)| (policy == SKIP) == stays));
        for owner in OWNERS {
            assert_eq!(bench.find(owner, "c"), None, "{owner}");
        }
    }
}

/// The pause is not on record yet when the Cluster is gone already, and goes before a person decides.
#[test]
fn a_pause_that_began_with_the_loss_of_the_cluster_counts_for_good() {
    let mut bench = whole();
    delete_cluster(&mut bench);
    let mark = |bench: &mut Bench, mark: Value| {
        for owner in OWNERS {
            bench.edit(owner, "c", |owner| {
                owner["metadata"]["annotations"][PAUSED] = mark.clone();
            });
        }
    };
    mark(&mut bench, json!(""));
    lose_cluster(&mut bench);
    assert_eq!(going(&bench), []);
    mark(&mut bench, Value::Null);
    bench.wait(60);
    assert_eq!(going(&bench), []);
    assert_eq!(policies(&bench), [SKIP; 3]);
    for owner in OWNERS {
        assert_eq!(bench.reason(owner, c::READY), c::CLUSTER_NOT_FOUND);
    }
}

#[test]
fn a_person_leaves_azure_as_it_is() {
    let mut bench = whole();
    lose_cluster(&mut bench);
    for owner in OWNERS {
        command(&mut bench, owner, KEEP_IN_AZURE);
    }
    bench.wait(60);
    let gone = finish(&mut bench);
    assert_eq!(gone.len(), RESOURCES.len());
    assert!(gone.iter().all(|(_, policy)| policy == SKIP), "{gone:?}");
    for owner in OWNERS {
        assert_eq!(bench.find(owner, "c"), None, "{owner}");
    }
}

#[test]
fn a_person_deletes_in_azure_too() {
    let mut bench = whole();
    lose_cluster(&mut bench);
    for owner in OWNERS {
        command(&mut bench, owner, DELETE_IN_AZURE);
    }
    bench.wait(60);
    let gone = finish(&mut bench);
    assert_eq!(gone.len(), RESOURCES.len());
    assert!(gone.iter().all(|(_, policy)| policy != SKIP), "{gone:?}");
    for owner in OWNERS {
        assert_eq!(bench.find(owner, "c"), None, "{owner}");
    }
}

/// Copies of an object have its annotations, and another uid.
#[test]
fn a_command_and_a_record_are_good_for_one_object_and_one_cluster() {
    for annotation in [KEEP_IN_AZURE, DELETE_IN_AZURE, CLUSTER_DELETED] {
        let mut bench = whole();
        for owner in OWNERS {
            bench.edit(owner, "c", |owner| {
                owner["metadata"]["annotations"][annotation] = json!("uid-of-another");
            });
        }
        let id = Live(&bench.live("Cluster", "c")).id();
        bench.fixture.snapshot.remove(&id);
        lose(&mut bench);
        assert_eq!(going(&bench), [], "{annotation}");
    }
}

fn lose(bench: &mut Bench) {
    for owner in OWNERS {
        bench.delete(owner, "c");
    }
    bench.wait(60);
}

#[test]
fn a_cluster_of_the_same_name_that_came_later_is_another_one() {
    let mut bench = whole();
    delete_cluster(&mut bench);
    let record = |bench: &Bench| {
        let owner = bench.live("AROCluster", "c");
        Live(&owner).annotation(CLUSTER_DELETED).to_owned()
    };
    let recorded = record(&bench);
    assert!(!recorded.is_empty());
    let mut later = bench.live("Cluster", "c");
    let id: ObjectId = Live(&later).id();
    bench.fixture.snapshot.remove(&id);
    for part in ["uid", "deletionTimestamp", "finalizers"] {
        later["metadata"]
            .as_object_mut()
            .map(|all| all.remove(part));
    }
    bench.put(later);
    bench.rest();
    assert_eq!(record(&bench), recorded, "it says nothing of the first one");
    lose(&mut bench);
    assert!(!going(&bench).is_empty(), "the first one was deleted");
    let mut bench = whole();
    let mut later = bench.live("Cluster", "c");
    bench.fixture.snapshot.remove(&id);
    later["metadata"]
        .as_object_mut()
        .map(|all| all.remove("uid"));
    bench.put(later);
    lose(&mut bench);
    assert_eq!(
        going(&bench),
        [],
        "garbage collection deletes the old one's"
    );
}

/// Cluster API makes what it refers to its own, also what is being deleted.
#[test]
fn a_cluster_that_came_after_the_deletion_takes_nothing_along_in_azure() {
    let mut bench = whole();
    let mut later = bench.live("Cluster", "c");
    bench.fixture.snapshot.remove(&Live(&later).id());
    for owner in OWNERS {
        bench.delete(owner, "c");
    }
    later["metadata"]["uid"] = Value::Null;
    let now = bench.fixture.now.to_string();
    later["metadata"]["creationTimestamp"] = json!(now);
    bench.put(later);
    let cluster = bench.live("Cluster", "c");
    for owner in OWNERS {
        bench.edit(owner, "c", |owner| {
            owner["metadata"]["ownerReferences"] = json!([owned_by(Live(&cluster), true)]);
        });
    }
    bench.wait(60);
    assert_eq!(going(&bench), []);
    assert_eq!(policies(&bench), [SKIP; 3]);
    for owner in OWNERS {
        assert_eq!(bench.reason(owner, c::READY), c::CLUSTER_NOT_FOUND);
    }
}

#[test]
fn a_cluster_that_lives_takes_the_record_of_another_one_away() {
    let mut bench = whole();
    bench.edit("AROCluster", "c", |owner| {
        owner["metadata"]["annotations"][CLUSTER_DELETED] = json!("uid-elsewhere");
    });
    bench.rest();
    let owner = bench.live("AROCluster", "c");
    assert_eq!(Live(&owner).annotation(CLUSTER_DELETED), "");
}

/// An identity that owns the control plane keeps garbage collection from it.
#[test]
fn what_is_not_deleted_with_its_cluster_says_what_to_do() {
    let mut bench = whole();
    let id = Live(&bench.live("Cluster", "c")).id();
    bench.fixture.snapshot.remove(&id);
    bench.edit("AROControlPlane", "c", |plane| {
        plane["metadata"]["ownerReferences"] = json!([]);
    });
    bench.rest();
    let (_, reason, message) = bench.condition("AROControlPlane", c::READY);
    assert_eq!(reason, c::CLUSTER_NOT_FOUND);
    let delete = "Then delete the object: `kubectl delete arocontrolplane c --namespace ns`";
    assert!(
        message.contains(KEEP_IN_AZURE) && message.ends_with(delete),
        "{message}"
    );
    bench.delete("AROControlPlane", "c");
    bench.wait(60);
    assert_eq!(going(&bench), [], "without a command");
    assert_eq!(policies(&bench)[0], SKIP);
    command(&mut bench, "AROControlPlane", KEEP_IN_AZURE);
    bench.wait(60);
    let kept = ("HcpOpenShiftCluster", SKIP.to_owned());
    assert_eq!(going(&bench), [kept]);
}

/// After a restart its kinds are watched only once somebody needs them.
#[test]
fn nothing_is_decided_before_it_is_known_what_there_is() {
    for is_deleted in [true, false] {
        let mut bench = whole();
        let id = Live(&bench.live("Cluster", "c")).id();
        bench.fixture.snapshot.remove(&id);
        if is_deleted {
            bench.delete("AROCluster", "c");
        }
        let vault = Live(&bench.live("Vault", "vault")).id();
        for (kind, name) in RESOURCES {
            let id = Live(&bench.live(kind, name)).id();
            bench.fixture.snapshot.remove(&id);
            bench.fixture.snapshot.synced.remove(&GroupKind::from(&id));
        }
        let needs = bench.decide("AROCluster").needs;
        let needed = Need::Synced(GroupKind::from(&vault));
        assert!(needs.contains(&needed), "{is_deleted}: {needs:?}");
    }
}

#[test]
fn what_has_nothing_in_azure_goes_with_its_cluster() {
    let mut bench = Bench::new();
    bench.edit("AROCluster", "c", |owner| {
        owner["metadata"]["finalizers"] = json!(["arocluster/finalizer"]);
    });
    lose_cluster(&mut bench);
    assert_eq!(bench.find("AROCluster", "c"), None);
}
