//! Commits that are signed when they are made, judged by us and by git.

use std::process::Command;

use capstan::adapters::git::{Access, Branch, NewCommit, Signer, Trust};
use capstan::daemon::wall_time;
use capstan::model::PublicKey;

use super::branches::{MAIN, done, edits, push};
use super::repository::{Copied, Repository, has};
use super::signers::{Signers, run};

struct World {
    repository: Repository,
    signers: Signers,
}

impl World {
    fn new(program: &str, package: &str) -> Option<Self> {
        let here = has("git", "git") && has(program, package);
        let world = here.then(|| Self {
            repository: Repository::new(),
            signers: Signers::new(),
        })?;
        world.repository.push("main", "one");
        Some(world)
    }

    /// Checks that a commit that the private key signs is accepted with `public` alone.
    fn sign(&self, private: &str, public: &str) -> String {
        let signer = Signer::read(private).expect("a key");
        let url = self.repository.path().display().to_string();
        let mirror = Copied::new(&url, &Access::default());
        let head = mirror.fetch().expect("fetched")[MAIN].clone();
        let branch = Branch::of(&mirror, MAIN).expect("a branch");
        let files = edits(&[("x.yaml", Some(private.get(..60).expect("long")))]);
        let commit = |commit: &NewCommit<'_>| branch.commit(&head, commit);
        let id = done(push(&files, "1", Some(&signer), commit));
        let keys = PublicKey::read(public).expect("readable");
        let now = wall_time();
        mirror
            .verify_commit(&id, Trust { keys: &keys, now })
            .expect("accepted");
        let none = Trust { keys: &[], now };
        assert!(mirror.verify_commit(&id, none).is_err());
        signer.check(&keys, now).expect("accepted");
        signer.check(&[], now).expect_err("unlisted");
        let fingerprints = keys.iter().map(PublicKey::fingerprint);
        let own = signer.public_key().fingerprint();
        assert!(fingerprints.into_iter().any(|one| one == own));
        id
    }
}

/// The private key of a file that `ssh-keygen` has written.
fn private(signers: &Signers, name: &str) -> String {
    std::fs::read_to_string(signers.path(name)).expect("written")
}

#[test]
fn commits_signed_with_keys_of_ssh_are_accepted_by_git() {
    let Some(world) = World::new("ssh-keygen", "openssh-client") else {
        return;
    };
    let signers = &world.signers;
    for kind in ["ed25519", "rsa", "ecdsa"] {
        // One key of 256 of ECDSA is a byte shorter, and is not read.
        let names = ["first", "second", "third"].map(|name| format!("{kind}-{name}"));
        let found = names.iter().find_map(|name| {
            let (_, public) = signers.ssh(name, kind);
            let private = private(signers, name);
            Signer::read(&private).ok().map(|_| (private, public))
        });
        let (private, public) = found.expect("a key that can be read");
        let id = world.sign(&private, &public);
        let allowed = signers.path("allowed");
        std::fs::write(&allowed, format!("* {public}")).expect("written");
        let setting = format!("gpg.ssh.allowedSignersFile={}", allowed.display());
        let verify = |setting: &str| {
            let verify = ["-c", setting, "verify-commit", &id];
            world.repository.git(&verify)
        };
        verify(&setting).expect("a good signature");
        let (_, other) = signers.ssh(&format!("other-{kind}"), "ed25519");
        std::fs::write(&allowed, format!("* {other}")).expect("written");
        verify(&setting).expect_err("not allowed");
    }
}

#[test]
fn a_key_of_ssh_that_cannot_sign_says_what_to_do() {
    let Some(world) = World::new("ssh-keygen", "openssh-client") else {
        return;
    };
    let made = |name: &str, arguments: &[&str]| {
        let mut keygen = Command::new("ssh-keygen");
        keygen
            .args(["-q", "-C", name, "-f"])
            .arg(world.signers.path(name));
        run(keygen.args(arguments));
        private(&world.signers, name)
    };
    for (name, arguments, cause) in [
        (
            "locked",
            &["-t", "ed25519", "-N", "hunter2"][..],
            "it has a passphrase; remove that with `ssh-keygen -p",
        ),
        (
            "old",
            &["-t", "rsa", "-m", "PEM", "-N", ""],
            "it is not in OpenSSH's format; convert it with `ssh-keygen -p",
        ),
        (
            "curve",
            &["-t", "ecdsa", "-b", "384", "-N", ""],
            "it is of type ecdsa-sha2-nistp384, which is not supported",
        ),
        (
            "short",
            &["-t", "rsa", "-b", "1024", "-N", ""],
            "it is no RSA key of 2048 to 4096 bits",
        ),
    ] {
        let said = Signer::read(&made(name, arguments)).expect_err("unusable");
        assert!(said.to_string().contains(cause), "{said}");
    }
}

#[test]
fn commits_signed_with_keys_of_open_pgp_are_accepted_by_git() {
    let Some(world) = World::new("gpg", "gnupg") else {
        return;
    };
    let signers = &world.signers;
    let (_, fingerprint) = signers.open_pgp("ada", &[], "0");
    let secret = || signers.gpg(&["--armor", "--export-secret-keys", &fingerprint]);
    let mut ids = vec![world.sign(&secret(), &signers.exported(&fingerprint))];
    // From now on its subkey signs.
    signers.gpg(&["--quick-add-key", &fingerprint, "rsa2048", "sign", "0"]);
    ids.push(world.sign(&secret(), &signers.exported(&fingerprint)));
    for id in &ids {
        signers.git(&world.repository, None, &["verify-commit", id]);
    }
    let make = [
        "--passphrase",
        "hunter2",
        "--quick-gen-key",
        "eve <eve@example.com>",
        "ed25519",
        "cert,sign",
        "0",
    ];
    signers.gpg(&make);
    let locked = signers.gpg(&[
        "--passphrase",
        "hunter2",
        "--armor",
        "--export-secret-keys",
        "eve",
    ]);
    let said = Signer::read(&locked).expect_err("locked").to_string();
    assert!(said.contains("it has a passphrase"), "{said}");
}
