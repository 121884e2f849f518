//! What holds in every world.

use std::collections::BTreeSet;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};

use super::fixture::{Bed, item};
use crate::api::fleet::FirstApply;
use crate::api::labels::{
    ADOPT_EXISTING, CLUSTER_NAME, OWNED_KINDS, PRE_PAUSE_POLICY, RECONCILE_POLICY, ownership_tag,
};
use crate::health::Live;
use crate::reconcile::outcome::{Outcome, Write};
use crate::reconcile::snapshot::Snapshot;
use crate::reconcile::world::GroupKind;

/// Group and kind; none of the last is known.
const KINDS: [(&str, &str); 4] = [
    ("resources.azure.com", "ResourceGroup"),
    ("network.azure.com", "VirtualNetwork"),
    ("network.azure.com", "VirtualNetworksSubnet"),
    ("network.azure.com", "RouteTable"),
];
const POLICIES: [&str; 5] = ["", "manage", "skip", "detach-on-delete", "odd"];
const REASONS: [&str; 4] = [
    "Succeeded",
    "AzureResourceNotFound",
    "Reconciling",
    "InvalidRequestContent",
];
const CASES: u32 = 400;

/// An object of the list or of the cluster, by numbers.
type Choice = (usize, usize, usize, usize, usize);

#[derive(Clone, Debug)]
struct Scene {
    list: Vec<Choice>,
    live: Vec<Choice>,
    /// Which kinds are recorded, as bits.
    recorded: usize,
    /// Which mistakes are in the list.
    mistakes: Vec<usize>,
    is_direct: bool,
    is_adopted: bool,
    is_unserved: bool,
}

fn scenes() -> impl Strategy<Value = Scene> {
    let choice = || (0..4usize, 0..3usize, 0..5usize, 0..6usize, 0..4usize);
    let lists = (
        vec(choice(), 0..5),
        vec(choice(), 0..7),
        0..16usize,
        vec(0..3usize, 0..2),
    );
    (lists, any::<bool>(), any::<bool>(), any::<bool>()).prop_map(
        |((list, live, recorded, mistakes), is_direct, is_adopted, is_unserved)| Scene {
            list,
            live,
            recorded,
            mistakes,
            is_direct,
            is_adopted,
            is_unserved,
        },
    )
}

fn object((kind, name, policy, variant, _): Choice) -> Value {
    let (group, kind) = KINDS[kind];
    let owner = json!({"name": format!("n{name}")});
    let spec = json!({"location": format!("region{}", variant % 2), "owner": owner});
    let mut object = item(&format!("{group}/v1"), kind, &format!("n{name}"), spec);
    if !POLICIES[policy].is_empty() {
        object["metadata"]["annotations"][RECONCILE_POLICY] = json!(POLICIES[policy]);
    }
    object
}

fn bed(scene: &Scene) -> Bed {
    let mut list: Vec<Value> = scene.list.iter().copied().map(object).collect();
    let mistakes = [
        json!(null),
        json!({"kind": "VirtualNetwork"}),
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}),
    ];
    list.extend(
        scene
            .mistakes
            .iter()
            .map(|mistake| mistakes[*mistake].clone()),
    );
    let first_apply = if scene.is_direct {
        FirstApply::Direct
    } else {
        FirstApply::Probe
    };
    let recorded = KINDS
        .iter()
        .enumerate()
        .filter(|(bit, _)| scene.recorded >> bit & 1 == 1);
    let recorded: Vec<String> = recorded
        .map(|(_, (group, kind))| format!("{kind}.v1.{group}"))
        .collect();
    let mut bed = Bed::new(first_apply, &json!(list)).recorded(&recorded.join(";"));
    if scene.is_adopted {
        bed.edit("AROCluster", "c", |owner| {
            owner["metadata"]["annotations"][ADOPT_EXISTING] = json!("true")
        });
    }
    if scene.is_unserved {
        bed.fixture
            .snapshot
            .sync(&GroupKind::new("network.azure.com", "RouteTable"), false);
    }
    for choice in &scene.live {
        existing(&mut bed, *choice);
    }
    bed
}

/// An object in the cluster: controlled by the owner, by another, or by nobody.
fn existing(bed: &mut Bed, choice: Choice) {
    let (kind, name, _, variant, report) = choice;
    let (kind, name) = (KINDS[kind].1, format!("n{name}"));
    if bed.fixture.live(kind, &name).is_some() {
        return;
    }
    let reason = REASONS[report];
    let is_true = report == 0;
    let ready = json!({"type": "Ready", "status": if is_true { "True" } else { "False" }, "reason": reason});
    bed.held(&object(choice), ready.clone());
    bed.edit(kind, &name, |object| match variant {
        0 => object["metadata"]["ownerReferences"][0]["uid"] = json!("another"),
        1 => object["metadata"]["ownerReferences"] = json!([]),
        2 => object["metadata"]["finalizers"] = json!(["aso"]),
        3 => object["metadata"]["annotations"][PRE_PAUSE_POLICY] = json!("manage"),
        4 => object["status"]["tags"] = json!({ownership_tag("c"): "owned"}),
        _ => {}
    });
    bed.reports(kind, &name, ready);
}

