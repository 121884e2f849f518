//! The page "Operating" from its first line to its last on a real API server: an installation with tenants, from `install` to `uninstall`.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::config::Kubeconfig;
use serde_json::{Value as Json, json};

use super::audit::no_right_is_unneeded;
use super::fixture::Fixture;
use super::fleets::{path_in, wait_in};
use super::hooked::{address, deliver, secret};
use super::installing::{self, Ended, capstan, run_pods};
use super::platform::Platform;
use super::rights::{GRANT, logged};
use super::tenants::{Remote, map, put};
use super::writers::{elsewhere, one_line};
use crate::kubernetes::Kubernetes;
use crate::patience::until;
use crate::running::Running;
use crate::sources::nameless::{can_play, hand_over, in_pod};

/// Rights that are granted and that the operation of an installation does not use, with the reason.
const UNUSED: [(&str, &str); 6] = [
    (
        "capstan: delete aromachinepools.infrastructure.cluster.x-k8s.io",
        "only a node pool that has no MachinePool is deleted alone",
    ),
    (
        "capstan: get hcpopenshiftclusters.redhatopenshift.azure.com",
        "only a cluster that Azure failed to create is looked at",
    ),
    (
        "capstan: list customresourcedefinitions.apiextensions.k8s.io",
        "they are watched once a kind of a fleet is not served",
    ),
    (
        "capstan: watch customresourcedefinitions.apiextensions.k8s.io",
        "the same",
    ),
    (
        "capstan: list hcpopenshiftclustersexternalauths.redhatopenshift.azure.com",
        "the cluster has no external authentication",
    ),
    (
        "capstan: watch hcpopenshiftclustersexternalauths.redhatopenshift.azure.com",
        "the same",
    ),
];

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

/// A tenant: a namespace, a repository, and the Fleet `prod`.
struct Tenant<'a> {
    fixture: &'a Fixture,
    namespace: String,
    /// The directory of its fleet.
    dir: String,
    remote: Remote,
}

impl<'a> Tenant<'a> {
    fn install(fixture: &'a Fixture, name: &str) -> Self {
        let namespace = format!("{}-{name}", fixture.namespace);
        let dir = fixture.dir.path().join(name);
        std::fs::create_dir_all(&dir).expect("made");
        std::fs::write(dir.join("one.yaml"), map(&namespace, "one")).expect("written");
        let dir = dir.to_str().expect("UTF-8").to_owned();
        let remote = Remote::start();
        let tenant = Self {
            fixture,
            namespace,
            dir,
            remote,
        };
        operates(
            fixture,
            &[&["install", "--apply"], &tenant.flags()[..]].concat(),
        );
        fixture.put(&tenant.remote.secret(&tenant.namespace, "s3cret"));
        tenant
    }

    /// The flags with which it is installed.
    fn flags(&self) -> [&str; 7] {
        let (own, daemon) = (&*self.namespace, &*self.fixture.namespace);
        [
            "--component",
            "tenant",
            "--namespace",
            own,
            "--daemon-namespace",
            daemon,
            &self.dir,
        ]
    }

    fn push(&self, name: &str) -> String {
        let text = map(&self.namespace, name);
        self.remote.repository.push("main", &text)
    }

    fn put(&self, name: &str) {
        self.fixture
            .put(&secret(&self.namespace, "webhook", "s3cret"));
        let checks = json!({"webhookSecretRef": {"name": "webhook"}});
        let spec = json!({"source": self.remote.source(), "checks": checks});
        put(self.fixture, &self.namespace, name, &spec);
    }

    /// Waits until a condition of the Fleet begins like this, and has these words.
    fn wait(&self, condition: &str, begins: &str, words: &str) {
        let (fixture, namespace) = (self.fixture, &self.namespace);
        wait_in(fixture, namespace, "prod", condition, begins, words);
    }

    /// Pushes a revision, and waits until it is applied.
    fn moves_on(&self, name: &str) {
        let revision = self.push(name);
        self.wait("Applied", "True", &revision);
    }

    /// Waits until `capstan status` ends with this code and has these words.
    fn status_says(&self, code: i32, wanted: &str) {
        let status = || {
            let arguments = ["status", "--name", "prod"];
            let (code, said) = self.fixture.asked_in(&self.namespace, &arguments);
            (code, one_line(&said))
        };
        let holds = || {
            let (is, said) = status();
            (is == Some(code) && said.contains(wanted)).then_some(())
        };
        until(holds, || format!("{:?}", status()));
    }

