//! Which objects belong to a fleet.

use super::*;

#[test]
fn only_what_belongs_to_the_objects_found_is_adopted() {
    let [root, aro, _] = cluster();
    let mut found = found(std::slice::from_ref(&root));
    let child = owned_by(rg("child"), &aro);
    let carried = rg("rg");
    found.adopt(vec![rg("stranger"), child, carried.clone(), aro]);
    let names: Vec<&str> = found.objects.keys().map(|id| id.name.as_str()).collect();
    assert_eq!(names, ["c", "c", "child"]);
    found.adopt(vec![carried]);
    assert!(
        found.objects.keys().any(|id| id.name == "rg"),
        "the AROCluster carries it"
    );
}

#[test]
fn objects_made_by_controllers_are_not_expected() {
    let exports =
        json!({"operatorSpec": {"configMaps": {"principalId": {"name": "ids", "key": "p"}}}});
    let identity = object(
        "managedidentity.azure.com/v1api20230131",
        "UserAssignedIdentity",
        "i",
        &exports,
    );
    let role =
        json!({"principalIdFromConfig": {"name": "ids", "key": "p"}, "owner": {"armId": "/x"}});
    let role = object(
        "authorization.azure.com/v1api20220401",
        "RoleAssignment",
        "r",
        &role,
    );
    let mut found = Found::default();
    [identity, role]
        .into_iter()
        .for_each(|object| found.insert(object));
    let wanted: Vec<String> = found.wanted().iter().map(ToString::to_string).collect();
    assert_eq!(wanted, ["Namespace//ns"]);
    let kinds = found.made_kinds();
    assert!(kinds.contains(&("keyvault.azure.com".to_owned(), "Vault".to_owned())));
    let plain = Found::default();
    assert!(
        plain.made_kinds().is_empty(),
        "without owners no kind is created"
    );
}

#[test]
fn a_fleet_is_its_members_and_what_they_carry() {
    let set = ApplySet::new("prod", "capstan-system");
    let [root, aro, plane] = cluster().map(|part| member(part, &set));
    let failed = with_condition(rg("stray"), "Ready", "AuthorizationFailed", "no");
    let stray = member(failed, &set);
    let alien = with_condition(rg("alien"), "Ready", "AuthorizationFailed", "no");
    let objects = [
        namespace(),
        root,
        aro,
        plane,
        ready(rg("rg")),
        at_work(vault("rg")),
        stray,
        alien,
    ];
    let graph = StatusGraph::new(&found(&objects));
    let view = graph.fleet(&set, &Parent::default());
    assert_eq!((view.total(), view.count(Phase::Ready)), (7, 1));
    assert_eq!(
        (view.count(Phase::Retrying), view.count(Phase::NotMade)),
        (1, 1)
    );
    let stray = index(&graph, "ResourceGroup/ns/stray");
    let expected = Stray {
        blocker: stray,
        objects: vec![stray],
    };
    assert_eq!(view.strays, [expected]);
    let [cluster] = view.clusters.as_slice() else {
        unreachable!("one cluster");
    };
    assert_eq!(
        (cluster.ready, cluster.total, cluster.phase),
        (1, 6, Phase::Progressing)
    );
    let blocker = cluster.chain.as_ref().unwrap().blocker();
    assert_eq!(graph.id(blocker).to_string(), "Vault/ns/kv");
    assert!(!view.is_ready());
    assert_eq!(
        graph.fleet(&ApplySet::new("other", "x"), &Parent::default()),
        FleetView::default()
    );
}

#[test]
fn what_is_missing_is_named_beside_leftovers() {
    let set = ApplySet::new("prod", "capstan-system");
    let id = |name: &str| ObjectId::new("resources.azure.com", "ResourceGroup", "ns", name);
    let wanted = [id("a"), id("b"), id("c")];
    let parent = Parent {
        objects: Some(3),
        members: Members::of(wanted.iter()),
        ..Parent::default()
    };
    let view = |names: &[&str]| {
        let objects = names.iter().map(|name| member(ready(rg(name)), &set));
        let objects: Vec<Json> = std::iter::once(namespace()).chain(objects).collect();
        StatusGraph::new(&found(&objects)).fleet(&set, &parent)
    };
    let left = view(&["a", "old", "older"]);
    assert_eq!(left.absent, [id("b"), id("c")]);
    assert_eq!((left.missing, left.leftovers, left.broken), (2, 2, true));
    let whole = view(&["a", "b", "c", "old"]);
    assert_eq!((whole.missing, whole.leftovers), (0, 1));
    assert!(!whole.broken && whole.is_ready());
}

