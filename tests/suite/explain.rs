//! Which line sets each value, as `capstan explain` prints it.

use std::path::Path;

use serde_json::{Value as Json, json};
use tempfile::TempDir;

use crate::cli::{stderr, stdout};
use crate::fleet::{directory, overlay};
use crate::provenance::FILES;

const RAW: &str = r#"apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: clusters}
data:
  mode: fast
  clientSecret: hunter2
---
apiVersion: v1
kind: Secret
metadata: {name: token, namespace: clusters}
stringData: {password: hunter3}
---
apiVersion: capstan.dev/v1alpha1
kind: Overlay
metadata: {name: slow}
spec:
  patches:
  - target: {kind: ConfigMap}
    json6902: [{op: replace, path: /data/mode, value: slow}]
  - target: {kind: Vault}
    patch: {spec: {properties: {sku: {family: B}}}}
  selector: {}
"#;

fn fleet() -> TempDir {
    directory(FILES.into_iter().chain([("raw.yaml", RAW)]))
}

/// The program's stdout, or its stderr when it fails.
fn explained(fleet: &Path, arguments: &[&str], code: i32) -> String {
    let place = ["-C", fleet.to_str().expect("UTF-8")];
    let arguments = [&["explain"], arguments, &place].concat();
    match code {
        0 => stdout(&arguments, code),
        _ => stderr(&arguments, code),
    }
}

#[test]
fn a_value_is_shown_with_what_it_overrode() {
    let fleet = fleet();
    let say = |object, field| explained(fleet.path(), &[object, field], 0);
    let hcp = "HcpOpenShiftCluster/clusters/prod-uks-1";
    assert_eq!(
        say(hcp, "spec.properties.version.channelGroup"),
        "\
HcpOpenShiftCluster/clusters/prod-uks-1
name in Azure: prod-uks-1

spec.properties.version.channelGroup: stable
  set by the overlay `high` (Enforced) at overlays.yaml:22:29
  overrides fast, set by the definition clusters/prod-uks-1 at prod.yaml:14:39
"
    );
    assert_eq!(
        say("ClusterDefinition/prod-uks-1", "spec.location"),
        "\
ClusterDefinition/clusters/prod-uks-1

spec.location: uksouth
  set by the definition clusters/prod-uks-1 at prod.yaml:8:13
  overrides westeurope, set by the overlay `low` (Default) at overlays.yaml:7:15
"
    );
    assert_eq!(
        say("ConfigMap/settings", "/data/mode"),
        "\
ConfigMap/clusters/settings

data.mode: slow
  set by a patch of the overlay `slow` at raw.yaml:19:55
  overrides fast, set at raw.yaml:5:9
"
    );
}

#[test]
fn expanded_values_are_distinguished_from_written_ones() {
    let fleet = fleet();
    let vault = explained(fleet.path(), &["Vault/prod-uks-1-kv-aaaaaa"], 2);
    let name = vault
        .split("similar names are ")
        .nth(1)
        .and_then(|near| near.split(',').next());
    let name = name.expect("a vault").trim().to_owned();
    let output = explained(fleet.path(), &[&name, "spec.properties.sku"], 0);
    let expected = "\
spec.properties.sku.family: B
  set by a patch of the overlay `slow` at raw.yaml:21:47
  overrides A, filled in by Capstan for prod.yaml:4:9
";
    assert!(output.contains(expected), "{output}");
    let output = explained(
        fleet.path(),
        &["AROMachinePool/prod-uks-1-mp1", "metadata.name"],
        0,
    );
    let expected = "metadata.name: prod-uks-1-mp1\n  derived from prod.yaml:";
    assert!(output.contains(expected), "{output}");
}

