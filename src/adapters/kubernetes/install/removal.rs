//! Removes the objects of an installation, and nothing else.
//!
//! In: the objects as they are installed. Out: the outcome for each. An object is removed only if it has the labels of the
//! installed one, and is not a member of a fleet. It does not know the order of the objects.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::api::{DynamicObject, ListParams, Patch, PatchParams};
use kube::{Api, Client, Resource as _, ResourceExt as _};
use serde_json::{Value as Json, json};
use tokio::time::{Instant, sleep};

use super::INSTALLER;
use super::owners::suppliers;
use crate::adapters::kubernetes::discovery::{Discovery, Served};
use crate::adapters::kubernetes::request::{ObjectClient, with_timeout};
use crate::adapters::kubernetes::{Error, address};
use crate::api::fleet::Fleet;
use crate::api::kinds::CAPSTAN;
use crate::api::labels::PART_OF;
use crate::health::Live;
use crate::model::ObjectId;

/// The time between two looks at pods.
const PAUSE: Duration = Duration::from_secs(1);
/// The page size of lists.
const PAGE: u32 = 500;

/// The outcome for an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Removal {
    /// It was not there.
    Absent,
    /// It is deleted, or would be.
    Deleted,
    /// It stays, for this reason.
    Left(String),
}

/// Removes objects of an installation from a cluster.
pub struct Remover {
    client: Client,
    discovery: Discovery,
    /// Nothing is changed.
    is_dry: bool,
}

impl Remover {
    /// Removes from the cluster behind `client`; if `is_dry`, only looks what is there.
    #[must_use]
    pub fn new(client: &Client, is_dry: bool) -> Self {
        Self {
            client: client.clone(),
            discovery: Discovery::new(client.clone()),
            is_dry,
        }
    }

    /// Removes an object as it was installed.
    ///
    /// # Errors
    /// If the cluster does not answer or refuses.
    pub async fn remove(&self, installed: &Json) -> Result<Removal, Error> {
        let Some((object, live)) = self.find(installed).await? else {
            return Ok(Removal::Absent);
        };
        match reason_to_stay(installed, &live) {
            Some(reason) => Ok(Removal::Left(reason)),
            None => self.delete(&object, &live).await,
        }
    }

    /// Removes a definition that `install` brought. Ask [`Self::count`] first: its objects go with it.
    ///
    /// # Errors
    /// If the cluster does not answer or refuses.
    pub async fn remove_definition(&self, definition: &Json) -> Result<Removal, Error> {
        let Some((object, _)) = self.find(definition).await? else {
            return Ok(Removal::Absent);
        };
        let Some(live) = object.read().await? else {
            return Ok(Removal::Absent);
        };
        let is_own = object.id.name.ends_with(&format!(".{CAPSTAN}"));
        let others = suppliers(&live);
        if !is_own && !others.is_empty() {
            let others = others.join(", ");
            return Ok(Removal::Left(format!(
                "{others} brought it, and not {INSTALLER}"
            )));
        }
        self.delete(&object, &live).await
    }

    /// The number of objects of the kind that a definition defines.
    ///
    /// # Errors
    /// If the cluster does not answer or refuses.
    pub async fn count(&self, definition: &Json) -> Result<usize, Error> {
        let live = Live(definition);
        let kind = live.text(&["spec", "names", "kind"]);
        let id = ObjectId::new(live.text(&["spec", "group"]), kind, "", "");
        let counted = async {
            let Some(version) = self.discovery.preferred(&id).await? else {
                return Ok(0);
            };
            let served = self.discovery.resolve(&id, &version).await?;
            let api: Api<DynamicObject> = Api::all_with(self.client.clone(), &served.resource);
            let mut params = ListParams::default().limit(PAGE);
            let mut count = 0;
            loop {
                let page = api.list_metadata(&params).await;
                let page = page.map_err(|error| Error::new(&id, error))?;
                count += page.items.len();
                params.continue_token = page.metadata.continue_;
                if params.continue_token.as_ref().is_none_or(String::is_empty) {
                    return Ok(count);
                }
            }
        };
        with_timeout(&id, counted).await
    }

    /// The namespaces with a binding like this one, by its name and labels, for an account of the namespace `home`.
    ///
    /// # Errors
    /// If the cluster does not answer or refuses.
    pub async fn bound_to(&self, installed: &Json, home: &str) -> Result<Vec<String>, Error> {
        let bindings = self.all_like(installed).await?.into_iter();
        let own = bindings.filter(|one| one.data["subjects"][0]["namespace"] == home);
        Ok(own.filter_map(|one| one.namespace()).collect())
    }

