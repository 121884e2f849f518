//! A fleet in a repository on Gitea, and the daemon that follows it.

use std::path::{Path, PathBuf};

use http::Method;
use serde_json::{Value, json};

use super::gitea::{Gitea, Status, User, Working};
use crate::patience::until;
use crate::running::Running;
use crate::service_provider::api::write_secrets;

pub(super) const SYNC: &str = "capstan/prod/sync";
pub(super) const PLAN: &str = "capstan/prod/plan";
/// Of the webhook.
const SECRET: &str = "s3cret-of-the-webhook";

/// A ConfigMap of this name, as the only object of the fleet.
pub(super) fn config_map(name: &str) -> String {
    let metadata = format!("{{name: {name}, namespace: default}}");
    format!("{{apiVersion: v1, kind: ConfigMap, metadata: {metadata}}}\n")
}

/// The states of these statuses.
pub(super) fn states(statuses: &[Status]) -> Vec<&str> {
    let states = statuses.iter().map(|status| status.state.as_str());
    states.collect()
}

/// No status is repeated: rule 2 of forges.md §0.
pub(super) fn assert_no_repeats(statuses: &[Status]) {
    let same = |pair: &[Status]| {
        (&pair[0].state, &pair[0].description) == (&pair[1].state, &pair[1].description)
    };
    assert!(!statuses.windows(2).any(same), "{statuses:#?}");
}

/// Where Gitea delivers to.
pub(super) struct Hook {
    address: String,
}

/// A repository with an owner, and the files of the daemon.
pub(super) struct World {
    pub(super) gitea: &'static Gitea,
    pub(super) owner: User,
    /// `owner/fleet`
    pub(super) repository: String,
    pub(super) working: Working,
    /// The commit that `main` begins with.
    pub(super) first: String,
    dir: tempfile::TempDir,
}

impl World {
    /// None without Gitea.
    pub(super) fn new() -> Option<Self> {
        let gitea = Gitea::shared()?;
        let owner = gitea.user("owner");
        let repository = owner.repository(gitea, "fleet");
        let working = Working::new(gitea, &owner, &repository);
        let first = working.commit("main", &[("one.yaml", &config_map("one"))]);
        working.push("main");
        // Gitea takes note of a push a little later. Until then the repository counts as empty, and Gitea answers 404 to
        // whatever is asked of its pull requests (`CanEnablePulls` in its models/repo/repo.go).
        let path = format!("/repos/{repository}");
        let noticed = || (gitea.get(&owner.token, &path)["empty"] == false).then_some(());
        until(noticed, || format!("{repository} stays empty"));
        let world = Self {
            dir: tempfile::tempdir().expect("a directory"),
            gitea,
            owner,
            repository,
            working,
            first,
        };
        for name in ["source", "checks"] {
            std::fs::create_dir(world.dir.path().join(name)).expect("made");
        }
        world.write("source/username", "capstan");
        world.write("source/password", &world.owner.token);
        world.write("source/ca.crt", &gitea.server.authority);
        Some(world)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.dir.path().join(name);
        std::fs::write(&path, text).expect("written");
        path
    }

    /// A commit with this ConfigMap as `one.yaml`, on `branch`, pushed.
    pub(super) fn push(&self, branch: &str, name: &str) -> String {
        let commit = self
            .working
            .commit(branch, &[("one.yaml", &config_map(name))]);
        self.working.push(branch);
        commit
    }

    /// The daemon, with the credential of the source for the checks.
    pub(super) fn daemon(&self) -> Running {
        self.daemon_with("1s", "1000", &[])
    }

    /// The daemon, which looks at the repository at its start and then once an hour: all else it learns by `hook`. The
    /// time of its cluster passes `speed` times faster than outside.
    pub(super) fn hooked(&self, hook: &Hook, speed: &str) -> Running {
        let secret = self.dir.path().join("hook").display().to_string();
        let serve = ["--serve", &hook.address, "--webhook-secret", &secret];
        let daemon = self.daemon_with("1h", speed, &serve);
        daemon.wait("webhooks on http://");
        daemon
    }

    /// A webhook of the repository, as people set it up.
    pub(super) fn hook(&self) -> Hook {
        std::fs::create_dir(self.dir.path().join("hook")).expect("made");
        self.write("hook/token", SECRET);
        // A daemon that starts again listens where the one before did.
        let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = free.local_addr().expect("bound").to_string();
        let config = json!({"url": format!("http://{address}/webhook/gitea"), "content_type": "json",
                            "secret": SECRET});
        let hook = json!({"type": "gitea", "active": true, "config": config,
                          "events": ["push", "create", "delete", "pull_request", "pull_request_comment"]});
        let path = format!("/repos/{}/hooks", self.repository);
        let token = &self.owner.token;
        self.gitea.call(token, &Method::POST, &path, hook);
        Hook { address }
    }

