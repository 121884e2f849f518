//! The way to the cluster is not there.

use std::process::Command;

use crate::servers::anonymous;

/// What `apply` and `run` say when the way to the cluster is `arguments`, in a home without anything.
fn said(arguments: &[&str]) -> [String; 2] {
    let home = tempfile::tempdir().expect("a directory");
    let source = home.path().join("repository.git");
    let source = source.to_str().expect("UTF-8");
    [
        vec!["apply", "examples/quickstart"],
        vec!["run", "--source", source],
    ]
    .map(|command| {
        let output = Command::new(env!("CARGO_BIN_EXE_capstan"))
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .args(command)
            .args(arguments)
            .env("HOME", home.path())
            .env("CAPSTAN_CACHE", home.path())
            .env_remove("KUBECONFIG")
            .env_remove("KUBERNETES_SERVICE_HOST")
            .output()
            .expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        let errors = said.lines().filter(|line| line.starts_with("error"));
        assert_eq!(errors.count(), 1, "{said}");
        said
    })
}

#[test]
fn without_a_kubeconfig_the_ways_to_a_cluster_are_named() {
    for said in said(&[]) {
        assert!(said.contains("no cluster is configured"), "{said}");
        for part in [".kube/config", "--kubeconfig FILE", "--embedded"] {
            assert!(said.contains(part), "{part}: {said}");
        }
    }
    for said in said(&["--kubeconfig", "no/such/file"]) {
        assert!(
            said.contains("cannot read the kubeconfig: no/such/file: "),
            "{said}"
        );
    }
}

#[test]
fn a_wrong_context_is_told_with_the_file_and_the_right_ones() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("kubeconfig");
    std::fs::write(&file, anonymous("127.0.0.1:1")).expect("written");
    let file = file.to_str().expect("UTF-8");
    for said in said(&["--kubeconfig", file, "--context", "prod"]) {
        let expected = format!(
            "the kubeconfig {file} has no context \"prod\"; it has test: choose one of them with --context"
        );
        assert!(said.contains(&expected), "{said}");
    }
}

#[test]
fn a_cluster_that_is_not_there_is_told_with_the_cause() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("kubeconfig");
    std::fs::write(&file, anonymous("127.0.0.1:1")).expect("written");
    let output = Command::new(env!("CARGO_BIN_EXE_capstan"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["apply", "examples/quickstart", "--kubeconfig"])
        .arg(file)
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("nothing is applied: cannot reach the cluster: Connection refused"),
        "{said}"
    );
    assert!(
        said.contains("that the address in the kubeconfig is correct"),
        "{said}"
    );
}
