//! Commits that are pushed to branches: on this machine, over HTTPS and over SSH, while `git` pushes too.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::Duration;

use capstan::adapters::git::{
    Access, Branch, CommitMessage, Committer, Edit, Edits, Error, Mirror, NewCommit, Outcome,
    Signer,
};
use capstan::daemon::wall_time;
use capstan::model::ErrorClass;
use tempfile::TempDir;

use super::https_world::{BASIC, PATH, World};
use super::repository::{Copied, Repository, git, has};

pub(super) const MAIN: &str = "refs/heads/main";
const REQUEST: &str = "Capstan-Request";

/// Writes what has a text, and removes what has none.
pub(super) fn edits(edits: &[(&str, Option<&str>)]) -> Edits {
    let edit = |text: Option<&str>| text.map_or(Edit::Remove, |text| Edit::Write(text.into()));
    let edits = edits.iter();
    edits
        .map(|(path, text)| ((*path).to_owned(), edit(*text)))
        .collect()
}

/// What comes of a commit of `edits` for the request `request`.
pub(super) fn push<T>(
    edits: &Edits,
    request: &str,
    signer: Option<&Signer>,
    push: impl FnOnce(&NewCommit<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    let message = CommitMessage {
        subject: "Change it".to_owned(),
        body: "As asked.".to_owned(),
        trailers: vec![(REQUEST.to_owned(), request.to_owned())],
    };
    let by = Committer {
        name: "Capstan".to_owned(),
        email: "capstan@example.com".to_owned(),
    };
    push(&NewCommit {
        edits,
        message: &message,
        by: &by,
        at: wall_time(),
        signer,
    })
}

pub(super) fn done<T>(outcome: Result<Outcome<T>, Error>) -> T {
    match outcome.expect("pushed") {
        Outcome::Done(done) => done,
        Outcome::Moved => panic!("it moved"),
    }
}

fn main_of(mirror: &Mirror) -> Branch<'_> {
    Branch::of(mirror, MAIN).expect("a branch")
}

/// Commits one file, however often others come first.
fn persist(mirror: &Mirror, path: &str) {
    loop {
        let head = mirror.fetch().expect("fetched")[MAIN].clone();
        let commit = |commit: &NewCommit<'_>| main_of(mirror).commit(&head, commit);
        match push(&edits(&[(path, Some("x"))]), path, None, commit).expect("pushed") {
            Outcome::Done(_) => return,
            Outcome::Moved => {}
        }
    }
}

/// A person with a clone, who pushes by the git program.
struct Person {
    dir: TempDir,
    settings: Vec<String>,
}

