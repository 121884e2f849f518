//! What we add to a resource is ours, so that nobody who applies its item takes it away.

use serde_json::{Value, json};

use super::fixture::{Bed, group, lines, missing, ready, with};
use crate::api::conditions::NOT_MANAGED;
use crate::api::fleet::FirstApply;
use crate::api::labels::{
    ADDED_DIGEST, ADOPT_EXISTING, APPLIED_DIGEST, CREDENTIAL_FROM, KEPT_POLICY, PRE_PAUSE_POLICY,
    RECONCILE_POLICY, SKIP,
};
use crate::health::Live;
use crate::reconcile::links::owned_by;
use crate::reconcile::outcome::Write;

const CAPZ: &str = "capz-manager";
const SECRET: &str = "c-aso-secret";
const TAG: &str = "sigs.k8s.io_cluster-api-provider-azure_cluster_c";

fn bed(first_apply: FirstApply, item: &Value) -> Bed {
    let mut bed = Bed::new(first_apply, &json!([item]));
    bed.credential = SECRET;
    bed
}

fn annotation(bed: &Bed, name: &str) -> String {
    let live = bed.fixture.live("ResourceGroup", "rg").expect("it");
    Live(&live).annotation(name).to_owned()
}

fn has_tag(bed: &Bed) -> bool {
    let live = bed.fixture.live("ResourceGroup", "rg").expect("it");
    live["spec"]["tags"][TAG] == "owned"
}

/// What CAPZ applies of an item.
fn capz_applies(bed: &mut Bed, item: &Value) {
    let mut patch = item.clone();
    patch["metadata"]["namespace"] = json!("ns");
    patch["metadata"]["ownerReferences"] = json!([owned_by(Live(&bed.owner()), true)]);
    bed.fixture.perform("somebody", Write::ApplyAs(CAPZ, patch));
}

/// Reconciles write by write. The resource has a credential after each.
fn step_by_step(bed: &mut Bed) -> Vec<String> {
    let mut steps = Vec::new();
    loop {
        let (_, outcome) = bed.reconcile();
        if outcome.writes.is_empty() {
            return steps;
        }
        steps.extend(lines(&outcome));
        for write in outcome.writes {
            bed.fixture.perform("capstan-arocluster", write);
            assert_ne!(annotation(bed, CREDENTIAL_FROM), "", "{steps:?}");
        }
        assert!(steps.len() < 8, "{steps:?}");
    }
}

#[test]
fn a_resource_is_made_with_its_credential_and_then_shared_with_capzs_manager() {
    let mut bed = bed(FirstApply::Direct, &group("rg"));
    let (_, outcome) = bed.reconcile();
    let [Write::ApplyAs("capstan-embedded", whole)] = &outcome.writes[..] else {
        panic!("{outcome:?}");
    };
    assert_eq!(whole["metadata"]["annotations"][CREDENTIAL_FROM], SECRET);
    assert_eq!(whole["spec"]["location"], "uksouth");
    bed.perform(outcome);
    let (_, outcome) = bed.reconcile();
    let [Write::ApplyAs(CAPZ, item)] = &outcome.writes[..] else {
        panic!("{outcome:?}");
    };
    let annotations = item["metadata"]["annotations"].as_object();
    let annotations: Vec<_> = annotations
        .into_iter()
        .flatten()
        .map(|(key, _)| key)
        .collect();
    assert_eq!(annotations, ["capstan.dev/applied-digest"]);
    assert_eq!(item["spec"], group("rg")["spec"], "without the tag");
    bed.perform(outcome);
    let (_, outcome) = bed.reconcile();
    let [Write::ApplyAs("capstan-embedded", added)] = &outcome.writes[..] else {
        panic!("{outcome:?}");
    };
    assert_eq!(added["spec"], json!({"tags": {TAG: "owned"}}));
    assert_eq!(added["metadata"].get("ownerReferences"), None);
    bed.perform(outcome);
    assert_eq!(lines(&bed.reconcile().1), [""; 0]);
}

/// Azure's answer comes before the item is shared: until then it is ours alone.
#[test]
fn a_resource_is_shared_before_anything_of_it_is_let_go() {
    let mut bed = bed(FirstApply::Probe, &group("rg"));
    let (_, outcome) = bed.reconcile();
    bed.perform(outcome);
    bed.reports("ResourceGroup", "rg", missing());
    let steps = step_by_step(&mut bed);
    assert_eq!(steps, ["apply ResourceGroup/rg", "add ResourceGroup/rg"]);
    let live = bed.fixture.live("ResourceGroup", "rg").expect("it");
    assert_eq!(live["spec"]["location"], "uksouth");
    assert_eq!(live["metadata"]["ownerReferences"][0]["kind"], "AROCluster");
    assert_eq!(annotation(&bed, RECONCILE_POLICY), "");
}

