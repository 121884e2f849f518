//! The shipped program on a repository behind HTTPS: its credential is in files, or in a Secret of its
//! cluster.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use capstan::adapters::checks;
use capstan::daemon::wall_time;
use capstan::model::CheckState;
use k8s_openapi::api::core::v1::{Namespace, Secret};
use kube::Api;
use kube_sim::SimClock;
use serde_json::json;

use super::https::Server;
use super::repository::{Repository, git, has};
use crate::patience::until;
use crate::running::Running;
use crate::servers::{anonymous, serve};

/// `capstan:s3cret`
const BASIC: &str = "Basic Y2Fwc3RhbjpzM2NyZXQ=";
const FLEET: &str = "{apiVersion: v1, kind: ConfigMap, metadata: {name: it, namespace: default}}\n";

struct World {
    repository: Repository,
    server: Server,
}

impl World {
    fn new() -> Option<Self> {
        if !has("git", "git") {
            return None;
        }
        let repository = Repository::new();
        let receive = ["config", "http.receivepack", "true"];
        repository.git(&receive).expect("configured");
        let server = Server::start(repository.root());
        server.behave(|it| it.authorization = Some(BASIC.to_owned()));
        Some(Self { repository, server })
    }

    /// The daemon with these arguments; its own files are in `dir`.
    fn daemon(&self, dir: &Path, arguments: &[&str]) -> Running {
        Running::start(dir, arguments)
    }

    /// Waits until the sync check of the fleet on this commit is a success.
    fn wait(&self, fleet: &str, commit: &str) {
        let context = format!("capstan/{fleet}/sync");
        let found = || {
            let note = self.repository.note(commit)?;
            let mut all = checks::read(&note).into_iter();
            all.find(|check| check.context == context && check.state == CheckState::Success)
        };
        until(found, || format!("{:?}", self.repository.note(commit)));
    }
}

#[test]
fn a_push_to_a_server_is_applied_and_noted_there() {
    let Some(world) = World::new() else { return };
    let dir = tempfile::tempdir().expect("a directory");
    let keys = dir.path().join("keys");
    std::fs::create_dir(&keys).expect("made");
    let files = [
        ("username", &b"capstan\n"[..]),
        ("password", b"s3cret\n"),
        ("ca.crt", &world.server.authority),
    ];
    for (key, value) in files {
        std::fs::write(keys.join(key), value).expect("written");
    }
    let (url, keys) = (world.server.url("/fleet.git"), keys.display().to_string());
    let first = world.repository.push("main", FLEET);
    let source = [
        "--source",
        &url,
        "--source-credential",
        &keys,
        "--interval",
        "200ms",
    ];
    let daemon = world.daemon(
        dir.path(),
        &[&source[..], &["--embedded", "--speed", "1000"]].concat(),
    );
    world.wait("fleet", &first);
    let second = world
        .repository
        .push("main", &FLEET.replace("name: it", "name: other"));
    world.wait("fleet", &second);
    let words = daemon.words();
    assert!(words.contains(&format!("following {url}")), "{words}");
    assert!(!words.contains("s3cret"), "{words}");
}

/// Oracle row 51: the server names a head, and does not have it any more when it is asked for it.
#[test]
fn a_head_that_is_replaced_during_a_fetch_gets_no_check_and_the_new_one_does() {
    let Some(world) = World::new() else { return };
    let dir = tempfile::tempdir().expect("a directory");
    let keys = dir.path().join("keys");
    std::fs::create_dir(&keys).expect("made");
    std::fs::write(keys.join("ca.crt"), &world.server.authority).expect("written");
    world.server.behave(|it| it.authorization = None);
    let (repository, branch) = (&world.repository, "refs/heads/pr/1");
    let first = repository.push("main", FLEET);
    let change = |name: &str| {
        let start = ["update-ref", branch, &first];
        repository.git(&start).expect("at the first");
        repository.push("pr/1", &FLEET.replace("name: it", name))
    };
    let (old, new) = (change("name: old"), change("name: new"));
    let lead = ["update-ref", "-d", branch];
    repository.git(&lead).expect("deleted");
    let (url, keys) = (world.server.url("/fleet.git"), keys.display().to_string());
    let source = ["--source", &url, "--source-credential", &keys];
    let speed = ["--interval", "1s", "--embedded", "--speed", "1000"];
    let daemon = world.daemon(dir.path(), &[&source[..], &speed].concat());
    world.wait("fleet", &first);
    let (path, head) = (repository.path().to_owned(), new.clone());
    world.server.behave(|it| {
        it.before_post = Some(Box::new(move || {
            git(&path, &["update-ref", branch, &head]).expect("replaced");
        }));
    });
    let lead = ["update-ref", branch, &old];
    repository.git(&lead).expect("written");
    let planned = || {
        let mut all = checks::read(&repository.note(&new)?).into_iter();
        all.find(|check| check.state == CheckState::Success)
    };
    let check = until(planned, || format!("{:?}", repository.note(&new)));
    assert_eq!(check.context, "capstan/fleet/plan");
    assert_eq!(repository.note(&old), None);
    let words = daemon.words();
    assert!(words.contains("not our ref"), "{words}");
}

