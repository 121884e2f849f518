//! `plan --against live` on both servers: the shipped program reports the impact of a change, and `apply` keeps
//! to it.

use std::path::Path;
use std::process::Output;
use std::time::{Duration, Instant};

use capstan::adapters::azure_sim as actors;
use capstan::model::CheckState;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams};
use serde_json::Value as Json;

use super::pipeline::{Management, apply};
use crate::daemon::{DEFINITION, PLAN, SYNC, World};

const PATIENCE: Duration = Duration::from_secs(60);
const SPEED: u32 = 600;
const FLEET: &str = "examples/quickstart/cluster.yaml";

/// The example with something put otherwise.
fn changed(dir: &Path, from: &str, to: &str) -> String {
    let fleet = Path::new(env!("CARGO_MANIFEST_DIR")).join(FLEET);
    let text = std::fs::read_to_string(fleet).expect("the example");
    assert!(text.contains(from), "{from}");
    std::fs::write(dir.join("cluster.yaml"), text.replace(from, to)).expect("written");
    dir.display().to_string()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The output of a command that exits with `code`.
fn printed(output: &Output, code: i32) -> String {
    let (data, talk) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{data}{talk}");
    data
}

fn a_plan_reports_the_impact_of_a_change(cluster: &Management) {
    let dir = tempfile::tempdir().expect("a directory");
    let fleet = changed(dir.path(), "np1", "np1");
    printed(&cluster.capstan(&["apply", &fleet]), 0);
    let plan = |fleet: &str, code| {
        printed(
            &cluster.capstan(&["plan", fleet, "--against", "live"]),
            code,
        )
    };
    assert!(plan(&fleet, 0).starts_with("plan: 5 unchanged; 1 cluster,"));

    let upgrade = changed(dir.path(), "4.20.17", "4.20.18");
    let output = plan(&upgrade, 0);
    assert!(
        output.starts_with("plan: 4 unchanged, 1 to roll; rolls 2 nodes of 1 cluster; "),
        "{output}"
    );
    for part in [
        "  rolling  AROMachinePool/clusters/quickstart-np1\n",
        "\nclusters/quickstart\n  cluster.yaml:16  replaces nodes: an upgrade replaces every node of the node pool\n    \"4.20.17\" -> \"4.20.18\"\n      spec.properties.version.id of HcpOpenShiftClustersNodePool/clusters/quickstart-np1\n",
    ] {
        assert!(output.contains(part), "{part}: {output}");
    }
    let json = cluster.capstan(&["plan", &upgrade, "--against", "live", "--format", "json"]);
    let json: Json = serde_json::from_str(&printed(&json, 0)).expect("JSON");
    assert_eq!(
        json["impact"]["rolls"],
        serde_json::json!({"nodes": 2, "clusters": 1})
    );

    let line = &json["changes"][0]["lines"][0];
    assert_eq!(line["path"], "cluster.yaml");
    assert_eq!(
        (&line["line"], &line["change"]),
        (&16.into(), &"rolling".into())
    );
    let value = &line["values"][0];
    assert_eq!(
        (&value["old"], &value["new"]),
        (&"4.20.17".into(), &"4.20.18".into())
    );
    let dry_run = cluster.capstan(&["apply", &upgrade, "--dry-run"]);
    assert_eq!(printed(&dry_run, 0), output, "a dry run prints the plan");
    assert_eq!(plan(&upgrade, 0), output, "a dry run writes nothing");

    let bigger = changed(dir.path(), "Standard_D4s_v3", "Standard_D8s_v3");
    let output = plan(&bigger, 1);
    for part in [
        "1 to replace",
        "  cluster.yaml:17  cannot be changed: Azure does not allow changes after the node pool is created\n",
        "    \"Standard_D4s_v3\" -> \"Standard_D8s_v3\"\n",
        "\nrefused: cluster.yaml:17:15: U01 spec.properties.platform.vmSize of HcpOpenShiftClustersNodePool/clusters/quickstart-np1 cannot be changed from ",
        "Capstan never replaces a cluster",
    ] {
        assert!(output.contains(part), "{part}: {output}");
    }
    let applied = cluster.capstan(&["apply", &bigger]);
    let talk = text(&applied.stderr);
    assert_eq!(applied.status.code(), Some(1), "{talk}");
    assert!(talk.contains("Capstan never replaces a cluster"), "{talk}");
    assert_eq!(plan(&bigger, 1), output, "nothing was sent");
}

/// A version that Azure would refuse is not sent, so the way back from it is open.
fn a_control_plane_is_upgraded_step_by_step(cluster: &Management) {
    let dir = tempfile::tempdir().expect("a directory");
    let to = |version: &str| changed(dir.path(), "id: \"4.20\"", &format!("id: \"{version}\""));
    let run = |verb: &[&str], fleet: &str| {
        let output = cluster.capstan(&[verb, &[fleet]].concat());
        let (data, talk) = (text(&output.stdout), text(&output.stderr));
        (output.status.code(), data + &talk)
    };
    let is_refused = |version: &str, parts: &[&str]| {
        // The controllers write a moment later which version Azure took.
        let began = Instant::now();
        let planned = loop {
            let (code, output) = run(&["plan", "--against", "live"], &to(version));
            if code == Some(1) {
                break output;
            }
            assert!(began.elapsed() < PATIENCE, "{version}: {output}");
        };
        let (code, applied) = run(&["apply"], &to(version));
        assert_eq!(code, Some(1), "{version}: {applied}");
        for part in parts {
            assert!(planned.contains(part), "{part}: {planned}");
            assert!(applied.contains(part), "{part}: {applied}");
        }
        planned
    };
    let is_applied = |version: &str| {
        let (code, output) = run(&["apply"], &to(version));
        assert_eq!(code, Some(0), "{version}: {output}");
    };
    is_applied("4.20");
    let skips = "skips minor versions from 4.20 to 4.23";
    is_refused("4.23", &[skips, "write \"4.21\""]);
    is_refused("4.22", &["skips minor versions from 4.20 to 4.22"]);
    is_applied("4.21");
    let down = "of HcpOpenShiftCluster/clusters/quickstart goes down from 4.21 to 4.20: Azure never lowers";
    let planned = is_refused("4.20", &[down, "keep \"4.21\""]);
    let line = "\nrefused: cluster.yaml:13:17: U05 spec.properties.version.id of ";
    for part in [
        "1 refused",
        "  cluster.yaml:13  refused: Azure never lowers",
        line,
    ] {
        assert!(planned.contains(part), "{part}: {planned}");
    }
}

/// What owns the same in Azure as what is applied is not applied, and a cluster that stays keeps its last pool.
fn what_is_applied_has_one_owner(cluster: &Management) {
    let dir = tempfile::tempdir().expect("a directory");
    let run = |verb: &[&str], fleet: &str| {
        let output = cluster.capstan(&[verb, &[fleet, "--name", "owner"]].concat());
        let (data, talk) = (text(&output.stdout), text(&output.stderr));
        (output.status.code(), data + &talk)
    };
    let named = |from: &str, to: &str| {
        let fleet = changed(dir.path(), "name: quickstart", "name: owned");
        let file = dir.path().join("cluster.yaml");
        let text = std::fs::read_to_string(&file).expect("written");
        std::fs::write(file, text.replace(from, to)).expect("written");
        fleet
    };
    let (code, output) = run(&["apply"], &named("", ""));
    assert_eq!(code, Some(0), "{output}");
    let moved = named("namespace: clusters", "namespace: default");
    let second = "cluster.yaml:5:9: U04 ResourceGroup/default/owned-resgroup is the same resource in Azure as ResourceGroup/clusters/owned-resgroup, which is applied and would leave the fleet: /subscriptions/00000000-0000-0000-0000-000000000000/resourcegroups/owned-resgroup (keep it in the namespace clusters, or ";
    for verb in [&["plan", "--against", "live"][..], &["apply", "--dry-run"]] {
        let (code, output) = run(verb, &moved);
        assert_eq!(code, Some(1), "{output}");
        assert!(output.contains(&format!("\nrefused: {second}")), "{output}");
    }
    let (code, output) = run(&["apply"], &moved);
    assert_eq!(code, Some(1), "{output}");
    assert!(output.contains(&format!("error: {second}")), "{output}");
    let plan = ["plan", "--against", "live", "--format", "json"];
    let (_, output) = run(&plan, &moved);
    let json: Json = serde_json::from_str(&output).expect("JSON");
    let steps = json["steps"].as_array().expect("steps").iter();
    let changes: Vec<_> = steps.filter_map(|step| step["change"].as_str()).collect();
    // The control plane's identity is in the other namespace.
    assert_eq!(changes, ["create", "refused", "create", "create", "create"]);
    let mut refused = json["refused"].as_array().expect("a list").iter();
    let is_owned = |one: &Json| one["object"] == "ResourceGroup/default/owned-resgroup";
    assert!(refused.any(is_owned), "{json}");
    let without_pool = named(
        "  location: uksouth",
        "  phase: Infrastructure\n  location: uksouth",
    );
    let (code, output) = run(&["plan", "--prune", "--against", "live"], &without_pool);
    assert_eq!(code, Some(1), "{output}");
    let refused = "\nrefused: cluster.yaml:5:9: D14 the last AROMachinePool of Cluster/clusters/owned is removed";
    assert!(output.contains(refused), "{output}");
    let (code, output) = run(&["plan", "--against", "live"], &without_pool);
    assert_eq!(code, Some(0), "without --prune it stays: {output}");
}

/// A refusal by the API server is reported with what to do.
fn a_refusal_is_reported_as_permanent(cluster: &Management) {
    let dir = tempfile::tempdir().expect("a directory");
    let fleet = dir.path().display().to_string();
    let write = |value: &str| {
        let map = format!(
            "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: sealed, namespace: clusters}}, immutable: true, data: {{k: {value}}}}}\n"
        );
        std::fs::write(dir.path().join("map.yaml"), map).expect("written");
    };
    write("v");
    printed(&cluster.capstan(&["apply", &fleet, "--name", "sealed"]), 0);
    write("w");
    let plan = ["plan", &fleet, "--name", "sealed", "--against", "live"];
    let output = printed(&cluster.capstan(&plan), 1);
    for part in [
        "plan: 1 to replace; 0 clusters",
        "outside clusters\n  map.yaml:1  cannot be changed: Kubernetes does not allow changes after creation\n    \"v\" -> \"w\"\n      data.k of ConfigMap/clusters/sealed\n",
        "the API server refused it",
        "refused: map.yaml:1:109: U01 data.k of ConfigMap/clusters/sealed cannot be changed from \"v\" to \"w\": Kubernetes does not allow changes after creation (add it under a new name and remove the old one)\n",
    ] {
        assert!(output.contains(part), "{part}: {output}");
    }
}

/// An object that cannot be created is not planned as a creation, unless the fleet brings its definition.
fn an_object_that_cannot_be_created_is_reported(cluster: &Management) {
    const WIDGETS: &str = "\
{apiVersion: blocked.dev/v1, kind: Widget, metadata: {name: w, namespace: clusters}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: stranger, namespace: clusters}, data: {k: v}}
";
    let stranger = serde_json::json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "stranger", "namespace": "clusters"}});
    cluster.runtime.block_on(apply(&cluster.client, &stranger));
    let dir = tempfile::tempdir().expect("a directory");
    let fleet = dir.path().display().to_string();
    let plan = |yaml: &str| {
        std::fs::write(dir.path().join("fleet.yaml"), yaml).expect("written");
        cluster.capstan(&["plan", &fleet, "--name", "blocked", "--against", "live"])
    };
    let output = printed(&plan(WIDGETS), 1);
    for part in [
        "plan: 1 blocked, 1 refused; ",
        "  blocked  Widget/clusters/w\n",
        "  refused  ConfigMap/clusters/stranger\n",
        "\nblocked: Widget/clusters/w: the cluster does not serve Widget of blocked.dev/v1 or any",
        "\nrefused: ConfigMap/clusters/stranger: it already exists",
    ] {
        assert!(output.contains(part), "{part}: {output}");
    }
    let alone = WIDGETS.split("---\n").next().expect("one");
    assert!(printed(&plan(alone), 0).starts_with("plan: 1 blocked; "));
    let definition = "---\n{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.blocked.dev}, spec: {group: blocked.dev, scope: Namespaced, names: {kind: Widget, plural: widgets}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}\n";
    assert!(printed(&plan(&format!("{alone}{definition}")), 0).starts_with("plan: 2 to create; "));
}

