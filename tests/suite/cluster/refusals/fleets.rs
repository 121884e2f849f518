//! Fleet objects, several in one process: each is followed, reports in its status, and costs only itself.

use std::process::Command;

use serde::Deserialize as _;
use serde_json::{Value as Json, json};

use super::fixture::{Fixture, prove, prove_real};
use crate::daemon::World;
use crate::patience::until;
use crate::running::Running;

pub(super) const CRD: &str = include_str!("../../../../crds/fleets.capstan.dev.yaml");

/// The path of a Fleet.
pub(super) fn path(fixture: &Fixture, name: &str) -> String {
    path_in(&fixture.namespace, name)
}

pub(super) fn path_in(namespace: &str, name: &str) -> String {
    format!("/apis/capstan.dev/v1alpha1/namespaces/{namespace}/fleets/{name}")
}

/// Makes a Fleet with this source, and these settings besides.
pub(super) fn put(fixture: &Fixture, name: &str, git: &Json, more: &Json) {
    let mut spec = json!({"source": {"git": git}});
    for (key, value) in more.as_object().into_iter().flatten() {
        spec[key] = value.clone();
    }
    fixture.put(
        &json!({"apiVersion": "capstan.dev/v1alpha1", "kind": "Fleet",
        "metadata": {"name": name, "namespace": fixture.namespace}, "spec": spec}),
    );
}

/// The status of a Fleet, and a condition of it: its status, reason and message.
fn seen(fixture: &Fixture, name: &str, condition: &str) -> (Json, String) {
    seen_in(fixture, &fixture.namespace, name, condition)
}

fn seen_in(fixture: &Fixture, namespace: &str, name: &str, condition: &str) -> (Json, String) {
    let fleet = fixture.must("GET", &path_in(namespace, name), &Json::Null);
    let conditions = fleet["status"]["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    let found = conditions.find(|one| one["type"] == condition);
    let found = found.cloned().unwrap_or_default();
    let text = |key: &str| found[key].as_str().unwrap_or_default().to_owned();
    let shown = [text("status"), text("reason"), text("message")].join(" ");
    (fleet["status"].clone(), shown)
}

/// Waits until a condition of a Fleet begins like this, and has these words; returns the status.
pub(super) fn wait(
    fixture: &Fixture,
    name: &str,
    condition: &str,
    begins: &str,
    words: &str,
) -> Json {
    wait_in(fixture, &fixture.namespace, name, condition, begins, words)
}

/// The same of a Fleet in another namespace.
pub(super) fn wait_in(
    fixture: &Fixture,
    namespace: &str,
    name: &str,
    condition: &str,
    begins: &str,
    words: &str,
) -> Json {
    let holds = || {
        let (status, shown) = seen_in(fixture, namespace, name, condition);
        (shown.starts_with(begins) && shown.contains(words)).then_some(status)
    };
    until(holds, || {
        let (status, shown) = seen_in(fixture, namespace, name, condition);
        format!("{namespace}/{name}: {condition} is {shown}: {status:#}")
    })
}

pub(super) fn map(fixture: &Fixture, name: &str) -> String {
    let namespace = &fixture.namespace;
    format!(
        "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}, namespace: {namespace}}}}}\n"
    )
}

/// Installs the kind.
pub(super) fn install(fixture: &Fixture) {
    let definition: Json = serde_yaml::from_str(CRD).expect("YAML");
    fixture.put(&definition);
    wait_for_kind(fixture);
}

pub(super) fn wait_for_kind(fixture: &Fixture) {
    let served = path(fixture, "");
    fixture.until("the kind is served", || {
        fixture.ask("GET", &served, &Json::Null).0 == 200
    });
}

pub(super) fn git(world: &World) -> Json {
    json!({"url": world.source(), "interval": "1s"})
}

pub(super) fn command(fixture: &Fixture) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_capstan"));
    command
        .args([
            "run",
            "--fleets",
            "--allow-local-sources",
            "--aro",
            "off",
            "--kubeconfig",
        ])
        .arg(&fixture.kubeconfig)
        .env("CAPSTAN_NAMESPACE", &fixture.namespace)
        .env("CAPSTAN_CACHE", fixture.dir.path().join("cache"));
    command
}

