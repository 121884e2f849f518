//! A fleet in the repository `Platform/repo` on an Azure DevOps Server: git over HTTPS is real, the API is a strict fake.
//! As there, a pull request has no ref but its test merge. The cluster outlives the daemon.

use base64::Engine as _;
use capstan::adapters::kubernetes;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, PostParams};
use serde_json::{Value, json};

use super::fake::azure_devops::{Azure, Pull};
use super::front::Front;
use super::served::{Served, cluster};
use crate::patience::until;
use crate::servers::anonymous;
use crate::sources::https::Server;
use crate::sources::repository::{Repository, git, has};
use crate::webhooks::{FETCHES, ask, metric};

pub(super) const SYNC: &str = "prod/sync";
pub(super) const PLAN: &str = "prod/plan";
/// Where the server has the repository.
const PATH: &str = "tfs/Collection/Platform/_git/repo";
/// The personal access token, and how git and the API send it: as the password of some user, and of none.
pub(super) const TOKEN: &str = "s3cret";
const GIT: &str = "Basic Y2Fwc3RhbjpzM2NyZXQ=";
/// What the webhook authenticates with.
const SECRET: &str = "of:the:webhook";

pub(super) struct World {
    pub(super) repository: Repository,
    pub(super) azure: Front<Azure>,
    server: Server,
    dir: tempfile::TempDir,
    cluster: tokio::runtime::Runtime,
}

impl World {
    /// None without git.
    pub(super) fn new() -> Option<Self> {
        if !has("git", "git") {
            return None;
        }
        let repository = Repository::at(PATH);
        let path = repository.path().to_owned();
        let knows = move |commit: &str| git(&path, &["cat-file", "-e", commit]).is_ok();
        let server = Server::start(repository.root());
        server.behave(|it| it.authorization = Some(GIT.to_owned()));
        let (cluster, address) = cluster();
        let world = Self {
            azure: Front::start(|host| Azure::server(host, knows)),
            dir: tempfile::tempdir().expect("a directory"),
            repository,
            server,
            cluster,
        };
        world.write("kubeconfig", &anonymous(&address));
        let of_git = std::str::from_utf8(&world.server.authority).expect("PEM");
        world.write("source/ca.crt", of_git);
        world.write("source/username", "capstan");
        world.write("source/password", TOKEN);
        world.write("checks/ca.crt", &world.azure.authority);
        world.write("hook/token", SECRET);
        Some(world)
    }

    /// Writes a file of the daemon.
    pub(super) fn write(&self, name: &str, text: &str) {
        let path = self.dir.path().join(name);
        std::fs::create_dir_all(path.parent().expect("it has one")).expect("made");
        std::fs::write(path, text).expect("written");
    }

    /// A commit with this text as `one.yaml` on a branch, which begins at `main`.
    pub(super) fn push(&self, branch: &str, text: &str) -> String {
        let tip = |branch: &str| {
            self.repository
                .git(&["rev-parse", "--verify", "--quiet", branch])
        };
        let parent = tip(branch).or_else(|_| tip("main")).ok();
        self.repository
            .push_onto(branch, parent.as_deref(), &[("one.yaml", text)])
    }

    /// The same of somebody else: no branch leads to it.
    pub(super) fn push_to_fork(&self, text: &str) -> String {
        let commit = self.push("theirs", text);
        let deleted = self
            .repository
            .git(&["update-ref", "-d", "refs/heads/theirs"]);
        deleted.expect("deleted");
        commit
    }

    /// Opens a pull request of a commit, or moves its head: the head is a new iteration, and Azure DevOps merges it unless
    /// there are conflicts.
    pub(super) fn pull_request(&self, number: u64, head: &str) {
        self.azure.with(|azure| {
            let pull = azure.pulls.entry(number).or_insert_with(Pull::default);
            pull.heads.push(head.to_owned());
        });
        let Ok(tree) = self
            .repository
            .git(&["merge-tree", "--write-tree", "main", head])
        else {
            return;
        };
        let who = [
            "-c",
            "user.name=azure",
            "-c",
            "user.email=azure@example.com",
        ];
        let commit = [
            "commit-tree",
            &tree,
            "-p",
            "main",
            "-p",
            head,
            "-m",
            "merge",
        ];
        let merge = self
            .repository
            .git(&[&who[..], &commit].concat())
            .expect("made");
        let name = format!("refs/pull/{number}/merge");
        self.repository
            .git(&["update-ref", &name, &merge])
            .expect("moved");
    }

    /// The daemon, with the token of the checks.
    pub(super) fn daemon(&self) -> Served {
        self.write("checks/token", TOKEN);
        self.daemon_with("1s", &json!({}))
    }

    /// The daemon with what `checks` has of its credential, which looks at the repository so often; `more` is of its spec.
    pub(super) fn daemon_with(&self, interval: &str, more: &Value) -> Served {
        self.fleet(interval, &json!({}), more);
        let credential = ["--checks-credential", &self.path("checks")];
        self.start(&credential)
    }

    /// The daemon, whose credential of the checks is this Secret of the cluster.
    pub(super) fn daemon_with_secret(&self, name: &str) -> Served {
        let named = json!({"secretRef": {"name": name}});
        self.fleet("1s", &named, &json!({}));
        self.start(&[])
    }