/// A plan says what the same `apply` would do.
fn a_plan_is_about_what_apply_does(cluster: &Management) {
    let dir = tempfile::tempdir().expect("a directory");
    let fleet = dir.path().display().to_string();
    let map = |name: &str, namespace: &str| {
        format!(
            "---\n{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}, namespace: {namespace}, finalizers: [test.dev/held]}}}}\n"
        )
    };
    let write = |yaml: &str| std::fs::write(dir.path().join("maps.yaml"), yaml).expect("written");
    let plan = |more: &[&str]| {
        let plan = ["plan", &fleet, "--name", "about", "--against", "live"];
        printed(&cluster.capstan(&[&plan, more].concat()), 0)
    };
    // Nobody makes the namespace.
    write(&(map("a", "nowhere") + &map("b", "nowhere")));
    let output = plan(&[]);
    let missing = "\nblocked: 2 objects: namespace nowhere does not exist: add it to the fleet, or create it\n  ConfigMap/nowhere/a\n  ConfigMap/nowhere/b\n";
    assert!(output.starts_with("plan: 2 blocked; "), "{output}");
    assert!(output.ends_with(missing), "{output}");
    let namespace = "---\n{apiVersion: v1, kind: Namespace, metadata: {name: nowhere}}\n";
    write(&(map("a", "nowhere") + namespace));
    assert!(plan(&[]).starts_with("plan: 2 to create; "));
    // `apply` keeps without --prune.
    write(&(map("a", "clusters") + &map("b", "clusters")));
    printed(&cluster.capstan(&["apply", &fleet, "--name", "about"]), 0);
    write(&map("a", "clusters"));
    let kept = "no longer in the fleet:\n  keep     ConfigMap/clusters/b\n           pruning is disabled: ";
    assert!(plan(&[]).contains(kept), "{}", plan(&[]));
    let pruned = "no longer in the fleet:\n  delete   ConfigMap/clusters/b\n";
    assert!(plan(&["--prune"]).contains(pruned));
    // What is being deleted is not unchanged.
    let maps: Api<ConfigMap> = Api::namespaced(cluster.client.clone(), "clusters");
    let now = DeleteParams::default();
    let deleted = cluster.runtime.block_on(maps.delete("a", &now));
    deleted.expect("it is being deleted");
    let output = plan(&[]);
    let going = "\nblocked: ConfigMap/clusters/a: it is being deleted, and is applied again once it is gone\n";
    assert!(output.starts_with("plan: 1 blocked; "), "{output}");
    assert!(output.contains(going), "{output}");
}