impl Person {
    fn new(url: &str, settings: &[String]) -> Self {
        let mut settings = settings.to_vec();
        let own = [
            "user.name=Ada",
            "user.email=ada@example.com",
            "pull.rebase=true",
            "gc.auto=0",
        ];
        settings.extend(own.map(str::to_owned));
        let dir = tempfile::tempdir().expect("a directory");
        let person = Self { dir, settings };
        person.git(&["clone", "--quiet", url, "."]).expect("cloned");
        person
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    fn git(&self, arguments: &[&str]) -> Result<String, String> {
        let settings = self.settings.iter().flat_map(|one| ["-c", one.as_str()]);
        let all: Vec<&str> = settings.chain(arguments.iter().copied()).collect();
        git(self.path(), &all)
    }

    /// Commits one file and pushes it, however often others come first.
    fn persist(&self, name: &str) {
        std::fs::write(self.path().join(name), "x").expect("written");
        self.git(&["add", "."]).expect("added");
        self.git(&["commit", "--quiet", "-m", name])
            .expect("committed");
        while let Err(cause) = self.git(&["push", "--quiet", "origin", "HEAD:main"]) {
            let is_late = ["rejected", "cannot lock ref", "failed to update ref"];
            assert!(is_late.iter().any(|words| cause.contains(words)), "{cause}");
            self.git(&["pull", "--quiet"]).expect("pulled");
        }
    }
}

const WRITERS: usize = 50;
const OTHERS: usize = 8;

/// Checks that each of `mirrors`, in turns, and a person push their files to one branch.
fn race(
    repository: &Repository,
    person: &Person,
    mirrors: &[(Copied, Mutex<()>)],
    one_by_one: bool,
) {
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            scope.spawn(move || {
                let (mirror, turn) = &mirrors[writer % mirrors.len()];
                let _turn = one_by_one.then(|| turn.lock().expect("no panic"));
                persist(mirror, &format!("clusters/{writer}.yaml"));
            });
        }
        scope.spawn(|| {
            for at in 0..OTHERS {
                person.persist(&format!("{at}.yaml"));
                std::thread::sleep(Duration::from_millis(20));
            }
        });
    });
    let git = |arguments: &[&str]| repository.git(arguments).expect("it works");
    let files = git(&["ls-tree", "-r", "--name-only", MAIN]);
    let mut expected: Vec<String> = (0..WRITERS)
        .map(|at| format!("clusters/{at}.yaml"))
        .collect();
    expected.extend((0..OTHERS).map(|at| format!("{at}.yaml")));
    expected.push("one.yaml".to_owned());
    expected.sort();
    assert_eq!(files.lines().collect::<Vec<_>>(), expected);
    let commits = (1 + WRITERS + OTHERS).to_string();
    assert_eq!(
        git(&["rev-list", "--count", "--first-parent", MAIN]),
        commits
    );
    git(&["fsck", "--strict", "--full"]);
}

#[test]
fn fifty_writers_beside_git_on_this_machine_lose_no_commit() {
    if !has("git", "git") {
        return;
    }
    let repository = Repository::new();
    repository.push("main", "one");
    let url = repository.path().display().to_string();
    let mirrors: Vec<_> = (0..5)
        .map(|_| (Copied::new(&url, &Access::default()), Mutex::new(())))
        .collect();
    race(&repository, &Person::new(&url, &[]), &mirrors, false);
}

#[test]
fn fifty_writers_beside_git_over_https_lose_no_commit() {
    let Some(world) = World::new() else { return };
    world.repository.push("main", "one");
    let mirrors: Vec<_> = (0..2).map(|_| (world.mirror(), Mutex::new(()))).collect();
    let settings = [
        "http.sslVerify=false".to_owned(),
        format!("http.extraHeader=Authorization: {BASIC}"),
    ];
    let person = Person::new(&world.server.url(PATH), &settings);
    race(&world.repository, &person, &mirrors, true);
}

#[test]
fn a_commit_whose_answer_was_lost_is_found_after_the_next_fetch() {
    let Some(world) = World::new() else { return };
    let head = world.repository.push("main", "one");
    let mirror = world.mirror();
    mirror.fetch().expect("fetched");
    let main = main_of(&mirror);
    let files = edits(&[("two.yaml", Some("2"))]);
    // The first line of the report, and no more.
    world.server.behave(|it| it.cut = Some(8));
    let error = push(&files, "aa11", None, |commit| main.commit(&head, commit)).expect_err("cut");
    assert_eq!(error.class(), ErrorClass::Transient, "{error}");
    world.server.behave(|it| it.cut = None);
    let fetched = mirror.fetch().expect("fetched")[MAIN].clone();
    assert_eq!(
        main.find(&fetched, REQUEST, "aa11", 200).expect("read"),
        Some(fetched.clone())
    );
    // One that never arrived.
    world
        .server
        .behave(|it| it.page = Some(("/git-receive-pack".to_owned(), 500)));
    let error = push(&files, "bb22", None, |commit| main.commit(&fetched, commit));
    assert!(error.is_err());
    world.server.behave(|it| it.page = None);
    assert_eq!(mirror.fetch().expect("fetched")[MAIN], fetched);
    assert_eq!(
        main.find(&fetched, REQUEST, "bb22", 200).expect("read"),
        None
    );
}

