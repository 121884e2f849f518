//! People who sign commits and tags, with keys made by `ssh-keygen` and `gpg`.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use super::repository::{Repository, git};

/// A directory of keys.
pub(super) struct Signers {
    dir: TempDir,
}

/// How a commit or a tag is signed: settings of git.
pub(super) type Key = Vec<String>;

fn settings(format: &str, key: &str) -> Key {
    vec![
        format!("gpg.format={format}"),
        format!("user.signingkey={key}"),
    ]
}

impl Signers {
    pub(super) fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let home = dir.path().join("g");
        std::fs::create_dir(&home).expect("made");
        let owner = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        std::fs::set_permissions(home, owner).expect("private");
        Self { dir }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A key of SSH; returns how to sign with it and its public half.
    pub(super) fn ssh(&self, name: &str, kind: &str) -> (Key, String) {
        let file = self.path(name).display().to_string();
        run(Command::new("ssh-keygen").args(["-q", "-t", kind, "-N", "", "-C", name, "-f", &file]));
        let public = std::fs::read_to_string(format!("{file}.pub")).expect("written");
        (settings("ssh", &file), public)
    }

    /// What `gpg` prints.
    pub(super) fn gpg(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("gpg");
        let quiet = [
            "--batch",
            "--yes",
            "--quiet",
            "--passphrase",
            "",
            "--pinentry-mode",
            "loopback",
        ];
        command.env("GNUPGHOME", self.path("g"));
        run(command.args(quiet).args(arguments))
    }

    /// A key of OpenPGP that signs; returns how to sign with it, and its fingerprint.
    pub(super) fn open_pgp(&self, name: &str, when: &[&str], lasts: &str) -> (Key, String) {
        let person = format!("{name} <{name}@example.com>");
        let make = ["--quick-gen-key", &person, "ed25519", "cert,sign", lasts];
        self.gpg(&[when, &make].concat());
        let listed = self.gpg(&["--with-colons", "--list-keys", name]);
        let fingerprint = listed.lines().find_map(|line| line.strip_prefix("fpr:"));
        let fingerprint = fingerprint
            .expect("it has one")
            .trim_matches(':')
            .to_owned();
        (settings("openpgp", &fingerprint), fingerprint)
    }

    /// The public half of a key of OpenPGP.
    pub(super) fn exported(&self, fingerprint: &str) -> String {
        self.gpg(&["--armor", "--export", fingerprint])
    }

    /// Has `gpg` called as `script` says, where `gpg` stands for it.
    pub(super) fn program(&self, name: &str, script: &str) -> String {
        let path = self.path(name);
        std::fs::write(&path, format!("#!/bin/sh\nexec {script} \"$@\"\n")).expect("written");
        let run = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&path, run).expect("executable");
        format!("gpg.program={}", path.display())
    }

    /// A commit of one file on top of `parents`, to which `branch` leads then.
    pub(super) fn commit(
        &self,
        repository: &Repository,
        branch: &str,
        parents: &[&str],
        text: &str,
        key: Option<&Key>,
    ) -> String {
        self.commit_saying(repository, branch, parents, text, "change it", key)
    }

    /// The same with this message.
    pub(super) fn commit_saying(
        &self,
        repository: &Repository,
        branch: &str,
        parents: &[&str],
        text: &str,
        message: &str,
        key: Option<&Key>,
    ) -> String {
        let blob = piped(
            repository.path(),
            &["hash-object", "-w", "--stdin"],
            text.as_bytes(),
        );
        let entry = format!("100644 blob {blob}\tone.yaml\n");
        let tree = piped(repository.path(), &["mktree"], entry.as_bytes());
        let mut arguments = vec!["commit-tree", tree.as_str(), "-m", message];
        arguments.extend(parents.iter().flat_map(|parent| ["-p", *parent]));
        arguments.extend(key.map(|_| "-S"));
        let commit = self.git(repository, key, &arguments);
        point(repository, branch, &commit);
        commit
    }

    /// Runs git as Ada, who signs with `key`.
    pub(super) fn git(
        &self,
        repository: &Repository,
        key: Option<&Key>,
        arguments: &[&str],
    ) -> String {
        let mut command = Command::new("git");
        command
            .env("GNUPGHOME", self.path("g"))
            .arg("-C")
            .arg(repository.path());
        command.args(["-c", "user.name=Ada", "-c", "user.email=ada@example.com"]);
        for setting in key.into_iter().flatten() {
            command.args(["-c", setting]);
        }
        run(command.args(arguments)).trim().to_owned()
    }
}

impl Drop for Signers {
    fn drop(&mut self) {
        let home = self.path("g");
        let mut kill = Command::new("gpgconf");
        drop(kill.env("GNUPGHOME", home).args(["--kill", "all"]).output());
    }
}

/// Has a branch lead to a commit.
pub(super) fn point(repository: &Repository, branch: &str, commit: &str) {
    let name = format!("refs/heads/{branch}");
    repository
        .git(&["update-ref", &name, commit])
        .expect("written");
}

/// An object of this content.
pub(super) fn object(repository: &Repository, kind: &str, content: &[u8]) -> String {
    let write = ["hash-object", "-w", "--stdin", "-t", kind];
    piped(repository.path(), &write, content)
}

/// The content of an object.
pub(super) fn content(repository: &Repository, kind: &str, id: &str) -> String {
    let text = git(repository.path(), &["cat-file", kind, id]).expect("readable");
    format!("{text}\n")
}

pub(super) fn run(command: &mut Command) -> String {
    let output = command.output().expect("it starts");
    assert!(output.status.success(), "{command:?}: {output:?}");
    String::from_utf8(output.stdout).expect("text")
}

fn piped(dir: &Path, arguments: &[&str], input: &[u8]) -> String {
    let mut command = Command::new("git");
    command.arg("-C").arg(dir).args(arguments);
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let mut child = child.expect("it starts");
    let mut stdin = child.stdin.take().expect("piped");
    stdin.write_all(input).expect("written");
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{arguments:?}");
    String::from_utf8(output.stdout)
        .expect("text")
        .trim()
        .to_owned()
}
