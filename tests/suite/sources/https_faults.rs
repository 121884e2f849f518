//! What servers of git over HTTPS do wrong: each fault has a class, and the mirror stays as it was.

use std::time::Duration;

use capstan::adapters::git::{Access, Patience, Ref};
use capstan::model::ErrorClass;

use super::https_world::World;
use super::repository::{Copied, git};

#[test]
fn what_a_server_answers_has_a_class() {
    let Some(world) = World::new() else { return };
    world.repository.push("main", "one");
    for (status, class, words) in [
        (200, ErrorClass::Denied, "sign-in page"),
        (203, ErrorClass::Denied, "sign-in page"),
        (
            403,
            ErrorClass::Denied,
            "needs the permission to read this repository",
        ),
        (404, ErrorClass::Gone, "deleted or renamed"),
        (429, ErrorClass::Transient, "429"),
        (503, ErrorClass::Transient, "503"),
    ] {
        for part in ["info/refs", "/git-upload-pack"] {
            world
                .server
                .behave(|it| it.page = Some((part.to_owned(), status)));
            let (found, message) = world.error(&world.access());
            assert_eq!(found, class, "{status}: {message}");
            assert!(message.contains(words), "{message}");
            assert!(!message.contains("<html>"), "{message}");
        }
    }
    world.server.behave(|it| it.page = None);
    let missing = Copied::new(&world.server.url("/none.git"), &world.access());
    assert_eq!(missing.fetch().expect_err("none").class(), ErrorClass::Gone);
}

#[test]
fn a_fetch_that_is_cut_leaves_the_mirror_as_it_was() {
    let Some(world) = World::new() else { return };
    let first = world.repository.push("main", "one");
    let mirror = world.mirror();
    mirror.fetch().expect("fetched");
    let objects = mirror.objects();
    let second = world.repository.push("main", &"two\n".repeat(10_000));
    for size in [0, 3, 8, 60, 120, 200] {
        world.server.behave(|it| it.cut = Some(size));
        let error = mirror.fetch().expect_err("cut");
        assert_eq!(error.class(), ErrorClass::Transient, "{size}: {error}");
        assert_eq!(mirror.resolve(&Ref::Head).expect("kept"), first);
        assert!(mirror.tree(&first, "").is_ok());
        assert_eq!(mirror.objects(), objects);
    }
    world.server.behave(|it| it.cut = None);
    assert_eq!(mirror.fetch().expect("fetched")["HEAD"], second);
}

#[test]
fn a_server_that_falls_silent_is_given_up_after_its_time() {
    let Some(world) = World::new() else { return };
    world.server.behave(|it| it.silent = true);
    let patience = Patience {
        connect: Duration::from_secs(9),
        idle: Duration::from_millis(300),
        ..Patience::default()
    };
    let start = std::time::Instant::now();
    let (class, message) = world.error(&Access {
        patience,
        ..world.access()
    });
    assert_eq!(
        (class, message.contains("it stopped answering")),
        (ErrorClass::Transient, true),
        "{message}"
    );
    assert!(start.elapsed() >= Duration::from_millis(300));
    assert!(start.elapsed() < Duration::from_secs(60));
}

#[test]
fn a_server_that_does_not_finish_connecting_is_given_up_after_its_time() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!(
        "https://localhost:{}/r",
        silent.local_addr().expect("bound").port()
    );
    let patience = Patience {
        connect: Duration::from_millis(300),
        idle: Duration::from_secs(600),
        ..Patience::default()
    };
    let start = std::time::Instant::now();
    let mirror = Copied::new(
        &url,
        &Access {
            patience,
            ..Access::default()
        },
    );
    let error = mirror.fetch().expect_err("silence");
    assert_eq!(error.class(), ErrorClass::Transient, "{error}");
    assert!(start.elapsed() >= Duration::from_millis(300));
    assert!(start.elapsed() < Duration::from_secs(60));
}

#[test]
fn a_branch_that_is_rewritten_during_a_fetch_is_reported_as_that() {
    let Some(world) = World::new() else { return };
    let first = world.repository.push("main", "one");
    let mirror = world.mirror();
    mirror.fetch().expect("fetched");
    world.repository.push("main", "two");
    let (path, back) = (world.repository.path().to_owned(), first.clone());
    world.server.behave(|it| {
        it.before_post = Some(Box::new(move || {
            git(&path, &["update-ref", "refs/heads/main", &back]).expect("reset");
        }));
    });
    let error = mirror.fetch().expect_err("it vanished");
    assert_eq!(error.class(), ErrorClass::Conflict);
    assert!(error.to_string().contains("not our ref"), "{error}");
    assert_eq!(mirror.fetch().expect("fetched")["HEAD"], first);
}

#[test]
fn a_pack_over_the_limit_is_refused() {
    let Some(world) = World::new() else { return };
    world.repository.push("main", "one");
    let (class, message) = world.error(&Access {
        limit: 100,
        ..world.access()
    });
    assert_eq!(
        (class, message.contains("more than 100 bytes")),
        (ErrorClass::Invalid, true),
        "{message}"
    );
}
