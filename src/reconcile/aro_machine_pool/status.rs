//! The status of an AROMachinePool.
//!
//! In: what was observed. Out: the whole status. What Azure once reported stays; `provisioned` stays true once it was.

use serde_json::{Value, json};

use super::super::conditions::Conditions;
use super::super::outcome::Outcome;
use crate::api::conditions as c;
use crate::health::Live;

/// The conditions of which one can be an end.
const ENDS: [&str; 2] = [c::NODE_POOL_READY, c::AGENT_POOLS_READY];

/// Where Azure reports how far a node pool is.
const STATE: [&str; 3] = ["status", "properties", "provisioningState"];

/// The states in which a node pool has the nodes that Azure reports.
const HAS_NODES: [&str; 3] = ["Succeeded", "Updating", "Deleting"];
/// The states of one that Azure could not make or change. It has nodes if it had them before.
const FAILED: [&str; 2] = ["Failed", "Canceled"];

/// The status it has; complete, since `ready` must always be there.
pub(super) fn held(live: Live<'_>) -> Value {
    let held = live.at(&["status"]).filter(|status| status.is_object());
    let mut status = held.cloned().unwrap_or_else(|| json!({}));
    if status.get("ready").is_none() {
        status["ready"] = json!(false);
    }
    if status.get("initialization").is_none() {
        status["initialization"] = json!({"provisioned": false});
    }
    status
}

/// Copies what the node pool reports; what it does not report stays.
pub(super) fn copy(node_pool: Live<'_>, status: &mut Value) {
    let fields: [(&str, &[&str]); 3] = [
        ("id", &["status", "id"]),
        ("provisioningState", &STATE),
        ("version", &["status", "properties", "version", "id"]),
    ];
    for (field, path) in fields {
        let value = node_pool.text(path);
        if !value.is_empty() {
            status[field] = json!(value);
        }
    }
}

/// Sets the number of nodes: those that were counted, else what Azure reports of the node pool, else what is asked of it.
/// There are none without a node pool, or before Azure has made it.
pub(super) fn set_replicas(
    status: &mut Value,
    nodes: usize,
    node_pool: Option<Live<'_>>,
    pool: Live<'_>,
) {
    let was_ready = Live(status).flag(&["initialization", "provisioned"]);
    let of_pool = |node_pool: Live<'_>| {
        let state = node_pool.text(&STATE);
        let has_nodes = HAS_NODES.contains(&state) || was_ready && FAILED.contains(&state);
        if !has_nodes {
            return None;
        }
        let reported = node_pool.number(&["status", "properties", "replicas"]);
        reported.or_else(|| pool.number(&["spec", "replicas"]))
    };
    status["replicas"] = match nodes {
        0 => json!(node_pool.and_then(of_pool).unwrap_or(0)),
        nodes => json!(nodes),
    };
}

/// Sets whether it has joined the cluster: Azure has it, also while it is updated, and nothing is wrong.
pub(super) fn set_ready(status: &mut Value, node_pool: Option<Live<'_>>, is_fine: bool) {
    let state = node_pool.map_or("", |live| live.text(&STATE));
    status["ready"] = json!(is_fine && ["Succeeded", "Updating"].contains(&state));
}

/// Sets whether it has ever been ready.
pub(super) fn set_provisioned(live: Live<'_>, status: &mut Value, is_ready: bool) {
    let was = live.flag(&["status", "initialization", "provisioned"]);
    status["initialization"] = json!({"provisioned": was || is_ready});
}

/// Writes the status with these conditions, and the failure that only a person can end, if there is one.
pub(super) fn write(
    live: Live<'_>,
    mut status: Value,
    conditions: Conditions,
    outcome: &mut Outcome,
) {
    let refuted = ENDS.iter().filter_map(|kind| conditions.refuted(kind));
    let mut ends = refuted.filter(|(reason, message)| c::is_terminal(reason, message));
    let failure = ends.next().map(|(_, message)| json!(message));
    if let Some(fields) = status.as_object_mut() {
        fields.remove("failureMessage");
        fields.extend(failure.map(|failure| ("failureMessage".to_owned(), failure)));
    }
    conditions.write(live, status, outcome);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cases of CAPZ's own suite (facts/aro-controllers.md §9).
    #[test]
    fn it_is_ready_while_azure_has_it_and_nothing_is_wrong() {
        let cases = [
            ("Succeeded", true, true),
            ("Updating", true, true),
            ("Creating", true, false),
            ("Succeeded", false, false),
            ("Failed", true, false),
            ("", true, false),
        ];
        for (state, is_fine, expected) in cases {
            let node_pool = json!({"status": {"properties": {"provisioningState": state}}});
            let mut status = json!({});
            set_ready(&mut status, Some(Live(&node_pool)), is_fine);
            assert_eq!(status["ready"], expected, "{state} {is_fine}");
        }
        let mut status = json!({});
        set_ready(&mut status, None, true);
        assert_eq!(status["ready"], false);
    }

    #[test]
    fn the_nodes_count_before_what_azure_reports_and_what_is_asked_for() {
        let in_state = |state: &str, replicas: Value| json!({"status": {"properties": {"replicas": replicas, "provisioningState": state}}});
        let reported = in_state("Succeeded", json!(4));
        let new = in_state("Provisioning", json!(4));
        let (unheard, pool) = (json!({}), json!({"spec": {"replicas": 3}}));
        let silent = in_state("Updating", Value::Null);
        let cases = [
            (5, Some(&reported), 5),
            (0, Some(&reported), 4),
            (0, Some(&silent), 3),
            (0, Some(&unheard), 0),
            (0, Some(&new), 0),
            (1, Some(&new), 1),
            (0, None, 0),
            (2, None, 2),
        ];
        for (nodes, node_pool, expected) in cases {
            let mut status = json!({});
            set_replicas(&mut status, nodes, node_pool.map(Live), Live(&pool));
            assert_eq!(status["replicas"], expected);
        }
        // An update that failed takes no nodes away.
        let failed = in_state("Failed", json!(4));
        for (was_ready, expected) in [(false, 0), (true, 4)] {
            let mut status = json!({"initialization": {"provisioned": was_ready}});
            set_replicas(&mut status, 0, Some(Live(&failed)), Live(&pool));
            assert_eq!(status["replicas"], expected);
        }
    }
}