pub(super) fn daemon(fixture: &Fixture) -> Running {
    Running::spawn(command(fixture))
}

/// Fleets that cannot be used: without its branch, of a strange URL, with settings of the process, and without its Secret.
fn put_unusable(fixture: &Fixture, whole: &World, empty: &World) {
    let mut lost = git(empty);
    lost["ref"] = json!({"branch": "nothing"});
    put(fixture, "lost", &lost, &json!({}));
    put(
        fixture,
        "foreign",
        &json!({"url": "gopher://x/y"}),
        &json!({}),
    );
    put(
        fixture,
        "own",
        &git(whole),
        &json!({"controllers": {"aro": "off"}}),
    );
    put(
        fixture,
        "away",
        &git(whole),
        &json!({"cluster": {"kubeconfigSecretRef": {"name": "absent"}}}),
    );
}

#[test]
fn each_fleet_object_is_followed_and_reports_and_costs_only_itself() {
    prove("fleets", |fixture| {
        install(fixture);
        let [one, two, third] = [(); 3].map(|()| World::on(None));
        third.push("main", None, &map(fixture, "third"));
        let first = one.push("main", None, &map(fixture, "one"));
        let other = two.push("main", None, &map(fixture, "two"));
        put(fixture, "one", &git(&one), &json!({}));
        put(fixture, "two", &git(&two), &json!({}));
        put_unusable(fixture, &two, &third);
        let daemon = daemon(fixture);

        let status = wait(fixture, "one", "Ready", "True Succeeded", "1/1 ready");
        assert_eq!(status["appliedRevision"], json!(first));
        assert_eq!(status["attemptedRevision"], json!(first));
        assert_eq!(status["readyRevision"], json!(first));
        assert_eq!(status["observedGeneration"], json!(1));
        assert_eq!(
            status["objects"],
            json!({"total": 1, "ready": 1, "failed": 0})
        );
        let status = wait(fixture, "two", "Ready", "True Succeeded", "");
        assert_eq!(status["appliedRevision"], json!(other));
        for (name, reason, words) in [
            ("lost", "SourceNotReady", "nothing"),
            ("foreign", "InvalidSpec", "gopher"),
            ("own", "InvalidSpec", "remove it, and set --aro"),
            (
                "away",
                "ClusterNotReady",
                "correct spec.cluster.kubeconfigSecretRef",
            ),
        ] {
            wait(fixture, name, "Stalled", &format!("True {reason}"), words);
        }

        let succeeded =
            format!("Normal Succeeded: revision {first} is applied, and everything is ready");
        fixture.until("the Events are written", || {
            let told = [events(fixture, "one"), events(fixture, "foreign")];
            told[0].last() == Some(&succeeded) && !told[1].is_empty()
        });
        let (code, said) = daemon.stop();
        assert_eq!(code, Some(0), "{said}");
        assert!(!said.contains("panicked"), "{said}");
        let told = events(fixture, "one");
        let foreign = events(fixture, "foreign");
        assert_eq!(foreign.len(), 1, "{foreign:?}");
        assert!(
            foreign[0].starts_with("Warning InvalidSpec: "),
            "{foreign:?}"
        );
        what_people_see_of_stalled_and_suspended_fleets(fixture);

        // Another process says nothing again.
        let next = self::daemon(fixture);
        next.wait("applying");
        wait(fixture, "one", "Ready", "True Succeeded", "1/1 ready");
        let (code, said) = next.stop();
        assert_eq!(code, Some(0), "{said}");
        assert_eq!(events(fixture, "one"), told);
        assert_eq!(events(fixture, "foreign"), foreign);
    });
}

