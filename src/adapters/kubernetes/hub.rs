//! The objects of a few kinds as a whole, for those who show or count them all.
//!
//! In: a client and a kind, which need not be served. Out: every object of it, again after each change, for ever; and reads and writes of
//! single ones. It does not know what the objects are for.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use kube::api::{
    ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams,
    Preconditions,
};
use kube::runtime::watcher;
use kube::{Api, Client};
use serde_json::Value as Json;
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

use super::Error;
use super::address::api;
use super::request::in_time;
use super::watch::{classified, patient, patiently};
use crate::model::{ErrorClass, ObjectId};

/// A kind of the hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HubKind {
    /// Its API group.
    pub group: &'static str,
    /// Its version.
    pub version: &'static str,
    /// Its name.
    pub kind: &'static str,
    /// Its name in addresses.
    pub plural: &'static str,
}

impl HubKind {
    fn resource(self) -> ApiResource {
        let Self {
            group,
            version,
            kind,
            plural,
        } = self;
        let api_version = if group.is_empty() {
            version.to_owned()
        } else {
            format!("{group}/{version}")
        };
        ApiResource {
            group: group.to_owned(),
            version: version.to_owned(),
            api_version,
            kind: kind.to_owned(),
            plural: plural.to_owned(),
        }
    }
}

/// The objects of a kind, by `namespace/name`.
pub type Objects = BTreeMap<String, Arc<Json>>;

/// What is known of a kind.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Known {
    /// Nothing yet.
    #[default]
    Unread,
    /// The hub does not serve it.
    Unserved,
    /// It cannot be read now, for this reason.
    Unreadable(String),
    /// Its objects.
    Read(Objects),
}

impl Known {
    /// The objects; none if they are not known.
    #[must_use]
    pub fn objects(&self) -> Option<&Objects> {
        match self {
            Self::Read(objects) => Some(objects),
            _ => None,
        }
    }
}

/// Follows the objects of a kind in a namespace, or everywhere, until the handle is dropped. Managed fields are left out. What was read
/// stays known while a watch is interrupted, unless the kind is gone.
pub fn follow_kind(
    client: &Client,
    kind: HubKind,
    namespace: Option<&str>,
) -> (watch::Receiver<Known>, AbortOnDropHandle<()>) {
    let (sender, receiver) = watch::channel(Known::Unread);
    let (client, resource) = (patient(client), kind.resource());
    let api: Api<DynamicObject> = match namespace {
        Some(namespace) => Api::namespaced_with(client, namespace, &resource),
        None => Api::all_with(client, &resource),
    };
    let task = async move {
        let events = patiently(watcher(api, watcher::Config::default()), kind.kind);
        let mut events = std::pin::pin!(events);
        let mut listed = Objects::new();
        while let Some(event) = events.next().await {
            match event {
                Ok(watcher::Event::Init) => listed.clear(),
                Ok(watcher::Event::InitApply(object)) => drop(insert(&mut listed, object)),
                Ok(watcher::Event::InitDone) => {
                    let whole = std::mem::take(&mut listed);
                    sender.send_replace(Known::Read(whole));
                }
                Ok(watcher::Event::Apply(object)) => {
                    change(&sender, |all| drop(insert(all, object)))
                }
                Ok(watcher::Event::Delete(object)) => {
                    change(&sender, |all| drop(all.remove(&key(&object))))
                }
                Err(error) => interrupted(&sender, &error, kind),
            }
        }
    };
    (receiver, AbortOnDropHandle::new(tokio::spawn(task)))
}

fn key(object: &DynamicObject) -> String {
    let metadata = &object.metadata;
    let namespace = metadata.namespace.as_deref().unwrap_or_default();
    format!(
        "{namespace}/{}",
        metadata.name.as_deref().unwrap_or_default()
    )
}

fn insert(objects: &mut Objects, mut object: DynamicObject) -> Option<Arc<Json>> {
    let key = key(&object);
    object.metadata.managed_fields = None;
    let json = serde_json::to_value(object).unwrap_or_default();
    objects.insert(key, Arc::new(json))
}

fn change(sender: &watch::Sender<Known>, edit: impl FnOnce(&mut Objects)) {
    sender.send_modify(|known| {
        if let Known::Read(objects) = known {
            edit(objects);
        }
    });
}

fn interrupted(sender: &watch::Sender<Known>, error: &watcher::Error, kind: HubKind) {
    let (class, why) = classified(error);
    sender.send_if_modified(|known| {
        let next = match class {
            // A server that forgets a kind for a moment takes no objects away.
            ErrorClass::Gone if matches!(known, Known::Read(all) if !all.is_empty()) => {
                return false;
            }
            ErrorClass::Gone => Known::Unserved,
            ErrorClass::Denied => Known::Unreadable(why.clone()),
            // What was read is still the best that is known.
            _ if matches!(known, Known::Read(_)) => return false,
            _ => Known::Unreadable(why.clone()),
        };
        let is_new = *known != next;
        if is_new && next != Known::Unserved {
            tracing::warn!(
                kind = kind.kind,
                error = why,
                "the service provider cannot read this kind"
            );
        }
        *known = next;
        is_new
    });
}

/// Reads and writes of single objects of the hub.
#[derive(Clone)]
pub struct Hub {
    client: Client,
    /// The field manager of what it writes.
    manager: String,
}

impl Hub {
    /// One that writes as `manager`.
    #[must_use]
    pub fn new(client: &Client, manager: &str) -> Self {
        Self {
            client: client.clone(),
            manager: manager.to_owned(),
        }
    }

