//! The Secrets that HyperShift makes for the administrators of a cluster. The password is made up.

use serde_json::{Value, json};

use super::apis::HostedApis;
use crate::health::Live;
use crate::model::ObjectId;
use crate::reconcile::links;
use crate::reconcile::outcome::{Outcome, Write};
use crate::reconcile::world::World;

/// The names of the Secrets with the kubeconfig and with the password of a cluster.
pub(super) fn names(cluster: Live<'_>) -> [String; 2] {
    ["admin-kubeconfig", "kubeadmin-password"].map(|end| format!("{}-{end}", cluster.name()))
}

/// Makes those that are missing, for a cluster that says that its API is at `endpoint`. The kubeconfig leads to where it is served.
pub(super) fn reconcile(
    world: World<'_>,
    cluster: Live<'_>,
    endpoint: Live<'_>,
    (apis, outcome): (&HostedApis, &mut Outcome),
) {
    let [kubeconfig, password] = names(cluster);
    let made_up = json!("simulated");
    for (name, key, content) in [
        (kubeconfig, "kubeconfig", content(cluster, endpoint, apis)),
        (password, "password", made_up),
    ] {
        let id = ObjectId::new("", "Secret", cluster.namespace(), name.as_str());
        if world.get(&id).is_absent() {
            outcome.write(Write::Apply(json!({
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {
                    "name": name,
                    "namespace": cluster.namespace(),
                    "ownerReferences": [links::owned_by(cluster, false)],
                },
                "stringData": {key: content},
            })));
        }
        outcome.need(id);
    }
}

fn content(cluster: Live<'_>, endpoint: Live<'_>, apis: &HostedApis) -> Value {
    let name = cluster.name();
    let nowhere = || {
        let (host, port) = (endpoint.text(&["host"]), endpoint.count(&["port"]));
        let server = json!({"server": format!("https://{host}:{port}")});
        (server, "simulated".to_owned())
    };
    let (entry, token) = apis.entry(cluster).unwrap_or_else(nowhere);
    let kubeconfig = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": entry}],
        "users": [{"name": "admin", "user": {"token": token}}],
        "contexts": [{"name": "admin", "context": {"cluster": name, "user": "admin"}}],
        "current-context": "admin",
    });
    json!(kubeconfig.to_string())
}
