//! What is seen, second by second, and what follows.

use serde_json::json;

use super::*;
use crate::api::kinds::INFRASTRUCTURE;

const DEPLOYMENT: &str = "Deployment";
const CLUSTER: &str = "AROCluster";

fn at(second: i64) -> Timestamp {
    // Far from zero, as times are.
    Timestamp::from_second(1_000_000 + second).expect("a small number")
}

fn cluster() -> ObjectId {
    ObjectId::new(INFRASTRUCTURE, CLUSTER, "clusters", "prod")
}

fn capz() -> ObjectId {
    ObjectId::new("apps", DEPLOYMENT, "capz-system", "capz-controller-manager")
}

/// One entry of the managed fields.
fn entry(manager: &str, subresource: &str, fields: &Value, second: i64) -> Value {
    json!([{"manager": manager, "subresource": subresource, "time": at(second).to_string(),
        "operation": "Update", "fieldsV1": fields}])
}

fn finalizers(name: &str) -> Value {
    json!({"f:metadata": {"f:finalizers": {".": {}, format!("v:\"{name}\""): {}}}})
}

fn deployment(gates: &str, replicas: i64, ready: i64) -> Value {
    json!({"metadata": {"labels": {PROVIDER: INFRASTRUCTURE_AZURE}},
        "spec": {"replicas": replicas, "template": {"spec": {"containers": [
            {"args": ["--leader-elect", format!("--feature-gates={gates}")]}]}}},
        "status": {"readyReplicas": ready}})
}

fn running(ready: i64) -> Value {
    deployment("MachinePool=true,ARO=true", 1, ready)
}

/// Everything was listed.
fn all_seen() -> Seen {
    let mut seen = Seen::nothing_of(&[DEPLOYMENT, CLUSTER]);
    seen.listed(DEPLOYMENT);
    seen.listed(CLUSTER);
    seen
}

/// Until when it steps back; none if it acts, or if that is not known.
fn until(seen: &Seen, second: i64) -> Option<i64> {
    match seen.decide(at(second)) {
        Decision::StepBack { until, .. } => until.map(|until| until.as_second() - 1_000_000),
        Decision::Act => None,
    }
}

fn acts(seen: &Seen, second: i64) -> bool {
    seen.decide(at(second)) == Decision::Act
}

fn why(seen: &Seen, second: i64) -> String {
    match seen.decide(at(second)) {
        Decision::StepBack { why, .. } => why.to_string(),
        Decision::Act => String::new(),
    }
}

/// When ours take over, CAPZ's entries lose their fields, and the newest may be the first that is gone.
#[test]
fn an_entry_that_lost_its_fields_to_ours_is_no_write_of_capz() {
    let mut seen = all_seen();
    let status = entry("manager", "status", &json!({}), 100);
    let finalizer = entry("manager", "", &finalizers("arocluster/finalizer"), 50);
    let both = json!([status[0], finalizer[0]]);
    seen.object(&cluster(), &both, at(100), true);
    assert_eq!(until(&seen, 100), Some(700));
    assert!(acts(&seen, 700));
    seen.object(&cluster(), &finalizer, at(701), true);
    assert!(acts(&seen, 701), "{}", why(&seen, 701));
    // But it may come back.
    let later = json!([
        status[0],
        entry("manager", "", &finalizers("arocluster/finalizer"), 702)[0]
    ]);
    seen.object(&cluster(), &later, at(702), true);
    assert_eq!(until(&seen, 702), Some(1302));
}

#[test]
fn nothing_is_decided_before_everything_was_seen() {
    let mut seen = Seen::nothing_of(&[DEPLOYMENT, CLUSTER]);
    assert_eq!(why(&seen, 0), Reason::Looking.to_string());
    seen.listed(CLUSTER);
    assert_eq!(why(&seen, 0), Reason::Looking.to_string());
    seen.failed(DEPLOYMENT, "me may not list deployments".to_owned());
    assert!(why(&seen, 0).contains("me may not list deployments. Grant that right"));
    seen.listed(DEPLOYMENT);
    assert!(acts(&seen, 0));
    seen.failed(DEPLOYMENT, "a broken connection".to_owned());
    assert!(acts(&seen, 0), "what was seen once is taken up again");
    seen.denied(DEPLOYMENT, "a right that was taken away".to_owned());
    assert!(!acts(&seen, 0));
}

