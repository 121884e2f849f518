//! What strangers and pushers can put into a repository on a server: none of it stops the followed branch.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use capstan::adapters::git::{Merged, Mirror, Quarantine, Ref};
use jiff::Timestamp;

use super::https_world::{FETCH, LIST, PATH, World};
use super::repository::{NOTES, Repository};
use crate::patience::until;

/// Long enough for a fetch, and shorter than a server is waited for.
const SOON: Duration = Duration::from_secs(10);

/// Writes an object of any content; returns its id.
fn object(repository: &Repository, kind: &str, bytes: &[u8]) -> String {
    let mut git = Command::new("git")
        .arg("-C")
        .arg(repository.path())
        .args(["hash-object", "-t", kind, "-w", "--literally", "--stdin"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("git runs");
    let mut input = git.stdin.take().expect("piped");
    input.write_all(bytes).expect("written");
    drop(input);
    let output = git.wait_with_output().expect("ended");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// A commit that no library parses, with the files of `parent`.
fn malformed(repository: &Repository, parent: &str) -> String {
    let tree = format!("{parent}^{{tree}}");
    let tree = repository.git(&["rev-parse", &tree]).expect("a tree");
    let who = "m <m@example.com> 99999999999999999999 +0000";
    let text = format!("tree {tree}\nparent {parent}\nauthor {who}\ncommitter {who}\n\ndocs\n");
    object(repository, "commit", text.as_bytes())
}

fn point(repository: &Repository, name: &str, id: &str) {
    repository.git(&["update-ref", name, id]).expect("updated");
}

#[test]
fn strangers_heads_are_brought_unopened_and_main_goes_on() {
    let Some(world) = World::new() else { return };
    let repository = &world.repository;
    let first = repository.push("main", "one");
    let zeros = object(repository, "blob", &vec![0; 20 << 20]);
    let listing = format!("100644 blob {zeros}\tzeros.bin\n");
    let tree = {
        let file = repository.root().join("tree");
        std::fs::write(&file, listing).expect("written");
        let make = format!(
            "git -C {} mktree < {}",
            repository.path().display(),
            file.display()
        );
        let made = Command::new("sh")
            .args(["-c", &make])
            .output()
            .expect("sh runs");
        String::from_utf8_lossy(&made.stdout).trim().to_owned()
    };
    let text = format!("tree {tree}\nparent {first}\n\nbomb\n");
    let bomb = object(repository, "commit", text.as_bytes());
    let strange = malformed(repository, &first);
    point(repository, "refs/pull/1/head", &strange);
    point(repository, "refs/pull/2/head", &bomb);
    let mirror = world.mirror();
    let main = Ref::Branch("main".to_owned());
    let fetched = mirror.fetch_followed(&main).expect("fetched");
    assert_eq!(world.requests(), [LIST, FETCH]);
    assert_eq!(fetched.refs["refs/heads/main"], first);
    assert!(fetched.faults.is_empty(), "{:?}", fetched.faults);
    let names: Vec<&String> = fetched.strangers.keys().collect();
    assert_eq!(names, ["refs/pull/1/head", "refs/pull/2/head"]);
    assert_eq!(mirror.objects(), 3, "those of main alone");

    let wanted: Vec<_> = fetched.strangers.into_iter().collect();
    let packs = mirror.bring(&wanted).expect("brought");
    assert_eq!(world.requests(), [LIST, FETCH]);
    let [pack] = &packs[..] else {
        panic!("{packs:?}")
    };
    let size = std::fs::metadata(pack).expect("there").len();
    assert!(size < 1 << 20, "{size}");
    assert_eq!(mirror.objects(), 3, "nothing came into the mirror");

    let url = world.server.url(PATH);
    let quarantine = Quarantine::open(mirror.directory(), &url).expect("opened");
    assert!(!quarantine.has(&strange));
    quarantine.take_in(pack).expect("taken in");
    assert!(!pack.exists());
    for (name, id) in &wanted {
        assert_eq!(&quarantine.commit_of(name, id).expect("a commit"), id);
    }
    let merged = quarantine.merged(&first, &strange, "").expect("merged");
    let Merged::Clean { tree, .. } = merged else {
        panic!("a conflict")
    };
    assert_eq!(&*tree.files["one.yaml"], b"one");

    let second = repository.push("main", "two");
    let fetched = mirror.fetch_followed(&main).expect("fetched");
    assert_eq!(fetched.refs["refs/heads/main"], second);
    assert_eq!(world.requests(), [LIST, FETCH]);
}

#[test]
fn a_malformed_history_and_refs_that_cannot_be_kept_stop_nothing() {
    let Some(world) = World::new() else { return };
    let repository = &world.repository;
    let first = repository.push("main", "one");
    let old = malformed(repository, &first);
    let tree = format!("{old}^{{tree}}");
    let identity = ["-c", "user.name=a", "-c", "user.email=b"];
    let on_top = ["commit-tree", &tree, "-p", &old, "-m", "two"];
    let second = repository.git(&[&identity[..], &on_top].concat());
    let second = second.expect("committed");
    point(repository, "refs/heads/main", &second);
    let long = format!("refs/heads/{}", ["x".repeat(200).as_str(); 6].join("/"));
    point(repository, &long, &first);
    let tag = format!("object {first}\ntype commit\ntag v1\ntagger broken\n\nx\n");
    point(
        repository,
        "refs/tags/v1",
        &object(repository, "tag", tag.as_bytes()),
    );
    let tree = repository
        .git(&["rev-parse", "main^{tree}"])
        .expect("a tree");
    point(repository, "refs/tags/v2", &tree);
    let mirror = world.mirror();
    let main = Ref::Branch("main".to_owned());
    let fetched = mirror.fetch_followed(&main).expect("fetched");
    assert_eq!(fetched.refs["refs/heads/main"], second);
    assert_eq!(fetched.refs["refs/tags/v1"], first);
    assert!(!fetched.refs.contains_key("refs/tags/v2"));
    let faults: Vec<&String> = fetched.faults.values().collect();
    assert_eq!(faults, ["its name has 1216 bytes; the limit is 1000"]);
    assert_eq!(mirror.log(None, &second, 9).expect("read").len(), 3);
    world.requests();
    mirror.fetch_followed(&main).expect("unchanged");
    assert_eq!(world.requests(), [LIST], "nothing is copied again");
    let third = repository.push("main", "three");
    let fetched = mirror.fetch_followed(&main).expect("fetched");
    assert_eq!(fetched.refs["refs/heads/main"], third);
}

#[test]
fn entries_of_odd_modes_whose_objects_are_nowhere_stop_nothing() {
    let Some(world) = World::new() else { return };
    let repository = &world.repository;
    let first = repository.push("main", "one");
    let mut head = first.clone();
    for (at, mode) in ["0", "644", "10644", "170000"].into_iter().enumerate() {
        let lost = u8::try_from(at + 1).expect("few");
        let tree = [format!("{mode} b.yaml\0").as_bytes(), &[lost; 20]].concat();
        let tree = object(repository, "tree", &tree);
        let identity = ["-c", "user.name=a", "-c", "user.email=b"];
        let on_top = ["commit-tree", &tree, "-p", &head, "-m", "odd"];
        let made = repository.git(&[&identity[..], &on_top].concat());
        head = made.expect("committed");
    }
    point(repository, "refs/heads/main", &head);
    let second = repository.push("main", "two");
    point(repository, "refs/heads/odd", &head);
    let mirror = world.mirror();
    let main = Ref::Branch("main".to_owned());
    let fetched = mirror.fetch_followed(&main).expect("fetched");
    assert_eq!(fetched.refs["refs/heads/main"], second);
    assert!(fetched.faults.is_empty(), "{:?}", fetched.faults);
    mirror.merged(&first, &head, "").expect("merged");
    world.requests();

    // More packs than there may be: they are compacted.
    let packs = mirror.directory().join("repository.git/objects/pack");
    for at in 0..=50 {
        std::fs::write(packs.join(format!("{at}.pack")), "").expect("written");
    }
    let third = repository.push("main", "three");
    let fetched = mirror.fetch_followed(&main).expect("fetched");
    assert_eq!(fetched.refs["refs/heads/main"], third);
    assert!(!packs.join("0.pack").exists(), "it was not compacted");
    world.requests();
    mirror.fetch_followed(&main).expect("unchanged");
    assert_eq!(world.requests(), [LIST], "nothing is copied again");
    assert_eq!(mirror.log(None, &third, 9).expect("read").len(), 7);
}

#[test]
fn main_does_not_wait_for_a_slow_push_of_notes() {
    let Some(world) = World::new() else { return };
    let repository = &world.repository;
    let first = repository.push("main", "one");
    let mirror = world.mirror();
    let main = Ref::Branch("main".to_owned());
    mirror.fetch_followed(&main).expect("fetched");
    let hang = |part: Option<&str>| {
        world
            .server
            .behave(|it| it.withheld = part.map(str::to_owned));
    };
    hang(Some("git-receive-pack"));
    world.requests();
    let (sender, fetched) = mpsc::channel();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let rewrite = |_: Option<&str>| "note".to_owned();
            mirror.edit_note(NOTES, &first, &rewrite, Timestamp::UNIX_EPOCH)
        });
        let is_pushed = || {
            let all = world.requests();
            all.iter()
                .any(|it| it.contains("receive-pack"))
                .then_some(())
        };
        until(is_pushed, || "no push of notes".to_owned());
        let second = repository.push("main", "two");
        let (mirror, main) = (&mirror, &main);
        scope.spawn(move || {
            let found = mirror.fetch_followed(main);
            // Who has left does not hear of it.
            let _ = sender.send(found.map(|found| found.refs["refs/heads/main"].clone()));
        });
        let arrived = fetched.recv_timeout(SOON);
        hang(None);
        let arrived = arrived.expect("main waited for notes").expect("fetched");
        assert_eq!(arrived, second);
        writer.join().expect("no panic").expect("noted");
    });
    mirror.fetch_followed(&main).expect("fetched");
    assert_eq!(
        mirror.note(NOTES, &first).expect("read").as_deref(),
        Some("note")
    );
}

