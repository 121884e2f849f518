#![allow(clippy::unwrap_used)]

mod checkouts;

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tempfile::TempDir;

use super::*;
use crate::adapters::git::fixture::Origin;
use crate::model::Problem;

/// A volume as git-sync keeps it, and what was read of it.
struct Volume(TempDir);

impl Volume {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn link(&self) -> PathBuf {
        self.path("git/current")
    }

    /// Writes a worktree whose files all contain `text`.
    fn write(&self, name: &str, text: &str) -> PathBuf {
        let worktree = self.path("git/.worktrees").join(name);
        fs::create_dir_all(worktree.join("fleet")).unwrap();
        for file in 0..20 {
            fs::write(worktree.join(format!("fleet/{file}.yaml")), text).unwrap();
        }
        fs::write(worktree.join(".git"), "gitdir: /elsewhere").unwrap();
        worktree
    }

    /// Exchanges the link, and deletes the old worktree at once.
    fn exchange(&self, name: &str) {
        let (link, new) = (self.link(), self.path("git/new-link"));
        let old = fs::read_link(&link).ok();
        symlink(Path::new(".worktrees").join(name), &new).unwrap();
        fs::rename(&new, &link).unwrap();
        if let Some(old) = old {
            fs::remove_dir_all(self.path("git").join(old)).unwrap();
        }
    }

    fn publish(&self, number: usize) -> String {
        let commit = commit(number);
        self.write(&commit, &format!("text: {number}"));
        self.exchange(&commit);
        commit
    }

    fn followed(&self, path: &Path, parts: &[&str]) -> FollowedDirectory {
        let parts: Vec<String> = parts.iter().map(|part| (*part).to_owned()).collect();
        let store = self.path("store");
        let settle = (Duration::from_millis(100), Timestamp::now as fn() -> _);
        FollowedDirectory::settling(path, &parts, &store, settle).unwrap()
    }
}

fn commit(number: usize) -> String {
    format!("{number:040x}")
}

fn fault(followed: &FollowedDirectory) -> String {
    followed.look().unwrap_err().to_string()
}

fn paths(tree: &Tree) -> Vec<&str> {
    tree.files.keys().map(AsRef::as_ref).collect()
}

#[test]
fn a_worktree_is_read_under_the_commit_that_it_is_named_after() {
    let volume = Volume::new();
    let followed = volume.followed(&volume.link(), &["fleet"]);
    let message = fault(&followed);
    assert!(message.contains("there is no such directory"), "{message}");
    let first = volume.publish(1);
    assert_eq!(followed.look().unwrap(), first);
    let tree = followed.tree(&first, "fleet").unwrap();
    assert_eq!((tree.files.len(), &tree.revision), (20, &first));
    assert_eq!(paths(&tree)[0], "fleet/0.yaml");
    assert_eq!(followed.root(&first).as_deref(), Some("fleet"));
    assert!(!followed.has_commits());
    assert!(followed.tree(&commit(2), "fleet").is_err());
    assert!(followed.tree(&first, "other").is_err());
}

/// Oracle row 46 of the forges' fact page.
#[test]
fn an_exchange_while_it_is_read_gives_one_commit_and_the_last_wins() {
    let volume = Volume::new();
    volume.publish(0);
    let followed = volume.followed(&volume.link(), &["fleet"]);
    // The first look takes its time.
    followed.look().unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let numbers = (1..).take_while(|_| !stop.load(Ordering::Relaxed));
            numbers
                .inspect(|number| drop(volume.publish(*number)))
                .last()
        });
        let mut seen = BTreeSet::new();
        while seen.len() < 20 {
            // It may change too often.
            let Ok(revision) = followed.look() else {
                continue;
            };
            let tree = followed.tree(&revision, "fleet").unwrap();
            let number = usize::from_str_radix(&revision, 16).unwrap();
            assert_eq!(tree.files.len(), 20, "{:?}", tree.problems);
            let expected = format!("text: {number}");
            assert!(
                tree.files
                    .values()
                    .all(|text| **text == *expected.as_bytes())
            );
            seen.insert(revision);
        }
        stop.store(true, Ordering::Relaxed);
        let last = writer.join().unwrap().unwrap();
        assert_eq!(followed.look().unwrap(), commit(last));
    });
}

