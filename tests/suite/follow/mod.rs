//! The daemon in this process, on a cluster that the test can look into. Plain objects only: they
//! are ready at once.

mod approvals;
mod pull_requests;

use std::sync::Arc;
use std::time::Duration;

use capstan::adapters::azure_sim::crds::foreign;
use capstan::adapters::checks::{self, NOTES_REF};
use capstan::adapters::git::{Author, Files};
use capstan::adapters::kubernetes::{Target, annotate_parent};
use capstan::api::labels;
use capstan::daemon::{self, View, wall_time};
use capstan::model::cut;
use capstan::model::{Check, CheckState, Clock};
use capstan::plan::ApplySet;
use capstan::settings::{Environment, SyncConfig};
use jiff::Timestamp;
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams};
use kube::core::GroupVersionKind;
use kube_sim::Server;
use kube_sim::SimClock;
use tempfile::TempDir;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::patience::PATIENCE;

struct World {
    dir: TempDir,
    author: Author,
    server: Server,
    clock: Arc<dyn Clock>,
}

/// A daemon; it ends when this is dropped.
struct Daemon {
    context: String,
    view: watch::Receiver<View>,
    _task: AbortOnDropHandle<()>,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let author = Author::init(&dir.path().join("config.git")).expect("a bare repository");
        let time = SimClock::new(wall_time(), 100);
        let clock: Arc<dyn Clock> = Arc::new(time);
        Self {
            server: Server::new(Arc::new(time)),
            dir,
            author,
            clock,
        }
    }

    fn push(&self, branch: &str, onto: Option<&str>, files: &[(&str, &str)]) -> String {
        self.push_saying("change it", branch, onto, files)
    }

    fn push_saying(
        &self,
        message: &str,
        branch: &str,
        onto: Option<&str>,
        files: &[(&str, &str)],
    ) -> String {
        let files: Files = files
            .iter()
            .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
            .collect();
        self.author
            .push(branch, onto, &files, message, Timestamp::UNIX_EPOCH)
            .expect("pushed")
    }

    fn start(&self, fleet: &str) -> Daemon {
        self.start_with(fleet, "")
    }

    fn start_with(&self, fleet: &str, path: &str) -> Daemon {
        self.start_looking(Duration::from_millis(50), fleet, path)
    }

    /// One that looks at the repository every `interval`.
    fn start_looking(&self, interval: Duration, fleet: &str, path: &str) -> Daemon {
        let url = self.author.dir().display().to_string();
        let config = SyncConfig {
            fleet: fleet.to_owned(),
            path: path.to_owned(),
            interval,
            namespace: "default".to_owned(),
            mirror: self.dir.path().join(fleet),
            ..SyncConfig::source(&url, None, &Environment::default())
        };
        let target = Target::new(self.server.client("default"), Arc::clone(&self.clock));
        let (sender, view) = watch::channel(View::default());
        let task = tokio::spawn(async move {
            daemon::run(config, target, sender, CancellationToken::new())
                .await
                .expect("the settings are sound");
        });
        Daemon {
            context: format!("capstan/{fleet}/sync"),
            view,
            _task: AbortOnDropHandle::new(task),
        }
    }

    async fn install(&self, definition: &serde_json::Value) {
        let kind = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
        let api: Api<DynamicObject> =
            Api::all_with(self.server.client("default"), &ApiResource::from_gvk(&kind));
        let name = definition["metadata"]["name"].as_str().expect("a name");
        let params = PatchParams::apply("suite");
        let applied = api.patch(name, &params, &Patch::Apply(definition)).await;
        applied.expect("it is taken");
    }

    /// Every check in the note of `revision`.
    fn noted(&self, revision: &str) -> Vec<Check> {
        let note = self.author.note(NOTES_REF, revision).expect("readable");
        note.map(|note| checks::read(&note)).unwrap_or_default()
    }

    fn config_maps(&self) -> Vec<String> {
        let all = self.server.snapshot();
        let all = all.iter().filter(|live| live["kind"] == "ConfigMap");
        let names = all.filter_map(|live| live["metadata"]["name"].as_str());
        let names = names.filter(|name| !name.starts_with("capstan-"));
        let mut names: Vec<String> = names.map(str::to_owned).collect();
        names.sort();
        names
    }
}

impl Daemon {
    async fn until(&mut self, revision: &str, done: impl Fn(&Check) -> bool) -> Check {
        let context = self.context.clone();
        let found = self
            .view
            .wait_for(|view| view.check(&context, revision).is_some_and(&done));
        let Ok(view) = tokio::time::timeout(PATIENCE, found).await else {
            let last = self.view.borrow().check(&context, revision).cloned();
            panic!("{revision} never had that: {last:#?}");
        };
        let view = view.expect("the daemon runs").clone();
        view.check(&context, revision).expect("it is there").clone()
    }

