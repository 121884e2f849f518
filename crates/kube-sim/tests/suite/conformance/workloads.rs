//! Built-in kinds that come with a cluster definition: defaults, and what may not change.
//!
//! Deployments are written in dry runs, or silently: the real server's controller writes them too.

use serde_json::{Value as Json, json};

use super::{behaviours, thing};
use crate::session::{Ask, GROUP, Session};

const RBAC: &str = "rbac.authorization.k8s.io";

fn deployment() -> Json {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": {"app": "a"}},
            "template": {
                "metadata": {"labels": {"app": "a"}},
                "spec": {"containers": [{"name": "c", "image": "registry.example.com/i:1", "ports": [{"containerPort": 80}]}]},
            },
        },
    })
}

fn service(spec: &Json) -> Json {
    json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": spec})
}

fn rbac(s: &Session, plural: &str) -> String {
    format!("/apis/{RBAC}/v1/namespaces/{}/{plural}", s.namespace)
}

async fn a_deployment_has_defaults(s: &Session) {
    s.post("deployments?dryRun=All", &deployment()).await;
    let mut other = deployment();
    other["spec"]["template"]["spec"] = json!({
        "serviceAccountName": "sa",
        "initContainers": [{"name": "i", "image": "i"}],
        "containers": [{"name": "c", "image": "i:latest", "env": [{"name": "E", "value": "v"}],
            "resources": {"requests": {"cpu": "100m"}},
            "livenessProbe": {"httpGet": {"path": "/healthz", "port": 80}},
            "volumeMounts": [{"name": "v", "mountPath": "/v"}]}],
        "volumes": [{"name": "v", "secret": {"secretName": "s"}}, {"name": "w", "configMap": {"name": "c"}},
            {"name": "e", "emptyDir": {}}],
    });
    other["spec"]["strategy"] = json!({"type": "Recreate"});
    s.post("deployments?dryRun=All", &other).await;
}

async fn a_deployment_is_checked(s: &Session) {
    let edited = |edit: fn(&mut Json)| {
        let mut deployment = deployment();
        edit(&mut deployment["spec"]);
        deployment
    };
    for wrong in [
        edited(|spec| spec["selector"] = json!({})),
        edited(|spec| spec["selector"] = json!({"matchLabels": {"app": "b"}})),
        edited(|spec| spec["template"]["spec"]["containers"] = json!([])),
        edited(|spec| spec["replicas"] = json!(-1)),
        edited(|spec| spec["template"]["spec"]["containers"][0]["name"] = json!("")),
        edited(|spec| spec["template"]["spec"]["containers"][0]["image"] = json!("")),
        edited(|spec| spec["template"]["spec"]["restartPolicy"] = json!("Never")),
    ] {
        s.post("deployments?dryRun=All", &wrong).await;
    }
    let bare = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}});
    s.post("deployments?dryRun=All", &bare).await;
}

