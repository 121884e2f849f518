//! The table: of every row a change that counts and one that does not; then what objects carry, how many
//! nodes that is, and what is held.

mod hyper_shift;

use serde_json::{Value as Json, json};

use super::*;
use kube_schema::{Element, FieldSet, Managed, Operation};

fn object(api_version: &str, kind: &str, body: &Json) -> Json {
    let mut object = body.clone();
    object["apiVersion"] = json!(api_version);
    object["kind"] = json!(kind);
    object["metadata"] = json!({"name": "a", "namespace": "ns"});
    object
}

/// An object with one value at a pointer, `*` in it being the key `k`.
fn with(api_version: &str, kind: &str, pointer: &str, value: Option<Json>) -> Json {
    let keys: Vec<&str> = pointer.split('/').skip(1).collect();
    let nested = keys.iter().rev().fold(value, |value, key| {
        let key = if *key == "*" { "k" } else { key };
        value.map(|value| json!({key: value}))
    });
    object(api_version, kind, &nested.unwrap_or_else(|| json!({})))
}

fn found(before: &Json, after: &Json) -> Vec<(String, Change)> {
    let found = consequences(before, after);
    let found = found.into_iter();
    found.map(|one| (one.field.pointer(), one.change)).collect()
}

const HCP: &str = "redhatopenshift.azure.com/v1api20251223preview";

/// Per row of the table, in its order: two values that differ. Where absence has a value, that must not
/// count beside itself; any value does not beside itself.
#[test]
fn every_row_sees_its_change_and_nothing_else() {
    let mut count = 0;
    let every = rows().chain(&[("network.azure.com", "VirtualNetwork", EVERY_ASO)]);
    for (group, kind, fields) in every {
        let version = match *group {
            "redhatopenshift.azure.com" => "v1api20251223preview",
            _ => "v1",
        };
        let api_version = format!("{group}/{version}");
        let api_version = api_version.trim_start_matches('/');
        for field in *fields {
            count += 1;
            let at = |value: Option<Json>| {
                let mut made = with(api_version, kind, field.at, value);
                if matches!(field.when, When::Sealed) && field.at != "/immutable" {
                    made["immutable"] = json!(true);
                }
                made
            };
            let (one, other) = match field.at {
                "/immutable" => (json!(true), json!(false)),
                "/spec/platform/azure/topology" => (json!("Public"), json!("Private")),
                _ if field.at.ends_with("Ref") || field.at.ends_with("FromConfig") => {
                    (json!({"name": "one"}), json!({"name": "two"}))
                }
                _ => (json!("one"), json!("two")),
            };
            let expected = (field.at.replace('*', "k"), field.change);
            let changed = found(&at(Some(one.clone())), &at(Some(other.clone())));
            // The fields in a map may have rows of their own.
            let is_seen = !(field.same)(&one, &other);
            let wanted = is_seen.then(|| expected.clone());
            assert_eq!(changed, wanted.as_slice(), "{kind} {}", field.at);
            let same = found(&at(Some(one.clone())), &at(Some(one.clone())));
            assert_eq!(same, [], "{kind} {}", field.at);
            let added = found(&at(None), &at(Some(one.clone())));
            match field.absent {
                Absent::Is(text) => {
                    let value: Json = serde_json::from_str(text).expect("JSON");
                    if !matches!(field.when, When::Sealed) {
                        assert_eq!(added, [expected], "{kind} {}", field.at);
                    }
                    assert_eq!(
                        found(&at(None), &at(Some(value))),
                        [],
                        "{kind} {}",
                        field.at
                    );
                }
                Absent::Name => {
                    assert_eq!(added, [expected], "{kind} {}", field.at);
                    assert_eq!(found(&at(None), &at(Some(json!("a")))), [], "{kind}");
                }
                Absent::Chosen => assert_eq!(added, [], "{kind} {}", field.at),
                Absent::Kept => {
                    assert_eq!(added, [], "{kind} {}", field.at);
                    let removed = found(&at(Some(one)), &at(None));
                    assert!(removed.contains(&expected), "{kind} {}", field.at);
                }
            }
        }
    }
    assert!(count > 60, "{count}");
}

#[test]
fn what_may_be_changed_is_in_place() {
    let pool = |replicas: u64| {
        with(
            HCP,
            "HcpOpenShiftClustersNodePool",
            "/spec/properties/replicas",
            Some(json!(replicas)),
        )
    };
    assert_eq!(found(&pool(2), &pool(3)), []);
    assert_eq!(heaviest(&consequences(&pool(2), &pool(3))), Change::InPlace);
    let version = |id: &str| {
        with(
            HCP,
            "HcpOpenShiftCluster",
            "/spec/properties/version/id",
            Some(json!(id)),
        )
    };
    assert_eq!(found(&version("4.20"), &version("4.21")), []);
    let unsealed = |value: &str| object("v1", "ConfigMap", &json!({"data": {"k": value}}));
    assert_eq!(found(&unsealed("1"), &unsealed("2")), []);
}

