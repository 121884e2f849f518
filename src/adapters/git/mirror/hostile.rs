//! What whoever may push can do to a mirror, and what strangers can: each costs only itself.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;

use git2::{ObjectType, Oid};
use jiff::Timestamp;

use super::*;
use crate::adapters::git::fixture::{Copied, FILE, Origin, SUBMODULE};
use crate::adapters::git::{Merged, Quarantine};
use crate::model::Problem;
use crate::model::cut;

const HUGE: &str = "m <m@example.com> 99999999999999999999 +0000";
const NOTES: &str = selection::NOTES;

fn oid(id: &str) -> Oid {
    Oid::from_str(id).unwrap()
}

fn main() -> Ref {
    Ref::Branch("main".to_owned())
}

/// Fetches, and checks that the branch leads to `commit` and that nothing was copied again.
fn follows(mirror: &Copied, commit: &str) -> Fetched {
    let inside = mirror.dir.path().join("repository.git");
    let mark = inside.join("mark");
    fs::write(&mark, "").unwrap();
    let fetched = mirror.fetch_followed(&main()).unwrap();
    assert_eq!(mirror.resolve(&main()).unwrap(), commit);
    assert!(mark.exists(), "it was copied again");
    fetched
}

#[test]
fn a_malformed_commit_in_the_history_is_read_as_far_as_it_can_be() {
    for who in [
        "A 1287367363 +0000",
        "A <a@example.com 1287367363 +0000",
        "A <a@example.com> Mon Jan 1 2020",
        HUGE,
        "",
    ] {
        let origin = Origin::new();
        let first = origin.push("main", &[("a.yaml", "1")]);
        let old = origin.malformed(who, &[oid(&first)], "x\n\nApprove: old\n");
        let newest = origin.commit(&[(b"a.yaml", FILE, b"2")], Some(old));
        origin.point("refs/heads/main", newest);
        origin.write_ref("refs/heads/pr/1", old);
        let (mirror, old, newest) = (origin.mirror(&[]), old.to_string(), newest.to_string());
        let fetched = follows(&mirror, &newest);
        assert_eq!(fetched.refs["refs/heads/pr/1"], old);
        assert!(fetched.faults.is_empty(), "{:?}", fetched.faults);
        assert_eq!(mirror.log(None, &newest, 9).unwrap().len(), 3);
        assert_eq!(mirror.messages(Some(&first), &newest, 9).unwrap().len(), 2);
        let trailers = mirror.trailers(Some(&first), &newest, 9, "approve");
        assert_eq!(trailers.unwrap(), ["old"]);
        assert!(mirror.is_ancestor(&first, &newest).unwrap());
        assert!(mirror.is_on_branch(&old).unwrap());
        assert_eq!(mirror.commit(&old).unwrap().title, "x");
        assert!(matches!(
            mirror.merged(&newest, &old, "").unwrap(),
            Merged::Clean { .. }
        ));
        mirror.retain(RetainedRef::Applied, &old).unwrap();
        let rewrite = |_: Option<&str>| "note".to_owned();
        let written = mirror.edit_note(NOTES, &old, &rewrite, Timestamp::UNIX_EPOCH);
        written.unwrap();
        let repository = mirror.repository().unwrap();
        let none = [];
        compact::pack(&repository, none).unwrap();
        let newest = origin.push("main", &[("a.yaml", "3")]);
        follows(&mirror, &newest);
    }
}

#[test]
fn a_ref_that_cannot_be_used_costs_only_itself() {
    let origin = Origin::new();
    let first = origin.push("main", &[("a.yaml", "1")]);
    let lost = "7".repeat(40);
    let tag = format!("object {lost}\ntype commit\ntag v1\n\nx\n");
    let nowhere = origin.object(ObjectType::Tag, tag.as_bytes());
    let commit = format!("tree {lost}\nauthor {HUGE}\n\nx\n");
    let hollow = origin.object(ObjectType::Commit, commit.as_bytes());
    let broken = origin.object(ObjectType::Tag, b"nonsense");
    origin.write_ref("refs/tags/nowhere", nowhere);
    origin.write_ref("refs/heads/hollow", hollow);
    origin.write_ref("refs/tags/broken", broken);
    let long = format!("refs/heads/{}", "x".repeat(1_030));
    origin.write_ref(&long, oid(&first));
    let mirror = origin.mirror(&[]);
    let fetched = follows(&mirror, &first);
    let faults: Vec<&str> = fetched
        .faults
        .keys()
        .map(|name| cut::head(name, 13))
        .collect();
    // A name that libgit2 cannot hold is not even listed.
    let expected = ["refs/heads/ho", "refs/tags/bro", "refs/tags/now"];
    assert_eq!(faults, expected, "{:?}", fetched.faults);
    for text in ["2", "3"] {
        let next = origin.push("main", &[("a.yaml", text)]);
        let fetched = follows(&mirror, &next);
        assert_eq!(fetched.faults.len(), 3, "{:?}", fetched.faults);
    }
}

