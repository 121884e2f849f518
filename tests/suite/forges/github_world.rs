//! A fleet in the repository `o/r` on a GitHub Enterprise Server: git over HTTPS is real, the API is a strict fake.
//! One GitHub App fetches and writes the checks; the daemon's port takes its webhook. The cluster outlives the daemon.

use base64::Engine as _;
use serde_json::{Value, json};

use super::fake::github::{APP, GitHub, KEY};
use super::front::Front;
use super::served::{Served, cluster};
use crate::patience::until;
use crate::servers::anonymous;
use crate::sources::https::Server;
use crate::sources::repository::{Repository, git, has};
use crate::webhooks::{ask, signature};

pub(super) const SYNC: &str = "capstan/prod/sync";
pub(super) const PLAN: &str = "capstan/prod/plan";
/// What the webhook of the app is signed with.
const SECRET: &str = "of the webhook";

pub(super) struct World {
    pub(super) repository: Repository,
    pub(super) github: Front<GitHub>,
    server: Server,
    dir: tempfile::TempDir,
    _cluster: tokio::runtime::Runtime,
}

impl World {
    /// None without git.
    pub(super) fn new() -> Option<Self> {
        if !has("git", "git") {
            return None;
        }
        let repository = Repository::at("o/r.git");
        let path = repository.path().to_owned();
        let knows = move |commit: &str| git(&path, &["cat-file", "-e", commit]).is_ok();
        let github = Front::start(|host| GitHub::enterprise(host, knows));
        let server = Server::start(repository.root());
        let issuer = github.server();
        server.behave(|it| {
            it.accepts = Some(Box::new(move |sent| {
                let token = token_of(sent).unwrap_or_default();
                issuer.lock().expect("no panic").is_valid(&token)
            }));
        });
        let dir = tempfile::tempdir().expect("a directory");
        for name in ["keys", "checks", "hook"] {
            std::fs::create_dir(dir.path().join(name)).expect("made");
        }
        let (cluster, address) = cluster();
        let world = Self {
            dir,
            repository,
            github,
            server,
            _cluster: cluster,
        };
        world.write("kubeconfig", &anonymous(&address));
        let of_git = std::str::from_utf8(&world.server.authority).expect("PEM");
        let authorities = of_git.to_owned() + &world.github.authority;
        let api = format!("{}/api/v3", world.github.url());
        for (key, value) in [
            ("ca.crt", authorities.as_str()),
            ("githubAppID", &APP.to_string()),
            ("githubAppBaseURL", &api),
        ] {
            world.write(&format!("keys/{key}"), value);
            world.write(&format!("checks/{key}"), value);
        }
        world.write("keys/githubAppPrivateKey", KEY);
        world.write("hook/token", SECRET);
        Some(world)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.dir.path().join(name), text).expect("written");
    }

    /// Adds the private key to the credential of [`Self::daemon_without_key`].
    pub(super) fn give_key(&self) {
        self.write("checks/githubAppPrivateKey", KEY);
    }

    /// `https://127.0.0.1:PORT/o/r.git`
    fn url(&self) -> String {
        format!("https://127.0.0.1:{}/o/r.git", self.server.address.port())
    }

    /// A commit on top of `parent` that says this and changes nothing, on a branch of its own.
    pub(super) fn say(&self, parent: &str, message: &str) -> String {
        let git = |arguments: &[&str]| self.repository.git(arguments).expect("done");
        let who = ["-c", "user.name=one", "-c", "user.email=one@example.com"];
        let tree = format!("{parent}^{{tree}}");
        let commit = ["commit-tree", &tree, "-p", parent, "-m", message];
        let commit = git(&[&who[..], &commit].concat());
        git(&["update-ref", &format!("refs/heads/{commit}"), &commit]);
        commit
    }

    /// Makes `main` a commit on top of `parents` with the files of the commit `files`.
    pub(super) fn merge(&self, message: &str, parents: &[&str], files: &str) -> String {
        let git = |arguments: &[&str]| self.repository.git(arguments).expect("done");
        let who = ["-c", "user.name=one", "-c", "user.email=one@example.com"];
        let tree = format!("{files}^{{tree}}");
        let mut commit = [&who[..], &["commit-tree", &tree, "-m", message]].concat();
        parents
            .iter()
            .for_each(|parent| commit.extend(["-p", parent]));
        let commit = git(&commit);
        git(&["update-ref", "refs/heads/main", &commit]);
        commit
    }

    /// Waits until a revision was applied to its end.
    #[track_caller]
    pub(super) fn wait_applied(&self, revision: &str) {
        let found = || has_ref(self.dir.path(), revision).then_some(());
        until(found, || format!("{revision} is not applied"));
    }

    /// Removes all that a daemon keeps on its disk.
    pub(super) fn forget_mirror(&self) {
        std::fs::remove_dir_all(self.dir.path().join("cache")).expect("removed");
    }

    /// Opens a pull request of a commit, or moves its head.
    pub(super) fn pull_request(&self, number: u32, commit: &str) {
        let name = format!("refs/pull/{number}/head");
        let moved = self.repository.git(&["update-ref", &name, commit]);
        moved.expect("it can be moved");
    }

    /// The daemon on the cluster of this world.
    pub(super) fn daemon(&self) -> Served {
        self.daemon_with(&["--kubeconfig", &self.path("kubeconfig")])
    }

    /// The daemon on a cluster of its own, which has the kinds of Cluster API.
    pub(super) fn daemon_with_clusters(&self) -> Served {
        self.daemon_with(&["--embedded", "--speed", "1000"])
    }

    /// The daemon with a credential of the checks that lacks the private key.
    pub(super) fn daemon_without_key(&self) -> Served {
        let cluster = ["--kubeconfig", &self.path("kubeconfig")];
        let checks = ["--checks-credential", &self.path("checks")];
        self.daemon_with(&[cluster, checks].concat())
    }

    fn path(&self, name: &str) -> String {
        self.dir.path().join(name).display().to_string()
    }

    fn daemon_with(&self, more: &[&str]) -> Served {
        let fleet = json!({
            "apiVersion": "capstan.dev/v1alpha1", "kind": "Fleet",
            "metadata": {"name": "prod", "namespace": "fleets"},
            "spec": {"source": {"git": {"url": self.url(), "interval": "1s"}}, "checks": {"provider": "GitHub"}},
        });
        self.write("fleet.yaml", &fleet.to_string());
        let [file, keys, hook] = ["fleet.yaml", "keys", "hook"].map(|name| self.path(name));
        let serve = ["--serve", "127.0.0.1:0", "--webhook-secret", &hook];
        let own = ["--config", &file, "--source-credential", &keys];
        let arguments = [&own[..], &serve, more].concat();
        Served::start(self.dir.path(), &arguments)
    }

    /// The check runs of this name on a commit, the oldest first.
    #[track_caller]
    pub(super) fn runs(&self, commit: &str, name: &str) -> Vec<Value> {
        let is_asked = |run: &&Value| run["head_sha"] == commit && run["name"] == name;
        self.github
            .with(|github| github.runs.iter().filter(is_asked).cloned().collect())
    }

    /// All that was written to check runs of this name on a commit, in order.
    #[track_caller]
    pub(super) fn written(&self, commit: &str, name: &str) -> Vec<Value> {
        let is_asked = |run: &&Value| run["head_sha"] == commit && run["name"] == name;
        self.github
            .with(|github| github.written.iter().filter(is_asked).cloned().collect())
    }

    /// Waits until the newest run of this name on a commit has this status or conclusion.
    #[track_caller]
    pub(super) fn wait(&self, commit: &str, name: &str, state: &str) -> Value {
        let found = || {
            let newest = self.runs(commit, name).pop()?;
            (newest["status"] == state || newest["conclusion"] == state).then_some(newest)
        };
        until(found, || {
            format!(
                "{name} on {commit} is not {state}: {:#?}",
                self.runs(commit, name)
            )
        })
    }
}