#[test]
fn writes_that_count_are_those_of_other_controllers() {
    let status = json!({"f:status": {"f:ready": {}}});
    let ours = finalizers("arocluster/finalizer");
    let cases = [
        ("manager", "status", &status, true),
        ("manager", "", &ours, true),
        (
            "manager",
            "",
            &finalizers("arocontrolplanes/finalizer"),
            true,
        ),
        ("manager", "", &finalizers("aromachinepool/finalizer"), true),
        ("capz-manager", "status", &status, true),
        ("manager", "", &finalizers("example.com/other"), false),
        (
            "manager",
            "",
            &json!({"f:metadata": {"f:ownerReferences": {}}}),
            false,
        ),
        ("capstan", "", &ours, false),
        ("capstan-arocluster", "status", &status, false),
        ("capstanish", "status", &status, true),
        ("kubectl-client-side-apply", "", &ours, false),
        ("kubectl-edit", "status", &status, false),
        ("clusterctl", "", &ours, false),
        ("argocd-controller", "", &ours, false),
    ];
    for (manager, subresource, fields, counts) in cases {
        let mut seen = all_seen();
        seen.object(
            &cluster(),
            &entry(manager, subresource, fields, 0),
            at(10),
            false,
        );
        assert_eq!(!acts(&seen, 10), counts, "{manager} {subresource} {fields}");
    }
}

#[test]
fn a_write_keeps_us_back_for_10_minutes() {
    let mut seen = all_seen();
    let entry = entry("manager", "status", &json!({}), 0);
    seen.object(&cluster(), &entry, at(30), false);
    assert_eq!(until(&seen, 30), Some(600));
    assert_eq!(
        why(&seen, 599),
        "CAPZ's controllers act: the field manager manager wrote the status or finalizers of AROCluster/clusters/prod within the last 10 minutes"
    );
    assert!(acts(&seen, 600));
    let mut seen = all_seen();
    seen.object(&cluster(), &entry, at(600), false);
    assert!(acts(&seen, 600), "it was over when it was seen");
}

#[test]
fn the_last_write_to_any_object_counts() {
    let mut seen = all_seen();
    let other = ObjectId::new(INFRASTRUCTURE, CLUSTER, "clusters", "other");
    let write = |second| entry("manager", "status", &json!({}), second);
    seen.object(&cluster(), &write(50), at(100), false);
    seen.object(&other, &write(90), at(100), false);
    seen.object(&cluster(), &write(40), at(100), false);
    assert_eq!(until(&seen, 100), Some(690));
}

#[test]
fn a_write_that_is_seen_to_happen_happened_now_whatever_its_time_says() {
    for skew in [-100_000_i64, 100_000] {
        let mut seen = all_seen();
        let write = |second| entry("manager", "status", &json!({}), second + skew);
        seen.object(&cluster(), &write(0), at(0), true);
        assert_eq!(until(&seen, 0), Some(600), "{skew}");
    }
    let mut seen = all_seen();
    let ahead = entry("manager", "status", &json!({}), 100_000);
    seen.object(&cluster(), &ahead, at(0), false);
    assert_eq!(until(&seen, 0), Some(600), "the future is not waited for");
}

#[test]
fn a_write_of_ours_to_an_object_that_capz_wrote_before_renews_nothing() {
    let mut seen = all_seen();
    let held = entry("manager", "status", &json!({}), 0);
    seen.object(&cluster(), &held, at(5), false);
    seen.object(&cluster(), &held, at(500), true);
    assert_eq!(until(&seen, 500), Some(600));
    seen.object(&cluster(), &held, at(700), true);
    assert!(acts(&seen, 700), "it is as old as it was");
}