    /// The uid of a ConfigMap; null if it does not exist.
    fn uid(&self, name: &str) -> Json {
        let path = format!("/api/v1/namespaces/{}/configmaps/{name}", self.namespace);
        self.fixture.ask("GET", &path, &Json::Null).1["metadata"]["uid"].clone()
    }
}

/// Installs the daemon, while somebody plays the controller of Deployments.
fn install_daemon(fixture: &Fixture, flags: &[&str]) {
    let prepare = ["install", "--apply", "--timeout", "60s"];
    let arguments = [&prepare[..], flags].concat();
    let is_over = AtomicBool::new(false);
    let namespace = &fixture.namespace;
    let path = format!("/apis/apps/v1/namespaces/{namespace}/deployments/capstan");
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

/// What plays the controllers of this server runs no pods, and that is all that is wrong.
fn check(fixture: &Fixture, flags: &[&str]) {
    let checked = capstan(fixture, &[&["check"], flags].concat());
    let wrong = checked.data.lines().filter(|line| line.starts_with('×'));
    let wrong: Vec<&str> = wrong.collect();
    let is_sound = wrong.len() <= 1 && wrong.iter().all(|line| line.contains("Deployment/"));
    assert!(is_sound, "{}", checked.data);
    let mut lines = checked.data.lines();
    let answers =
        |line: &str| line.starts_with("√ sources") && line.ends_with("answer: 3, of 3 Fleets");
    assert!(lines.any(answers), "{}", checked.data);
}

/// A webhook at the pod that waits is passed on.
fn hear_a_webhook(a: &Tenant<'_>, b: &Tenant<'_>, waiting: &Running) {
    let (here, path) = (address(waiting), format!("/{}/prod", a.namespace));
    let is_heard = || deliver(here, &path, "s3cret") == 200;
    a.fixture.until("the pod takes webhooks", is_heard);
    let annotation = |tenant: &Tenant<'_>| {
        let path = path_in(&tenant.namespace, "prod");
        let fleet = tenant.fixture.must("GET", &path, &Json::Null);
        fleet["metadata"]["annotations"]["capstan.dev/webhook-received"].clone()
    };
    let is_passed_on = || annotation(a).is_string();
    a.fixture.until("it is passed on", is_passed_on);
    assert_eq!(annotation(b), Json::Null);
}

/// Kills the pod that applies. The other goes on.
fn lose_the_leader(leader: Running, a: &Tenant<'_>) {
    a.status_says(0, "pod-1");
    let said = leader.words();
    assert!(!said.contains("panicked"), "{said}");
    a.moves_on("two");
    a.status_says(0, "pod-2");
    assert_eq!(a.uid("one"), Json::Null, "it left the fleet");
}

/// A third daemon, with another cache and another Lease, does nothing.
fn run_a_third(b: &Tenant<'_>) {
    let third = elsewhere(b.fixture, &b.namespace, &b.remote.source());
    third.wait("applies this fleet and holds the Lease");
    b.moves_on("two");
    let (code, said) = third.stop();
    assert_eq!(code, Some(0), "{said}");
    assert!(!said.contains("applying"), "{said}");
}

/// The rights of one account are revoked, and given back as the daemon logs them. The other fleet goes on.
fn revoke_rights(a: &Tenant<'_>, b: &Tenant<'_>, daemon: &Running) {
    let (fixture, namespace) = (a.fixture, &a.namespace);
    let path =
        format!("/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/rolebindings/deployer");
    fixture.must("DELETE", &path, &json!({}));
    let denied = a.push("three");
    let account = format!("system:serviceaccount:{namespace}:deployer");
    a.wait("Ready", "False", &account);
    b.moves_on("three");
    daemon.wait(GRANT);
    for object in logged(&daemon.said()) {
        assert_eq!(object["metadata"]["namespace"], **namespace);
        fixture.put(&object);
    }
    a.wait("Applied", "True", &denied);
}

/// The repository of one fleet is taken away, and given back.
fn lose_the_repository(a: &Tenant<'_>, b: &Tenant<'_>) {
    let server = &a.remote.server;
    server.behave(|it| it.page = Some(("/fleet.git".to_owned(), 503)));
    a.wait("SourceReady", "False", "");
    a.status_says(1, "cannot be read since");
    b.status_says(0, "pod-2");
    server.behave(|it| it.page = None);
    a.wait("SourceReady", "True", "");
    a.status_says(0, "applied and ready");
}

