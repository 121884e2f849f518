//! A namespace that is being deleted.

use capstan::model::CheckState;
use serde_json::json;

use super::fixture::{FREE, prove};

pub(super) fn waits_until_it_is_made_again() {
    prove("ending", |fixture| {
        let name = format!("{}-it", fixture.namespace);
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        fixture.put(&namespace);
        let path = format!("/api/v1/namespaces/{name}");
        let held = format!("{path}/configmaps/held");
        fixture.put(&json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "held", "namespace": name, "finalizers": ["refusals.dev/hold"]}}));
        fixture.must("DELETE", &path, &json!({}));
        let inside = format!(
            "---\n{{apiVersion: v1, kind: ConfigMap, metadata: {{name: inside, namespace: {name}}}}}\n"
        );
        let fleet = format!("{inside}{FREE}");
        let waits = format!("ConfigMap/{name}/inside failed: its namespace is being deleted: ");
        let why = format!(
            "namespace {name} because it is being terminated. It is applied once the namespace is gone and created again. If that takes long, check what is left"
        );
        let (code, errors) = fixture.applied(&fixture.kubeconfig, &fleet);
        assert_eq!(code, Some(1), "{errors}");
        let refused = waits.replace(" failed: ", ": ");
        assert!(
            errors.contains(&refused) && errors.contains(&why),
            "{errors}"
        );
        assert!(
            fixture.has(&fixture.path("configmaps/free")),
            "the others go on"
        );
        let daemon = fixture.daemon(&fixture.kubeconfig, &fleet);
        daemon.until(CheckState::Pending, &["1/2 ready", &waits, &why]);
        fixture.must("PATCH", &held, &json!({"metadata": {"finalizers": null}}));
        fixture.until("the namespace is gone", || !fixture.has(&path));
        let gone = format!("namespace {name} does not exist: add it to the fleet, or create it");
        daemon.until(CheckState::Failure, &[&gone]);
        fixture.put(&namespace);
        daemon.succeeds();
    });
}