/// Oracle row 46 of the forges' fact page.
#[test]
fn a_link_may_be_removed_and_its_target_deleted() {
    let volume = Volume::new();
    let first = volume.publish(1);
    let followed = volume.followed(&volume.link(), &["fleet"]);
    followed.look().unwrap();
    fs::remove_dir_all(volume.path("git/.worktrees").join(&first)).unwrap();
    assert!(fault(&followed).contains("no such directory"));
    fs::remove_file(volume.link()).unwrap();
    assert!(fault(&followed).contains("no such directory"));
    assert_eq!(followed.tree(&first, "fleet").unwrap().files.len(), 20);
    let second = volume.publish(2);
    assert_eq!(followed.look().unwrap(), second);
}

#[test]
fn a_directory_without_files_is_no_revision() {
    let volume = Volume::new();
    let first = volume.publish(1);
    let followed = volume.followed(&volume.link(), &["fleet"]);
    followed.look().unwrap();
    fs::create_dir_all(volume.path("git/.worktrees").join(commit(2)).join("fleet")).unwrap();
    volume.exchange(&commit(2));
    let message = fault(&followed);
    assert!(
        message.contains("it has no YAML or JSON files"),
        "{message}"
    );
    assert!(followed.tree(&first, "fleet").is_ok());
    volume.publish(3);
    drop(followed);
    let above = volume.followed(&volume.path("git"), &[""]);
    let message = fault(&above);
    let help = format!("name its link: {}", volume.link().display());
    assert!(message.contains(&help), "{message}");
}

#[test]
fn a_mounted_config_map_has_the_digest_of_its_content() {
    let volume = Volume::new();
    let mount = volume.path("mount");
    fs::create_dir(&mount).unwrap();
    let exchange = |name: &str, text: &str| {
        fs::create_dir(mount.join(name)).unwrap();
        fs::write(mount.join(name).join("a.yaml"), text).unwrap();
        symlink(name, mount.join("..data_tmp")).unwrap();
        fs::rename(mount.join("..data_tmp"), mount.join("..data")).unwrap();
    };
    exchange("..2026_01", "a: 1");
    symlink("..data/a.yaml", mount.join("a.yaml")).unwrap();
    let followed = volume.followed(&mount, &[""]);
    let first = followed.look().unwrap();
    assert!(first.starts_with("files-") && first.len() == 22, "{first}");
    assert_eq!(paths(&followed.tree(&first, "").unwrap()), ["a.yaml"]);
    exchange("..2026_02", "a: 2");
    assert_ne!(followed.look().unwrap(), first);
    exchange("..2026_03", "a: 1");
    assert_eq!(followed.look().unwrap(), first, "the same content");
}

#[test]
fn the_fleet_may_be_below_the_link_and_overlays_beside_it() {
    let volume = Volume::new();
    let first = volume.publish(1);
    let worktree = volume.path("git/.worktrees").join(&first);
    fs::create_dir(worktree.join("overlays")).unwrap();
    fs::write(worktree.join("overlays/o.yaml"), "o: 1").unwrap();
    let absolute = volume.link().join("overlays").display().to_string();
    for overlays in ["../overlays", absolute.as_str()] {
        let followed = volume.followed(&volume.link().join("fleet/"), &["", overlays]);
        assert_eq!(followed.look().unwrap(), first);
        assert_eq!(followed.root(&first).as_deref(), Some("fleet"));
        let tree = |part| followed.tree(&first, part).unwrap();
        assert_eq!(paths(&tree(""))[0], "fleet/0.yaml");
        assert_eq!(paths(&tree(overlays)), ["overlays/o.yaml"]);
    }
}