    /// Creates a Secret with the credential of the checks.
    pub(super) fn create_secret(&self, name: &str) {
        let access = kubernetes::Access {
            kubeconfig: Some(self.path("kubeconfig").into()),
            context: None,
        };
        let keys = json!({"token": TOKEN, "ca.crt": self.azure.authority});
        let secret = json!({"metadata": {"name": name}, "stringData": keys});
        let secret: Secret = serde_json::from_value(secret).expect("a Secret");
        self.cluster.block_on(async {
            let client = kubernetes::connect(&access).await.expect("connected");
            let secrets: Api<Secret> = Api::namespaced(client, "fleets");
            let created = secrets.create(&PostParams::default(), &secret).await;
            created.expect("it is new");
        });
    }

    /// Writes the Fleet document; `checks` and `more` are further settings.
    fn fleet(&self, interval: &str, checks: &Value, more: &Value) {
        let git = format!("https://127.0.0.1:{}/{PATH}", self.server.address.port());
        let repository = format!("{}/{PATH}", self.azure.url());
        let mut spec = json!({
            "source": {"git": {"url": git, "interval": interval}},
            "checks": {"provider": "AzureDevOps", "repository": repository},
        });
        let add = |to: &mut Value, from: &Value| {
            for (field, value) in from.as_object().expect("an object") {
                to[field] = value.clone();
            }
        };
        add(&mut spec["checks"], checks);
        add(&mut spec, more);
        let fleet = json!({
            "apiVersion": "capstan.dev/v1alpha1", "kind": "Fleet",
            "metadata": {"name": "prod", "namespace": "fleets"}, "spec": spec,
        });
        self.write("fleet.yaml", &fleet.to_string());
    }

    fn path(&self, name: &str) -> String {
        self.dir.path().join(name).display().to_string()
    }

    fn start(&self, more: &[&str]) -> Served {
        let [file, kubeconfig, source, hook] =
            ["fleet.yaml", "kubeconfig", "source", "hook"].map(|name| self.path(name));
        let own = ["--config", &file, "--kubeconfig", &kubeconfig];
        let serve = ["--serve", "127.0.0.1:0", "--webhook-secret", &hook];
        let source = ["--source-credential", &source];
        let arguments = [&own[..], &serve, &source, more].concat();
        Served::start(self.dir.path(), &arguments)
    }

    /// The statuses of this name on a commit, the oldest first.
    #[track_caller]
    pub(super) fn statuses(&self, commit: &str, name: &str) -> Vec<Value> {
        let is_asked = |row: &&Value| row["commit"] == commit && row["context"]["name"] == name;
        self.azure
            .with(|azure| azure.statuses.iter().filter(is_asked).cloned().collect())
    }

    /// Waits until the newest status of this name on a commit has this state.
    #[track_caller]
    pub(super) fn wait(&self, commit: &str, name: &str, state: &str) -> Value {
        let found = || {
            self.statuses(commit, name)
                .pop()
                .filter(|row| row["state"] == state)
        };
        until(found, || {
            format!(
                "{name} on {commit} is not {state}: {:#?}",
                self.statuses(commit, name)
            )
        })
    }

    /// Looks at a pull request.
    #[track_caller]
    pub(super) fn pull<T>(&self, number: u64, look: impl FnOnce(&mut Pull) -> T) -> T {
        self.azure
            .with(|azure| look(azure.pulls.get_mut(&number).expect("it is open")))
    }

    /// Waits until the newest status of a pull request is on this iteration and has this state, and all else is written.
    #[track_caller]
    pub(super) fn wait_for_pull(&self, number: u64, iteration: u64, state: &str) -> Value {
        let found = || {
            let newest = self.pull(number, |pull| pull.statuses.last().cloned())?;
            (newest["iterationId"] == iteration && newest["state"] == state).then_some(newest)
        };
        until(found, || {
            self.pull(number, |pull| {
                format!("{number} is not {state}: {:#?}", pull.statuses)
            })
        })
    }

    /// Waits until a pull request has these states of its threads: of the plan, then of lines.
    #[track_caller]
    pub(super) fn wait_for_threads(&self, number: u64, expected: &[&str]) {
        let found = || {
            let states = |pull: &mut Pull| {
                let states = pull.threads.iter().map(|thread| thread["status"].clone());
                states.collect::<Vec<_>>()
            };
            (self.pull(number, states) == expected).then_some(())
        };
        until(found, || {
            self.pull(number, |pull| {
                format!("{number} is not {expected:?}: {:#?}", pull.threads)
            })
        });
    }

    /// How often a daemon has looked at the repository.
    pub(super) fn fetches(served: &Served) -> u64 {
        metric(served.address, FETCHES)
    }

    /// Azure DevOps tells a webhook that it merged a pull request; returns the answer.
    pub(super) fn deliver(&self, served: &Served, number: u64) -> u16 {
        let url = format!("https://azure.example/{PATH}");
        let body = json!({
            "eventType": "git.pullrequest.merged", "publisherId": "tfs",
            "resource": {"pullRequestId": number, "status": "active", "mergeStatus": "succeeded",
                         "repository": {"id": "guid", "name": "repo", "remoteUrl": url}},
        });
        let pair = base64::engine::general_purpose::STANDARD.encode(format!("capstan:{SECRET}"));
        let head = format!(
            "POST /webhook/azuredevops\nContent-Type: application/json\nAuthorization: Basic {pair}"
        );
        ask(served.address, &head, &body.to_string()).0
    }
}
