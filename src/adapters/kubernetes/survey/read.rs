//! Read requests, and what their refusal means.
//!
//! In: a kind and a scope. Out: objects as a watch would return them, without most of their managed fields, or why
//! they cannot be read. Secrets and ConfigMaps are read without their content.

use std::collections::BTreeSet;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::APIGroup;
use kube::api::{DynamicObject, ListParams};
use kube::client::Body;
use kube::{Api, Client};
use serde::Serialize;
use serde_json::{Value as Json, json};

use crate::adapters::kubernetes::address::can_exist;
use crate::adapters::kubernetes::discovery::Served;
use crate::adapters::kubernetes::request::answers;
use crate::apply::trim_managed_fields;
use crate::model::ObjectId;
use crate::status::ReadErrorReason;

/// How long a request may take: a person is waiting for it.
const PATIENCE: Duration = Duration::from_secs(30);
/// The page size of lists.
const PAGE: u32 = 500;

/// No answer came, or none that can be read.
#[derive(Debug)]
pub(super) enum Failure {
    Silent(Duration),
    Client(Box<kube::Error>),
}

/// The result of a request.
pub(super) enum Outcome {
    Read(Vec<Json>),
    Lacking(ReadErrorReason),
}

/// Where to list a kind.
pub(super) struct Scope {
    pub(super) served: Served,
    /// `None` for all namespaces.
    pub(super) namespace: Option<String>,
}

impl Scope {
    pub(super) const fn everywhere(served: Served) -> Self {
        Self {
            served,
            namespace: None,
        }
    }

    /// Whether it can be listed by namespace instead.
    pub(super) const fn can_narrow(&self) -> bool {
        self.served.namespaced && self.namespace.is_none()
    }

    pub(super) fn narrowed(self, namespaces: &BTreeSet<String>) -> Vec<Self> {
        let within = |namespace: &String| Self {
            served: self.served.clone(),
            namespace: Some(namespace.clone()),
        };
        namespaces.iter().map(within).collect()
    }
}

/// Sends read requests.
pub(super) struct Reader(Client);

impl Reader {
    pub(super) const fn new(client: Client) -> Self {
        Self(client)
    }

    pub(super) const fn client(&self) -> &Client {
        &self.0
    }

    /// The `Date` of an answer of the API server.
    pub(super) async fn date(&self) -> Result<Option<String>, Failure> {
        let request = http::Request::get("/version").body(Body::empty());
        let request = request.map_err(|error| client(kube::Error::HttpError(error)))?;
        let answer = in_time(self.0.send(request)).await?;
        let date = answer.headers().get(http::header::DATE);
        Ok(date.and_then(|date| Some(date.to_str().ok()?.to_owned())))
    }

    /// The API groups that are served.
    pub(super) async fn groups(&self) -> Result<Vec<APIGroup>, Failure> {
        Ok(in_time(self.0.list_api_groups()).await?.groups)
    }

    /// All objects of a kind in a scope.
    pub(super) async fn list(
        &self,
        scope: &Scope,
        selector: Option<&str>,
    ) -> Result<Outcome, Failure> {
        let api = self.api(&scope.served, scope.namespace.as_deref());
        let mut params = ListParams::default().limit(PAGE);
        params.label_selector = selector.map(str::to_owned);
        let mut all = Vec::new();
        loop {
            let (page, next) = match self.page(&api, &scope.served, &params).await {
                Ok(page) => page,
                Err(failure) => {
                    let failure = self.unless_silent(failure).await?;
                    return lacking(failure, "list", &scope.served);
                }
            };
            all.extend(page);
            match next {
                Some(token) => params.continue_token = Some(token),
                None => return Ok(Outcome::Read(all)),
            }
        }
    }

