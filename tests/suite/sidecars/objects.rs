//! Live objects of the kinds with readiness rules of ours, in many states, the same each time.

use serde_json::{Map, Value as Json, json};

use crate::random::Random;

/// The kinds, with the versions that their objects may have.
pub(super) const KINDS: [(&str, &[&str], &str); 10] = [
    ("cluster.x-k8s.io", &["v1beta1", "v1beta2"], "Cluster"),
    ("cluster.x-k8s.io", &["v1beta1", "v1beta2"], "MachinePool"),
    (
        "infrastructure.cluster.x-k8s.io",
        &["v1beta2"],
        "AROCluster",
    ),
    (
        "controlplane.cluster.x-k8s.io",
        &["v1beta2"],
        "AROControlPlane",
    ),
    (
        "infrastructure.cluster.x-k8s.io",
        &["v1beta2"],
        "AROMachinePool",
    ),
    (
        "infrastructure.cluster.x-k8s.io",
        &["v1beta1"],
        "AzureClusterIdentity",
    ),
    ("network.azure.com", &["v1api20240301"], "VirtualNetwork"),
    (
        "redhatopenshift.azure.com",
        &["v1api20240610preview"],
        "HcpOpenShiftCluster",
    ),
    ("hypershift.openshift.io", &["v1beta1"], "HostedCluster"),
    ("hypershift.openshift.io", &["v1beta1"], "NodePool"),
];

const CONDITIONS: [&str; 20] = [
    "Ready",
    "Available",
    "InfrastructureReady",
    "ControlPlaneReady",
    "ControlPlaneInitialized",
    "ResourcesReady",
    "NetworkInfrastructureReady",
    "EncryptionKeyReady",
    "IdentityReady",
    "KubeconfigReady",
    "HcpClusterReady",
    "ExternalAuthReady",
    "NodePoolReady",
    "AgentPoolsReady",
    "Progressing",
    "Degraded",
    "ValidReleaseImage",
    "UpdatingVersion",
    "UpdatingConfig",
    "Other",
];
const REASONS: [&str; 12] = [
    "",
    "WaitingForVault",
    "WaitingFoz",
    "Failed",
    "MultipleErrorsOccurred",
    "ReferenceNotFound",
    "ActiveKeyMissing",
    "KeyVersionMissing",
    "VaultNotFound",
    "UnknownCloud",
    "KindNotReadable",
    "Provisioning",
];
const MESSAGES: [&str; 8] = [
    "",
    "working on it",
    "[Error] the request is invalid",
    "[Warning] not permitted yet",
    "[Warning]not in brackets",
    "[Error] Cluster '/x' is in state 'error', can't update",
    "Cluster '/x' is in state 'error', can't update",
    "Cluster '/x' is in state 'ready'; \"quoted\" \\ %s ]]",
];

/// This many objects of a kind.
pub(super) fn of(group: &str, versions: &[&str], kind: &str, count: usize) -> Vec<Json> {
    let mut random = Random::new(count as u64 + kind.len() as u64);
    let one = |at: usize| {
        let mut object = json!({
            "apiVersion": format!("{group}/{}", versions[random.below(versions.len())]),
            "kind": kind,
            "metadata": {"name": format!("o{at}"), "namespace": "n", "generation": 1 + random.below(2)},
            "spec": spec(&mut random),
            "status": status(&mut random),
        });
        if random.chance(30) {
            let managed = ["", "aro-hcp"][random.below(2)];
            object["metadata"]["annotations"] =
                json!({"cluster.x-k8s.io/replicas-managed-by": managed});
        }
        if random.chance(3) {
            object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        }
        if random.chance(3) {
            object.as_object_mut().expect("an object").remove("status");
        }
        object
    };
    (0..count).map(one).collect()
}

