//! Credentials that the server does not take any more.

use axum::Router;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use capstan::model::CheckState;
use http::StatusCode;
use serde_json::json;

use super::fixture::{FREE, Fixture, once, prove_before};

const GOOD: &str = "good";

/// The simulator, once it asks who is there.
fn guarded(router: Router) -> Router {
    let guard = from_fn(|request: Request, next: Next| async move {
        let sent = request.headers().get("authorization");
        match sent.is_some_and(|sent| sent == &format!("Bearer {GOOD}")) {
            true => next.run(request).await,
            false => unauthorized(),
        }
    });
    router.layer(guard)
}

fn unauthorized() -> Response {
    let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "Unauthorized", "reason": "Unauthorized", "code": 401});
    let json = [("content-type", "application/json")];
    (StatusCode::UNAUTHORIZED, json, status.to_string()).into_response()
}

/// A token that was revoked, and one that is valid.
fn tokens(fixture: &Fixture) -> [String; 2] {
    if !fixture.is_real {
        return ["bad", GOOD].map(ToOwned::to_owned);
    }
    let revoked = fixture.token("worker");
    fixture.must(
        "DELETE",
        &fixture.path("serviceaccounts/worker"),
        &json!({}),
    );
    let valid = fixture.token("worker");
    fixture.put(&json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": {"name": fixture.namespace},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "ServiceAccount", "name": "worker", "namespace": fixture.namespace}]}));
    [revoked, valid]
}

pub(super) fn are_named_until_the_file_has_others() {
    prove_before("credentials", guarded, |fixture| {
        let [bad, good] = tokens(fixture);
        let file = fixture.dir.path().join("token");
        std::fs::write(&file, bad).expect("written");
        let kubeconfig = fixture.kubeconfig_of(&json!({"tokenFile": file}));
        let expected = "the API server does not accept the credentials (401 Unauthorized): they are wrong, expired or revoked. Provide valid ones: Capstan rereads a token file within a minute";
        let (code, errors) = fixture.applied(&kubeconfig, FREE);
        assert_eq!(code, Some(2), "{errors}");
        once(&errors, expected);
        let daemon = fixture.daemon(&kubeconfig, FREE);
        let check = daemon.until(CheckState::Failure, &[expected]);
        assert!(
            check.title.starts_with("nothing can be applied: "),
            "{check:#?}"
        );
        std::fs::write(&file, good).expect("written");
        daemon.succeeds();
    });
}