async fn a_deployment_keeps_its_selector(s: &Session) {
    let ask = Ask::new("POST", "deployments").json(&deployment());
    s.send(ask.silent()).await;
    let labels = json!({"app": "b"});
    let patch = json!({"spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}}}});
    s.merge("deployments/a", &patch).await;
    let scaled = Ask::new("PATCH", "deployments/a?fieldManager=m").body(
        "application/merge-patch+json",
        json!({"spec": {"paused": true}}).to_string(),
    );
    let reply = s.send(scaled.silent()).await;
    s.note(&format!(
        "{} {}",
        reply.status, reply.body["spec"]["paused"]
    ));
}

async fn a_deployment_keeps_labels_from_its_status(s: &Session) {
    let ask = Ask::new("POST", "deployments").json(&deployment());
    s.send(ask.silent()).await;
    let patch = json!({"metadata": {"labels": {"l": "1"}, "annotations": {"n": "1"}}, "spec": {"replicas": 3},
        "status": {"conditions": [{"type": "Mine", "status": "True"}]}});
    let ask = Ask::new("PATCH", "deployments/a/status")
        .body("application/merge-patch+json", patch.to_string());
    let reply = s.send(ask.silent()).await;
    let metadata = &reply.body["metadata"];
    s.note(&format!(
        "{} {} {} {}",
        reply.status,
        metadata["labels"],
        metadata["annotations"]["n"],
        reply.body["spec"]["replicas"]
    ));
}

async fn a_headless_service_has_defaults(s: &Session) {
    let spec = json!({"clusterIP": "None", "selector": {"app": "a"}, "ports": [{"name": "a", "port": 80}, {"name": "b", "port": 81, "targetPort": "web"}]});
    s.post(
        "services?dryRun=All",
        &service(&json!({"clusterIP": "None", "ports": [{"port": 80}]})),
    )
    .await;
    s.post("services?dryRun=All", &service(&spec)).await;
    let unnamed = json!({"clusterIP": "None", "selector": {"app": "a"}, "ports": [{"port": 80}, {"port": 81}]});
    s.post("services?dryRun=All", &service(&unnamed)).await;
    s.post(
        "services?dryRun=All",
        &service(&json!({"type": "ExternalName", "externalName": "e.example.com"})),
    )
    .await;
    s.post(
        "services?dryRun=All",
        &service(&json!({"type": "ClusterIP"})),
    )
    .await;
    s.post(
        "services?dryRun=All",
        &service(&json!({"type": "Other", "ports": [{"port": 0}]})),
    )
    .await;
}

async fn an_address_of_a_service_stays(s: &Session) {
    let ask = Ask::new("POST", "services").json(&service(&json!({"ports": [{"port": 80}]})));
    let made = s.send(ask.silent()).await;
    s.note(&format!(
        "{} {}",
        made.status,
        made.at("/spec/clusterIP").starts_with("10.")
    ));
    let patch = |ip: &str| {
        let patch = json!({"spec": {"clusterIP": ip, "clusterIPs": [ip]}});
        Ask::new("PATCH", "services/a").body("application/merge-patch+json", patch.to_string())
    };
    s.send(patch("10.0.200.200")).await;
    s.send(patch("None")).await;
    let mut body = made.body.clone();
    for key in ["clusterIP", "clusterIPs"] {
        body["spec"].as_object_mut().expect("a map").remove(key);
    }
    let kept = s
        .send(Ask::new("PUT", "services/a").json(&body).silent())
        .await;
    s.note(&format!(
        "{} {}",
        kept.status,
        kept.at("/spec/clusterIP") == made.at("/spec/clusterIP")
    ));
}

async fn a_secret_has_defaults(s: &Session) {
    let secret = |rest: Json| {
        let mut made = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}});
        for (key, value) in rest.as_object().expect("a map") {
            made[key] = value.clone();
        }
        made
    };
    s.post(
        "secrets",
        &secret(json!({"stringData": {"a": "text", "b": ""}, "data": {"a": "b2xk"}})),
    )
    .await;
    s.merge("secrets/a", &json!({"stringData": {"c": "new"}}))
        .await;
    s.merge("secrets/a", &json!({"type": "other"})).await;
    s.merge("secrets/a", &json!({"immutable": true})).await;
    s.merge("secrets/a", &json!({"data": {"a": null}})).await;
    s.merge("secrets/a", &json!({"immutable": false})).await;
    s.merge("secrets/a", &json!({"metadata": {"labels": {"l": "1"}}}))
        .await;
    for wrong in [
        json!({"data": {"a b": "dGV4dA=="}}),
        json!({"type": "kubernetes.io/tls", "data": {"tls.crt": "dGV4dA=="}}),
        json!({"type": "kubernetes.io/dockerconfigjson", "data": {}}),
        json!({"type": "kubernetes.io/basic-auth", "data": {}}),
        json!({"type": "kubernetes.io/service-account-token"}),
    ] {
        s.post("secrets?dryRun=All", &secret(wrong)).await;
    }
    let bad = secret(json!({"data": {"a": "not base64!"}}));
    s.send(Ask::new("POST", "secrets?dryRun=All").json(&bad).gist())
        .await;
}

async fn a_config_map_is_checked(s: &Session) {
    let config_map = |rest: Json| {
        let mut made = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
        for (key, value) in rest.as_object().expect("a map") {
            made[key] = value.clone();
        }
        made
    };
    for body in [
        json!({"data": {"a b": "v"}}),
        json!({"data": {"": "v"}}),
        json!({"data": {"..": "v"}}),
        json!({"data": {"..a": "v"}}),
        json!({"data": {"a": "v"}, "binaryData": {"a": "dGV4dA=="}}),
        json!({"data": {}, "binaryData": {"b": "dGV4dA=="}}),
        json!({"data": {"a": "x".repeat(1_048_577)}}),
    ] {
        s.post("configmaps?dryRun=All", &config_map(body)).await;
    }
    s.post(
        "configmaps",
        &config_map(json!({"data": {"a": "1"}, "immutable": true})),
    )
    .await;
    s.merge("configmaps/a", &json!({"data": {"a": "2"}})).await;
    s.merge(
        "configmaps/a",
        &json!({"immutable": null, "binaryData": {"b": "dGV4dA=="}}),
    )
    .await;
}

async fn roles_and_bindings_have_defaults(s: &Session) {
    let role = json!({"apiVersion": format!("{RBAC}/v1"), "kind": "Role", "metadata": {"name": "a"},
        "rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]});
    s.post(&rbac(s, "roles"), &role).await;
    let mut wrong = role.clone();
    wrong["metadata"]["name"] = json!("b");
    wrong["rules"] = json!([{"apiGroups": [""], "resources": ["secrets"]}, {"verbs": ["get"]}]);
    s.post(&rbac(s, "roles"), &wrong).await;
    let binding = json!({"apiVersion": format!("{RBAC}/v1"), "kind": "RoleBinding", "metadata": {"name": "a"},
        "roleRef": {"kind": "Role", "name": "a"},
        "subjects": [{"kind": "ServiceAccount", "name": "sa"}, {"kind": "User", "name": "u"}]});
    s.post(&rbac(s, "rolebindings"), &binding).await;
    s.merge(
        &format!("{}/a", rbac(s, "rolebindings")),
        &json!({"roleRef": {"name": "b"}}),
    )
    .await;
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "sa"}, "imagePullSecrets": [{"name": "s"}]});
    s.post("serviceaccounts", &account).await;
}

