//! A namespace that is being deleted.

use capstan::model::CheckState;
use serde_json::json;

use super::stage::{FREE, prove};

pub(super) fn waits_until_it_is_made_again() {
    prove("ending", |stage| {
        let name = format!("{}-it", stage.namespace);
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        stage.put(&namespace);
        let path = format!("/api/v1/namespaces/{name}");
        let held = format!("{path}/configmaps/held");
        stage.put(&json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "held", "namespace": name, "finalizers": ["refusals.dev/hold"]}}));
        stage.must("DELETE", &path, &json!({}));
        let inside = format!(
            "---\n{{apiVersion: v1, kind: ConfigMap, metadata: {{name: inside, namespace: {name}}}}}\n"
        );
        let fleet = format!("{inside}{FREE}");
        let waits = format!(
            "ConfigMap/{name}/inside failed: its namespace is being deleted: "
        );
        let why = format!(
            "namespace {name} because it is being terminated. It is applied once the namespace is gone and created again. If that takes long, check what is left"
        );
        let (code, said) = stage.applied(&stage.kubeconfig, &fleet);
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains(&waits) && said.contains(&why), "{said}");
        assert!(
            stage.has(&stage.path("configmaps/free")),
            "the others go on"
        );
        let daemon = stage.daemon(&stage.kubeconfig, &fleet);
        daemon.until(CheckState::Pending, &["1/2 ready", &waits, &why]);
        stage.must("PATCH", &held, &json!({"metadata": {"finalizers": null}}));
        stage.until("the namespace is gone", || !stage.has(&path));
        let gone = format!("namespace {name} does not exist: add it to the fleet, or create it");
        daemon.until(CheckState::Failure, &[&gone]);
        stage.put(&namespace);
        daemon.succeeds();
    });
}