fn spec(random: &mut Random) -> Json {
    let mut spec = Map::new();
    let resources = [
        json!([]),
        json!([{"kind": "ResourceGroup"}]),
        json!([{"kind": "ResourceGroup"}, {"kind": "HcpOpenShiftClustersExternalAuth"}]),
    ];
    maybe(&mut spec, random, "resources", &resources);
    maybe(
        &mut spec,
        random,
        "release",
        &[
            json!({"image": "a"}),
            json!({"image": "a"}),
            json!({"image": "a"}),
            json!({"image": ""}),
            json!({}),
        ],
    );
    maybe(&mut spec, random, "paused", &[json!(true), json!(false)]);
    maybe(
        &mut spec,
        random,
        "replicas",
        &[json!(0), json!(2), json!(3)],
    );
    Json::Object(spec)
}

fn status(random: &mut Random) -> Json {
    // Otherwise hardly any of them would be ready.
    let truths = [json!(true), json!(true), json!(true), json!(false)];
    let numbers = [json!(0), json!(2), json!(2), json!(3)];
    let mut status = Map::new();
    maybe(
        &mut status,
        random,
        "observedGeneration",
        &[json!(1), json!(2), json!(2)],
    );
    for flag in ["ready", "infrastructureReady", "controlPlaneReady"] {
        maybe(&mut status, random, flag, &truths);
    }
    if random.chance(85) {
        let mut steps = Map::new();
        for step in [
            "provisioned",
            "infrastructureProvisioned",
            "controlPlaneInitialized",
        ] {
            maybe(&mut steps, random, step, &truths);
        }
        status.insert("initialization".to_owned(), Json::Object(steps));
    }
    let phases = [
        "Provisioned",
        "Provisioned",
        "Provisioned",
        "Provisioning",
        "Failed",
    ];
    maybe(
        &mut status,
        random,
        "phase",
        &phases.map(|phase| json!(phase)),
    );
    for number in ["replicas", "readyReplicas"] {
        maybe(&mut status, random, number, &numbers);
    }
    let updates = [
        json!([{"state": "Completed", "image": "a"}]),
        json!([{"state": "Completed", "image": "a"}]),
        json!([{"state": "Completed", "image": "a"}]),
        json!([{"state": "Completed", "image": "a"}, {"state": "Completed", "image": "b"}]),
        json!([{"state": "Partial", "image": "a"}]),
        json!([{"state": "Completed"}, {"state": "Completed", "image": "a"}]),
        json!([]),
    ];
    if random.chance(80) {
        let mut version = Map::new();
        maybe(&mut version, random, "history", &updates);
        status.insert("version".to_owned(), Json::Object(version));
    }
    if random.chance(5) {
        status.insert("failureMessage".to_owned(), json!("no quota"));
    }
    if random.chance(90) {
        let all = CONDITIONS.iter().filter(|_| random.chance(75)).copied();
        let all: Vec<&str> = all.collect();
        let all = all.into_iter().map(|kind| condition(random, kind));
        status.insert("conditions".to_owned(), all.collect());
    }
    Json::Object(status)
}

fn condition(random: &mut Random, kind: &str) -> Json {
    let mut one = Map::from_iter([("type".to_owned(), json!(kind))]);
    let states = ["True", "True", "True", "False", "Unknown"].map(|state| json!(state));
    let state = states[random.below(states.len())].clone();
    one.insert("status".to_owned(), state);
    maybe(
        &mut one,
        random,
        "reason",
        &REASONS.map(|reason| json!(reason)),
    );
    maybe(
        &mut one,
        random,
        "message",
        &MESSAGES.map(|message| json!(message)),
    );
    maybe(
        &mut one,
        random,
        "severity",
        &["Info", "Warning", "Error"].map(|severity| json!(severity)),
    );
    maybe(
        &mut one,
        random,
        "observedGeneration",
        &[json!(1), json!(2), json!(2)],
    );
    Json::Object(one)
}

/// One of the values in most cases.
fn maybe(map: &mut Map<String, Json>, random: &mut Random, key: &str, values: &[Json]) {
    if random.chance(85) {
        map.insert(key.to_owned(), values[random.below(values.len())].clone());
    }
}
