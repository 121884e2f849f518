//! Fleet objects: as they come, change and go, and their status.
//!
//! In: a client and a namespace. Out: changes, for ever, and written status and finalizers. A Fleet is passed on as JSON: one that cannot be
//! used holds no other up. It does not know what follows a fleet.

use std::collections::BTreeSet;

use futures::StreamExt as _;
use futures::stream::BoxStream;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams};
use kube::core::GroupVersionKind;
use kube::runtime::watcher;
use kube::{Api, Client, Resource as _, ResourceExt as _};
use serde_json::{Value as Json, json};

use super::request::with_timeout;
use super::steering::{ATTEMPTS, DAEMON};
use super::{Error, watch};
use crate::api::fleet::{Fleet, FleetStatus};
use crate::api::labels::FLEET_FINALIZER;
use crate::apply::Parent;
use crate::model::{ErrorClass, ObjectId};
use crate::plan::ApplySet;

/// A Fleet as the cluster has it.
#[derive(Clone, Debug, PartialEq)]
pub struct FleetObject {
    /// Its namespace and name.
    pub id: ObjectId,
    /// Tells it from one that was deleted and made again.
    pub uid: String,
    /// It is raised with each change of the spec.
    pub generation: Option<i64>,
    /// The whole object.
    pub json: Json,
}

/// A change of the Fleets of a namespace.
#[derive(Clone, Debug, PartialEq)]
pub enum FleetChange {
    /// It is there, or changed.
    Present(Box<FleetObject>),
    /// It is gone.
    Gone(ObjectId),
    /// All that were there in this namespace have come.
    Listed(String),
}

/// Follows the Fleets of a namespace. Those that were there before come first.
#[must_use]
pub fn fleets(client: &Client, namespace: &str) -> BoxStream<'static, FleetChange> {
    let api = api(&watch::patient(client), namespace);
    let events = watcher(api, watcher::Config::default());
    let events = watch::patiently(events, "Fleet");
    let (mut seen, namespace) = (Seen::default(), namespace.to_owned());
    let changes = events.flat_map(move |event| {
        let is_whole = matches!(event, Ok(watcher::Event::InitDone));
        let listed = is_whole.then(|| FleetChange::Listed(namespace.clone()));
        let changes = seen.changes(event).into_iter().chain(listed);
        futures::stream::iter(changes.collect::<Vec<_>>())
    });
    changes.boxed()
}

/// Writes the status of a Fleet in place of the one of this `version`: a late request of a process that does not follow it any more
/// does not change what somebody has written since. Returns the new version.
///
/// # Errors
/// If the cluster does not answer, or refuses, or the Fleet was changed, deleted or made again.
pub async fn write_fleet_status(
    client: &Client,
    fleet: &FleetObject,
    version: &str,
    status: &FleetStatus,
) -> Result<String, Error> {
    let metadata = json!({"name": fleet.id.name, "namespace": fleet.id.namespace, "uid": fleet.uid, "resourceVersion": version});
    let (version, kind) = (Fleet::api_version(&()), Fleet::kind(&()));
    let patch =
        json!({"apiVersion": version, "kind": kind, "metadata": metadata, "status": status});
    let params = PatchParams::apply(DAEMON).force();
    let written = async {
        let api = api(client, &fleet.id.namespace);
        let patch = Patch::Apply(patch);
        let written = api.patch_status(&fleet.id.name, &params, &patch).await;
        let written = written.map_err(|error| Error::new(&fleet.id, error))?;
        Ok(written.metadata.resource_version.unwrap_or_default())
    };
    with_timeout(&fleet.id, written).await
}

/// The version of a Fleet as it is now; `None` if it was deleted or made again.
///
/// # Errors
/// If the cluster does not answer, or refuses.
pub async fn fleet_version(client: &Client, fleet: &FleetObject) -> Result<Option<String>, Error> {
    let read = async {
        let api = api(client, &fleet.id.namespace);
        let live = api.get_metadata_opt(&fleet.id.name).await;
        live.map_err(|error| Error::new(&fleet.id, error))
    };
    let live = with_timeout(&fleet.id, read).await?;
    let live = live.filter(|live| live.metadata.uid.as_ref() == Some(&fleet.uid));
    Ok(live.and_then(|live| live.metadata.resource_version))
}

