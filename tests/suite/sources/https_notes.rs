//! Notes that are pushed over HTTPS.

use capstan::adapters::git::{Mirror, NoteEdit};
use capstan::model::ErrorClass;
use jiff::Timestamp;

use super::https_world::{PATH, World};
use super::repository::{Copied, NOTES};

fn append(mirror: &Mirror, commit: &str, line: &str) -> Result<(), capstan::adapters::git::Error> {
    let rewrite = |old: Option<&str>| format!("{}{line}\n", old.unwrap_or_default());
    let edit = NoteEdit {
        commit,
        rewrite: &rewrite,
    };
    mirror.edit_notes(NOTES, &[edit], Timestamp::UNIX_EPOCH)
}

#[test]
fn notes_of_writers_at_once_are_all_kept() {
    let Some(world) = World::new() else { return };
    let commit = world.repository.push("main", "one");
    std::thread::scope(|scope| {
        for writer in 0..3 {
            let (url, access, commit) = (world.server.url(PATH), world.access(), &commit);
            scope.spawn(move || {
                let mirror = Copied::new(&url, &access);
                for at in 0..3 {
                    append(&mirror, commit, &format!("{writer} {at}")).expect("written");
                }
            });
        }
    });
    let note = world.repository.note(&commit).expect("a note");
    let mut lines: Vec<&str> = note.lines().collect();
    lines.sort_unstable();
    let expected: Vec<String> = (0..9).map(|at| format!("{} {}", at / 3, at % 3)).collect();
    assert_eq!(lines, expected);
    let mirror = world.mirror();
    mirror.fetch().expect("fetched");
    assert_eq!(
        mirror
            .note(NOTES, &commit)
            .expect("readable")
            .expect("a note")
            .lines()
            .count(),
        9
    );
}

#[test]
fn notes_that_may_not_be_written_are_reported_with_what_is_missing() {
    let Some(world) = World::new() else { return };
    let commit = world.repository.push("main", "one");
    let mirror = world.mirror();
    mirror.fetch().expect("fetched");
    for (part, words) in [
        (
            "service=git-receive-pack",
            "needs the permission to write this repository",
        ),
        (
            "/git-receive-pack",
            "needs the permission to write this repository",
        ),
    ] {
        world
            .server
            .behave(|it| it.page = Some((part.to_owned(), 403)));
        let error = append(&mirror, &commit, "x").expect_err("refused");
        assert_eq!(error.class(), ErrorClass::Denied);
        assert!(error.to_string().contains(words), "{error}");
    }
    world.server.behave(|it| it.page = None);
    let hook =
        "printf '#!/bin/sh\\necho notes are protected >&2\\nexit 1\\n' > \"$0\" && chmod +x \"$0\"";
    let file = world.repository.path().join("hooks/pre-receive");
    let made = std::process::Command::new("sh")
        .args(["-c", hook])
        .arg(&file)
        .status();
    assert!(made.expect("sh runs").success());
    let error = append(&mirror, &commit, "x").expect_err("declined");
    assert_eq!(error.class(), ErrorClass::Denied);
    let words = format!("refused {NOTES}: pre-receive hook declined: notes are protected;");
    assert!(error.to_string().contains(&words), "{error}");
    std::fs::remove_file(file).expect("removed");
    append(&mirror, &commit, "x").expect("written");
    assert_eq!(world.repository.note(&commit).as_deref(), Some("x\n"));
    mirror.probe_notes(NOTES).expect("allowed");
    for part in ["service=git-receive-pack", "/git-receive-pack"] {
        world
            .server
            .behave(|it| it.page = Some((part.to_owned(), 403)));
        let error = mirror.probe_notes(NOTES).expect_err("refused");
        assert_eq!(error.class(), ErrorClass::Denied, "{error}");
    }
    assert_eq!(world.repository.note(&commit).as_deref(), Some("x\n"));
}
