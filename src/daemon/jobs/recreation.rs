//! The approval to delete HCP clusters and make them again, on its way to the controllers, which do it if they are in that
//! state.
//!
//! In: a client and clusters. Out: an annotation on each control plane. What cannot be passed on is tried again, for ever: no
//! later commit says it again. It does not know who approved.

use std::collections::BTreeSet;
use std::time::Duration;

use kube::Client;

use crate::adapters::kubernetes;
use crate::plan::losses::Unit;

/// The pause before it is passed on again, at first; each time twice as long.
const FIRST_PAUSE: Duration = Duration::from_secs(15);
/// The longest such pause.
const MOST_PAUSE: Duration = Duration::from_secs(300);

/// Passes on that these clusters may be recreated.
pub(super) async fn approve(client: Client, mut clusters: BTreeSet<Unit>) {
    let mut pause = FIRST_PAUSE;
    loop {
        clusters = pass_on(&client, clusters, pause == FIRST_PAUSE).await;
        if clusters.is_empty() {
            return;
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(MOST_PAUSE);
    }
}

/// Passes it on once, and returns those of which that failed.
async fn pass_on(client: &Client, clusters: BTreeSet<Unit>, is_first: bool) -> BTreeSet<Unit> {
    let mut left = BTreeSet::new();
    for cluster in clusters {
        let Unit {
            namespace,
            cluster: name,
            ..
        } = &cluster;
        match kubernetes::approve_recreation(client, namespace, name).await {
            Ok(Some(uid)) => {
                tracing::info!(%cluster, uid, "approved to recreate the HCP cluster");
            }
            Ok(None) => {
                tracing::warn!(
                    %cluster,
                    "approved to recreate the HCP cluster, but there is nothing to recreate: it does not exist, is not in state 'error', ran before, or was approved already"
                );
            }
            Err(error) => {
                if is_first {
                    tracing::warn!(%cluster, %error, "the approval to recreate the HCP cluster cannot be passed on yet, and is tried again; setting the annotation capstan.dev/recreate of its AROControlPlane to the uid of the HcpOpenShiftCluster does the same");
                }
                left.insert(cluster);
            }
        }
    }
    left
}
