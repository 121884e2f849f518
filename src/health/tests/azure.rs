//! The kinds of ASO, Cluster API and the ARO provider.

use super::*;

#[test]
fn severity_decides_for_azure_resources() {
    let of = |status: &str, severity: &str, reason: &str, message: &str| {
        let ready = json!({"type": "Ready", "status": status, "severity": severity,
            "reason": reason, "message": message, "observedGeneration": 2});
        live(
            "network.azure.com/v1",
            "VirtualNetwork",
            json!({}),
            json!({"conditions": [ready]}),
        )
    };
    let mut old = of("True", "", "Succeeded", "");
    old["status"]["conditions"][0]["observedGeneration"] = json!(1);
    let in_error = "Cluster '/x' is in state 'error', can't update";
    check(vec![
        (
            "no status",
            live(
                "network.azure.com/v1",
                "VirtualNetwork",
                json!({}),
                json!({}),
            ),
            Progressing,
        ),
        ("true", of("True", "", "Succeeded", ""), Ready),
        ("true of an older spec", old, Progressing),
        ("works", of("False", "Info", "Reconciling", ""), Progressing),
        ("deletes", of("False", "Info", "Deleting", ""), Progressing),
        ("unknown", of("Unknown", "", "", ""), Progressing),
        (
            "owner",
            of("False", "Warning", "WaitingForOwner", ""),
            Waiting,
        ),
        (
            "reference",
            of("False", "Warning", "ReferenceNotFound", ""),
            Waiting,
        ),
        (
            "config map",
            of("False", "Warning", "ConfigMapNotFound", ""),
            Waiting,
        ),
        (
            "secret",
            of("False", "Warning", "SecretNotFound", ""),
            Waiting,
        ),
        (
            "refused for now",
            of("False", "Warning", "AuthorizationFailed", ""),
            FAILED,
        ),
        (
            "refused",
            of("False", "Error", "InvalidRequestContent", ""),
            TERMINAL,
        ),
        (
            "refused twice",
            of("False", "Warning", "MultipleErrorsOccurred", ""),
            TERMINAL,
        ),
        (
            "broken cluster",
            of("False", "Warning", "Whatever", in_error),
            TERMINAL,
        ),
    ]);
}

#[test]
fn clusters_need_their_first_steps_and_their_summary() {
    let of = |status: Value| live("cluster.x-k8s.io/v1beta2", "Cluster", json!({}), status);
    let done = json!({"infrastructureProvisioned": true, "controlPlaneInitialized": true});
    let full = json!({"observedGeneration": 2, "initialization": done, "conditions": [on("Available")], "phase": "Provisioned"});
    let mut stale = full.clone();
    stale["observedGeneration"] = json!(1);
    let mut paused = of(stale.clone());
    paused["spec"]["paused"] = json!(true);
    assert_eq!(crate::health::health(&paused).reason, "Paused");
    let mut half = full.clone();
    half["initialization"]["controlPlaneInitialized"] = json!(false);
    let mut down = full.clone();
    down["conditions"][0] = off("Available", "NotAvailable", "* ControlPlaneAvailable: no");
    check(vec![
        ("no status", of(json!({})), Progressing),
        ("all", of(full), Ready),
        ("older generation", of(stale), Progressing),
        ("paused", paused, Progressing),
        ("half", of(half), Progressing),
        ("not available", of(down), Progressing),
        (
            "no summary",
            of(json!({"observedGeneration": 2, "initialization": done, "phase": "Provisioned"})),
            Progressing,
        ),
    ]);
}

