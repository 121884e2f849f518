//! A directory that git-sync keeps, followed by the shipped program: the layout is that of git-sync 4, a relative link
//! to a worktree that is named after its commit, and the old worktree is deleted at once.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use capstan::daemon::wall_time;
use capstan::model::{Check, CheckState};
use kube_sim::{Server, SimClock};
use serde_json::{Value as Json, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::patience::until;
use crate::running::Running;
use crate::servers::{anonymous, serve};

/// A volume and a cluster, which outlive the daemon.
struct World {
    dir: TempDir,
    server: Server,
    _runtime: Runtime,
}

fn commit(number: u8) -> String {
    format!("{number:040x}")
}

/// A file with ConfigMaps of these names.
fn config_maps(names: &[&str]) -> String {
    let object = |name: &&str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}});
    let documents = names
        .iter()
        .map(|name| object(name).to_string() + "\n---\n");
    documents.collect()
}

impl World {
    fn new() -> Self {
        let runtime = Runtime::new().expect("a runtime");
        let server = Server::new(Arc::new(SimClock::new(wall_time(), 100)));
        let dir = tempfile::tempdir().expect("a directory");
        let address = runtime.block_on(serve(server.clone()));
        let file =
            |name: &str, text: &str| fs::write(dir.path().join(name), text).expect("written");
        file("kubeconfig", &anonymous(&address));
        let link = dir.path().join("git/current");
        let fleet = json!({
            "apiVersion": "capstan.dev/v1alpha1", "kind": "Fleet", "metadata": {"name": "prod"},
            "spec": {"source": {"directory": {"path": link.join("fleet"), "overlays": ["../overlays"]}}},
        });
        file("fleet.yaml", &fleet.to_string());
        Self {
            dir,
            server,
            _runtime: runtime,
        }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    /// Publishes a commit as git-sync does.
    fn publish(&self, number: u8, text: &str) -> String {
        let (root, commit) = (self.path("git"), commit(number));
        let worktree = root.join(".worktrees").join(&commit);
        for part in ["fleet", "overlays"] {
            fs::create_dir_all(worktree.join(part)).expect("made");
        }
        let git = format!("gitdir: ../../.git/worktrees/{commit}\n");
        fs::write(worktree.join(".git"), git).expect("written");
        fs::write(worktree.join("fleet/a.yaml"), text).expect("written");
        let (link, new) = (root.join("current"), root.join("tmp-link"));
        let old = fs::read_link(&link).ok();
        symlink(Path::new(".worktrees").join(&commit), &new).expect("made");
        fs::rename(&new, &link).expect("exchanged");
        if let Some(old) = old {
            fs::remove_dir_all(root.join(old)).expect("deleted");
        }
        commit
    }

    fn start(&self) -> Running {
        let [fleet, kubeconfig, status] = ["fleet.yaml", "kubeconfig", "status.json"]
            .map(|name| self.path(name).display().to_string());
        let arguments = ["--config", &fleet, "--kubeconfig", &kubeconfig];
        Running::start(
            self.dir.path(),
            &[&arguments[..], &["--status-file", &status]].concat(),
        )
    }

    /// The checks in the status file.
    fn checks(&self) -> Vec<Check> {
        let text = fs::read(self.path("status.json")).unwrap_or_default();
        let Ok(list) = serde_json::from_slice::<Json>(&text) else {
            assert_eq!(text, b"", "the file is exchanged as a whole");
            return Vec::new();
        };
        assert_eq!(list["kind"], "CheckList");
        serde_json::from_value(list["checks"].clone()).expect("checks")
    }

    #[track_caller]
    fn wait(&self, daemon: &Running, commit: &str, state: CheckState) -> Check {
        let is_wanted = |check: &Check| check.revision == commit && check.state == state;
        until(
            || self.checks().into_iter().find(is_wanted),
            || format!("{:#?}\n{}", self.checks(), daemon.said()),
        )
    }

    fn config_maps(&self) -> Vec<String> {
        let all = self.server.snapshot();
        let all = all.iter().filter(|live| live["kind"] == "ConfigMap");
        let names = all.filter_map(|live| live["metadata"]["name"].as_str());
        let mut names: Vec<String> = names
            .filter(|name| !name.starts_with("capstan-"))
            .map(str::to_owned)
            .collect();
        names.sort();
        names
    }
}

#[test]
fn a_checkout_of_git_sync_is_applied_also_after_a_restart_with_a_broken_one() {
    let world = World::new();
    let daemon = world.start();
    daemon.wait("there is no such directory; correct the path, or start what creates it");
    let first = world.publish(1, &config_maps(&["a", "b"]));
    let check = world.wait(&daemon, &first, CheckState::Success);
    assert_eq!(
        (check.context.as_str(), check.title.as_str()),
        ("capstan/prod/sync", "2/2 ready")
    );
    assert_eq!(world.config_maps(), ["a", "b"]);

    // A file that is broken, then no file at all, while the daemon is away.
    drop(daemon);
    let broken = world.publish(2, "kind: {");
    let daemon = world.start();
    let check = world.wait(&daemon, &broken, CheckState::Failure);
    assert!(
        check.summary.contains(&format!("{first} stays applied")),
        "{}",
        check.summary
    );
    assert!(
        check.annotations[0].path.starts_with("fleet/a.yaml"),
        "{check:#?}"
    );
    daemon.wait("applying the last good revision");
    drop(daemon);
    world.publish(3, "");
    fs::remove_file(world.path("git/current/fleet/a.yaml")).expect("deleted");
    let daemon = world.start();
    daemon.wait("it has no YAML or JSON files, so nothing is applied or removed");
    assert_eq!(world.config_maps(), ["a", "b"]);

    // The last of three wins, and what it lacks is removed.
    world.publish(4, &config_maps(&["a", "b", "c"]));
    world.publish(5, &config_maps(&["d"]));
    let last = world.publish(6, &config_maps(&["a"]));
    world.wait(&daemon, &last, CheckState::Success);
    until(
        || (world.config_maps() == ["a"]).then_some(()),
        || format!("{:?}\n{}", world.config_maps(), daemon.said()),
    );
    let pending = |check: &Check| check.state == CheckState::Pending;
    assert!(!world.checks().iter().any(pending), "{:#?}", world.checks());
}

#[test]
fn a_local_edit_of_a_clone_is_a_revision_of_its_own() {
    let world = World::new();
    let clone = world.path("clone");
    let repository = git2::Repository::init(&clone).expect("a repository");
    fs::write(clone.join("a.yaml"), config_maps(&["a"])).expect("written");
    let mut index = repository.index().expect("an index");
    index.add_path("a.yaml".as_ref()).expect("added");
    let tree = index.write_tree().expect("written");
    let tree = repository.find_tree(tree).expect("there");
    let who = git2::Signature::new("a", "a@example.com", &git2::Time::new(0, 0)).expect("valid");
    let head = repository.commit(Some("HEAD"), &who, &who, "it", &tree, &[]);
    let head = head.expect("committed").to_string();
    let [clone_path, kubeconfig] =
        [&clone, &world.path("kubeconfig")].map(|path| path.display().to_string());
    let status = world.path("status.json").display().to_string();
    let arguments = [
        "--directory",
        &clone_path,
        "--kubeconfig",
        &kubeconfig,
        "--status-file",
        &status,
    ];
    let daemon = Running::start(world.dir.path(), &arguments);
    world.wait(&daemon, &head, CheckState::Success);
    fs::write(clone.join("b.yaml"), config_maps(&["b"])).expect("written");
    let edited = until(
        || {
            let mut checks = world.checks().into_iter();
            checks.find(|check| check.revision != head && check.state == CheckState::Success)
        },
        || daemon.said(),
    );
    assert!(edited.revision.starts_with("files-"), "{edited:?}");
    assert_eq!(world.config_maps(), ["a", "b"]);
    fs::remove_dir_all(&clone).expect("deleted");
    daemon.wait("stays applied");
    assert_eq!(world.config_maps(), ["a", "b"]);
}

/// The exit code and what is said.
fn refused(cache: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_capstan"))
        .arg("run")
        .args(arguments)
        .env("CAPSTAN_CACHE", cache)
        .output()
        .expect("it runs");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), text)
}

#[test]
fn flags_that_make_no_sense_for_a_directory_are_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    fs::create_dir(dir.path().join(".git")).expect("made");
    fs::create_dir(dir.path().join("fleet")).expect("made");
    let [fleet, inside] = ["fleet", "status.json"].map(|name| dir.path().join(name));
    let [fleet, inside] = [fleet, inside].map(|path| path.display().to_string());
    let directory = ["--embedded", "--directory", &fleet];
    for (more, expected) in [
        (["--branch", "main"], "cannot be used with"),
        (["--candidates", "refs/pull/*/head"], "cannot be used with"),
        (["--source", "/x"], "cannot be used with"),
        (
            ["--status-file", &inside],
            "which is in the directory that is followed",
        ),
    ] {
        let cache = dir.path().join("cache");
        let (code, text) = refused(&cache, &[&directory[..], &more].concat());
        assert!(text.contains(expected), "{text}");
        assert_eq!(code, Some(2), "{text}");
    }
    // It would follow what it writes.
    let cache = dir.path().join("fleet/new/cache");
    let (code, text) = refused(&cache, &directory);
    assert!(text.contains("CAPSTAN_CACHE is "), "{text}");
    assert_eq!((code, cache.exists()), (Some(2), false), "{text}");
}
