//! What `status` and `why` ask the API server for, and what they say when it does not answer all of it.
//! Nobody plays here: everything stays as it was applied.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use capstan::adapters::azure_sim as actors;
use capstan::adapters::kubernetes::survey::{FleetChoice, survey};
use http::StatusCode;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client};
use serde_json::json;
use tempfile::TempDir;
use tokio::time::Instant;

use super::super::pipeline::{Management, apply, apply_as};
use super::{FLEET, begin, text};
use crate::servers::{anonymous, serve_router};

/// A cluster with the example applied, and nobody at work.
fn still(more: &[(&str, &str)]) -> Management {
    let nobody = actors::Options {
        roles: Vec::new(),
        ..actors::Options::default()
    };
    let cluster = Management::simulated(1, nobody);
    begin(&cluster, more);
    cluster
}

/// This cluster refuses the requests that `refused` names, and records every request: the
/// path, the query and what is accepted.
struct Guarded<'a> {
    cluster: &'a Management,
    kubeconfig: PathBuf,
    asked: Arc<Mutex<Vec<[String; 3]>>>,
    _dir: TempDir,
}

impl<'a> Guarded<'a> {
    fn new(cluster: &'a Management, refused: fn(&str) -> Option<StatusCode>) -> Self {
        let asked: Arc<Mutex<Vec<[String; 3]>>> = Arc::default();
        let log = Arc::clone(&asked);
        let server = cluster.server.as_ref().expect("the simulator");
        let front = from_fn(move |request: Request, next: Next| {
            let path = request.uri().path().to_owned();
            let query = request.uri().query().unwrap_or_default().to_owned();
            let accept = request.headers().get("accept");
            let accept = accept.map_or("", |accept| accept.to_str().expect("text"));
            log.lock()
                .unwrap()
                .push([path.clone(), query, accept.to_owned()]);
            async move {
                match refused(&path) {
                    Some(code) => refusal(code),
                    None => next.run(request).await,
                }
            }
        });
        let router = server.router().layer(front);
        let address = cluster.runtime.block_on(serve_router(router));
        let dir = tempfile::tempdir().expect("a directory");
        let kubeconfig = dir.path().join("kubeconfig");
        std::fs::write(&kubeconfig, anonymous(&address)).expect("written");
        Self {
            cluster,
            kubeconfig,
            asked,
            _dir: dir,
        }
    }

    /// Both output streams of a command that exits with `code`.
    fn printed(&self, arguments: &[&str], code: i32) -> String {
        let output = self.cluster.capstan_on(&self.kubeconfig, arguments);
        let printed = text(&output.stdout) + &text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{printed}");
        printed
    }

    /// The same with line breaks replaced by spaces.
    fn printed_unwrapped(&self, arguments: &[&str], code: i32) -> String {
        let output = self.printed(arguments, code);
        let words: Vec<&str> = output.split_whitespace().collect();
        words.join(" ")
    }
}

fn refusal(code: StatusCode) -> Response {
    let reason = match code {
        StatusCode::UNAUTHORIZED => "Unauthorized",
        StatusCode::FORBIDDEN => "Forbidden",
        _ => "InternalError",
    };
    let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code.as_u16(),
        "reason": reason, "message": format!("{reason} here")});
    (
        code,
        [("content-type", "application/json")],
        status.to_string(),
    )
        .into_response()
}

fn nothing(_: &str) -> Option<StatusCode> {
    None
}

#[test]
fn a_reference_to_what_cannot_exist_names_it_and_hides_nothing() {
    let cluster = still(&[]);
    let plane = json!({
        "apiVersion": "controlplane.cluster.x-k8s.io/v1beta2", "kind": "AROControlPlane",
        "metadata": {"name": "quickstart", "namespace": "clusters"},
        "spec": {"identityRef": {"name": "no such identity"}},
    });
    cluster.runtime.block_on(apply(&cluster.client, &plane));
    let all = Guarded::new(&cluster, nothing);
    let status = all.printed(&["status"], 1);
    assert!(status.contains("0 of 55 ready; 50 not created"), "{status}");
    let missing = "AzureClusterIdentity/clusters/no such identity: Missing";
    assert!(status.contains(missing), "{status}");
}

#[test]
fn an_unknown_name_is_reported_with_the_known_ones() {
    let cluster = still(&[("gone.example", "Gone")]);
    let all = Guarded::new(&cluster, nothing);
    assert_eq!(
        all.printed(&["status", "--name", "prod"], 2),
        "error: there is no fleet `prod` in this cluster; it has local\n"
    );
    let near = all.printed(&["why", "Cluster/clusters/quikstart"], 2);
    assert!(
        near.contains("; similar names are Cluster/clusters/quickstart, "),
        "{near}"
    );
    let several = all.printed(&["why", "quickstart"], 2);
    assert!(
        several.contains("is not written Kind/namespace/name"),
        "{several}"
    );
    let status = all.printed(&["status"], 0);
    assert!(
        status.contains("\n  objects   0 of 55 ready; 50 not created, 5 progressing\n"),
        "{status}"
    );
    assert!(
        status.contains("\nnot seen: Gone of gone.example: the cluster does not serve it\n"),
        "{status}"
    );
}

