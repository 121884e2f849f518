//! What only the wire shows: paths, methods, media types, discovery.

use axum::body::Body;
use http::{Request, Response, StatusCode};
use http_body_util::BodyExt;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::events::v1::Event;
use kube::api::{Api, ListParams, PostParams};
use serde_json::{Value, json};
use tower::ServiceExt;

use super::{Server, server};

pub(super) async fn send(
    server: &Server,
    method: &str,
    path: &str,
    media: &str,
    body: &str,
) -> Response<Body> {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", media)
        .header("user-agent", "kubectl/v1.32")
        .body(Body::from(body.to_owned()))
        .unwrap();
    server.router().oneshot(request).await.unwrap()
}

async fn text(response: Response<Body>) -> String {
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    String::from_utf8(bytes.to_vec()).unwrap()
}

pub(super) async fn value(response: Response<Body>) -> Value {
    serde_json::from_str(&text(response).await).unwrap()
}

#[tokio::test]
async fn an_unknown_path_is_a_plain_page() {
    let server = server();
    for path in ["/apis/example.com/v1/widgets", "/openapi/v2", "/"] {
        let response = send(&server, "GET", path, "", "").await;
        assert_eq!(response.status(), StatusCode::NOT_FOUND, "{path}");
        assert_eq!(text(response).await, "404 page not found\n", "{path}");
    }
}

#[tokio::test]
async fn an_answer_has_a_date() {
    for path in ["/version", "/nowhere"] {
        let response = send(&server(), "GET", path, "", "").await;
        let date = response.headers()["date"].to_str().unwrap();
        assert_eq!(date, "Tue, 01 Jan 2030 00:00:00 GMT", "{path}");
    }
}

#[tokio::test]
async fn an_unknown_subresource_is_reported_in_a_status() {
    let path = "/api/v1/namespaces/default/configmaps/a/status";
    let response = send(&server(), "GET", path, "", "").await;
    assert_eq!(response.status(), StatusCode::NOT_FOUND);
    assert_eq!(value(response).await["reason"], "NotFound");
}

#[tokio::test]
async fn other_methods_are_not_allowed() {
    let server = server();
    for (method, path) in [
        ("POST", "/api/v1/namespaces/default/configmaps/a"),
        ("PUT", "/api/v1/namespaces/default/configmaps"),
        ("POST", "/api/v1/configmaps"),
        ("DELETE", "/api/v1/configmaps"),
        ("DELETE", "/api/v1/namespaces"),
        (
            "DELETE",
            "/apis/apps/v1/namespaces/default/deployments/a/status",
        ),
    ] {
        let response = send(&server, method, path, "application/json", "{}").await;
        assert_eq!(
            response.status(),
            StatusCode::METHOD_NOT_ALLOWED,
            "{method} {path}"
        );
        assert_eq!(value(response).await["reason"], "MethodNotAllowed");
    }
}

#[tokio::test]
async fn bodies_are_json_or_yaml() {
    let server = server();
    let path = "/api/v1/namespaces/default/configmaps";
    let yaml = "metadata:\n  name: a\ndata:\n  k: v\n";
    let made = send(&server, "POST", path, "application/yaml", yaml).await;
    assert_eq!(made.status(), StatusCode::CREATED);
    let made = value(made).await;
    assert_eq!(made["data"]["k"], "v");
    assert_eq!(made["metadata"]["managedFields"][0]["manager"], "kubectl");
    let broken = send(&server, "POST", path, "application/json", "{\"a\":").await;
    assert_eq!(broken.status(), StatusCode::BAD_REQUEST);
    let protobuf = "application/vnd.kubernetes.protobuf";
    let refused = send(&server, "POST", path, protobuf, "k8s").await;
    assert_eq!(refused.status(), StatusCode::UNSUPPORTED_MEDIA_TYPE);
    let apply = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\ndata: {k: v}\n";
    let path = format!("{path}/b?fieldManager=me");
    let applied = send(
        &server,
        "PATCH",
        &path,
        "application/apply-patch+yaml",
        apply,
    )
    .await;
    assert_eq!(applied.status(), StatusCode::CREATED);
    let applied = send(
        &server,
        "PATCH",
        &path,
        "application/apply-patch+yaml",
        apply,
    )
    .await;
    assert_eq!(applied.status(), StatusCode::OK);
    let operations = r#"[{"op":"test","path":"/data/k","value":"v"},{"op":"replace","path":"/data/k","value":"w"}]"#;
    let patched = send(
        &server,
        "PATCH",
        &path,
        "application/json-patch+json",
        operations,
    )
    .await;
    assert_eq!(value(patched).await["data"]["k"], "w");
}

