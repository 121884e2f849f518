//! What the API server has to know: which authorities to trust, and what to do when nobody answers.
//!
//! In: a client. Out: two fields of one webhook of one ValidatingWebhookConfiguration. Nothing else of it is written, and
//! it is not created: somebody installs it.

use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use kube::api::{Api, Patch, PatchParams};
use kube::{Client, Error};
use serde_json::json;

use super::reader::{class, why};
use crate::admission::WEBHOOK;
use crate::api::fleet::FailurePolicy;
use crate::model::AdapterError;

/// The owner of the two fields.
const MANAGER: &str = "capstan-admission";

/// What the API server has.
pub(super) struct Current {
    uid: String,
    pub(super) bundle: String,
    policy: String,
}

impl Current {
    /// Whether the API server trusts `bundle`.
    pub(super) fn trusts(&self, bundle: &str) -> bool {
        self.bundle == bundle
    }
}

pub(super) struct Injection {
    pub(super) client: Client,
    /// The name of the configuration.
    pub(super) name: String,
    pub(super) policy: FailurePolicy,
}

impl Injection {
    fn api(&self) -> Api<ValidatingWebhookConfiguration> {
        Api::all(self.client.clone())
    }

    /// What the API server has; `None` if the configuration, or the webhook in it, does not exist.
    pub(super) async fn read(&self) -> Result<Option<Current>, AdapterError> {
        let found = self.api().get_opt(&self.name).await;
        let found = found.map_err(|error| self.failed("read", &error))?;
        let current = |configuration: ValidatingWebhookConfiguration| {
            let webhooks = configuration.webhooks?.into_iter();
            let webhook = webhooks
                .into_iter()
                .find(|webhook| webhook.name == WEBHOOK)?;
            let bundle = webhook.client_config.ca_bundle.map(|bundle| bundle.0);
            Some(Current {
                uid: configuration.metadata.uid.unwrap_or_default(),
                bundle: String::from_utf8(bundle.unwrap_or_default()).unwrap_or_default(),
                policy: webhook.failure_policy.unwrap_or_default(),
            })
        };
        Ok(found.and_then(current))
    }

    /// Writes what differs from `current`. Changes are refused for want of an answer only if `is_proven`: until then a
    /// stricter setting waits. Says whether all is as the settings want it.
    pub(super) async fn write(
        &self,
        current: &Current,
        bundle: &str,
        is_proven: bool,
    ) -> Result<bool, AdapterError> {
        let wanted = format!("{:?}", self.policy);
        let may_change = is_proven || self.policy == FailurePolicy::Ignore;
        let policy = if may_change { &wanted } else { &current.policy };
        let is_done = *policy == wanted;
        if current.trusts(bundle) && current.policy == *policy {
            return Ok(is_done);
        }
        let patch = json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            // Somebody may have removed it just now: an apply would make another one.
            "metadata": {"name": self.name, "uid": current.uid},
            "webhooks": [{"name": WEBHOOK, "failurePolicy": policy,
                "clientConfig": {"caBundle": ByteString(bundle.as_bytes().to_vec())}}],
        });
        let parameters = PatchParams::apply(MANAGER).force();
        let written = self
            .api()
            .patch(&self.name, &parameters, &Patch::Apply(&patch))
            .await;
        written
            .map(drop)
            .map_err(|error| self.failed("write", &error))?;
        tracing::info!(
            "admission: the API server trusts the authorities of {}, failurePolicy {policy}",
            self.name
        );
        Ok(is_done)
    }

    fn failed(&self, verb: &str, error: &Error) -> AdapterError {
        let message = format!(
            "cannot {verb} ValidatingWebhookConfiguration//{}: {}",
            self.name,
            why(error)
        );
        AdapterError::new(class(error), message)
    }
}