/// Sets an annotation on a Fleet.
///
/// # Errors
/// If the cluster does not answer, or refuses, or the Fleet was deleted or made again.
pub async fn annotate_fleet(
    client: &Client,
    fleet: &FleetObject,
    key: &str,
    value: &str,
) -> Result<(), Error> {
    let patch = json!({"metadata": {"uid": fleet.uid, "annotations": {key: value}}});
    let annotated = async {
        let api = api(client, &fleet.id.namespace);
        let params = PatchParams {
            field_manager: Some(DAEMON.to_owned()),
            ..PatchParams::default()
        };
        let patch = Patch::Merge(patch);
        let patched = api.patch_metadata(&fleet.id.name, &params, &patch).await;
        patched
            .map(drop)
            .map_err(|error| Error::new(&fleet.id, error))
    };
    with_timeout(&fleet.id, annotated).await
}

/// Has the deletion of a Fleet wait for this process, or no longer. Nothing is written that is so, nor to a Fleet that was made again.
///
/// # Errors
/// If the cluster does not answer, or refuses, or others keep changing the Fleet.
pub async fn hold_fleet(client: &Client, fleet: &FleetObject, is_held: bool) -> Result<(), Error> {
    for _ in 1..ATTEMPTS {
        match try_hold(client, fleet, is_held).await {
            // The status of the Fleet is written at the same time.
            Err(error) if error.class() == ErrorClass::Conflict => {}
            held => return held,
        }
    }
    try_hold(client, fleet, is_held).await
}

async fn try_hold(client: &Client, fleet: &FleetObject, is_held: bool) -> Result<(), Error> {
    let api = api(client, &fleet.id.namespace);
    let held = async {
        let live = api.get_opt(&fleet.id.name).await?;
        let live = live.filter(|live| live.metadata.uid.as_ref() == Some(&fleet.uid));
        let Some(live) = live else { return Ok(()) };
        let before = live.finalizers();
        let others = before.iter().filter(|name| *name != FLEET_FINALIZER);
        let own = is_held.then_some(FLEET_FINALIZER);
        let after: Vec<&str> = others.map(String::as_str).chain(own).collect();
        // One that is being deleted takes no new finalizer.
        let is_late = is_held && live.metadata.deletion_timestamp.is_some();
        if after.len() == before.len() || is_late {
            return Ok(());
        }
        let version = &live.metadata.resource_version;
        let patch = json!({"metadata": {"finalizers": after, "resourceVersion": version}});
        let params = PatchParams::default();
        let patch = Patch::Merge(patch);
        let patched = api.patch_metadata(&fleet.id.name, &params, &patch);
        match patched.await {
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            answer => answer.map(drop),
        }
    };
    let held = async { held.await.map_err(|error| Error::new(&fleet.id, error)) };
    with_timeout(&fleet.id, held).await
}

/// Follows the records in the parent of a set; `None` while the set has no parent.
#[must_use]
pub fn parents(client: &Client, set: &ApplySet) -> BoxStream<'static, Option<Parent>> {
    let (set, parent) = (set.clone(), set.parent());
    let watched = watch::object::<ConfigMap>(client, &parent.namespace, &parent.name);
    let parents = watched.filter_map(move |seen| {
        let live = seen.ok().map(|live| {
            let json = serde_json::to_value(live?).ok()?;
            Parent::read(&set, &json).ok()
        });
        std::future::ready(live)
    });
    parents.boxed()
}

fn api(client: &Client, namespace: &str) -> Api<DynamicObject> {
    let (group, version, kind) = (Fleet::group(&()), Fleet::version(&()), Fleet::kind(&()));
    let kind = GroupVersionKind::gvk(&group, &version, &kind);
    let resource = ApiResource::from_gvk_with_plural(&kind, &Fleet::plural(&()));
    Api::namespaced_with(client.clone(), namespace, &resource)
}

