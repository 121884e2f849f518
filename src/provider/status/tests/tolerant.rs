//! What tolerance changes: before the first release is complete, and after that.

use super::super::State::*;
use super::*;

const MINUTE: i64 = 60;
const TOLERANT: Mapping = Mapping::Tolerant;

/// A cluster that comes up, as HyperShift reports it.
const COMING: &str = "Degraded=True/UnavailableReplicas: 1 replica, Available=False/WaitingForAvailable: wait, Progressing=False";

fn again(cluster: &Value, pools: &[&Value], seconds: i64) -> Option<Timestamp> {
    assess(Some(cluster), pools, TOLERANT, at(seconds)).again
}

#[test]
fn a_cluster_that_comes_up_lacks_replicas_for_45_minutes_before_it_has_failed() {
    let cluster = partial(live(COMING));
    for seconds in [-MINUTE, 0, 44 * MINUTE, 45 * MINUTE - 1] {
        assert_eq!(
            told(&cluster, &[], TOLERANT, seconds),
            (Provisioning, String::new())
        );
        assert_eq!(again(&cluster, &[], seconds), Some(at(45 * MINUTE)));
    }
    assert_eq!(
        told(&cluster, &[], TOLERANT, 45 * MINUTE),
        (Failed, "1 replica".into())
    );
    assert_eq!(again(&cluster, &[], 45 * MINUTE), None);
}

#[test]
fn a_cluster_that_comes_up_and_is_degraded_for_another_reason_has_failed() {
    let cluster = partial(live(
        "Degraded=True/EtcdBroken: no quorum, Available=False, Progressing=False",
    ));
    assert_eq!(
        told(&cluster, &[], TOLERANT, 1),
        (Failed, "no quorum".into())
    );
    let mut undated = partial(live(COMING));
    undated["metadata"]["creationTimestamp"] = json!("yesterday");
    assert_eq!(
        state(&undated, TOLERANT, 1),
        Failed,
        "nobody knows for how long"
    );
}

#[test]
fn a_cluster_that_comes_up_is_provisioning_however_long_it_is_not_available() {
    for conditions in [
        "Available=False, Progressing=False",
        "Progressing=False",
        "Available=False",
    ] {
        let cluster = partial(live(conditions));
        for seconds in [0, 45 * MINUTE, 999_999] {
            assert_eq!(
                state(&cluster, TOLERANT, seconds),
                Provisioning,
                "{conditions}"
            );
            assert_eq!(again(&cluster, &[], seconds), None);
        }
    }
    assert_eq!(
        state(&partial(live("Progressing=Unknown")), TOLERANT, 0),
        Pending
    );
    assert_eq!(state(&partial(live("")), TOLERANT, 0), Pending);
}

#[test]
fn a_spec_that_the_operator_refuses_has_failed_with_its_words() {
    let coming = "Available=False, Progressing=False";
    for kind in [
        "ValidReleaseImage",
        "ValidConfiguration",
        "SupportedHostedCluster",
        "PlatformCredentialsFound",
        "ValidReleaseInfo",
    ] {
        let refused = format!("{kind}=False/Invalid: no such thing");
        for others in [coming, COMING, "Progressing=True"] {
            let cluster = partial(live(&format!("{others}, {refused}")));
            assert_eq!(
                told(&cluster, &[], TOLERANT, 1),
                (Failed, "no such thing".into()),
                "{kind}"
            );
        }
        let unknown = partial(live(&format!("{coming}, {kind}=Unknown")));
        assert_eq!(state(&unknown, TOLERANT, 1), Provisioning);
        // It runs in spite of that.
        let up = partial(live(&format!(
            "Available=True, Progressing=False, {refused}"
        )));
        assert_eq!(state(&up, TOLERANT, 1), Provisioning);
        let known = completed(
            live(&format!("Available=True, Progressing=False, {refused}")),
            60,
        );
        assert_eq!(state(&known, TOLERANT, 9_999), Ready);
    }
    let blocked = partial(live(
        "Available=False: wait, Progressing=False/Blocked: upgrade is refused",
    ));
    assert_eq!(
        told(&blocked, &[], TOLERANT, 1),
        (Failed, "upgrade is refused".into())
    );
}