#[test]
fn what_only_carries_the_label_is_named_apart_and_counts_for_nothing() {
    let set = ApplySet::new("prod", "capstan-system");
    let id = |name: &str| ObjectId::new("resources.azure.com", "ResourceGroup", "ns", name);
    let parent = Parent {
        objects: Some(2),
        members: Members::of([id("a"), id("restored")].iter()),
        ..Parent::default()
    };
    let mut found = found(&[namespace(), member(ready(rg("a")), &set)]);
    let before = StatusGraph::new(&found).fleet(&set, &parent);
    let other = ApplySet::new("other", "capstan-system");
    for (name, of) in [("copy", &set), ("restored", &set), ("theirs", &other)] {
        let mut copy = with_condition(rg(name), "Ready", "AuthorizationFailed", "no");
        copy["metadata"]["labels"] = json!({PART_OF: of.id()});
        found.insert_labelled(copy);
    }
    let view = StatusGraph::new(&found).fleet(&set, &parent);
    assert_eq!(view.labelled, [id("copy")]);
    assert_eq!(
        view.absent,
        [id("restored")],
        "it is not the fleet's own yet"
    );
    let counted = FleetView {
        labelled: Vec::new(),
        ..view
    };
    assert_eq!(counted, before);
}

#[test]
fn a_list_that_names_only_some_objects_names_only_some_that_are_missing() {
    let set = ApplySet::new("prod", "capstan-system");
    let group = member(ready(rg("a")), &set);
    let id = |name: &str| ObjectId::new("resources.azure.com", "ResourceGroup", "ns", name);
    let parent = |objects| Parent {
        objects: Some(objects),
        members: Members::of([id("a"), id("b")].iter()),
        ..Parent::default()
    };
    let graph = StatusGraph::new(&found(&[namespace(), group]));
    let view = graph.fleet(&set, &parent(5));
    assert_eq!((view.unlisted, view.missing, view.leftovers), (3, 4, 0));
    assert_eq!(view.absent, [id("b")]);
    let view = graph.fleet(&set, &parent(2));
    assert_eq!((view.unlisted, view.missing), (0, 1));
}

/// What exists is ready in the form of an earlier revision.
#[test]
fn what_cannot_be_applied_has_failed() {
    let set = ApplySet::new("prod", "capstan-system");
    let group = member(ready(rg("a")), &set);
    let reason = |name: &str| Reason {
        object: format!("ResourceGroup/ns/{name}"),
        group: "resources.azure.com".to_owned(),
        message: "refused".to_owned(),
        ..Reason::default()
    };
    let parent = Parent {
        applying: "2".to_owned(),
        failed: Reasons {
            total: 2,
            first: vec![reason("a"), reason("absent")],
        },
        ..Parent::default()
    };
    let mut graph = StatusGraph::new(&found(&[namespace(), group]));
    assert!(graph.fleet(&set, &Parent::default()).is_ready());
    graph.fail(&parent.failed);
    let view = graph.fleet(&set, &parent);
    assert!(view.failed && view.broken && !view.is_ready());
    assert_eq!((view.count(Phase::Failed), view.total()), (1, 1));
    for name in ["a", "absent"] {
        let at = index(&graph, &format!("ResourceGroup/ns/{name}"));
        assert_eq!(graph.status(at).words(), "refused");
        assert!(graph.blocked(at).is_some());
    }
}

#[test]
fn a_fleet_without_its_newest_commit_is_not_ready() {
    let set = ApplySet::new("prod", "capstan-system");
    let graph = StatusGraph::new(&found(&[namespace()]));
    let view = |newest: Option<Newest>| {
        let parent = Parent {
            applying: "1".to_owned(),
            newest,
            ..Parent::default()
        };
        let view = graph.fleet(&set, &parent);
        (view.is_ready(), view.failed, view.broken)
    };
    assert_eq!(view(None), (true, false, false));
    assert_eq!(view(Some(Newest::refused("2", "no"))), (false, true, true));
    assert_eq!(
        view(Some(Newest::waiting("2", "wait"))),
        (false, false, false)
    );
    assert_eq!(
        view(Some(Newest::waiting("1", "wait"))),
        (true, false, false)
    );
}

/// The parent records a fleet of one object, which exists and is ready.
#[test]
fn a_fleet_is_ready_when_all_of_it_is_there() {
    let set = ApplySet::new("prod", "capstan-system");
    let group = member(ready(rg("a")), &set);
    let kind = ("resources.azure.com".to_owned(), "ResourceGroup".to_owned());
    let parent = |objects, applying: &str| Parent {
        kinds: [kind.clone()].into(),
        objects,
        applying: applying.to_owned(),
        applied: "1".to_owned(),
        ..Parent::default()
    };
    let mut found = found(&[namespace(), group]);
    for (parent, missing, ready) in [
        (parent(Some(1), "1"), 0, true),
        (parent(Some(3), "1"), 2, false),
        (parent(Some(1), "2"), 0, false),
        (parent(None, "2"), 0, true),
    ] {
        let view = StatusGraph::new(&found).fleet(&set, &parent);
        assert_eq!((view.missing, view.is_ready()), (missing, ready));
    }
    // What may not be read may well be there.
    found.errors.push(ReadError {
        group: kind.0.clone(),
        kind: kind.1.clone(),
        namespace: Some("other".to_owned()),
        name: None,
        reason: ReadErrorReason::Denied("list", "resourcegroups.resources.azure.com".to_owned()),
    });
    let view = StatusGraph::new(&found).fleet(&set, &parent(Some(3), "1"));
    assert_eq!((view.missing, view.is_ready()), (0, true));
}
