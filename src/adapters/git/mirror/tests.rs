#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::sync::mpsc;
use std::time::Duration;

use git2::Oid;

use super::*;
use crate::adapters::git::fixture::{FILE, Origin, author, open};
use crate::model::ErrorClass;
use crate::model::cut;

#[test]
fn a_push_arrives_with_the_next_fetch() {
    let origin = Origin::new();
    let mirror = origin.mirror(&[]);
    assert_eq!(mirror.fetch().unwrap(), Refs::new());
    let first = origin.push("main", &[("a.yaml", "1")]);
    assert_eq!(mirror.fetch().unwrap()["refs/heads/main"], first);
    let second = origin.push("main", &[("a.yaml", "2")]);
    let refs = mirror.fetch().unwrap();
    assert_eq!(refs["refs/heads/main"], second);
    assert_eq!(refs["HEAD"], second);
    assert_eq!(mirror.resolve(&Ref::Branch("main".into())).unwrap(), second);
    assert_eq!(mirror.resolve(&Ref::Head).unwrap(), second);
    assert_eq!(&*mirror.tree(&second, "").unwrap().files["a.yaml"], b"2");
}

#[test]
fn an_unchanged_repository_is_only_listed() {
    let origin = Origin::new();
    origin.push("main", &[("a.yaml", "1")]);
    let mirror = origin.mirror(&[]);
    let refs = mirror.fetch().unwrap();
    // Without its own refs the mirror could not answer but from what it saw.
    let own = mirror.dir.path().join("repository.git/packed-refs");
    fs::remove_file(&own).unwrap();
    assert_eq!(mirror.fetch().unwrap(), refs);
    assert!(!own.exists());
}

#[test]
fn only_new_objects_are_copied() {
    let origin = Origin::new();
    for at in 0..5 {
        origin.push("main", &[("a.yaml", &format!("{at}"))]);
    }
    let mirror = origin.mirror(&[]);
    mirror.fetch().unwrap();
    let before = mirror.objects();
    assert_eq!(before, 15);
    origin.push("main", &[("a.yaml", "new")]);
    mirror.fetch().unwrap();
    assert_eq!(mirror.objects(), before + 3);
}

#[test]
fn forced_pushes_and_deleted_branches_are_followed() {
    let origin = Origin::new();
    let first = origin.push("main", &[("a.yaml", "1")]);
    let second = origin.push("main", &[("a.yaml", "2")]);
    origin.push("gone", &[("a.yaml", "3")]);
    let mirror = origin.mirror(&[]);
    assert_eq!(mirror.fetch().unwrap()["refs/heads/main"], second);

    let rewritten = origin.commit(
        &[(b"b.yaml", FILE, b"")],
        Some(Oid::from_str(&first).unwrap()),
    );
    origin.point("refs/heads/main", rewritten);
    origin.delete("refs/heads/gone");
    // A branch may come back as a directory of branches.
    origin.push("gone/again", &[("a.yaml", "4")]);
    let refs = mirror.fetch().unwrap();
    assert_eq!(refs["refs/heads/main"], rewritten.to_string());
    assert!(!refs.contains_key("refs/heads/gone"));
    assert!(refs.contains_key("refs/heads/gone/again"));
    let error = mirror.resolve(&Ref::Branch("gone".into())).unwrap_err();
    assert_eq!(error.class(), ErrorClass::Gone);
    assert!(error.to_string().contains("no branch gone in"), "{error}");

    origin.point("refs/heads/main", Oid::from_str(&first).unwrap());
    assert_eq!(mirror.fetch().unwrap()["refs/heads/main"], first);
}

#[test]
fn the_test_merge_of_a_pull_request_leads_to_its_head() {
    let origin = Origin::new();
    let first = Oid::from_str(&origin.push("main", &[("a.yaml", "1")])).unwrap();
    let base = Oid::from_str(&origin.push("main", &[("a.yaml", "2")])).unwrap();
    let head = origin.commit(&[(b"b.yaml", FILE, b"")], Some(first));
    origin.point("refs/pull/7/merge", origin.merge(&[base, head]));
    // A squashed one, one of three, and a branch of that name.
    origin.point("refs/pull/8/merge", head);
    origin.point("refs/pull/9/merge", origin.merge(&[base, head, first]));
    let branch = origin.merge(&[base, head]);
    origin.point("refs/heads/pull/7/merge", branch);
    let refs = origin.mirror(&["refs/pull/*/merge"]).fetch().unwrap();
    let merges = refs
        .iter()
        .filter(|(name, _)| name.ends_with("/merge"))
        .map(|(name, commit)| (name.as_str(), commit.clone()));
    assert_eq!(
        merges.collect::<Vec<_>>(),
        [
            ("refs/heads/pull/7/merge", branch.to_string()),
            ("refs/pull/7/merge", head.to_string()),
        ]
    );
}

