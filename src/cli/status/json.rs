//! The status of a cluster for programs.

use serde_json::{Value as Json, json};

use super::super::cluster_status::ClusterStatus;
use super::aso::Operators;
use super::fleet::{Fleet, Fleets};
use crate::apply::{Newest, Reason, Reasons, SourceError};
use crate::status::{Chain, ClusterView, FleetObjectState};

/// All of it, for programs.
pub(super) fn report(
    status: &ClusterStatus,
    fleets: &Fleets<'_>,
    operators: Option<&Operators>,
) -> Json {
    let fleet = |fleet: &Fleet<'_>| {
        let Fleet {
            set, parent, view, ..
        } = fleet;
        let clusters = view
            .clusters
            .iter()
            .map(|cluster| cluster_json(status, cluster));
        let strays = view.strays.iter().map(|stray| {
            let objects = stray.objects.iter().map(|at| status.link(*at));
            let objects: Vec<Json> = objects.collect();
            json!({"blocker": status.blocker(stray.blocker), "objects": objects})
        });
        let absent: Vec<String> = view.absent.iter().map(ToString::to_string).collect();
        let labelled: Vec<String> = view.labelled.iter().map(ToString::to_string).collect();
        let phases = view.counts.iter();
        let phases: serde_json::Map<String, Json> = phases
            .map(|(phase, count)| (phase.word().to_owned(), json!(count)))
            .collect();
        json!({
            "name": set.fleet(),
            "parent": set.parent().to_string(),
            "source": parent.source,
            "suspended": Some(&parent.suspended).filter(|since| !since.is_empty()),
            "revisions": {"applying": parent.applying, "applied": parent.applied, "ready": parent.ready},
            "newest": parent.pending().map(Newest::json),
            "sourceError": parent.source_error.as_ref().map(SourceError::json),
            "daemon": fleet.heartbeat.json(),
            "object": fleet.object.map(FleetObjectState::json),
            "ready": fleet.is_ready(),
            "failed": {"total": parent.failed.total, "objects": reasons(&parent.failed)},
            "kept": {"total": parent.kept.total, "objects": reasons(&parent.kept)},
            "objects": {"total": view.total(), "states": phases, "wanted": parent.objects, "missing": view.missing, "absent": absent, "notListed": view.unlisted, "leftovers": view.leftovers, "labelled": labelled},
            "clusters": clusters.collect::<Vec<_>>(),
            "ofNoCluster": strays.collect::<Vec<_>>(),
        })
    };
    json!({
        "apiVersion": "capstan.dev/v1alpha1",
        "kind": "Status",
        "at": status.now.to_string(),
        "ready": fleets.iter().all(Fleet::is_ready),
        "fleets": fleets.iter().map(fleet).collect::<Vec<_>>(),
        "azureServiceOperator": operators.map(|all| all.aso.json()),
        "clusterAPI": operators.map(|all| all.capi.json()),
        "notSeen": status.unreadable(),
    })
}

fn cluster_json(status: &ClusterStatus, cluster: &ClusterView) -> Json {
    let blocker = |chain: &Chain| status.blocker(chain.blocker());
    json!({
        "object": status.graph.id(cluster.root).to_string(),
        "state": cluster.phase.word(),
        "ready": cluster.ready,
        "total": cluster.total,
        "blocker": cluster.chain.as_ref().map_or(Json::Null, blocker),
        "otherBlockers": cluster.chain.as_ref().map_or(0, |chain| chain.others.len()),
    })
}

fn reasons(reasons: &Reasons) -> Vec<Json> {
    reasons.first.iter().map(Reason::json).collect()
}