#[test]
fn clusters_of_the_previous_contract_have_fields_of_their_own() {
    let of = |status: Value| live("cluster.x-k8s.io/v1beta1", "Cluster", json!({}), status);
    let full = json!({"observedGeneration": 2, "infrastructureReady": true, "controlPlaneReady": true, "phase": "Provisioned"});
    let with = |field: &str, value: Value| {
        let mut status = full.clone();
        status[field] = value;
        of(status)
    };
    let waits = json!([off("InfrastructureReady", "Waiting", "48 resources")]);
    let mut not_yet = with("infrastructureReady", json!(false));
    not_yet["status"]["conditions"] = waits;
    assert_eq!(crate::health::health(&not_yet).message, "48 resources");
    check(vec![
        ("no status", of(json!({})), Progressing),
        ("all", of(full.clone()), Ready),
        (
            "older generation",
            with("observedGeneration", json!(1)),
            Progressing,
        ),
        ("no infrastructure", not_yet, Progressing),
        (
            "no control plane",
            with("controlPlaneReady", json!(false)),
            Progressing,
        ),
        ("phase", with("phase", json!("Provisioning")), Progressing),
        (
            "summary",
            with("conditions", json!([off("Ready", "Scaling", "")])),
            Progressing,
        ),
        (
            "summary holds",
            with("conditions", json!([on("Ready")])),
            Ready,
        ),
        (
            "failed",
            with("failureMessage", json!("no quota")),
            TERMINAL,
        ),
        ("phase failed", with("phase", json!("Failed")), TERMINAL),
    ]);
    let pool = |status: Value| {
        live(
            "cluster.x-k8s.io/v1beta1",
            "MachinePool",
            json!({"replicas": 2}),
            status,
        )
    };
    let nodes = |ready: bool, count: i64| {
        pool(
            json!({"observedGeneration": 2, "infrastructureReady": ready, "replicas": 2, "readyReplicas": count}),
        )
    };
    check(vec![
        ("no status", pool(json!({})), Progressing),
        ("not provisioned", nodes(false, 2), Progressing),
        ("short", nodes(true, 1), Progressing),
        ("as asked", nodes(true, 2), Ready),
    ]);
}

#[test]
fn machine_pools_count_their_nodes() {
    let status = |replicas: i64, ready: i64| {
        json!({"observedGeneration": 2, "initialization": {"infrastructureProvisioned": true},
            "replicas": replicas, "readyReplicas": ready})
    };
    let of =
        |spec: Value, status: Value| live("cluster.x-k8s.io/v1beta2", "MachinePool", spec, status);
    let two = || json!({"replicas": 2});
    let mut managed = of(two(), status(5, 5));
    managed["metadata"]["annotations"] = json!({"cluster.x-k8s.io/replicas-managed-by": "aro-hcp"});
    let mut old = status(2, 2);
    old["observedGeneration"] = json!(1);
    check(vec![
        ("no status", of(two(), json!({})), Progressing),
        (
            "not provisioned",
            of(
                two(),
                json!({"observedGeneration": 2, "replicas": 2, "readyReplicas": 2}),
            ),
            Progressing,
        ),
        ("short", of(two(), status(2, 1)), Progressing),
        ("surplus", of(two(), status(3, 3)), Progressing),
        ("as asked", of(two(), status(2, 2)), Ready),
        ("older generation", of(two(), old), Progressing),
        ("autoscaled", managed, Ready),
        ("nothing asked", of(json!({}), status(3, 3)), Ready),
    ]);
}

#[test]
fn aro_clusters_do_not_look_at_status_ready() {
    let of = |spec: Value, conditions: Value, provisioned: bool, ready: bool| {
        let status = json!({"ready": ready, "initialization": {"provisioned": provisioned}, "conditions": conditions});
        live(
            "infrastructure.cluster.x-k8s.io/v1beta2",
            "AROCluster",
            spec,
            status,
        )
    };
    let some = || json!({"resources": [{"kind": "ResourceGroup"}]});
    let waiting = off(
        "ResourcesReady",
        "ProvisioningInfrastructure",
        "Waiting for infrastructure resources: 1/2 ready",
    );
    let mut old = on("ResourcesReady");
    old["observedGeneration"] = json!(1);
    check(vec![
        (
            "flapped",
            of(some(), json!([on("ResourcesReady")]), true, false),
            Ready,
        ),
        (
            "only ready",
            of(some(), json!([]), false, true),
            Progressing,
        ),
        (
            "resources",
            of(some(), json!([waiting]), true, true),
            Progressing,
        ),
        (
            "older spec",
            of(some(), json!([old]), true, true),
            Progressing,
        ),
        (
            "not provisioned",
            of(some(), json!([on("ResourcesReady")]), false, true),
            Progressing,
        ),
        ("no resources", of(json!({}), json!([]), true, true), Ready),
        (
            "another control plane",
            of(
                some(),
                json!([off(
                    "NetworkInfrastructureReady",
                    "UnsupportedControlPlane",
                    ""
                )]),
                true,
                true,
            ),
            TERMINAL,
        ),
        (
            "bad URL",
            of(
                some(),
                json!([
                    on("ResourcesReady"),
                    off("NetworkInfrastructureReady", "InvalidEndpoint", "")
                ]),
                false,
                false,
            ),
            FAILED,
        ),
    ]);
}

