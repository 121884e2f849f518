//! One request, or the few that one step needs.
//!
//! In: a step, how the cluster serves its kind, what is known of its object. Out: the object as the
//! cluster holds it now, or an error in words for people. It does not know: whether the step may be
//! sent, what follows.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures::FutureExt as _;
use kube::api::{DeleteParams, Patch, PatchParams, Preconditions};
use kube::{Api, Client};
use serde_json::{Value as Json, json};

use super::any_object::AnyObject;
use super::discovery::Served;
use super::owner;
use super::{Error, address};
use crate::apply::{self, Applied, ApplyPrecondition, Claim};
use crate::health::Live;
use crate::model::{Action, ObjectId, Step};
use crate::plan::{self, MANAGER};

/// How long an answer may take. As long as an API server lets a request take, by default.
pub(super) const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);

/// How long a cluster that was silent may take to say its version.
const ALIVE: Duration = Duration::from_secs(10);

/// An object and how to speak of it to the cluster.
#[derive(Clone)]
pub(super) struct ObjectClient {
    pub(super) client: Client,
    pub(super) served: Served,
    pub(super) id: ObjectId,
}

/// The outcome of requests about `object`, or the error that none came in time. A panic in them is an
/// error like others.
pub(super) async fn with_timeout<T>(
    object: &ObjectId,
    requests: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    let caught = AssertUnwindSafe(requests).catch_unwind();
    match in_time(object, caught.map(Ok)).await? {
        Ok(answer) => answer,
        Err(_) => Err(Error::Unsendable {
            object: object.clone(),
            cause: "a bug in capstan; please report it".to_owned(),
        }),
    }
}

/// The answer to a question about `object`, or the error that none came.
pub(super) async fn in_time<T>(
    object: &ObjectId,
    answer: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    match tokio::time::timeout(REQUEST_TIMEOUT, answer).await {
        Ok(answer) => answer,
        Err(_) => Err(Error::Silent {
            object: object.clone(),
            patience: REQUEST_TIMEOUT,
        }),
    }
}

/// Whether the cluster answers at all. After it was silent about one kind, this tells whether others are worth asking for.
pub(super) async fn answers(client: &Client) -> bool {
    let asked = tokio::time::timeout(ALIVE, client.apiserver_version()).await;
    matches!(asked, Ok(Ok(_) | Err(kube::Error::Api(_))))
}

impl ObjectClient {
    fn api(&self) -> kube::Result<Api<AnyObject>> {
        let namespace = match self.served.namespaced {
            false => "",
            true => self.id.namespace.as_str(),
        };
        address::api(
            &self.client,
            &self.served.resource,
            (namespace, &self.id.name),
        )
    }

    fn error(&self, error: kube::Error) -> Error {
        Error::new(&self.id, error)
    }

    /// The live object; `None` if it does not exist.
    pub(super) async fn read(&self) -> Result<Option<Json>, Error> {
        let api = self.api().map_err(|error| self.error(error))?;
        let live = api.get_opt(&self.id.name).await;
        Ok(live
            .map_err(|error| self.error(error))?
            .map(|live| live.json))
    }

    /// Its metadata; `None` if it does not exist. The content of Secrets is not requested.
    pub(super) async fn metadata(&self) -> Result<Option<Json>, Error> {
        let api = self.api().map_err(|error| self.error(error))?;
        let live = api.get_metadata_opt(&self.id.name).await;
        Ok(live.map_err(|error| self.error(error))?.map(json))
    }

    /// Applies `step` to the object with the known uid, or creates it. An existing object that is not part of
    /// `set` is left alone, unless the fleet adopts it.
    pub(super) async fn apply(
        &self,
        step: &Step,
        set: &str,
        precondition: ApplyPrecondition,
    ) -> Result<Applied, Error> {
        let Action {
            payload,
            manager,
            left,
            ..
        } = &*step.action;
        let payload = payload.json();
        let uid = match precondition.uid {
            Some(uid) => uid,
            None => match self.make(payload.clone(), manager).await {
                Err(kube::Error::Api(status)) if status.code == 409 => {
                    let claimed = self.claimed(&payload, set).await?;
                    // If it is not there, the conflict was about something else.
                    claimed.ok_or_else(|| self.error(kube::Error::Api(status)))?
                }
                answer => {
                    let live = answer.map_err(|error| self.error(error))?.json;
                    return Ok(Applied {
                        live,
                        created: true,
                        remains: None,
                    });
                }
            },
        };
        // Fields that are taken back were not given up.
        let compares = !precondition.takes_back;
        let mut before = None;
        let yields = left.iter().any(|left| payload.pointer(left).is_some());
        let mut sent = payload;
        let looked_at = match yields || precondition.gate.is_some() {
            true => self.read().await?,
            // What is only compared holds nothing up.
            false if compares => self.read().await.unwrap_or_default(),
            false => None,
        };
        if let Some(live) = looked_at {
            if yields {
                sent = apply::yielded(&sent, &live, manager, left);
            }
            let gate = precondition.gate.map_or(Ok(()), |unchanged| {
                plan::gate(&live, &sent, manager, unchanged)
            });
            gate.map_err(|withheld| Error::Withheld {
                object: self.id.clone(),
                withheld,
            })?;
            before = Some(live).filter(|_| compares);
        }
        // An object that was deleted meanwhile answers 409 instead of being made anew.
        sent["metadata"]["uid"] = json!(uid);
        let answer = self
            .send(&sent, &params(step, precondition.takes_back))
            .await;
        let live = answer.map_err(|error| self.error(error))?.json;
        let remains = before.map(|before| apply::remains(&before, &live, manager, left));
        Ok(Applied {
            live,
            created: false,
            remains,
        })
    }