#[test]
fn a_key_is_rotated_by_newer_versions_of_the_api_and_of_openshift() {
    let at = "/spec/properties/etcd/dataEncryption/customerManaged/kms/activeKey/version";
    let key = |version: &str, runs: &str, key: &str| {
        let api_version = format!("redhatopenshift.azure.com/{version}");
        let mut made = with(&api_version, "HcpOpenShiftCluster", at, Some(json!(key)));
        made["spec"]["properties"]["version"] = json!({"id": runs});
        made
    };
    let old = "v1api20251223preview";
    let fixed = [(at.to_owned(), Change::Replace)];
    assert_eq!(found(&key(old, "4.22", "1"), &key(old, "4.22", "2")), fixed);
    for newer in ["v1api20260630preview", "v20260901preview"] {
        // The old API version counts for nothing, the new OpenShift version does not run yet.
        let running = |mut before: Json, runs: &str| {
            before["status"] = json!({"properties": {"version": {"id": runs}}});
            before
        };
        for (before, after, expected) in [
            (
                running(key(newer, "4.22", "1"), "4.21"),
                key(newer, "4.22", "2"),
                &fixed[..],
            ),
            (key(newer, "4.22", "1"), key(newer, "4.22", "2"), &[]),
            (key(old, "4.23", "1"), key(newer, "4.23", "2"), &[]),
            (key(newer, "5.0", "1"), key(newer, "5.0", "2"), &[]),
            (key(newer, "4.21", "1"), key(newer, "4.21", "2"), &fixed),
            (key(newer, "4.21", "1"), key(newer, "4.22", "2"), &fixed),
        ] {
            assert_eq!(found(&before, &after), expected, "{before} {after}");
        }
    }
}

#[test]
fn the_vault_of_a_key_is_the_same_wherever_it_is_named() {
    let kms = "/spec/properties/etcd/dataEncryption/customerManaged/kms";
    let named = |version: &str, place: &str, name: &str| {
        let api_version = format!("redhatopenshift.azure.com/{version}");
        let at = format!("{kms}/{place}");
        with(&api_version, "HcpOpenShiftCluster", &at, Some(json!(name)))
    };
    let older = |name| named("v1api20240610preview", "activeKey/vaultName", name);
    let newer = |name| named("v20260901preview", "vaultName", name);
    let changed = |place: &str| [(format!("{kms}/{place}"), Change::Replace)];
    assert_eq!(found(&older("a"), &newer("a")), []);
    assert_eq!(found(&older("a"), &newer("b")), changed("vaultName"));
    assert_eq!(
        found(&older("a"), &older("b")),
        changed("activeKey/vaultName")
    );
}

/// An AROMachinePool of the cluster `c` with these node pools.
fn machine_pool(pools: &[(&str, Json)]) -> Json {
    let resource = |(name, properties): &(&str, Json)| {
        json!({"apiVersion": HCP, "kind": "HcpOpenShiftClustersNodePool",
            "metadata": {"name": name}, "spec": {"properties": properties}})
    };
    let resources: Vec<Json> = pools.iter().map(resource).collect();
    let api_version = "infrastructure.cluster.x-k8s.io/v1beta2";
    let mut made = object(
        api_version,
        "AROMachinePool",
        &json!({"spec": {"resources": resources}}),
    );
    made["metadata"]["labels"] = json!({"cluster.x-k8s.io/cluster-name": "c"});
    made
}

/// An AROControlPlane of the cluster `c` with these mirrors.
fn control_plane(mirrors: &Json) -> Json {
    let resource = json!({"apiVersion": HCP, "kind": "HcpOpenShiftCluster",
        "metadata": {"name": "c"}, "spec": {"properties": {"imageDigestMirrors": mirrors}}});
    let api_version = "controlplane.cluster.x-k8s.io/v1beta2";
    let mut made = object(
        api_version,
        "AROControlPlane",
        &json!({"spec": {"resources": [resource]}}),
    );
    made["metadata"]["labels"] = json!({"cluster.x-k8s.io/cluster-name": "c"});
    made
}