#[test]
fn a_cluster_without_fleets_is_reported() {
    let cluster = Management::simulated(1, actors::Options::default());
    let output = text(&cluster.capstan(&["status"]).stderr);
    assert!(
        output.starts_with("error: there is no fleet in this cluster: "),
        "{output}"
    );
}

/// A team's own rights: nothing beyond its namespaces.
#[test]
fn who_may_not_look_everywhere_is_shown_what_may_be_seen() {
    let cluster = still(&[]);
    let team = Guarded::new(&cluster, |path| {
        let open = path.contains("/namespaces/")
            || path.matches('/').count() < 4 && path != "/api/v1/configmaps";
        (!open).then_some(StatusCode::FORBIDDEN)
    });
    let status = team.printed_unwrapped(&["status"], 0);
    assert!(
        status.contains(" objects 0 of 55 ready; 50 not created, 5 progressing "),
        "{status}"
    );
    let note = "not seen: no permission to list configmaps in all namespaces: only fleets of namespace capstan-system are known";
    assert!(status.contains(note), "{status}");
    assert_eq!(status.matches("not seen").count(), 1, "{status}");
}

#[test]
fn what_may_not_be_read_is_unknown_and_no_cause() {
    let cluster = still(&[]);
    let some = Guarded::new(&cluster, |path| {
        path.contains("/vaults")
            .then_some(StatusCode::FORBIDDEN)
            .or_else(|| {
                path.contains("/roleassignments")
                    .then_some(StatusCode::INTERNAL_SERVER_ERROR)
            })
    });
    let status = some.printed_unwrapped(&["status"], 0);
    assert!(
        status.contains("0 of 55 ready; 20 not created, 5 progressing, 30 unknown"),
        "{status}"
    );
    let note =
        "not seen: Vault: no permission to list vaults.keyvault.azure.com in namespace clusters";
    assert!(status.contains(note), "{status}");
    let note = "not seen: RoleAssignment in all namespaces: InternalError here";
    assert!(status.contains(note), "{status}");
    assert_eq!(status.matches("not seen").count(), 2, "{status}");
}

#[test]
fn without_any_right_the_missing_one_is_named() {
    let cluster = still(&[]);
    let nobody = Guarded::new(&cluster, |path| {
        path.contains("configmaps").then_some(StatusCode::FORBIDDEN)
    });
    let output = nobody.printed(&["status"], 2);
    assert!(
        output.contains("no permission to list configmaps in namespace capstan-system"),
        "{output}"
    );
    let output = nobody.printed(&["status", "--name", "local"], 2);
    assert!(
        output.contains("no permission to get configmaps in namespace capstan-system"),
        "{output}"
    );
    let lister = Guarded::new(&cluster, |path| {
        path.ends_with("/configmaps")
            .then_some(StatusCode::FORBIDDEN)
    });
    let output = lister.printed(&["status", "--name", "local"], 0);
    assert!(output.contains("\n  objects   0 of 55 ready"), "{output}");
    let stranger = Guarded::new(&cluster, |_| Some(StatusCode::UNAUTHORIZED));
    let output = stranger.printed(&["status"], 2);
    assert!(
        output.contains("does not accept these credentials: Unauthorized here"),
        "{output}"
    );
}

#[test]
fn an_unreachable_cluster_is_reported_without_mention_of_a_simulated_one() {
    let cluster = Management::simulated(1, actors::Options::default());
    let nowhere = cluster.kubeconfig.with_file_name("nowhere");
    std::fs::write(&nowhere, anonymous("127.0.0.1:1")).expect("written");
    let output = text(&cluster.capstan_on(&nowhere, &["status"]).stderr);
    assert!(
        output.starts_with("error: the cluster does not answer: "),
        "{output}"
    );
    assert!(!output.contains("embedded"), "{output}");
}

