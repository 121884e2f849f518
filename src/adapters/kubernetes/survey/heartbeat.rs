//! The heartbeats of the daemons of fleets, read from the Leases that the parents name.

use jiff::Timestamp;
use jiff::fmt::rfc2822;
use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, Client};

use super::error::SurveyError;
use super::objects;
use super::read::{Failure, Reader, in_time};
use crate::adapters::kubernetes::{Error, LeaseName};
use crate::apply::{CONTENT, Parent};
use crate::model::ObjectId;
use crate::plan::ApplySet;
use crate::status::Heartbeat;

/// The heartbeat of the daemon of one fleet, by the clock of the API server; `now` is the time if that tells none.
///
/// # Errors
/// If the cluster does not answer.
pub async fn heartbeat(
    client: &Client,
    (set, parent): (&ApplySet, &Parent),
    now: Timestamp,
) -> Result<Heartbeat, SurveyError> {
    let reader = Reader::new(client.clone());
    let now = time(&reader).await?.unwrap_or(now);
    Ok(read(&reader, (set, parent), now).await)
}

/// The beginning of the names of the Leases that Fleet objects share.
const SHARED: &str = "capstan-sync-";

/// The heartbeat as far as the Fleet object of the set, if it may be read, lets its daemon work.
async fn of_object(reader: &Reader, set: &ApplySet, heartbeat: Heartbeat) -> Heartbeat {
    let api = objects::api(reader, Some(set.namespace()));
    match in_time(api.get_opt(set.fleet())).await {
        Ok(fleet) => {
            let fleet = fleet.and_then(|fleet| serde_json::to_value(fleet).ok());
            heartbeat.of_object(fleet.as_ref())
        }
        Err(_) => heartbeat,
    }
}

/// The heartbeat of a fleet that its daemon gave up, unless it has a Fleet object again: one that is only checked claims nothing.
async fn of_absent(reader: &Reader, set: &ApplySet, heartbeat: Heartbeat) -> Heartbeat {
    let api = objects::api(reader, Some(set.namespace()));
    match in_time(api.get_opt(set.fleet())).await {
        Ok(Some(_)) => Heartbeat::Unnamed,
        _ => heartbeat,
    }
}

/// The heartbeat of the daemon of a fleet, at this time in the cluster.
pub(super) async fn read(
    reader: &Reader,
    (set, parent): (&ApplySet, &Parent),
    now: Timestamp,
) -> Heartbeat {
    let Some(LeaseName { namespace, name }) = LeaseName::read(&parent.lease) else {
        let is_by_hand = parent.applying.starts_with(CONTENT);
        let since = if is_by_hand { "" } else { &parent.unserved };
        return match Heartbeat::unnamed(since) {
            silent @ Heartbeat::Silent { .. } => of_absent(reader, set, silent).await,
            unnamed => unnamed,
        };
    };
    let object = ObjectId::new("coordination.k8s.io", "Lease", &*namespace, &*name);
    let api: Api<Lease> = Api::namespaced(reader.client().clone(), &namespace);
    match in_time(api.get_opt(&name)).await {
        Ok(lease) => {
            let lease = lease.and_then(|lease| serde_json::to_value(lease).ok());
            let heartbeat = Heartbeat::read(lease.as_ref(), now);
            match name.starts_with(SHARED) {
                true => of_object(reader, set, heartbeat).await,
                false => heartbeat,
            }
        }
        Err(failure) => {
            let error = match failure {
                Failure::Client(error) => Error::new(&object, *error),
                Failure::Silent(patience) => Error::Silent { object, patience },
            };
            Heartbeat::Unseen(error.to_string())
        }
    }
}

/// The time in the API server's answers: the times of conditions are closer to it than to ours.
pub(super) async fn time(reader: &Reader) -> Result<Option<Timestamp>, SurveyError> {
    let date = reader.date().await.map_err(SurveyError::new)?;
    let parsed = date.and_then(|date| rfc2822::parse(&date).ok());
    Ok(parsed.map(|zoned| zoned.timestamp()))
}
