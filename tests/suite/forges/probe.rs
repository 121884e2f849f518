//! What a daemon learns of its token when it starts, on a real Gitea.

use super::world::{SYNC, World};
use crate::kubernetes::if_asked;

/// Everything is shown already, so no check would find out.
#[test]
fn a_token_that_was_revoked_while_the_daemon_was_away_is_reported_at_the_start() {
    let Some(world) = if_asked(World::new) else {
        return;
    };
    let user = &world.owner.name;
    let token = world.gitea.token(user, &["write:repository"]);
    let daemon = world.daemon_as(&token);
    world.wait(&world.first, SYNC, "success");
    let words = daemon.words();
    assert!(!words.contains("cannot write checks"), "{words}");
    world.gitea.revoke(user);
    let daemon = world.daemon_as(&token);
    daemon.wait("it may be expired or revoked");
    let new = world.gitea.token(user, &["write:repository"]);
    world.replace_token(&new);
    let second = world.push("main", "next");
    world.wait(&second, SYNC, "success");
    let words = daemon.words();
    assert_eq!(words.matches("cannot write checks").count(), 1, "{words}");
}
