//! Fleets of tenants: each acts as an account of its namespace, reports there, and reads nothing of the others.

use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value as Json, json};

use super::fixture::{Fixture, prove_real};
use super::fleets::{CRD, wait_for_kind, wait_in};
use crate::running::Running;
use crate::sources::https::Server;
use crate::sources::repository::{Repository, has};

/// `capstan:s3cret`
const BASIC: &str = "Basic Y2Fwc3RhbjpzM2NyZXQ=";
const RBAC: &str = "rbac.authorization.k8s.io/v1";

/// A repository on a server that wants a password.
pub(super) struct Remote {
    pub(super) repository: Repository,
    pub(super) server: Server,
}

impl Remote {
    pub(super) fn start() -> Self {
        let repository = Repository::new();
        let accepted = repository.git(&["config", "http.receivepack", "true"]);
        accepted.expect("configured");
        let server = Server::start(repository.root());
        server.behave(|it| it.authorization = Some(BASIC.to_owned()));
        Self { repository, server }
    }

    /// The source of a Fleet, with the credential in the Secret `git`.
    pub(super) fn source(&self) -> Json {
        json!({"git": {"url": self.server.url("/fleet.git"), "interval": "1s", "secretRef": {"name": "git"}}})
    }

    /// A Secret with a password for it.
    pub(super) fn secret(&self, namespace: &str, password: &str) -> Json {
        let keys = [
            ("username", b"capstan".as_slice()),
            ("password", password.as_bytes()),
            ("ca.crt", &self.server.authority),
        ];
        let data = keys.map(|(key, value)| (key.to_owned(), json!(STANDARD.encode(value))));
        let data: serde_json::Map<String, Json> = data.into_iter().collect();
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "git", "namespace": namespace}, "data": data})
    }
}

/// A Role of this name in a namespace, bound to an account, as `namespace/name`.
fn grant(fixture: &Fixture, namespace: &str, name: &str, account: (&str, &str), rules: &Json) {
    let metadata = json!({"name": name, "namespace": namespace});
    fixture.put(&json!({"apiVersion": RBAC, "kind": "Role", "metadata": metadata, "rules": rules}));
    fixture.put(
        &json!({"apiVersion": RBAC, "kind": "RoleBinding", "metadata": metadata,
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
        "subjects": [{"kind": "ServiceAccount", "namespace": account.0, "name": account.1}]}),
    );
}

fn rule(group: &str, resource: &str, verbs: &[&str]) -> Json {
    json!({"apiGroups": [group], "resources": [resource], "verbs": verbs})
}

/// The namespace of a tenant, with the rights of the daemon there and of the account `deployer`.
fn tenant(fixture: &Fixture, name: &str) -> String {
    let namespace = format!("{}-{name}", fixture.namespace);
    fixture.put(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}));
    let maps = [
        "get", "list", "watch", "create", "patch", "update", "delete",
    ];
    let mut acts = rule("", "serviceaccounts", &["impersonate"]);
    acts["resourceNames"] = json!(["deployer"]);
    let own = json!([
        rule("capstan.dev", "fleets", &["get", "list", "watch"]),
        rule("capstan.dev", "fleets/status", &["patch"]),
        rule("", "secrets", &["get"]),
        rule("", "configmaps", &maps),
        acts,
    ]);
    grant(
        fixture,
        &namespace,
        "capstan-fleets",
        (&fixture.namespace, "capstan"),
        &own,
    );
    let maps = json!([rule("", "configmaps", &maps)]);
    grant(
        fixture,
        &namespace,
        "deployer",
        (&namespace, "deployer"),
        &maps,
    );
    namespace
}

pub(super) fn put(fixture: &Fixture, namespace: &str, name: &str, spec: &Json) {
    fixture.put(
        &json!({"apiVersion": "capstan.dev/v1alpha1", "kind": "Fleet",
        "metadata": {"name": name, "namespace": namespace}, "spec": spec}),
    );
}

pub(super) fn map(namespace: &str, name: &str) -> String {
    format!(
        "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}, namespace: {namespace}}}}}\n"
    )
}