/// Copies, restored objects, what operators make: they count nowhere, and nothing is done about them.
#[test]
fn what_only_carries_the_label_is_one_line() {
    let kinds = [("", "ConfigMap"), ("resources.azure.com", "ResourceGroup")];
    let cluster = still(&kinds);
    let all = Guarded::new(&cluster, nothing);
    let before = all.printed(&["status"], 0);
    let set = capstan::plan::ApplySet::new("local", "capstan-system");
    for (api_version, kind) in [
        ("v1", "ConfigMap"),
        ("resources.azure.com/v1api20200601", "ResourceGroup"),
    ] {
        let copy = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "copy", "namespace": "clusters",
            "labels": {"applyset.kubernetes.io/part-of": set.id()},
            "annotations": {"capstan.dev/applied": "h", "serviceoperator.azure.com/credential-from": "none"}}});
        cluster.runtime.block_on(apply(&cluster.client, &copy));
    }
    let status = all.printed(&["status"], 0);
    let (line, counts) = (status.find("  labelled  "), before.find("  objects  "));
    let (line, counts) = (line.expect("it is there"), counts.expect("they are there"));
    assert_eq!(
        status.get(..line),
        before.get(..line),
        "the rest is as it was"
    );
    assert!(counts < line);
    let words = all.printed_unwrapped(&["status"], 0);
    let line = "labelled 2 objects carry the label of the fleet, which did not apply them: ConfigMap/clusters/copy, ResourceGroup/clusters/copy. ";
    assert!(words.contains(line), "{words}");
    let plan = all.printed(&["plan", FLEET, "--prune", "--against", "live"], 0);
    assert!(!plan.contains("no longer in the fleet"), "{plan}");
    let applied = all.printed(&["apply", FLEET, "--prune"], 0);
    assert!(!applied.contains("copy"), "{applied}");
    let maps: Api<ConfigMap> = Api::namespaced(cluster.client.clone(), "clusters");
    let copy = cluster.runtime.block_on(maps.get_opt("copy"));
    assert!(copy.expect("an answer").is_some());
}

/// A Secret that is named is looked for by its metadata, and missed when it is not there.
#[test]
fn the_content_of_a_secret_is_not_asked_for() {
    let cluster = still(&[("resources.azure.com", "ResourceGroup")]);
    let group = json!({
        "apiVersion": "resources.azure.com/v1api20200601", "kind": "ResourceGroup",
        "metadata": {"name": "raw", "namespace": "clusters",
            "labels": {"applyset.kubernetes.io/part-of": capstan::plan::ApplySet::new("local", "capstan-system").id()},
            "annotations": {"serviceoperator.azure.com/credential-from": "cred"}},
        "spec": {"location": "uksouth"},
    });
    let applied = apply_as("capstan", &cluster.client, &group);
    cluster.runtime.block_on(applied);
    let all = Guarded::new(&cluster, nothing);
    let why = all.printed(&["why", "ResourceGroup/raw"], 0);
    assert!(
        why.contains("\nblocked by Secret/clusters/cred\n  message    it does not exist\n"),
        "{why}"
    );
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "cred", "namespace": "clusters"}});
    cluster.runtime.block_on(apply(&cluster.client, &secret));
    let why = all.printed(&["why", "ResourceGroup/raw"], 0);
    assert!(
        why.contains("\nblocked by ResourceGroup/clusters/raw\n"),
        "{why}"
    );
    let asked = all.asked.lock().unwrap();
    let private = |path: &str| path.contains("/secrets");
    let private: Vec<&[String; 3]> = asked.iter().filter(|[path, ..]| private(path)).collect();
    assert_eq!(private.len(), 2, "{private:?}");
    assert!(
        private
            .iter()
            .all(|[.., accept]| accept.contains("as=PartialObjectMetadata")),
        "{private:?}"
    );
}

/// One list for each kind, one document for each group, and what is named: how many objects there are
/// does not matter.
#[test]
fn a_handful_of_requests_is_enough() {
    let cluster = still(&[]);
    let all = Guarded::new(&cluster, nothing);
    all.printed(&["status"], 0);
    let asked = all.asked.lock().unwrap();
    let lists = asked
        .iter()
        .filter(|[_, query, _]| query.contains("limit="))
        .count();
    // The Fleet objects, five kinds of members, and all sixteen that their controllers make or own.
    assert_eq!(lists, 1 + 5 + 16, "{asked:#?}");
    // Azure Service Operator and Cluster API: two lists of Deployments each, the groups, and one document for each of the six and of
    // the one.
    let preflight = (2 + 1 + 6) + (2 + 1 + 1);
    assert!(asked.len() <= 41 + preflight, "{}: {asked:#?}", asked.len());
    assert!(
        asked.iter().all(|[_, query, _]| !query.contains("watch")),
        "{asked:#?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_does_not_answer_is_given_up_after_half_a_minute() {
    let silent = tower::service_fn(|_: http::Request<kube::client::Body>| {
        std::future::pending::<Result<http::Response<Body>, std::convert::Infallible>>()
    });
    let client = Client::new(silent, "default");
    let wanted = FleetChoice {
        fleet: None,
        namespace: "capstan-system".to_owned(),
    };
    let start = Instant::now();
    let error = survey(&client, &wanted).await.expect_err("nobody answers");
    assert_eq!(error.to_string(), "the cluster did not answer within 30 s");
    assert_eq!(start.elapsed(), Duration::from_secs(30));
}
