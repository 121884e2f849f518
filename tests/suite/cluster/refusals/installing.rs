//! `capstan install --apply`: what is new, changed, unchanged, and managed by others.

use std::process::Command;

use serde::Deserialize as _;
use serde_json::{Value as Json, json};

use super::fixture::{Fixture, prove, prove_real};

/// The output of a command, and its exit code.
pub(super) struct Ended {
    pub(super) code: Option<i32>,
    pub(super) data: String,
    pub(super) messages: String,
}

/// Runs the program on the server, with the namespace of the fixture.
pub(super) fn capstan(fixture: &Fixture, arguments: &[&str]) -> Ended {
    let output = Command::new(env!("CARGO_BIN_EXE_capstan"))
        .args(arguments)
        .arg("--kubeconfig")
        .arg(&fixture.kubeconfig)
        .env("CAPSTAN_NAMESPACE", &fixture.namespace)
        .output()
        .expect("it runs");
    Ended {
        code: output.status.code(),
        data: String::from_utf8_lossy(&output.stdout).into_owned(),
        messages: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

pub(super) fn install(fixture: &Fixture, more: &[&str]) -> Ended {
    capstan(
        fixture,
        &[&["install", "--apply", "--timeout", "5s"], more].concat(),
    )
}

/// The objects that `install` prints.
pub(super) fn printed(fixture: &Fixture, flags: &[&str]) -> Vec<Json> {
    let output = Command::new(env!("CARGO_BIN_EXE_capstan"))
        .arg("install")
        .args(flags)
        .env("CAPSTAN_NAMESPACE", &fixture.namespace)
        .output()
        .expect("it runs");
    assert!(output.status.success(), "{output:?}");
    let documents = serde_yaml::Deserializer::from_slice(&output.stdout);
    let documents = documents.map(|document| Json::deserialize(document).expect("YAML"));
    documents.collect()
}

/// The Deployment of the daemon.
fn deployment(fixture: &Fixture) -> String {
    let namespace = &fixture.namespace;
    format!("/apis/apps/v1/namespaces/{namespace}/deployments/capstan")
}

/// Reports that all pods of the Deployment are available: no server here runs any.
pub(super) fn run_pods(fixture: &Fixture) {
    let path = deployment(fixture);
    let live = fixture.must("GET", &path, &Json::Null);
    let count = live["spec"]["replicas"].clone();
    let condition =
        |kind: &str, reason: &str| json!({"type": kind, "status": "True", "reason": reason});
    let status = json!({"status": {"observedGeneration": live["metadata"]["generation"],
        "replicas": count, "updatedReplicas": count, "readyReplicas": count, "availableReplicas": count,
        "conditions": [condition("Progressing", "NewReplicaSetAvailable"), condition("Available", "MinimumReplicasAvailable")]}});
    fixture.must("PATCH", &format!("{path}/status"), &status);
}

#[test]
fn each_object_is_reported_and_what_others_own_is_taken_by_force_alone() {
    prove("install", |fixture| {
        let name = format!("Deployment/{}/capstan", fixture.namespace);
        let new = install(fixture, &["--aro", "off"]);
        assert_eq!(new.code, Some(1), "{}", new.messages);
        let created = format!("{name} created\n");
        assert!(new.data.contains(&created), "{}", new.data);
        let late = format!("{name} is not ready: ");
        assert!(new.messages.contains(&late), "{}", new.messages);
        assert!(
            new.messages.contains("kubectl describe"),
            "{}",
            new.messages
        );

        if !fixture.is_real {
            run_pods(fixture);
            let again = install(fixture, &["--aro", "off"]);
            assert_eq!(again.code, Some(0), "{}", again.messages);
            let all = again.data.lines().collect::<Vec<_>>();
            assert!(
                all.iter().all(|line| line.ends_with(" unchanged")),
                "{all:?}"
            );
            let printed = printed(fixture, &["--aro", "off"]);
            assert_eq!(all.len(), printed.len(), "the same objects");
        }

        let scaled = json!({"spec": {"replicas": 5}});
        let path = format!("{}?fieldManager=kubectl", deployment(fixture));
        fixture.must("PATCH", &path, &scaled);
        let more = [
            "--aro",
            "off",
            "--image",
            "registry.example.com/capstan:next",
        ];
        let refused = install(fixture, &more);
        assert_eq!(refused.code, Some(1), "{}", refused.messages);
        assert_eq!(refused.data, "", "nothing is applied");
        let owned = format!("{name}: kubectl owns .spec.replicas; use --force");
        assert!(refused.messages.contains(&owned), "{}", refused.messages);
        let forced = install(fixture, &[&more[..], &["--force"]].concat());
        let configured = format!("{name} configured\n");
        assert!(forced.data.contains(&configured), "{}", forced.data);
        let live = fixture.must("GET", &deployment(fixture), &Json::Null);
        assert_eq!(live["spec"]["replicas"], 2);
    });
}

#[test]
fn a_definition_that_others_brought_stays_as_it_is() {
    prove("brought", |fixture| {
        if fixture.is_real {
            // Other tests use the kinds of the server that all share.
            return;
        }
        let crds = capstan::api::crds::crds();
        let name = "aroclusters.infrastructure.cluster.x-k8s.io";
        let brought = crds.iter().find(|crd| crd["metadata"]["name"] == name);
        let mut brought = brought.expect("it is ours, too").clone();
        brought["spec"]["names"]["categories"] = json!(["others"]);
        fixture.put(&brought);
        for force in [&[][..], &["--force"]] {
            let ended = install(fixture, force);
            let left = format!("{name} left as it is: suite brought it, and not capstan-install\n");
            assert!(ended.data.contains(&left), "{}", ended.data);
        }
        let path = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}");
        let live = fixture.must("GET", &path, &Json::Null);
        assert_eq!(live["spec"]["names"]["categories"], json!(["others"]));
    });
}

#[test]
fn definitions_go_when_nothing_uses_them_unless_others_brought_them() {
    prove("removed", |fixture| {
        if fixture.is_real {
            // Other tests use the kinds of the server that all share.
            return;
        }
        let crds = capstan::api::crds::crds();
        fixture.put(crds.last().expect("five"));
        // Busy machines do not serve all kinds before the timeout.
        fixture.until("the Deployment is there", || {
            install(fixture, &[]);
            fixture.has(&deployment(fixture))
        });
        let member = json!({"metadata": {"labels": {"applyset.kubernetes.io/part-of": "set"}}});
        fixture.must("PATCH", &deployment(fixture), &member);
        let ended = capstan(fixture, &["uninstall", "--crds"]);
        assert_eq!(ended.code, Some(0), "{}", ended.messages);
        for line in [
            "CustomResourceDefinition//fleets.capstan.dev removed",
            "CustomResourceDefinition//aroclusters.infrastructure.cluster.x-k8s.io removed",
            "azureclusteridentities.infrastructure.cluster.x-k8s.io stays: suite brought it, and not capstan-install",
            "capstan stays: it is a member of a fleet: remove its file there",
        ] {
            assert!(ended.data.contains(line), "{}", ended.data);
        }
        assert!(fixture.has(&deployment(fixture)));
    });
}

/// The simulator has no rights, so this needs the real server.
#[test]
fn a_tenant_has_an_account_that_the_daemon_may_act_as() {
    prove_real("tenant", |fixture| {
        let team = &fixture.namespace;
        let flags = [
            "--component",
            "tenant",
            "--namespace",
            team,
            "--daemon-namespace",
            "capstan-here",
        ];
        let made = capstan(fixture, &[&["install", "--apply"], &flags[..]].concat());
        assert_eq!(made.code, Some(0), "{}", made.messages);
        let checked = capstan(fixture, &[&["check"], &flags[..]].concat());
        for account in [
            format!("{team}:deployer"),
            "capstan-here:capstan".to_owned(),
        ] {
            let line = format!("system:serviceaccount:{account} has all ");
            assert!(checked.data.contains(&line), "{}", checked.data);
        }
        let may = |account: &str, namespace: &str, verb: &str, resource: &str, name: &str| {
            let review = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
                "spec": {"user": format!("system:serviceaccount:{account}"),
                    "resourceAttributes": {"namespace": namespace, "verb": verb, "resource": resource, "name": name}}});
            let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
            fixture.must("POST", path, &review)["status"]["allowed"] == true
        };
        let (daemon, deployer) = ("capstan-here:capstan", format!("{team}:deployer"));
        assert!(may(
            daemon,
            team,
            "impersonate",
            "serviceaccounts",
            "deployer"
        ));
        assert!(!may(
            daemon,
            team,
            "impersonate",
            "serviceaccounts",
            "default"
        ));
        assert!(!may(
            daemon,
            "default",
            "impersonate",
            "serviceaccounts",
            "deployer"
        ));
        assert!(may(daemon, team, "get", "secrets", "git"));
        assert!(!may(&deployer, team, "get", "secrets", "git"));
        assert!(!may(&deployer, "", "create", "namespaces", ""));

        let gone = capstan(
            fixture,
            &["uninstall", "--component", "tenant", "--namespace", team],
        );
        assert_eq!(gone.code, Some(0), "{}", gone.messages);
        assert!(!may(daemon, team, "get", "secrets", "git"));
        assert!(
            gone.data
                .contains("ServiceAccount/refusals-tenant/deployer removed"),
            "{}",
            gone.data
        );
    });
}