fn controller(snapshot: &Snapshot, write: &Write) -> Option<String> {
    let live = snapshot.get(&write.object()?)?;
    let mut owners = live.list(&["metadata", "ownerReferences"]).iter();
    let held = owners.find(|owner| owner["controller"] == true)?;
    Some(Live(held).text(&["uid"]).to_owned())
}

/// Holds every write of an outcome to the laws.
fn check(bed: &Bed, outcome: &Outcome) -> Result<(), TestCaseError> {
    let owner = bed.owner();
    let recorded = Live(&owner).annotation(OWNED_KINDS).to_owned();
    let kinds = KINDS
        .iter()
        .filter(|(group, kind)| recorded.contains(&format!("{kind}.v1.{group}")));
    let recorded: BTreeSet<(&str, &str)> = kinds.copied().collect();
    let snapshot = &bed.fixture.snapshot;
    let is_synced = |(group, kind): &(&str, &str)| snapshot.is_synced(&GroupKind::new(group, kind));
    for write in &outcome.writes {
        let id = write.object().expect("only objects are written");
        if id.kind == "AROCluster" {
            continue;
        }
        let uid = controller(snapshot, write);
        let is_ours = uid.is_none_or(|uid| uid == Live(&owner).uid());
        prop_assert!(is_ours, "another's: {write:?}");
        prop_assert!(is_synced(&(&id.group, &id.kind)), "not synced: {write:?}");
        match write {
            Write::ApplyAs(..) => {
                prop_assert!(
                    recorded.contains(&(id.group.as_str(), id.kind.as_str())),
                    "not recorded: {write:?}"
                );
            }
            Write::Delete { .. } => {
                prop_assert!(recorded.iter().all(is_synced), "not all synced: {write:?}");
            }
            _ => {}
        }
    }
    Ok(())
}

fn hold(property: impl Fn(Scene) -> Result<(), TestCaseError>) {
    let config = Config {
        cases: CASES,
        failure_persistence: None,
        ..Config::default()
    };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let mut runner = TestRunner::new_with_rng(config, rng);
    if let Err(failure) = runner.run(&scenes(), property) {
        panic!("{failure}");
    }
}

/// Repeats a decision on its own outcome.
fn repeat(mut bed: Bed, decide: impl Fn(&Bed) -> Outcome) -> Result<Bed, TestCaseError> {
    for _ in 0..8 {
        let outcome = decide(&bed);
        check(&bed, &outcome)?;
        if outcome.writes.is_empty() {
            return Ok(bed);
        }
        bed.perform(outcome);
    }
    let writes = decide(&bed).writes;
    Err(TestCaseError::fail(format!("no rest: {writes:#?}")))
}

#[test]
fn a_reconciliation_comes_to_rest_and_keeps_the_laws() {
    hold(|scene| repeat(bed(&scene), |bed| bed.whole().1).map(drop));
}

#[test]
fn a_pause_comes_to_rest_and_creates_and_deletes_nothing() {
    hold(|scene| {
        let bed = bed(&scene);
        let before: Vec<_> = bed.fixture.snapshot.ids().cloned().collect();
        let bed = repeat(bed, |bed| bed.pause().1)?;
        let after: Vec<_> = bed.fixture.snapshot.ids().cloned().collect();
        prop_assert_eq!(before, after);
        repeat(bed, |bed| bed.whole().1).map(drop)
    });
}

#[test]
fn a_removal_comes_to_rest_with_nothing_left_but_what_has_a_finalizer() {
    hold(|scene| {
        let bed = repeat(bed(&scene), |bed| bed.remove(|_| true).1)?;
        for entry in bed.remove(|_| true).0 {
            let live = bed.fixture.snapshot.get(&entry.id);
            let is_leaving = live.is_some_and(Live::is_deleting);
            let is_held =
                !bed.fixture.snapshot.is_synced(&(&entry.id).into()) || scene.recorded >> 3 == 1;
            prop_assert!(is_leaving || is_held, "{}", entry.id);
        }
        Ok(())
    });
}

#[test]
fn the_name_of_the_cluster_may_be_missing() {
    let mut bed = Bed::direct(&json!([object((0, 0, 0, 0, 0))]));
    bed.edit("AROCluster", "c", |owner| {
        owner["metadata"]["labels"][CLUSTER_NAME] = json!("")
    });
    bed.settle();
    let live = bed.fixture.live("ResourceGroup", "n0").expect("it");
    assert_eq!(live["spec"].get("tags"), None);
}