#[test]
fn another_name_in_azure_can_be_avoided() {
    let named = |name: Option<&str>| {
        with(
            HCP,
            "HcpOpenShiftClustersNodePool",
            "/spec/azureName",
            name.map(Json::from),
        )
    };
    for (before, old) in [(Some("one-np1"), "one-np1"), (None, "a")] {
        let one = consequences(&named(before), &named(Some("np1"))).remove(0);
        let help = format!("to keep what exists in Azure, set `azureName: {old}` in the node pool");
        assert_eq!((one.change, one.help()), (Change::Replace, help));
    }
}

#[test]
fn what_is_carried_is_compared_by_kind_and_name() {
    let pool = |size: &str| json!({"platform": {"vmSize": size}});
    let before = machine_pool(&[("a", pool("D4")), ("b", pool("D8"))]);
    let turned = machine_pool(&[("b", pool("D8")), ("a", pool("D4"))]);
    assert_eq!(found(&before, &turned), []);
    let changed = machine_pool(&[("b", pool("D8")), ("a", pool("D16"))]);
    let one = consequences(&before, &changed).remove(0);
    assert_eq!(
        one.message(),
        "spec.resources[1].spec.properties.platform.vmSize of HcpOpenShiftClustersNodePool/ns/a cannot be changed: Azure does not allow changes after the node pool is created"
    );
    assert!(one.help().contains("under a new name"), "{}", one.help());
    let renamed = machine_pool(&[("a", pool("D4")), ("c", pool("D8"))]);
    assert_eq!(
        found(&before, &renamed),
        [("/spec/resources".to_owned(), Change::Replace)]
    );
    let more = machine_pool(&[("a", pool("D4")), ("b", pool("D8")), ("c", pool("D8"))]);
    assert_eq!(found(&before, &more), []);
}

#[test]
fn nodes_are_counted_by_the_pools_that_roll() {
    let pool = |version: &str| json!({"version": {"id": version}, "replicas": 3});
    let scaled = json!({"version": {"id": "4.20.8"}, "autoScaling": {"min": 1, "max": 5}});
    let old = machine_pool(&[("a", pool("4.20.8")), ("b", scaled.clone())]);
    let new = machine_pool(&[("a", pool("4.20.9")), ("b", scaled)]);
    let plane = control_plane(&json!([]));
    let found = consequences(&old, &new);
    assert_eq!(heaviest(&found), Change::Rolling);
    let rolled = Rolled::count([&plane, &new].into_iter(), found.iter());
    assert_eq!(rolled.to_string(), "rolls 3 nodes of 1 cluster");
    let mirrored = control_plane(&json!([{"source": "a.io", "mirrors": ["b.io"]}]));
    let found = consequences(&plane, &mirrored);
    let rolled = Rolled::count([&mirrored, &new].into_iter(), found.iter());
    assert_eq!((rolled.nodes, rolled.clusters), (8, 1));
    assert_eq!(
        Rolled::count([&new].into_iter(), [].into_iter()),
        Rolled::default()
    );
}

/// `live` as one that we applied, owning these fields.
fn owned(live: Json, paths: &[&[&str]]) -> Json {
    owned_by("capstan", live, paths)
}

fn owned_by(manager: &str, mut live: Json, paths: &[&[&str]]) -> Json {
    let mut fields = FieldSet::new();
    for path in paths {
        fields.insert(&path.iter().copied().map(Element::field).collect::<Vec<_>>());
    }
    let entry = Managed {
        manager: manager.to_owned(),
        operation: Operation::Apply,
        api_version: HCP.to_owned(),
        subresource: String::new(),
        fields,
        time: String::new(),
    };
    Managed::write(&[entry], &mut live);
    live
}

#[test]
fn nodes_are_rolled_only_for_a_revision_that_is_new() {
    let live = control_plane(&json!([]));
    let sent = control_plane(&json!([{"source": "a.io", "mirrors": ["b.io"]}]));
    assert_eq!(gate(&live, &sent, "capstan", false), Ok(()));
    assert_eq!(gate(&live, &live, "capstan", true), Ok(()));
    let held = gate(&live, &sent, "capstan", true).expect_err("it is held");
    assert_eq!(
        held.to_string(),
        "the revision is unchanged, so nobody asked to replace nodes (spec.resources[0].spec.properties.imageDigestMirrors of HcpOpenShiftCluster/ns/c); push a commit to continue"
    );
}

#[test]
fn nothing_is_replaced_for_any_revision() {
    let live = machine_pool(&[("a", json!({"platform": {"vmSize": "D4"}}))]);
    let sent = machine_pool(&[("a", json!({"platform": {"vmSize": "D8"}}))]);
    for unchanged in [false, true] {
        let refused = gate(&live, &sent, "capstan", unchanged).expect_err("it is not sent");
        assert!(matches!(refused, Withheld::Impossible(_)), "{refused}");
        assert!(
            refused.to_string().contains("never replaces a cluster"),
            "{refused}"
        );
    }
}