    /// An object; `None` if it is not there.
    ///
    /// # Errors
    /// If the hub does not answer, or refuses.
    pub async fn get(
        &self,
        kind: HubKind,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Json>, Error> {
        let id = ObjectId::new(kind.group, kind.kind, namespace, name);
        let found = async {
            let api = self
                .api(kind, &id)
                .map_err(|error| Error::new(&id, error))?;
            api.get_opt(name)
                .await
                .map_err(|error| Error::new(&id, error))
        };
        let found = in_time(&id, found).await?;
        Ok(found.map(|object| serde_json::to_value(object).unwrap_or_default()))
    }

    /// Looks whether the objects of a kind can be listed, in a namespace or everywhere.
    ///
    /// # Errors
    /// If the hub does not serve the kind, does not answer, or refuses.
    pub async fn serves(&self, kind: HubKind, namespace: Option<&str>) -> Result<(), Error> {
        let id = ObjectId::new(kind.group, kind.kind, namespace.unwrap_or_default(), "");
        let (client, resource) = (self.client.clone(), kind.resource());
        let api: Api<DynamicObject> = match namespace {
            Some(namespace) => Api::namespaced_with(client, namespace, &resource),
            None => Api::all_with(client, &resource),
        };
        let listed = async {
            let listed = api.list_metadata(&ListParams::default().limit(1)).await;
            listed.map(drop).map_err(|error| Error::new(&id, error))
        };
        in_time(&id, listed).await
    }

    /// All objects of a kind in a namespace.
    ///
    /// # Errors
    /// If the hub does not answer, or refuses.
    pub async fn list(&self, kind: HubKind, namespace: &str) -> Result<Vec<Json>, Error> {
        let id = ObjectId::new(kind.group, kind.kind, namespace, "");
        let api: Api<DynamicObject> =
            Api::namespaced_with(self.client.clone(), namespace, &kind.resource());
        let listed = async {
            let listed = api.list(&ListParams::default()).await;
            listed.map_err(|error| Error::new(&id, error))
        };
        let listed = in_time(&id, listed).await?;
        Ok(listed
            .into_iter()
            .map(|one| serde_json::to_value(one).unwrap_or_default())
            .collect())
    }

    /// Creates an object, and returns it as it is then; `None` if there is one of that name already.
    ///
    /// # Errors
    /// If the hub does not answer, or refuses.
    pub async fn create(&self, kind: HubKind, object: &Json) -> Result<Option<Json>, Error> {
        let id = id_of(kind, object);
        let params = PostParams {
            field_manager: Some(self.manager.clone()),
            ..PostParams::default()
        };
        let created = async {
            let api = self
                .api(kind, &id)
                .map_err(|error| Error::new(&id, error))?;
            let object = serde_json::from_value(object.clone());
            let object: DynamicObject = object.map_err(|error| unsendable(&id, &error))?;
            match api.create(&params, &object).await {
                Ok(created) => Ok(Some(serde_json::to_value(created).unwrap_or_default())),
                Err(kube::Error::Api(status))
                    if status.code == 409 && status.reason == "AlreadyExists" =>
                {
                    Ok(None)
                }
                Err(error) => Err(Error::new(&id, error)),
            }
        };
        in_time(&id, created).await
    }

    /// Applies an object, and takes its fields over from others.
    ///
    /// # Errors
    /// If the hub does not answer, or refuses.
    pub async fn apply(&self, kind: HubKind, object: &Json) -> Result<(), Error> {
        let id = id_of(kind, object);
        let params = PatchParams::apply(&self.manager).force();
        let applied = async {
            let api = self
                .api(kind, &id)
                .map_err(|error| Error::new(&id, error))?;
            let object = serde_json::from_value(object.clone());
            let object: DynamicObject = object.map_err(|error| unsendable(&id, &error))?;
            let patched = api.patch(&id.name, &params, &Patch::Apply(&object)).await;
            patched.map(drop).map_err(|error| Error::new(&id, error))
        };
        in_time(&id, applied).await
    }

    /// Deletes an object, if it is still the one with this `uid`; one that is gone is no error.
    ///
    /// # Errors
    /// If the hub does not answer, or refuses.
    pub async fn delete(&self, kind: HubKind, object: &Json) -> Result<(), Error> {
        let id = id_of(kind, object);
        let uid = object["metadata"]["uid"].as_str().map(str::to_owned);
        let params = DeleteParams {
            preconditions: uid.map(|uid| Preconditions {
                uid: Some(uid),
                resource_version: None,
            }),
            ..DeleteParams::default()
        };
        let deleted = async {
            let api = self
                .api(kind, &id)
                .map_err(|error| Error::new(&id, error))?;
            match api.delete(&id.name, &params).await {
                Ok(_) => Ok(()),
                // Another object of that name, or none.
                Err(kube::Error::Api(status)) if [404, 409].contains(&status.code) => Ok(()),
                Err(error) => Err(Error::new(&id, error)),
            }
        };
        in_time(&id, deleted).await
    }

    fn api(&self, kind: HubKind, id: &ObjectId) -> kube::Result<Api<DynamicObject>> {
        api(&self.client, &kind.resource(), (&id.namespace, &id.name))
    }
}

fn id_of(kind: HubKind, object: &Json) -> ObjectId {
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
    ObjectId::new(kind.group, kind.kind, text("namespace"), text("name"))
}

/// The error of an object that is none.
fn unsendable(id: &ObjectId, error: &serde_json::Error) -> Error {
    Error::Unsendable {
        object: id.clone(),
        cause: error.to_string(),
    }
}

/// The longest time in which changes of the hub are gathered before they are looked at.
pub const GATHERING: Duration = Duration::from_millis(50);