#[test]
fn a_ready_deployment_of_capz_keeps_us_back_if_it_runs_the_aro_controllers() {
    let acts_beside = |deployment: &Value| {
        let mut seen = all_seen();
        seen.deployment(&capz(), deployment, at(0));
        acts(&seen, 0)
    };
    for (gates, runs) in [
        ("ARO=true", true),
        ("MachinePool=true,ARO=true,ASOAPI=true", true),
        ("AllAlpha=true", true),
        ("ARO=false", false),
        ("AllAlpha=true,ARO=false", false),
        ("MachinePool=true", false),
        ("", false),
    ] {
        assert_eq!(!acts_beside(&deployment(gates, 1, 1)), runs, "{gates}");
    }
    let with = |container: Value| {
        let mut deployment = deployment("", 1, 1);
        deployment["spec"]["template"]["spec"]["containers"] = json!([{}, container]);
        acts_beside(&deployment)
    };
    assert!(!with(json!({"args": ["--feature-gates", "ARO=true"]})));
    assert!(!with(
        json!({"env": [{"name": "EXP_ARO", "value": "true"}]})
    ));
    assert!(!with(
        json!({"args": ["--feature-gates=ARO=$(GATE)"], "env": [{"name": "GATE", "value": "true"}]})
    ));
    assert!(with(
        json!({"args": ["--feature-gates=ARO=$(GATE)"], "env": [{"name": "GATE", "value": "false"}]})
    ));
    let mut other = running(1);
    other["metadata"]["labels"][PROVIDER] = json!("infrastructure-aws");
    assert!(acts_beside(&other));
}

#[test]
fn a_deployment_that_breaks_may_come_back_for_10_minutes() {
    let mut seen = all_seen();
    seen.deployment(&capz(), &running(1), at(0));
    assert_eq!(
        why(&seen, 0),
        "CAPZ's controllers run: Deployment/capz-system/capz-controller-manager is ready"
    );
    seen.deployment(&capz(), &running(0), at(100));
    seen.deployment(&capz(), &running(0), at(200));
    assert_eq!(until(&seen, 200), Some(700));
    assert!(acts(&seen, 700));
    seen.deployment(&capz(), &running(1), at(800));
    assert!(!acts(&seen, 100_000), "it is back");
}

#[test]
fn a_deployment_that_was_broken_before_we_looked_counts_from_then() {
    let mut broken = running(0);
    let since = at(0).to_string();
    broken["status"]["conditions"] =
        json!([{"type": "Available", "status": "False", "lastTransitionTime": since}]);
    let mut seen = all_seen();
    seen.deployment(&capz(), &broken, at(300));
    assert_eq!(until(&seen, 300), Some(600));
    let mut seen = all_seen();
    seen.deployment(&capz(), &running(0), at(300));
    assert!(acts(&seen, 300), "it never was available");
}

#[test]
fn a_deployment_that_is_stopped_gets_a_minute_for_its_pods_to_end() {
    for stop in 0..3 {
        let mut seen = all_seen();
        seen.deployment(&capz(), &running(1), at(0));
        match stop {
            0 => seen.deleted(&capz(), at(100)),
            1 => seen.deployment(&capz(), &deployment("ARO=true", 0, 0), at(100)),
            _ => seen.deployment(&capz(), &deployment("ARO=false", 1, 1), at(100)),
        }
        assert_eq!(until(&seen, 120), Some(160), "{stop}");
        assert!(acts(&seen, 160), "{stop}");
    }
    let mut seen = all_seen();
    seen.deployment(&capz(), &deployment("ARO=true", 0, 0), at(0));
    assert!(acts(&seen, 0), "it was stopped before");
}

#[test]
fn of_several_reasons_the_longest_is_named() {
    let mut seen = all_seen();
    let write = entry("manager", "status", &json!({}), 0);
    seen.object(&cluster(), &write, at(0), false);
    seen.deployment(&capz(), &running(1), at(0));
    assert_eq!(until(&seen, 0), None);
    assert!(why(&seen, 0).ends_with("is ready"));
    seen.deleted(&capz(), at(10));
    assert!(why(&seen, 10).contains("wrote"));
    assert_eq!(until(&seen, 10), Some(600));
}