    async fn fails(&mut self, revision: &str) -> Check {
        self.until(revision, |check| check.state == CheckState::Failure)
            .await
    }

    async fn succeeds(&mut self, revision: &str) -> Check {
        self.until(revision, |check| check.state == CheckState::Success)
            .await
    }
}

fn config_map(name: &str) -> String {
    format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}, namespace: default}}}}\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_removed_from_the_fleet_are_reported_and_deleted_or_kept() {
    let world = World::new();
    let (a, b) = (config_map("a"), config_map("b"));
    let kept = "{apiVersion: v1, kind: ConfigMap, metadata: {name: kept, namespace: default, annotations: {capstan.dev/deletion-policy: Orphan}}}";
    let first = world.push(
        "main",
        None,
        &[("a.yaml", &a), ("b.yaml", &b), ("kept.yaml", kept)],
    );
    let mut daemon = world.start("test");
    daemon.succeeds(&first).await;
    let second = world.push("main", Some(&first), &[("a.yaml", &a)]);
    let check = daemon.succeeds(&second).await;
    assert_eq!(check.title, "1/1 ready");
    assert_eq!(
        check.summary.trim(),
        "No longer in the fleet:\n\n- ConfigMap/default/b: deleted\n- ConfigMap/default/kept: released: it stays in the cluster and is no longer part of the fleet"
    );
    assert_eq!(world.config_maps(), ["a", "kept"]);
}

/// A cluster, as somebody writes it by hand, that is deleted with its file.
const CLUSTER: &str = "{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {name: c, namespace: default, annotations: {capstan.dev/deletion-policy: Delete}}, spec: {paused: true}}";

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_goes_with_the_approval_of_a_commit_and_not_without() {
    let world = World::new();
    for definition in foreign() {
        world.install(&definition).await;
    }
    let clusters = || {
        let all = world.server.snapshot();
        let clusters = all.iter().filter(|live| live["kind"] == "Cluster").count();
        (clusters, world.config_maps())
    };
    let a = config_map("a");
    let first = world.push("main", None, &[("a.yaml", &a), ("c.yaml", CLUSTER)]);
    let mut daemon = world.start("test");
    daemon
        .until(&first, |check| check.title.contains("1/2 ready"))
        .await;
    assert_eq!(clusters(), (1, vec!["a".to_owned()]));
    let second = world.push("main", Some(&first), &[("a.yaml", &a)]);
    let check = daemon.fails(&second).await;
    assert_eq!(check.title, "1 loss needs approval; 1/1 ready");
    assert!(
        check
            .summary
            .contains("`Capstan-Approve: delete default/c`"),
        "{}",
        check.summary
    );
    assert_eq!(clusters().0, 1, "nobody approved");
    let message = "let it go\n\nCapstan-Approve: delete default/c\n";
    let third = world.push_saying(message, "main", Some(&second), &[("a.yaml", &a)]);
    let check = daemon.succeeds(&third).await;
    assert!(
        check.summary.contains("Cluster/default/c: deleted"),
        "{}",
        check.summary
    );
    assert_eq!(clusters(), (0, vec!["a".to_owned()]));
}