#[test]
fn aro_control_planes_pass_on_the_messages_of_azure() {
    let of = |conditions: Value, ready: bool| {
        let status = json!({"ready": ready, "initialization": {"controlPlaneInitialized": ready}, "conditions": conditions});
        live(
            "controlplane.cluster.x-k8s.io/v1beta2",
            "AROControlPlane",
            json!({}),
            status,
        )
    };
    let hcp = |reason: &str, message: &str| json!([off("HcpClusterReady", reason, message)]);
    check(vec![
        ("no word", of(json!([]), true), Progressing),
        ("all", of(json!([on("HcpClusterReady")]), true), Ready),
        (
            "no kubeconfig",
            of(json!([on("HcpClusterReady")]), false),
            Progressing,
        ),
        (
            "works",
            of(hcp("Reconciling", "working"), false),
            Progressing,
        ),
        (
            "waits",
            of(hcp("WaitingForOwner", "[Warning] no owner"), false),
            Waiting,
        ),
        (
            "warning",
            of(hcp("AuthorizationFailed", "[Warning] no right"), false),
            FAILED,
        ),
        (
            "error",
            of(hcp("InvalidRequestContent", "[Error] no"), false),
            TERMINAL,
        ),
        (
            "many errors",
            of(
                hcp("MultipleErrorsOccurred", "[Warning] 2 errors occurred"),
                false,
            ),
            TERMINAL,
        ),
        (
            "no key",
            of(
                json!([
                    off("EncryptionKeyReady", "KeyVersionMissing", ""),
                    on("HcpClusterReady")
                ]),
                true,
            ),
            TERMINAL,
        ),
        (
            "vault",
            of(
                json!([off("EncryptionKeyReady", "WaitingForVault", "")]),
                false,
            ),
            Progressing,
        ),
        (
            "no vault",
            of(
                json!([off("EncryptionKeyReady", "VaultNotDeclared", "")]),
                false,
            ),
            TERMINAL,
        ),
        (
            "no right to the key",
            of(json!([off("EncryptionKeyReady", "KeyFailed", "")]), false),
            FAILED,
        ),
        (
            "two clusters",
            of(hcp("InvalidHcpOpenShiftCluster", ""), true),
            TERMINAL,
        ),
        (
            "bad kubeconfig",
            of(
                json!([
                    on("HcpClusterReady"),
                    off("KubeconfigReady", "InvalidKubeconfig", "")
                ]),
                false,
            ),
            FAILED,
        ),
        (
            "nobody may write it",
            of(
                json!([on("HcpClusterReady"), off("Ready", "WriteRefused", "")]),
                true,
            ),
            FAILED,
        ),
        (
            "auth waits for a person",
            of(
                json!([
                    on("HcpClusterReady"),
                    off("ExternalAuthReady", "AwaitingSecret", "create it")
                ]),
                true,
            ),
            Ready,
        ),
        (
            "auth waits",
            of(
                json!([
                    on("HcpClusterReady"),
                    off("ExternalAuthReady", "WaitingForNodePool", "")
                ]),
                true,
            ),
            Waiting,
        ),
        (
            "auth",
            of(
                json!([on("HcpClusterReady"), on("ExternalAuthReady")]),
                true,
            ),
            Ready,
        ),
    ]);
    let asked = json!({"resources": [{"kind": "HcpOpenShiftClustersExternalAuth"}]});
    let mut silent = of(json!([on("HcpClusterReady")]), true);
    silent["spec"] = asked;
    assert_eq!(
        health(&silent).state,
        Progressing,
        "external auth asked for, no word of it"
    );
}