/// A commit on top of `parent` with a file, and an entry of this mode whose object is nowhere.
fn odd(origin: &Origin, mode: &str, lost: u8, parent: &str) -> Oid {
    let blob = origin.repository.blob(b"2").unwrap();
    let lost = [format!("{mode} b.yaml\0").as_bytes(), &[lost; 20]].concat();
    let tree = [b"100644 a.yaml\0", blob.as_bytes(), &lost[..]].concat();
    let tree = origin.object(ObjectType::Tree, &tree);
    let who = "A <a@example.com> 1760000000 +0000";
    let text = format!("tree {tree}\nparent {parent}\nauthor {who}\ncommitter {who}\n\nx\n");
    origin.object(ObjectType::Commit, text.as_bytes())
}

#[test]
fn an_entry_of_an_odd_mode_whose_object_is_nowhere_costs_only_itself() {
    for mode in ["0", "644", "10644", "60000", "160000", "170000"] {
        let origin = Origin::new();
        let first = origin.push("main", &[("a.yaml", "1")]);
        let old = odd(&origin, mode, 7, &first);
        let newest = origin.commit(&[(b"a.yaml", FILE, b"3")], Some(old));
        origin.point("refs/heads/main", newest);
        origin.point("refs/heads/odd", odd(&origin, mode, 8, &old.to_string()));
        let (mirror, old, newest) = (origin.mirror(&[]), old.to_string(), newest.to_string());
        let fetched = follows(&mirror, &newest);
        assert!(fetched.faults.is_empty(), "{mode}: {:?}", fetched.faults);
        let tree = mirror.tree(&old, "").unwrap();
        assert_eq!(&*tree.files["a.yaml"], b"2");
        assert_eq!(tree.problems["b.yaml"], Problem::Submodule, "{mode}");
        let head = &fetched.refs["refs/heads/odd"];
        let Merged::Clean { tree, .. } = mirror.merged(&first, head, "").unwrap() else {
            panic!("a conflict");
        };
        assert_eq!(tree.problems["b.yaml"], Problem::Submodule, "{mode}");
        let other = odd(&origin, mode, 9, &old).to_string();
        origin.point("refs/heads/other", oid(&other));
        let fetched = follows(&mirror, &newest);
        assert_eq!(fetched.refs["refs/heads/other"], other);
        let merged = mirror.merged(head, &other, "").unwrap();
        assert!(
            matches!(&merged, Merged::Conflicts(paths) if paths == &["b.yaml"]),
            "{mode}: {merged:?}"
        );
        compact::pack(&mirror.repository().unwrap(), []).unwrap();
        let next = origin.push("main", &[("a.yaml", "4")]);
        follows(&mirror, &next);
    }
}

#[test]
fn a_notes_ref_that_holds_something_else_costs_only_the_notes() {
    let huge = vec![b'x'; 5 << 20];
    for at in 0..5 {
        let origin = Origin::new();
        let first = origin.push("main", &[("a.yaml", "1")]);
        let other = origin.push("main", &[("a.yaml", "2")]);
        let tree = origin
            .repository
            .find_commit(oid(&first))
            .unwrap()
            .tree_id();
        let notes = match at {
            0 => tree,
            1 => origin.repository.blob(b"x").unwrap(),
            2 => origin.commit(&[(format!("{first}/x").as_bytes(), FILE, b"x")], None),
            3 => origin.commit(&[(first.as_bytes(), FILE, &huge)], None),
            _ => origin.commit(&[(first.as_bytes(), SUBMODULE, b"")], None),
        };
        origin.write_ref(NOTES, notes);
        let mirror = origin.mirror(&[]);
        follows(&mirror, &other);
        let rewrite = |_: Option<&str>| "note".to_owned();
        let write = |commit: &str| mirror.edit_note(NOTES, commit, &rewrite, Timestamp::UNIX_EPOCH);
        let is_refused = |result: Result<(), Error>| matches!(result, Err(Error::Notes { .. }));
        assert_eq!(is_refused(write(&first)), at != 2, "{at}");
        assert_eq!(is_refused(write(&other)), at < 2, "{at}");
        let found = mirror.note(NOTES, &other).ok().flatten();
        assert_eq!(found.as_deref(), (at >= 2).then_some("note"));
        let next = origin.push("main", &[("a.yaml", "3")]);
        follows(&mirror, &next);
    }
}