#[test]
fn main_does_not_wait_for_what_else_is_new() {
    let Some(world) = World::new() else { return };
    let repository = &world.repository;
    let first = repository.push("main", "one");
    let huge = repository.push("huge", "huge");
    world.server.behave(|it| it.withheld = Some(huge.clone()));
    let dir = tempfile::tempdir().expect("a directory");
    let mirror = Mirror::open_with(dir.path(), &world.server.url(PATH), &[], &world.access());
    let mirror = Arc::new(mirror.expect("opened"));
    let main = Ref::Branch("main".to_owned());
    let look = |patience| {
        mirror
            .fetch_followed_within(&main, patience)
            .expect("fetched")
    };
    let little = Duration::from_millis(10);
    assert_eq!(look(little), None);
    assert_eq!(mirror.resolve(&main).expect("here"), first);
    for text in ["two", "three"] {
        let next = repository.push("main", text);
        assert_eq!(look(SOON), None, "another thread still waits for the rest");
        assert_eq!(mirror.resolve(&main).expect("here"), next);
    }
    let last = mirror.resolve(&main).expect("here");
    world.server.behave(|it| it.withheld = None);
    let found = until(|| look(little), || "the rest did not come".to_owned());
    assert_eq!(
        found.refs["refs/heads/main"], last,
        "nothing older came after it"
    );
    assert_eq!(found.refs["refs/heads/huge"], huge);
    assert!(found.faults.is_empty(), "{:?}", found.faults);
    world.requests();
    assert_eq!(look(SOON), Some(found));
    assert_eq!(world.requests(), [LIST]);
}
