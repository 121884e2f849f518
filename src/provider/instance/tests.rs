#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::*;

fn definition(name: &str, id: &str) -> String {
    format!(
        "apiVersion: capstan.dev/v1alpha1\nkind: ClusterDefinition\nmetadata: {{name: {name}, namespace: ns, labels: {{managed-by: dcm, dcm-service-type: cluster, dcm-instance-id: \"{id}\"}}}}\n"
    )
}

fn tree(files: &[(&str, &str)]) -> Tree {
    let files = files
        .iter()
        .map(|(path, text)| (Arc::from(*path), text.as_bytes().into()));
    Tree {
        files: files.collect(),
        ..Tree::default()
    }
}

fn hosted(name: &str, id: &str) -> Hosted {
    let labels = json!({"managed-by": "dcm", "dcm-service-type": "cluster", "dcm-instance-id": id});
    let cluster = json!({"metadata": {"name": name, "namespace": "ns", "labels": labels}});
    Hosted {
        cluster: Arc::new(cluster),
        pools: Vec::new(),
    }
}

#[test]
fn files_name_instances_and_every_cluster() {
    let two = definition("b", "2") + "---\n" + &definition("c", "3");
    let index = TreeIndex::of(&tree(&[
        ("a.yaml", &definition("a", "1")),
        ("b.yaml", &two),
        (
            "hand.yaml",
            "kind: ClusterDefinition\nmetadata: {name: hand}\n",
        ),
        (
            "raw.yaml",
            "kind: HostedCluster\nmetadata: {name: raw, namespace: ns}\n",
        ),
        (
            "list.yaml",
            "kind: List\nitems: [{kind: HostedCluster, metadata: {name: item}}]\n",
        ),
        (
            "broken.yaml",
            "kind: ClusterDefinition\nmetadata: {name: [}\n",
        ),
    ]));
    let alone: Vec<_> = index
        .instances
        .iter()
        .map(|(id, it)| (&**id, it.is_alone))
        .collect();
    assert_eq!(alone, [("1", true), ("2", false), ("3", false)]);
    let names: Vec<_> = index
        .names
        .iter()
        .map(|((ns, name), at)| format!("{ns}/{name} {at}"))
        .collect();
    assert_eq!(
        names,
        [
            "default/hand hand.yaml:2:18",
            "default/item list.yaml:2:48",
            "ns/a a.yaml:3:18",
            "ns/b b.yaml:3:18",
            "ns/c b.yaml:7:18",
            "ns/raw raw.yaml:2:18",
        ]
    );
}

#[test]
fn each_instance_is_there_once_wherever_it_is_known_from() {
    let index = TreeIndex::of(&tree(&[
        ("a.yaml", &definition("a", "1")),
        ("b.yaml", &definition("b", "2")),
    ]));
    let hub = [
        hosted("b", "2"),
        hosted("c", "3"),
        hosted("d", "3"),
        hosted("other", ""),
    ];
    let joined = join(&index, &Proposals::default(), &hub);
    let seen: Vec<_> = joined
        .iter()
        .map(|it| {
            let at = (it.file.is_some(), it.hosted.is_some());
            (&*it.stored.name, at)
        })
        .collect();
    assert_eq!(
        seen,
        [
            ("a", (true, false)),
            ("b", (true, true)),
            ("c", (false, true)),
        ]
    );
}

#[test]
fn of_clusters_with_one_id_the_named_or_the_oldest_counts() {
    let aged = |name: &str, second: u32| {
        let mut hosted = hosted(name, "1");
        let cluster = Arc::make_mut(&mut hosted.cluster);
        cluster["metadata"]["creationTimestamp"] = json!(format!("2026-01-29T10:00:0{second}Z"));
        hosted
    };
    let hub = [aged("a-copy", 5), aged("b", 3), aged("c-copy", 4)];
    let counts = |files: &[(&str, &str)]| {
        let joined = join(&TreeIndex::of(&tree(files)), &Proposals::default(), &hub);
        assert_eq!(joined.len(), 1);
        let instance = joined.into_iter().next().unwrap();
        let hosted = instance.hosted.unwrap().full_name();
        let mut twins = instance.twins;
        twins.sort();
        (instance.stored.name, hosted, twins)
    };
    let twins = |names: [&str; 2]| names.map(|name| format!("ns/{name}")).to_vec();
    let expected = (
        "b".to_owned(),
        "ns/b".to_owned(),
        twins(["a-copy", "c-copy"]),
    );
    assert_eq!(counts(&[]), expected);
    let file = definition("c-copy", "1");
    let expected = (
        "c-copy".to_owned(),
        "ns/c-copy".to_owned(),
        twins(["a-copy", "b"]),
    );
    assert_eq!(counts(&[("c.yaml", &file)]), expected);
}

#[test]
fn a_name_that_another_cluster_has_on_the_hub_is_taken() {
    let index = TreeIndex::of(&tree(&[("a.yaml", &definition("a", "1"))]));
    let is_taken = |id: &str| {
        let joined = join(&index, &Proposals::default(), &[hosted("a", id)]);
        joined
            .iter()
            .find(|one| one.stored.id == "1")
            .unwrap()
            .is_taken
    };
    assert!(is_taken(""));
    assert!(!is_taken("1"));
}

#[test]
fn what_waits_for_a_merge_is_an_instance() {
    let index = TreeIndex::of(&tree(&[
        ("a.yaml", &definition("a", "1")),
        ("b.yaml", &definition("b", "2")),
    ]));
    let open = |at: &str| Review::Open(at.to_owned());
    let stored = |name: &str, id: &str| {
        let found = TreeIndex::of(&tree(&[("x.yaml", &definition(name, id))]));
        found.instances[id].stored.clone()
    };
    let additions = [
        // It was merged, and its branch is not deleted yet.
        ("1", (stored("other", "1"), open("add 1"))),
        ("9", (stored("new", "9"), open("add 9"))),
    ];
    let removals = [("2", open("remove 2")), ("7", open("of nothing"))];
    let proposals = Proposals {
        additions: additions.map(|(id, one)| (id.to_owned(), one)).into(),
        removals: removals.map(|(id, one)| (id.to_owned(), one)).into(),
    };
    let joined = join(&index, &proposals, &[]);
    let seen: Vec<_> = joined
        .iter()
        .map(|it| (&*it.stored.name, it.file.is_some(), it.review.clone()))
        .collect();
    assert_eq!(
        seen,
        [
            ("a", true, None),
            ("b", true, Some(open("remove 2"))),
            ("new", false, Some(open("add 9"))),
        ]
    );
}

#[test]
fn a_file_that_cannot_be_read_any_more_removes_no_instance() {
    let whole = tree(&[
        ("a.yaml", &definition("a", "1")),
        ("b.yaml", &definition("b", "2")),
    ]);
    let before = TreeIndex::of(&whole);
    let broken = definition("a", "1").replace("kind:", "kind: [");
    let after = TreeIndex::after(&tree(&[("a.yaml", &broken)]), Some(&before));
    let ids: Vec<&String> = after.instances.keys().collect();
    assert_eq!(ids, ["1"], "one is broken, and the other was removed");
    let renamed = tree(&[("a.yaml", &definition("a", "3"))]);
    let after = TreeIndex::after(&renamed, Some(&before));
    let ids: Vec<&String> = after.instances.keys().collect();
    assert_eq!(ids, ["3"]);
}
