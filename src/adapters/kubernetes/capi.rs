//! Reads what a cluster has of Cluster API.
//!
//! In: a client. Out: a report. Nothing is written. What may not be read is part of the report. It does not know what should
//! be there.

use k8s_openapi::api::apps::v1::Deployment;
use kube::Client;

use super::aso::deployments;
use super::discovery::unserved;
use super::request::in_time;
use crate::api::kinds::{CAPI, KINDS, Kind};
use crate::model::ObjectId;
use crate::reconcile::preflight::Report;
use crate::reconcile::preflight::capi::{DEPLOYMENT, LABEL, Seen, report};

/// Returns what is there of the core of Cluster API, and what to do about it.
pub(crate) async fn examine_capi(client: &Client) -> Report {
    let needed = KINDS.iter().filter(|kind| kind.group == CAPI);
    let needed: Vec<Kind> = needed.copied().collect();
    let about = ObjectId::new("apps", "Deployment", "", DEPLOYMENT);
    let (controllers, unserved) = tokio::join!(
        deployments(client, &about, DEPLOYMENT, LABEL),
        in_time(&about, unserved(client, &needed)),
    );
    report(&Seen {
        controllers: controllers
            .map(|all| all.iter().filter(is_core).map(json).collect())
            .map_err(|error| error.to_string()),
        unserved: unserved.map_err(|error| error.to_string()),
    })
}

/// Returns true for the controllers of the core: other Deployments may have its label.
fn is_core(deployment: &&Deployment) -> bool {
    let name = deployment.metadata.name.as_deref();
    name.is_some_and(|name| name.ends_with("controller-manager"))
}

fn json(deployment: &Deployment) -> serde_json::Value {
    serde_json::to_value(deployment).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use jiff::Timestamp;
    use kube_sim::{Server, SimClock};
    use serde_json::json;

    use super::*;
    use crate::adapters::kubernetes::controller::writer::perform;
    use crate::reconcile::outcome::Write;

    #[tokio::test(start_paused = true)]
    async fn the_core_controllers_are_found_by_label_in_any_namespace() {
        let server = Server::new(Arc::new(SimClock::new(Timestamp::UNIX_EPOCH, 1)));
        let client = server.client("default");
        let found = examine_capi(&client).await;
        assert_eq!(found.findings[0].reason, "NotInstalled");
        let labels = json!({LABEL.0: LABEL.1});
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "theirs"}});
        let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "core-controller-manager", "namespace": "theirs", "labels": labels},
            "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels},
                "spec": {"containers": [{"name": "manager", "image": "example.com/capi:v1.11.0",
                    "args": ["--feature-gates=MachinePool=false"]}]}}}});
        for object in [namespace, deployment] {
            let (_, written) = perform(&client, "test", vec![Write::Apply(object)]).await;
            written.expect("applied");
        }
        let found = examine_capi(&client).await;
        let reasons: Vec<_> = found
            .findings
            .iter()
            .map(|finding| finding.reason)
            .collect();
        assert!(reasons.contains(&"FeatureGateOff"), "{found:?}");
        assert!(
            found.titles()[0].starts_with("Cluster API v1.11.0 in theirs"),
            "{found:?}"
        );
    }
}
