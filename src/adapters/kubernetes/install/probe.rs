//! Looks at what is there of an installation, and around it.
//!
//! In: a client. Out: single objects, the time of the API server, other installations. Nothing is changed.

use jiff::Timestamp;
use jiff::fmt::rfc2822;
use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{DynamicObject, ListParams};
use kube::client::Body;
use kube::{Api, Client, Resource as _, ResourceExt as _};
use serde_json::Value as Json;

use crate::adapters::kubernetes::discovery::Discovery;
use crate::adapters::kubernetes::request::{ObjectClient, with_timeout};
use crate::adapters::kubernetes::{Error, address};
use crate::api::fleet::Fleet;
use crate::health::Live;
use crate::model::ObjectId;

/// Reads from a cluster.
pub struct Probe {
    client: Client,
    discovery: Discovery,
}

impl Probe {
    /// Reads from the cluster behind `client`.
    #[must_use]
    pub fn new(client: &Client) -> Self {
        Self {
            client: client.clone(),
            discovery: Discovery::new(client.clone()),
        }
    }

    /// An installed object as it is now; `None` if it does not exist.
    ///
    /// # Errors
    /// If the cluster does not answer or refuses.
    pub async fn read(&self, installed: &Json) -> Result<Option<Json>, Error> {
        let id = Live(installed).id();
        let live = async {
            let found = self.discovery.find(&id, Live(installed).version()).await?;
            let Some(served) = found else {
                return Ok(None);
            };
            let object = ObjectClient {
                client: self.client.clone(),
                served,
                id: id.clone(),
            };
            object.read().await
        };
        with_timeout(&id, live).await
    }

    /// The plural of the kind of an object and its group; `None` if the kind is not served.
    ///
    /// # Errors
    /// If the cluster does not answer or refuses.
    pub async fn resource(&self, object: &Json) -> Result<Option<(String, String)>, Error> {
        let id = Live(object).id();
        let found = self.discovery.find(&id, Live(object).version());
        let found = with_timeout(&id, found).await?;
        Ok(found.map(|served| (served.resource.group, served.resource.plural)))
    }

    /// The Fleets of a namespace.
    ///
    /// # Errors
    /// If the cluster does not answer or refuses.
    pub async fn fleets(&self, namespace: &str) -> Result<Vec<Json>, Error> {
        let id = ObjectId::new(&*Fleet::group(&()), &*Fleet::kind(&()), namespace, "");
        let listed = async {
            let found = self.discovery.find(&id, &Fleet::version(&())).await?;
            let Some(served) = found else {
                return Ok(Vec::new());
            };
            let key = (namespace, "fleets");
            let api = address::api::<DynamicObject>(&self.client, &served.resource, key);
            let api = api.map_err(|error| Error::new(&id, error))?;
            let all = api.list(&ListParams::default()).await;
            let all = all.map_err(|error| Error::new(&id, error))?;
            let all = all
                .into_iter()
                .map(|fleet| serde_json::to_value(fleet).unwrap_or_default());
            Ok(all.collect())
        };
        with_timeout(&id, listed).await
    }

    /// The namespaces with a Deployment like this one, by its name and labels.
    ///
    /// # Errors
    /// If the cluster does not answer or refuses.
    pub async fn namespaces_with(&self, deployment: &Json) -> Result<Vec<String>, Error> {
        let id = Live(deployment).id();
        let labels = deployment["metadata"]["labels"].as_object();
        let labels = labels.into_iter().flatten();
        let labels = labels.filter_map(|(key, value)| Some(format!("{key}={}", value.as_str()?)));
        let labels: Vec<String> = labels.collect();
        let params = ListParams::default().labels(&labels.join(","));
        let api: Api<Deployment> = Api::all(self.client.clone());
        let listed = async {
            let all = api.list_metadata(&params).await;
            all.map_err(|error| Error::new(&id, error))
        };
        let all = with_timeout(&id, listed).await?.into_iter();
        let same = all.filter(|found| found.name_any() == id.name);
        Ok(same.filter_map(|found| found.namespace()).collect())
    }

    /// The time of the API server, as it says with an answer; `None` if it says none.
    ///
    /// # Errors
    /// If the cluster does not answer.
    pub async fn time(&self) -> Result<Option<Timestamp>, Error> {
        let id = ObjectId::new("", "Namespace", "", "");
        let request = http::Request::get("/version").body(Body::empty());
        let answer = async {
            let request =
                request.map_err(|error| Error::new(&id, kube::Error::HttpError(error)))?;
            let answer = self.client.send(request).await;
            answer.map_err(|error| Error::new(&id, error))
        };
        let answer = with_timeout(&id, answer).await?;
        let date = answer.headers().get(http::header::DATE);
        let date = date.and_then(|date| date.to_str().ok());
        let parsed = date.and_then(|date| rfc2822::parse(date).ok());
        Ok(parsed.map(|zoned| zoned.timestamp()))
    }
}
