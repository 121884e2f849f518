//! What the cluster's own rules do not let in: of a definition, of a policy, of a quota.

use capstan::model::CheckState;
use serde_json::json;

use super::fixture::{FREE, SECRET, definition, once, prove, prove_real};

#[test]
fn a_violated_validation_rule_is_reported_and_other_objects_are_applied() {
    prove("rule", |fixture| {
        let group = "rule.refusals.dev";
        fixture.put(&definition(group, &["v1"]));
        let path = format!("/apis/{group}/v1/namespaces/{}/widgets", fixture.namespace);
        fixture.until("it is served", || fixture.has(&path));
        let fleet = |size: i32| {
            format!(
                "---\n{{apiVersion: {group}/v1, kind: Widget, metadata: {{name: w, namespace: NS}}, spec: {{size: {size}}}}}\n{FREE}"
            )
        };
        let (code, errors) = fixture.applied(&fixture.kubeconfig, &fleet(-1));
        assert_eq!(code, Some(1), "{errors}");
        let rule = "a widget is not smaller than nothing";
        once(&errors, rule);
        once(&errors, "correct it where it is written");
        assert!(
            fixture.has(&fixture.path("configmaps/free")),
            "the others go on"
        );
        let mut daemon = fixture.daemon(&fixture.kubeconfig, &fleet(-1));
        let widget = format!("Widget/{}/w failed", fixture.namespace);
        let check = daemon.until(CheckState::Failure, &[&widget, rule, "1/2 ready"]);
        once(&check.summary, rule);
        daemon.push(&fleet(1));
        daemon.succeeds();
    });
}

#[test]
fn a_denial_is_reported_with_the_message_of_the_policy_and_ends_with_it() {
    prove_real("policy", |fixture| {
        let name = &fixture.namespace;
        fixture.put(&json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": name},
            "spec": {
                "matchConstraints": {
                    "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}},
                    "resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["secrets"]}],
                },
                "validations": [{"expression": "has(object.metadata.labels) && 'team' in object.metadata.labels", "message": "a Secret belongs to a team"}],
            }}));
        let bindings = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings";
        fixture.must("POST", bindings, &json!({"metadata": {"name": name}, "spec": {"policyName": name, "validationActions": ["Deny"]}}));
        let secrets = fixture.path("secrets?dryRun=All");
        fixture.until("the policy is in force", || {
            fixture
                .ask("POST", &secrets, &json!({"metadata": {"name": "x"}}))
                .0
                != 201
        });
        let fleet = format!("{SECRET}{FREE}");
        let expected = format!(
            "ValidatingAdmissionPolicy '{name}' with binding '{name}' denied request: a Secret belongs to a team. Change the object to comply"
        );
        let (code, errors) = fixture.applied(&fixture.kubeconfig, &fleet);
        assert_eq!(code, Some(1), "{errors}");
        once(&errors, &expected);
        assert!(
            fixture.has(&fixture.path("configmaps/free")),
            "the others go on"
        );
        let daemon = fixture.daemon(&fixture.kubeconfig, &fleet);
        let check = daemon.until(
            CheckState::Failure,
            &[
                "1/2 ready",
                "an admission policy of the cluster denied it",
                &expected,
            ],
        );
        once(&check.summary, &expected);
        fixture.must("DELETE", &format!("{bindings}/{name}"), &json!({}));
        daemon.succeeds();
    });
}

/// No controller counts here: the used amount in the status is what the test wrote.
pub(super) fn is_retried_until_the_quota_allows_it() {
    prove_real("quota", |fixture| {
        let hard = |count: &str| json!({"status": {"hard": {"count/secrets": count}, "used": {"count/secrets": "1"}}});
        fixture.must(
            "POST",
            &fixture.path("resourcequotas"),
            &json!({"metadata": {"name": "small"}, "spec": {"hard": {"count/secrets": "1"}}}),
        );
        let status = fixture.path("resourcequotas/small/status");
        fixture.must("PATCH", &status, &hard("1"));
        let secrets = fixture.path("secrets?dryRun=All");
        fixture.until("the quota counts", || {
            let answer = fixture
                .ask("POST", &secrets, &json!({"metadata": {"name": "x"}}))
                .1;
            answer.to_string().contains("exceeded quota")
        });
        let fleet = format!("{SECRET}{FREE}");
        let (code, errors) = fixture.applied(&fixture.kubeconfig, &fleet);
        assert_eq!(code, Some(1), "{errors}");
        assert!(
            errors.contains("error: not ready within 5s: 1/2 ready"),
            "{errors}"
        );
        assert!(errors.contains("exceeded quota: small"), "{errors}");
        let daemon = fixture.daemon(&fixture.kubeconfig, &fleet);
        let expected = "exceeded quota: small, requested: count/secrets=1, used: count/secrets=1, limited: count/secrets=1. Raise the quota, or remove objects that use it; the request is retried";
        let check = daemon.until(CheckState::Pending, &["1/2 ready", expected]);
        once(&check.summary, expected);
        fixture.must("PATCH", &status, &hard("5"));
        daemon.succeeds();
    });
}