#[test]
fn a_definition_is_shown_with_its_names_in_azure() {
    let fleet = fleet();
    let output = explained(fleet.path(), &["ClusterDefinition/prod-uks-1"], 0);
    let (_, names) = output.split_once("\nnames in Azure:\n").expect("names");
    for name in [
        "  ResourceGroup/clusters/prod-uks-1-resgroup: prod-uks-1-resgroup\n",
        "  HcpOpenShiftClustersNodePool/clusters/prod-uks-1-mp1: mp1\n",
    ] {
        assert!(names.contains(name), "{names}");
    }
    assert!(!names.contains("RoleAssignment"), "{names}");
    let pool = "HcpOpenShiftClustersNodePool/prod-uks-1-mp1";
    let output = explained(fleet.path(), &[pool, "--format", "json"], 0);
    let report: Json = serde_json::from_str(&output).expect("JSON");
    assert_eq!(report["azureName"], "mp1");
}

#[test]
fn every_value_of_every_object_has_a_story() {
    let fleet = fleet();
    for object in [
        "AROCluster/prod-uks-1",
        "AROControlPlane/prod-uks-1",
        "Cluster/prod-uks-1",
        "ConfigMap/settings",
    ] {
        let output = explained(fleet.path(), &[object, "--format", "json"], 0);
        let report: Json = serde_json::from_str(&output).expect("JSON");
        let fields = report["fields"].as_array().expect("fields");
        assert!(fields.len() > 5, "{output}");
        for field in fields {
            let placed = field["path"].is_string() && field["line"].as_u64() > Some(0);
            assert!(placed && field["by"].is_string(), "{field}");
            let is_secret = field["field"] == "data.clientSecret";
            assert_eq!(field["secret"], is_secret, "{field}");
        }
    }
}

#[test]
fn json_has_the_same() {
    let fleet = fleet();
    let arguments = ["ConfigMap/settings", "data.mode", "--format", "json"];
    let report: Json = serde_json::from_str(&explained(fleet.path(), &arguments, 0)).expect("JSON");
    let expected = json!({
        "apiVersion": "capstan.dev/v1alpha1",
        "kind": "Explanation",
        "object": "ConfigMap/clusters/settings",
        "fields": [{
            "field": "data.mode", "pointer": "/data/mode", "secret": false,
            "value": "slow", "by": "patch", "name": "slow", "precedence": null,
            "path": "raw.yaml", "line": 19, "column": 55,
            "overrides": [{
                "value": "fast", "by": "file", "name": null, "precedence": null,
                "path": "raw.yaml", "line": 5, "column": 9,
            }],
        }],
    });
    assert_eq!(report, expected);
}

#[test]
fn secrets_are_not_shown() {
    let fleet = fleet();
    for format in ["text", "json"] {
        for object in ["Secret/token", "ConfigMap/settings"] {
            let output = explained(fleet.path(), &[object, "--format", format], 0);
            assert!(output.contains("raw.yaml"), "{output}");
            assert!(!output.contains("hunter"), "{output}");
        }
    }
    // What was overridden is not shown either, although the fleet has no such finding any more.
    let patched = RAW.replace(
        "/data/mode, value: slow",
        "/data/clientSecret, value: $(VAR)",
    );
    std::fs::write(fleet.path().join("raw.yaml"), patched).expect("written");
    let output = explained(
        fleet.path(),
        &["ConfigMap/settings", "data.clientSecret"],
        0,
    );
    assert!(
        output.contains("raw.yaml:6") && !output.contains("hunter"),
        "{output}"
    );
}

/// A fleet of one file.
fn of(text: &str) -> TempDir {
    directory([("a.yaml", text)])
}

/// An object, and an overlay that changes all of its kind by these steps of a JSON patch.
fn patched(object: &str, kind: &str, steps: &str) -> TempDir {
    let spec = format!("  patches: [{{target: {{kind: {kind}}}, json6902: [{steps}]}}]\n");
    of(&format!("{object}---\n{}", overlay(&spec)))
}

