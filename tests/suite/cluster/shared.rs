//! The real server that the tests of what the simulator cannot show have in common: each is in a
//! namespace of its own, and whoever is played in one sees no other.

use std::sync::OnceLock;

use capstan::adapters::azure_sim::crds::foreign;
use http::{Request, Uri};
use kube::Client;
use kube::client::Body;

use super::pipeline::{apply, established, runtime};
use crate::kubernetes::Kubernetes;

/// That server, which serves the kinds of a management cluster; none when the machine has none.
pub(super) fn server() -> Option<&'static Kubernetes> {
    static KINDS: OnceLock<()> = OnceLock::new();
    let server = Kubernetes::common()?;
    KINDS.get_or_init(|| {
        runtime().block_on(async {
            let client = server.client().await;
            for definition in foreign().into_iter().chain(capstan::api::crds::crds()) {
                apply(&client, &definition).await;
            }
            established(&client).await;
        });
    });
    Some(server)
}

/// A client for which all namespaces are this one.
pub(super) fn within(client: Client, namespace: &str) -> Client {
    let namespace = namespace.to_owned();
    let service = tower::service_fn(move |mut request: Request<Body>| {
        if let Some(uri) = narrowed(request.uri(), &namespace) {
            *request.uri_mut() = uri;
        }
        let client = client.clone();
        async move { client.send(request).await }
    });
    Client::new(service, "default")
}

/// The address in `namespace` of what is asked of all namespaces.
fn narrowed(uri: &Uri, namespace: &str) -> Option<Uri> {
    let parts: Vec<&str> = uri.path().split('/').skip(1).collect();
    let (root, plural) = match parts[..] {
        ["api", version, plural @ ("configmaps" | "secrets")] => (format!("api/{version}"), plural),
        ["apis", group, version, plural]
            if group.ends_with(".azure.com") || group.ends_with("cluster.x-k8s.io") =>
        {
            (format!("apis/{group}/{version}"), plural)
        }
        _ => return None,
    };
    let query = uri.query().map(|query| format!("?{query}"));
    let query = query.unwrap_or_default();
    let uri = format!("/{root}/namespaces/{namespace}/{plural}{query}");
    Some(uri.parse().expect("an address"))
}