#[test]
fn a_branch_that_never_arrives_holds_nothing_up() {
    let Some(world) = World::new() else { return };
    let dir = tempfile::tempdir().expect("a directory");
    let keys = dir.path().join("keys");
    std::fs::create_dir(&keys).expect("made");
    std::fs::write(keys.join("ca.crt"), &world.server.authority).expect("written");
    world.server.behave(|it| it.authorization = None);
    let repository = &world.repository;
    let first = repository.push("main", FLEET);
    let (url, keys) = (world.server.url("/fleet.git"), keys.display().to_string());
    let source = ["--source", &url, "--source-credential", &keys];
    let speed = ["--interval", "200ms", "--embedded", "--speed", "1000"];
    let _daemon = world.daemon(dir.path(), &[&source[..], &speed].concat());
    world.wait("fleet", &first);
    let start = ["update-ref", "refs/heads/draft", &first];
    repository.git(&start).expect("written");
    let huge = FLEET.replace("name: it", "name: huge");
    // Nobody hears of it before it is withheld.
    let hidden = ["config", "transfer.hideRefs", "refs/heads/draft"];
    repository.git(&hidden).expect("configured");
    let huge = repository.push("draft", &huge);
    world.server.behave(|it| it.withheld = Some(huge.clone()));
    let shown = ["config", "--unset", "transfer.hideRefs"];
    repository.git(&shown).expect("configured");
    let start = Instant::now();
    for name in ["name: second", "name: third"] {
        let next = repository.push("main", &FLEET.replace("name: it", name));
        world.wait("fleet", &next);
    }
    // A server that says nothing is given up after a minute.
    let waited = start.elapsed();
    assert!(waited < Duration::from_secs(45), "{waited:?}");
    world.server.behave(|it| it.withheld = None);
    let branch = ["update-ref", "refs/heads/pr/1", &huge];
    repository.git(&branch).expect("written");
    let planned = || {
        let mut all = checks::read(&repository.note(&huge)?).into_iter();
        all.find(|check| check.state == CheckState::Failure)
    };
    let check = until(planned, || format!("{:?}", repository.note(&huge)));
    assert_eq!(check.title, "merge conflict in 1 file");
}

#[test]
fn the_credential_may_be_a_secret_of_the_cluster() {
    let Some(world) = World::new() else { return };
    let commit = world.repository.push("main", FLEET);
    let dir = tempfile::tempdir().expect("a directory");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let simulator = kube_sim::Server::new(Arc::new(SimClock::new(wall_time(), 1)));
    let kubeconfig = dir.path().join("kubeconfig");
    let address = runtime.block_on(serve(simulator));
    std::fs::write(&kubeconfig, anonymous(&address)).expect("written");
    let fleet = json!({
        "apiVersion": "capstan.dev/v1alpha1", "kind": "Fleet",
        "metadata": {"name": "prod", "namespace": "fleets"},
        "spec": {"source": {"git": {"url": world.server.url("/fleet.git"), "interval": "1s",
                                    "secretRef": {"name": "git"}}}},
    });
    let file = dir.path().join("fleet.yaml");
    std::fs::write(&file, fleet.to_string()).expect("written");
    let [file, kubeconfig] = [&file, &kubeconfig].map(|path| path.display().to_string());
    let daemon = world.daemon(
        dir.path(),
        &["--config", &file, "--kubeconfig", &kubeconfig],
    );

    runtime.block_on(hold(&kubeconfig, &world.server.authority));
    world.wait("prod", &commit);
    let words = daemon.words();
    assert!(!words.contains("s3cret"), "{words}");
}

/// Makes the namespace of the fleet and its Secret.
async fn hold(kubeconfig: &str, authority: &[u8]) {
    let access = capstan::adapters::kubernetes::Access {
        kubeconfig: Some(kubeconfig.into()),
        context: None,
    };
    let client = capstan::adapters::kubernetes::connect(&access)
        .await
        .expect("connected");
    let namespace = json!({"metadata": {"name": "fleets"}});
    let namespace: Namespace = serde_json::from_value(namespace).expect("a Namespace");
    let all: Api<Namespace> = Api::all(client.clone());
    all.create(&Default::default(), &namespace)
        .await
        .expect("it is new");
    let authority = std::str::from_utf8(authority).expect("PEM");
    let secret = json!({"metadata": {"name": "git"},
        "stringData": {"username": "capstan", "password": "s3cret", "ca.crt": authority}});
    let secret: Secret = serde_json::from_value(secret).expect("a Secret");
    let secrets: Api<Secret> = Api::namespaced(client, "fleets");
    secrets
        .create(&Default::default(), &secret)
        .await
        .expect("it is new");
}