#[test]
fn roles_for_people_go_with_the_last_installation() {
    prove("people", |fixture| {
        if fixture.is_real {
            // Other tests install there.
            return;
        }
        for namespace in ["one", "two"] {
            install(fixture, &["--aro", "off", "--namespace", namespace]);
        }
        let role = "/apis/rbac.authorization.k8s.io/v1/clusterroles/capstan-author";
        let first = capstan(fixture, &["uninstall", "--namespace", "one"]);
        assert_eq!(first.code, Some(0), "{}", first.messages);
        let stays = "ClusterRole//capstan-author stays: the installation in two has it, too\n";
        assert!(first.data.contains(stays), "{}", first.data);
        assert!(fixture.has(role));
        capstan(fixture, &["uninstall", "--namespace", "two"]);
        assert!(!fixture.has(role));
    });
}

/// The simulator has no NetworkPolicies.
#[test]
fn a_network_policy_comes_and_goes_with_the_component() {
    prove_real("network", |fixture| {
        let policy = format!("NetworkPolicy/{}/capstan", fixture.namespace);
        let made = install(fixture, &["--aro", "off", "--network-policy"]);
        let created = format!("{policy} created\n");
        assert!(made.data.contains(&created), "{}", made.messages);
        let gone = capstan(fixture, &["uninstall", "--timeout", "1s"]);
        assert_eq!(gone.code, Some(0), "{}", gone.messages);
        let removed = format!("{policy} removed\n");
        assert!(gone.data.contains(&removed), "{}", gone.data);
    });
}

#[test]
fn flags_of_other_components_are_refused() {
    for (flags, words) in [
        (["--component", "tenant"].as_slice(), "needs --namespace"),
        (
            &["--component", "tenant", "--namespace", "capstan-system"],
            "another --daemon-namespace",
        ),
        (&["--service-account", "x"], "are for --component tenant"),
        (
            &["--component", "admission", "--tenant", "x"],
            "are for --component daemon",
        ),
        (
            &["--component", "controllers", "."],
            "use --component daemon, tenant or service-provider",
        ),
        (
            &["--watch-namespace", "x"],
            "--watch-namespace is for --component controllers",
        ),
        (
            &["--component", "service-provider"],
            "needs --fleet FILE once",
        ),
        (&["--kubeconfig", "x"], "add --apply"),
        (&["--tenant", "Not a name"], "lower-case"),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_capstan"))
            .arg("install")
            .args(flags)
            .env_remove("CAPSTAN_NAMESPACE")
            .output()
            .expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{flags:?}: {said}");
        assert!(said.contains(words), "{flags:?}: {said}");
    }
}
