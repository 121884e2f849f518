//! The page "Operating" from its first line to its last on a real API server: an installation with tenants, from `install` to `uninstall`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::config::Kubeconfig;
use serde_json::{Value as Json, json};

use super::fixture::{Fixture, prove_real};
use super::fleets::{path_in, wait_in};
use super::installing::{Ended, capstan, run_pods};
use super::tenants::{Remote, map, put};
use crate::patience::until;
use crate::running::Running;
use crate::sources::nameless::{can_play, hand_over, in_pod};

/// Runs the program as the person who operates it, and expects it to work.
fn operates(fixture: &Fixture, arguments: &[&str]) -> Ended {
    let ended = capstan(fixture, arguments);
    assert_eq!(
        ended.code,
        Some(0),
        "{arguments:?}: {}{}",
        ended.data,
        ended.messages
    );
    ended
}

/// The words of a command on both outputs, whatever its exit code; lines are wrapped.
fn words(ended: &Ended) -> String {
    let all = [ended.data.as_str(), ended.messages.as_str()].concat();
    all.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn status(fixture: &Fixture, namespace: &str, fleet: &str) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_capstan"))
        .args(["status", "--name", fleet, "--kubeconfig"])
        .arg(&fixture.kubeconfig)
        .env("CAPSTAN_NAMESPACE", namespace)
        .output()
        .expect("it runs");
    let ended = Ended {
        code: output.status.code(),
        data: String::from_utf8_lossy(&output.stdout).into_owned(),
        messages: String::from_utf8_lossy(&output.stderr).into_owned(),
    };
    (ended.code, words(&ended))
}

/// Waits until the status of a fleet has these words.
fn status_says(fixture: &Fixture, namespace: &str, fleet: &str, code: i32, wanted: &str) {
    let holds = || {
        let (is, said) = status(fixture, namespace, fleet);
        (is == Some(code) && said.contains(wanted)).then_some(())
    };
    until(holds, || format!("{:?}", status(fixture, namespace, fleet)));
}

/// The kubeconfig of the account of the daemon, in one file.
fn account(fixture: &Fixture) -> Json {
    let file = fixture.kubeconfig_of(&json!({"token": fixture.token("capstan")}));
    let config = Kubeconfig::read_from(&file).expect("it is readable");
    let mut json = serde_json::to_value(&config).expect("JSON");
    let cluster = &mut json["clusters"][0]["cluster"];
    let authority = cluster["certificate-authority"].as_str().map(PathBuf::from);
    if let Some(authority) = authority {
        let read = std::fs::read(authority).expect("it is readable");
        cluster["certificate-authority-data"] = json!(STANDARD.encode(read));
        cluster["certificate-authority"] = Json::Null;
    }
    json
}

/// A pod of the Deployment: its command and environment, another user, and a read-only root but for one directory.
fn pod(fixture: &Fixture, dir: &Path, name: &str) -> Running {
    let path = format!(
        "/apis/apps/v1/namespaces/{}/deployments/capstan",
        fixture.namespace
    );
    let live = fixture.must("GET", &path, &Json::Null);
    let container = &live["spec"]["template"]["spec"]["containers"][0];
    for part in ["cache", "tmp"] {
        std::fs::create_dir_all(dir.join(part)).expect("made");
    }
    let program = dir.join("capstan");
    std::fs::copy(env!("CARGO_BIN_EXE_capstan"), &program).expect("copied");
    let kubeconfig = dir.join("kubeconfig");
    std::fs::write(&kubeconfig, account(fixture).to_string()).expect("written");
    hand_over(dir);
    let arguments = container["args"].as_array().expect("a list");
    let arguments = arguments.iter().filter_map(Json::as_str);
    // Both pods have the addresses of this machine.
    let arguments = arguments.map(|argument| match argument.starts_with("--serve=") {
        true => "--serve=127.0.0.1:0",
        false => argument,
    });
    let mut command = in_pod(dir).expect("it was played before");
    command.arg(&program).args(arguments);
    for variable in container["env"].as_array().into_iter().flatten() {
        let name = variable["name"].as_str().expect("a name");
        let value = variable["value"].as_str().unwrap_or_default();
        // The volumes of the pod are below its directory.
        let value = match value.starts_with("/var/cache") {
            true => dir.join("cache").display().to_string(),
            false => value.to_owned(),
        };
        command.env(name, value);
    }
    command
        .env("TMPDIR", dir.join("tmp"))
        .env("HOSTNAME", name)
        .env("KUBECONFIG", kubeconfig);
    Running::spawn(command)
}