#[test]
fn tags_lead_to_commits_whatever_their_kind() {
    let origin = Origin::new();
    let commit = origin.push("main", &[("a.yaml", "1")]);
    let object = origin.repository.revparse_single(&commit).unwrap();
    let tag = |name: &str, object: &git2::Object<'_>| {
        origin
            .repository
            .tag(name, object, &author(), "for people", false)
            .unwrap()
    };
    let annotated = tag("v1", &object);
    tag(
        "v1-again",
        &origin.repository.find_object(annotated, None).unwrap(),
    );
    origin
        .repository
        .tag_lightweight("light", &object, false)
        .unwrap();
    let blob = origin.repository.blob(b"no commit").unwrap();
    tag("blob", &origin.repository.find_object(blob, None).unwrap());
    // Only the tag leads to this commit.
    let lone = origin.commit(&[(b"lone.yaml", FILE, b"")], None);
    tag("lone", &origin.repository.find_object(lone, None).unwrap());

    let mirror = origin.mirror(&[]);
    let refs = mirror.fetch().unwrap();
    for name in ["v1", "v1-again", "light"] {
        assert_eq!(refs[&format!("refs/tags/{name}")], commit);
        assert_eq!(mirror.resolve(&Ref::Tag(name.into())).unwrap(), commit);
    }
    assert!(!refs.contains_key("refs/tags/blob"));
    let error = mirror.resolve(&Ref::Tag("blob".into())).unwrap_err();
    assert!(matches!(error, Error::NotACommit { .. }), "{error}");
    assert!(error.to_string().starts_with("tag blob in "), "{error}");
    assert!(
        mirror
            .tree(&refs["refs/tags/lone"], ".")
            .unwrap()
            .files
            .contains_key("lone.yaml")
    );
}

#[test]
fn a_moved_tag_and_a_newer_version_are_followed() {
    let origin = Origin::new();
    let first = origin.push("main", &[("a.yaml", "1")]);
    let second = origin.push("main", &[("a.yaml", "2")]);
    let tag = |name: &str, commit: &str| {
        origin.point(&format!("refs/tags/{name}"), Oid::from_str(commit).unwrap());
    };
    let mirror = origin.mirror(&[]);
    let resolved = |wanted: &Ref| {
        mirror.fetch().unwrap();
        mirror.resolve(wanted)
    };
    let range = Ref::Newest("1.x".parse().unwrap());
    let error = resolved(&range).unwrap_err();
    assert_eq!(error.class(), ErrorClass::Gone);
    let message = "no tag with a version in the range 1.x in ";
    assert!(error.to_string().starts_with(message), "{error}");
    tag("v1.9.0", &first);
    tag("v2.0.0", &second);
    assert_eq!(resolved(&range).unwrap(), first);
    tag("v1.10.0", &second);
    assert_eq!(resolved(&range).unwrap(), second);
    tag("v1.10.0", &first);
    assert_eq!(resolved(&range).unwrap(), first);
    assert_eq!(resolved(&Ref::Tag("v1.10.0".into())).unwrap(), first);
    // A version that is no commit is none.
    let commit = origin
        .repository
        .find_commit(Oid::from_str(&first).unwrap());
    origin.point("refs/tags/v1.11.0", commit.unwrap().tree_id());
    tag("v1.10.0", &second);
    assert_eq!(resolved(&range).unwrap(), second);
}

#[test]
fn commits_resolve_by_id_or_by_its_beginning() {
    let origin = Origin::new();
    let commit = origin.push("main", &[("a.yaml", "1")]);
    let mirror = origin.mirror(&[]);
    mirror.fetch().unwrap();
    for id in [commit.as_str(), cut::head(&commit, 7)] {
        assert_eq!(mirror.resolve(&Ref::Commit(id.into())).unwrap(), commit);
    }
    for id in [cut::head(&commit, 6), "0123456789", "main", ""] {
        let error = mirror.resolve(&Ref::Commit(id.into())).unwrap_err();
        assert_eq!(error.class(), ErrorClass::Gone, "{id}");
    }
}

