//! Who works there may not do everything. The simulator has no rights: it lets everybody do all.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use capstan::adapters::azure_sim as actors;
use capstan::model::CheckState;
use http::StatusCode;
use serde_json::{Value as Json, json};

use super::fixture::{FREE, Fixture, SECRET, once, prove_real};
use crate::cluster::pipeline::Management;
use crate::daemon::World;
use crate::running::Running;
use crate::servers::{anonymous, serve_router};

/// What the service account `limited` may do, everywhere.
fn grant(fixture: &Fixture, rules: &[(&str, &[&str])]) {
    let name = &fixture.namespace;
    let rules: Vec<Json> = rules
        .iter()
        .map(
            |(resource, verbs)| json!({"apiGroups": [""], "resources": [resource], "verbs": verbs}),
        )
        .collect();
    fixture.put(
        &json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": name}, "rules": rules}),
    );
    fixture.put(
        &json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": "limited", "namespace": name}]}),
    );
}

const ALL: &[&str] = &["get", "list", "watch", "create", "patch", "delete"];
const READ: &[&str] = &["get", "list", "watch"];

/// One right after the other is given, and each time the next that is missing is named.
#[test]
fn each_missing_right_is_named_with_the_rule_that_grants_it() {
    prove_real("rights", |fixture| {
        let fleet = format!("{FREE}{SECRET}");
        let token = fixture.token("limited");
        let limited = fixture.kubeconfig_of(&json!({"token": token}));
        let who = format!(
            "system:serviceaccount:{}:limited may not",
            fixture.namespace
        );
        let rule = |resource: &str, verbs: &str| {
            format!(
                "that is bound to the user: {{apiGroups: [\"\"], resources: [{resource}], verbs: [get, list, watch{verbs}"
            )
        };
        let reads = "]}; also create, patch, delete if the fleet contains such objects";
        let here = format!("in namespace {}", fixture.namespace);

        let parent = format!(
            "ConfigMap/{}/capstan-config: no permission: {who} get configmaps {here}",
            fixture.namespace
        );
        let (code, errors) = fixture.applied(&limited, &fleet);
        assert_eq!(code, Some(1), "{errors}");
        once(&errors, &parent);
        once(&errors, &rule("configmaps", reads));
        let daemon = fixture.daemon(&limited, &fleet);
        let check = daemon.until(CheckState::Failure, &[&parent, &rule("configmaps", reads)]);
        assert!(
            check.title.starts_with("nothing can be applied: "),
            "{check:#?}"
        );

        drop(daemon);

        grant(fixture, &[("configmaps", ALL)]);
        let list = format!(
            "its kind cannot be watched: no permission: {who} list secrets in the whole cluster. Add this rule to a ClusterRole {}",
            rule("secrets", reads)
        );
        let (code, errors) = fixture.applied(&limited, &fleet);
        assert_eq!(code, Some(1), "{errors}");
        once(&errors, &list);
        let free = fixture.path("configmaps/free");
        assert!(fixture.has(&free), "the others go on");
        fixture.must("DELETE", &free, &json!({}));
        let daemon = fixture.daemon(&limited, &fleet);
        let check = daemon.until(CheckState::Failure, &[&list]);
        once(&check.summary, &list);
        fixture.until("the others go on", || fixture.has(&free));
        grant(fixture, &[("configmaps", ALL), ("secrets", ALL)]);
        daemon.succeeds();
        drop(daemon);

        fixture.must("DELETE", &fixture.path("secrets/shut"), &json!({}));
        grant(fixture, &[("configmaps", ALL), ("secrets", READ)]);
        let patch = format!(
            "Secret/{}/shut failed: no permission: {who} patch secrets {here}. Add this rule to a Role in that namespace, or a ClusterRole, {}",
            fixture.namespace,
            rule("secrets", ", create, patch, delete]}")
        );
        let (code, errors) = fixture.applied(&limited, &fleet);
        assert_eq!(code, Some(1), "{errors}");
        once(
            &errors,
            &format!("refused    {}", patch.replace(" failed: ", ": ")),
        );
        let daemon = fixture.daemon(&limited, &fleet);
        let check = daemon.until(CheckState::Failure, &[&patch]);
        once(&check.summary, &patch);
        grant(fixture, &[("configmaps", ALL), ("secrets", ALL)]);
        daemon.succeeds();
    });
}

