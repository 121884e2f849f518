//! Kubernetes' own kinds, and unknown kinds.

use super::*;

#[test]
fn any_kind_follows_the_generic_rules() {
    let thing = |status: Value| live("example.com/v1", "Thing", json!({}), status);
    let with = |condition: Value| thing(json!({"conditions": [condition]}));
    let mut deleting = thing(json!({"conditions": [on("Ready")]}));
    deleting["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    check(vec![
        ("not an object", json!(null), Unknown),
        ("no status", thing(json!({})), Ready),
        ("deleting", deleting, Progressing),
        (
            "older generation",
            thing(json!({"observedGeneration": 1})),
            Progressing,
        ),
        (
            "same generation",
            thing(json!({"observedGeneration": 2})),
            Ready,
        ),
        ("reconciling", with(on("Reconciling")), Progressing),
        ("stalled", with(on("Stalled")), TERMINAL),
        ("ready", with(on("Ready")), Ready),
        (
            "not ready",
            with(off("Ready", "Because", "it is not")),
            Progressing,
        ),
        (
            "ready unknown",
            with(json!({"type": "Ready", "status": "Unknown"})),
            Progressing,
        ),
        ("other conditions", with(off("Other", "", "")), Ready),
    ]);
    let off_health = health(&with(off("Ready", "Because", "it is not")));
    assert_eq!(
        (off_health.reason.as_str(), off_health.message.as_str()),
        ("Because", "it is not")
    );
}

#[test]
fn kinds_that_run_nothing() {
    let none = || json!({});
    let crd = |conditions| {
        live(
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            none(),
            json!({"conditions": conditions}),
        )
    };
    let core = |kind, spec, status| live("v1", kind, spec, status);
    check(vec![
        ("secret", core("Secret", none(), none()), Ready),
        ("config map", core("ConfigMap", none(), none()), Ready),
        (
            "service",
            core("Service", json!({"type": "ClusterIP"}), none()),
            Ready,
        ),
        (
            "balancer without address",
            core("Service", json!({"type": "LoadBalancer"}), none()),
            Progressing,
        ),
        (
            "balancer",
            core(
                "Service",
                json!({"type": "LoadBalancer", "clusterIP": "10.0.0.1"}),
                none(),
            ),
            Ready,
        ),
        (
            "claim",
            core("PersistentVolumeClaim", none(), none()),
            Progressing,
        ),
        (
            "bound claim",
            core("PersistentVolumeClaim", none(), json!({"phase": "Bound"})),
            Ready,
        ),
        (
            "namespace",
            core("Namespace", none(), json!({"phase": "Active"})),
            Ready,
        ),
        (
            "ending namespace",
            core("Namespace", none(), json!({"phase": "Terminating"})),
            Progressing,
        ),
        (
            "ingress",
            live("networking.k8s.io/v1", "Ingress", none(), none()),
            Ready,
        ),
        (
            "budget",
            live(
                "policy/v1",
                "PodDisruptionBudget",
                none(),
                json!({"observedGeneration": 1}),
            ),
            Progressing,
        ),
        (
            "cron job",
            live("batch/v1", "CronJob", none(), none()),
            Ready,
        ),
        (
            "crd installing",
            crd(json!([off("Established", "Installing", "")])),
            Progressing,
        ),
        (
            "crd refused",
            crd(json!([off("Established", "Other", "")])),
            TERMINAL,
        ),
        (
            "crd names taken",
            crd(json!([off("NamesAccepted", "Taken", "")])),
            TERMINAL,
        ),
        (
            "crd",
            crd(json!([on("NamesAccepted"), on("Established")])),
            Ready,
        ),
        ("crd without status", crd(json!([])), Progressing),
    ]);
}

