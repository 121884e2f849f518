//! Which line sets each value, as `capstan explain` tells it.

use std::path::Path;

use assert_cmd::Command;
use serde_json::{Value as Json, json};

const DEFINITION: &str = r#"apiVersion: capstan.dev/v1alpha1
kind: ClusterDefinition
metadata:
  name: prod-uks-1
  namespace: clusters
  labels: {env: prod}
spec:
  location: uksouth
  subscriptionID: 3f0c7d3e-52a4-4b6b-9a51-2f1f0d9c7a10
  tenantID: 8b2c4f7a-1f6e-4d1c-8f0a-6a2f5c7e9b31
  identityRef: {name: cluster-identity}
  version: {id: "4.20", channelGroup: fast}
  nodePools:
  - {name: mp1, version: 4.20.17, vmSize: Standard_D4s_v3, replicas: 2}
"#;

const OVERLAYS: &str = r#"apiVersion: capstan.dev/v1alpha1
kind: Overlay
metadata: {name: low}
spec:
  merge:
    location: westeurope
    tags: {fleet: blue}
---
apiVersion: capstan.dev/v1alpha1
kind: Overlay
metadata: {name: high}
spec:
  precedence: Enforced
  merge:
    version: {channelGroup: stable}
  patches:
  - target: {kind: Vault}
    patch: {spec: {properties: {sku: {family: B}}}}
  - target: {kind: ConfigMap}
    json6902: [{op: replace, path: /data/mode, value: slow}]
"#;

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
"#;

fn fleet() -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    let files = [
        ("prod.yaml", DEFINITION),
        ("overlays.yaml", OVERLAYS),
        ("raw.yaml", RAW),
    ];
    for (name, text) in files {
        std::fs::write(directory.path().join(name), text).expect("written");
    }
    directory
}

/// What the program says on stdout, or on stderr when it fails.
fn explained(fleet: &Path, arguments: &[&str], code: i32) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_capstan"));
    let command = command.arg("explain").args(arguments).arg("-C").arg(fleet);
    let output = command.env("NO_COLOR", "1").output().expect("it runs");
    let said = if code == 0 {
        output.stdout
    } else {
        output.stderr
    };
    let said = String::from_utf8(said).expect("UTF-8");
    assert_eq!(output.status.code(), Some(code), "{said}");
    said
}

#[test]
fn a_value_is_told_with_what_it_overrode() {
    let fleet = fleet();
    let say = |object, field| explained(fleet.path(), &[object, field], 0);
    let hcp = "HcpOpenShiftCluster/clusters/prod-uks-1";
    assert_eq!(
        say(hcp, "spec.properties.version.channelGroup"),
        "\
HcpOpenShiftCluster/clusters/prod-uks-1

spec.properties.version.channelGroup: stable
  set by the overlay `high` (Enforced) at overlays.yaml:15:29
  overrides fast, set by the definition clusters/prod-uks-1 at prod.yaml:12:39
"
    );
    assert_eq!(
        say("ClusterDefinition/prod-uks-1", "spec.location"),
        "\
ClusterDefinition/clusters/prod-uks-1

spec.location: uksouth
  set by the definition clusters/prod-uks-1 at prod.yaml:8:13
  overrides westeurope, set by the overlay `low` (Default) at overlays.yaml:6:15
"
    );
    assert_eq!(
        say("ConfigMap/settings", "/data/mode"),
        "\
ConfigMap/clusters/settings

data.mode: slow
  set by a patch of the overlay `high` at overlays.yaml:20:55
  overrides fast, set at raw.yaml:5:9
"
    );
}

#[test]
fn what_expansion_made_is_told_apart_from_what_was_written() {
    let fleet = fleet();
    let vault = explained(fleet.path(), &["Vault/prod-uks-1-kv-aaaaaa"], 2);
    let name = vault
        .split("the nearest are ")
        .nth(1)
        .and_then(|near| near.split(',').next());
    let name = name.expect("a vault").trim().to_owned();
    let said = explained(fleet.path(), &[&name, "spec.properties.sku"], 0);
    let expected = "\
spec.properties.sku.family: B
  set by a patch of the overlay `high` at overlays.yaml:18:47
  overrides A, filled in by Capstan for prod.yaml:4:9
";
    assert!(said.contains(expected), "{said}");
    let said = explained(
        fleet.path(),
        &["AROMachinePool/prod-uks-1-mp1", "metadata.name"],
        0,
    );
    let expected = "metadata.name: prod-uks-1-mp1\n  derived from prod.yaml:";
    assert!(said.contains(expected), "{said}");
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
        let said = explained(fleet.path(), &[object, "--format", "json"], 0);
        let report: Json = serde_json::from_str(&said).expect("JSON");
        let fields = report["fields"].as_array().expect("fields");
        assert!(fields.len() > 5, "{said}");
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
            "value": "slow", "by": "patch", "name": "high", "precedence": null,
            "path": "overlays.yaml", "line": 20, "column": 55,
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
            let said = explained(fleet.path(), &[object, "--format", format], 0);
            assert!(said.contains("raw.yaml"), "{said}");
            assert!(!said.contains("hunter"), "{said}");
        }
    }
    // What was overridden is not shown either, although the fleet has no such finding any more.
    let patch = OVERLAYS.replace(
        "/data/mode, value: slow",
        "/data/clientSecret, value: $(VAR)",
    );
    std::fs::write(fleet.path().join("overlays.yaml"), patch).expect("written");
    let said = explained(
        fleet.path(),
        &["ConfigMap/settings", "data.clientSecret"],
        0,
    );
    assert!(
        said.contains("raw.yaml:6") && !said.contains("hunter"),
        "{said}"
    );
}

