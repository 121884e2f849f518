//! The daemon as a process: pushes, notes, kills. Time in the embedded cluster passes 3,000 times
//! faster than outside, so that a cluster takes half a second.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use capstan::adapters::checks::{self, NOTES_REF};
use capstan::adapters::git::{Author, Files};
use capstan::model::cut;
use capstan::model::{Check, CheckState};
use jiff::Timestamp;
use serde_json::{Value as Json, json};
use tempfile::TempDir;

pub(crate) use crate::fleet::DEFINITION;
use crate::patience::until;

/// The identity that the definition names, as somebody else keeps it in a cluster.
pub(crate) fn identity(allowed: &Json) -> Json {
    let id = "00000000-0000-0000-0000-000000000000";
    json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "AzureClusterIdentity",
        "metadata": {"name": "cluster-identity", "namespace": "clusters"},
        "spec": {"type": "WorkloadIdentity", "clientID": id, "tenantID": id, "allowedNamespaces": allowed},
    })
}

/// A bare repository and the daemon that follows it. The daemon is killed when this is dropped.
pub(crate) struct World {
    dir: TempDir,
    author: Author,
    /// The kubeconfig of the cluster; none for the embedded one.
    kubeconfig: Option<PathBuf>,
    daemon: Option<Child>,
}

impl World {
    fn new() -> Self {
        Self::on(None)
    }

