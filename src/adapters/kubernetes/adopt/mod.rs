//! The move of a whole fleet to another name or namespace.
//!
//! In: the two sets. Out: the members of the first in the second, with all that its parent records; the first parent is removed
//! last. Nothing is created or deleted but parents, so that the move can be cut off anywhere and begun again. It does not know
//! why the fleet moves.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ApiResource, DynamicObject, ListParams, Patch, PatchParams};
use kube::core::GroupVersionKind;
use kube::{Api, Client};
use serde_json::{Value as Json, json};

use super::discovery::{Discovery, Served};
use super::lease::LeaseName;
use super::request::with_timeout;
use super::steering::{DAEMON, patch_parent};
use super::{Error, parent};
use crate::api::kinds::CAPSTAN;
use crate::api::labels;
use crate::apply::{self, APPROVALS, MOVER, NEWEST, Parent};
use crate::health::Live;
use crate::model::{ErrorClass, ObjectId};
use crate::plan::ApplySet;

/// The pause between two looks at a Lease.
const LOOK: Duration = Duration::from_secs(2);
/// The time that a Lease lasts if it does not say so, and at most.
const LASTS: Duration = Duration::from_secs(15);
const LASTS_AT_MOST: Duration = Duration::from_secs(300);
/// How often a member is read again that somebody else changes at the same time.
const ATTEMPTS: usize = 5;
/// The Leases of processes that follow Fleet objects begin so.
const SHARED: &str = "capstan-sync-";

/// A process that serves a fleet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Server {
    /// This one holds the Lease and renews it.
    Process {
        /// The holder.
        holder: String,
        /// The namespace and name of the Lease.
        lease: String,
    },
    /// There is none.
    Nobody,
    /// The parent names no Lease: an older Capstan, or `capstan apply`, wrote the fleet.
    Unknown,
}

/// The outcome of a move.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// The members that were moved, or would be.
    pub members: Vec<ObjectId>,
    /// The kinds that cannot be listed, and why: their members stay, and so does the parent.
    pub unseen: BTreeMap<(String, String), String>,
    /// The first fleet existed.
    pub is_known: bool,
}

/// Returns the process that serves the fleet of `set`. A Lease that has a holder is watched for as long as it lasts.
///
/// # Errors
/// When the cluster does not answer, or does not let us read.
pub async fn server(client: &Client, set: &ApplySet) -> Result<Server, Error> {
    let Some(live) = parent_of(client, set).await? else {
        return Ok(Server::Nobody);
    };
    let annotations = live.metadata.annotations.unwrap_or_default();
    let Some(name) = annotations.get(labels::LEASE) else {
        return Ok(Server::Unknown);
    };
    let Some(LeaseName {
        namespace,
        name: lease,
    }) = LeaseName::read(name)
    else {
        return Ok(Server::Unknown);
    };
    if lease.starts_with(SHARED) && !has_fleet(client, set).await? {
        return Ok(Server::Nobody);
    }
    Ok(match holder(client, &namespace, &lease).await? {
        Some(holder) => Server::Process {
            holder,
            lease: name.clone(),
        },
        None => Server::Nobody,
    })
}

/// Returns true if the set is that of a Fleet object.
async fn has_fleet(client: &Client, set: &ApplySet) -> Result<bool, Error> {
    let kind = GroupVersionKind::gvk(CAPSTAN, "v1alpha1", "Fleet");
    let resource = ApiResource::from_gvk(&kind);
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), set.namespace(), &resource);
    let id = ObjectId::new(CAPSTAN, "Fleet", set.namespace(), set.fleet());
    let found = with_timeout(&id, async {
        match api.get_metadata(set.fleet()).await {
            Ok(_) => Ok(true),
            // Perhaps the whole kind is gone.
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(false),
            Err(error) => Err(Error::new(&id, error)),
        }
    });
    found.await
}