    /// The object as applying `step` would make it; nothing is changed. `takes_back` is as in
    /// [`ApplyPrecondition`].
    pub(super) async fn try_apply(&self, step: &Step, takes_back: bool) -> Result<Json, Error> {
        let Action { payload, left, .. } = &*step.action;
        let sent = apply::without(payload.json(), left);
        let params = params(step, takes_back).dry_run();
        let answer = self.send(&sent, &params).await;
        answer
            .map(|live| live.json)
            .map_err(|error| self.error(error))
    }

    /// Applies `sent` if nothing is there: no object has the first of all versions, so that whatever is
    /// there answers 409. Nothing can come in between, as it could after a look.
    async fn make(&self, mut sent: Json, manager: &str) -> Result<AnyObject, kube::Error> {
        sent["metadata"]["resourceVersion"] = json!("1");
        self.send(&sent, &PatchParams::apply(manager)).await
    }

    async fn send(&self, sent: &Json, params: &PatchParams) -> Result<AnyObject, kube::Error> {
        let api = self.api()?;
        api.patch(&self.id.name, params, &Patch::Apply(sent)).await
    }

    /// The uid of an object that is there and ours to apply.
    async fn claimed(&self, payload: &Json, set: &str) -> Result<Option<String>, Error> {
        let Some(live) = self.metadata().await? else {
            return Ok(None);
        };
        let patch = match self.claim(&live, payload, set).await? {
            Claim::TakeOver => apply::handover(&live, &self.served.resource.api_version),
            Claim::Own => None,
        };
        if let Some(patch) = patch {
            let params = PatchParams::default();
            let patch = Patch::Merge(patch);
            let api = self.api().map_err(|error| self.error(error))?;
            let handed = api.patch_metadata(&self.id.name, &params, &patch).await;
            handed.map_err(|error| self.error(error))?;
        }
        Ok(Some(Live(&live).uid().to_owned()))
    }

    /// Whether `live` may be applied as part of `set`.
    pub(super) async fn claim(
        &self,
        live: &Json,
        payload: &Json,
        set: &str,
    ) -> Result<Claim, Error> {
        match apply::claim(live, payload, set) {
            Ok(claim) => Ok(claim),
            Err(foreign) => Err(Error::Foreign {
                object: self.id.clone(),
                foreign: owner::named(&self.client, foreign).await,
            }),
        }
    }

    /// Deletes it, if it still is the object with this uid.
    pub(super) async fn delete(&self, uid: &str) -> Result<(), Error> {
        let params = DeleteParams {
            preconditions: Some(Preconditions {
                uid: Some(uid.to_owned()),
                ..Preconditions::default()
            }),
            ..DeleteParams::default()
        };
        let api = self.api().map_err(|error| self.error(error))?;
        match api.delete(&self.id.name, &params).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            Err(error) => Err(self.error(error)),
        }
    }

    /// Releases it from `set`, if it still is the object with this uid. It stays as it is.
    pub(super) async fn release(&self, uid: &str, set: &str) -> Result<(), Error> {
        let Some(live) = self.metadata().await? else {
            return Ok(());
        };
        if Live(&live).uid() != uid {
            return Ok(());
        }
        let params = PatchParams {
            field_manager: Some(MANAGER.to_owned()),
            ..PatchParams::default()
        };
        let patch = Patch::Merge(apply::release(&live, set));
        let api = self.api().map_err(|error| self.error(error))?;
        let released = api.patch_metadata(&self.id.name, &params, &patch).await;
        released.map(drop).map_err(|error| self.error(error))
    }
}

/// The field manager for `step`, and whether it takes fields back by force.
fn params(step: &Step, takes_back: bool) -> PatchParams {
    let Action { manager, force, .. } = &*step.action;
    let mut params = PatchParams::apply(manager);
    params.force = *force || takes_back;
    params
}

/// The value was parsed from JSON, so it can always be converted back.
fn json(object: impl serde::Serialize) -> Json {
    serde_json::to_value(object).unwrap_or_default()
}