#[test]
fn a_part_must_be_inside_and_files_may_not_lead_out() {
    let volume = Volume::new();
    let first = volume.publish(1);
    let worktree = volume.path("git/.worktrees").join(&first);
    symlink("/", worktree.join("out")).unwrap();
    for part in ["out", "../..", "missing", "/", "fleet/0.yaml"] {
        let followed = volume.followed(&volume.link(), &["fleet", part]);
        let message = fault(&followed);
        assert!(message.contains(part), "{message}");
    }
    symlink("../.git", worktree.join("fleet/out.yaml")).unwrap();
    let followed = volume.followed(&volume.link(), &["fleet"]);
    let tree = followed.tree(&followed.look().unwrap(), "fleet").unwrap();
    assert_eq!(tree.problems["fleet/out.yaml"], Problem::LinkLeavesTree);
    drop(followed);
    let file = volume.followed(&volume.link().join("fleet/1.yaml"), &[""]);
    assert!(fault(&file).contains("it is not a directory"));
}

#[test]
fn a_clone_has_the_commit_of_its_head_unless_files_differ() {
    let volume = Volume::new();
    let origin = Origin::new();
    origin.push("main", &[("fleet/a.yaml", "old"), ("x.txt", "")]);
    let clone = volume.path("clone");
    let repository = git2::Repository::clone(&origin.url(), &clone).unwrap();
    let head = repository.head().unwrap().peel_to_commit().unwrap();
    let followed = volume.followed(&clone.join("fleet"), &[""]);
    let first = followed.look().unwrap();
    assert_eq!(first, head.id().to_string());
    assert_eq!(followed.title(&first).as_deref(), head.summary().unwrap());
    fs::write(clone.join("x.txt"), "not of the fleet").unwrap();
    assert_eq!(followed.look().unwrap(), first);
    fs::write(clone.join("fleet/b.yaml"), "new").unwrap();
    let edited = followed.look().unwrap();
    assert!(edited.starts_with("files-"), "{edited}");
    assert!(followed.title(&edited).unwrap().contains(&first));
    fs::remove_file(clone.join("fleet/b.yaml")).unwrap();
    assert_eq!(followed.look().unwrap(), first);
    // Git is in the middle of it.
    fs::write(clone.join("fleet/b.yaml"), "half").unwrap();
    fs::write(clone.join(".git/index.lock"), "").unwrap();
    let message = fault(&followed);
    assert!(
        message.contains("git is at work in it; if not, delete "),
        "{message}"
    );
}

#[test]
fn a_clone_knows_the_trailers_of_its_commits() {
    let volume = Volume::new();
    let dir = volume.path("clone");
    let repository = git2::Repository::init(&dir).unwrap();
    fs::write(dir.join("a.yaml"), "a: 1").unwrap();
    let who = crate::adapters::git::fixture::author();
    let mut parent: Option<git2::Oid> = None;
    let mut commits = Vec::new();
    for name in ["one", "two", "three"] {
        let mut index = repository.index().unwrap();
        index.add_path(Path::new("a.yaml")).unwrap();
        let tree = repository.find_tree(index.write_tree().unwrap()).unwrap();
        let before = parent.map(|parent| repository.find_commit(parent).unwrap());
        let before: Vec<&git2::Commit<'_>> = before.iter().collect();
        let message = format!("it\n\nApprove: {name}\n");
        let made = repository.commit(Some("HEAD"), &who, &who, &message, &tree, &before);
        let made = made.unwrap();
        parent = Some(made);
        commits.push(made.to_string());
    }
    let followed = volume.followed(&dir, &[""]);
    assert_eq!(followed.look().unwrap(), commits[2]);
    assert!(followed.has_commits());
    let trailers = |from: Option<&str>, to: &str| {
        let line = followed.first_parents(from, to, 9).unwrap().into_iter();
        let mut found: Vec<String> = line
            .map(|commit| followed.message(&commit.id).unwrap())
            .flat_map(|text| crate::adapters::git::trailers(&text, "approve"))
            .collect();
        found.sort();
        found
    };
    assert_eq!(trailers(Some(&commits[0]), &commits[2]), ["three", "two"]);
    assert_eq!(trailers(None, &commits[2]), ["three"]);
    assert_eq!(trailers(Some(&commit(9)), &commits[2]), ["three"]);
    assert_eq!(trailers(Some(&commits[0]), "files-1"), [""; 0]);
}

