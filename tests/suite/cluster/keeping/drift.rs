//! What others change, and what only looks like it.

use capstan::apply::State;
use serde_json::json;

use super::fixture::{Fixture, annotated, comes, map, on_real, prove, revision, theirs};

#[test]
fn what_somebody_changes_is_put_right_and_they_are_named() {
    prove("put_right", &async |fixture: &Fixture| {
        let mut kept = fixture.keep(&map("a", "ours"), &revision("1")).await;
        fixture
            .apply_as(
                "kubectl-edit",
                &theirs("a", &json!({"k": "theirs", "more": "1"})),
            )
            .await;
        let progress = kept.until("a", State::Progressing).await;
        assert!(
            progress
                .message
                .starts_with(".data.k was changed by kubectl-edit"),
            "{}",
            progress.message
        );
        kept.until_so(async || {
            fixture
                .config_map("a")
                .await
                .is_some_and(|live| live["data"]["k"] == "ours")
        })
        .await;
        let live = fixture.config_map("a").await.expect("it is there");
        assert_eq!(live["data"]["more"], "1", "that is theirs");
    });
}

#[test]
fn a_changed_mark_of_the_last_apply_is_restored() {
    prove("put_right_mark", &async |fixture: &Fixture| {
        let mut kept = fixture.keep(&map("a", "ours"), &revision("1")).await;
        let mut bare = theirs("a", &json!({"k": "theirs"}));
        bare["metadata"]["annotations"] = json!({"capstan.dev/applied": "theirs"});
        fixture.apply_as("somebody", &bare).await;
        kept.until_so(async || {
            let live = fixture.config_map("a").await.expect("it is there");
            let mark = &live["metadata"]["annotations"]["capstan.dev/applied"];
            live["data"]["k"] == "ours" && mark != "theirs"
        })
        .await;
    });
}

#[test]
fn what_is_deleted_comes_back_and_so_does_a_label() {
    prove("comes_back", &async |fixture: &Fixture| {
        let mut kept = fixture.keep(&map("a", "v"), &revision("1")).await;
        let uid = fixture.config_map("a").await.expect("it is there")["metadata"]["uid"].clone();
        fixture.delete("a").await;
        kept.until_so(async || {
            fixture
                .config_map("a")
                .await
                .is_some_and(|live| live["metadata"]["uid"] != uid)
        })
        .await;
        let mut bare = theirs("a", &json!({}));
        bare["metadata"]["labels"] = json!({"applyset.kubernetes.io/part-of": null});
        fixture.change_as("somebody", &bare).await;
        let labelled = async || {
            let live = fixture.config_map("a").await.expect("it is there");
            live["metadata"]["labels"]["applyset.kubernetes.io/part-of"].is_string()
        };
        kept.until_so(labelled).await;
    });
}