async fn a_role_is_made_by_a_replacement(s: &Session) {
    let role = json!({"apiVersion": format!("{RBAC}/v1"), "kind": "Role", "metadata": {"name": "a"}, "rules": []});
    s.put(&format!("{}/a", rbac(s, "roles")), &role).await;
    s.put(&format!("{}/a", rbac(s, "roles")), &role).await;
    let config_map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
    s.put("configmaps/a", &config_map).await;
    s.put("secrets/a", &json!({"metadata": {"name": "a"}}))
        .await;
    s.put("serviceaccounts/a", &json!({"metadata": {"name": "a"}}))
        .await;
    s.put(
        "services/a",
        &service(&json!({"clusterIP": "None", "ports": [{"port": 80}]})),
    )
    .await;
    s.put("deployments/a?dryRun=All", &deployment()).await;
}

/// A StatefulSet, which no controller of the real server writes.
fn stateful_set() -> Json {
    let mut made = deployment();
    made["kind"] = json!("StatefulSet");
    made["spec"]["template"]["spec"]["containers"] = json!([
        {"name": "one", "image": "i:1", "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "1"}]},
        {"name": "two", "image": "i:1"},
    ]);
    made
}

async fn a_strategic_patch_knows_the_keys_of_lists(s: &Session) {
    s.post("statefulsets", &stateful_set()).await;
    let containers =
        |containers: Json| json!({"spec": {"template": {"spec": {"containers": containers}}}});
    for patch in [
        containers(json!([{"name": "two", "image": "i:2"}])),
        containers(
            json!([{"name": "one", "env": [{"name": "B", "value": "2"}, {"name": "C", "value": "1"}]}]),
        ),
        json!({"spec": {"template": {"spec": {
            "$setElementOrder/containers": [{"name": "one"}, {"name": "two"}, {"name": "three"}],
            "containers": [{"name": "three", "image": "i:1"}],
        }}}}),
        containers(json!([{"name": "three", "$patch": "delete"}])),
        containers(
            json!([{"name": "one", "env": [{"$patch": "replace"}, {"name": "D", "value": "1"}]}]),
        ),
        json!({"metadata": {"labels": {"l": "1"}}, "spec": {"template": {"metadata": {"labels": {"m": "1"}}}}}),
        json!({"metadata": {"labels": {"l": null}}}),
        json!({"spec": {"updateStrategy": {"$retainKeys": ["type"], "type": "OnDelete"}}}),
    ] {
        s.strategic("statefulsets/a", &patch).await;
    }
    let ordered = json!({"spec": {"template": {"spec": {"$setElementOrder/containers": [{"name": "two"}, {"name": "one"}],
        "containers": [{"name": "one", "image": "i:3"}]}}}});
    s.strategic("statefulsets/a", &ordered).await;
}

async fn a_strategic_patch_is_for_built_in_kinds(s: &Session) {
    s.install(&thing()).await;
    let made =
        json!({"apiVersion": format!("{GROUP}/v1"), "kind": "Thing", "metadata": {"name": "a"}});
    s.post("things", &made).await;
    s.strategic("things/a", &json!({"spec": {"text": "a"}}))
        .await;
    s.post(
        "configmaps",
        &json!({"metadata": {"name": "a"}, "data": {"a": "1", "b": "1"}}),
    )
    .await;
    s.strategic("configmaps/a", &json!({"data": {"a": null, "c": "1"}}))
        .await;
    s.strategic(
        "configmaps/a",
        &json!({"data": {"$patch": "replace", "d": "1"}}),
    )
    .await;
    s.strategic(
        "configmaps/a",
        &json!({"metadata": {"resourceVersion": "1"}}),
    )
    .await;
    s.strategic("configmaps/a", &json!({"metadata": {"name": "b"}}))
        .await;
    s.strategic("configmaps/none", &json!({})).await;
    s.strategic("configmaps/a?dryRun=All", &json!({"data": {"e": "1"}}))
        .await;
    s.strategic("configmaps/a", &json!({})).await;
    for wrong in [json!([]), json!({"data": {"$patch": "dance"}})] {
        let ask = Ask::new("PATCH", "configmaps/a")
            .body("application/strategic-merge-patch+json", wrong.to_string());
        s.send(ask.gist()).await;
    }
}

behaviours! { Api:
    a_deployment_has_defaults,
    a_deployment_is_checked,
    a_deployment_keeps_its_selector,
    a_deployment_keeps_labels_from_its_status,
    a_headless_service_has_defaults,
    an_address_of_a_service_stays,
    a_secret_has_defaults,
    a_config_map_is_checked,
    roles_and_bindings_have_defaults,
    a_role_is_made_by_a_replacement,
    a_strategic_patch_knows_the_keys_of_lists,
    a_strategic_patch_is_for_built_in_kinds,
}