#[test]
fn aro_machine_pools_and_identities() {
    let pool = |conditions: Value, ready: bool, provisioned: bool| {
        let status = json!({"ready": ready, "initialization": {"provisioned": provisioned}, "conditions": conditions});
        live(
            "infrastructure.cluster.x-k8s.io/v1beta2",
            "AROMachinePool",
            json!({}),
            status,
        )
    };
    let identity = |status: Value| {
        live(
            "infrastructure.cluster.x-k8s.io/v1beta1",
            "AzureClusterIdentity",
            json!({}),
            status,
        )
    };
    check(vec![
        ("no word", pool(json!([]), true, true), Progressing),
        ("all", pool(json!([on("NodePoolReady")]), true, true), Ready),
        (
            "not provisioned",
            pool(json!([on("NodePoolReady")]), true, false),
            Progressing,
        ),
        (
            "failed",
            pool(
                json!([off("NodePoolReady", "Failed", "no nodes")]),
                false,
                false,
            ),
            FAILED,
        ),
        ("identity", identity(json!({})), Ready),
        (
            "refused identity",
            identity(json!({"conditions": [off("Ready", "NoSecret", "")]})),
            FAILED,
        ),
    ]);
}

/// Reasons that need a person, on each condition that the controllers give them to.
#[test]
fn a_reason_that_needs_a_person_is_a_failure_wherever_it_stands() {
    let of = |group: &str, kind: &str, condition: Value| {
        let ready = json!({"provisioned": true, "controlPlaneInitialized": true});
        let conditions = json!([
            condition,
            on("ResourcesReady"),
            on("HcpClusterReady"),
            on("NodePoolReady")
        ]);
        let status = json!({"ready": true, "initialization": ready, "conditions": conditions});
        let api = format!("{group}.cluster.x-k8s.io/v1beta2");
        live(&api, kind, json!({"resources": [{}]}), status)
    };
    let cluster = |condition| of("infrastructure", "AROCluster", condition);
    let plane = |condition| of("controlplane", "AROControlPlane", condition);
    let pool = |condition| of("infrastructure", "AROMachinePool", condition);
    let no_vault = off("EncryptionKeyReady", "VaultNotFound", "");
    let cloud = |kind| off(kind, "UnknownCloud", "");
    let unread = || off("Ready", "KindNotReadable", "add a rule");
    check(vec![
        ("no such vault", plane(no_vault), FAILED),
        ("plane in no cloud", plane(cloud("IdentityReady")), TERMINAL),
        (
            "cluster in no cloud",
            cluster(cloud("IdentityReady")),
            TERMINAL,
        ),
        ("pool in no cloud", pool(cloud("NodePoolReady")), TERMINAL),
        (
            "pool without identity",
            pool(off("NodePoolReady", "IdentityNotFound", "")),
            FAILED,
        ),
        ("nobody reads what it needs", cluster(unread()), FAILED),
        ("nor what the plane needs", plane(unread()), FAILED),
        ("nor what the pool needs", pool(unread()), FAILED),
        // Nothing may stop for a resource that is merely slow, or for a Secret that comes later.
        (
            "slow",
            cluster(off("ResourcesReady", "WaitingForDependency", "1/2 ready")),
            Waiting,
        ),
        (
            "an invalid value",
            cluster(off("ResourcesReady", "InvalidResource", "")),
            TERMINAL,
        ),
        (
            "refused by a policy",
            cluster(off("ResourcesReady", "ApplyRefused", "")),
            FAILED,
        ),
        (
            "skipped by hand",
            cluster(off("ResourcesReady", "ResourceNotManaged", "")),
            FAILED,
        ),
        (
            "refused by ASO",
            plane(off("HcpClusterReady", "Failed", "[Error] no")),
            TERMINAL,
        ),
    ]);
}

#[test]
fn other_engines_know_the_same_failures() {
    let lua = export::argocd();
    let script = |kind: &str| {
        let mut scripts = lua.iter().filter(|(name, _)| name.contains(".health."));
        let script = scripts.find(|(name, _)| name.ends_with(kind));
        script.map(|(_, script)| script.to_string())
    };
    let plane = script("_AROControlPlane").expect("it has a script");
    assert!(plane.contains("VaultNotFound") && plane.contains("UnknownCloud"));
    // Nothing is in an empty list, and Lua has no word for it.
    assert!(
        lua.values()
            .all(|script| !script.to_string().contains("and ()"))
    );
    let cel = export::flux();
    let plane = cel.iter().find(|one| one["kind"] == "AROControlPlane");
    let failed = plane.map(|one| one["failed"].to_string());
    assert!(failed.is_some_and(|failed| failed.contains("UnknownCloud")));
}