/// The Events about a Fleet, in order: `Normal Succeeded: note`.
fn events(fixture: &Fixture, name: &str) -> Vec<String> {
    let path = format!(
        "/apis/events.k8s.io/v1/namespaces/{}/events",
        fixture.namespace
    );
    let listed = fixture.must("GET", &path, &Json::Null);
    let mut events: Vec<&Json> = listed["items"].as_array().into_iter().flatten().collect();
    events.retain(|one| one["regarding"]["kind"] == "Fleet" && one["regarding"]["name"] == name);
    events.sort_by_key(|one| one["eventTime"].as_str());
    let text = |one: &Json, key: &str| one[key].as_str().unwrap_or_default().to_owned();
    let shown = events.iter().map(|one| {
        format!(
            "{} {}: {}",
            text(one, "type"),
            text(one, "reason"),
            text(one, "note")
        )
    });
    shown.collect()
}

/// The exit code of a command about a Fleet, and what it prints on both streams.
fn told(fixture: &Fixture, command: &str, name: &str) -> (Option<i32>, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_capstan"))
        .args([command, "--name", name, "--kubeconfig"])
        .arg(&fixture.kubeconfig)
        .env("CAPSTAN_NAMESPACE", &fixture.namespace)
        .output()
        .expect("it runs");
    let text = [output.stdout, output.stderr].concat();
    let words = String::from_utf8_lossy(&text)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    (output.status.code(), words)
}

/// `foreign` is stalled from its birth, and `one` is applied.
fn what_people_see_of_stalled_and_suspended_fleets(fixture: &Fixture) {
    let (code, text) = told(fixture, "status", "foreign");
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("Fleet is stalled: InvalidSpec: "), "{text}");
    assert!(text.contains("gopher"), "{text}");
    for (name, object, words) in [
        (
            "one",
            json!({"metadata": {"annotations": {"capstan.dev/suspended": ""}}}),
            "the annotation capstan.dev/suspended",
        ),
        (
            "foreign",
            json!({"spec": {"apply": {"suspend": true}}}),
            "spec.apply.suspend",
        ),
    ] {
        fixture.must("PATCH", &path(fixture, name), &object);
        let (_, text) = told(fixture, "status", name);
        assert!(text.contains(&format!("by the Fleet ({words})")), "{text}");
        let (code, text) = told(fixture, "resume", name);
        assert_ne!(code, Some(0), "{text}");
        assert!(
            text.contains(&format!("stays suspended by its Fleet ({words})")),
            "{text}"
        );
    }
    for (name, object) in [
        (
            "one",
            json!({"metadata": {"annotations": {"capstan.dev/suspended": null}}}),
        ),
        ("foreign", json!({"spec": {"apply": null}})),
    ] {
        fixture.must("PATCH", &path(fixture, name), &object);
    }
}

#[test]
fn a_fleet_object_is_mended_and_refused_and_takes_nothing_along_when_it_goes() {
    prove("changed", |fixture| {
        install(fixture);
        let [one, two] = [(); 2].map(|()| World::on(None));
        let first = one.push("main", None, &map(fixture, "one"));
        let other = two.push("main", None, &map(fixture, "two"));
        let mut lost = git(&one);
        lost["ref"] = json!({"branch": "nothing"});
        put(fixture, "one", &lost, &json!({}));
        put(fixture, "two", &git(&two), &json!({}));
        let daemon = daemon(fixture);
        wait(fixture, "two", "Ready", "True Succeeded", "");
        wait(fixture, "one", "Stalled", "True SourceNotReady", "nothing");
        let branch = json!({"spec": {"source": {"git": {"ref": {"branch": "main"}}}}});
        fixture.must("PATCH", &path(fixture, "one"), &branch);
        wait(fixture, "one", "Ready", "True Succeeded", "");

        let broken = "{kind: ConfigMap, apiVersion: v1, metadata: {name: one}, dta: 1\n";
        let refused = one.push("main", Some(&first), broken);
        let place = "clusters/one.yaml:";
        let status = wait(fixture, "one", "Ready", "False Refused", place);
        assert_eq!(status["refusedRevision"], json!(refused));
        assert_eq!(status["appliedRevision"], json!(first), "it stays");
        let both = [map(fixture, "one"), map(fixture, "three")].join("---\n");
        let mended = one.push("main", Some(&refused), &both);
        let status = wait(fixture, "one", "Ready", "True Succeeded", "2/2 ready");
        assert_eq!(status["appliedRevision"], json!(mended));
        assert_eq!(status["refusedRevision"], Json::Null);
        assert_eq!(status["history"][0]["revision"], json!(mended));
        assert_eq!(status["history"][1]["reason"], "Refused");

        fixture.must("DELETE", &path(fixture, "two"), &json!({}));
        daemon.wait("somebody deleted the Fleet");
        two.push("main", Some(&other), &map(fixture, "four"));
        one.push("main", Some(&mended), &map(fixture, "five"));
        fixture.until("the other goes on", || {
            fixture.has(&fixture.path("configmaps/five"))
        });
        assert!(fixture.has(&fixture.path("configmaps/two")));
        assert!(!fixture.has(&fixture.path("configmaps/four")));
        let status = || fixture.asked(&["status", "--name", "two"]).1;
        let is_given_up = || status().contains("no daemon serves the fleet since");
        until(|| is_given_up().then_some(()), status);
        // One that is only checked is served, and claims nothing.
        put(fixture, "two", &git(&two), &json!({"mode": "check"}));
        until(|| (!is_given_up()).then_some(()), status);
        let (code, said) = daemon.stop();
        assert_eq!(code, Some(0), "{said}");
    });
}

