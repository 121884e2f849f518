//! `capstan check`: what works, what is wrong, and what to do about it.

use serde_json::{Value as Json, json};

use super::fixture::{Fixture, prove, prove_real};
use super::installing::{Ended, capstan, install, run_pods};

/// The checks of an id in the output in JSON: their states and messages.
fn checks(ended: &Ended, id: &str) -> Vec<(String, String)> {
    let json: Json = serde_json::from_str(&ended.data).expect("JSON");
    let all = json["checks"].as_array().expect("a list").iter();
    let text = |value: &Json| value.as_str().expect("text").to_owned();
    let own = all.filter(|check| check["id"] == id);
    own.map(|check| (text(&check["state"]), text(&check["message"])))
        .collect()
}

fn check(fixture: &Fixture, more: &[&str]) -> Ended {
    capstan(fixture, &[&["check", "--output", "json"], more].concat())
}

/// Asserts that a check of this id has this state and these words.
#[track_caller]
fn has(ended: &Ended, id: &str, state: &str, words: &str) {
    let found = checks(ended, id);
    let is_there = |(is, message): &(String, String)| is == state && message.contains(words);
    assert!(
        found.iter().any(is_there),
        "{id} {state} {words}: {}",
        ended.data
    );
}

#[test]
fn what_is_missing_is_named_with_what_to_do() {
    prove("check", |fixture| {
        let before = check(fixture, &["--pre", "--aro", "off"]);
        has(&before, "api-server", "ok", "Kubernetes ");
        if !fixture.is_real {
            // Other tests install on the server that all share.
            has(&before, "installation", "ok", "is not installed yet");
        }
        // The simulator has a time of its own.
        let clock = if fixture.is_real { "ok" } else { "error" };
        has(&before, "clock", clock, "apart");
        let missing = check(fixture, &[]);
        assert_eq!(missing.code, Some(1), "{}", missing.data);
        has(&missing, "deployment", "error", "does not exist");
        if fixture.is_real {
            return;
        }
        has(
            &missing,
            "definitions",
            "error",
            "fleets.capstan.dev does not exist",
        );
        has(&missing, "cluster-api", "error", "does not serve");
        has(&missing, "azure-service-operator", "error", "ResourceGroup");
        let text = capstan(fixture, &["check"]);
        assert!(text.data.contains("× definitions "), "{}", text.data);
        assert!(
            text.data.contains("install Azure Service Operator"),
            "{}",
            text.data
        );
        what_an_installation_lacks(fixture);
    });
}

/// Checks an installation with one Fleet, whose Secret is made and whose servers do not answer.
fn what_an_installation_lacks(fixture: &Fixture) {
    let fleet = json!({"apiVersion": "capstan.dev/v1alpha1", "kind": "Fleet",
        "metadata": {"name": "prod", "namespace": fixture.namespace},
        "spec": {"source": {"git": {"url": "ssh://git@127.0.0.1:1/fleet.git", "secretRef": {"name": "git"}}}}});
    let file = fixture.dir.path().join("fleet.yaml");
    std::fs::write(&file, fleet.to_string()).expect("written");
    // The daemon may read the Secrets of this Fleet.
    let file = file.to_str().expect("UTF-8");
    install(fixture, &["--aro", "off", "--fleet", file]);
    run_pods(fixture);
    fixture.put(&fleet);
    let dir = fixture.dir.path().join("fleet");
    std::fs::create_dir_all(&dir).expect("made");
    let map = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default}}\n";
    std::fs::write(dir.join("a.yaml"), map).expect("written");
    let dir = dir.to_str().expect("UTF-8");
    let flags = ["--aro", "off", dir];
    let absent = check(fixture, &flags);
    assert_eq!(absent.code, Some(1), "{}", absent.data);
    has(&absent, "secrets", "error", "Fleet/");
    let secret = |keys: &Json| {
        fixture.put(
            &json!({"apiVersion": "v1", "kind": "Secret", "stringData": keys,
            "metadata": {"name": "git", "namespace": fixture.namespace}}),
        );
    };
    secret(&json!({"identity": "key"}));
    has(
        &check(fixture, &flags),
        "secrets",
        "error",
        "no key known_hosts",
    );
    let key = "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n";
    secret(&json!({"identity": key, "known_hosts": "hosts"}));
    let whole = check(fixture, &flags);
    assert_eq!(whole.code, Some(1), "the clock: {}", whole.data);
    has(&whole, "secrets", "ok", "usable: 1, of 1 Fleets");
    has(&whole, "sources", "error", "127.0.0.1");
    let mut shown = fleet;
    let web = "https://127.0.0.1:1/o/r";
    shown["spec"]["source"]["git"]["url"] = json!(web);
    shown["spec"]["checks"] = json!({"provider": "Gitea"});
    fixture.put(&shown);
    secret(&json!({"password": "hunter2"}));
    let asked = check(fixture, &flags);
    has(&asked, "sources", "error", web);
    has(&asked, "forges", "error", "127.0.0.1");
    assert!(!asked.data.contains("hunter2"), "{}", asked.data);
    has(&whole, "definitions", "ok", "fleets.capstan.dev");
    has(&whole, "deployment", "ok", "is available");
    // The simulator has no reviews of access.
    assert_eq!(checks(&whole, "rights")[0].0, "warning");
    assert!(
        checks(&whole, "cluster-api").is_empty(),
        "the fleet has no clusters"
    );
}

