//! The Secrets that HyperShift makes for the administrators of a cluster. Their content is made up.

use serde_json::{Value, json};

use crate::health::Live;
use crate::model::ObjectId;
use crate::reconcile::links;
use crate::reconcile::outcome::{Outcome, Write};
use crate::reconcile::world::World;

/// The names of the Secrets with the kubeconfig and with the password of a cluster.
pub(super) fn names(cluster: Live<'_>) -> [String; 2] {
    ["admin-kubeconfig", "kubeadmin-password"].map(|end| format!("{}-{end}", cluster.name()))
}

/// Makes those that are missing, for a cluster whose API is at `endpoint`.
pub(super) fn reconcile(
    world: World<'_>,
    cluster: Live<'_>,
    endpoint: Live<'_>,
    outcome: &mut Outcome,
) {
    let [kubeconfig, password] = names(cluster);
    let made_up = json!("simulated");
    for (name, key, content) in [
        (kubeconfig, "kubeconfig", content(cluster, endpoint)),
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

fn content(cluster: Live<'_>, endpoint: Live<'_>) -> Value {
    let (host, port) = (endpoint.text(&["host"]), endpoint.count(&["port"]));
    let name = cluster.name();
    let kubeconfig = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": {"server": format!("https://{host}:{port}")}}],
        "users": [{"name": "admin", "user": {"token": "simulated"}}],
        "contexts": [{"name": "admin", "context": {"cluster": name, "user": "admin"}}],
        "current-context": "admin",
    });
    json!(kubeconfig.to_string())
}