const NORMALISED: &str = "\
{apiVersion: apps/v1, kind: Deployment, metadata: {name: d, namespace: NS}, spec: {replicas: 0, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {imagePullSecrets: [], initContainers: [], tolerations: [], volumes: [], containers: [{name: c, image: i, env: [], volumeMounts: [], resources: {limits: {cpu: 1000m, memory: 1024Mi}}, ports: [{containerPort: 80}]}]}}}, status: {}}
---
{apiVersion: v1, kind: Service, metadata: {name: s, namespace: NS, creationTimestamp: null}, spec: {selector: {a: b}, ports: [{name: http, port: 80}, {name: dns, port: 53, protocol: UDP}]}, status: {loadBalancer: {}}}
---
{apiVersion: v1, kind: Secret, metadata: {name: x, namespace: NS}, stringData: {password: \"\"}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: r, namespace: NS}, rules: [{apiGroups: [\"\"], resources: [pods], verbs: [get]}]}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: sa, namespace: NS}, secrets: [], imagePullSecrets: []}
---
{apiVersion: batch/v1, kind: CronJob, metadata: {name: cj, namespace: NS}, spec: {schedule: \"@daily\", suspend: true, jobTemplate: {spec: {template: {spec: {restartPolicy: Never, volumes: [], containers: [{name: c, image: i, envFrom: []}]}}}}}, status: {}}
";

#[test]
fn what_the_server_makes_of_a_value_is_no_drift_and_costs_nothing_after_a_restart() {
    prove("no_drift", &async |fixture: &Fixture| {
        let mut kept = fixture.keep(NORMALISED, &revision("1")).await;
        if fixture.has_controllers {
            kept.until_so(async || fixture.parent("one").await.ready == "1")
                .await;
        }
        let _ = fixture.writes();
        // Controllers write their status, and defaults of their own.
        fixture.change_as("some-controller", &json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "sa", "labels": {"l": "1"}}})).await;
        let quiet = tokio::time::Duration::from_secs(2);
        tokio::time::sleep(quiet).await;
        assert_eq!(fixture.asked(), [], "nothing is asked of the server");
        while kept.reports_within(quiet).await {}
        drop(kept);
        let kept = fixture.keep(NORMALISED, &revision("1")).await;
        assert_eq!(fixture.writes(), [], "nor written after a restart");
        assert!(
            kept.seen
                .iter()
                .all(|progress| progress.state != State::Failed)
        );
    });
}

#[test]
fn what_a_policy_makes_of_a_value_is_no_drift_and_costs_nothing_after_a_restart() {
    on_real("mutated", &async |fixture: &Fixture| {
        let named = json!({"name": fixture.namespace});
        let here = json!({"matchLabels": {"kubernetes.io/metadata.name": fixture.namespace}});
        let api_version = "admissionregistration.k8s.io/v1beta1";
        let changes = "[JSONPatch{op: 'add', path: '/data/k', value: 'theirs'}, \
                        JSONPatch{op: 'add', path: '/data/added', value: '1'}]";
        fixture.create_wide(&json!({"apiVersion": api_version, "kind": "MutatingAdmissionPolicy", "metadata": named, "spec": {
            "reinvocationPolicy": "Never",
            "matchConstraints": {"namespaceSelector": here, "resourceRules": [
                {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["configmaps"]},
            ]},
            "matchConditions": [{"name": "ours", "expression": "object.metadata.name == 'a'"}],
            "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": changes}}],
        }})).await;
        fixture.create_wide(&json!({"apiVersion": api_version, "kind": "MutatingAdmissionPolicyBinding", "metadata": named,
            "spec": {"policyName": fixture.namespace}})).await;
        let is_theirs =
            |map: &serde_json::Value| map["data"] == json!({"k": "theirs", "added": "1"});
        let ours = theirs("a", &json!({"k": "ours"}));
        let is_served = comes(async || is_theirs(&fixture.would_be(&ours).await));
        assert!(is_served.await, "the policy never took effect");
        let kept = fixture.keep(&map("a", "ours"), &revision("1")).await;
        assert!(is_theirs(
            &fixture.config_map("a").await.expect("it is there")
        ));
        let _ = fixture.writes();
        let mut labelled = theirs("a", &json!({}));
        labelled["metadata"]["labels"] = json!({"l": "1"});
        fixture.change_as("some-controller", &labelled).await;
        tokio::time::sleep(tokio::time::Duration::from_secs(2)).await;
        assert_eq!(fixture.asked(), [], "nothing is asked of the server");
        drop(kept);
        drop(fixture.keep(&map("a", "ours"), &revision("1")).await);
        assert_eq!(fixture.writes(), [], "nor written after a restart");
        drop(fixture.keep(&map("a", "again"), &revision("2")).await);
        assert!(is_theirs(
            &fixture.config_map("a").await.expect("it is there")
        ));
    });
}

