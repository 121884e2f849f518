//! What commits do to the files, and what they leave alone.

use super::*;
use crate::adapters::git::commit_object::CommitObject;
use crate::adapters::git::fixture::{FILE, LINK, SUBMODULE};

const PROGRAM: u32 = 0o100_755;

#[test]
fn what_is_not_edited_stays_what_it_is() {
    let origin = Origin::new();
    let head = origin.push_entries(
        "main",
        &[
            (b"d/a.yaml", FILE, b"1"),
            (b"d/link", LINK, b"../e"),
            (b"d/module", SUBMODULE, b""),
            (b"d/run", PROGRAM, b"#!"),
            (b"d.yaml", FILE, b"2"),
            (b"d0", FILE, b"3"),
            (b"e/f/g.yaml", FILE, b"4"),
            (b"link", LINK, b"/etc"),
            (b"module", SUBMODULE, b""),
        ],
    );
    let mirror = fetched(&origin);
    let before = files(&origin, &head);
    let changes = [
        ("d/a.yaml", Some("new")),
        ("d/run", Some("#!new")),
        ("d-new", Some("x")),
    ];
    let id = done(commit(&mirror, &head, &changes));
    let after = files(&origin, &id);
    let edited = ["d/a.yaml", "d/run", "d-new"];
    let rest = |files: &[(i32, String, Oid)]| {
        let files = files.iter().cloned();
        files
            .filter(|(_, path, _)| !edited.contains(&path.as_str()))
            .collect::<Vec<_>>()
    };
    assert_eq!(rest(&after), rest(&before));
    assert_eq!(after.len(), before.len() + 1);
    let mode = |path: &str| after.iter().find(|(_, found, _)| found == path).unwrap().0;
    assert_eq!((mode("d/a.yaml"), mode("d-new")), (0o100_644, 0o100_644));
    assert_eq!(mode("d/run"), 0o100_755);
    // In the order of git, where a directory ends in a slash.
    let root = origin.repository.find_commit(Oid::from_str(&id).unwrap());
    let root = root.unwrap().tree().unwrap();
    let names: Vec<String> = root
        .iter()
        .map(|entry| entry.name().unwrap().to_owned())
        .collect();
    assert_eq!(names, ["d-new", "d.yaml", "d", "d0", "e", "link", "module"]);
}

#[test]
fn entries_keep_the_bytes_that_git_would_not_write() {
    let origin = Origin::new();
    let blob = origin.repository.blob(b"1").unwrap();
    let entry =
        |mode: &str, name: &str| [format!("{mode} {name}\0").as_bytes(), blob.as_bytes()].concat();
    let (odd, zeros) = (entry("100664", "a"), entry("0100644", "b"));
    let tree = origin.object(ObjectType::Tree, &[odd.clone(), zeros.clone()].concat());
    let who = "A <a@example.com> 1 +0000";
    let text = format!("tree {tree}\nauthor {who}\ncommitter {who}\n\nit\n");
    let head = origin.object(ObjectType::Commit, text.as_bytes());
    origin.write_ref(MAIN, head);
    let mirror = fetched(&origin);
    let id = done(commit(&mirror, &head.to_string(), &[("c", Some("1"))]));
    let odb = origin.repository.odb().unwrap();
    let made = CommitObject::read(&odb, Oid::from_str(&id).unwrap());
    let tree = odb.read(made.unwrap().unwrap().tree).unwrap();
    assert_eq!(tree.data(), [odd, zeros, entry("100644", "c")].concat());
}