#[test]
fn a_shallow_repository_has_a_history_as_far_as_it_goes() {
    let origin = Origin::new();
    let hidden = origin.push("main", &[("a.yaml", "1")]);
    let first = origin.push("main", &[("a.yaml", "2")]);
    let second = origin.push("main", &[("a.yaml", "3")]);
    // As `git clone --depth 2` leaves it, without what was before.
    fs::write(origin.dir.path().join("shallow"), format!("{first}\n")).unwrap();
    let mirror = origin.mirror(&[]);
    follows(&mirror, &second);
    assert!(mirror.commit(&hidden).is_err(), "it is not there");
    let log = |from: Option<&str>| mirror.log(from, &second, 9).unwrap().len();
    assert_eq!((log(None), log(Some(&first))), (2, 1));
    assert!(mirror.is_ancestor(&first, &second).unwrap());
    assert!(!mirror.is_ancestor(&second, &first).unwrap());
    // It learns more.
    fs::remove_file(origin.dir.path().join("shallow")).unwrap();
    let third = origin.push("main", &[("a.yaml", "4")]);
    follows(&mirror, &third);
    assert_eq!(mirror.log(None, &third, 9).unwrap().len(), 4);
}

#[test]
fn what_a_stranger_proposes_is_only_listed_and_read_elsewhere() {
    let origin = Origin::new();
    let first = origin.push("main", &[("a.yaml", "1\n2\n3\n4\n")]);
    let base = origin.push("main", &[("a.yaml", "0\n2\n3\n4\n")]);
    let pull = origin.commit(&[(b"a.yaml", FILE, b"1\n2\n3\n5\n")], Some(oid(&first)));
    let pull = origin.malformed(HUGE, &[pull], "docs\n\nApprove: it\n");
    let blob = origin.repository.blob(b"no commit").unwrap();
    origin.write_ref("refs/pull/1/head", pull);
    origin.write_ref(
        "refs/pull/1/merge",
        origin.merge(&[oid(&base), oid(&first)]),
    );
    origin.write_ref("refs/pull/2/head", blob);
    origin.write_ref("refs/pull/3/head", oid(&first));
    let mirror = origin.mirror(&["refs/pull/*"]);
    let fetched = follows(&mirror, &base);
    let strangers: Vec<&str> = fetched.strangers.keys().map(String::as_str).collect();
    assert_eq!(
        strangers,
        ["refs/pull/1/head", "refs/pull/1/merge", "refs/pull/2/head"]
    );
    assert_eq!(fetched.refs["refs/pull/3/head"], first);
    let head = fetched.strangers["refs/pull/1/head"].clone();
    assert!(mirror.commit(&head).is_err());

    let wanted: Vec<_> = fetched.strangers.clone().into_iter().collect();
    assert!(
        mirror.bring(&wanted).unwrap().is_empty(),
        "it is on this machine"
    );
    let quarantine = Quarantine::open(mirror.dir.path(), &origin.url()).unwrap();
    assert_eq!(
        quarantine.commit_of("refs/pull/1/head", &head).unwrap(),
        head
    );
    let merge = &fetched.strangers["refs/pull/1/merge"];
    let merged = quarantine.commit_of("refs/pull/1/merge", merge);
    assert_eq!(merged.unwrap(), first);
    let error = quarantine.commit_of("refs/pull/2/head", &blob.to_string());
    assert!(matches!(error, Err(Error::Candidate { .. })));
    let Merged::Clean { tree, .. } = quarantine.merged(&base, &head, "").unwrap() else {
        panic!("a conflict");
    };
    assert_eq!(&*tree.files["a.yaml"], b"0\n2\n3\n5\n");
    let messages = quarantine.messages(Some(&base), &head, 9).unwrap();
    assert_eq!(messages.len(), 2);
    assert!(!quarantine.is_ancestor(&head, &base).unwrap());
    let missing = quarantine.merged(&base, &"5".repeat(40), "");
    assert!(matches!(missing, Err(Error::NoSuchRevision { .. })));
}

#[test]
fn what_a_new_copy_does_not_mend_is_copied_once() {
    let origin = Origin::new();
    let first = origin.push("main", &[("a.yaml", "1")]);
    let text = format!("tree {}\nparent {first}\n\nx\n", "7".repeat(40));
    let hollow = origin.object(ObjectType::Commit, text.as_bytes());
    let mirror = origin.mirror(&[]);
    follows(&mirror, &first);
    // As if a server had sent a commit without its files.
    let repository = mirror.repository().unwrap();
    let odb = repository.odb().unwrap();
    odb.write(ObjectType::Commit, text.as_bytes()).unwrap();
    let hollow = hollow.to_string();
    let error = mirror.tree(&hollow, "").unwrap_err();
    assert!(matches!(error, Error::Damaged { .. }), "{error}");
    mirror.fetch_followed(&main()).unwrap();
    let repository = mirror.repository().unwrap();
    let odb = repository.odb().unwrap();
    odb.write(ObjectType::Commit, text.as_bytes()).unwrap();
    let error = mirror.tree(&hollow, "").unwrap_err();
    assert!(matches!(error, Error::Broken { .. }), "{error}");
    follows(&mirror, &first);
}