#[test]
fn secrets_inside_other_objects_are_not_shown() {
    let fleet = of(r#"apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AROCluster
metadata: {name: c, namespace: n}
spec:
  resources: [{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {a: hunter2}}]
  template: {kind: Secret, data: {b: aHVudGVyMg==, c: [aHVudGVyMw==]}}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: m
  annotations: {kubectl.kubernetes.io/last-applied-configuration: '{"data":{"a":"hunter2"}}'}
"#);
    for object in ["AROCluster/c", "Secret/s", "ConfigMap/m"] {
        for format in ["text", "json"] {
            let output = explained(fleet.path(), &[object, "--format", format], 0);
            assert!(output.contains("a.yaml"), "{output}");
            assert!(
                !output.contains("hunter") && !output.contains("aHVud"),
                "{output}"
            );
        }
    }
}

#[test]
fn a_secret_that_a_patch_took_elsewhere_is_not_shown() {
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: n, annotations: {owner: sre}}\nstringData: {a: hunter2, b: hunter3}\n";
    let steps = "{op: move, from: /stringData/a, path: /metadata/annotations/x}, \
                 {op: copy, from: /stringData/b, path: /metadata/annotations/y}, \
                 {op: remove, path: /stringData/b}";
    let fleet = patched(secret, "Secret", steps);
    let output = explained(fleet.path(), &["Secret/s", "metadata"], 0);
    assert!(!output.contains("hunter"), "{output}");
    for name in ["x", "y"] {
        let hidden = format!("metadata.annotations.{name}: (a secret");
        assert!(output.contains(&hidden), "{output}");
    }
    assert!(
        output.contains("metadata.annotations.owner: sre"),
        "{output}"
    );
}

#[test]
fn file_contents_are_not_printed_as_commands() {
    let fleet = of(concat!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\n",
        r#"data: {"a\n::error::b": "\e[2J", "\x9bc": "\x9bd"}"#,
        "\n---\napiVersion: capstan.dev/v1alpha1\nkind: Overlay\n",
        r#"metadata: {name: "o\n::error::b"}"#,
        "\nspec: {selector: {}, patches: [{target: {kind: ConfigMap}, patch: {data: {z: w}}}]}\n",
        "---\napiVersion: v1\nkind: ::warning::a\nmetadata: {name: w}\n",
    ));
    let output = explained(fleet.path(), &["ConfigMap/m"], 0);
    let other = explained(fleet.path(), &["::warning::a/w"], 0);
    let error = explained(fleet.path(), &["ConfigMap/m", "data.none"], 2);
    for output in [output, other, error] {
        let controls = |c: char| c.is_control() && c != '\n';
        assert!(!output.contains(controls), "{output:?}");
        let command = output.lines().find(|line| line.trim().starts_with("::"));
        assert_eq!(command, None, "{output:?}");
    }
}

#[test]
fn annotations_of_capstan_and_fields_emptied_by_a_patch_are_distinguished() {
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {b: c}\n";
    let fleet = patched(map, "ConfigMap", "{op: remove, path: /data/b}");
    let say = |field| explained(fleet.path(), &["ConfigMap/a", field], 0);
    for field in [
        "metadata.annotations[capstan.dev/source]",
        "metadata.labels",
    ] {
        let output = say(field);
        let expected = "filled in by Capstan for a.yaml:3";
        assert!(output.contains(expected), "{output}");
    }
    let data = say("data");
    assert!(
        data.contains("data: {}\n  derived from a.yaml:4:7"),
        "{data}"
    );
}

#[test]
fn a_mistyped_argument_is_reported_with_a_suggestion() {
    let fleet = fleet();
    for (arguments, message) in [
        (
            &["ConfigMap/settigns"][..],
            "similar names are ConfigMap/clusters/settings",
        ),
        (
            &["ConfigMap/settings", "data.mod"],
            "`data` has no `mod`; did you mean `mode`?",
        ),
        (&["settings"], "is not written Kind/namespace/name"),
    ] {
        let output = explained(fleet.path(), arguments, 2);
        assert!(output.contains(message), "{output}");
    }
}