/// A daemon with a Fleet document of its own for a fleet that the installation serves.
fn elsewhere(fixture: &Fixture, namespace: &str, url: &str) -> Running {
    let file = fixture.dir.path().join("elsewhere.yaml");
    let fleet = json!({"apiVersion": "capstan.dev/v1alpha1", "kind": "Fleet",
        "metadata": {"name": "prod", "namespace": namespace},
        "spec": {"source": {"git": {"url": url, "interval": "1s", "secretRef": {"name": "git"}}}, "controllers": {"aro": "off"}}});
    std::fs::write(&file, fleet.to_string()).expect("written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_capstan"));
    command
        .arg("run")
        .arg("--config")
        .arg(file)
        .arg("--kubeconfig")
        .arg(&fixture.kubeconfig)
        .env("CAPSTAN_CACHE", fixture.dir.path().join("elsewhere"));
    Running::spawn(command)
}

/// A tenant: a namespace, a repository, and a Fleet.
struct Tenant {
    namespace: String,
    /// The directory of its fleet.
    dir: String,
    remote: Remote,
}

impl Tenant {
    fn install(fixture: &Fixture, name: &str) -> Self {
        let namespace = format!("{}-{name}", fixture.namespace);
        let dir = fixture.dir.path().join(name);
        std::fs::create_dir_all(&dir).expect("made");
        std::fs::write(dir.join("one.yaml"), map(&namespace, "one")).expect("written");
        let dir = dir.to_str().expect("UTF-8").to_owned();
        operates(
            fixture,
            &[
                "install",
                "--apply",
                "--component",
                "tenant",
                "--namespace",
                &namespace,
                "--daemon-namespace",
                &fixture.namespace,
                &dir,
            ],
        );
        let remote = Remote::start();
        fixture.put(&remote.secret(&namespace, "s3cret"));
        Self {
            namespace,
            dir,
            remote,
        }
    }

    fn push(&self, name: &str) -> String {
        self.remote
            .repository
            .push("main", &map(&self.namespace, name))
    }

    fn has(&self, fixture: &Fixture, name: &str) -> bool {
        fixture.has(&format!(
            "/api/v1/namespaces/{}/configmaps/{name}",
            self.namespace
        ))
    }

    fn applied(&self, fixture: &Fixture, revision: &str) {
        wait_in(
            fixture,
            &self.namespace,
            "prod",
            "Applied",
            "True",
            revision,
        );
    }
}

/// Installs the daemon, while somebody plays the controller of Deployments.
fn install_daemon(fixture: &Fixture, tenants: &[&Tenant]) {
    let mut arguments = vec![
        "install",
        "--apply",
        "--timeout",
        "60s",
        "--component",
        "daemon",
        "--aro",
        "off",
    ];
    arguments.extend(
        tenants
            .iter()
            .flat_map(|tenant| ["--tenant", &*tenant.namespace]),
    );
    arguments.extend(["--default-service-account", "deployer"]);
    arguments.extend(tenants.iter().map(|tenant| &*tenant.dir));
    let is_over = AtomicBool::new(false);
    let path = format!(
        "/apis/apps/v1/namespaces/{}/deployments/capstan",
        fixture.namespace
    );
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::SeqCst) {
                if fixture.has(&path) {
                    run_pods(fixture);
                }
                std::thread::sleep(Duration::from_millis(200));
            }
        });
        let ended = capstan(fixture, &arguments);
        is_over.store(true, Ordering::SeqCst);
        assert_eq!(ended.code, Some(0), "{}{}", ended.data, ended.messages);
    });
}

