//! The machines that a bare-metal cluster can have.
//!
//! In: a request, and the Agents of the hub. Out: what is missing, in words. It chooses no machine: HyperShift does that.

use serde_json::Value as Json;

use super::request::{Machines, Request};
use crate::api::fleet::ServiceProvider;

/// Says how many agents a cluster lacks to have `missing` more nodes; `None` if there are enough.
#[must_use]
pub fn shortage<'a>(
    request: &Request,
    settings: &ServiceProvider,
    agents: impl Iterator<Item = &'a Json>,
    missing: u32,
) -> Option<String> {
    let suitable = agents.filter(|agent| {
        is_free(agent) && matches(agent, request, settings) && suffices(agent, &request.worker)
    });
    let found = u32::try_from(suitable.take(missing as usize).count()).unwrap_or(u32::MAX);
    (found < missing).then(|| {
        format!("waiting for agents: {found} of {missing} more are approved, unbound, have the labels and are large enough")
    })
}

fn is_free(agent: &Json) -> bool {
    let is_approved = agent["spec"]["approved"] == true;
    is_approved
        && agent["spec"]["clusterDeploymentName"].is_null()
        && agent["metadata"]["deletionTimestamp"].is_null()
}

fn matches(agent: &Json, request: &Request, settings: &ServiceProvider) -> bool {
    let place = &settings.bare_metal;
    let labels = &agent["metadata"]["labels"];
    let infra_env = request.infra_env.as_ref().or(place.infra_env.as_ref());
    let is_of_env = infra_env.is_none_or(|env| labels[&place.infra_env_label_key] == **env);
    is_of_env
        && request
            .agent_labels
            .iter()
            .all(|(key, value)| labels[key] == **value)
}

/// Compares the inventory with what the request asks of a worker. An agent whose inventory is not known may be too small.
fn suffices(agent: &Json, worker: &Machines) -> bool {
    let inventory = &agent["status"]["inventory"];
    let bytes = |amount: &Option<String>| amount.as_deref().and_then(bytes).unwrap_or_default();
    let disks = inventory["disks"].as_array().into_iter().flatten();
    let disk = disks.filter_map(|disk| disk["sizeBytes"].as_u64()).max();
    let number = |value: &Json| value.as_u64().unwrap_or_default();
    number(&inventory["cpu"]["count"]) >= u64::from(worker.cpu.unwrap_or_default())
        && number(&inventory["memory"]["physicalBytes"]) >= bytes(&worker.memory)
        && disk.unwrap_or_default() >= bytes(&worker.storage)
}

/// The bytes of an amount of a request: `16G`.
fn bytes(amount: &str) -> Option<u64> {
    let (number, unit) = amount.split_at_checked(amount.len().checked_sub(1)?)?;
    let factor: u64 = match unit {
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        "T" => 1_000_000_000_000,
        _ => return None,
    };
    Some(number.parse::<u64>().ok()?.saturating_mul(factor))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    fn request() -> Request {
        let body = json!({
            "serviceType": "cluster", "version": "4.17", "metadata": {"name": "a"},
            "nodes": {"worker": {"count": 2, "cpu": 8, "memory": "32GB", "storage": "250GB"}},
            "providerHints": {"acm": {"platform": "baremetal", "infraEnv": "lab", "agentLabels": {"rack": "1"}}},
        });
        Request::read(body.to_string().as_bytes()).unwrap()
    }

    fn agent() -> Json {
        json!({
            "metadata": {"labels": {"infraenvs.agent-install.openshift.io": "lab", "rack": "1", "other": "x"}},
            "spec": {"approved": true},
            "status": {"inventory": {
                "cpu": {"count": 8}, "memory": {"physicalBytes": 34_359_738_368_u64},
                "disks": [{"sizeBytes": 1}, {"sizeBytes": 250_000_000_000_u64}],
            }},
        })
    }

    fn found(agents: &[Json]) -> Option<String> {
        shortage(&request(), &ServiceProvider::default(), agents.iter(), 2)
    }

    #[test]
    fn agents_that_suffice_are_counted() {
        assert_eq!(found(&[agent(), agent()]), None);
        assert_eq!(found(&[agent(), agent(), agent()]), None);
        for (pointer, value) in [
            ("/spec/approved", json!(false)),
            ("/spec/clusterDeploymentName", json!({"name": "other"})),
            ("/metadata/deletionTimestamp", json!("2026-01-01T00:00:00Z")),
            ("/metadata/labels/rack", json!("2")),
            (
                "/metadata/labels/infraenvs.agent-install.openshift.io",
                json!("other"),
            ),
            ("/status/inventory/cpu/count", json!(7)),
            (
                "/status/inventory/memory/physicalBytes",
                json!(31_999_999_999_u64),
            ),
            (
                "/status/inventory/disks",
                json!([{"sizeBytes": 249_999_999_999_u64}]),
            ),
            ("/status", json!(null)),
        ] {
            let (parent, key) = pointer.rsplit_once('/').unwrap();
            let mut other = agent();
            other.pointer_mut(parent).unwrap()[key] = value;
            let message = found(&[agent(), other]).unwrap();
            assert!(
                message.starts_with("waiting for agents: 1 of 2"),
                "{pointer}: {message}"
            );
        }
        assert!(
            found(&[])
                .unwrap()
                .starts_with("waiting for agents: 0 of 2")
        );
    }
}