#[test]
fn capz_takes_nothing_away_that_was_added() {
    let mut bed = bed(FirstApply::Direct, &group("rg"));
    step_by_step(&mut bed);
    capz_applies(&mut bed, &group("rg"));
    assert_eq!(annotation(&bed, CREDENTIAL_FROM), SECRET);
    assert!(has_tag(&bed));
    assert_eq!(annotation(&bed, RECONCILE_POLICY), "");
    let mut other = group("rg");
    other["spec"]["location"] = json!("westeurope");
    bed.list(json!([other]));
    assert_eq!(step_by_step(&mut bed), ["apply ResourceGroup/rg"]);
}

#[test]
fn what_is_not_ours_stays_skipped_under_capz_and_what_is_has_no_policy() {
    for is_ours in [false, true] {
        let mut bed = bed(FirstApply::Probe, &group("rg"));
        step_by_step(&mut bed);
        let condition = if is_ours { missing() } else { ready() };
        bed.reports("ResourceGroup", "rg", condition);
        step_by_step(&mut bed);
        capz_applies(&mut bed, &group("rg"));
        let policy = if is_ours { "" } else { SKIP };
        assert_eq!(annotation(&bed, RECONCILE_POLICY), policy);
        assert_eq!(annotation(&bed, CREDENTIAL_FROM), SECRET);
    }
}

/// An earlier version applied all of it as CAPZ's manager.
#[test]
fn a_resource_of_an_earlier_version_is_never_without_its_credential() {
    for policy in ["", "manage", SKIP] {
        let mut bed = bed(FirstApply::Probe, &group("rg"));
        let mut earlier = with(group("rg"), CREDENTIAL_FROM, SECRET);
        earlier["metadata"]["annotations"]["capstan.dev/applied-digest"] = json!("earlier");
        if !policy.is_empty() {
            earlier["metadata"]["annotations"][RECONCILE_POLICY] = json!(policy);
        }
        earlier["spec"]["tags"] = json!({TAG: "owned"});
        capz_applies(&mut bed, &earlier);
        if policy == SKIP {
            bed.reports("ResourceGroup", "rg", ready());
        }
        let steps = step_by_step(&mut bed);
        assert_eq!(steps, ["add ResourceGroup/rg", "apply ResourceGroup/rg"]);
        capz_applies(&mut bed, &group("rg"));
        assert_eq!(annotation(&bed, CREDENTIAL_FROM), SECRET);
        assert!(has_tag(&bed));
        let kept = if policy == SKIP { SKIP } else { "" };
        assert_eq!(annotation(&bed, RECONCILE_POLICY), kept, "{policy}");
    }
}

#[test]
fn what_capz_made_gets_the_tag_and_the_credential_when_it_is_taken_over() {
    let mut bed = bed(FirstApply::Probe, &group("rg"));
    capz_applies(&mut bed, &group("rg"));
    bed.reports("ResourceGroup", "rg", ready());
    let steps = step_by_step(&mut bed);
    assert_eq!(steps, ["add ResourceGroup/rg", "apply ResourceGroup/rg"]);
    assert!(
        has_tag(&bed),
        "it is this cluster's in another management cluster"
    );
    assert_eq!(annotation(&bed, RECONCILE_POLICY), "");
}

#[test]
fn a_credential_goes_into_the_list_and_out_of_it_without_a_gap() {
    let mut bed = bed(FirstApply::Direct, &group("rg"));
    step_by_step(&mut bed);
    bed.list(json!([with(group("rg"), CREDENTIAL_FROM, "own")]));
    step_by_step(&mut bed);
    assert_eq!(annotation(&bed, CREDENTIAL_FROM), "own");
    bed.list(json!([group("rg")]));
    step_by_step(&mut bed);
    assert_eq!(annotation(&bed, CREDENTIAL_FROM), SECRET);
    capz_applies(&mut bed, &group("rg"));
    assert_eq!(annotation(&bed, CREDENTIAL_FROM), SECRET);
}

