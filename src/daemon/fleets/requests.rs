//! The requests to sync on a Fleet object.
//!
//! In: the annotation of the Fleet. Out: the same on the parent of its set, which its daemon watches, and the value that was handed on.
//! It does not know what the daemon does then.

use std::time::Duration;

use kube::Client;
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

use crate::adapters::kubernetes::{FleetObject, annotate_parent};
use crate::api::labels::SYNC_REQUESTED;
use crate::plan::ApplySet;

/// The time after which a request that cannot be handed on is tried again.
const RETRY: Duration = Duration::from_secs(5);

/// The request on a Fleet, if there is one.
pub(super) fn request(fleet: &FleetObject) -> Option<String> {
    let value = fleet.json["metadata"]["annotations"][SYNC_REQUESTED].as_str();
    value.filter(|value| !value.is_empty()).map(str::to_owned)
}

/// Hands requests on until the answer is dropped. `handled` is the last one that was.
pub(super) fn hand_on(
    client: &Client,
    set: ApplySet,
    mut requests: watch::Receiver<Option<String>>,
    handled: watch::Sender<Option<String>>,
) -> AbortOnDropHandle<()> {
    let client = client.clone();
    AbortOnDropHandle::new(tokio::spawn(async move {
        loop {
            let request = requests.borrow_and_update().clone();
            if let Some(request) =
                request.filter(|request| handled.borrow().as_ref() != Some(request))
            {
                let asked = annotate_parent(&client, &set, SYNC_REQUESTED, Some(&request)).await;
                if let Err(error) = asked {
                    tracing::warn!(%error, "a request to sync on the Fleet cannot be handed on; retrying");
                    tokio::time::sleep(RETRY).await;
                    requests.mark_changed();
                } else {
                    handled.send_replace(Some(request));
                }
            }
            if requests.changed().await.is_err() {
                return;
            }
        }
    }))
}
