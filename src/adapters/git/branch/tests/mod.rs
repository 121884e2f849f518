#![allow(clippy::unwrap_used, clippy::panic)]

mod files;

use std::os::unix::fs::symlink;

use git2::ObjectType;
use jiff::Timestamp;

use super::*;
use crate::adapters::git::Ref;
use crate::adapters::git::fixture::{Copied, Origin};
use crate::model::ErrorClass;

const MAIN: &str = "refs/heads/main";

fn message(subject: &str) -> CommitMessage {
    CommitMessage {
        subject: subject.to_owned(),
        body: String::new(),
        trailers: vec![("Capstan-Request".to_owned(), "1a2b".to_owned())],
    }
}

fn by() -> Committer {
    Committer {
        name: "Grace".to_owned(),
        email: "grace@example.com".to_owned(),
    }
}

/// Writes what has a text, and removes what has none.
fn edits(edits: &[(&str, Option<&str>)]) -> Edits {
    let edit = |text: Option<&str>| text.map_or(Edit::Remove, |text| Edit::Write(text.into()));
    let edits = edits.iter();
    edits
        .map(|(path, text)| ((*path).to_owned(), edit(*text)))
        .collect()
}

/// What comes of a commit of `changes`.
fn made<T>(
    changes: &[(&str, Option<&str>)],
    push: impl FnOnce(&NewCommit<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    push(&NewCommit {
        edits: &edits(changes),
        message: &message("Change it"),
        by: &by(),
        at: Timestamp::from_second(1_760_000_000).unwrap(),
        signer: None,
    })
}

/// Commits onto `main`.
fn commit(
    mirror: &Mirror,
    head: &str,
    changes: &[(&str, Option<&str>)],
) -> Result<Outcome<String>, Error> {
    let branch = Branch::of(mirror, MAIN).unwrap();
    made(changes, |commit| branch.commit(head, commit))
}

fn done<T>(outcome: Result<Outcome<T>, Error>) -> T {
    match outcome.unwrap() {
        Outcome::Done(done) => done,
        Outcome::Moved => panic!("it moved"),
    }
}

fn fetched(origin: &Origin) -> Copied {
    let mirror = origin.mirror(&[]);
    mirror.fetch().unwrap();
    mirror
}

/// The files of a commit: mode, path and id.
fn files(origin: &Origin, commit: &str) -> Vec<(i32, String, Oid)> {
    let commit = origin
        .repository
        .find_commit(Oid::from_str(commit).unwrap());
    let (tree, mut files) = (commit.unwrap().tree().unwrap(), Vec::new());
    tree.walk(git2::TreeWalkMode::PreOrder, |parent, entry| {
        let path = format!("{parent}{}", entry.name().unwrap());
        if entry.kind() != Some(ObjectType::Tree) {
            files.push((entry.filemode_raw(), path, entry.id()));
        }
        git2::TreeWalkResult::Ok
    })
    .unwrap();
    files
}

fn paths(origin: &Origin, commit: &str) -> Vec<String> {
    let files = files(origin, commit).into_iter();
    files.map(|(_, path, _)| path).collect()
}

fn tip(origin: &Origin, name: &str) -> Option<String> {
    let id = origin.repository.refname_to_id(name).ok();
    id.map(|id| id.to_string())
}

#[test]
fn a_commit_arrives_on_top_of_the_head() {
    let origin = Origin::new();
    let head = origin.push("main", &[("a.yaml", "1"), ("b.yaml", "1")]);
    let mirror = fetched(&origin);
    let changes = [("a.yaml", Some("2")), ("c/d.yaml", Some("3"))];
    let id = done(commit(&mirror, &head, &changes));
    assert_eq!(tip(&origin, MAIN), Some(id.clone()));
    assert_eq!(paths(&origin, &id), ["a.yaml", "b.yaml", "c/d.yaml"]);
    let made = origin.repository.find_commit(Oid::from_str(&id).unwrap());
    let made = made.unwrap();
    assert_eq!(made.message(), Ok("Change it\n\nCapstan-Request: 1a2b\n"));
    let parents: Vec<String> = made.parent_ids().map(|id| id.to_string()).collect();
    assert_eq!(parents, [head]);
    for who in [made.author(), made.committer()] {
        assert_eq!(
            (who.name(), who.email()),
            (Ok("Grace"), Ok("grace@example.com"))
        );
        assert_eq!(who.when().seconds(), 1_760_000_000);
    }
    // It is here before the next fetch, and stays.
    let main = Ref::Branch("main".to_owned());
    assert_eq!(mirror.resolve(&main).unwrap(), id);
    assert_eq!(&*mirror.tree(&id, "c").unwrap().files["c/d.yaml"], b"3");
    assert_eq!(mirror.fetch().unwrap()[MAIN], id);
    // Changing nothing is a commit as well.
    let same = done(commit(&mirror, &id, &[("a.yaml", Some("2"))]));
    assert_eq!(files(&origin, &same), files(&origin, &id));
    assert_ne!(same, id);
}

#[test]
fn a_branch_that_somebody_else_moved_stays_as_it_is() {
    let origin = Origin::new();
    let head = origin.push("main", &[("a.yaml", "1")]);
    let mirror = fetched(&origin);
    let theirs = origin.push("main", &[("a.yaml", "2")]);
    let changes = [("b.yaml", Some("1"))];
    assert_eq!(commit(&mirror, &head, &changes).unwrap(), Outcome::Moved);
    assert_eq!(tip(&origin, MAIN), Some(theirs.clone()));
    // Not fetched, it cannot be built on.
    let error = commit(&mirror, &theirs, &changes).unwrap_err();
    assert_eq!(error.class(), ErrorClass::Gone, "{error}");
    mirror.fetch().unwrap();
    done(commit(&mirror, &theirs, &changes));
    origin.delete(MAIN);
    assert_eq!(commit(&mirror, &theirs, &changes).unwrap(), Outcome::Moved);
    assert_eq!(tip(&origin, MAIN), None);
}

#[test]
fn a_branch_is_made_once_and_deleted_as_it_was_seen() {
    let origin = Origin::new();
    let base = origin.push("main", &[("a.yaml", "1")]);
    let mirror = fetched(&origin);
    let branch = Branch::of(&mirror, "refs/heads/capstan/x").unwrap();
    let create = |base| {
        made(&[("b.yaml", Some("1"))], |commit| {
            branch.create(base, commit)
        })
    };
    let id = done(create(Some(&base)));
    assert_eq!(tip(&origin, &branch.name), Some(id.clone()));
    assert_eq!(paths(&origin, &id), ["a.yaml", "b.yaml"]);
    assert_eq!(create(Some(&base)).unwrap(), Outcome::Moved);
    assert_eq!(mirror.fetch().unwrap()[&branch.name], id);

    assert_eq!(branch.delete(&base).unwrap(), Outcome::Moved);
    assert_eq!(tip(&origin, &branch.name), Some(id.clone()));
    done(branch.delete(&id));
    assert_eq!(tip(&origin, &branch.name), None);
    let name = Ref::Name(branch.name.clone());
    assert!(mirror.resolve(&name).is_err());
    assert_eq!(branch.delete(&id).unwrap(), Outcome::Moved);
    assert!(!mirror.fetch().unwrap().contains_key(&branch.name));
    // One that git has packed.
    done(create(Some(&base)));
    let packed = origin.repository.refname_to_id(&branch.name).unwrap();
    std::fs::remove_file(origin.dir.path().join(&branch.name)).unwrap();
    origin.write_ref(&branch.name, packed);
    done(branch.delete(&packed.to_string()));
    assert_eq!(tip(&origin, &branch.name), None);
    assert_eq!(tip(&origin, MAIN), Some(base));

    let first = Branch::of(&mirror, "refs/heads/first").unwrap();
    let id = done(made(&[("b.yaml", Some("1"))], |commit| {
        first.create(None, commit)
    }));
    assert_eq!(paths(&origin, &id), ["b.yaml"]);
}

#[test]
fn a_name_that_is_no_branch_is_refused() {
    let origin = Origin::new();
    let mirror = origin.mirror(&[]);
    let long = format!("{MAIN}{}", "x".repeat(250));
    for name in [
        "main",
        "refs/tags/v1",
        "refs/heads/",
        "refs/heads/a..b",
        "refs/heads/a b",
        &long,
    ] {
        let error = Branch::of(&mirror, name).unwrap_err();
        assert_eq!(error.class(), ErrorClass::Invalid, "{name}");
    }
}

#[test]
fn what_a_hook_refuses_is_denied() {
    let origin = Origin::new();
    let head = origin.push("main", &[("a.yaml", "1")]);
    let mirror = fetched(&origin);
    symlink("/bin/false", origin.dir.path().join("hooks/update")).unwrap();
    let branch = Branch::of(&mirror, MAIN).unwrap();
    for error in [
        commit(&mirror, &head, &[("b", Some("1"))]).unwrap_err(),
        branch.delete(&head).map(drop).unwrap_err(),
    ] {
        assert_eq!(error.class(), ErrorClass::Denied);
        let text = format!("refused the push to {MAIN}: ");
        assert!(error.to_string().contains(&text), "{error}");
        assert!(error.to_string().contains("pull requests"), "{error}");
    }
    assert_eq!(tip(&origin, MAIN), Some(head));
}

#[test]
fn a_branch_that_a_working_copy_has_is_not_moved_away() {
    let origin = Origin::new();
    let head = origin.push("main", &[("a.yaml", "1")]);
    let mirror = fetched(&origin);
    let changes = [("b.yaml", Some("1"))];
    let set = |name: &str, value: &str| {
        origin
            .repository
            .config()
            .unwrap()
            .set_str(name, value)
            .unwrap();
    };
    // The default branch of a bare repository may move, and not go.
    let main = Branch::of(&mirror, MAIN).unwrap();
    let said = |outcome: Result<Outcome<()>, Error>| outcome.unwrap_err().to_string();
    assert!(said(main.delete(&head)).contains("it is the current branch"));
    let other = Branch::of(&mirror, "refs/heads/other").unwrap();
    let made = done(made(&changes, |commit| other.create(Some(&head), commit)));
    set("receive.denyDeletes", "true");
    assert!(said(other.delete(&made)).contains("receive.denyDeletes"));

    let linked = origin.dir.path().join("worktrees/w");
    std::fs::create_dir_all(&linked).unwrap();
    std::fs::write(linked.join("HEAD"), format!("ref: {MAIN}\n")).unwrap();
    let error = commit(&mirror, &head, &changes).unwrap_err();
    assert!(
        error.to_string().contains("checked out in a working copy"),
        "{error}"
    );
    std::fs::remove_dir_all(linked).unwrap();
    set("core.bare", "false");
    let error = commit(&mirror, &head, &changes).unwrap_err();
    assert!(
        error.to_string().contains("checked out in a working copy"),
        "{error}"
    );
    assert_eq!(tip(&origin, MAIN), Some(head.clone()));
    set("receive.denyCurrentBranch", "ignore");
    done(commit(&mirror, &head, &changes));
}

#[test]
fn a_commit_is_found_by_its_trailer() {
    let origin = Origin::new();
    let head = origin.push("main", &[("a.yaml", "1")]);
    let mirror = fetched(&origin);
    let id = done(commit(&mirror, &head, &[("b.yaml", Some("1"))]));
    let newer = origin.push("main", &[("a.yaml", "2")]);
    let newest = origin.push("main", &[("a.yaml", "3")]);
    mirror.fetch().unwrap();
    let branch = Branch::of(&mirror, MAIN).unwrap();
    let find =
        |head: &str, key: &str, value: &str, limit| branch.find(head, key, value, limit).unwrap();
    assert_eq!(
        find(&newest, "Capstan-Request", "1a2b", 200),
        Some(id.clone())
    );
    assert_eq!(
        find(&newest, "capstan-request", "1a2b", 3),
        Some(id.clone())
    );
    assert_eq!(find(&newest, "Capstan-Request", "1a2b", 2), None);
    assert_eq!(find(&newer, "Capstan-Request", "1a2b", 2), Some(id));
    assert_eq!(find(&newest, "Capstan-Request", "1a2", 200), None);
    assert_eq!(find(&newest, "Request", "1a2b", 200), None);
    assert_eq!(find(&head, "Capstan-Request", "1a2b", 200), None);
    let error = branch.find(&"5".repeat(40), "A", "b", 9).unwrap_err();
    assert_eq!(error.class(), ErrorClass::Gone);
}

#[test]
fn no_more_than_the_newest_commits_are_searched_for_a_trailer() {
    let origin = Origin::new();
    let first = origin.push("main", &[("a.yaml", "1")]);
    let mirror = fetched(&origin);
    let id = done(commit(&mirror, &first, &[("b.yaml", Some("1"))]));
    let parent = Oid::from_str(&id).unwrap();
    let mut tips = vec![parent];
    for _ in 0..MOST_COMMITS {
        tips.push(origin.merge(&[*tips.last().unwrap()]));
    }
    origin.point(MAIN, tips[MOST_COMMITS]);
    mirror.fetch().unwrap();
    let branch = Branch::of(&mirror, MAIN).unwrap();
    let find = |at: usize| {
        let head = tips[at].to_string();
        branch
            .find(&head, "Capstan-Request", "1a2b", 9_999)
            .unwrap()
    };
    assert_eq!(find(MOST_COMMITS - 1), Some(id));
    assert_eq!(find(MOST_COMMITS), None);
}

#[test]
fn writers_at_once_through_one_mirror_lose_nothing() {
    const WRITERS: usize = 20;
    let origin = Origin::new();
    origin.push("main", &[("a.yaml", "1")]);
    let mirror = fetched(&origin);
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let mirror = &*mirror;
            scope.spawn(move || {
                let path = format!("d/{writer}.yaml");
                loop {
                    let head = mirror.fetch().unwrap()[MAIN].clone();
                    match commit(mirror, &head, &[(&path, Some("1"))]).unwrap() {
                        Outcome::Done(_) => break,
                        Outcome::Moved => {}
                    }
                }
            });
        }
    });
    let head = tip(&origin, MAIN).unwrap();
    assert_eq!(paths(&origin, &head).len(), WRITERS + 1);
    mirror.fetch().unwrap();
    let line = mirror.first_parents(None, &head, 99).unwrap();
    assert_eq!(line.len(), WRITERS + 1);
}
