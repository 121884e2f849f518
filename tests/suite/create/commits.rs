//! Definitions that are committed to a fleet.

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use super::{create, words};
use crate::cli::{capstan, stderr, stdout};

/// A repository with a fleet in `fleet`, and a person who commits.
fn repository() -> (TempDir, git2::Repository) {
    let place = TempDir::new().expect("a directory");
    let repository = git2::Repository::init(place.path()).expect("a repository");
    repository.set_head("refs/heads/work").expect("a branch");
    let mut config = repository.config().expect("its configuration");
    for (name, value) in [
        ("user.name", "A"),
        ("user.email", "a@example.com"),
        ("commit.gpgsign", "false"),
    ] {
        config.set_str(name, value).expect("it is set");
    }
    fs::create_dir(place.path().join("fleet")).expect("it is made");
    (place, repository)
}

/// Runs `capstan create cluster kubevirt ... --commit` in a directory, and returns the exit code and what is said on both streams.
fn commit(at: &Path, changed: &[(&str, &str)], more: &[&str]) -> (Option<i32>, String) {
    let mut create = create("kubevirt", changed);
    create.push("--commit".to_owned());
    create.extend(more.iter().map(|word| (*word).to_owned()));
    let mut command: Command = capstan(&words(&create));
    let output = command.current_dir(at).output().expect("it runs");
    let text = [output.stdout, output.stderr].concat();
    (
        output.status.code(),
        String::from_utf8(text).expect("UTF-8"),
    )
}

/// The messages of the commits with the files of each, the newest first.
fn log(repository: &git2::Repository) -> Vec<String> {
    let Ok(head) = repository.head() else {
        return Vec::new();
    };
    let mut commits = Vec::new();
    let mut next = Some(head.peel_to_commit().expect("a commit"));
    while let Some(commit) = next {
        let tree = commit.tree().expect("a tree");
        let mut files = Vec::new();
        tree.walk(git2::TreeWalkMode::PreOrder, |above, entry| {
            let is_file = entry.kind() == Some(git2::ObjectType::Blob);
            files.extend(is_file.then(|| format!("{}{}", above, entry.name().unwrap_or_default())));
            git2::TreeWalkResult::Ok
        })
        .expect("it is walked");
        commits.push(format!(
            "{}: {}",
            commit.message().expect("UTF-8"),
            files.join(" ")
        ));
        next = commit.parent(0).ok();
    }
    commits
}