#[test]
fn what_is_left_to_others_stays_theirs() {
    prove("left_to_others", &async |fixture: &Fixture| {
        let left = |value: &str| {
            annotated(
                "a",
                &format!("{value}, theirs: first"),
                "{capstan.dev/ignore: /data/theirs}",
            )
        };
        let kept = fixture.keep(&left("once"), &revision("1")).await;
        let live = fixture.config_map("a").await.expect("it is there");
        assert_eq!(live["data"]["theirs"], "first", "it is made with it");
        let _ = fixture.writes();
        fixture
            .apply_as("autoscaler", &theirs("a", &json!({"theirs": "second"})))
            .await;
        tokio::time::sleep(tokio::time::Duration::from_secs(2)).await;
        assert_eq!(fixture.writes(), []);
        drop(kept);
        drop(fixture.keep(&left("again"), &revision("2")).await);
        let live = fixture.config_map("a").await.expect("it is there");
        assert_eq!(live["data"], json!({"k": "again", "theirs": "second"}));
    });
}

/// A Secret of a fleet; `more` are lines of its texts.
fn texts(more: &str) -> String {
    let allow = "# capstan:allow P01 it is no secret";
    let more: String = more
        .lines()
        .map(|line| format!("  {line} {allow}\n"))
        .collect();
    format!(
        "apiVersion: v1\nkind: Secret\nmetadata: {{name: x, namespace: NS}}\ndata:\n  b: Yg== {allow}\nstringData:\n{more}"
    )
}

#[test]
fn a_text_of_a_secret_is_put_right_and_goes_with_its_line() {
    prove("texts", &async |fixture: &Fixture| {
        let first = texts("url: one\nold: x\nb: over");
        let mut kept = fixture.keep(&first, &revision("1")).await;
        let data = async || {
            let live = fixture.live("v1", "Secret", "x").await;
            live.expect("it is there")["data"].clone()
        };
        let expected = json!({"url": "b25l", "old": "eA==", "b": "b3Zlcg=="});
        assert_eq!(data().await, expected);
        let theirs = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}, "data": {"url": "aGFja2Vk"}});
        fixture.change_as("kubectl-patch", &theirs).await;
        let progress = kept.until("x", State::Progressing).await;
        assert!(
            progress
                .message
                .starts_with(".data.url was changed by kubectl-patch"),
            "{}",
            progress.message
        );
        kept.until_so(async || data().await == expected).await;
        drop(kept);
        let _ = fixture.writes();
        drop(fixture.keep(&first, &revision("1")).await);
        assert_eq!(fixture.writes(), [], "nothing is written after a restart");
        drop(
            fixture
                .keep(&texts("url: one\nb: over"), &revision("2"))
                .await,
        );
        assert_eq!(data().await, json!({"url": "b25l", "b": "b3Zlcg=="}));
    });
}

#[test]
fn a_field_that_leaves_the_fleet_and_stays_is_named_with_the_reason() {
    prove("stays", &async |fixture: &Fixture| {
        let both = annotated("a", "v, l: v, m: v", "{}");
        drop(fixture.keep(&both, &revision("1")).await);
        fixture
            .apply_as("another", &theirs("a", &json!({"l": "v"})))
            .await;
        let why = ".data.l stays: another owns it, too";
        let kept = fixture.keep(&map("a", "v"), &revision("2")).await;
        let applied = kept
            .seen
            .iter()
            .find(|progress| progress.state == State::Applied);
        assert_eq!(applied.expect("it was applied").message, why);
        let live = fixture.config_map("a").await.expect("it is there");
        assert_eq!(live["data"], json!({"k": "v", "l": "v"}));
        let reasons = async || fixture.parent("one").await.kept;
        let first = reasons().await.first;
        assert_eq!((first.len(), first[0].message.as_str()), (1, why));
        drop(kept);
        // A restart forgets it no more than the cluster does; the next revision is another matter.
        drop(fixture.keep(&map("a", "v"), &revision("2")).await);
        assert_eq!(reasons().await.first, first);
        drop(fixture.keep(&map("a", "w"), &revision("3")).await);
        assert!(reasons().await.is_empty());
    });
}
