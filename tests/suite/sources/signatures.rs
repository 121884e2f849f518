//! Signatures that git itself made, of commits and tags, and what is not accepted of them.

use std::process::Command;

use capstan::adapters::git::{Access, Ref, Trust};
use capstan::daemon::wall_time;
use capstan::model::PublicKey;

use super::repository::{Copied, Repository, has};
use super::signers::{Key, Signers, content, object, point, run};

struct World {
    repository: Repository,
    signers: Signers,
}

impl World {
    fn new(program: &str, package: &str) -> Option<Self> {
        let here = has("git", "git") && has(program, package);
        here.then(|| Self {
            repository: Repository::new(),
            signers: Signers::new(),
        })
    }

    fn commit(&self, branch: &str, parents: &[&str], key: Option<&Key>) -> String {
        let (text, signers) = (format!("text: {branch}\n"), &self.signers);
        signers.commit(&self.repository, branch, parents, &text, key)
    }

    fn tag(&self, arguments: &[&str], key: Option<&Key>) {
        let arguments = [&["tag", "-f", "-m", "release it"], arguments].concat();
        self.signers.git(&self.repository, key, &arguments);
    }

    fn mirror(&self) -> Copied {
        let url = self.repository.path().display().to_string();
        let mirror = Copied::new(&url, &Access::default());
        mirror.fetch().expect("fetched");
        mirror
    }
}

fn keys(written: &[&str]) -> Vec<PublicKey> {
    let keys = written
        .iter()
        .flat_map(|key| PublicKey::read(key).expect("readable"));
    keys.collect()
}

fn trust(keys: &[PublicKey]) -> Trust<'_> {
    let now = wall_time();
    Trust { keys, now }
}

/// Checks what is said of each commit; nothing of one that is accepted.
fn check(mirror: &Copied, keys: &[PublicKey], cases: &[(&String, &str)]) {
    for (commit, expected) in cases {
        let said = match mirror.verify_commit(commit, trust(keys)) {
            Ok(()) => String::new(),
            Err(error) => error.to_string(),
        };
        let who = format!("commit {commit} by Ada <ada@example.com> {expected}");
        match expected.is_empty() {
            true => assert_eq!(said, ""),
            false => assert!(said.starts_with(&who), "{said:?} is not {who:?}"),
        }
    }
}

/// The same commit with another message.
fn changed(world: &World, commit: &str) -> String {
    let text = content(&world.repository, "commit", commit);
    let changed = object(
        &world.repository,
        "commit",
        text.replace("change it", "obey").as_bytes(),
    );
    point(&world.repository, "changed", &changed);
    changed
}

#[test]
fn a_commit_is_accepted_with_a_listed_key_of_ssh_only() {
    let Some(world) = World::new("ssh-keygen", "openssh-client") else {
        return;
    };
    let signers = &world.signers;
    let kinds = ["ed25519", "rsa", "ecdsa"].map(|kind| signers.ssh(kind, kind));
    let (other, public) = signers.ssh("other", "ed25519");
    let fingerprint = PublicKey::read(&public).expect("readable")[0].fingerprint();
    let shown = Command::new("ssh-keygen")
        .args(["-l", "-f"])
        .arg(signers.path("other.pub"))
        .output();
    let shown = String::from_utf8(shown.expect("it runs").stdout).expect("text");
    assert!(shown.contains(&fingerprint), "{shown}: {fingerprint}");

    let signed = kinds
        .each_ref()
        .map(|(key, _)| world.commit("main", &[], Some(key)));
    let unlisted = world.commit("unlisted", &[], Some(&other));
    let unsigned = world.commit("unsigned", &[&signed[0]], None);
    let merge = world.commit("merge", &[&signed[0], &signed[1]], None);
    for (at, commit) in signed.iter().enumerate() {
        point(&world.repository, &format!("signed-{at}"), commit);
    }
    let changed = changed(&world, &signed[0]);
    let listed = PublicKey::read(&kinds[0].1).expect("readable")[0].fingerprint();
    let foreign = for_another_purpose(&world, &unsigned);
    let accepted = keys(&kinds.each_ref().map(|(_, public)| public.as_str()));
    check(
        &world.mirror(),
        &accepted,
        &[
            (&signed[0], ""),
            (&signed[1], ""),
            (&signed[2], ""),
            (&unsigned, "is not signed; sign it by git"),
            (&merge, "is not signed;"),
            (
                &unlisted,
                &format!("is signed with the key {fingerprint}, which is not listed;"),
            ),
            (
                &changed,
                &format!("has an invalid signature by the key {listed};"),
            ),
            (
                &foreign,
                "has an SSH signature for \"file\", not for \"git\";",
            ),
        ],
    );
}