/// The mirror of the fleet `test`, once no daemon works in it any more.
async fn mirror(world: &World) -> git2::Repository {
    let dir = world.dir.path().join("test");
    let start = std::time::Instant::now();
    let lock = std::fs::File::open(dir.join("lock")).expect("a daemon was here");
    while lock.try_lock().is_err() {
        assert!(start.elapsed() < PATIENCE, "it does not end");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    git2::Repository::open_bare(dir.join("repository.git")).expect("a mirror")
}

/// Until this ref of the mirror leads to `revision`.
async fn pinned(world: &World, name: &str, revision: &str) {
    let file = world.dir.path().join("test/repository.git").join(name);
    let start = std::time::Instant::now();
    loop {
        let kept = std::fs::read_to_string(&file).unwrap_or_default();
        if kept.trim() == revision {
            return;
        }
        assert!(start.elapsed() < PATIENCE, "{name} is {kept}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_counts_after_a_forced_push_took_away_what_is_applied() {
    let world = World::new();
    for definition in foreign() {
        world.install(&definition).await;
    }
    let a = config_map("a");
    let applied = world.push("main", None, &[("a.yaml", &a), ("c.yaml", CLUSTER)]);
    let mut daemon = world.start("test");
    pinned(&world, "refs/capstan/applied", &applied).await;
    let mut broken = Vec::new();
    for text in ["kind: [", "kind: {"] {
        let revision = world.push("main", None, &[("a.yaml", text)]);
        daemon
            .until(&revision, |check| check.state == CheckState::Failure)
            .await;
        broken.push(git2::Oid::from_str(&revision).expect("an id"));
    }
    drop(daemon);
    let repository = mirror(&world).await;
    let collect = std::process::Command::new("git")
        .arg("-C")
        .arg(repository.path())
        .args(["gc", "--quiet", "--prune=now"])
        .status();
    let Ok(collected) = collect else {
        eprintln!("skipped: needs the git program; install the package git");
        return;
    };
    assert!(collected.success());
    let found = broken.iter().map(|id| repository.find_commit(*id).is_ok());
    let found: Vec<bool> = found.collect();
    assert_eq!(found, [false, true], "only what nobody needs is gone");
    drop(repository);

    let message = "let it go\n\nCapstan-Approve: delete default/c\n";
    let next = world.push_saying(message, "main", None, &[("a.yaml", &a)]);
    let mut daemon = world.start("test");
    daemon.succeeds(&next).await;
    let all = world.server.snapshot();
    assert!(all.iter().all(|live| live["kind"] != "Cluster"));
    pinned(&world, "refs/capstan/ready", &next).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_fleet_is_ready_as_it_is() {
    let world = World::new();
    let first = world.push("main", None, &[("README.md", "nothing yet")]);
    let check = world.start("test").succeeds(&first).await;
    assert_eq!(check.title, "0/0 ready");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_emptied_repository_keeps_everything_also_after_a_restart() {
    let world = World::new();
    let (a, b) = (config_map("a"), config_map("b"));
    let first = world.push("main", None, &[("a.yaml", &a), ("b.yaml", &b)]);
    let mut daemon = world.start("test");
    daemon.succeeds(&first).await;
    pinned(&world, "refs/capstan/applied", &first).await;
    let emptied = world.push("main", Some(&first), &[("README.md", "gone")]);
    let failed = |check: &Check| check.state == CheckState::Failure;
    let check = daemon.until(&emptied, failed).await;
    let stays = format!("The last good revision {first} stays applied.");
    assert_eq!(check.summary.matches(&stays).count(), 1, "{check:#?}");
    drop(daemon);
    drop(mirror(&world).await);
    let mut daemon = world.start("test");
    daemon.until(&emptied, failed).await;
    daemon.succeeds(&first).await;
    assert_eq!(world.config_maps(), ["a", "b"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_forced_push_and_a_restart_what_was_applied_stays() {
    let world = World::new();
    let base = world.push("main", None, &[("a.yaml", &config_map("a"))]);
    let both = [("a.yaml", config_map("a")), ("b.yaml", config_map("b"))];
    let both = both.each_ref().map(|(path, text)| (*path, text.as_str()));
    let applied = world.push("main", Some(&base), &both);
    let mut daemon = world.start("test");
    daemon.succeeds(&applied).await;
    pinned(&world, "refs/capstan/applied", &applied).await;
    drop(daemon);
    drop(mirror(&world).await);
    // The branch is reset to the base, and goes on from there with a mistake.
    let broken = world.push("main", Some(&base), &[("a.yaml", "kind: [")]);
    let mut daemon = world.start("test");
    let check = daemon
        .until(&broken, |check| check.state == CheckState::Failure)
        .await;
    let stays = format!("The last good revision {applied} stays applied.");
    assert!(check.summary.starts_with(&stays), "{check:#?}");
    daemon.succeeds(&applied).await;
    assert_eq!(world.config_maps(), ["a", "b"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fleet_is_suspended_over_a_restart_and_resumed() {
    let world = World::new();
    let first = world.push("main", None, &[("a.yaml", &config_map("a"))]);
    let mut daemon = world.start("test");
    daemon.succeeds(&first).await;
    let client = world.server.client("default");
    let set = ApplySet::new("test", "default");
    let annotate = async |key: &str, value: Option<&str>| {
        let done = annotate_parent(&client, &set, key, value).await;
        done.expect("it is taken");
    };
    annotate(labels::SUSPENDED, Some("then")).await;
    let suspended = |check: &Check| check.title.starts_with("suspended; ");
    daemon.until(&first, suspended).await;
    let second = world.push("main", Some(&first), &[("a.yaml", &config_map("b"))]);
    daemon.until(&second, suspended).await;
    drop(daemon);
    drop(mirror(&world).await);
    let mut daemon = world.start("test");
    let check = daemon.until(&second, suspended).await;
    assert_eq!(check.state, CheckState::Pending);
    assert!(check.summary.contains("suspended since then"), "{check:#?}");
    assert_eq!(world.config_maps(), ["a"]);
    annotate(labels::SUSPENDED, None).await;
    daemon.succeeds(&second).await;
    assert_eq!(world.config_maps(), ["b"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_suspended_fleet_whose_parent_is_deleted_stays_suspended_over_a_restart() {
    let world = World::new();
    let first = world.push("main", None, &[("a.yaml", &config_map("a"))]);
    let mut daemon = world.start("test");
    daemon.succeeds(&first).await;
    let client = world.server.client("default");
    let set = ApplySet::new("test", "default");
    let suspend = annotate_parent(&client, &set, labels::SUSPENDED, Some("then"));
    suspend.await.expect("it is taken");
    let suspended = |check: &Check| check.title.starts_with("suspended; ");
    daemon.until(&first, suspended).await;
    let parents: Api<k8s_openapi::api::core::v1::ConfigMap> = Api::default_namespaced(client);
    let name = set.parent().name.to_string();
    let before = parents.get(&name).await.expect("it is there");
    let params = kube::api::DeleteParams::default();
    let deleted = parents.delete(&name, &params).await;
    deleted.expect("it is deleted");
    let start = std::time::Instant::now();
    // It is created first, and then gets what is recorded.
    while parents
        .get_opt(&name)
        .await
        .expect("readable")
        .and_then(|again| again.data)
        != before.data
    {
        assert!(start.elapsed() < PATIENCE, "nobody created it again");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    drop(daemon);
    drop(mirror(&world).await);
    let files = [("a.yaml", config_map("b"))];
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, &**text)).collect();
    let second = world.push("main", Some(&first), &files);
    let pull = world.push("pr/1", Some(&second), &[("c.yaml", &config_map("c"))]);
    let mut daemon = world.start("test");
    let not_applied = |check: &Check| check.summary.contains("stays applied");
    let check = daemon.until(&second, not_applied).await;
    assert_eq!(check.title, "suspended; not applied");
    assert!(check.summary.contains(&first), "{check:#?}");
    assert_eq!(world.config_maps(), ["a"]);
    let compared = format!("Compared with the applied revision {first}.");
    pull_requests::planned(&world, &pull, |check| check.summary.contains(&compared)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revision_that_comes_back_after_a_broken_one_goes_on_as_it_was() {
    let world = World::new();
    let a = config_map("a");
    let first = world.push("main", None, &[("a.yaml", &a)]);
    let mut daemon = world.start("test");
    daemon.succeeds(&first).await;
    let broken = world.push("main", Some(&first), &[("a.yaml", "kind: [")]);
    daemon
        .until(&broken, |check| check.state == CheckState::Failure)
        .await;
    // Somebody resets the branch, and then goes on from there.
    let same = world.push("main", None, &[("a.yaml", &a)]);
    assert_eq!(same, first, "the same commit");
    let next = world.push("main", Some(&first), &[("a.yaml", &config_map("z"))]);
    daemon.succeeds(&next).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_superseded_revision_names_its_successor() {
    let world = World::new();
    // Nobody here runs Deployments.
    let stuck = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: d, namespace: default}, spec: {selector: {matchLabels: {a: d}}, template: {metadata: {labels: {a: d}}, spec: {containers: [{name: main, image: example.invalid/app}]}}}}\n";
    let first = world.push("main", None, &[("a.yaml", stuck)]);
    let mut daemon = world.start("test");
    daemon
        .until(&first, |check| check.title.contains("Deployment"))
        .await;
    let second = world.push("main", Some(&first), &[("a.yaml", &config_map("a"))]);
    let check = daemon
        .until(&first, |check| check.title.starts_with("superseded"))
        .await;
    assert!(
        check.title.contains(cut::head(&second, 10)),
        "{}",
        check.title
    );
    daemon.succeeds(&second).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_fleets_on_one_repository_tell_the_same_commit() {
    let world = World::new();
    let (a, b) = (config_map("a"), config_map("b"));
    let first = world.push("main", None, &[("x/a.yaml", &a), ("y/b.yaml", &b)]);
    let start = |fleet, path| world.start_with(fleet, path);
    let (mut one, mut two) = (start("one", "x"), start("two", "y"));
    one.succeeds(&first).await;
    two.succeeds(&first).await;
    let start = std::time::Instant::now();
    let contexts = || -> Vec<(String, CheckState)> {
        let noted = world.noted(&first).into_iter();
        noted.map(|check| (check.context, check.state)).collect()
    };
    let both = [
        ("capstan/one/sync".to_owned(), CheckState::Success),
        ("capstan/two/sync".to_owned(), CheckState::Success),
    ];
    while contexts() != both {
        assert!(start.elapsed() < PATIENCE, "{:?}", contexts());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn metadata_that_makes_no_sense_is_a_finding_and_no_panic() {
    let world = World::new();
    let odd = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: hello}}\n";
    let first = world.push("main", None, &[("a.yaml", odd)]);
    let mut daemon = world.start("test");
    let check = daemon
        .until(&first, |check| check.state == CheckState::Failure)
        .await;
    assert!(
        check.summary.contains("a.yaml:1:63: S02"),
        "{}",
        check.summary
    );
    let second = world.push("main", Some(&first), &[("a.yaml", &config_map("a"))]);
    daemon.succeeds(&second).await;
}
