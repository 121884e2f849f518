//! Requests to Azure Resource Manager.
//!
//! In: who asks, and a path of a resource. Out: the answer, whatever its status. Nothing is tried twice, and the token goes to
//! the host of its cloud alone. It does not know what is asked for.

use std::sync::Arc;

use azure_core::credentials::Secret;
use azure_core::http::{
    ClientOptions, Context, Method, Pipeline, PipelineSendOptions, RawResponse, Request,
    RetryOptions, Url,
};
use jiff::Timestamp;
use serde_json::Value;

use super::super::bounded::bounded_by;
use super::super::credentials::cloud::Cloud;
use super::super::{CredentialSource, entra_error};
use super::fault::Task;
use crate::model::{AdapterError, AzureCaller, AzureError, Clock, ErrorClass, ObjectId};

/// The version of the API of Microsoft.Network.
const VERSION: &str = "2023-11-01";

/// The largest answer, in bytes. A load balancer repeats its frontends in every rule and has every address of its pools.
const LARGEST: usize = 8 << 20;

/// A way to Azure Resource Manager.
pub(super) struct Gateway {
    credentials: Arc<dyn CredentialSource>,
    clock: Arc<dyn Clock>,
    pipeline: Pipeline,
}

impl Gateway {
    /// Sends requests by these options, with these credentials.
    pub(super) fn new(
        credentials: Arc<dyn CredentialSource>,
        clock: Arc<dyn Clock>,
        options: ClientOptions,
    ) -> Self {
        let options = ClientOptions {
            retry: RetryOptions::none(),
            ..bounded_by(options, LARGEST)
        };
        let version = Some(env!("CARGO_PKG_VERSION"));
        let (of_call, of_try) = (Vec::new(), Vec::new());
        let pipeline = Pipeline::new(Some("capstan"), version, options, of_call, of_try, None);
        Self {
            credentials,
            clock,
            pipeline,
        }
    }

    /// Gets a token for a caller.
    pub(super) async fn session(&self, caller: &AzureCaller) -> Result<Session, AzureError> {
        let AzureCaller {
            identity,
            namespace,
            environment,
        } = caller;
        let invalid = |message| AdapterError::new(ErrorClass::Invalid, message);
        let cloud = Cloud::of_environment(environment).map_err(invalid)?;
        let host = cloud.resource_manager();
        let base = Url::parse(&format!("https://{host}/"));
        let base = base.map_err(|error| invalid(format!("{host} is not a host: {error}")))?;
        let credential = self
            .credentials
            .credential(identity, namespace, environment)
            .await?;
        let token = credential.get_token(&[cloud.management()], None).await;
        let token = token.map_err(|error| entra_error::refused(&error))?;
        Ok(Session {
            pipeline: self.pipeline.clone(),
            clock: Arc::clone(&self.clock),
            base,
            token: token.token,
            identity: identity.clone(),
        })
    }
}

/// A caller with a token.
pub(super) struct Session {
    pipeline: Pipeline,
    clock: Arc<dyn Clock>,
    /// The root of Azure Resource Manager.
    base: Url,
    token: Secret,
    identity: ObjectId,
}

impl Session {
    /// A request of this caller, for its errors.
    pub(super) fn task(&self, request: String, permission: &'static str) -> Task {
        Task {
            request,
            permission,
            identity: self.identity.clone(),
        }
    }

    /// The address of the resource at this path.
    pub(super) fn url(&self, path: &[&str]) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.clear().extend(path);
        }
        url.query_pairs_mut().append_pair("api-version", VERSION);
        url
    }

    /// The address of a next page; `None` if it leads elsewhere.
    pub(super) fn next_url(&self, link: &str) -> Option<Url> {
        let url = Url::parse(link).ok()?;
        let is_anonymous = url.username().is_empty() && url.password().is_none();
        (is_anonymous && url.origin() == self.base.origin()).then_some(url)
    }

    /// Reads a resource.
    pub(super) async fn get(&self, url: Url, task: &Task) -> Result<RawResponse, AzureError> {
        self.send(Request::new(url, Method::Get), task).await
    }

    /// Writes a resource.
    pub(super) async fn put(
        &self,
        url: Url,
        body: &Value,
        task: &Task,
    ) -> Result<RawResponse, AzureError> {
        let mut request = Request::new(url, Method::Put);
        request.insert_header("content-type", "application/json");
        request.set_body(body.to_string());
        self.send(request, task).await
    }

    /// The JSON of an answer that is a success.
    pub(super) fn json(&self, answer: &RawResponse, task: &Task) -> Result<Value, AzureError> {
        if u16::from(answer.status()) != 200 {
            return Err(self.refused(answer, task));
        }
        let body = serde_json::from_slice(answer.body().as_ref());
        body.map_err(|_| task.unexpected("its answer is not JSON"))
    }

    /// The error of an answer that is no success.
    pub(super) fn refused(&self, answer: &RawResponse, task: &Task) -> AzureError {
        task.refused(answer, self.token.secret(), self.now())
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    async fn send(&self, mut request: Request, task: &Task) -> Result<RawResponse, AzureError> {
        request.insert_header("accept", "application/json");
        let token = format!("Bearer {}", self.token.secret());
        request.insert_header("authorization", token);
        let any_status = PipelineSendOptions {
            skip_checks: true,
            ..PipelineSendOptions::default()
        };
        let context = Context::new();
        let answer = self.pipeline.send(&context, &mut request, Some(any_status));
        answer.await.map_err(|error| task.unanswered(&error))
    }
}