#[test]
fn fields_of_others_stay_and_fields_we_no_longer_send_are_removed() {
    let kind = "HcpOpenShiftClustersNodePool";
    let body = json!({"spec": {"azureName": "a", "properties": {"platform": {"vmSize": "D4", "availabilityZone": "1"}}}});
    let sent = object(
        HCP,
        kind,
        &json!({"spec": {"properties": {"platform": {"vmSize": "D4"}}}}),
    );
    let zone: &[&str] = &["spec", "properties", "platform", "availabilityZone"];
    let size: &[&str] = &["spec", "properties", "platform", "vmSize"];
    let theirs = owned(object(HCP, kind, &body), &[size]);
    assert_eq!(gate(&theirs, &sent, "capstan", false), Ok(()));
    let ours = owned(object(HCP, kind, &body), &[size, zone]);
    let refused = gate(&ours, &sent, "capstan", false).expect_err("it goes away");
    assert!(
        refused.to_string().contains("availabilityZone"),
        "{refused}"
    );
}

#[test]
fn what_others_wrote_over_is_no_change_of_ours() {
    let live = machine_pool(&[("a", json!({"platform": {"vmSize": "D4"}}))]);
    let sent = machine_pool(&[("a", json!({"platform": {"vmSize": "D8"}}))]);
    let resources: &[&[&str]] = &[&["spec", "resources"]];
    let theirs = owned_by("somebody", live.clone(), resources);
    assert_eq!(gate(&theirs, &sent, "capstan", true), Ok(()));
    // Who owns the map around it owns nothing of it.
    let around = owned_by("somebody", live.clone(), &[&["spec"], &["spec", "other"]]);
    assert!(gate(&around, &sent, "capstan", true).is_err());
    assert!(gate(&owned(live, resources), &sent, "capstan", true).is_err());
}

#[test]
fn only_changes_that_the_api_server_accepts_are_examined() {
    let looked = |group: &str, kind: &str| is_looked_at(&ObjectId::new(group, kind, "ns", "a"));
    assert!(looked("infrastructure.cluster.x-k8s.io", "AROMachinePool"));
    assert!(looked("network.azure.com", "VirtualNetwork"));
    assert!(looked("cluster.x-k8s.io", "Cluster"));
    assert!(!looked("", "ConfigMap"));
    assert!(!looked("apps", "Deployment"));
    assert!(!looked("rbac.authorization.k8s.io", "RoleBinding"));
    assert!(!looked("example.com", "Other"));
}

fn versioned(kind: &str, id: &Json) -> Json {
    with(HCP, kind, "/spec/properties/version/id", Some(id.clone()))
}

/// What is found of a version that changes, by rule.
fn upgraded(kind: &str, from: &Json, to: &Json) -> Vec<(&'static str, String)> {
    let found = consequences(&versioned(kind, from), &versioned(kind, to));
    found
        .into_iter()
        .map(|one| (one.rule(), one.message()))
        .collect()
}

#[test]
fn a_refused_version_is_one_consequence() {
    let (plane, pool) = ("HcpOpenShiftCluster", "HcpOpenShiftClustersNodePool");
    let id = "spec.properties.version.id of";
    assert_eq!(
        upgraded(plane, &json!("4.21"), &json!("4.20")),
        [(
            "U05",
            format!(
                "{id} HcpOpenShiftCluster/ns/a goes down from 4.21 to 4.20: Azure never lowers the version of a control plane"
            )
        )]
    );
    assert_eq!(
        upgraded(pool, &json!("4.20.8"), &json!("4.23.0")),
        [(
            "U06",
            format!(
                "{id} HcpOpenShiftClustersNodePool/ns/a skips minor versions from 4.20.8 to 4.23.0: Azure upgrades a node pool by at most two minor versions at a time"
            )
        )]
    );
    // Down, the nodes are replaced.
    let down = upgraded(pool, &json!("4.22.8"), &json!("4.20.8"));
    assert_eq!(down.iter().map(|one| one.0).collect::<Vec<_>>(), ["U02"]);
    for odd in [json!(4.2), json!(null), json!([]), json!("four"), json!("")] {
        for sound in [json!("4.20"), odd.clone()] {
            assert_eq!(upgraded(plane, &odd, &sound), []);
            assert_eq!(upgraded(plane, &sound, &odd), []);
        }
    }
    let none = object(HCP, plane, &json!({"spec": {}}));
    assert_eq!(found(&none, &versioned(plane, &json!("4.23"))), []);
    assert_eq!(found(&versioned(plane, &json!("4.23")), &none), []);
    // The kind of another group is none of ours.
    let others = |id: &str| {
        with(
            "example.com/v1",
            plane,
            "/spec/properties/version/id",
            Some(json!(id)),
        )
    };
    assert_eq!(found(&others("4.21"), &others("4.20")), []);
}

