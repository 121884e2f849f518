//! A NetworkPolicy for the pods of a component: what may reach them.
//!
//! In: the component's name and ports. Out: an object. It says nothing of what the pods may reach: API servers, repositories and
//! forges have addresses that no manifest knows.

use serde_json::{Value as Json, json};

use super::component::APP;
use crate::api::labels::{MANAGED_BY, MANAGED_BY_VALUE};

/// Lets nothing reach the pods of a component but these ports.
#[must_use]
pub fn network_policy(name: &str, namespace: &str, ports: &[u16]) -> Json {
    let labels = json!({APP: name, MANAGED_BY: MANAGED_BY_VALUE});
    let ports: Vec<Json> = ports
        .iter()
        .map(|port| json!({"port": port, "protocol": "TCP"}))
        .collect();
    // API servers come from addresses outside the network of pods, so no source is named.
    let ingress = match ports.as_slice() {
        [] => json!([]),
        ports => json!([{"ports": ports}]),
    };
    json!({"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {"podSelector": {"matchLabels": {APP: name}}, "policyTypes": ["Ingress"], "ingress": ingress}})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_ports_nothing_is_let_in() {
        let closed = network_policy("capstan", "n", &[]);
        assert_eq!(closed["spec"]["ingress"], json!([]));
        let open = network_policy("capstan", "n", &[9443]);
        assert_eq!(open["spec"]["ingress"][0]["ports"][0]["port"], 9443);
        let selector = &open["spec"]["podSelector"]["matchLabels"];
        assert_eq!(selector[APP], "capstan");
    }
}