/// A resource that ASO only reads is not managed for a moment, whoever says so.
#[test]
fn a_skip_goes_into_the_list_without_a_gap() {
    let mut bed = bed(FirstApply::Probe, &group("rg"));
    step_by_step(&mut bed);
    bed.reports("ResourceGroup", "rg", ready());
    step_by_step(&mut bed);
    bed.list(json!([with(group("rg"), RECONCILE_POLICY, SKIP)]));
    loop {
        let (_, outcome) = bed.reconcile();
        if outcome.writes.is_empty() {
            break;
        }
        bed.perform(outcome);
        assert_eq!(annotation(&bed, RECONCILE_POLICY), SKIP);
    }
    bed.list(json!([with(group("rg"), ADOPT_EXISTING, "true")]));
    bed.settle();
    assert_eq!(annotation(&bed, RECONCILE_POLICY), "");
}

/// Somebody who lists the tag decides about it.
#[test]
fn a_tag_in_the_list_is_left_to_the_list() {
    let mut listed = group("rg");
    listed["spec"]["tags"] = json!({TAG: "shared"});
    let mut bed = bed(FirstApply::Direct, &listed);
    step_by_step(&mut bed);
    let live = bed.fixture.live("ResourceGroup", "rg").expect("it");
    assert_eq!(live["spec"]["tags"][TAG], "shared");
}

/// Such as fields that the version lacks that the cluster has.
#[test]
fn what_the_server_does_not_keep_holds_nothing_up() {
    for first_apply in [FirstApply::Direct, FirstApply::Probe] {
        let mut item = group("rg");
        item["spec"]["unknown"] = json!("it");
        let mut bed = bed(first_apply, &item);
        for round in 0..6 {
            let (_, outcome) = bed.reconcile();
            for write in outcome.writes {
                bed.fixture.perform("capstan-arocluster", write);
                bed.edit("ResourceGroup", "rg", |rg| {
                    if let Some(spec) = rg["spec"].as_object_mut() {
                        spec.remove("unknown");
                    }
                });
            }
            if round == 1 {
                bed.reports("ResourceGroup", "rg", missing());
            }
        }
        assert_eq!(annotation(&bed, RECONCILE_POLICY), "", "{first_apply:?}");
        assert!(!annotation(&bed, ADDED_DIGEST).ends_with('+'));
        assert_eq!(lines(&bed.reconcile().1), ["apply ResourceGroup/rg"]);
    }
}

#[test]
fn what_somebody_else_has_aso_skip_is_said_and_not_ready() {
    let mut bed = bed(FirstApply::Direct, &group("rg"));
    step_by_step(&mut bed);
    bed.reports("ResourceGroup", "rg", ready());
    assert!(bed.reconcile().0[0].ready);
    bed.edit("ResourceGroup", "rg", |rg| {
        rg["metadata"]["annotations"][RECONCILE_POLICY] = json!(SKIP);
    });
    for first_apply in [FirstApply::Direct, FirstApply::Probe] {
        bed.first_apply = first_apply;
        bed.edit("ResourceGroup", "rg", |rg| {
            rg["status"]["tags"] = json!({TAG: "owned"})
        });
        let steps = step_by_step(&mut bed);
        let (entries, _) = bed.reconcile();
        assert_eq!((steps, entries[0].ready), (Vec::new(), false));
        assert_eq!(entries[0].concern, Some(NOT_MANAGED));
        assert!(entries[0].message.contains(RECONCILE_POLICY), "{entries:?}");
    }
}

/// As `kubectl get -o yaml` shows it.
#[test]
fn an_item_with_our_own_annotations_is_applied_without_them() {
    let mut item = group("rg");
    for (name, value) in [
        (ADDED_DIGEST, "b"),
        (APPLIED_DIGEST, "a"),
        (KEPT_POLICY, SKIP),
        (PRE_PAUSE_POLICY, "manage"),
        ("of.somebody/else", "c"),
    ] {
        item["metadata"]["annotations"][name] = json!(value);
    }
    let mut bed = bed(FirstApply::Direct, &item);
    let steps = step_by_step(&mut bed);
    assert_eq!(
        steps.last().map(String::as_str),
        Some("add ResourceGroup/rg")
    );
    assert_eq!(annotation(&bed, KEPT_POLICY), "");
    assert_eq!(annotation(&bed, PRE_PAUSE_POLICY), "");
    assert_eq!(annotation(&bed, "of.somebody/else"), "c");
}
