//! The shipped program on a fleet that applies signed commits only.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use capstan::adapters::checks;
use capstan::model::{Check, CheckState};
use serde_json::{Value as Json, json};

use super::repository::{Repository, has};
use super::signers::{Key, Signers};
use crate::patience::until;

/// A daemon, which is killed when this is dropped.
struct Running(Child);

impl Running {
    fn start(dir: &Path, config: &Path) -> Self {
        let child = Command::new(env!("CARGO_BIN_EXE_capstan"))
            .args(["run", "--embedded", "--speed", "1000", "--config"])
            .arg(config)
            .env("CAPSTAN_CACHE", dir.join("cache"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        Self(child.expect("it starts"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

fn text(name: &str) -> String {
    format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}, namespace: default}}}}\n")
}

/// Waits for the sync check in this state.
fn wait(repository: &Repository, commit: &str, state: CheckState) -> Check {
    let found = || {
        let mut all = checks::read(&repository.note(commit)?).into_iter();
        all.find(|check| check.context == "capstan/prod/sync" && check.state == state)
    };
    until(found, || format!("{:?}", repository.note(commit)))
}

/// The Fleet document of a repository from which only what is signed by `key` is applied.
fn fleet(repository: &Repository, reference: &Json, mode: &str, key: &str) -> Json {
    let url = format!("file://{}", repository.path().display());
    let verify = json!({"mode": mode, "keys": [key]});
    json!({
        "apiVersion": "capstan.dev/v1alpha1", "kind": "Fleet",
        "metadata": {"name": "prod", "namespace": "default"},
        "spec": {"source": {"git": {"url": url, "ref": reference, "interval": "1s", "verify": verify}}},
    })
}

fn is_complete() -> bool {
    has("git", "git") && has("ssh-keygen", "openssh-client")
}

/// A release is a tag. With `TagAndHead` its commit is signed, too.
#[test]
fn a_release_is_applied_once_its_tag_is_signed_and_its_commit_if_that_is_asked_for() {
    if !is_complete() {
        return;
    }
    for mode in ["Tag", "TagAndHead"] {
        let (repository, signers) = (Repository::new(), Signers::new());
        let (key, public) = signers.ssh("ada", "ed25519");
        let commit = |parents: &[&str], name: &str, key: Option<&Key>| {
            signers.commit(&repository, "main", parents, &text(name), key)
        };
        let tag = |arguments: &[&str], key: Option<&Key>| {
            let arguments = [&["tag", "-f", "-m", "release it"], arguments].concat();
            signers.git(&repository, key, &arguments);
        };
        let dir = tempfile::tempdir().expect("a directory");
        let config = dir.path().join("fleet.yaml");
        let fleet = fleet(&repository, &json!({"semver": "1.x"}), mode, &public);
        std::fs::write(&config, fleet.to_string()).expect("written");
        let first = commit(&[], "first", Some(&key));
        tag(&["-a", "v1.0.0", &first], None);
        let _running = Running::start(dir.path(), &config);
        let refused = wait(&repository, &first, CheckState::Failure);
        let why = "v1.0.0";
        assert!(refused.summary.contains(why), "{mode}: {refused:?}");
        // The same commit, signed now.
        tag(&["-s", "v1.0.0", &first], Some(&key));
        wait(&repository, &first, CheckState::Success);
        // A signed tag of a commit that is not signed.
        let second = commit(&[&first], "second", None);
        tag(&["-s", "v1.1.0", &second], Some(&key));
        if mode == "Tag" {
            wait(&repository, &second, CheckState::Success);
            continue;
        }
        let refused = wait(&repository, &second, CheckState::Failure);
        let stays = format!("The last good revision {first} stays applied.");
        for words in ["is not signed; sign it", &stays] {
            assert!(refused.summary.contains(words), "{refused:?}");
        }
    }
}

#[test]
fn an_unsigned_commit_is_refused_and_the_last_signed_one_stays() {
    if !is_complete() {
        return;
    }
    let (repository, signers) = (Repository::new(), Signers::new());
    let (key, public) = signers.ssh("ada", "ed25519");
    let commit = |parents: &[&str], name: &str, key: Option<&Key>| {
        signers.commit(&repository, "main", parents, &text(name), key)
    };
    let dir = tempfile::tempdir().expect("a directory");
    let fleet = fleet(&repository, &json!({"branch": "main"}), "Head", &public);
    let config = dir.path().join("fleet.yaml");
    std::fs::write(&config, fleet.to_string()).expect("written");

    // At the start the head is unsigned: the signed one before it is applied.
    let first = commit(&[], "first", Some(&key));
    let second = commit(&[&first], "second", None);
    let running = Running::start(dir.path(), &config);
    let refused = wait(&repository, &second, CheckState::Failure);
    assert_eq!(refused.title, "not applied: its signature is not accepted");
    for words in [&second, "by Ada", "is not signed; sign it"] {
        assert!(refused.summary.contains(words), "{refused:?}");
    }
    let stays = format!("The last good revision {first} stays applied.");
    assert!(refused.summary.contains(&stays), "{refused:?}");
    wait(&repository, &first, CheckState::Success);

    let third = commit(&[&second], "third", Some(&key));
    wait(&repository, &third, CheckState::Success);
    let fourth = commit(&[&third], "fourth", None);
    let refused = wait(&repository, &fourth, CheckState::Failure);
    let stays = format!("The last good revision {third} stays applied.");
    assert!(refused.summary.contains(&stays), "{refused:?}");
    drop(running);

    // The key is exchanged: what was applied is not accepted any more, and nothing older takes its place.
    let (key, public) = signers.ssh("eve", "ed25519");
    let mut fleet = fleet;
    fleet["spec"]["source"]["git"]["verify"]["keys"] = json!([public]);
    std::fs::write(&config, fleet.to_string()).expect("written");
    let fifth = commit(&[&fourth], "fifth", None);
    let _running = Running::start(dir.path(), &config);
    let refused = wait(&repository, &fifth, CheckState::Failure);
    assert!(
        refused.summary.contains("no good revision is known"),
        "{refused:?}"
    );
    let sixth = commit(&[&fifth], "sixth", Some(&key));
    wait(&repository, &sixth, CheckState::Success);
}

/// A cluster that is deleted with its file, beside an object that stays.
fn with_cluster(name: &str) -> String {
    let cluster = "{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {name: c, namespace: default, annotations: {capstan.dev/deletion-policy: Delete}}, spec: {paused: true}}\n";
    format!("{}---\n{cluster}", text(name))
}

/// Who signs the merge says nothing of the messages below it.
#[test]
fn an_approval_counts_in_a_commit_that_is_signed_itself() {
    if !is_complete() {
        return;
    }
    let (repository, signers) = (Repository::new(), Signers::new());
    let (key, public) = signers.ssh("ada", "ed25519");
    let commit = |parents: &[&str], text: &str, message: &str, key: Option<&Key>| {
        signers.commit_saying(&repository, "main", parents, text, message, key)
    };
    let dir = tempfile::tempdir().expect("a directory");
    let fleet = fleet(&repository, &json!({"branch": "main"}), "Head", &public);
    let config = dir.path().join("fleet.yaml");
    std::fs::write(&config, fleet.to_string()).expect("written");
    let approving = "tidy up\n\nCapstan-Approve: delete default/c";

    let first = commit(&[], &with_cluster("a"), "first", Some(&key));
    let _running = Running::start(dir.path(), &config);
    let found = || {
        let all = checks::read(&repository.note(&first)?);
        all.into_iter()
            .find(|check| check.title.contains("1/2 ready"))
    };
    until(found, || format!("{:?}", repository.note(&first)));
    // On the line of first parents, below a head that is signed.
    let unsigned = commit(&[&first], &text("a"), approving, None);
    let signed = commit(&[&unsigned], &text("b"), "signed", Some(&key));
    let kept = wait(&repository, &signed, CheckState::Failure);
    assert_eq!(kept.title, "1 loss needs approval; 1/1 ready");
    for words in [
        "does not count: the commit is not verified",
        "is not signed; sign it",
    ] {
        assert!(kept.summary.contains(words), "{kept:?}");
    }
    // Beside it, below a merge that is signed.
    let aside = commit(&[&signed], &text("c"), approving, Some(&key));
    let merge = commit(&[&signed, &aside], &text("c"), "merge it", Some(&key));
    let kept = wait(&repository, &merge, CheckState::Failure);
    assert_eq!(kept.title, "1 loss needs approval; 1/1 ready");
    assert!(
        kept.summary.contains("a merge brought the commit in"),
        "{kept:?}"
    );
    let approved = commit(&[&merge], &text("d"), approving, Some(&key));
    let gone = wait(&repository, &approved, CheckState::Success);
    assert_eq!(gone.title, "1/1 ready", "{gone:?}");
    assert!(gone.summary.contains("was approved by Ada"), "{gone:?}");
}