#[tokio::test]
async fn unknown_fields_are_warned_of() {
    let server = server();
    let path = "/api/v1/namespaces/default/configmaps";
    let body = r#"{"metadata":{"name":"a"},"colour":"red"}"#;
    let made = send(&server, "POST", path, "application/json", body).await;
    assert_eq!(
        made.headers()["warning"],
        "299 - \"unknown field \\\"colour\\\"\""
    );
    let strict = format!("{path}?fieldValidation=Strict");
    let refused = send(&server, "POST", &strict, "application/json", body).await;
    assert_eq!(refused.status(), StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn an_update_can_create_where_the_kind_allows_it() {
    let server = server();
    let path = "/apis/coordination.k8s.io/v1/namespaces/default/leases/a";
    let lease = r#"{"metadata":{"name":"a"},"spec":{"holderIdentity":"me"}}"#;
    let made = send(&server, "PUT", path, "application/json", lease).await;
    assert_eq!(made.status(), StatusCode::CREATED);
    let unbased = send(&server, "PUT", path, "application/json", lease).await;
    assert_eq!(unbased.status(), StatusCode::UNPROCESSABLE_ENTITY);
}

#[tokio::test]
async fn discovery_lists_what_is_served() {
    let server = server();
    let client = server.client("default");
    assert_eq!(client.apiserver_version().await.unwrap().major, "1");
    assert_eq!(
        client.list_core_api_versions().await.unwrap().versions,
        ["v1"]
    );
    let groups = client.list_api_groups().await.unwrap();
    assert!(groups.groups.iter().any(|group| group.name == "apps"));
    let discovery = kube::discovery::Discovery::new(client).run().await.unwrap();
    let kind = kube::core::GroupVersionKind::gvk("apps", "v1", "Deployment");
    let (resource, capabilities) = discovery.resolve_gvk(&kind).unwrap();
    assert_eq!(resource.plural, "deployments");
    assert!(capabilities.supports_operation(kube::discovery::verbs::WATCH));
    assert_eq!(
        text(send(&server, "GET", "/readyz", "", "").await).await,
        "ok"
    );
}

#[tokio::test]
async fn events_have_two_faces() {
    let server = server();
    let new: Api<Event> = Api::default_namespaced(server.client("default"));
    let event: Event = serde_json::from_value(json!({
        "metadata": {"name": "e"}, "eventTime": "2030-01-01T00:00:00.000000Z", "note": "hello",
        "action": "a", "reason": "r", "type": "Normal", "reportingController": "c", "reportingInstance": "i",
        "regarding": {"kind": "ConfigMap", "name": "a", "namespace": "default"}}))
    .unwrap();
    new.create(&PostParams::default(), &event).await.unwrap();
    let old: Api<k8s_openapi::api::core::v1::Event> =
        Api::default_namespaced(server.client("default"));
    let by_object = ListParams::default().fields("involvedObject.name=a");
    let seen = old.list(&by_object).await.unwrap();
    assert_eq!(seen.items[0].message.as_deref(), Some("hello"));
    assert_eq!(new.get("e").await.unwrap().note.as_deref(), Some("hello"));
}

#[tokio::test]
async fn a_port_serves_the_same() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let server = server();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = server.router();
    tokio::spawn(async move { axum::serve(listener, router).await });
    let config = kube::Config::new(format!("http://{address}").parse().unwrap());
    let outside: Api<ConfigMap> = Api::default_namespaced(kube::Client::try_from(config).unwrap());
    let inside: Api<ConfigMap> = Api::default_namespaced(server.client("default"));
    let made: ConfigMap = serde_json::from_value(super::config_map("a", json!({}))).unwrap();
    let made = outside.create(&PostParams::default(), &made).await.unwrap();
    assert_eq!(inside.get("a").await.unwrap(), made);
}