/// The Fleets that were reported.
#[derive(Default)]
struct Seen {
    known: BTreeSet<ObjectId>,
    /// Those of a list that is not whole yet.
    listed: BTreeSet<ObjectId>,
    /// The last answer was an error.
    is_interrupted: bool,
}

impl Seen {
    fn changes(
        &mut self,
        event: watcher::Result<watcher::Event<DynamicObject>>,
    ) -> Vec<FleetChange> {
        let event = match event {
            Ok(event) => event,
            Err(error) => {
                if !std::mem::replace(&mut self.is_interrupted, true) {
                    let (_, why) = watch::classified(&error);
                    tracing::warn!(
                        why,
                        "Fleets cannot be watched, so no fleet is added or changed; retrying. Check that the kind is installed (`capstan crds`) and that the daemon may list and watch fleets.capstan.dev"
                    );
                }
                return Vec::new();
            }
        };
        self.is_interrupted = false;
        match event {
            watcher::Event::Init => {
                self.listed.clear();
                Vec::new()
            }
            watcher::Event::InitApply(live) => {
                self.listed.insert(id(&live));
                vec![present(&live)]
            }
            watcher::Event::InitDone => {
                let listed = std::mem::take(&mut self.listed);
                let gone = self.known.difference(&listed).cloned();
                let gone = gone.map(FleetChange::Gone).collect();
                self.known = listed;
                gone
            }
            watcher::Event::Apply(live) => {
                self.known.insert(id(&live));
                vec![present(&live)]
            }
            watcher::Event::Delete(live) => {
                let id = id(&live);
                self.known.remove(&id);
                vec![FleetChange::Gone(id)]
            }
        }
    }
}

fn id(live: &DynamicObject) -> ObjectId {
    let namespace = live.metadata.namespace.clone().unwrap_or_default();
    let name = live.metadata.name.clone().unwrap_or_default();
    ObjectId::new(&*Fleet::group(&()), &*Fleet::kind(&()), namespace, name)
}

fn present(live: &DynamicObject) -> FleetChange {
    let metadata = &live.metadata;
    FleetChange::Present(Box::new(FleetObject {
        id: id(live),
        uid: metadata.uid.clone().unwrap_or_default(),
        generation: metadata.generation,
        json: serde_json::to_value(live).unwrap_or_default(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn live(name: &str) -> DynamicObject {
        let json = json!({"apiVersion": "capstan.dev/v1alpha1", "kind": "Fleet", "metadata": {"name": name, "namespace": "n", "uid": "u", "generation": 2}, "spec": 7});
        serde_json::from_value(json).expect("an object")
    }

    fn names(changes: Vec<FleetChange>) -> Vec<String> {
        let name = |change| match change {
            FleetChange::Present(fleet) => format!("+{}", fleet.id.name),
            FleetChange::Gone(id) => format!("-{}", id.name),
            FleetChange::Listed(namespace) => namespace,
        };
        changes.into_iter().map(name).collect()
    }

    #[test]
    fn what_is_missing_in_a_new_list_is_gone() {
        let mut seen = Seen::default();
        let mut after = |event| names(seen.changes(Ok(event)));
        assert!(after(watcher::Event::Init).is_empty());
        assert_eq!(after(watcher::Event::InitApply(live("a"))), ["+a"]);
        assert!(after(watcher::Event::InitDone).is_empty());
        assert_eq!(after(watcher::Event::Apply(live("b"))), ["+b"]);
        assert!(after(watcher::Event::Init).is_empty());
        assert_eq!(after(watcher::Event::InitApply(live("a"))), ["+a"]);
        assert_eq!(after(watcher::Event::InitDone), ["-b"]);
        assert_eq!(after(watcher::Event::Delete(live("a"))), ["-a"]);
    }

    #[test]
    fn a_fleet_that_cannot_be_used_is_passed_on() {
        let FleetChange::Present(fleet) = present(&live("a")) else {
            unreachable!("it is there");
        };
        assert_eq!(fleet.id.to_string(), "Fleet/n/a");
        assert_eq!((&*fleet.uid, fleet.generation), ("u", Some(2)));
        assert_eq!(fleet.json["spec"], 7);
    }
}