/// A commit with a signature of the first key that was made for files.
fn for_another_purpose(world: &World, commit: &str) -> String {
    let text = content(&world.repository, "commit", commit);
    let file = world.signers.path("text");
    std::fs::write(&file, &text).expect("written");
    let mut sign = Command::new("ssh-keygen");
    sign.args(["-q", "-Y", "sign", "-n", "file", "-f"]);
    run(sign.arg(world.signers.path("ed25519")).arg(&file));
    let signature = std::fs::read_to_string(world.signers.path("text.sig")).expect("signed");
    let header = signature.trim().replace('\n', "\n ");
    let (head, message) = text.split_once("\n\n").expect("a message");
    let signed = format!("{head}\ngpgsig {header}\n\n{message}");
    let signed = object(&world.repository, "commit", signed.as_bytes());
    point(&world.repository, "foreign", &signed);
    signed
}

#[test]
fn a_commit_is_accepted_with_a_valid_listed_key_of_open_pgp_only() {
    let Some(world) = World::new("gpg", "gnupg") else {
        return;
    };
    let signers = &world.signers;
    let (ada, fingerprint) = signers.open_pgp("ada", &[], "0");
    let primary = world.commit("primary", &[], Some(&ada));
    let old = keys(&[&signers.exported(&fingerprint)]);
    signers.gpg(&["--quick-add-key", &fingerprint, "ed25519", "sign", "0"]);
    // Now gpg signs with the subkey.
    let by_subkey = world.commit("subkey", &[], Some(&ada));
    let (other, unlisted_key) = signers.open_pgp("eve", &[], "0");
    let unlisted = world.commit("unlisted", &[], Some(&other));
    let (expired, expired_key) = expired(&world);
    let (revoked, revoked_key) = revoked(&world);
    let changed = changed(&world, &primary);
    let accepted = [&fingerprint, &expired_key, &revoked_key].map(|key| signers.exported(key));
    let accepted = keys(&accepted.each_ref().map(String::as_str));
    check(
        &world.mirror(),
        &accepted,
        &[
            (&primary, ""),
            (&by_subkey, ""),
            (
                &changed,
                &format!("has an invalid signature by the key {fingerprint};"),
            ),
            (
                &unlisted,
                &format!("is signed with the key {unlisted_key}, which is not listed;"),
            ),
            (
                &expired,
                &format!("is signed with the key {expired_key}, which expired at 2020-01-03T"),
            ),
            (
                &revoked,
                &format!("is signed with the revoked key {revoked_key};"),
            ),
        ],
    );
    both_exports(&world, &expired, &expired_key);
    // The key as it was before it had the subkey does not accept what that signed.
    let error = world
        .mirror()
        .verify_commit(&by_subkey, trust(&old))
        .expect_err("unlisted");
    assert!(error.to_string().contains("which is not listed"), "{error}");
}

/// A key that was extended is listed twice, as it was and as it is; then the newer one says that it is revoked.
fn both_exports(world: &World, commit: &String, key: &str) {
    let signers = &world.signers;
    let old = signers.exported(key);
    signers.gpg(&["--quick-set-expire", key, "0"]);
    let extended = signers.exported(key);
    revoke(world, key);
    let revoked = signers.exported(key);
    let is_revoked = format!("is signed with the revoked key {key};");
    for (listed, expected) in [
        ([&old, &extended], ""),
        ([&extended, &old], ""),
        ([&extended, &revoked], is_revoked.as_str()),
    ] {
        let accepted = keys(&listed.map(String::as_str));
        check(&world.mirror(), &accepted, &[(commit, expected)]);
    }
}