/// A fleet of one file.
fn of(text: &str) -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::write(directory.path().join("a.yaml"), text).expect("written");
    directory
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
            let said = explained(fleet.path(), &[object, "--format", format], 0);
            assert!(said.contains("a.yaml"), "{said}");
            assert!(
                !said.contains("hunter") && !said.contains("aHVud"),
                "{said}"
            );
        }
    }
}

#[test]
fn a_secret_that_a_patch_took_elsewhere_is_not_shown() {
    let fleet = of(r#"apiVersion: v1
kind: Secret
metadata: {name: s, namespace: n, annotations: {owner: sre}}
stringData: {a: hunter2, b: hunter3}
---
apiVersion: capstan.dev/v1alpha1
kind: Overlay
metadata: {name: o}
spec:
  patches:
  - target: {kind: Secret}
    json6902:
    - {op: move, from: /stringData/a, path: /metadata/annotations/x}
    - {op: copy, from: /stringData/b, path: /metadata/annotations/y}
    - {op: remove, path: /stringData/b}
"#);
    let said = explained(fleet.path(), &["Secret/s", "metadata"], 0);
    assert!(!said.contains("hunter"), "{said}");
    assert!(said.contains("metadata.annotations.x: (a secret"), "{said}");
    assert!(said.contains("metadata.annotations.owner: sre"), "{said}");
}

#[test]
fn what_stands_in_the_files_is_no_command() {
    let fleet = of(concat!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\n",
        r#"data: {"a\n::error::b": "\e[2J", "\x9bc": "\x9bd"}"#,
        "\n---\napiVersion: capstan.dev/v1alpha1\nkind: Overlay\n",
        r#"metadata: {name: "o\n::error::b"}"#,
        "\nspec: {patches: [{target: {kind: ConfigMap}, patch: {data: {z: w}}}]}\n",
        "---\napiVersion: v1\nkind: ::warning::a\nmetadata: {name: w}\n",
    ));
    let said = explained(fleet.path(), &["ConfigMap/m"], 0);
    let other = explained(fleet.path(), &["::warning::a/w"], 0);
    let error = explained(fleet.path(), &["ConfigMap/m", "data.none"], 2);
    for said in [said, other, error] {
        let controls = |c: char| c.is_control() && c != '\n';
        assert!(!said.contains(controls), "{said:?}");
        let command = said.lines().find(|line| line.trim().starts_with("::"));
        assert_eq!(command, None, "{said:?}");
    }
}

#[test]
fn what_capstan_marks_and_what_a_patch_empties_is_told_apart() {
    let fleet = of(r#"apiVersion: v1
kind: ConfigMap
metadata: {name: a}
data: {b: c}
---
apiVersion: capstan.dev/v1alpha1
kind: Overlay
metadata: {name: o}
spec:
  patches:
  - target: {kind: ConfigMap}
    json6902: [{op: remove, path: /data/b}]
"#);
    let say = |field| explained(fleet.path(), &["ConfigMap/a", field], 0);
    let source = say("metadata.annotations[capstan.dev/source]");
    assert!(
        source.contains("filled in by Capstan for a.yaml:3"),
        "{source}"
    );
    let manager = say("metadata.labels");
    assert!(
        manager.contains("filled in by Capstan for a.yaml:3"),
        "{manager}"
    );
    let data = say("data");
    assert!(
        data.contains("data: {}\n  derived from a.yaml:4:7"),
        "{data}"
    );
}

#[test]
fn a_mistake_in_the_command_is_told_with_what_was_meant() {
    let fleet = fleet();
    for (arguments, message) in [
        (
            ["ConfigMap/settigns", ""],
            "the nearest are ConfigMap/clusters/settings",
        ),
        (
            ["ConfigMap/settings", "data.mod"],
            "`data` has no `mod`; did you mean `mode`?",
        ),
        (["settings", ""], "is not written Kind/namespace/name"),
    ] {
        let said = explained(fleet.path(), &arguments, 2);
        assert!(said.contains(message), "{said}");
    }
}