/// The holder of a Lease, if it renews it.
async fn holder(client: &Client, namespace: &str, name: &str) -> Result<Option<String>, Error> {
    let id = ObjectId::new("coordination.k8s.io", "Lease", namespace, name);
    let api: Api<Lease> = Api::namespaced(client.clone(), namespace);
    let read = || async {
        let lease = api.get_opt(name).await;
        let lease = lease.map_err(|error| Error::new(&id, error))?;
        Ok(lease.and_then(|lease| lease.spec))
    };
    let held = |spec: &k8s_openapi::api::coordination::v1::LeaseSpec| {
        let holder = spec.holder_identity.clone();
        holder.filter(|holder| !holder.is_empty())
    };
    let Some(first) = with_timeout(&id, read()).await? else {
        return Ok(None);
    };
    if held(&first).is_none() {
        return Ok(None);
    }
    let seconds = first.lease_duration_seconds.unwrap_or_default();
    let lasts = u64::try_from(seconds).ok().filter(|seconds| *seconds > 0);
    let lasts = lasts.map_or(LASTS, Duration::from_secs).min(LASTS_AT_MOST);
    let mut waited = Duration::ZERO;
    while waited <= lasts {
        tokio::time::sleep(LOOK).await;
        waited += LOOK;
        match with_timeout(&id, read()).await? {
            None => return Ok(None),
            Some(spec) if spec != first => return Ok(held(&spec)),
            Some(_) => {}
        }
    }
    Ok(None)
}

/// Moves what belongs to `from` to `to`; with `is_dry` only says what would be moved.
///
/// # Errors
/// When the cluster does not answer or refuses, or one of the parents is not ours.
pub async fn adopt(
    client: &Client,
    from: &ApplySet,
    to: &ApplySet,
    is_dry: bool,
) -> Result<Moved, Error> {
    let Some(live) = parent_of(client, from).await? else {
        return Ok(Moved::default());
    };
    let json = serde_json::to_value(&live).unwrap_or_default();
    let known = Parent::read(from, &json).map_err(Error::Parent)?;
    if !is_dry {
        prepare(client, &live, &known, (from, to)).await?;
    }
    let mut moved = Moved {
        is_known: true,
        ..Moved::default()
    };
    let discovery = Discovery::new(client.clone());
    for (group, kind) in &known.kinds {
        let example = ObjectId::new(&**group, &**kind, "", "");
        let members = Members {
            client,
            example: &example,
            sets: (&from.id(), &to.id()),
        };
        match members.adopt(&discovery, is_dry).await {
            Ok(members) => moved.members.extend(members),
            Err(error) if error.is_about_kind() => {
                let kind = (group.clone(), kind.clone());
                moved.unseen.insert(kind, error.failure().message);
            }
            Err(error) => return Err(error),
        }
    }
    if !is_dry && moved.unseen.is_empty() {
        parent::remove(client, from, &live).await?;
    }
    Ok(moved)
}

/// Returns true if the fleet of `set` exists.
///
/// # Errors
/// When the cluster does not answer, or does not let us read.
pub async fn exists(client: &Client, set: &ApplySet) -> Result<bool, Error> {
    Ok(parent_of(client, set).await?.is_some())
}

/// Returns those of `members` that the revision of `to` lacks: once they are its members, they are removed as what left the fleet. There are
/// none if nothing was applied to `to`, or while it is suspended.
///
/// # Errors
/// When the cluster does not answer, or the parent is not ours.
pub async fn unplanned(
    client: &Client,
    to: &ApplySet,
    members: &[ObjectId],
) -> Result<Vec<ObjectId>, Error> {
    let there = with_timeout(&to.parent(), parent::read(client, to)).await?;
    let Some((there, _)) = there else {
        return Ok(Vec::new());
    };
    if there.applying.is_empty() || !there.suspended.is_empty() {
        return Ok(Vec::new());
    }
    let planned = there.members.ids();
    let unplanned = members.iter().filter(|id| !planned.contains(*id));
    Ok(unplanned.cloned().collect())
}

/// The parent as it is.
async fn parent_of(client: &Client, set: &ApplySet) -> Result<Option<ConfigMap>, Error> {
    let id = set.parent();
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), &id.namespace);
    with_timeout(&id, async {
        let live = api.get_opt(&id.name).await;
        live.map_err(|error| Error::new(&id, error))
    })
    .await
}