    /// The objects like this one in all namespaces, by its kind, name and labels, each as it was installed.
    ///
    /// # Errors
    /// If the cluster does not answer or refuses.
    pub async fn like(&self, installed: &Json) -> Result<Vec<Json>, Error> {
        let live = self.all_like(installed).await?.into_iter();
        let in_its_namespace = |one: DynamicObject| {
            let mut object = installed.clone();
            object["metadata"]["namespace"] = Json::from(one.namespace());
            object
        };
        Ok(live.map(in_its_namespace).collect())
    }

    async fn all_like(&self, installed: &Json) -> Result<Vec<DynamicObject>, Error> {
        let id = Live(installed).id();
        let labels = installed["metadata"]["labels"].as_object();
        let labels = labels.into_iter().flatten();
        let labels = labels.filter_map(|(key, value)| Some(format!("{key}={}", value.as_str()?)));
        let labels: Vec<String> = labels.collect();
        let params = ListParams::default().labels(&labels.join(","));
        let listed = async {
            let found = self.discovery.find(&id, Live(installed).version()).await?;
            let Some(served) = found else {
                return Ok(Vec::new());
            };
            let api: Api<DynamicObject> = Api::all_with(self.client.clone(), &served.resource);
            let listed = api.list(&params).await;
            let mut live = listed.map_err(|error| Error::new(&id, error))?.items;
            live.retain(|one| one.name_any() == id.name);
            Ok(live)
        };
        with_timeout(&id, listed).await
    }

    /// The arguments of the program in an installed Deployment; none if it is not there.
    ///
    /// # Errors
    /// If the cluster does not answer or refuses.
    pub async fn arguments(&self, deployment: &Json) -> Result<Vec<String>, Error> {
        let Some((object, _)) = self.find(deployment).await? else {
            return Ok(Vec::new());
        };
        let live = with_timeout(&object.id, object.read()).await?;
        let containers = live
            .as_ref()
            .map(|live| &live["spec"]["template"]["spec"]["containers"]);
        let containers = containers.and_then(Json::as_array).into_iter().flatten();
        let arguments = containers.flat_map(|one| one["args"].as_array().into_iter().flatten());
        Ok(arguments
            .filter_map(Json::as_str)
            .map(str::to_owned)
            .collect())
    }

    /// Waits until a Deployment that was removed has no pods any more. Returns the names of those that are there after
    /// `deadline`.
    ///
    /// # Errors
    /// If the cluster does not answer or refuses.
    pub async fn await_pods(
        &self,
        deployment: &Json,
        deadline: Instant,
    ) -> Result<Vec<String>, Error> {
        let id = Live(deployment).id();
        let selector = &deployment["spec"]["selector"]["matchLabels"];
        let selector = selector.as_object().into_iter().flatten();
        let selector =
            selector.filter_map(|(key, value)| Some(format!("{key}={}", value.as_str()?)));
        let selector: Vec<String> = selector.collect();
        let params = ListParams::default().labels(&selector.join(","));
        let api: Api<Pod> = Api::namespaced(self.client.clone(), &id.namespace);
        loop {
            let listed = async {
                let pods = api.list_metadata(&params).await;
                pods.map_err(|error| Error::new(&id, error))
            };
            let pods = with_timeout(&id, listed).await?;
            if pods.items.is_empty() || self.is_dry || Instant::now() >= deadline {
                return Ok(pods.iter().map(|pod| pod.name_any()).collect());
            }
            sleep(PAUSE).await;
        }
    }

    /// Takes Capstan's finalizers off the Fleets of a namespace, so that their deletion waits for nobody. Returns those that
    /// had one.
    ///
    /// # Errors
    /// If the cluster does not answer or refuses.
    pub async fn release_fleets(&self, namespace: &str) -> Result<Vec<ObjectId>, Error> {
        let (group, kind) = (Fleet::group(&()), Fleet::kind(&()));
        let id = ObjectId::new(&*group, &*kind, namespace, "");
        let version = Fleet::version(&());
        let served = self.discovery.find(&id, &version);
        let Some(served) = with_timeout(&id, served).await? else {
            return Ok(Vec::new());
        };
        let key = (namespace, "fleets");
        let api = address::api::<DynamicObject>(&self.client, &served.resource, key);
        let api = api.map_err(|error| Error::new(&id, error))?;
        let listed = async {
            let fleets = api.list_metadata(&ListParams::default()).await;
            fleets.map_err(|error| Error::new(&id, error))
        };
        let mut released = Vec::new();
        for fleet in with_timeout(&id, listed).await? {
            let finalizers = fleet.finalizers();
            let others = finalizers
                .iter()
                .filter(|name| !is_finalizer_of_capstan(name));
            let others: Vec<&String> = others.collect();
            if others.len() == finalizers.len() {
                continue;
            }
            let id = ObjectId::new(&*group, &*kind, namespace, fleet.name_any());
            let patch = json!({"metadata": {"finalizers": others, "resourceVersion": fleet.resource_version()}});
            if !self.is_dry {
                let patched = async {
                    let params = PatchParams::default();
                    let patch = Patch::Merge(patch);
                    let patched = api.patch_metadata(&id.name, &params, &patch).await;
                    patched.map_err(|error| Error::new(&id, error))
                };
                with_timeout(&id, patched).await?;
            }
            released.push(id);
        }
        Ok(released)
    }