#[test]
fn a_branch_is_made_and_deleted_over_https() {
    let Some(world) = World::new() else { return };
    let base = world.repository.push("main", "one");
    let mirror = world.mirror();
    mirror.fetch().expect("fetched");
    let name = "refs/heads/capstan/x";
    let branch = Branch::of(&mirror, name).expect("a branch");
    let files = edits(&[("clusters/x.yaml", Some("x"))]);
    let create = |base: &str| {
        push(&files, "1", None, |commit| {
            branch.create(Some(base), commit)
        })
    };
    world.server.seen();
    let id = done(create(&base));
    let tip = || {
        world
            .repository
            .git(&["rev-parse", "--verify", "--quiet", name])
            .ok()
    };
    assert_eq!(tip(), Some(id.clone()));
    assert_eq!(create(&base).expect("told"), Outcome::Moved);
    assert_eq!(branch.delete(&base).expect("told"), Outcome::Moved);
    done(branch.delete(&id));
    assert_eq!(tip(), None);
    assert_eq!(branch.delete(&id).expect("told"), Outcome::Moved);
    // Who has lost the base would send all of its history.
    let newer = world.repository.push("main", "two");
    assert_eq!(create(&base).expect("told"), Outcome::Moved);
    mirror.fetch().expect("fetched");
    done(create(&newer));
    let main = main_of(&mirror);
    let onto = push(&files, "1", None, |commit| main.commit(&base, commit));
    assert_eq!(onto.expect("told"), Outcome::Moved);
    let error = main.delete(&newer).expect_err("the current branch");
    assert_eq!(error.class(), ErrorClass::Denied, "{error}");
    assert_eq!(world.repository.git(&["rev-parse", MAIN]), Ok(newer));
}

#[test]
fn a_push_between_the_list_and_the_request_is_not_overwritten() {
    let Some(world) = World::new() else { return };
    let head = world.repository.push("main", "one");
    let theirs = world.repository.push("theirs", "two");
    let mirror = world.mirror();
    mirror.fetch().expect("fetched");
    let (path, to) = (world.repository.path().to_owned(), theirs.clone());
    world.server.behave(|it| {
        it.before_post = Some(Box::new(move || {
            git(&path, &["update-ref", MAIN, &to]).expect("moved");
        }));
    });
    let main = main_of(&mirror);
    let files = edits(&[("x", Some("x"))]);
    let outcome = push(&files, "1", None, |commit| main.commit(&head, commit));
    assert_eq!(outcome.expect("told"), Outcome::Moved);
    assert_eq!(world.repository.git(&["rev-parse", MAIN]), Ok(theirs));
}

#[test]
fn a_protected_branch_is_reported_as_one() {
    let Some(world) = World::new() else { return };
    let head = world.repository.push("main", "one");
    let mirror = world.mirror();
    mirror.fetch().expect("fetched");
    let script =
        "printf '#!/bin/sh\\necho main is protected >&2\\nexit 1\\n' > \"$0\" && chmod +x \"$0\"";
    let hook = world.repository.path().join("hooks/pre-receive");
    let made = Command::new("sh").args(["-c", script]).arg(&hook).status();
    assert!(made.expect("sh runs").success());
    let main = main_of(&mirror);
    let files = edits(&[("x", Some("x"))]);
    let error = push(&files, "1", None, |commit| main.commit(&head, commit)).expect_err("refused");
    assert_eq!(error.class(), ErrorClass::Denied);
    let words =
        format!("refused the push to {MAIN}: pre-receive hook declined: main is protected;");
    assert!(error.to_string().contains(&words), "{error}");
    assert_eq!(world.repository.git(&["rev-parse", MAIN]), Ok(head));
}

/// Numbers that are the same each time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("small") % end
    }
}