    /// The address of the repository.
    pub(super) fn url(&self) -> String {
        format!("{}/{}.git", self.gitea.server.url(), self.repository)
    }

    /// A pull request of a fork: its number and its head.
    pub(super) fn fork(&self) -> (User, u64, String) {
        let stranger = self.gitea.user("stranger");
        let fork = stranger.fork(self.gitea, &self.repository);
        let theirs = Working::new(self.gitea, &stranger, &fork);
        let url = format!("{}/{fork}.git", self.gitea.server.url());
        theirs.git(&["pull", "-q", &url, "main"]);
        let head = theirs.commit("change", &[("one.yaml", &config_map("theirs"))]);
        theirs.push("change");
        let branch = format!("{}:change", stranger.name);
        let number = stranger.pull_request(self.gitea, &self.repository, &branch);
        (stranger, number, head)
    }

    /// Waits until the repository's own ref of a pull request leads to `head`: Gitea moves it a little after a push.
    pub(super) fn wait_for_head(&self, number: u64, head: &str) {
        let url = self.url();
        let name = format!("refs/pull/{number}/head");
        let listed = || self.working.git(&["ls-remote", &url, &name]);
        let found = || listed().starts_with(head).then_some(());
        until(found, listed);
    }

    /// The daemon, with this token for the checks.
    pub(super) fn daemon_as(&self, token: &str) -> Running {
        self.replace_token(token);
        let directory = self.dir.path().join("checks").display().to_string();
        self.daemon_with("1s", "1000", &["--checks-credential", &directory])
    }

    /// Replaces the token of a running daemon.
    pub(super) fn replace_token(&self, token: &str) {
        self.write("checks/token", token);
    }

    /// The daemon with a service provider that has these settings.
    pub(super) fn provider(&self, settings: &Value) -> Running {
        let secrets = self.dir.path().join("provider");
        std::fs::create_dir(&secrets).expect("made");
        write_secrets(&secrets);
        let mut fleet = self.fleet("1s");
        fleet["spec"]["serviceProvider"] = settings.clone();
        let any = json!({"address": "127.0.0.1:0"});
        fleet["spec"]["serve"] = json!({"address": "127.0.0.1:0", "serviceProvider": any});
        let secrets = secrets.display().to_string();
        self.start(&fleet, "120", &["--service-provider-secrets", &secrets])
    }

    fn daemon_with(&self, interval: &str, speed: &str, more: &[&str]) -> Running {
        self.start(&self.fleet(interval), speed, more)
    }

    /// The document of a fleet that looks at the repository this often.
    fn fleet(&self, interval: &str) -> Value {
        let url = self.url();
        json!({
            "apiVersion": "capstan.dev/v1alpha1", "kind": "Fleet",
            "metadata": {"name": "prod", "namespace": "fleets"},
            "spec": {"source": {"git": {"url": url, "interval": interval}}, "checks": {"provider": "Gitea"}},
        })
    }

    fn start(&self, fleet: &Value, speed: &str, more: &[&str]) -> Running {
        let file = self.write("fleet.yaml", &fleet.to_string());
        let shown = |path: &Path| path.display().to_string();
        let (file, source) = (shown(&file), shown(&self.dir.path().join("source")));
        let own = [
            "--config",
            &file,
            "--source-credential",
            &source,
            "--embedded",
            "--speed",
            speed,
        ];
        Running::start(self.dir.path(), &[&own[..], more].concat())
    }

    /// The statuses of a commit in this context, oldest first.
    pub(super) fn statuses(&self, commit: &str, context: &str) -> Vec<Status> {
        let mut all = self.gitea.statuses(&self.repository, commit);
        all.retain(|status| status.context == context);
        all
    }

    /// Waits until the newest status of a commit in this context is in this state; returns all of the context.
    #[track_caller]
    pub(super) fn wait(&self, commit: &str, context: &str, state: &str) -> Vec<Status> {
        self.wait_after(0, commit, context, state)
    }

    /// The same, once there are more than `before`.
    #[track_caller]
    pub(super) fn wait_after(
        &self,
        before: usize,
        commit: &str,
        context: &str,
        state: &str,
    ) -> Vec<Status> {
        let found = || {
            let all = self.statuses(commit, context);
            let is_there = all.last().is_some_and(|last| last.state == state);
            (is_there && all.len() > before).then_some(all)
        };
        until(found, || {
            format!(
                "{context} on {commit}: {:?}",
                self.gitea.statuses(&self.repository, commit)
            )
        })
    }
}