/// Creates the second parent, or adds the kinds and namespaces of the first to it. A daemon looks for members only in those that the
/// parent names.
async fn prepare(
    client: &Client,
    live: &ConfigMap,
    known: &Parent,
    (from, to): (&ApplySet, &ApplySet),
) -> Result<(), Error> {
    let mut moving = known.clone();
    moving.namespaces.insert(from.namespace().to_owned());
    let id = to.parent();
    with_timeout(&id, async {
        if create(client, live, &moving, to).await? {
            return Ok(());
        }
        let Some((mut there, version)) = parent::read(client, to).await? else {
            return Ok(());
        };
        if there.applying.is_empty() {
            // Nothing was applied to it yet, or an earlier move was cut off here.
            moving.kinds.extend(there.kinds);
            moving.namespaces.extend(there.namespaces);
            there = moving;
        } else {
            there.kinds.extend(moving.kinds);
            there.namespaces.extend(moving.namespaces);
        }
        let there = there.tidy(to);
        parent::write(client, to, &there, &version).await?;
        keep_approvals(client, live, to).await
    })
    .await
}

/// Creates the second parent with what people and the daemon wrote into the first; `false` if there is one.
async fn create(
    client: &Client,
    live: &ConfigMap,
    moving: &Parent,
    to: &ApplySet,
) -> Result<bool, Error> {
    let mut begin = Parent::default().payload(to);
    let data = live.data.iter().flatten();
    let beside = data.filter(|(key, _)| [NEWEST, APPROVALS].contains(&key.as_str()));
    begin["data"] = beside
        .map(|(key, value)| (key.clone(), json!(value)))
        .collect();
    let annotations = live.metadata.annotations.iter().flatten();
    for (key, value) in annotations.filter(|(key, value)| is_carried(key, value)) {
        begin["metadata"]["annotations"][key] = json!(value);
    }
    let begin = serde_json::from_value(begin).map_err(|error| Error::Unsendable {
        object: to.parent(),
        cause: error.to_string(),
    })?;
    let moving = moving.clone().tidy(to);
    parent::create(client, to, DAEMON, &begin, &moving).await
}

/// Returns true for what people set, and for the Lease of the daemon that served the fleet, which tells since when none does. A Lease that
/// Fleet objects share goes on without this one.
fn is_carried(key: &str, value: &str) -> bool {
    let own = LeaseName::read(value).filter(|lease| !lease.name.starts_with(SHARED));
    BY_PEOPLE.contains(&key) || key == labels::LEASE && own.is_some()
}

/// The annotations of a parent that people set.
const BY_PEOPLE: [&str; 2] = [labels::SUSPENDED, labels::APPROVE_ANNOTATION];

/// Keeps the approvals of the first fleet, if the second has none of its own.
async fn keep_approvals(client: &Client, live: &ConfigMap, to: &ApplySet) -> Result<(), Error> {
    let Some(there) = parent_of(client, to).await? else {
        return Ok(());
    };
    let record = |parent: &ConfigMap| parent.data.as_ref()?.get(APPROVALS).cloned();
    match (record(live), record(&there)) {
        (Some(approvals), None) => {
            let metadata = json!({"resourceVersion": there.metadata.resource_version});
            let patch = json!({"metadata": metadata, "data": {APPROVALS: approvals}});
            patch_parent(client, to, DAEMON, patch).await
        }
        _ => Ok(()),
    }
}

/// The members of one kind.
struct Members<'a> {
    client: &'a Client,
    example: &'a ObjectId,
    /// The ids of both sets.
    sets: (&'a str, &'a str),
}