/// Whoever writes a Fleet names its servers and Secrets. One that the daemon may not read is not sent there by a person who may.
fn refuses_to_hand_out_a_secret(fixture: &Fixture, flags: &[&str]) {
    fixture.put(
        &json!({"apiVersion": "v1", "kind": "Secret", "stringData": {"password": "hunter3"},
        "metadata": {"name": "treasure", "namespace": fixture.namespace}}),
    );
    fixture.put(
        &json!({"apiVersion": "capstan.dev/v1alpha1", "kind": "Fleet",
        "metadata": {"name": "greedy", "namespace": fixture.namespace},
        "spec": {"source": {"git": {"url": "https://127.0.0.1:2/o/r", "secretRef": {"name": "treasure"}}}}}),
    );
    let checked = check(fixture, flags);
    has(&checked, "secrets", "error", "may not read Secret treasure");
    let asked = checks(&checked, "sources");
    let is_sent = |(_, text): &(String, String)| text.contains("127.0.0.1:2");
    assert!(!asked.iter().any(is_sent), "{}", checked.data);
}

/// The simulator has no rights, so this needs the real server.
#[test]
fn each_right_of_the_account_and_of_the_installer_is_asked_for() {
    prove_real("asked", |fixture| {
        // Other tests change the kinds of this server meanwhile.
        fixture.until("it is installed", || {
            install(fixture, &["--aro", "off"]);
            let path = format!(
                "/apis/apps/v1/namespaces/{}/deployments/capstan",
                fixture.namespace
            );
            fixture.has(&path)
        });
        let all = check(fixture, &["--aro", "off"]);
        has(&all, "rights", "ok", "has all ");
        refuses_to_hand_out_a_secret(fixture, &["--aro", "off"]);
        let role = format!(
            "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/roles/capstan",
            fixture.namespace
        );
        let live = fixture.must("GET", &role, &Json::Null);
        let rules = live["rules"].as_array().expect("a list").iter();
        let fewer = rules.filter(|rule| rule["resources"] != json!(["leases"]));
        let fewer: Vec<&Json> = fewer.collect();
        fixture.must("PATCH", &role, &json!({"rules": fewer}));
        fixture.until("the missing right is seen", || {
            let ended = check(fixture, &["--aro", "off"]);
            let found = checks(&ended, "rights");
            found.iter().any(|(state, message)| {
                state == "error"
                    && message.contains(
                        "may not get, create, update leases.coordination.k8s.io in namespace ",
                    )
            })
        });

        let account = fixture.kubeconfig_of(&json!({"token": fixture.token("nobody")}));
        let account = account.to_str().expect("UTF-8");
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_capstan"))
            .args([
                "check",
                "--pre",
                "--aro",
                "off",
                "--output",
                "json",
                "--kubeconfig",
                account,
            ])
            .env("CAPSTAN_NAMESPACE", &fixture.namespace)
            .output()
            .expect("it runs");
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(1), "{said}");
        for words in [
            "you may not create, get, patch ",
            " deployments.apps",
            "you cannot grant ",
        ] {
            assert!(said.contains(words), "{said}");
        }
    });
}