/// The daemon as its account, which may read and write its own namespace alone, and discover kinds.
fn daemon(fixture: &Fixture, tenants: &[&str]) -> Running {
    let own = json!([
        rule("capstan.dev", "fleets", &["get", "list", "watch"]),
        rule(
            "coordination.k8s.io",
            "leases",
            &["get", "create", "update"]
        ),
    ]);
    let namespace = &fixture.namespace;
    grant(fixture, namespace, "capstan", (namespace, "capstan"), &own);
    let token = fixture.token("capstan");
    let kubeconfig = fixture.kubeconfig_of(&json!({"token": token}));
    let mut command = Command::new(env!("CARGO_BIN_EXE_capstan"));
    command
        .args(["run", "--fleets", "--allow-local-sources", "--aro", "off"])
        .args(tenants.iter().flat_map(|tenant| ["--tenant", tenant]))
        .arg("--kubeconfig")
        .arg(kubeconfig)
        .env("CAPSTAN_NAMESPACE", namespace)
        .env("CAPSTAN_CACHE", fixture.dir.path().join("cache"));
    Running::spawn(command)
}

/// Fleets that no tenant may have: the name, the spec, and the reason and words of the condition Stalled.
fn refused(remote: &Remote) -> [(&'static str, Json, &'static str, &'static str); 5] {
    let local = json!({"git": {"url": remote.repository.path().display().to_string()}});
    let directory = json!({"directory": {"path": "/etc"}});
    let acting = |source: &Json| json!({"source": source, "serviceAccountName": "deployer"});
    let mut file = acting(&directory);
    file["checks"] = json!({"pullRequests": {"enabled": false}});
    let mut rules = acting(&remote.source());
    rules["tenancy"] = json!([{"path": "a"}]);
    let mut admin = acting(&remote.source());
    admin["serviceAccountName"] = json!("admin");
    let nobody = json!({"source": remote.source()});
    [
        ("nobody", nobody, "InvalidSpec", "needs an account"),
        (
            "local",
            acting(&local),
            "InvalidSpec",
            "a path on the daemon's machine",
        ),
        ("directory", file, "InvalidSpec", "may not read"),
        ("rules", rules, "InvalidSpec", "spec.tenancy"),
        ("admin", admin, "Denied", "impersonate"),
    ]
}

#[test]
fn fleets_of_tenants_act_as_their_accounts_and_read_nothing_of_each_other() {
    if !has("git", "git") {
        return;
    }
    prove_real("tenants", |fixture| {
        let definition: Json = serde_yaml::from_str(CRD).expect("YAML");
        fixture.put(&definition);
        wait_for_kind(fixture);
        let (a, b) = (tenant(fixture, "a"), tenant(fixture, "b"));
        let remote = Remote::start();
        let both = [map(&a, "mine"), map(&fixture.namespace, "theirs")].join("---\n");
        let first = remote.repository.push("main", &both);
        fixture.put(&remote.secret(&a, "s3cret"));
        fixture.put(&remote.secret(&b, "guessed"));
        let acting = json!({"source": remote.source(), "serviceAccountName": "deployer"});
        put(fixture, &a, "prod", &acting);
        // The daemon fetched this for another tenant, whose password this one does not know.
        put(fixture, &b, "prod", &acting);
        let refused = refused(&remote);
        for (name, spec, ..) in &refused {
            put(fixture, &b, name, spec);
        }
        let daemon = daemon(fixture, &[&a, &b]);

        let account = format!("system:serviceaccount:{a}:deployer");
        let status = wait_in(fixture, &a, "prod", "Ready", "False", &account);
        assert_eq!(status["attemptedRevision"], json!(first));
        assert_eq!(status["appliedRevision"], Json::Null);
        let has = |namespace: &str, name: &str| {
            fixture.has(&format!("/api/v1/namespaces/{namespace}/configmaps/{name}"))
        };
        assert!(!has(&fixture.namespace, "theirs"));
        let away = ("prod", "SourceNotReady", "cannot authenticate");
        let stalled = refused.iter();
        let stalled = stalled.map(|(name, _, reason, words)| (*name, *reason, *words));
        for (name, reason, words) in stalled.chain([away]) {
            let begins = format!("True {reason}");
            wait_in(fixture, &b, name, "Stalled", &begins, words);
        }

        let second =
            remote
                .repository
                .push_onto("main", Some(&first), &[("one.yaml", &map(&a, "mine"))]);
        let status = wait_in(fixture, &a, "prod", "Ready", "True Succeeded", "");
        assert_eq!(status["readyRevision"], json!(second));
        let note = remote.repository.note(&second).expect("a check");
        assert!(note.contains(&format!("capstan/{a}/prod/sync")), "{note}");
        // With the password, both have a check of their own, and the second refuses to take what belongs to the first.
        fixture.put(&remote.secret(&b, "s3cret"));
        fixture.until("both fleets have a check", || {
            let note = remote.repository.note(&second).unwrap_or_default();
            note.contains(&format!("capstan/{b}/prod/sync"))
        });
        assert!(!has(&b, "mine"));
        let (code, said) = daemon.stop();
        assert_eq!(code, Some(0), "{said}");
    });
}
