//! Git over SSH: the `ssh` program against a real `sshd`.

use std::sync::Arc;
use std::time::Duration;

use capstan::adapters::git::{Access, Branch, Error, Outcome, Patience};
use capstan::model::ErrorClass;
use jiff::Timestamp;

use super::branches::{MAIN, done, edits, push};
use super::repository::{Copied, Keys, NOTES, Repository};
use super::sshd::Sshd;

struct World {
    repository: Repository,
    server: Sshd,
}

impl World {
    fn new() -> Option<Self> {
        Some(Self {
            server: Sshd::start()?,
            repository: Repository::new(),
        })
    }

    fn known(&self) -> String {
        format!(
            "[127.0.0.1]:{} {}\n",
            self.server.port,
            self.server.public("host")
        )
    }

    fn mirror(&self, identity: &str, known: &str) -> Copied {
        let identity = self.server.key(identity);
        let keys = Keys::new(&[("identity", &identity), ("known_hosts", known.as_bytes())]);
        let access = Access {
            credentials: Some(keys),
            ..Access::default()
        };
        Copied::new(&self.server.url(self.repository.path()), &access)
    }

    fn error(&self, identity: &str, known: &str) -> Error {
        self.mirror(identity, known).fetch().expect_err("refused")
    }
}

#[test]
fn a_branch_is_pushed_to_made_and_deleted() {
    let Some(world) = World::new() else { return };
    let head = world.repository.push("main", "one");
    let mirror = world.mirror("client", &world.known());
    mirror.fetch().expect("fetched");
    let files = edits(&[("clusters/x.yaml", Some("x"))]);
    let main = Branch::of(&mirror, MAIN).expect("a branch");
    let commit = |head: &str| push(&files, "1", None, |commit| main.commit(head, commit));
    let id = done(commit(&head));
    let tip = |name: &str| {
        world
            .repository
            .git(&["rev-parse", "--verify", "--quiet", name])
            .ok()
    };
    assert_eq!(tip(MAIN), Some(id.clone()));
    assert_eq!(commit(&head).expect("told"), Outcome::Moved);
    let name = "refs/heads/capstan/x";
    let branch = Branch::of(&mirror, name).expect("a branch");
    let files = edits(&[("clusters/x.yaml", None)]);
    let create = push(&files, "2", None, |commit| branch.create(Some(&id), commit));
    let made = done(create);
    assert_eq!(tip(name), Some(made.clone()));
    done(branch.delete(&made));
    assert_eq!(tip(name), None);
    assert_eq!(tip(MAIN), Some(id));
}

#[test]
fn a_repository_is_cloned_followed_and_noted() {
    let Some(world) = World::new() else { return };
    let first = world.repository.push("main", "it's one");
    let mirror = world.mirror("client", &world.known());
    assert_eq!(mirror.fetch().expect("fetched")["HEAD"], first);
    assert_eq!(mirror.fetch().expect("unchanged")["HEAD"], first);
    let objects = mirror.objects();
    let second = world.repository.push("main", "two");
    assert_eq!(mirror.fetch().expect("fetched")["HEAD"], second);
    assert_eq!(mirror.objects(), objects + 3);

    let rewrite = |old: Option<&str>| format!("{}x\n", old.unwrap_or_default());
    for expected in ["x\n", "x\nx\n"] {
        mirror
            .edit_note(NOTES, &second, &rewrite, Timestamp::UNIX_EPOCH)
            .expect("written");
        assert_eq!(world.repository.note(&second).as_deref(), Some(expected));
    }
}

#[test]
fn a_hashed_host_is_known() {
    let Some(world) = World::new() else { return };
    let commit = world.repository.push("main", "one");
    let known = world.server.hashed(&world.known());
    assert!(known.starts_with("|1|"), "{known}");
    let mirror = world.mirror("client", &known);
    assert_eq!(mirror.fetch().expect("fetched")["HEAD"], commit);
}

#[test]
fn a_host_that_is_not_known_is_refused() {
    let Some(world) = World::new() else { return };
    world.repository.push("main", "one");
    let host = format!("[127.0.0.1]:{}", world.server.port);
    let other = world.server.public("stranger");
    let changed = world.error("client", &format!("# comment\n{host} {other}\n"));
    let message = changed.to_string();
    for name in ["host", "stranger"] {
        assert!(
            message.contains(&world.server.fingerprint(name)),
            "{message}"
        );
    }
    let revoked = format!("@revoked {host} {}\n", world.server.public("host"));
    let revoked = world.error("client", &revoked);
    assert!(revoked.to_string().contains("revoked"), "{revoked}");
    let unknown = world.error("client", "example.com ssh-ed25519 AAAA\n");
    let message = unknown.to_string();
    assert!(
        message.contains("known_hosts has no key of [127.0.0.1]:"),
        "{message}"
    );
    for error in [changed, revoked, unknown] {
        assert_eq!(error.class(), ErrorClass::Denied, "{error}");
    }
    let none = world.error("client", "");
    assert_eq!(none.class(), ErrorClass::Invalid);
    assert!(
        none.to_string().contains("needs the key known_hosts"),
        "{none}"
    );
}

#[test]
fn a_key_that_is_not_accepted_and_a_repository_that_is_not_there_are_told_apart() {
    let Some(world) = World::new() else { return };
    let error = world.error("stranger", &world.known());
    assert_eq!(error.class(), ErrorClass::Denied);
    assert!(error.to_string().contains("deploy key"), "{error}");
    std::fs::remove_dir_all(world.repository.path()).expect("removed");
    let error = world.error("client", &world.known());
    assert_eq!(error.class(), ErrorClass::Gone, "{error}");
}

#[test]
fn a_server_that_never_speaks_is_given_up_after_its_time() {
    let Some(world) = World::new() else { return };
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = silent.local_addr().expect("bound").port();
    let keys = Keys::new(&[
        ("identity", &world.server.key("client")),
        ("known_hosts", b"x y z"),
    ]);
    let access = Access {
        credentials: Some(keys as Arc<_>),
        patience: Patience {
            connect: Duration::from_secs(30),
            idle: Duration::from_millis(500),
            ..Patience::default()
        },
        ..Access::default()
    };
    let mirror = Copied::new(&format!("ssh://git@127.0.0.1:{port}/r"), &access);
    let error = mirror.fetch().expect_err("silence");
    assert_eq!(error.class(), ErrorClass::Transient);
    assert!(
        error.to_string().contains("it stopped answering"),
        "{error}"
    );
}