#[test]
fn files_written_one_by_one_count_once_they_stay_for_2_seconds() {
    assert_eq!(SETTLE, Duration::from_secs(2));
    let volume = Volume::new();
    let (dir, done) = (volume.path("plain"), AtomicBool::new(false));
    fs::create_dir(&dir).unwrap();
    fs::write(dir.join("0.yaml"), "a: 1").unwrap();
    let followed = volume.followed(&dir, &[""]);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // Slowly, but without a rest of 100 milliseconds.
            for file in 1..8 {
                std::thread::sleep(Duration::from_millis(20));
                fs::write(dir.join(format!("{file}.yaml")), "a: 1").unwrap();
            }
            done.store(true, Ordering::SeqCst);
        });
        let start = std::time::Instant::now();
        let revision = followed.look().unwrap();
        assert!(done.load(Ordering::SeqCst) && start.elapsed() >= Duration::from_millis(200));
        assert_eq!(followed.tree(&revision, "").unwrap().files.len(), 8);
        let again = std::time::Instant::now();
        assert_eq!(followed.look().unwrap(), revision);
        assert!(
            again.elapsed() < Duration::from_millis(100),
            "nothing changed"
        );
    });
    fs::remove_dir_all(&dir).unwrap();
    assert!(fault(&followed).contains("no such directory"));
}

#[test]
fn what_is_retained_outlives_a_restart() {
    let volume = Volume::new();
    let followed = volume.followed(&volume.link(), &["fleet"]);
    assert_eq!(followed.retained(RetainedRef::Applied), None);
    let first = volume.publish(1);
    followed.look().unwrap();
    followed.retain(RetainedRef::Applied, &first).unwrap();
    for number in 2..9 {
        volume.publish(number);
        followed.look().unwrap();
    }
    let busy = FollowedDirectory::open(&volume.link(), &[], &volume.path("store"), Timestamp::now);
    assert!(matches!(busy, Err(Error::Busy { .. })));
    drop(followed);
    fs::remove_file(volume.link()).unwrap();
    let followed = volume.followed(&volume.link(), &["fleet"]);
    assert!(followed.look().is_err());
    assert_eq!(followed.retained(RetainedRef::Applied), Some(first.clone()));
    let tree = followed.tree(&first, "fleet").unwrap();
    assert_eq!((tree.files.len(), tree.revision), (20, first));
    assert!(followed.tree(&commit(8), "fleet").is_ok(), "the newest");
    assert!(
        followed.tree(&commit(3), "fleet").is_err(),
        "nobody needs it"
    );
}

#[test]
fn a_revision_is_read_from_the_disk_once_a_newer_one_came() {
    let volume = Volume::new();
    let followed = volume.followed(&volume.link(), &["fleet"]);
    let held = || {
        followed
            .seen
            .lock()
            .iter()
            .filter_map(Seen::in_memory)
            .count()
    };
    for number in 1..=4 {
        volume.publish(number);
        followed.look().unwrap();
        assert_eq!(held(), 1);
    }
    for number in 1..=4 {
        let tree = followed.tree(&commit(number), "fleet").unwrap();
        assert_eq!(
            &*tree.files["fleet/0.yaml"],
            format!("text: {number}").as_bytes()
        );
    }
    // What is not text is not kept, but it is being examined.
    let binary = volume.publish(5);
    let worktree = volume.path("git/.worktrees").join(&binary);
    fs::write(worktree.join("fleet/0.yaml"), b"\xff").unwrap();
    followed.look().unwrap();
    volume.publish(6);
    followed.look().unwrap();
    assert_eq!(held(), 2);
    assert!(followed.tree(&binary, "fleet").is_ok());
}

#[test]
fn what_is_kept_of_a_commit_gets_the_parts_that_are_added_later() {
    let volume = Volume::new();
    let first = volume.publish(1);
    let worktree = volume.path("git/.worktrees").join(&first);
    fs::create_dir(worktree.join("overlays")).unwrap();
    fs::write(worktree.join("overlays/o.yaml"), "o: 1").unwrap();
    for parts in [&["fleet"][..], &["fleet", "overlays"]] {
        let followed = volume.followed(&volume.link(), parts);
        followed.look().unwrap();
        followed.retain(RetainedRef::Applied, &first).unwrap();
    }
    volume.publish(2);
    let followed = volume.followed(&volume.link(), &["fleet", "overlays"]);
    followed.look().unwrap_err();
    let tree = followed.tree(&first, "overlays").unwrap();
    assert_eq!(paths(&tree), ["overlays/o.yaml"]);
}

