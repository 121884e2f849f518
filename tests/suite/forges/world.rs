//! A fleet in a repository on Gitea, and the daemon that follows it.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::gitea::{Gitea, Status, User, Working};
use crate::patience::until;
use crate::running::Running;

pub(super) const SYNC: &str = "capstan/prod/sync";
pub(super) const PLAN: &str = "capstan/prod/plan";

/// A ConfigMap of this name, as the only object of the fleet.
pub(super) fn config_map(name: &str) -> String {
    let metadata = format!("{{name: {name}, namespace: default}}");
    format!("{{apiVersion: v1, kind: ConfigMap, metadata: {metadata}}}\n")
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
        self.daemon_with(&[])
    }

    /// The daemon, with this token for the checks.
    pub(super) fn daemon_as(&self, token: &str) -> Running {
        self.replace_token(token);
        let directory = self.dir.path().join("checks").display().to_string();
        self.daemon_with(&["--checks-credential", &directory])
    }

    /// Replaces the token of a running daemon.
    pub(super) fn replace_token(&self, token: &str) {
        self.write("checks/token", token);
    }

    fn daemon_with(&self, more: &[&str]) -> Running {
        let url = format!("{}/{}.git", self.gitea.server.url(), self.repository);
        let fleet = json!({
            "apiVersion": "capstan.dev/v1alpha1", "kind": "Fleet",
            "metadata": {"name": "prod", "namespace": "fleets"},
            "spec": {"source": {"git": {"url": url, "interval": "1s"}}, "checks": {"provider": "Gitea"}},
        });
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
            "1000",
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
        let found = || {
            let all = self.statuses(commit, context);
            let is_there = all.last().is_some_and(|last| last.state == state);
            is_there.then_some(all)
        };
        until(found, || {
            format!(
                "{context} on {commit}: {:?}",
                self.gitea.statuses(&self.repository, commit)
            )
        })
    }
}