/// What `capstan install --component daemon` prints for a fleet in `dir`, and that Fleet.
fn printed(fixture: &Fixture, dir: &std::path::Path, fleet: &std::path::Path) -> Vec<Json> {
    let output = Command::new(env!("CARGO_BIN_EXE_capstan"))
        .args([
            "install",
            "--component",
            "daemon",
            "--aro",
            "off",
            "--namespace",
        ])
        .arg(&fixture.namespace)
        .arg("--fleet")
        .args([fleet, dir])
        .output()
        .expect("it runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let documents = serde_yaml::Deserializer::from_slice(&output.stdout);
    documents
        .map(|document| Json::deserialize(document).expect("YAML"))
        .collect()
}

/// The simulator has no rights, so this needs the real server.
#[test]
fn the_printed_roles_are_enough_for_the_daemon_and_its_fleet() {
    prove_real("installed", |fixture| {
        let world = World::on(None);
        let text = map(fixture, "one");
        let revision = world.push("main", None, &text);
        let dir = tempfile::tempdir().expect("a directory");
        std::fs::write(dir.path().join("one.yaml"), &text).expect("written");
        let file = fixture.dir.path().join("fleet.yaml");
        let fleet = json!({"apiVersion": "capstan.dev/v1alpha1", "kind": "Fleet", "metadata": {"name": "prod"},
            "spec": {"source": {"git": {"url": "https://example.com/fleet.git", "interval": "1s"}}}});
        std::fs::write(&file, fleet.to_string()).expect("written");
        let mut all = printed(fixture, dir.path(), &file);
        // There is no server here.
        let last = all.last_mut().expect("the Fleet");
        last["spec"]["source"]["git"]["url"] = world.source().into();
        let mut kinds: Vec<&str> = all.iter().filter_map(|one| one["kind"].as_str()).collect();
        kinds.dedup();
        assert_eq!(
            kinds,
            [
                "CustomResourceDefinition",
                "Namespace",
                "ServiceAccount",
                "ClusterRole",
                "ClusterRoleBinding",
                "Role",
                "RoleBinding",
                "Service",
                "Deployment",
                "PodDisruptionBudget",
                "Fleet",
            ]
        );
        for object in &all {
            if object["kind"] == "Fleet" {
                wait_for_kind(fixture);
            }
            fixture.put(object);
        }
        let deployment = all.iter().find(|one| one["kind"] == "Deployment");
        let container =
            &deployment.expect("it is there")["spec"]["template"]["spec"]["containers"][0];
        let arguments = container["args"].as_array().expect("a list");
        let arguments = arguments.iter().filter_map(Json::as_str);
        // Other tests have ports, too.
        let arguments = arguments.filter(|argument| !argument.starts_with("--serve="));
        let token = fixture.token("capstan");
        let account = fixture.kubeconfig_of(&json!({"token": token}));
        let mut command = Command::new(env!("CARGO_BIN_EXE_capstan"));
        command
            .args(arguments)
            .args(["--allow-local-sources", "--kubeconfig"])
            .arg(account)
            .env("CAPSTAN_NAMESPACE", &fixture.namespace)
            .env("CAPSTAN_CACHE", fixture.dir.path().join("cache"));
        let daemon = Running::spawn(command);
        let status = wait(fixture, "prod", "Ready", "True Succeeded", "");
        assert_eq!(status["readyRevision"], json!(revision));
        let removed = world.push("main", Some(&revision), &map(fixture, "two"));
        let status = wait(fixture, "prod", "Applied", "True", &removed);
        assert_eq!(status["appliedRevision"], json!(removed));
        fixture.until("what left is deleted", || {
            !fixture.has(&fixture.path("configmaps/one"))
        });
        let (code, said) = daemon.stop();
        assert_eq!(code, Some(0), "{said}");
        for words in ["may not", "forbidden", "no permission"] {
            assert!(!said.contains(words), "{said}");
        }
    });
}

#[test]
fn of_two_processes_one_applies_and_the_other_takes_over_when_it_is_killed() {
    prove("writers", |fixture| {
        install(fixture);
        let world = World::on(None);
        let first = world.push("main", None, &map(fixture, "one"));
        put(
            fixture,
            "prod",
            &json!({"url": world.source(), "interval": "1s"}),
            &json!({}),
        );
        let leader = daemon(fixture);
        wait(fixture, "prod", "Ready", "True Succeeded", "");
        let waiting = daemon(fixture);
        waiting.wait("holds the Lease and applies");
        assert!(
            !waiting.said().contains("is followed"),
            "{}",
            waiting.said()
        );
        let said = leader.words();
        assert!(said.contains("this process holds the Lease"), "{said}");
        let second = world.push("main", Some(&first), &map(fixture, "two"));
        waiting.wait("this process holds the Lease and applies");
        let holds = || {
            let (status, _) = seen(fixture, "prod", "Ready");
            (status["readyRevision"] == json!(second)).then_some(())
        };
        until(holds, || waiting.said());
        let (code, said) = waiting.stop();
        assert_eq!(code, Some(0), "{said}");
        // The next one need not wait until the Lease expires.
        let path = format!(
            "/apis/coordination.k8s.io/v1/namespaces/{}/leases/capstan-sync-default",
            fixture.namespace
        );
        let lease = fixture.must("GET", &path, &Json::Null);
        assert_eq!(lease["spec"]["holderIdentity"], "");
    });
}

/// Whoever writes a Fleet reads no file of the process, such as the mirrors of other Fleets.
#[test]
fn a_fleet_object_reads_nothing_of_the_machine() {
    prove("local", |fixture| {
        install(fixture);
        let world = World::on(None);
        world.push("main", None, &map(fixture, "one"));
        let file = format!("file://{}", world.source());
        put(fixture, "path", &json!({"url": world.source()}), &json!({}));
        put(fixture, "file", &json!({"url": file}), &json!({}));
        fixture.put(
            &json!({"apiVersion": "capstan.dev/v1alpha1", "kind": "Fleet",
            "metadata": {"name": "directory", "namespace": fixture.namespace},
            "spec": {"source": {"directory": {"path": world.source()}}}}),
        );
        let mut command = Command::new(env!("CARGO_BIN_EXE_capstan"));
        command
            .args(["run", "--fleets", "--aro", "off", "--kubeconfig"])
            .arg(&fixture.kubeconfig)
            .env("CAPSTAN_NAMESPACE", &fixture.namespace)
            .env("CAPSTAN_CACHE", fixture.dir.path().join("cache"));
        let daemon = Running::spawn(command);
        for name in ["path", "file", "directory"] {
            wait(fixture, name, "Stalled", "True InvalidSpec", "");
        }
        assert!(!fixture.has(&fixture.path("configmaps/one")));
        let (code, said) = daemon.stop();
        assert_eq!(code, Some(0), "{said}");
    });
}