    /// An object that is there, and its metadata.
    async fn find(&self, installed: &Json) -> Result<Option<(ObjectClient, Json)>, Error> {
        let id = Live(installed).id();
        let found = async {
            let found = self.discovery.find(&id, Live(installed).version()).await?;
            let Some(served) = found else {
                return Ok(None);
            };
            let object = self.object(served, &id);
            let live = object.metadata().await?;
            Ok(live.map(|live| (object, live)))
        };
        with_timeout(&id, found).await
    }

    fn object(&self, served: Served, id: &ObjectId) -> ObjectClient {
        ObjectClient {
            client: self.client.clone(),
            served,
            id: id.clone(),
        }
    }

    async fn delete(&self, object: &ObjectClient, live: &Json) -> Result<Removal, Error> {
        if !self.is_dry {
            with_timeout(&object.id, object.delete(Live(live).uid())).await?;
        }
        Ok(Removal::Deleted)
    }
}

fn is_finalizer_of_capstan(name: &str) -> bool {
    name.strip_prefix(CAPSTAN)
        .is_some_and(|rest| rest.starts_with('/'))
}

/// The reason why an object of this name is not removed.
fn reason_to_stay(installed: &Json, live: &Json) -> Option<String> {
    if !Live(live).label(PART_OF).is_empty() {
        return Some("it is a member of a fleet: remove its file there".to_owned());
    }
    let labels = installed["metadata"]["labels"].as_object()?;
    let differs = labels
        .iter()
        .find(|(key, value)| Live(live).label(key) != **value)?;
    Some(format!(
        "it has not the label {}={} of an installed object",
        differs.0,
        differs.1.as_str().unwrap_or_default()
    ))
}

#[cfg(test)]
mod tests {
    use http::{Request, Response};
    use kube::client::Body;

    use super::*;

    #[test]
    fn only_what_was_installed_is_removed() {
        let object = |labels: &Json| json!({"metadata": {"name": "capstan", "labels": labels}});
        let installed = object(&json!({"a": "b"}));
        assert_eq!(
            reason_to_stay(&installed, &object(&json!({"a": "b", "c": "d"}))),
            None
        );
        let other = reason_to_stay(&installed, &object(&json!({"a": "c"})));
        assert!(other.is_some_and(|why| why.contains("a=b")));
        let member = reason_to_stay(&installed, &object(&json!({"a": "b", PART_OF: "set"})));
        assert!(member.is_some_and(|why| why.contains("member of a fleet")));
    }

    #[test]
    fn finalizers_of_others_stay() {
        assert!(is_finalizer_of_capstan("capstan.dev/fleet"));
        assert!(!is_finalizer_of_capstan("capstan.developers/x"));
        assert!(!is_finalizer_of_capstan("foregroundDeletion"));
    }

    #[tokio::test(start_paused = true)]
    async fn pods_that_never_end_are_counted_each_second_until_the_deadline() {
        let service = tower::service_fn(|_: Request<Body>| async {
            let pod = json!({"metadata": {"name": "stuck"}});
            let pods = json!({"metadata": {"resourceVersion": "1"}, "items": [pod]});
            let body = Body::from(pods.to_string().into_bytes());
            Ok::<_, std::convert::Infallible>(Response::new(body))
        });
        let remover = Remover::new(&Client::new(service, "n"), false);
        let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "capstan", "namespace": "n"},
            "spec": {"selector": {"matchLabels": {"a": "b"}}}});
        let start = Instant::now();
        let deadline = start + Duration::from_secs(5);
        let pods = remover.await_pods(&deployment, deadline).await;
        assert_eq!(pods.ok(), Some(vec!["stuck".to_owned()]));
        assert_eq!(start.elapsed(), Duration::from_secs(5));
    }
}