/// A few edits that `files` allows, which are made in it as well.
fn random(numbers: &mut Numbers, files: &mut Vec<String>) -> Edits {
    const NAMES: [&str; 6] = ["a", "a-b", "a.b", "a0", "b", "é"];
    let mut edits = Edits::new();
    for _ in 0..=numbers.below(3) {
        if numbers.below(3) == 0 && !files.is_empty() {
            let path = files.swap_remove(numbers.below(files.len()));
            if edits
                .get(&path)
                .is_some_and(|edit| matches!(edit, Edit::Write(_)))
            {
                files.push(path);
            } else {
                edits.insert(path, Edit::Remove);
            }
            continue;
        }
        let depth = 1 + numbers.below(3);
        let names: Vec<&str> = (0..depth)
            .map(|_| NAMES[numbers.below(NAMES.len())])
            .collect();
        let path = names.join("/");
        let is_below = |one: &str, other: &str| one.starts_with(&format!("{other}/"));
        let mut others = files.iter().chain(edits.keys());
        if others.any(|other| is_below(other, &path) || is_below(&path, other)) {
            continue;
        }
        let text = numbers.below(1_000).to_string();
        edits.insert(path.clone(), Edit::Write(text.into_bytes()));
        if !files.contains(&path) {
            files.push(path);
        }
    }
    edits
}

fn apply(dir: &Path, edits: &Edits) {
    for (path, edit) in edits {
        let file: PathBuf = dir.join(path);
        match edit {
            Edit::Write(bytes) => {
                std::fs::create_dir_all(file.parent().expect("below")).expect("made");
                std::fs::write(file, bytes).expect("written");
            }
            Edit::Remove => {
                std::fs::remove_file(&file).expect("removed");
                // As git does, up to the first that is not empty.
                let above = file.ancestors().skip(1);
                let mut above = above.take_while(|above| *above != dir);
                while above
                    .next()
                    .is_some_and(|above| std::fs::remove_dir(above).is_ok())
                {}
            }
        }
    }
}

#[test]
fn trees_are_those_that_git_writes() {
    if !has("git", "git") {
        return;
    }
    for seed in 0..4 {
        let repository = Repository::new();
        let first = repository.push("main", "one");
        let url = repository.path().display().to_string();
        let person = Person::new(&url, &["core.quotePath=false".to_owned()]);
        let git = |arguments: &[&str]| person.git(arguments).expect("it works");
        // A program, a link and a submodule, beside what is edited.
        std::fs::write(person.path().join("run"), "#!").expect("written");
        std::os::unix::fs::symlink("a", person.path().join("link")).expect("linked");
        git(&["add", "."]);
        git(&["update-index", "--chmod=+x", "run"]);
        let module = format!("160000,{first},b0");
        git(&["update-index", "--add", "--cacheinfo", &module]);
        git(&["commit", "--quiet", "-m", "more"]);
        git(&["push", "--quiet", "origin", "HEAD:main"]);
        let mirror = Copied::new(&url, &Access::default());
        let mut head = mirror.fetch().expect("fetched")[MAIN].clone();
        let (mut numbers, mut files) = (Numbers(seed), vec!["run".to_owned()]);
        for step in 0..25 {
            let edits = random(&mut numbers, &mut files);
            let commit = |commit: &NewCommit<'_>| main_of(&mirror).commit(&head, commit);
            let made = done(push(&edits, "1", None, commit));
            git(&["reset", "--quiet", "--hard"]);
            std::fs::create_dir_all(person.path().join("b0")).expect("made");
            apply(person.path(), &edits);
            git(&["add", "--all"]);
            let expected = git(&["write-tree"]);
            git(&["commit", "--quiet", "--allow-empty", "-m", "the same"]);
            let tree = repository.git(&["rev-parse", &format!("{made}^{{tree}}")]);
            assert_eq!(tree, Ok(expected), "seed {seed}, step {step}: {edits:?}");
            head = made;
        }
        let entries = repository.git(&["ls-tree", "-r", MAIN]).expect("listed");
        for mode in ["120000", "160000"] {
            assert!(entries.contains(mode), "{entries}");
        }
    }
}
