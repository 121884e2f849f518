//! Findings on the lines of a pull request, on a real Gitea.

use serde_json::Value;

use super::world::{PLAN, SYNC, World, config_map};
use crate::kubernetes::if_asked;
use crate::patience::until;

/// Two lines, the second of which is broken.
const BROKEN: &str = "apiVersion: v1\nkind: [ConfigMap\n";

/// A comment on a line.
#[derive(Debug, PartialEq, Eq)]
struct Comment {
    path: String,
    line: u64,
    body: String,
    resolved: bool,
}

/// The comments of each review, oldest first, without one that is being written.
fn reviews(world: &World, number: u64) -> Vec<Vec<Comment>> {
    let path = format!("/repos/{}/pulls/{number}/reviews", world.repository);
    let get = |path: &str| match world.gitea.get(&world.owner.token, path) {
        Value::Array(rows) => rows,
        other => panic!("{other}"),
    };
    let comment = |row: Value| Comment {
        path: row["path"].as_str().expect("a path").to_owned(),
        line: row["position"].as_u64().expect("a line"),
        body: row["body"].as_str().expect("text").to_owned(),
        resolved: !row["resolver"].is_null(),
    };
    let of = |review: Value| {
        assert_eq!(review["state"], "COMMENT", "{review}");
        let rows = get(&format!("{path}/{}/comments", review["id"]));
        let mut comments: Vec<Comment> = rows.into_iter().map(comment).collect();
        comments.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
        comments
    };
    let mut written = get(&path);
    written.retain(|review| review["state"] != "PENDING");
    written.into_iter().map(of).collect()
}

fn places(comments: &[Comment]) -> Vec<(&str, u64, bool)> {
    let places = comments.iter();
    places
        .map(|one| (one.path.as_str(), one.line, one.resolved))
        .collect()
}

/// With the scope of statuses alone: comments need another one.
#[test]
fn findings_are_on_their_lines_once_and_resolved_when_they_are_gone() {
    let Some(world) = if_asked(World::new) else {
        return;
    };
    let token = world.gitea.token(&world.owner.name, &["write:repository"]);
    let daemon = world.daemon_as(&token);
    world.wait(&world.first, SYNC, "success");
    let files = [("a.yaml", BROKEN), ("b.yaml", BROKEN)];
    let first = world.working.commit("change", &files);
    world.working.push("change");
    let number = world
        .owner
        .pull_request(world.gitea, &world.repository, "change");
    world.wait(&first, PLAN, "failure");
    let written = || Some(reviews(&world, number)).filter(|all| !all.is_empty());
    let all = until(written, || "no review".to_owned());
    assert_eq!(all.len(), 1, "{all:?}");
    let line = all[0][0].line;
    assert_eq!(
        places(&all[0]),
        [("a.yaml", line, false), ("b.yaml", line, false)]
    );
    let text = &all[0][0].body;
    assert!(
        text.starts_with("<!-- capstan: capstan/prod/plan -->\nerror: "),
        "{text}"
    );

    // A restart says nothing again; the next head fixes one file and breaks another one.
    drop(daemon);
    let daemon = world.daemon_as(&token);
    let files = [("a.yaml", &*config_map("a")), ("c.yaml", BROKEN)];
    let second = world.working.commit("change", &files);
    world.working.push("change");
    world.wait(&second, PLAN, "failure");
    let resolved = || {
        let all = reviews(&world, number);
        all[0][0].resolved.then_some(all)
    };
    let all = until(resolved, || format!("{:?}", reviews(&world, number)));
    let all: Vec<_> = all.iter().map(|one| places(one)).collect();
    assert_eq!(
        all,
        [
            vec![("a.yaml", line, true), ("b.yaml", line, false)],
            vec![("c.yaml", line, false)]
        ]
    );

    // Nothing is left when nothing is found.
    let third = world.working.commit(
        "change",
        &[("b.yaml", &*config_map("b")), ("c.yaml", &*config_map("c"))],
    );
    world.working.push("change");
    world.wait(&third, PLAN, "success");
    let open = || {
        let all = reviews(&world, number);
        all.iter().flatten().all(|one| one.resolved).then_some(all)
    };
    let all = until(open, || format!("{:?}", reviews(&world, number)));
    assert_eq!(all.len(), 2);
    let words = daemon.words();
    assert!(!words.contains("cannot review"), "{words}");
}