#[test]
fn an_installation_works_as_its_page_says_from_install_to_uninstall() {
    let pods = tempfile::tempdir().expect("a directory");
    if !can_play(pods.path()) {
        return;
    }
    prove_real("operating", |fixture| {
        let (a, b) = (Tenant::install(fixture, "a"), Tenant::install(fixture, "b"));
        install_daemon(fixture, &[&a, &b]);
        let (first, other) = (a.push("one"), b.push("one"));
        put(
            fixture,
            &a.namespace,
            "prod",
            &json!({"source": a.remote.source(), "serviceAccountName": "deployer"}),
        );
        put(
            fixture,
            &b.namespace,
            "prod",
            &json!({"source": b.remote.source()}),
        );
        // What plays the controllers of this server runs no pods.
        let checked = capstan(fixture, &["check", "--aro", "off", &a.dir]);
        let wrong = checked.data.lines().filter(|line| line.starts_with('×'));
        let wrong: Vec<&str> = wrong.collect();
        assert!(
            matches!(wrong.as_slice(), [] | [_])
                && wrong.iter().all(|line| line.contains("Deployment/")),
            "{}",
            checked.data
        );

        let dirs = ["first", "second"].map(|name| {
            let dir = pods.path().join(name);
            std::fs::create_dir(&dir).expect("made");
            dir
        });
        let leader = pod(fixture, &dirs[0], "pod-1");
        a.applied(fixture, &first);
        b.applied(fixture, &other);
        let waiting = pod(fixture, &dirs[1], "pod-2");
        waiting.wait("holds the Lease and applies");
        status_says(fixture, &a.namespace, "prod", 0, "pod-1");

        // The leader is killed.
        let said = leader.words();
        assert!(!said.contains("panicked"), "{said}");
        let second = a.push("two");
        a.applied(fixture, &second);
        status_says(fixture, &a.namespace, "prod", 0, "pod-2");
        assert!(!a.has(fixture, "one"), "it left the fleet");

        // A third daemon has another cache, and another Lease.
        let third = elsewhere(fixture, &b.namespace, &b.remote.server.url("/fleet.git"));
        third.wait("applies this fleet and holds the Lease");
        let pushed = b.push("two");
        b.applied(fixture, &pushed);
        let (code, said) = third.stop();
        assert_eq!(code, Some(0), "{said}");
        assert!(!said.contains("applying"), "{said}");

        // A right is revoked, and given back.
        let binding = format!(
            "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/rolebindings/deployer",
            a.namespace
        );
        let bound = fixture.must("GET", &binding, &Json::Null);
        fixture.must("DELETE", &binding, &json!({}));
        let denied = a.push("three");
        let account = format!("system:serviceaccount:{}:deployer", a.namespace);
        wait_in(fixture, &a.namespace, "prod", "Ready", "False", &account);
        let pushed = b.push("three");
        b.applied(fixture, &pushed);
        fixture.put(&json!({"apiVersion": bound["apiVersion"], "kind": "RoleBinding",
            "metadata": {"name": "deployer", "namespace": a.namespace}, "roleRef": bound["roleRef"], "subjects": bound["subjects"]}));
        a.applied(fixture, &denied);

        // The repository is taken away, and given back.
        a.remote
            .server
            .behave(|it| it.page = Some(("/fleet.git".to_owned(), 503)));
        wait_in(fixture, &a.namespace, "prod", "SourceReady", "False", "");
        status_says(fixture, &a.namespace, "prod", 1, "cannot be read since");
        status_says(fixture, &b.namespace, "prod", 0, "pod-2");
        a.remote.server.behave(|it| it.page = None);
        wait_in(fixture, &a.namespace, "prod", "SourceReady", "True", "");
        status_says(fixture, &a.namespace, "prod", 0, "applied and ready");

        // The fleet gets another name, and nothing is deleted or made again.
        let uid = |name: &str| {
            let path = format!("/api/v1/namespaces/{}/configmaps/{name}", a.namespace);
            fixture.must("GET", &path, &Json::Null)["metadata"]["uid"].clone()
        };
        let before = uid("three");
        fixture.must("DELETE", &path_in(&a.namespace, "prod"), &json!({}));
        waiting.wait("somebody deleted the Fleet");
        let (from, to) = (
            format!("{}/prod", a.namespace),
            format!("{}/renamed", a.namespace),
        );
        let adopt = ["adopt", "--from", &from, "--to", &to];
        let adopted = || (capstan(fixture, &adopt).code == Some(0)).then_some(());
        until(adopted, || words(&capstan(fixture, &adopt)));
        put(
            fixture,
            &a.namespace,
            "renamed",
            &json!({"source": a.remote.source()}),
        );
        wait_in(
            fixture,
            &a.namespace,
            "renamed",
            "Ready",
            "True Succeeded",
            "",
        );
        assert_eq!(uid("three"), before);

        let (code, said) = waiting.stop();
        assert_eq!(code, Some(0), "{said}");
        status_says(
            fixture,
            &b.namespace,
            "prod",
            0,
            "no daemon serves the fleet since",
        );
        operates(fixture, &["uninstall", "--component", "daemon"]);
        let account = format!(
            "/api/v1/namespaces/{}/serviceaccounts/capstan",
            fixture.namespace
        );
        assert!(!fixture.has(&account));
        assert!(a.has(fixture, "three") && b.has(fixture, "three"));
        assert_eq!(uid("three"), before);
    });
}
