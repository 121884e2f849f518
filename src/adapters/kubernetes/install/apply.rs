//! Server-side apply of the objects of an installation.
//!
//! In: an object. Out: the outcome. An object that others manage stays as it is, unless its fields are taken by force. It
//! does not know the order of the objects.

use kube::Client;
use kube::api::{Patch, PatchParams};
use serde_json::{Value as Json, json};

use super::INSTALLER;
use super::owners::{InstallError, Owners, suppliers};
use crate::adapters::kubernetes::any_object::AnyObject;
use crate::adapters::kubernetes::discovery::{Discovery, Served};
use crate::adapters::kubernetes::request::with_timeout;
use crate::adapters::kubernetes::{Error, address};
use crate::api::kinds::CAPSTAN;
use crate::health::Live;
use crate::model::ObjectId;

/// The outcome for an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Installed {
    /// It is new.
    Created,
    /// It was changed.
    Configured,
    /// It was like this before.
    Unchanged,
    /// It is a CustomResourceDefinition that these managers brought, and stays as it is.
    Left(Vec<String>),
}

/// Applies objects of an installation to a cluster.
pub struct Installer {
    client: Client,
    discovery: Discovery,
    /// Fields of other managers are taken over.
    is_forced: bool,
}

impl Installer {
    /// Applies to the cluster behind `client`, if `is_forced` also where others own fields.
    #[must_use]
    pub fn new(client: &Client, is_forced: bool) -> Self {
        Self {
            client: client.clone(),
            discovery: Discovery::new(client.clone()),
            is_forced,
        }
    }

    /// Tries to apply an object that is there, without changing anything.
    ///
    /// # Errors
    /// If the cluster does not answer or refuses, or if other managers own fields of the object.
    pub async fn check(&self, object: &Json) -> Result<(), InstallError> {
        let id = Live(object).id();
        let served = self.discovery.find(&id, Live(object).version());
        // The definition of the kind may be among what is installed.
        let Some(served) = with_timeout(&id, served).await? else {
            return Ok(());
        };
        match self.read(&id, &served).await? {
            Some(live) if suppliers_of(&id, &live).is_empty() => {
                let params = self.params().dry_run();
                let sent = adapted(object, &live);
                self.send(&id, &served, &sent, &params).await.map(drop)
            }
            _ => Ok(()),
        }
    }

    /// Applies an object.
    ///
    /// # Errors
    /// If the cluster does not answer or refuses, or if other managers own fields of the object.
    pub async fn apply(&self, object: &Json) -> Result<Installed, InstallError> {
        let id = Live(object).id();
        let served = self.discovery.resolve(&id, Live(object).version());
        let served = with_timeout(&id, served).await?;
        let Some(live) = self.read(&id, &served).await? else {
            self.send(&id, &served, object, &self.params()).await?;
            return Ok(Installed::Created);
        };
        let suppliers = suppliers_of(&id, &live);
        if !suppliers.is_empty() {
            return Ok(Installed::Left(suppliers));
        }
        let sent = adapted(object, &live);
        let answer = self.send(&id, &served, &sent, &self.params()).await?;
        let [before, after] = [&live, &answer].map(|object| &object["metadata"]["resourceVersion"]);
        Ok(if before == after {
            Installed::Unchanged
        } else {
            Installed::Configured
        })
    }

    fn params(&self) -> PatchParams {
        let mut params = PatchParams::apply(INSTALLER);
        params.force = self.is_forced;
        params
    }

    async fn read(&self, id: &ObjectId, served: &Served) -> Result<Option<Json>, Error> {
        let read = async {
            let key = (id.namespace.as_str(), id.name.as_str());
            let api = address::api::<AnyObject>(&self.client, &served.resource, key);
            let api = api.map_err(|error| Error::new(id, error))?;
            let live = api.get_opt(&id.name).await;
            live.map_err(|error| Error::new(id, error))
        };
        Ok(with_timeout(id, read).await?.map(|live| live.json))
    }

    async fn send(
        &self,
        id: &ObjectId,
        served: &Served,
        sent: &Json,
        params: &PatchParams,
    ) -> Result<Json, InstallError> {
        let answer = async {
            let key = (id.namespace.as_str(), id.name.as_str());
            let api = address::api::<AnyObject>(&self.client, &served.resource, key);
            let api = api.map_err(|error| Error::new(id, error))?;
            let patch = Patch::Apply(sent);
            let answer = api.patch(&id.name, params, &patch).await;
            answer.map_err(|error| Error::new(id, error))
        };
        match with_timeout(id, answer).await {
            Ok(answer) => Ok(answer.json),
            Err(Error::Refused { object, status }) => match Owners::of_conflict(&status) {
                Some(owners) => Err(InstallError::Owned { object, owners }),
                None => Err(Error::Refused { object, status }.into()),
            },
            Err(error) => Err(error.into()),
        }
    }
}

/// The other managers that brought a kind of others, such as CAPZ.
fn suppliers_of(id: &ObjectId, live: &Json) -> Vec<String> {
    let is_definition = id.is("apiextensions.k8s.io", "CustomResourceDefinition");
    if is_definition && !id.name.ends_with(&format!(".{CAPSTAN}")) {
        suppliers(live)
    } else {
        Vec::new()
    }
}

/// The object with the live failure policy of each webhook: the admission webhook raises it once it answers.
fn adapted(object: &Json, live: &Json) -> Json {
    let mut sent = object.clone();
    let webhooks = sent.get_mut("webhooks").and_then(Json::as_array_mut);
    for webhook in webhooks.into_iter().flatten() {
        let known = live["webhooks"].as_array().into_iter().flatten();
        let mut known = known.filter(|known| known["name"] == webhook["name"]);
        if let Some(policy) = known.find_map(|known| known["failurePolicy"].as_str()) {
            webhook["failurePolicy"] = json!(policy);
        }
    }
    sent
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_failure_policy_that_the_webhook_has_set_stays() {
        let webhooks = |policy: &str| json!({"webhooks": [{"name": "a", "failurePolicy": policy}]});
        let sent = adapted(&webhooks("Ignore"), &webhooks("Fail"));
        assert_eq!(sent, webhooks("Fail"));
        let other = json!({"webhooks": [{"name": "b", "failurePolicy": "Fail"}]});
        assert_eq!(adapted(&webhooks("Ignore"), &other), webhooks("Ignore"));
        let map = json!({"data": {}});
        assert_eq!(adapted(&map, &map), map);
    }
}