/// A live carrier of resources of a kind, each with a version, and the version in its status.
fn live(kind: &str, resources: &[(&str, &str)], runs: &str) -> Json {
    let (carrier, group) = match kind {
        "HcpOpenShiftCluster" => ("AROControlPlane", "controlplane.cluster.x-k8s.io/v1beta2"),
        _ => ("AROMachinePool", "infrastructure.cluster.x-k8s.io/v1beta2"),
    };
    let resource = |(name, id): &(&str, &str)| {
        json!({"apiVersion": HCP, "kind": kind, "metadata": {"name": name},
            "spec": {"properties": {"version": {"id": id}}}})
    };
    let resources: Vec<Json> = resources.iter().map(resource).collect();
    let mut made = object(group, carrier, &json!({"spec": {"resources": resources}}));
    made["metadata"]["uid"] = json!("u");
    made["status"] = match runs {
        "" => json!({}),
        runs => json!({"version": runs}),
    };
    made
}

/// A version that Azure refused stays written; the way back from it is open.
#[test]
fn of_a_live_object_the_version_counts_that_azure_took() {
    let (plane, pool) = ("HcpOpenShiftCluster", "HcpOpenShiftClustersNodePool");
    for (kind, runs, written, to, why) in [
        // Refused by Azure; a version between, the one that runs, and the next one but one.
        (plane, "4.21", "4.23", "4.22", ""),
        (plane, "4.21", "4.22", "4.21", ""),
        (
            plane,
            "4.21",
            "4.22",
            "4.23",
            "from 4.21, which runs, to 4.23",
        ),
        (
            plane,
            "4.21",
            "4.23",
            "4.20",
            "from 4.21, which runs, to 4.20",
        ),
        // Taken by Azure.
        (plane, "4.21", "4.21", "4.20", "goes down from 4.21 to 4.20"),
        (plane, "4.20", "4.20", "4.23", "from 4.20 to 4.23"),
        // Nothing runs: Azure did not even create the cluster.
        (plane, "", "4.23", "4.22", ""),
        (plane, "", "4.21", "4.20", ""),
        // What is written stays as it is.
        (plane, "4.20", "4.23", "4.23", ""),
        (pool, "4.20.8", "4.23.0", "4.22.0", ""),
        (
            pool,
            "4.20.8",
            "4.21.0",
            "4.23.0",
            "from 4.20.8, which runs, to 4.23.0",
        ),
    ] {
        let before = live(kind, &[("c", written)], runs);
        let sent = live(kind, &[("c", to)], runs);
        let held = gate(&before, &sent, "capstan", false);
        let said = held.map_or_else(|held| held.to_string(), |()| String::new());
        let case = format!("{runs} {written} {to}: {said}");
        assert_eq!(why.is_empty(), said.is_empty(), "{case}");
        assert!(said.contains(why) && !said.contains("never took"), "{case}");
    }
    let raw = |written: &str| {
        let mut raw = versioned(plane, &json!(written));
        raw["metadata"]["uid"] = json!("u");
        raw["status"] = json!({"properties": {"version": {"id": "4.21"}}});
        raw
    };
    assert_eq!(gate(&raw("4.23"), &raw("4.22"), "capstan", false), Ok(()));
    assert!(gate(&raw("4.23"), &raw("4.20"), "capstan", false).is_err());
    // Whose version is in the status is not known.
    let two = |id: &str| live(pool, &[("a", id), ("b", "4.20.8")], "4.20.8");
    assert_eq!(
        gate(&two("4.20.8"), &two("4.23.0"), "capstan", false),
        Ok(())
    );
}

#[test]
fn between_two_revisions_the_help_names_the_way_back() {
    let plane = |id: &str| versioned("HcpOpenShiftCluster", &json!(id));
    let help = |from: &str, to: &str| consequences(&plane(from), &plane(to)).remove(0).help();
    assert_eq!(
        help("4.23", "4.22"),
        "keep \"4.23\"; if Azure never took 4.23, merge the change: an apply compares with the version that runs"
    );
    assert_eq!(
        help("4.20", "4.23"),
        "write \"4.21\", and go on when the control plane runs it"
    );
}