#[test]
fn a_definition_is_committed_alone() {
    let (place, repository) = repository();
    fs::write(place.path().join("other.txt"), "").expect("written");
    let mut index = repository.index().expect("an index");
    index.add_path(Path::new("other.txt")).expect("staged");
    index.write().expect("written");
    let (code, said) = commit(place.path(), &[], &["-C", "fleet"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.contains("wrote  fleet/clusters/lab-kubevirt.yaml\ncommitted "),
        "{said}"
    );
    assert!(
        said.contains(" to work: Add cluster clusters/lab-kubevirt\n"),
        "{said}"
    );
    let first = "Add cluster clusters/lab-kubevirt: fleet/clusters/lab-kubevirt.yaml";
    assert_eq!(log(&repository), [first]);
    let status = |path: &str| repository.status_file(Path::new(path)).expect("known");
    assert_eq!(status("other.txt"), git2::Status::INDEX_NEW);
    assert_eq!(
        status("fleet/clusters/lab-kubevirt.yaml"),
        git2::Status::CURRENT
    );
    let fleet = place.path().join("fleet");
    let (code, said) = commit(
        &fleet,
        &[("--name", "two"), ("--namespace", "-")],
        &["--output", "own/two.yaml"],
    );
    assert_eq!(code, Some(0), "{said}");
    let second = "Add cluster default/two: fleet/clusters/lab-kubevirt.yaml fleet/own/two.yaml";
    assert_eq!(log(&repository), [second, first]);
    stdout(&["validate", fleet.to_str().expect("UTF-8")], 0);
}

#[test]
fn nothing_is_committed_that_the_fleet_cannot_have() {
    let (place, repository) = repository();
    let fleet = place.path().join("fleet");
    let write = |name: &str, text: &str| fs::write(fleet.join(name), text).expect("written");
    let head = "apiVersion: capstan.dev/v1alpha1\nkind: ClusterDefinition\n";
    // It is not valid, which is no reason to have two of its name.
    write(
        "all.yaml",
        &format!(
            "{head}metadata: {{name: lab-kubevirt, namespace: clusters}}\nspec: {{platform: HyperShift}}\n"
        ),
    );
    let (code, said) = commit(&fleet, &[], &[]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("error: --name: ClusterDefinition/clusters/lab-kubevirt exists already at all.yaml:3:18\n"), "{said}");
    let hosted = "apiVersion: hypershift.openshift.io/v1beta1\nkind: HostedCluster\nmetadata: {name: raw, namespace: clusters}\nspec: {}\n";
    write("raw.yaml", hosted);
    // Whichever is read first is the other one's duplicate.
    for file in ["new.yaml", "too.yaml"] {
        let (code, said) = commit(&fleet, &[("--name", "raw")], &["--output", file]);
        assert_eq!(code, Some(2), "{said}");
        let expected =
            "error: --name: HostedCluster/clusters/raw exists already at raw.yaml:3:18\n";
        assert!(said.starts_with(expected), "{said}");
        assert!(!said.contains("S03"), "it was there before: {said}");
    }
    let overlay = "apiVersion: capstan.dev/v1alpha1\nkind: Overlay\nmetadata: {name: o}\nspec:\n  selector: {matchLabels: {env: odd}}\n  merge:\n    hyperShift: {agent: {namespace: machines}}\n    nodePools: [{name: \"*\", autoscaling: {min: 1, max: 2}}]\n";
    write("overlay.yaml", overlay);
    let odd = [("--name", "odd"), ("--label", "env=odd")];
    let (code, said) = commit(&fleet, &odd, &[]);
    assert_eq!(code, Some(1), "{said}");
    let expected = "error: --node-pool-replicas: a node pool has either replicas or autoscaling\n";
    assert!(said.contains(expected), "{said}");
    assert!(said.contains("--> overlay.yaml:7:"), "{said}");
    write(".capstanignore", "hidden.yaml\n");
    write("kept.yaml", "");
    fs::write(place.path().join(".gitignore"), "ignored.yaml\n").expect("written");
    for (output, message) in [
        (
            "../outside.yaml",
            "--output: ../outside.yaml would not be part of the fleet",
        ),
        (
            "new.txt",
            "--output: new.txt would not be part of the fleet",
        ),
        ("no/../../new.yaml", "would not be part of the fleet"),
        ("hidden.yaml", "a .capstanignore excludes it"),
        (".hidden/new.yaml", "a directory above it is hidden"),
        ("ignored.yaml", "git ignores fleet/ignored.yaml"),
        ("kept.yaml", "kept.yaml exists and is not changed"),
    ] {
        let (code, said) = commit(&fleet, &[("--name", "new")], &["--output", output]);
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains(message), "{output}: {said}");
        assert!(
            output == "kept.yaml" || !fleet.join(output).exists(),
            "{output}"
        );
    }
    assert!(!fleet.join(".hidden").exists() && !fleet.join("clusters").exists());
    assert_eq!(log(&repository), [""; 0]);
    let (code, said) = commit(&fleet, &[("--name", "new")], &[]);
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.contains("errors that the fleet had before: "),
        "{said}"
    );
}

#[test]
fn repositories_that_cannot_be_committed_to_are_refused() {
    let alone = TempDir::new().expect("a directory");
    let (code, said) = commit(alone.path(), &[], &[]);
    assert_eq!(code, Some(2), "{said}");
    assert!(
        said.contains("is not in a working copy of a git repository"),
        "{said}"
    );
    let (place, repository) = repository();
    let fleet = place.path().join("fleet");
    let file = fleet.join("clusters/lab-kubevirt.yaml");
    fs::create_dir(fleet.join("clusters")).expect("made");
    fs::write(&file, "a: 1\n").expect("written");
    let mut index = repository.index().expect("an index");
    index
        .add_path(Path::new("fleet/clusters/lab-kubevirt.yaml"))
        .expect("staged");
    index.write().expect("written");
    fs::remove_file(&file).expect("removed");
    let (code, said) = commit(&fleet, &[], &[]);
    assert_eq!(code, Some(2), "{said}");
    assert!(
        said.contains(
            "git knows fleet/clusters/lab-kubevirt.yaml already: it is committed or staged"
        ),
        "{said}"
    );
    assert!(!file.exists());
    let nested = fleet.join("nested");
    git2::Repository::init(&nested).expect("a repository");
    let (code, said) = commit(&fleet, &[], &["--output", "nested/a.yaml"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(
        said.contains("is in another repository than the fleet"),
        "{said}"
    );
    let (code, said) = commit(&fleet, &[("--release", "4.20")], &[]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("--release: `4.20` is not valid"), "{said}");
    assert_eq!(log(&repository), [""; 0]);
    stderr(&["create", "cluster", "kubevirt", "-C", "x"], 2);
}