/// All that is missing is printed at once, with the rules that grant it; these are enough.
#[test]
fn all_missing_rights_are_printed_with_the_rules_that_grant_them() {
    prove_real("all-rights", |fixture| {
        let fleet = format!("{FREE}{SECRET}");
        let token = fixture.token("limited");
        let limited = fixture.kubeconfig_of(&json!({"token": token}));
        let (code, errors) = fixture.applied(&limited, &fleet);
        assert_eq!(code, Some(1), "{errors}");
        let here = format!("in namespace {}", fixture.namespace);
        for missing in [
            format!("\n  get, create, patch configmaps {here}\n"),
            "\n  list, watch configmaps in the whole cluster\n".to_owned(),
            format!("\n  get, create, patch secrets {here}\n"),
            "\n  list, watch secrets in the whole cluster\n".to_owned(),
        ] {
            once(&errors, &missing);
        }
        let (_, granted) = errors.split_once("\n---\n").expect("the rules");
        for document in granted.split("---\n") {
            put_as_own(fixture, serde_yaml::from_str(document).expect("YAML"));
        }
        fixture.until("the rules are in force", || {
            fixture.applied(&limited, &fleet).0 == Some(0)
        });
        assert!(fixture.has(&fixture.path("secrets/shut")));
    });
}

/// Applies a printed role or binding by another name: other tests use the same server.
fn put_as_own(fixture: &Fixture, mut object: Json) {
    object["metadata"]["name"] = json!(fixture.namespace);
    if object["kind"] == "ClusterRoleBinding" {
        object["roleRef"]["name"] = json!(fixture.namespace);
    }
    fixture.put(&object);
}

/// The roles and bindings of the log entry of a daemon that lacks rights.
pub(super) fn logged(said: &str) -> Vec<Json> {
    let mut lines = said.lines().filter_map(|line| line.split_once(GRANT));
    let (_, after) = lines.next().expect("it was waited for");
    let mut documents = serde_json::Deserializer::from_str(after).into_iter::<Json>();
    let list = documents.next().expect("a list").expect("JSON");
    list["items"].as_array().expect("a list").clone()
}

/// What is before the list.
pub(super) const GRANT: &str = "`kubectl apply --filename -` and this: ";

/// The daemon logs the same once, on one line that can be applied.
#[test]
fn the_daemon_logs_all_missing_rights_once_with_what_grants_them() {
    prove_real("logged-rights", |fixture| {
        let token = fixture.token("limited");
        let limited = fixture.kubeconfig_of(&json!({"token": token}));
        let world = World::on(Some(&limited));
        let fleet = format!("{FREE}{SECRET}").replace("NS", &fixture.namespace);
        world.push("main", None, &fleet);
        let mut command = world.talking(&fixture.namespace);
        command.env_remove("CAPSTAN_LOG");
        let daemon = Running::spawn(command);
        daemon.wait(GRANT);
        let said = daemon.said();
        assert!(
            said.contains("list, watch secrets in the whole cluster"),
            "{said}"
        );
        for object in logged(&said) {
            put_as_own(fixture, object);
        }
        fixture.until("the rules are in force", || {
            fixture.has(&fixture.path("secrets/shut"))
        });
        once(&daemon.words(), "permissions are missing: ");
    });
}

/// Missing permissions to read what controllers create for a cluster are reported. The simulator refuses
/// twice here, in the words of a real server.
#[test]
fn missing_permissions_to_read_what_controllers_create_are_reported() {
    let cluster = Management::simulated(600, actors::Options::default());
    let refused = Arc::new(AtomicUsize::new(0));
    let front = from_fn(move |request: Request, next: Next| {
        let lists = request.uri().path().ends_with("/vaults");
        let refuses = lists && refused.fetch_add(1, Ordering::SeqCst) < 2;
        async move {
            match refuses {
                true => forbidden(),
                false => next.run(request).await,
            }
        }
    });
    let server = cluster.server.as_ref().expect("the simulator");
    let router = server.router().layer(front);
    let address = cluster.runtime.block_on(serve_router(router));
    let dir = tempfile::tempdir().expect("a directory");
    let kubeconfig = dir.path().join("kubeconfig");
    std::fs::write(&kubeconfig, anonymous(&address)).expect("written");
    let fleet = ["apply", "examples/quickstart", "--wait", "--timeout", "2m"];
    let output = cluster.capstan_on(&kubeconfig, &fleet);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    once(
        &errors,
        "failed     Vault/clusters/quickstart-kv-db37f9: its progress cannot be seen: no permission: jo may not list vaults.keyvault.azure.com in the whole cluster. Add this rule to a ClusterRole that is bound to the user: {apiGroups: [\"keyvault.azure.com\"], resources: [vaults], ",
    );
    assert!(errors.contains("55/55 ready"), "{errors}");
}

fn forbidden() -> Response {
    let message = "vaults.keyvault.azure.com is forbidden: User \"jo\" cannot list resource \"vaults\" in API group \"keyvault.azure.com\" at the cluster scope";
    let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": "Forbidden", "code": 403});
    let json = [("content-type", "application/json")];
    (StatusCode::FORBIDDEN, json, status.to_string()).into_response()
}