/// What people do with a check run, as GitHub tells it to the webhook of the app; returns the answer.
pub(super) fn deliver(served: &Served, action: &str, run: &Value) -> u16 {
    let event = json!({
        "action": action,
        "check_run": run,
        "repository": {"id": 1, "full_name": "o/r", "clone_url": "https://ghe.example/o/r.git"},
        "installation": {"id": 7},
        "sender": {"login": "somebody"},
    });
    let body = event.to_string();
    post(served, &body, &signature(SECRET, &body))
}

/// Somebody presses the first button of a check run, as GitHub tells it to the webhook of the app; returns the answer.
pub(super) fn press(served: &Served, run: &Value, login: &str) -> u16 {
    let event = json!({
        "action": "requested_action",
        "check_run": run,
        "requested_action": {"identifier": run["actions"][0]["identifier"]},
        "repository": {"id": 1, "full_name": "o/r", "clone_url": "https://ghe.example/o/r.git"},
        "installation": {"id": 7},
        "sender": {"login": login, "type": "User"},
    });
    let body = event.to_string();
    post(served, &body, &signature(SECRET, &body))
}

/// Whether a mirror below `dir` retains this revision as applied.
fn has_ref(dir: &std::path::Path, revision: &str) -> bool {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let mut paths = entries.map(|entry| entry.path());
    paths.any(|path| {
        let applied = std::fs::read_to_string(path.join("refs/capstan/applied"));
        applied.is_ok_and(|text| text.trim() == revision)
            || path.is_dir() && has_ref(&path, revision)
    })
}

/// A delivery with this signature.
pub(super) fn post(served: &Served, body: &str, signature: &str) -> u16 {
    let head = format!(
        "POST /webhook/github\nContent-Type: application/json\nX-GitHub-Event: check_run\nX-GitHub-Delivery: 1\nX-Hub-Signature-256: sha256={signature}"
    );
    ask(served.address, &head, body).0
}

/// The password of `Basic`, whose user must be the one for tokens of an app (forges.md §1c).
fn token_of(authorization: &str) -> Option<String> {
    let pair = authorization.strip_prefix("Basic ")?;
    let pair = base64::engine::general_purpose::STANDARD
        .decode(pair)
        .ok()?;
    let pair = String::from_utf8(pair).ok()?;
    pair.strip_prefix("x-access-token:").map(str::to_owned)
}