/// The fleet gets another name, and nothing is deleted or made again.
fn rename(a: &Tenant<'_>, daemon: &Running) {
    let (fixture, namespace) = (a.fixture, &a.namespace);
    let before = a.uid("three");
    fixture.must("DELETE", &path_in(namespace, "prod"), &json!({}));
    daemon.wait("somebody deleted the Fleet");
    let (from, to) = (format!("{namespace}/prod"), format!("{namespace}/renamed"));
    let adopt = ["adopt", "--from", &from, "--to", &to];
    let adopted = || (fixture.asked(&adopt).0 == Some(0)).then_some(());
    until(adopted, || fixture.asked(&adopt).1);
    a.put("renamed");
    wait_in(fixture, namespace, "renamed", "Ready", "True Succeeded", "");
    assert_eq!(a.uid("three"), before);
}

/// A Fleet of another branch is deleted, and its object with it.
fn delete_with_its_object(tenant: &Tenant<'_>) {
    let (fixture, namespace) = (tenant.fixture, &tenant.namespace);
    let text = map(namespace, "passing");
    tenant.remote.repository.push("passing", &text);
    let mut source = tenant.remote.source();
    source["git"]["ref"] = json!({"branch": "passing"});
    let spec = json!({"source": source, "deletionPolicy": "Delete"});
    put(fixture, namespace, "passing", &spec);
    wait_in(fixture, namespace, "passing", "Applied", "True", "");
    let fleet = path_in(namespace, "passing");
    fixture.must("DELETE", &fleet, &json!({}));
    fixture.until("the Fleet is gone", || !fixture.has(&fleet));
    assert_eq!(tenant.uid("passing"), Json::Null);
}

/// The objects of the daemon and of each tenant, as `install` prints them.
fn printed(fixture: &Fixture, daemon: &[&str], tenants: &[&Tenant<'_>]) -> Vec<Json> {
    let mut objects = installing::printed(fixture, daemon);
    for tenant in tenants {
        objects.extend(installing::printed(fixture, &tenant.flags()));
    }
    objects
}

#[test]
fn an_installation_works_as_its_page_says_from_install_to_uninstall() {
    let pods = tempfile::tempdir().expect("a directory");
    if !can_play(pods.path()) {
        return;
    }
    let log = pods.path().join("audit.log");
    let Some(server) = Kubernetes::audited(&log) else {
        return;
    };
    let fixture = &Fixture::real("operating", &server);
    let platform = Platform::start(fixture);
    let (a, b) = (Tenant::install(fixture, "a"), Tenant::install(fixture, "b"));
    let flags = [
        "--aro",
        "off",
        "--fleet",
        &platform.file,
        &platform.dir,
        "--tenant",
        &a.namespace,
        "--tenant",
        &b.namespace,
        "--default-service-account",
        "deployer",
    ];
    let objects = printed(fixture, &flags, &[&a, &b]);
    install_daemon(fixture, &flags);
    a.put("prod");
    b.put("prod");
    let leader = pod(fixture, &pods.path().join("1"), "pod-1");
    a.moves_on("one");
    b.moves_on("one");
    platform.comes_up();
    check(fixture, &flags);
    let other = pod(fixture, &pods.path().join("2"), "pod-2");
    other.wait("holds the Lease and applies");

    hear_a_webhook(&a, &b, &other);
    lose_the_leader(leader, &a);
    run_a_third(&b);
    revoke_rights(&a, &b, &other);
    lose_the_repository(&a, &b);
    rename(&a, &other);
    delete_with_its_object(&a);
    delete_with_its_object(&b);
    platform.goes();

    let (code, said) = other.stop();
    assert_eq!(code, Some(0), "{said}");
    b.status_says(0, "no daemon serves the fleet since");
    no_right_is_unneeded(&objects, &log, &UNUSED);
    let before = (a.uid("three"), b.uid("three"));
    operates(fixture, &["uninstall", "--component", "daemon"]);
    assert!(!fixture.has(&fixture.path("serviceaccounts/capstan")));
    assert!(before.0.is_string() && before.1.is_string());
    assert_eq!((a.uid("three"), b.uid("three")), before);
}