#[test]
fn other_refs_are_fetched_when_asked_for() {
    let origin = Origin::new();
    let main = origin.push("main", &[("a.yaml", "1")]);
    let parent = Some(Oid::from_str(&main).unwrap());
    let pull = origin.commit(&[(b"a.yaml", FILE, b"pull")], parent);
    origin.point("refs/pull/7/head", pull);
    origin.point("refs/pull/7/merge", pull);
    origin.point("refs/elsewhere/x", pull);
    let refs = origin.mirror(&["refs/pull/*/head"]).fetch().unwrap();
    assert_eq!(refs["refs/pull/7/head"], pull.to_string());
    let names: Vec<&str> = refs.keys().map(String::as_str).collect();
    assert_eq!(names, ["HEAD", "refs/heads/main", "refs/pull/7/head"]);
    assert!(
        !origin
            .mirror(&[])
            .fetch()
            .unwrap()
            .contains_key("refs/pull/7/head")
    );
}

#[test]
fn patterns_that_cannot_match_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    for pattern in ["pull/*/head", "refs/*/x/*"] {
        let error = Mirror::open(dir.path(), "/srv", &[pattern.to_owned()]).unwrap_err();
        assert_eq!(error.class(), ErrorClass::Invalid);
        assert!(error.to_string().contains(pattern));
    }
}

#[test]
fn a_repository_that_is_gone_is_reported_and_the_last_revision_stays() {
    let origin = Origin::new();
    let commit = origin.push("main", &[("a.yaml", "1")]);
    let (url, mirror) = (origin.url(), origin.mirror(&[]));
    mirror.fetch().unwrap();
    drop(origin);
    let error = mirror.fetch().unwrap_err();
    assert_eq!(error.class(), ErrorClass::Transient);
    let text = error.to_string();
    let message = format!("no repository at {url}: ");
    assert!(text.starts_with(&message), "{text}");
    assert!(text.ends_with("; retrying"), "{text}");
    assert_eq!(mirror.resolve(&Ref::Branch("main".into())).unwrap(), commit);
    assert!(mirror.tree(&commit, "").is_ok());
}

#[test]
fn a_path_without_a_repository_is_tried_again_until_there_is_one() {
    let place = tempfile::tempdir().unwrap();
    let path = |name: &str| place.path().join(name).to_str().unwrap().to_owned();
    fs::write(path("file"), "").unwrap();
    fs::create_dir(path("empty")).unwrap();
    for name in ["nothing", "file", "file/inside", "empty"] {
        let url = path(name);
        let mirror = open(&place.path().join("mirror"), &url, &[]);
        let error = mirror.fetch().unwrap_err();
        assert_eq!(error.class(), ErrorClass::Transient, "{error}");
        let message = format!("no repository at {url}: ");
        assert!(error.to_string().starts_with(&message), "{error}");
    }
    let mirror = open(&place.path().join("mirror"), &path("nothing"), &[]);
    mirror.fetch().unwrap_err();
    git2::Repository::init_bare(path("nothing")).unwrap();
    assert!(mirror.fetch().is_ok());
}

#[test]
fn a_mirror_outlives_a_restart_and_its_stale_locks() {
    let origin = Origin::new();
    let commit = origin.push("main", &[("a.yaml", "1")]);
    let dir = tempfile::tempdir().unwrap();
    open(dir.path(), &origin.url(), &[]).fetch().unwrap();
    let inside = dir.path().join("repository.git");
    fs::write(inside.join("packed-refs.lock"), "").unwrap();
    fs::write(inside.join("objects/pack/pack_git2_abcdef"), "half").unwrap();
    fs::create_dir(dir.path().join("unfinished.git")).unwrap();

    let mirror = open(dir.path(), &origin.url(), &[]);
    assert_eq!(mirror.resolve(&Ref::Branch("main".into())).unwrap(), commit);
    let second = origin.push("main", &[("a.yaml", "2")]);
    assert_eq!(mirror.fetch().unwrap()["refs/heads/main"], second);
    assert!(!inside.join("objects/pack/pack_git2_abcdef").exists());
    assert!(!dir.path().join("unfinished.git").exists());
}

#[test]
fn one_directory_serves_one_mirror_at_a_time() {
    let origin = Origin::new();
    let mirror = origin.mirror(&[]);
    let error = Mirror::open(mirror.dir.path(), &origin.url(), &[]).unwrap_err();
    assert_eq!(error.class(), ErrorClass::Conflict);
    let text = error.to_string();
    assert!(text.contains("in use by another process"), "{text}");
    assert!(text.contains("set CAPSTAN_CACHE to"), "{text}");
}

