//! The way to the cluster is not there.

use std::process::Command;

use crate::servers::anonymous;

/// The errors of `apply` and `run` when the way to the cluster is `arguments`, in a home without anything.
fn errors_of(arguments: &[&str]) -> [String; 2] {
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
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{message}");
        let errors = message
            .lines()
            .filter(|line| line.starts_with("error") || line.contains(" ERROR "));
        assert_eq!(errors.count(), 1, "{message}");
        message
    })
}

#[test]
fn without_a_kubeconfig_the_ways_to_a_cluster_are_named() {
    for message in errors_of(&[]) {
        assert!(message.contains("no cluster is configured"), "{message}");
        for part in [".kube/config", "--kubeconfig FILE", "--embedded"] {
            assert!(message.contains(part), "{part}: {message}");
        }
    }
    for message in errors_of(&["--kubeconfig", "no/such/file"]) {
        assert!(
            message.contains("cannot read the kubeconfig: no/such/file: "),
            "{message}"
        );
    }
}

#[test]
fn an_unknown_context_is_reported_with_the_file_and_its_contexts() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("kubeconfig");
    std::fs::write(&file, anonymous("127.0.0.1:1")).expect("written");
    let file = file.to_str().expect("UTF-8");
    for message in errors_of(&["--kubeconfig", file, "--context", "prod"]) {
        let expected = format!(
            "the kubeconfig {file} has no context \"prod\"; it has test: choose one of them with --context"
        );
        assert!(message.contains(&expected), "{message}");
    }
}

#[test]
fn an_unreachable_cluster_is_reported_with_the_cause() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("kubeconfig");
    std::fs::write(&file, anonymous("127.0.0.1:1")).expect("written");
    let output = Command::new(env!("CARGO_BIN_EXE_capstan"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["apply", "examples/quickstart", "--kubeconfig"])
        .arg(file)
        .output()
        .expect("it runs");
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(
        message.contains("nothing is applied: cannot reach the cluster: Connection refused"),
        "{message}"
    );
    assert!(
        message.contains("that the address in the kubeconfig is correct"),
        "{message}"
    );
}
