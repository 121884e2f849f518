//! Kinds that the cluster does not serve, or not at this version.

use capstan::model::CheckState;

use super::stage::{FREE, Stage, definition, once, prove};

fn widget(group: &str, version: &str) -> String {
    format!(
        "---\n{{apiVersion: {group}/{version}, kind: Widget, metadata: {{name: w, namespace: NS}}, spec: {{size: 1}}}}\n"
    )
}

fn has_widget(stage: &Stage, group: &str) -> bool {
    let namespace = &stage.namespace;
    stage.has(&format!(
        "/apis/{group}/v1/namespaces/{namespace}/widgets/w"
    ))
}

#[test]
fn a_missing_kind_is_told_with_its_supplier_and_goes_on_when_it_is_there() {
    prove("missing", |stage| {
        let group = "missing.refusals.dev";
        let foreign = [
            (
                "network.azure.com/v1api20201101",
                "VirtualNetwork",
                "install Azure Service Operator, or add network.azure.com/* to its crdPattern",
            ),
            (
                "hypershift.openshift.io/v1beta1",
                "HostedCluster",
                "install the HyperShift operator",
            ),
            (
                "addons.cluster.x-k8s.io/v1beta2",
                "ClusterResourceSet",
                "install Cluster API, or the Cluster API provider that serves ClusterResourceSet",
            ),
        ];
        let others: String = foreign
            .iter()
            .map(|(api_version, kind, _)| format!("---\n{{apiVersion: {api_version}, kind: {kind}, metadata: {{name: x, namespace: NS}}}}\n"))
            .collect();
        let mut missing: Vec<String> = foreign
            .iter()
            .map(|(api_version, kind, help)| format!("the cluster does not serve {kind} of {api_version} or any other version of it: {help}"))
            .collect();
        missing.push(format!("the cluster does not serve Widget of {group}/v1 or any other version of it: install the CustomResourceDefinition of Widget in {group}"));
        let parts: Vec<&str> = missing.iter().map(String::as_str).collect();

        let fleet = format!("{others}{}{FREE}", widget(group, "v1"));
        let (code, said) = stage.applied(&stage.kubeconfig, &fleet);
        assert_eq!(code, Some(1), "{said}");
        for part in &parts {
            assert!(said.contains(part), "{part}: {said}");
        }
        assert!(
            stage.has(&stage.path("configmaps/free")),
            "the others go on"
        );
        let mut daemon = stage.daemon(&stage.kubeconfig, &fleet);
        let check = daemon.until(CheckState::Failure, &parts);
        for part in &parts {
            once(&check.summary, part);
        }
        stage.put(&definition(group, &["v1"]));
        stage.until("the widget is made", || has_widget(stage, group));
        daemon.push(&format!("{}{FREE}", widget(group, "v1")));
        daemon.succeeds();
    });
}

#[test]
fn a_version_that_is_not_served_is_told_with_those_that_are() {
    prove("versions", |stage| {
        let group = "versions.refusals.dev";
        stage.put(&definition(group, &["v1", "v1beta1"]));
        let fleet = format!("{}{FREE}", widget(group, "v2"));
        let expected = format!(
            "the cluster does not serve Widget of {group}/v2, only {group}/v1, {group}/v1beta1: use a served version as its apiVersion"
        );
        stage.until("the versions are served", || {
            stage.has(&format!("/apis/{group}/v1beta1"))
        });
        let (code, said) = stage.applied(&stage.kubeconfig, &fleet);
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains(&expected), "{said}");
        let daemon = stage.daemon(&stage.kubeconfig, &fleet);
        let check = daemon.until(CheckState::Failure, &[&expected]);
        once(&check.summary, &expected);
        assert!(
            stage.has(&stage.path("configmaps/free")),
            "the others go on"
        );
        stage.put(&definition(group, &["v1", "v1beta1", "v2"]));
        daemon.succeeds();
    });
}
