//! Tokens that do not do, on a real Gitea.

use http::Method;
use serde_json::json;

use super::world::{SYNC, World};
use crate::kubernetes::if_asked;

/// The fleet goes on, one warning names the scope, and a better token is used without a restart.
#[test]
fn a_token_without_the_scope_is_named_and_can_be_replaced() {
    let Some(world) = if_asked(World::new) else {
        return;
    };
    let narrow = world.gitea.token(&world.owner.name, &["read:repository"]);
    let daemon = world.daemon_as(&narrow);
    daemon.wait("required=[write:repository]");
    assert_eq!(world.statuses(&world.first, SYNC), []);
    let wide = world.gitea.token(&world.owner.name, &["write:repository"]);
    world.replace_token(&wide);
    world.wait(&world.first, SYNC, "success");
    let words = daemon.words();
    let warning = "required=[write:repository]";
    let named = words.lines().filter(|line| line.contains(warning)).count();
    assert_eq!(named, 1, "{words}");
    assert!(
        !words.contains(&narrow) && !words.contains(&wide),
        "{words}"
    );
}

#[test]
fn a_token_that_was_revoked_is_reported_as_that() {
    let Some(world) = if_asked(World::new) else {
        return;
    };
    let user = &world.owner.name;
    let token = world.gitea.token(user, &["write:repository"]);
    let daemon = world.daemon_as(&token);
    world.wait(&world.first, SYNC, "success");
    world.gitea.revoke(user);
    let second = world.push("main", "next");
    daemon.wait("it may be expired or revoked");
    assert_eq!(world.statuses(&second, SYNC), []);
    let new = world.gitea.token(user, &["write:repository"]);
    world.replace_token(&new);
    world.wait(&second, SYNC, "success");
}

/// Somebody who may read, and whose token has every scope, is still no writer.
#[test]
fn a_reader_is_told_what_is_missing() {
    let Some(world) = if_asked(World::new) else {
        return;
    };
    let reader = world.gitea.user("reader");
    let daemon = world.daemon_as(&reader.token);
    daemon.wait("permission to write");
    let path = format!("/repos/{}/collaborators/{}", world.repository, reader.name);
    world.gitea.call(
        &world.owner.token,
        &Method::PUT,
        &path,
        json!({"permission": "write"}),
    );
    // Rule 7 of forges.md §0: it is asked again with another token at once.
    world.replace_token(&world.gitea.token(&reader.name, &["write:repository"]));
    world.wait(&world.first, SYNC, "success");
    let words = daemon.words();
    assert_eq!(words.matches("cannot write checks").count(), 1, "{words}");
}