    async fn page(
        &self,
        api: &Api<DynamicObject>,
        served: &Served,
        params: &ListParams,
    ) -> Result<(Vec<Json>, Option<String>), Failure> {
        let next = |token: Option<String>| token.filter(|token| !token.is_empty());
        if is_private(served) {
            let list = in_time(api.list_metadata(params)).await?;
            let objects = list.items.iter().map(|one| plain(one, served));
            return Ok((objects.collect(), next(list.metadata.continue_)));
        }
        let list = in_time(api.list(params)).await?;
        let objects = list.items.iter().map(|one| plain(one, served));
        Ok((objects.collect(), next(list.metadata.continue_)))
    }

    /// One object, if it exists.
    pub(super) async fn get(&self, served: &Served, id: &ObjectId) -> Result<Outcome, Failure> {
        if !can_exist(&id.namespace, &id.name) {
            return Ok(Outcome::Read(Vec::new()));
        }
        let api = self.api(served, Some(&id.namespace));
        let found = match is_private(served) {
            true => in_time(api.get_metadata_opt(&id.name))
                .await
                .map(|found| found.map(|one| plain(&one, served))),
            false => in_time(api.get_opt(&id.name))
                .await
                .map(|found| found.map(|one| plain(&one, served))),
        };
        match found {
            Ok(found) => Ok(Outcome::Read(found.into_iter().collect())),
            Err(failure) => lacking(self.unless_silent(failure).await?, "get", served),
        }
    }

    /// The failure of one request, which need not end the others; an error if the cluster does not answer at all.
    async fn unless_silent(&self, failure: Failure) -> Result<Failure, Failure> {
        let is_silence = matches!(failure, Failure::Silent(_));
        match is_silence && !answers(&self.0).await {
            true => Err(failure),
            false => Ok(failure),
        }
    }

    fn api(&self, served: &Served, namespace: Option<&str>) -> Api<DynamicObject> {
        match namespace {
            Some(namespace) if served.namespaced => {
                Api::namespaced_with(self.0.clone(), namespace, &served.resource)
            }
            _ => Api::all_with(self.0.clone(), &served.resource),
        }
    }
}

/// Whether the content must not be read.
fn is_private(served: &Served) -> bool {
    let resource = &served.resource;
    resource.group.is_empty() && ["Secret", "ConfigMap"].contains(&resource.kind.as_str())
}

/// An object with its kind, which lists leave out, and of its managed fields only whether it is a member.
fn plain(object: &impl Serialize, served: &Served) -> Json {
    // It was parsed from JSON, so it can always be converted back.
    let mut live = serde_json::to_value(object).unwrap_or_default();
    live["apiVersion"] = json!(served.resource.api_version);
    live["kind"] = json!(served.resource.kind);
    trim_managed_fields(&mut live);
    live
}

/// A refusal of one request need not end the others.
fn lacking(failure: Failure, verb: &'static str, served: &Served) -> Result<Outcome, Failure> {
    let error = match failure {
        Failure::Client(error) => error,
        // The cluster still answers others.
        Failure::Silent(patience) => {
            let words = format!("the cluster did not answer within {} s", patience.as_secs());
            return Ok(Outcome::Lacking(ReadErrorReason::Failed(words)));
        }
    };
    let resource = &served.resource;
    let reason = match *error {
        kube::Error::Api(status) if status.code == 401 => {
            return Err(client(kube::Error::Api(status)));
        }
        kube::Error::Api(status) if status.code == 403 => {
            let name = match resource.group.as_str() {
                "" => resource.plural.clone(),
                group => format!("{}.{group}", resource.plural),
            };
            ReadErrorReason::Denied(verb, name)
        }
        kube::Error::Api(status) if status.code == 404 => ReadErrorReason::NotServed,
        kube::Error::Api(status) => ReadErrorReason::Failed(status.message),
        other => return Err(client(other)),
    };
    Ok(Outcome::Lacking(reason))
}

fn client(error: kube::Error) -> Failure {
    Failure::Client(Box::new(error))
}

pub(super) async fn in_time<T>(
    answer: impl Future<Output = Result<T, kube::Error>>,
) -> Result<T, Failure> {
    match tokio::time::timeout(PATIENCE, answer).await {
        Ok(answer) => answer.map_err(client),
        Err(_) => Err(Failure::Silent(PATIENCE)),
    }
}