    /// On the cluster of this kubeconfig, else on the embedded one.
    pub(crate) fn on(kubeconfig: Option<&Path>) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let author = Author::init(&dir.path().join("config.git")).expect("a bare repository");
        Self {
            dir,
            author,
            kubeconfig: kubeconfig.map(Path::to_owned),
            daemon: None,
        }
    }

    pub(crate) fn push(&self, branch: &str, onto: Option<&str>, text: &str) -> String {
        self.push_files(branch, onto, &[("clusters/one.yaml", text)])
    }

    fn push_files(&self, branch: &str, onto: Option<&str>, files: &[(&str, &str)]) -> String {
        let files = files.iter();
        let files: Files = files
            .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
            .collect();
        self.push_saying("change it", branch, onto, &files)
    }

    pub(crate) fn push_saying(
        &self,
        message: &str,
        branch: &str,
        onto: Option<&str>,
        files: &Files,
    ) -> String {
        self.author
            .push(branch, onto, files, message, Timestamp::UNIX_EPOCH)
            .expect("pushed")
    }

    pub(crate) fn start(&mut self, speed: u32) {
        let source = self.source();
        self.run(speed, &["--interval", "100ms", "--source", &source]);
    }

    /// The same with overlays of this machine over it.
    pub(crate) fn start_under(&mut self, overlays: &Path) {
        let source = self.source();
        let overlays = overlays.display().to_string();
        let arguments = ["--interval", "100ms", "--source", &source];
        self.run(1, &[&arguments[..], &["--overlays", &overlays]].concat());
    }

    /// Follows the Fleet document `prod` with this `git` source.
    fn start_with(&mut self, git: &str) {
        let document = self.document(git, "{}");
        self.run(3000, &["--config", &document]);
    }

    /// The same of the path `fleet`, whose files are these tenants'.
    fn start_for(&mut self, tenants: &str) {
        let document = self.document("path: fleet", &format!("{{}}, tenancy: {tenants}"));
        self.run(3000, &["--config", &document]);
    }

    /// Writes a Fleet document of the name `prod` with this `git` source and this `cluster`.
    fn document(&self, git: &str, cluster: &str) -> String {
        let url = self.author.dir().display();
        let fleet = format!(
            "apiVersion: capstan.dev/v1alpha1\nkind: Fleet\nmetadata: {{name: prod}}\nspec: {{source: {{git: {{url: \"{url}\", interval: 100ms, {git}}}}}, cluster: {cluster}}}\n"
        );
        let file = self.dir.path().join("fleet.yaml");
        std::fs::write(&file, fleet).expect("written");
        file.to_str().expect("UTF-8").to_owned()
    }

    /// The daemon, not started, of a document with this `cluster`; what is its own of the cluster is in
    /// `namespace`. It logs to stderr.
    pub(crate) fn documented(&self, namespace: &str, cluster: &str) -> Command {
        let document = self.document("", cluster);
        let mut command = self.command(1, &["--config", &document]);
        command
            .env("CAPSTAN_NAMESPACE", namespace)
            .stderr(Stdio::piped());
        command
    }

    /// Follows the Fleet document `prod` with this `cluster`.
    pub(crate) fn follow(&mut self, cluster: &str) {
        let document = self.document("", cluster);
        self.run(1, &["--config", &document]);
    }

    fn run(&mut self, speed: u32, arguments: &[&str]) {
        let daemon = self.command(speed, arguments).stderr(Stdio::null()).spawn();
        self.daemon = Some(daemon.expect("the daemon starts"));
    }

    /// The repository.
    pub(crate) fn source(&self) -> String {
        self.author.dir().display().to_string()
    }

    pub(crate) fn command(&self, speed: u32, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_capstan"));
        command.arg("run");
        match &self.kubeconfig {
            // Others play the controllers there.
            Some(kubeconfig) => command
                .args(["--aro", "off", "--kubeconfig"])
                .arg(kubeconfig),
            None => command.args(["--embedded", "--speed", &speed.to_string()]),
        };
        command
            .args(arguments)
            .env("CAPSTAN_CACHE", self.cache())
            .stdout(Stdio::null());
        command
    }

    /// The daemon on a cluster, not started: it logs each step to stderr, and keeps the
    /// parent of its set in `namespace`.
    pub(crate) fn talking(&self, namespace: &str) -> Command {
        let source = self.source();
        let mut command = self.command(1, &["--interval", "100ms", "--source", &source]);
        command
            .env("CAPSTAN_NAMESPACE", namespace)
            .env("CAPSTAN_LOG", "capstan::step=debug")
            .stderr(Stdio::piped());
        command
    }

    /// Where the daemon keeps its files.
    pub(crate) fn cache(&self) -> PathBuf {
        self.dir.path().join("cache")
    }

    /// Asks the daemon to stop, and waits until it has.
    pub(crate) fn stop(&mut self) {
        let mut daemon = self.daemon.take().expect("it runs");
        let id = daemon.id().to_string();
        let asked = Command::new("kill").args(["-TERM", &id]).status();
        assert!(asked.expect("a kill program").success());
        assert_eq!(daemon.wait().expect("it ends").code(), Some(0));
    }

    pub(crate) fn kill(&mut self) {
        if let Some(mut daemon) = self.daemon.take() {
            daemon
                .kill()
                .and_then(|()| daemon.wait())
                .expect("it can be killed");
        }
    }

    pub(crate) fn check(&self, revision: &str, context: &str) -> Option<Check> {
        let note = self.author.note(NOTES_REF, revision).expect("readable")?;
        checks::read(&note)
            .into_iter()
            .find(|check| check.context == context)
    }

    /// All that is noted about a revision; nothing, if there is no note.
    pub(crate) fn note(&self, revision: &str) -> String {
        let note = self.author.note(NOTES_REF, revision).expect("readable");
        note.unwrap_or_default()
    }

    /// The check once it is in this state.
    pub(crate) fn wait(&self, revision: &str, context: &str, state: CheckState) -> Check {
        let check = || self.check(revision, context);
        until(
            || check().filter(|check| check.state == state),
            || format!("{context} on {revision} is {:#?}, not {state:?}", check()),
        )
    }

    /// The check once its text has these words: one that fails may say more later.
    pub(crate) fn wait_saying(&self, revision: &str, context: &str, words: &str) -> Check {
        let check = || self.check(revision, context);
        until(
            || check().filter(|check| check.summary.contains(words)),
            || {
                format!(
                    "{context} on {revision} is {:#?}, without {words:?}",
                    check()
                )
            },
        )
    }

    /// Waits until the revision has a check in `context`.
    pub(crate) fn wait_for_check(&self, revision: &str, context: &str) {
        let never = || format!("{context} has no check for {revision}");
        until(|| self.check(revision, context), never);
    }

    /// Makes the repository run this script before it takes a push.
    fn hook(&self, script: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let hook = self.author.dir().join("hooks/pre-receive");
        std::fs::create_dir_all(hook.parent().expect("a parent")).expect("made");
        std::fs::write(&hook, format!("#!/bin/sh\n{script}\n")).expect("written");
        std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755))
            .expect("its mode can be set");
        hook
    }

    /// Waits until a script has made this file.
    fn made(&self, file: &Path) {
        let is_there = || file.exists().then_some(());
        until(is_there, || {
            format!("nothing was pushed: no {}", file.display())
        });
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if let Some(mut daemon) = self.daemon.take() {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}

pub(crate) const SYNC: &str = "capstan/config/sync";
pub(crate) const PLAN: &str = "capstan/config/plan";

#[test]
fn a_push_goes_from_pending_to_success_and_a_broken_one_to_failure_with_its_line() {
    let mut world = World::new();
    let first = world.push("main", None, DEFINITION);
    world.start(200);
    let pending = world.wait(&first, SYNC, CheckState::Pending);
    assert!(pending.title.contains("/55 ready"), "{}", pending.title);
    let success = world.wait(&first, SYNC, CheckState::Success);
    assert_eq!(success.title, "55/55 ready");

    let broken = world.push(
        "main",
        Some(&first),
        &DEFINITION.replace("vmSize", "vmsize"),
    );
    let failure = world.wait(&broken, SYNC, CheckState::Failure);
    assert!(
        failure
            .summary
            .contains(&format!("The last good revision {first} stays applied")),
        "{}",
        failure.summary
    );
    let annotation = failure
        .annotations
        .iter()
        .find(|annotation| annotation.message.contains("vmsize"));
    let annotation = annotation.expect("the mistake is annotated");
    assert_eq!(
        (annotation.path.as_str(), annotation.line),
        ("clusters/one.yaml", 15)
    );
    assert_eq!(
        world.check(&first, SYNC).map(|check| check.state),
        Some(CheckState::Success),
        "what was applied stays"
    );

    let mended = world.push(
        "main",
        Some(&broken),
        &format!("{DEFINITION}    replicas: 3\n"),
    );
    world.wait(&mended, SYNC, CheckState::Success);
}

#[test]
fn after_a_kill_in_the_middle_the_newest_good_commit_reaches_success() {
    let mut world = World::new();
    let first = world.push("main", None, DEFINITION);
    world.start(60);
    world.wait(&first, SYNC, CheckState::Pending);
    std::thread::sleep(Duration::from_millis(1500));
    world.kill();
    assert_eq!(
        world.check(&first, SYNC).map(|check| check.state),
        Some(CheckState::Pending),
        "it was killed in the middle"
    );
    let broken = world.push("main", Some(&first), "kind: [");
    world.start(3000);
    world.wait(&broken, SYNC, CheckState::Failure);
    world.wait(&first, SYNC, CheckState::Success);
}

#[test]
fn checks_that_were_pending_at_a_kill_are_reported_as_superseded() {
    let mut world = World::new();
    let first = world.push("main", None, DEFINITION);
    world.start(60);
    world.wait(&first, SYNC, CheckState::Pending);
    world.kill();
    let second = world.push(
        "main",
        Some(&first),
        &format!("{DEFINITION}    replicas: 3\n"),
    );
    world.start(3000);
    world.wait(&second, SYNC, CheckState::Success);
    let check = world.wait(&first, SYNC, CheckState::Error);
    assert!(
        check
            .title
            .starts_with(&format!("superseded by {}", cut::head(&second, 10))),
        "{}",
        check.title
    );
}

#[test]
fn a_pull_request_is_planned_merged_onto_main_and_main_stays_as_it_is() {
    let mut world = World::new();
    let first = world.push("main", None, DEFINITION);
    world.start(3000);
    world.wait(&first, SYNC, CheckState::Success);
    let good = world.push(
        "pr/good",
        Some(&first),
        &format!("{DEFINITION}    replicas: 4\n"),
    );
    let plan = world.wait(&good, PLAN, CheckState::Success);
    assert_eq!(plan.title, "1 pool changed; about 4 min");
    let compared = format!("Compared with the applied revision {first}.\n");
    assert!(plan.summary.starts_with(&compared), "{}", plan.summary);
    let bad = world.push(
        "pr/bad",
        Some(&first),
        &DEFINITION.replace("uksouth", "[uksouth]"),
    );
    let plan = world.wait(&bad, PLAN, CheckState::Failure);
    assert_eq!(
        plan.annotations.first().map(|annotation| annotation.line),
        Some(7)
    );
    assert_eq!(
        world.check(&bad, SYNC),
        None,
        "a pull request is never applied"
    );
}

#[test]
fn a_fleet_document_names_a_path_a_ref_and_overlays() {
    let mut world = World::new();
    let identity = "  identityRef: {name: cluster-identity}\n";
    let short = DEFINITION.replace(identity, "");
    let overlay = "apiVersion: capstan.dev/v1alpha1\nkind: Overlay\nmetadata: {name: identity}\nspec: {selector: {}, merge: {identityRef: {name: cluster-identity}}}\n";
    let files = |overlay| {
        [
            ("fleet/one.yaml", short.as_str()),
            ("overlays/identity.yaml", overlay),
            ("elsewhere.yaml", "kind: ["),
        ]
    };
    world.push("main", None, "kind: [");
    let first = world.push_files("release", None, &files(overlay));
    world.start_with("ref: {branch: release}, path: fleet, overlays: [overlays]");
    world.wait(&first, "capstan/prod/sync", CheckState::Success);

    // What a pull request does to the overlays counts as well.
    let worse = overlay.replace("identityRef", "identityref");
    let bad = world.push_files("pr/worse", Some(&first), &files(&worse));
    let plan = world.wait(&bad, "capstan/prod/plan", CheckState::Failure);
    assert!(
        plan.summary.contains("overlays/identity.yaml:4:"),
        "{}",
        plan.summary
    );
}

#[test]
fn a_pull_request_is_held_to_its_tenants() {
    let mut world = World::new();
    let file = "fleet/teams/a/one.yaml";
    let first = world.push_files("main", None, &[(file, DEFINITION)]);
    world.start_for("[{path: teams/a, namespaces: [clusters]}]");
    world.wait(&first, "capstan/prod/sync", CheckState::Success);
    let other = DEFINITION.replace("namespace: clusters", "namespace: others");
    let pull = world.push_files("pr/other", Some(&first), &[(file, &other)]);
    let plan = world.wait(&pull, "capstan/prod/plan", CheckState::Failure);
    let annotation = &plan.annotations[0];
    assert_eq!(annotation.path, file);
    let expected = "in the namespace others, which the tenant `teams/a` does not allow";
    assert!(annotation.message.contains(expected), "{plan:#?}");
}

#[test]
fn a_path_that_is_not_in_the_commit_is_named() {
    let mut world = World::new();
    let first = world.push("main", None, DEFINITION);
    world.start_with("path: flete");
    let check = world.wait(&first, "capstan/prod/sync", CheckState::Failure);
    assert!(
        check.summary.contains("no directory \"flete\""),
        "{check:#?}"
    );
    let mended = world.push_files("main", Some(&first), &[("flete/one.yaml", DEFINITION)]);
    world.wait(&mended, "capstan/prod/sync", CheckState::Success);
}

#[test]
fn a_merge_conflict_of_a_pull_request_is_reported_with_its_file() {
    let mut world = World::new();
    let first = world.push("main", None, DEFINITION);
    let second = world.push(
        "main",
        Some(&first),
        &DEFINITION.replace("uksouth", "westeurope"),
    );
    world.start(3000);
    world.wait(&second, SYNC, CheckState::Success);
    let theirs = DEFINITION.replace("uksouth", "northeurope");
    let pull = world.push("pr/late", Some(&first), &theirs);
    let plan = world.wait(&pull, PLAN, CheckState::Failure);
    assert_eq!(plan.title, "merge conflict in 1 file");
    assert!(plan.summary.contains("- clusters/one.yaml"), "{plan:#?}");
}

#[test]
fn a_repository_that_is_away_for_a_while_is_followed_again() {
    let mut world = World::new();
    let first = world.push("main", None, DEFINITION);
    world.start(3000);
    world.wait(&first, SYNC, CheckState::Success);
    let (here, away) = (
        world.author.dir().to_owned(),
        world.dir.path().join("away.git"),
    );
    std::fs::rename(&here, &away).expect("moved away");
    std::thread::sleep(Duration::from_millis(600));
    std::fs::rename(&away, &here).expect("moved back");
    let second = world.push(
        "main",
        Some(&first),
        &format!("{DEFINITION}    replicas: 3\n"),
    );
    world.wait(&second, SYNC, CheckState::Success);
}

#[test]
fn a_refused_push_of_notes_does_not_keep_the_fleet_from_going_on() {
    let mut world = World::new();
    let refused = world.dir.path().join("refused");
    let hook = world.hook(&format!("touch {}\nexit 1", refused.display()));
    let first = world.push("main", None, DEFINITION);
    world.start(3000);
    world.made(&refused);
    assert_eq!(world.check(&first, SYNC), None);
    std::fs::remove_file(&hook).expect("removed");
    // Tried again after a while: by then everything is ready.
    world.wait(&first, SYNC, CheckState::Success);
}

/// Asks the daemon to end. How long that took.
fn stop(world: &mut World) -> Duration {
    let daemon = world.daemon.as_mut().expect("it runs");
    let asked = Command::new("kill")
        .args(["-TERM", &daemon.id().to_string()])
        .status();
    assert!(asked.expect("kill is there").success());
    let start = Instant::now();
    let ended = until(
        || daemon.try_wait().expect("it can be waited for"),
        || "it did not stop".to_owned(),
    );
    assert!(ended.success(), "{ended}");
    start.elapsed()
}

#[test]
fn it_stops_when_asked_to() {
    let mut world = World::new();
    let first = world.push("main", None, DEFINITION);
    world.start(60);
    world.wait(&first, SYNC, CheckState::Pending);
    stop(&mut world);
}

/// The last words get their 5 seconds, and a thread that hangs 2 more.
#[test]
fn a_push_that_hangs_does_not_hold_the_end_up() {
    let mut world = World::new();
    let started = world.dir.path().join("started");
    let file = started.display();
    // It hangs until the test is over.
    world.hook(&format!(
        "touch {file}\nwhile [ -e {file} ]; do sleep 1; done"
    ));
    world.push("main", None, DEFINITION);
    world.start(60);
    world.made(&started);
    let took = stop(&mut world);
    assert!(took >= Duration::from_secs(7), "{took:?}");
}