#[test]
fn a_mirror_of_another_repository_is_begun_anew() {
    let (one, other) = (Origin::new(), Origin::new());
    one.push("main", &[("a.yaml", "1")]);
    let dir = tempfile::tempdir().unwrap();
    open(dir.path(), &one.url(), &[]).fetch().unwrap();
    let mirror = open(dir.path(), &other.url(), &[]);
    assert!(mirror.resolve(&Ref::Branch("main".into())).is_err());
}

#[test]
fn a_mirror_that_cannot_be_opened_is_begun_anew() {
    let origin = Origin::new();
    let commit = origin.push("main", &[("a.yaml", "1")]);
    let dir = tempfile::tempdir().unwrap();
    open(dir.path(), &origin.url(), &[]).fetch().unwrap();
    fs::write(dir.path().join("repository.git/config"), "[core\n").unwrap();
    let mirror = open(dir.path(), &origin.url(), &[]);
    assert_eq!(mirror.fetch().unwrap()["refs/heads/main"], commit);
}

#[test]
fn a_ref_file_full_of_zeros_is_mended_by_a_fetch() {
    let origin = Origin::new();
    let commit = origin.push("main", &[("a.yaml", "1")]);
    let dir = tempfile::tempdir().unwrap();
    open(dir.path(), &origin.url(), &[]).fetch().unwrap();
    let kept = dir.path().join("repository.git/refs/origin/heads");
    fs::create_dir_all(&kept).unwrap();
    fs::write(kept.join("main"), [0; 41]).unwrap();
    let mirror = open(dir.path(), &origin.url(), &[]);
    assert_eq!(mirror.fetch().unwrap()["refs/heads/main"], commit);
    assert_eq!(mirror.resolve(&Ref::Branch("main".into())).unwrap(), commit);
}

#[test]
fn lost_objects_are_noticed_when_read_and_mended_by_the_next_fetch() {
    let origin = Origin::new();
    let commit = origin.push("main", &[("a.yaml", "1")]);
    let mirror = origin.mirror(&[]);
    mirror.fetch().unwrap();
    let packs = mirror.dir.path().join("repository.git/objects/pack");
    for file in fs::read_dir(&packs).unwrap() {
        fs::remove_file(file.unwrap().path()).unwrap();
    }
    let found = mirror.tree(&commit, "");
    assert!(found.is_err());
    assert_eq!(
        mirror.resolve(&Ref::Head).unwrap_err().class(),
        ErrorClass::Transient
    );
    mirror.fetch().unwrap();
    assert!(mirror.tree(&commit, "").is_ok());
}

#[test]
fn a_damaged_mirror_keeps_what_it_has_until_the_repository_answers() {
    let origin = Origin::new();
    let commit = origin.push("main", &[("a.yaml", "1")]);
    origin.push("other", &[("b.yaml", "1")]);
    let mirror = origin.mirror(&[]);
    mirror.fetch().unwrap();
    let kept = mirror.dir.path().join("repository.git/refs/origin/heads");
    fs::create_dir_all(&kept).unwrap();
    fs::write(kept.join("other"), "no id").unwrap();
    let error = mirror.resolve(&Ref::Branch("other".into())).unwrap_err();
    assert!(matches!(error, Error::Damaged { .. }), "{error}");
    drop(origin);
    let error = mirror.fetch().unwrap_err();
    assert!(matches!(error, Error::NoRepository { .. }), "{error}");
    assert!(mirror.tree(&commit, "").is_ok());
}

#[test]
fn a_damaged_mirror_is_not_replaced_under_a_reader() {
    let origin = Origin::new();
    let commit = origin.push("main", &[("a.yaml", "1")]);
    let mirror = origin.mirror(&[]);
    mirror.fetch().unwrap();
    let packs = mirror.dir.path().join("repository.git/objects/pack");
    let (reading, is_reading) = mpsc::channel();
    let (mended, is_mended) = mpsc::channel();
    std::thread::scope(|scope| {
        let mirror = &*mirror;
        scope.spawn(move || {
            let seen = mirror.reading(|_| {
                let before = fs::metadata(&packs).unwrap().ino();
                mirror.damaged.store(true, Ordering::Relaxed);
                reading.send(()).unwrap();
                let early = is_mended.recv_timeout(Duration::from_millis(500));
                Ok((
                    early.is_err(),
                    fs::metadata(&packs).unwrap().ino() == before,
                ))
            });
            assert_eq!(seen.unwrap(), (true, true));
        });
        is_reading.recv().unwrap();
        mirror.fetch().unwrap();
        // Nobody listens once the reader is done.
        let _ = mended.send(());
    });
    assert!(mirror.tree(&commit, "").is_ok());
}