#[test]
fn directories_come_and_go_with_their_files() {
    let origin = Origin::new();
    let head = origin.push("main", &[("a/b/c.yaml", "1"), ("a/d.yaml", "1")]);
    let mirror = fetched(&origin);
    let id = done(commit(&mirror, &head, &[("a/b/c.yaml", None)]));
    assert_eq!(paths(&origin, &id), ["a/d.yaml"]);
    let tree = |id: &str| {
        let commit = origin.repository.find_commit(Oid::from_str(id).unwrap());
        commit.unwrap().tree().unwrap()
    };
    assert!(tree(&id).get_path("a/b".as_ref()).is_err());
    let changes = [("a/d.yaml", None), ("x/y/z.yaml", Some("1"))];
    let id = done(commit(&mirror, &id, &changes));
    assert_eq!(paths(&origin, &id), ["x/y/z.yaml"]);
    let id = done(commit(&mirror, &id, &[("x/y/z.yaml", None)]));
    assert!(tree(&id).is_empty());
}

#[test]
fn what_is_no_file_at_the_head_is_refused_and_nothing_is_written() {
    let origin = Origin::new();
    let head = origin.push_entries(
        "main",
        &[
            (b"d/a.yaml", FILE, b"1"),
            (b"link", LINK, b"d"),
            (b"module", SUBMODULE, b""),
        ],
    );
    let mirror = fetched(&origin);
    let objects = mirror.objects();
    let (gone, invalid) = (ErrorClass::Gone, ErrorClass::Invalid);
    let text = Some("x");
    for (path, text, class, cause) in [
        (
            "d/a.yaml/b",
            text,
            invalid,
            "cannot change \"d/a.yaml\": it is a file and no directory",
        ),
        (
            "link/b",
            text,
            invalid,
            "cannot change \"link\": it is a symbolic link and no directory",
        ),
        (
            "module/b",
            text,
            invalid,
            "cannot change \"module\": it is a submodule and no directory",
        ),
        (
            "d",
            text,
            invalid,
            "cannot change \"d\": it is a directory and no file",
        ),
        ("link", text, invalid, "it is a symbolic link and no file"),
        ("module", text, invalid, "it is a submodule and no file"),
        ("d", None, invalid, "it is a directory and no file"),
        ("link", None, invalid, "it is a symbolic link and no file"),
        ("b.yaml", None, gone, "has no file \"b.yaml\" to remove"),
        ("d/b.yaml", None, gone, "has no file \"d/b.yaml\" to remove"),
        (
            "e/f/g.yaml",
            None,
            gone,
            "has no file \"e/f/g.yaml\" to remove",
        ),
        (
            "../x",
            text,
            invalid,
            "cannot change \"../x\": it contains \"..\"",
        ),
        (".git/hooks/update", text, invalid, "is git's own directory"),
    ] {
        // The other edit is fine, and comes first.
        let error = commit(&mirror, &head, &[("a-new", Some("y")), (path, text)]).unwrap_err();
        assert!(error.to_string().contains(cause), "{path}: {error}");
        assert_eq!(error.class(), class, "{path}");
    }
    let bad = NewCommit {
        edits: &edits(&[("a", Some("x"))]),
        message: &message("\n"),
        by: &by(),
        at: Timestamp::UNIX_EPOCH,
        signer: None,
    };
    let branch = Branch::of(&mirror, MAIN).unwrap();
    assert_eq!(branch.commit(&head, &bad).unwrap_err().class(), invalid);
    assert_eq!(tip(&origin, MAIN), Some(head));
    assert_eq!(mirror.objects(), objects);
}

#[test]
fn one_of_two_entries_of_a_name_is_not_changed() {
    let origin = Origin::new();
    let blob = origin.repository.blob(b"1").unwrap();
    let entry = [b"100644 a\0", blob.as_bytes()].concat();
    let tree = origin.object(ObjectType::Tree, &[entry.clone(), entry].concat());
    let text = format!("tree {tree}\n\nit\n");
    let head = origin.object(ObjectType::Commit, text.as_bytes());
    origin.write_ref(MAIN, head);
    let mirror = fetched(&origin);
    for text in [Some("x"), None] {
        let error = commit(&mirror, &head.to_string(), &[("a", text)]).unwrap_err();
        assert!(
            error.to_string().contains("two entries of this name"),
            "{error}"
        );
    }
}
