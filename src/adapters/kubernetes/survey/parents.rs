//! The parents of ApplySets: they list the fleets of a cluster.

use kube::api::{Api, DynamicObject, ListParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::Value as Json;

use super::choice::FleetChoice;
use super::error::{SurveyError, is_denied};
use super::objects;
use super::read::{Failure, Reader, in_time};
use crate::api::labels::APPLY_SET_ID;
use crate::apply::{NotOurs, Parent};
use crate::health::Live;
use crate::plan::ApplySet;
use crate::status::FleetObjectState;

/// The chosen fleets.
#[derive(Default)]
pub(super) struct Fleets {
    /// By name. A fleet that has only its object has an empty parent.
    pub(super) parents: Vec<(ApplySet, Parent)>,
    /// The Fleet objects, also those of other fleets.
    pub(super) objects: Vec<FleetObjectState>,
    /// Notes for the user.
    pub(super) notes: Vec<String>,
}

/// The chosen fleets, by name, and notes for the user.
pub(super) async fn find(reader: &Reader, choice: &FleetChoice) -> Result<Fleets, SurveyError> {
    let mut notes = Vec::new();
    let mut is_narrow = false;
    let labelled = match list(reader, None).await {
        Err(failure) if is_denied(&failure) => {
            is_narrow = true;
            let namespace = &choice.namespace;
            notes.push(format!(
                "no permission to list configmaps in all namespaces: only fleets of namespace {namespace} are known"
            ));
            list(reader, Some(namespace)).await
        }
        other => other,
    };
    let labelled = match (labelled, &choice.fleet) {
        (Err(failure), Some(fleet)) if is_denied(&failure) => {
            one(reader, &ApplySet::new(fleet, choice.namespace.as_str())).await?
        }
        (labelled, _) => labelled
            .map_err(|failure| SurveyError::of(failure, "list", "configmaps", &choice.namespace))?,
    };
    let mut fleets = Vec::new();
    for live in &labelled {
        match parent(live) {
            Some(Ok(fleet)) => fleets.push(fleet),
            Some(Err(not_ours @ NotOurs::Id(..))) => notes.push(not_ours.to_string()),
            Some(Err(NotOurs::Tooling(..))) | None => {}
        }
    }
    let mut objects = objects::read(reader, choice).await;
    // Elsewhere it is not known if there is a parent.
    objects.retain(|object| !is_narrow || object.namespace == choice.namespace);
    for object in &mut objects {
        object.has_parent = fleets.iter().any(|(set, _)| object.is_of(set));
        if !object.has_parent {
            let set = ApplySet::new(&*object.name, &*object.namespace);
            fleets.push((set, Parent::default()));
        }
    }
    fleets.sort_by_key(|(set, _)| (set.fleet().to_owned(), set.parent()));
    let known: Vec<String> = fleets
        .iter()
        .map(|(set, _)| set.fleet().to_owned())
        .collect();
    if let Some(fleet) = &choice.fleet {
        fleets.retain(|(set, _)| set.fleet() == fleet);
        // Of several with one name, the one in the user's namespace is meant.
        let is_here = |(set, _): &(ApplySet, Parent)| set.namespace() == choice.namespace;
        if fleets.iter().any(is_here) {
            fleets.retain(is_here);
        }
    }
    match (fleets.is_empty(), &choice.fleet) {
        (false, _) => Ok(Fleets {
            parents: fleets,
            objects,
            notes,
        }),
        (true, Some(wanted)) => Err(SurveyError::NoSuchFleet {
            wanted: wanted.clone(),
            known,
            notes,
        }),
        (true, None) => Err(SurveyError::NoFleet(notes)),
    }
}

/// A ConfigMap as a possible parent; `None` if it is not named like a fleet's parent.
fn parent(live: &Json) -> Option<Result<(ApplySet, Parent), NotOurs>> {
    let metadata = Live(live);
    let fleet = metadata.name().strip_prefix("capstan-")?;
    let set = ApplySet::new(fleet, metadata.namespace());
    Some(Parent::read(&set, live).map(|parent| (set, parent)))
}

async fn list(reader: &Reader, namespace: Option<&str>) -> Result<Vec<Json>, Failure> {
    let params = ListParams::default().labels(APPLY_SET_ID);
    let list = in_time(api(reader, namespace).list(&params)).await?;
    let items = list.items.into_iter();
    Ok(items
        .filter_map(|one| serde_json::to_value(one).ok())
        .collect())
}

/// The parent of one set, for users who may not list ConfigMaps.
async fn one(reader: &Reader, set: &ApplySet) -> Result<Vec<Json>, SurveyError> {
    let parent = set.parent();
    let api = api(reader, Some(&parent.namespace));
    let found = in_time(api.get_opt(&parent.name)).await;
    let found = found
        .map_err(|failure| SurveyError::of(failure, "get", "configmaps", &parent.namespace))?;
    let found = found.into_iter();
    Ok(found
        .filter_map(|one| serde_json::to_value(one).ok())
        .collect())
}

fn api(reader: &Reader, namespace: Option<&str>) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("", "v1", "ConfigMap");
    let resource = ApiResource::from_gvk_with_plural(&kind, "configmaps");
    match namespace {
        Some(namespace) => Api::namespaced_with(reader.client().clone(), namespace, &resource),
        None => Api::all_with(reader.client().clone(), &resource),
    }
}
