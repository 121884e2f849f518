//! kubectl's tooling for ApplySets takes the sets that Capstan keeps.

use std::process::Command;

use serde_json::{Value as Json, json};

use fixture::{Kubectl, prove};

#[path = "../../../crates/kube-sim/tests/suite/kubectl/fixture.rs"]
mod fixture;
#[path = "../../../crates/kube-sim/tests/suite/kubectl/shown.rs"]
mod shown;

fn config_map(name: &str, data: &Json) -> Json {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": {"l": "1"}}, "data": data})
}

/// Runs Capstan, which keeps its sets in the namespace.
fn capstan(k: &Kubectl, arguments: &[&str]) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_capstan"));
    command
        .args(arguments)
        .current_dir(k.dir.path())
        .env("CAPSTAN_NAMESPACE", &k.namespace)
        .env("KUBECONFIG", &k.kubeconfig);
    let output = command.output().expect("it runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "capstan {arguments:?}: {errors}");
}

/// The parent that Capstan writes is one to kubectl: it leaves alone what another tool keeps, and once
/// that is handed over it goes on with the same members.
fn a_set_of_capstan_is_a_set(k: &Kubectl) {
    let maps = ["a", "b", "c"].map(|name| {
        let mut map = config_map(name, &json!({}));
        map["metadata"]["namespace"] = json!(k.namespace);
        map
    });
    k.file("fleet.yaml", &maps);
    capstan(k, &["apply", "fleet.yaml", "--name", "set"]);
    k.file("two", &maps[..2]);
    let apply = [
        "apply",
        "--server-side",
        "--force-conflicts",
        "--prune",
        "--applyset=configmap/capstan-set",
        "-f",
        "two",
    ];
    k.run(&apply);
    let handed_over = json!({"applyset.kubernetes.io/tooling": "kubectl/v1.34.0"});
    k.file(
        "parent",
        &[json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "capstan-set", "annotations": handed_over}})],
    );
    k.run(&[
        "apply",
        "--server-side",
        "--force-conflicts",
        "--field-manager=kubectl-applyset",
        "-f",
        "parent",
    ]);
    k.run(&apply);
    k.run(&["get", "configmaps", "-l", "l=1", "-o", "name"]);
}

#[test]
fn kubectl_takes_a_set_of_capstan() {
    let name = "a_set_of_capstan_is_a_set";
    prove(
        "tests/suite/cluster/kubectl",
        name,
        a_set_of_capstan_is_a_set,
    );
}