impl Members<'_> {
    async fn adopt(&self, discovery: &Discovery, is_dry: bool) -> Result<Vec<ObjectId>, Error> {
        let found = with_timeout(self.example, async {
            let Some(version) = discovery.preferred(self.example).await? else {
                return Ok(None);
            };
            discovery.resolve(self.example, &version).await.map(Some)
        });
        let Some(served) = found.await? else {
            return Ok(Vec::new());
        };
        let mut moved = Vec::new();
        for live in self.list(&served, self.sets.0).await? {
            if apply::is_applied(&live) {
                let id = Live(&live).id();
                if is_dry || self.relabel(&served, live).await? {
                    moved.push(id);
                }
            }
        }
        // Also those that an earlier move left half done.
        let arrived = match is_dry {
            true => Vec::new(),
            false => self.list(&served, self.sets.1).await?,
        };
        for live in arrived {
            self.settle(&served, live).await?;
        }
        Ok(moved)
    }

    async fn list(&self, served: &Served, set: &str) -> Result<Vec<Json>, Error> {
        let api: Api<DynamicObject> = Api::all_with(self.client.clone(), &served.resource);
        let labelled = ListParams::default().labels(&format!("{}={set}", labels::PART_OF));
        let listed = with_timeout(self.example, async {
            let listed = api.list(&labelled).await;
            listed.map_err(|error| Error::new(self.example, error))
        });
        let objects = listed.await?.into_iter();
        Ok(objects.map(|object| self.json(served, object)).collect())
    }

    fn json(&self, served: &Served, object: DynamicObject) -> Json {
        let mut live = serde_json::to_value(object).unwrap_or_default();
        live["apiVersion"] = Json::from(&*served.resource.api_version);
        live["kind"] = Json::from(self.example.kind.as_str());
        live
    }

    /// Gives a member the label of the second set; `false` if it left the first one meanwhile.
    async fn relabel(&self, served: &Served, mut live: Json) -> Result<bool, Error> {
        let (from, to) = self.sets;
        for _ in 0..ATTEMPTS {
            match self.patch(served, &live, apply::relabel(&live, to)).await? {
                Patched::Done => return Ok(true),
                Patched::Changed(None) => return Ok(false),
                Patched::Changed(Some(again)) if !apply::is_member(&again, from) => {
                    return Ok(false);
                }
                Patched::Changed(Some(again)) => live = again,
            }
        }
        Err(self.busy(&live))
    }

    /// Makes the label of a moved object Capstan's own.
    async fn settle(&self, served: &Served, mut live: Json) -> Result<(), Error> {
        for _ in 0..ATTEMPTS {
            let Some(patch) = apply::settle(&live) else {
                return Ok(());
            };
            match self.patch(served, &live, patch).await? {
                Patched::Done | Patched::Changed(None) => return Ok(()),
                Patched::Changed(Some(again)) => live = again,
            }
        }
        Err(self.busy(&live))
    }

    fn busy(&self, live: &Json) -> Error {
        Error::Unsendable {
            object: Live(live).id(),
            cause: "it changes all the time; stop what changes it, and run the same again"
                .to_owned(),
        }
    }

    async fn patch(&self, served: &Served, live: &Json, patch: Json) -> Result<Patched, Error> {
        let id = Live(live).id();
        let api: Api<DynamicObject> = match served.namespaced {
            true => Api::namespaced_with(self.client.clone(), &id.namespace, &served.resource),
            false => Api::all_with(self.client.clone(), &served.resource),
        };
        let params = PatchParams {
            field_manager: Some(MOVER.to_owned()),
            ..PatchParams::default()
        };
        with_timeout(&id, async {
            match api.patch(&id.name, &params, &Patch::Merge(patch)).await {
                Ok(_) => Ok(Patched::Done),
                Err(kube::Error::Api(status)) if status.code == 404 => Ok(Patched::Changed(None)),
                Err(error) => {
                    let error = Error::new(&id, error);
                    if error.class() != ErrorClass::Conflict {
                        return Err(error);
                    }
                    let again = api.get_opt(&id.name).await;
                    let again = again.map_err(|error| Error::new(&id, error))?;
                    Ok(Patched::Changed(
                        again.map(|object| self.json(served, object)),
                    ))
                }
            }
        })
        .await
    }
}

/// The outcome of a patch.
enum Patched {
    Done,
    /// Somebody else changed the object first; it is this now, or gone.
    Changed(Option<Json>),
}

#[cfg(test)]
mod tests;