#[test]
fn a_fault_of_an_older_spec_may_be_mended() {
    let mut fault = condition("ValidReleaseImage=False/InvalidImage: no such image");
    for (observed, expected) in [(1, Provisioning), (2, Failed)] {
        fault["observedGeneration"] = json!(observed);
        let others = ["Available=False", "Progressing=False"].map(condition);
        let conditions = others.into_iter().chain([fault.clone()]);
        let mut cluster = partial(object(conditions));
        cluster["metadata"]["generation"] = json!(2);
        assert_eq!(state(&cluster, TOLERANT, 1), expected);
    }
    // What the operator said of the cluster that runs counts.
    let mut ready = live("Available=True, Progressing=False");
    ready["metadata"]["generation"] = json!(2);
    for condition in ready["status"]["conditions"].as_array_mut().unwrap() {
        condition["observedGeneration"] = json!(1);
    }
    assert_eq!(state(&completed(ready, 60), TOLERANT, 9_999), Ready);
}

#[test]
fn an_available_cluster_is_ready_once_its_release_is_complete_or_45_minutes_are_over() {
    let cluster = partial(live("Available=True, Progressing=False"));
    assert_eq!(state(&cluster, TOLERANT, 1), Provisioning);
    assert_eq!(again(&cluster, &[], 1), Some(at(45 * MINUTE)));
    assert_eq!(state(&cluster, TOLERANT, 45 * MINUTE), Ready);
    assert_eq!(state(&completed(cluster, 60), TOLERANT, 61), Ready);
}

#[test]
fn an_available_cluster_that_progresses_is_provisioning() {
    let cluster = live("Available=True, Progressing=True");
    assert_eq!(state(&partial(cluster.clone()), TOLERANT, 1), Provisioning);
    assert_eq!(
        state(&completed(cluster, 60), TOLERANT, 9_999),
        Provisioning
    );
}

#[test]
fn a_complete_cluster_is_degraded_for_two_minutes_before_it_has_failed() {
    let degraded = |reason: &str| {
        let degraded = since(&format!("Degraded=True/{reason}: 1 replica"), 10_000);
        let others = ["Available=True", "Progressing=False"].map(condition);
        completed(object(others.into_iter().chain([degraded])), 600)
    };
    for cluster in [degraded("UnavailableReplicas"), degraded("EtcdBroken")] {
        assert_eq!(
            told(&cluster, &[], TOLERANT, 10_119),
            (Ready, String::new())
        );
        assert_eq!(again(&cluster, &[], 10_119), Some(at(10_120)));
        assert_eq!(
            told(&cluster, &[], TOLERANT, 10_120),
            (Failed, "1 replica".into())
        );
        assert_eq!(again(&cluster, &[], 10_120), None);
    }
    let mut undated = degraded("EtcdBroken");
    let conditions = undated["status"]["conditions"].as_array_mut().unwrap();
    conditions[2]
        .as_object_mut()
        .unwrap()
        .remove("lastTransitionTime");
    assert_eq!(
        state(&undated, TOLERANT, 10_001),
        Failed,
        "nobody knows since when"
    );
}

#[test]
fn replicas_that_were_missing_before_the_release_was_complete_are_missing_from_then_on() {
    let cluster = |reason: &str, seconds| {
        let conditions =
            format!("Available=True, Progressing=False, Degraded=True/{reason}: 1 replica");
        completed(live(&conditions), seconds)
    };
    let missing = "UnavailableReplicas";
    for (reason, completed, end) in [
        (missing, 10 * MINUTE, 45 * MINUTE),
        (missing, 44 * MINUTE, 46 * MINUTE),
        (missing, 60 * MINUTE, 62 * MINUTE),
        ("EtcdBroken", 10 * MINUTE, 12 * MINUTE),
    ] {
        let cluster = cluster(reason, completed);
        assert_eq!(
            state(&cluster, TOLERANT, end - 1),
            Ready,
            "{reason} {completed}"
        );
        assert_eq!(again(&cluster, &[], end - 1), Some(at(end)));
        assert_eq!(
            state(&cluster, TOLERANT, end),
            Failed,
            "{reason} {completed}"
        );
    }
}

