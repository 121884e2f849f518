//! That the server is the one that the adapter's fake and the facts describe.

use http::Method;
use serde_json::json;

use super::gitea::{Gitea, Working};

/// A status, a pull request of a fork and a narrow token, through Gitea's own API.
#[test]
fn gitea_is_a_forge() {
    let Some(gitea) = Gitea::shared() else { return };
    let (owner, stranger) = (gitea.user("owner"), gitea.user("stranger"));
    let repository = owner.repository(gitea, "fleet");
    let working = Working::new(gitea, &owner, &repository);
    let first = working.commit("main", &[("a.txt", "a\n")]);
    working.push("main");
    let path = format!("/repos/{repository}/statuses/{first}");
    for state in ["pending", "success"] {
        let body = json!({"state": state, "context": "c", "description": state});
        gitea.call(&owner.token, &Method::POST, &path, body);
    }
    let states = gitea.statuses(&repository, &first);
    let states: Vec<&str> = states.iter().map(|row| row.state.as_str()).collect();
    assert_eq!(states, ["pending", "success"]);

    let fork = stranger.fork(gitea, &repository);
    let theirs = Working::new(gitea, &stranger, &fork);
    theirs.git(&[
        "pull",
        "-q",
        &format!("{}/{fork}.git", gitea.server.url()),
        "main",
    ]);
    let head = theirs.commit("change", &[("a.txt", "b\n")]);
    theirs.push("change");
    let number = stranger.pull_request(gitea, &repository, &format!("{}:change", stranger.name));
    let pull = gitea.get(&owner.token, &format!("/repos/{repository}/pulls/{number}"));
    assert_eq!(pull["head"]["sha"], json!(head));
}