#[test]
fn deployments_count_in_order() {
    let counts = |replicas: i64, updated: i64, available: i64, ready: i64| {
        json!({"observedGeneration": 2, "replicas": replicas, "updatedReplicas": updated,
            "availableReplicas": available, "readyReplicas": ready,
            "conditions": [on("Available"), {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"}]})
    };
    let of = |spec: Value, status: Value| live("apps/v1", "Deployment", spec, status);
    let two = || json!({"replicas": 2, "progressDeadlineSeconds": 600});
    let mut late = counts(2, 2, 1, 1);
    late["conditions"][1]["reason"] = json!("ProgressDeadlineExceeded");
    let mut rolling = counts(2, 2, 2, 2);
    rolling["conditions"][1]["reason"] = json!("ReplicaSetUpdated");
    let mut unavailable = counts(2, 2, 2, 2);
    unavailable["conditions"][0]["status"] = json!("False");
    check(vec![
        ("no status", of(two(), json!({})), Progressing),
        ("too few", of(two(), counts(1, 2, 2, 2)), Progressing),
        ("not updated", of(two(), counts(2, 1, 2, 2)), Progressing),
        ("too many", of(two(), counts(3, 2, 2, 2)), Progressing),
        ("not available", of(two(), counts(2, 2, 1, 2)), Progressing),
        ("not ready", of(two(), counts(2, 2, 2, 1)), Progressing),
        ("late", of(two(), late), FAILED),
        ("rolling", of(two(), rolling.clone()), Progressing),
        (
            "rolling without deadline",
            of(json!({"replicas": 2}), rolling),
            Ready,
        ),
        ("unavailable", of(two(), unavailable), Progressing),
        ("done", of(two(), counts(2, 2, 2, 2)), Ready),
        (
            "at zero",
            of(json!({"replicas": 0}), counts(0, 0, 0, 0)),
            Ready,
        ),
        (
            "one by default",
            of(json!({}), counts(0, 0, 0, 0)),
            Progressing,
        ),
    ]);
}

#[test]
fn sets_count_in_order() {
    let of = |kind, spec: Value, status: Value| live("apps/v1", kind, spec, status);
    let two = || json!({"replicas": 2});
    let stateful = json!({"replicas": 2, "readyReplicas": 2, "currentReplicas": 2,
        "updatedReplicas": 2, "currentRevision": "a", "updateRevision": "a"});
    let with = |base: &Value, key: &str, value: Value| {
        let mut changed = base.clone();
        changed[key] = value;
        changed
    };
    let set = json!({"fullyLabeledReplicas": 2, "availableReplicas": 2, "readyReplicas": 2, "replicas": 2});
    let daemon = json!({"observedGeneration": 2, "desiredNumberScheduled": 2, "currentNumberScheduled": 2,
        "updatedNumberScheduled": 2, "numberAvailable": 2, "numberReady": 2});
    let partition = json!({"replicas": 2, "updateStrategy": {"rollingUpdate": {"partition": 1}}});
    check(vec![
        (
            "stateful",
            of("StatefulSet", two(), stateful.clone()),
            Ready,
        ),
        (
            "stateful revision",
            of(
                "StatefulSet",
                two(),
                with(&stateful, "updateRevision", json!("b")),
            ),
            Progressing,
        ),
        (
            "stateful ready",
            of(
                "StatefulSet",
                two(),
                with(&stateful, "readyReplicas", json!(1)),
            ),
            Progressing,
        ),
        (
            "stateful surplus",
            of("StatefulSet", two(), with(&stateful, "replicas", json!(3))),
            Progressing,
        ),
        (
            "stateful current",
            of(
                "StatefulSet",
                two(),
                with(&stateful, "currentReplicas", json!(1)),
            ),
            Progressing,
        ),
        (
            "partition done",
            of(
                "StatefulSet",
                partition.clone(),
                with(&stateful, "updatedReplicas", json!(1)),
            ),
            Ready,
        ),
        (
            "partition",
            of(
                "StatefulSet",
                partition,
                with(&stateful, "updatedReplicas", json!(0)),
            ),
            Progressing,
        ),
        (
            "on delete",
            of(
                "StatefulSet",
                json!({"updateStrategy": {"type": "OnDelete"}}),
                json!({}),
            ),
            Ready,
        ),
        ("replica set", of("ReplicaSet", two(), set.clone()), Ready),
        (
            "replica set short",
            of(
                "ReplicaSet",
                two(),
                with(&set, "availableReplicas", json!(1)),
            ),
            Progressing,
        ),
        (
            "replica set failure",
            of(
                "ReplicaSet",
                two(),
                with(&set, "conditions", json!([on("ReplicaFailure")])),
            ),
            Progressing,
        ),
        (
            "daemon set",
            of("DaemonSet", json!({}), daemon.clone()),
            Ready,
        ),
        (
            "daemon set unseen",
            of("DaemonSet", json!({}), json!({})),
            Progressing,
        ),
        (
            "daemon set short",
            of(
                "DaemonSet",
                json!({}),
                with(&daemon, "numberReady", json!(1)),
            ),
            Progressing,
        ),
    ]);
}

#[test]
fn pods_and_jobs() {
    let pod = |status: Value| live("v1", "Pod", json!({}), status);
    let job = |spec: Value, status: Value| live("batch/v1", "Job", spec, status);
    let crash = json!([{"name": "a", "state": {"waiting": {"reason": "CrashLoopBackOff"}}}]);
    check(vec![
        ("no phase", pod(json!({})), Progressing),
        ("done", pod(json!({"phase": "Succeeded"})), Ready),
        ("failed is over", pod(json!({"phase": "Failed"})), Ready),
        ("runs", pod(json!({"phase": "Running"})), Progressing),
        (
            "ready",
            pod(json!({"phase": "Running", "conditions": [on("Ready")]})),
            Ready,
        ),
        (
            "crashes",
            pod(json!({"phase": "Running", "containerStatuses": crash})),
            FAILED,
        ),
        ("pending", pod(json!({"phase": "Pending"})), Progressing),
        (
            "unschedulable",
            pod(
                json!({"phase": "Pending", "conditions": [off("PodScheduled", "Unschedulable", "no node")]}),
            ),
            Waiting,
        ),
        ("job not started", job(json!({}), json!({})), Progressing),
        (
            "job runs",
            job(
                json!({}),
                json!({"startTime": "2026-01-01T00:00:00Z", "active": 1}),
            ),
            Progressing,
        ),
        (
            "job done",
            job(json!({}), json!({"conditions": [on("Complete")]})),
            Ready,
        ),
        (
            "job failed",
            job(json!({}), json!({"conditions": [on("Failed")]})),
            TERMINAL,
        ),
        (
            "job suspended",
            job(
                json!({"suspend": true}),
                json!({"conditions": [on("Suspended")]}),
            ),
            Ready,
        ),
        (
            "job resuming",
            job(json!({}), json!({"conditions": [on("Suspended")]})),
            Progressing,
        ),
    ]);
}
