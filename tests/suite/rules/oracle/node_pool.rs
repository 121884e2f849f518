//! Node pools.

use super::{Case, POOL, at, bad, case, good, hold};

fn bads(mark: &str, names: &'static str, values: &[&str]) -> Vec<Case> {
    bad(POOL, mark, names, values)
}

fn goods(names: &'static str, values: &[&str]) -> Vec<Case> {
    good(POOL, names, values)
}

/// A pool with these properties.
fn with(properties: &str) -> Vec<Case> {
    let lines = properties.lines().map(|line| format!("    {line}\n"));
    vec![case(
        POOL,
        &format!("spec:\n  properties:\n{}", lines.collect::<String>()),
    )]
}

#[test]
fn names_and_versions() {
    hold(&[
        goods("spec.azureName", &["abc", "My-Pool", "fifteen-letters"]),
        bads(
            "N01",
            "spec.azureName",
            &[
                "p",
                "pp",
                "-garbage",
                "1pool",
                "pool-",
                "po$l",
                "sixteen-letters-",
            ],
        ),
        bads("N01", "spec.location", &["\"\"", "westeurope"]),
        goods("spec.location", &["UK South"]),
        goods("version.id", &["4.20.8"]),
        bads("N08", "version.id", &["4.21.0-rc.1", "4.25.0"]),
        bads(
            "N02",
            "version.id",
            &[
                "\"4\"", "\"5\"", "\"4.20\"", "\"4.21\"", "4.20.0", "4.20.8.1", "\"\"",
            ],
        ),
        goods("version.channelGroup", &["stable", "fast"]),
        bads(
            "N03",
            "version.channelGroup",
            &["candidate", "nightly", "blah"],
        ),
    ]);
}

#[test]
fn machines_and_disks() {
    const SET: &str = "/subscriptions/3f0c7d3e-52a4-4b6b-9a51-2f1f0d9c7a10/resourceGroups/keys/providers/Microsoft.Compute";
    let set = |id: &str| {
        vec![at(
            POOL,
            "platform.osDisk.encryptionSetReference",
            &format!("\narmId: {SET}/{id}"),
        )]
    };
    let disk = |kind: &str, size: &str| {
        with(&format!(
            "platform:\n  osDisk:\n    diskType: {kind}\n    sizeGiB: {size}"
        ))
    };
    hold(&[
        goods(
            "platform.vmSize",
            &["Standard_D8s_v5", "Standard_ND96isr_H200_v5"],
        ),
        bads(
            "N11",
            "platform.vmSize",
            &["unsupported_vm_size", "Standard_D2s_v3", "Standard_B4ms"],
        ),
        disk("Managed", "64"),
        disk("Managed", "63 # N12"),
        disk("Managed", "4095"),
        disk("Managed", "4096 # N12"),
        disk("Ephemeral", "2040"),
        disk("Ephemeral", "2041 # N12"),
        disk("Local # N13", "64"),
        with("platform:\n  osDisk:\n    diskType: Ephemeral\nautoRepair: false # N14"),
        bads(
            "N13",
            "platform.osDisk.diskStorageAccountType",
            &["UltraSSD_LRS"],
        ),
        set("diskEncryptionSets/a_B-1"),
        set(&format!("diskEncryptionSets/{}", "x".repeat(80))),
        set(&format!("diskEncryptionSets/{} # N15", "x".repeat(81))),
        set("diskEncryptionSets/a.b # N15"),
        set("disks/a # N15"),
    ]);
}

#[test]
fn sizes() {
    hold(&[
        goods("replicas", &["0", "200"]),
        bads("N16", "replicas", &["-1", "201"]),
        with("replicas: 201\nplatform:\n  availabilityZone: \"1\""),
        with("replicas: -1 # N16\nplatform:\n  availabilityZone: \"1\""),
        with("replicas: 3 # N17\nautoScaling: {min: 1, max: 5}"),
        with("replicas: null # elsewhere: D11\nautoScaling:\n  min: 5\n  max: 3 # N18"),
        with("replicas: null # elsewhere: D11\nautoScaling:\n  min: 5 # key: N18"),
        with("replicas: null # elsewhere: D11\nautoScaling: {min: 0, max: 5}"),
        with("replicas: null # elsewhere: D11\nautoScaling:\n  min: -1 # N18\n  max: 5"),
        with("replicas: null # elsewhere: D11\nautoScaling:\n  min: 1\n  max: 201 # N18"),
        goods("nodeDrainTimeoutMinutes", &["0", "10080"]),
        bads("N22", "nodeDrainTimeoutMinutes", &["-1", "10081"]),
        with("replicas: 501 # N25\nplatform:\n  availabilityZone: \"1\""),
    ]);
}

#[test]
fn labels_and_taints() {
    let label = |key: &str, value: &str| with(&format!("labels:\n- key: {key}\n  value: {value}"));
    let taint =
        |key: &str, effect: &str| with(&format!("taints:\n- key: {key}\n  effect: {effect}"));
    hold(&[
        label("example.com/team", "a"),
        label("node-role.kubernetes.io/worker # N20", "\"\""),
        label("node-role.kubernetes.io/master # N20", "\"\""),
        label(
            "machine.openshift.io/cluster-api-machine-role",
            "infra # N20",
        ),
        label("machine.openshift.io/cluster-api-machine-role", "worker"),
        label(
            "machine.openshift.io/cluster-api-machine-type",
            "master # N20",
        ),
        label("key with spaces # N19", "a"),
        label("a", &format!("{} # N19", "x".repeat(64))),
        label("a", &"x".repeat(63)),
        taint("a", "NoExecute"),
        taint("\"\" # N21", "NoSchedule"),
        taint("a", "Bogus # N21"),
    ]);
}

#[test]
fn subnets() {
    const NETS: &str = "/subscriptions/3f0c7d3e-52a4-4b6b-9a51-2f1f0d9c7a10/resourceGroups/nets/providers/Microsoft.Network/virtualNetworks";
    let subnet = |id: &str| {
        vec![at(
            POOL,
            "platform.subnetReference",
            &format!("\n$patch: replace\narmId: {NETS}/{id}"),
        )]
    };
    hold(&[
        vec![at(POOL, "platform.subnetReference", "null")],
        subnet("other/subnets/nodes # N10"),
        subnet("main # N09"),
    ]);
}
