//! What the fleet has and could not be applied, as its parent says.

use std::collections::BTreeMap;

use super::*;
use crate::model::ObjectId;

const WHY: &str = "a policy of the cluster refused it";

fn set() -> ApplySet {
    ApplySet::new("prod", "capstan-system")
}

fn member(mut object: Json) -> Json {
    object["metadata"]["labels"] = json!({PART_OF: set().id()});
    object
}

/// A parent of which these fail.
fn parent(objects: usize, failing: &[&Json]) -> Parent {
    let id = |object: &&Json| (crate::health::Live(object).id(), WHY.to_owned());
    Parent {
        objects: Some(objects),
        failing: failing.iter().map(id).collect(),
        ..Parent::default()
    }
}

/// What a survey brings of these, and the fleet it makes.
fn looked(objects: &[Json], parent: &Parent) -> (Scene, FleetView) {
    let failing: BTreeMap<ObjectId, String> = parent.failing.clone();
    let scene = Scene::new(&Found {
        failing,
        ..found(objects)
    });
    let view = scene.fleet(&set(), parent);
    (scene, view)
}

#[test]
fn a_fleet_of_which_nothing_was_made_is_not_ready() {
    let refused = [rg("a"), rg("b")];
    let (scene, view) = looked(&[], &parent(3, &[&refused[0], &refused[1]]));
    assert!(!view.is_ready());
    assert_eq!((view.total(), view.missing), (2, 3), "one only waits");
    let (name, cause) = blocker(&scene, "ResourceGroup/ns/a");
    assert_eq!(name, "ResourceGroup/ns/a");
    assert_eq!(cause.phase, Phase::Missing);
    assert_eq!(cause.words(), format!("NotApplied: {WHY}"));
    assert_eq!(
        scene.help(view.strays[0].blocker, Timestamp::UNIX_EPOCH),
        ""
    );
}

#[test]
fn what_is_there_otherwise_than_the_fleet_has_it_is_not_ready() {
    let old = member(ready(rg("a")));
    let (scene, view) = looked(&[namespace(), old.clone()], &parent(1, &[&old]));
    assert!(!view.is_ready());
    assert_eq!((view.count(Phase::Retrying), view.missing), (1, 0));
    assert_eq!(blocker(&scene, "ResourceGroup/ns/a").1.message, WHY);
    let (_, view) = looked(&[namespace(), old], &parent(1, &[]));
    assert!(view.is_ready());
}

#[test]
fn a_revision_that_is_being_applied_is_not_ready_where_the_parent_counts() {
    let applying = Parent {
        applying: "2".to_owned(),
        applied: "1".to_owned(),
        ..parent(1, &[])
    };
    let objects = [namespace(), member(ready(rg("a")))];
    assert!(!looked(&objects, &applying).1.is_ready());
    let older = Parent {
        objects: None,
        ..applying
    };
    assert!(looked(&objects, &older).1.is_ready());
}

#[test]
fn a_part_that_was_refused_is_told_with_its_cluster_alone() {
    let [root, aro, plane] = cluster();
    let objects = [
        namespace(),
        member(root),
        member(ready(aro)),
        ready(rg("rg")),
        ready(vault("rg")),
    ];
    let (scene, view) = looked(&objects, &parent(3, &[&plane]));
    let chain = view.clusters[0].chain.as_ref().unwrap();
    assert_eq!(
        scene.id(chain.blocker()).to_string(),
        "AROControlPlane/ns/c"
    );
    assert_eq!(view.clusters[0].phase, Phase::Missing);
    assert_eq!((view.strays.len(), view.missing), (0, 1));
}
