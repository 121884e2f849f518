//! Kinds that the cluster does not serve, or not at this version.

use capstan::model::CheckState;

use super::fixture::{FREE, Fixture, definition, once, prove};

fn widget(group: &str, version: &str) -> String {
    format!(
        "---\n{{apiVersion: {group}/{version}, kind: Widget, metadata: {{name: w, namespace: NS}}, spec: {{size: 1}}}}\n"
    )
}

fn has_widget(fixture: &Fixture, group: &str) -> bool {
    let namespace = &fixture.namespace;
    fixture.has(&format!(
        "/apis/{group}/v1/namespaces/{namespace}/widgets/w"
    ))
}

/// A resource group that no object of the fleet is.
const GROUP: &str = "/subscriptions/3f0c7d3e-52a4-4b6b-9a51-2f1f0d9c7a10/resourceGroups/hub";

#[test]
fn a_missing_kind_is_reported_with_its_supplier_and_applied_once_it_is_served() {
    prove("missing", |fixture| {
        let group = "missing.refusals.dev";
        let foreign = [
            (
                "compute.azure.com/v1api20240302",
                "Disk",
                "install Azure Service Operator, or add compute.azure.com/* to its crdPattern",
            ),
            (
                "hypershift.openshift.io/v1beta1",
                "HostedControlPlane",
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
            .map(|(api_version, kind, _)| format!("---\n{{apiVersion: {api_version}, kind: {kind}, metadata: {{name: some, namespace: NS}}, spec: {{owner: {{armId: {GROUP}}}}}}}\n"))
            .collect();
        let mut missing: Vec<String> = foreign
            .iter()
            .map(|(api_version, kind, help)| format!("the cluster does not serve {kind} of {api_version} or any other version of it: {help}"))
            .collect();
        missing.push(format!("the cluster does not serve Widget of {group}/v1 or any other version of it: install the CustomResourceDefinition of Widget in {group}"));
        let parts: Vec<&str> = missing.iter().map(String::as_str).collect();

        let fleet = format!("{others}{}{FREE}", widget(group, "v1"));
        let (code, errors) = fixture.applied(&fixture.kubeconfig, &fleet);
        assert_eq!(code, Some(1), "{errors}");
        for part in &parts {
            assert!(errors.contains(part), "{part}: {errors}");
        }
        assert!(
            fixture.has(&fixture.path("configmaps/free")),
            "the others go on"
        );
        let mut daemon = fixture.daemon(&fixture.kubeconfig, &fleet);
        let check = daemon.until(CheckState::Failure, &parts);
        for part in &parts {
            once(&check.summary, part);
        }
        fixture.put(&definition(group, &["v1"]));
        fixture.until("the widget is made", || has_widget(fixture, group));
        daemon.push(&format!("{}{FREE}", widget(group, "v1")));
        daemon.succeeds();
    });
}

#[test]
fn the_objects_of_a_missing_kind_are_counted() {
    prove("counted", |fixture| {
        let group = "counted.refusals.dev";
        let widgets: String = ["w", "x", "z"]
            .iter()
            .map(|name| widget(group, "v1").replace("name: w", &format!("name: {name}")))
            .collect();
        let (code, errors) = fixture.applied(&fixture.kubeconfig, &format!("{widgets}{FREE}"));
        assert_eq!(code, Some(1), "{errors}");
        once(&errors, "the cluster does not serve Widget of");
        let first = format!("Widget/{}/w", fixture.namespace);
        once(
            &errors,
            &format!("refused    3 objects, such as {first}: the cluster"),
        );
        once(&errors, "1 created, 3 not applied");
        let (_, again) = fixture.applied(&fixture.kubeconfig, &format!("{widgets}{FREE}"));
        once(&again, "1 unchanged, 3 not applied");
    });
}

#[test]
fn a_version_that_is_not_served_is_reported_with_the_served_ones() {
    prove("versions", |fixture| {
        let group = "versions.refusals.dev";
        fixture.put(&definition(group, &["v1", "v1beta1"]));
        let fleet = format!("{}{FREE}", widget(group, "v2"));
        let expected = format!(
            "the cluster does not serve Widget of {group}/v2, only {group}/v1, {group}/v1beta1: use a served version as its apiVersion"
        );
        fixture.until("the versions are served", || {
            fixture.has(&format!("/apis/{group}/v1beta1"))
        });
        let (code, errors) = fixture.applied(&fixture.kubeconfig, &fleet);
        assert_eq!(code, Some(1), "{errors}");
        assert!(errors.contains(&expected), "{errors}");
        let daemon = fixture.daemon(&fixture.kubeconfig, &fleet);
        let check = daemon.until(CheckState::Failure, &[&expected]);
        once(&check.summary, &expected);
        assert!(
            fixture.has(&fixture.path("configmaps/free")),
            "the others go on"
        );
        fixture.put(&definition(group, &["v1", "v1beta1", "v2"]));
        daemon.succeeds();
    });
}