/// A commit that was signed while its key was valid.
fn expired(world: &World) -> (String, String) {
    let then = ["--faked-system-time", "20200102T000000"];
    let (mut key, fingerprint) = world.signers.open_pgp("old", &then, "1d");
    key.push(
        world
            .signers
            .program("then", "gpg --faked-system-time 20200102T010000"),
    );
    (world.commit("expired", &[], Some(&key)), fingerprint)
}

/// A commit whose key was revoked afterwards.
fn revoked(world: &World) -> (String, String) {
    let (key, fingerprint) = world.signers.open_pgp("lost", &[], "0");
    let commit = world.commit("revoked", &[], Some(&key));
    revoke(world, &fingerprint);
    (commit, fingerprint)
}

fn revoke(world: &World, fingerprint: &str) {
    let kept = format!("g/openpgp-revocs.d/{fingerprint}.rev");
    let kept = std::fs::read_to_string(world.signers.path(&kept)).expect("made with the key");
    let file = world.signers.path("revocation");
    std::fs::write(&file, kept.replace(":-----BEGIN", "-----BEGIN")).expect("written");
    world
        .signers
        .gpg(&["--import", &file.display().to_string()]);
}

#[test]
fn a_tag_is_accepted_if_its_own_object_is_signed_and_stays_accepted_when_it_is_moved() {
    let Some(world) = World::new("ssh-keygen", "openssh-client") else {
        return;
    };
    let (key, public) = world.signers.ssh("ada", "ed25519");
    let (other, _) = world.signers.ssh("eve", "ed25519");
    let first = world.commit("main", &[], None);
    let second = world.commit("main", &[&first], Some(&key));
    world.tag(&["-s", "v1.0.0", &first], Some(&key));
    world.tag(&["-s", "wrong", &first], Some(&other));
    world.tag(&["-a", "unsigned", &first], None);
    let git = |arguments: &[&str]| world.repository.git(arguments).expect("done");
    git(&["tag", "light", &second]);
    git(&["update-ref", "refs/tags/v2.0.0", "refs/tags/v1.0.0"]);
    let mirror = world.mirror();
    let accepted = keys(&[&public]);
    let said =
        |wanted: &Ref, commit: &str| match mirror.verify_tag(wanted, commit, trust(&accepted)) {
            Ok(()) => String::new(),
            Err(error) => error.to_string(),
        };
    let tag = |name: &str| Ref::Tag(name.to_owned());
    for (name, commit, expected) in [
        (
            "light",
            &second,
            "tag \"light\" is not an annotated tag, so it cannot be signed;",
        ),
        (
            "unsigned",
            &first,
            "tag \"unsigned\" by Ada <ada@example.com> is not signed;",
        ),
        (
            "wrong",
            &first,
            "tag \"wrong\" by Ada <ada@example.com> is signed with the key SHA256:",
        ),
        (
            "v2.0.0",
            &first,
            "tag \"v2.0.0\" by Ada <ada@example.com> is a copy of the tag \"v1.0.0\";",
        ),
        (
            "v1.0.0",
            &second,
            &format!("commit {second} has no tag that is followed;"),
        ),
    ] {
        let said = said(&tag(name), commit);
        assert!(said.starts_with(expected), "{said}");
    }
    assert_eq!(said(&tag("v1.0.0"), &first), "");
    let range = |range: &str| Ref::Newest(range.parse().expect("a range"));
    assert_eq!(said(&range("1.x"), &first), "");
    assert!(said(&range("2.x"), &first).contains("is a copy of"));

    // Who has no key cannot bring an old release back by a tag of a higher version.
    git(&["tag", "v9.0.0", &first]);
    mirror.fetch().expect("fetched");
    let refused = "tag \"v9.0.0\" is not an annotated tag";
    assert!(said(&range(">=1"), &first).starts_with(refused));
    git(&["tag", "-d", "v9.0.0"]);

    git(&["tag", "-f", "v1.0.0", &second]);
    mirror.fetch().expect("fetched");
    assert_eq!(said(&tag("v1.0.0"), &first), "");
    assert!(said(&tag("v1.0.0"), &second).contains("is not an annotated tag"));
    assert!(said(&tag("v3"), &first).contains("has no tag that is followed"));
}