#[test]
fn a_complete_cluster_that_does_not_serve_is_unavailable() {
    let cluster = completed(
        live("Available=False/KASDown: no answer, Progressing=False"),
        600,
    );
    assert_eq!(
        told(&cluster, &[], TOLERANT, 9_999),
        (Unavailable, "no answer".into())
    );
}

#[test]
fn a_pool_that_was_never_ready_is_being_brought_up() {
    let pool = live("Ready=False: 0 of 2 nodes, UpdatingVersion=False");
    let ready = live("Available=True, Progressing=False");
    let coming = (Provisioning, "NodePool: 0 of 2 nodes".to_owned());
    let away = (Unavailable, "NodePool: 0 of 2 nodes".to_owned());
    // There may be no history and no conditions yet.
    for cluster in [partial(ready.clone()), partial(live(COMING)), live("")] {
        assert_eq!(told(&cluster, &[&pool], TOLERANT, 10 * MINUTE), coming);
    }
    assert_eq!(
        told(&partial(ready.clone()), &[&pool], TOLERANT, 999_999),
        coming
    );
    // The first node completes the release, and the others are to come.
    let cluster = completed(ready.clone(), 10 * MINUTE);
    assert_eq!(told(&cluster, &[&pool], TOLERANT, 55 * MINUTE - 1), coming);
    assert_eq!(
        again(&cluster, &[&pool], 11 * MINUTE),
        Some(at(55 * MINUTE))
    );
    assert_eq!(told(&cluster, &[&pool], TOLERANT, 55 * MINUTE), away);
    let late = object([since("Ready=False: 0 of 2 nodes", 10 * MINUTE)]);
    assert_eq!(told(&cluster, &[&late], TOLERANT, 11 * MINUTE), coming);
    // It was ready.
    let lost = object([since("Ready=False: 0 of 2 nodes", 11 * MINUTE)]);
    assert_eq!(told(&cluster, &[&lost], TOLERANT, 12 * MINUTE), away);
    assert_eq!(
        told(&ready, &[&pool], TOLERANT, 1),
        away,
        "nothing is known"
    );
}

#[test]
fn of_several_times_to_look_again_the_earliest_counts() {
    let degraded = since("Degraded=True/EtcdBroken: no quorum", 11 * MINUTE);
    let others = ["Available=True", "Progressing=False"].map(condition);
    let cluster = completed(object(others.into_iter().chain([degraded])), 10 * MINUTE);
    let pool = live("Ready=False: 0 of 2 nodes");
    assert_eq!(
        again(&cluster, &[&pool], 12 * MINUTE),
        Some(at(13 * MINUTE))
    );
    assert_eq!(
        again(&cluster, &[&pool], 13 * MINUTE),
        Some(at(55 * MINUTE))
    );
}

#[test]
fn a_paused_cluster_says_so_and_does_not_fail_for_being_late() {
    let paused =
        format!("{COMING}, ReconciliationActive=False/ReconciliationPaused: paused by hand");
    let cluster = partial(live(&paused));
    for seconds in [1, 999_999] {
        assert_eq!(
            told(&cluster, &[], TOLERANT, seconds),
            (Provisioning, "paused by hand".into())
        );
        assert_eq!(again(&cluster, &[], seconds), None);
    }
    // The time begins anew.
    let texts = COMING.split(", ").map(condition);
    let conditions = texts.chain([since("ReconciliationActive=True", 5_000)]);
    let resumed = partial(object(conditions));
    assert_eq!(again(&resumed, &[], 5_001), Some(at(5_000 + 45 * MINUTE)));
    // One that runs is what it is.
    let running = "Available=True, Progressing=False, ReconciliationActive=False: paused by hand";
    let cluster = completed(live(running), 600);
    assert_eq!(told(&cluster, &[], TOLERANT, 9_999), (Ready, String::new()));
    assert_eq!(state(&deleted(cluster), TOLERANT, 9_999), Deleting);
}