#[test]
fn the_simulator_is_planned_for() {
    let cluster = Management::simulated(SPEED, actors::Options::default());
    a_plan_reports_the_impact_of_a_change(&cluster);
    a_control_plane_is_upgraded_step_by_step(&cluster);
    what_is_applied_has_one_owner(&cluster);
    a_refusal_is_reported_as_permanent(&cluster);
    an_object_that_cannot_be_created_is_reported(&cluster);
    a_plan_is_about_what_apply_does(&cluster);
}

#[test]
fn kube_apiserver_is_planned_for() {
    if let Some(cluster) = Management::real(SPEED, actors::Options::default()) {
        a_plan_reports_the_impact_of_a_change(&cluster);
        a_control_plane_is_upgraded_step_by_step(&cluster);
        what_is_applied_has_one_owner(&cluster);
        a_refusal_is_reported_as_permanent(&cluster);
        an_object_that_cannot_be_created_is_reported(&cluster);
        a_plan_is_about_what_apply_does(&cluster);
    }
}

/// What another binary would make of the same revision, an overlay makes here.
#[test]
fn a_daemon_that_reads_a_revision_otherwise_rolls_nothing() {
    const OVERLAY: &str = "\
apiVersion: capstan.dev/v1alpha1
kind: Overlay
metadata: {name: newer}
spec:
  precedence: Enforced
  merge: {nodePools: [{name: \"*\", version: 4.20.18}]}
  patches:
  - target: {kind: MachinePool}
    patch: {metadata: {annotations: {owner: sre}}}
";
    let cluster = Management::simulated(SPEED, actors::Options::default());
    let overlays = tempfile::tempdir().expect("a directory");
    std::fs::write(overlays.path().join("newer.yaml"), OVERLAY).expect("written");
    let mut world = World::on(Some(&cluster.kubeconfig));
    let first = world.push("main", None, DEFINITION);
    world.start(SPEED);
    world.wait(&first, SYNC, CheckState::Success);
    world.kill();
    world.start_under(overlays.path());
    let held = world.wait(&first, SYNC, CheckState::Failure);
    let message = format!("{} {}", held.title, held.summary);
    assert!(message.contains("the revision is unchanged"), "{message}");
    let version = || cluster.pool_version("one-mp1");
    // What comes after it, and rolls nothing, goes on.
    let start = Instant::now();
    while cluster.pool_owner("one-mp1") != "sre" {
        assert!(start.elapsed() < PATIENCE, "it is held, too");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(version(), "4.20.17");
    let again = format!("{DEFINITION}# go on\n");
    let second = world.push("main", Some(&first), &again);
    world.wait(&second, SYNC, CheckState::Success);
    assert_eq!(version(), "4.20.18");
    let bigger = DEFINITION.replace("Standard_D4s_v3", "Standard_D8s_v3");
    let asked = world.push("pr/1", Some(&second), &bigger);
    let refused = world.wait(&asked, PLAN, CheckState::Failure);
    let (line, _) = (1..)
        .zip(bigger.lines())
        .find(|(_, line)| line.contains("vmSize"))
        .expect("it is there");
    let noted: Vec<_> = refused
        .annotations
        .iter()
        .map(|one| (one.path.as_str(), one.line))
        .collect();
    assert_eq!(noted, [("clusters/one.yaml", line)], "{refused:#?}");
}