/// Waits until `followed` reports a change after `change`.
fn notices(count: &AtomicUsize, followed: &FollowedDirectory, change: impl FnOnce()) {
    drop(followed.look());
    let before = count.load(Ordering::SeqCst);
    change();
    let start = std::time::Instant::now();
    while count.load(Ordering::SeqCst) == before {
        assert!(start.elapsed() < Duration::from_secs(60), "not noticed");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn watched(followed: &FollowedDirectory) -> Arc<AtomicUsize> {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    followed.watch(move || {
        counted.fetch_add(1, Ordering::SeqCst);
    });
    assert!(followed.is_watched());
    count
}

#[test]
fn an_exchange_is_noticed_also_of_what_appears_later() {
    let volume = Volume::new();
    let followed = volume.followed(&volume.link(), &["fleet"]);
    assert!(!followed.is_watched());
    let count = watched(&followed);
    notices(&count, &followed, || {
        fs::create_dir(volume.path("git")).unwrap()
    });
    for number in 1..=3 {
        notices(&count, &followed, || drop(volume.publish(number)));
        assert_eq!(followed.look().unwrap(), commit(number));
    }
    notices(&count, &followed, || {
        fs::remove_file(volume.link()).unwrap()
    });
    notices(&count, &followed, || drop(volume.publish(4)));
}

#[test]
fn a_write_in_a_plain_directory_is_noticed_also_in_one_that_replaced_it() {
    let volume = Volume::new();
    let dir = volume.path("plain");
    let make = || {
        fs::create_dir_all(dir.join("inner")).unwrap();
        fs::write(dir.join("inner/a.yaml"), "a: 1").unwrap();
    };
    make();
    let followed = volume.followed(&dir, &[""]);
    let count = watched(&followed);
    let write = |text| fs::write(dir.join("inner/a.yaml"), text).unwrap();
    notices(&count, &followed, || write("a: 2"));
    notices(&count, &followed, || fs::remove_dir_all(&dir).unwrap());
    notices(&count, &followed, make);
    notices(&count, &followed, || write("a: 3"));
    drop(followed.look());
    let quiet = count.load(Ordering::SeqCst);
    followed.look().unwrap();
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(count.load(Ordering::SeqCst), quiet, "reading is no change");
}

#[test]
fn links_in_a_directory_are_not_watched() {
    let volume = Volume::new();
    let (dir, outside) = (volume.path("plain"), volume.path("outside/inner"));
    fs::create_dir_all(&outside).unwrap();
    fs::create_dir(&dir).unwrap();
    fs::write(dir.join("a.yaml"), "a: 1").unwrap();
    symlink(&outside, dir.join("link")).unwrap();
    symlink("/", dir.join("everything")).unwrap();
    let followed = volume.followed(&dir, &[""]);
    let count = watched(&followed);
    drop(followed.look());
    let before = count.load(Ordering::SeqCst);
    fs::write(outside.join("b.yaml"), "b: 1").unwrap();
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(count.load(Ordering::SeqCst), before);
    notices(&count, &followed, || {
        fs::write(dir.join("a.yaml"), "a: 2").unwrap()
    });
}

/// Who writes files in place may take one away again and again: each look may see the rest alone.
#[test]
fn what_comes_and_goes_between_two_looks_is_not_settled() {
    let volume = Volume::new();
    let plain = volume.path("plain");
    fs::create_dir(&plain).unwrap();
    fs::write(plain.join("a.yaml"), "a: 1").unwrap();
    let followed = volume.followed(&plain, &[""]);
    let stop = Arc::new(AtomicBool::new(false));
    let writer = std::thread::spawn({
        let (stop, file) = (Arc::clone(&stop), plain.join("b.yaml"));
        move || {
            while !stop.load(Ordering::Relaxed) {
                fs::write(&file, "b: 1").unwrap();
                fs::remove_file(&file).unwrap();
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    });
    let fault = fault(&followed);
    stop.store(true, Ordering::Relaxed);
    writer.join().unwrap();
    assert!(fault.contains("it changes all the time"), "{fault}");
    followed.look().unwrap();
}
