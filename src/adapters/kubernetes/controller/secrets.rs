//! Writes Secrets with a credential for Azure Service Operator.
//!
//! In: the Secret without its content, and whose credential it is. Out: what the server answered, without the content. What
//! proves the credential is replaced as a whole, whoever wrote what was there before: Azure Service Operator takes the first proof
//! that it finds. Other proofs go first, so that a Secret that names a version has the content of it and no more, wherever
//! this process ends. It does not know who decided to write it.

use std::collections::BTreeMap;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use kube::Api;
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use serde_json::{Map, Value, json};

use super::super::any_object::Lean;
use super::super::{Error, address};
use super::writer::{Writer, merging, resource, target};
use crate::api::aso::PROOFS;
use crate::health::Live;
use crate::model::{AdapterError, AsoSecretRequest};

impl Writer {
    /// Applies a Secret with a credential: the one that the patch names by its uid, or a new one.
    pub(super) async fn secret(
        &self,
        request: &AsoSecretRequest,
        patch: &Value,
    ) -> Result<Value, AdapterError> {
        let id = Live(patch).id();
        let failed = |error: kube::Error| {
            let error = Error::new(&id, error);
            AdapterError::new(error.class(), error.to_string())
        };
        let content = self.connectors.credentials.aso_secret(request).await?;
        let (api, name) = target::<Lean>(&self.client, patch).map_err(failed)?;
        let mut body = patch.clone();
        if body["metadata"].get("uid").is_some() {
            let held = api.get(name).await.map_err(failed)?.json;
            let is_named = Live(&held).uid() == Live(patch).uid();
            let rest = left_over(&held, &content.0).filter(|_| is_named);
            if let Some(rest) = rest {
                let params = merging(self.manager);
                let cleared = api.patch(name, &params, &Patch::Merge(rest)).await;
                cleared.map_err(failed)?;
            }
        } else {
            // Fails if somebody has made one meanwhile, which must not get the content.
            let made = self.create(&empty(patch)).await.map_err(failed)?;
            body["metadata"]["uid"] = json!(made);
        }
        for (key, value) in &content.0 {
            body["data"][key] = json!(BASE64_STANDARD.encode(value));
        }
        let params = PatchParams::apply(self.manager).force();
        let answer = api.patch(name, &params, &Patch::Apply(&body)).await;
        let mut answer = answer.map_err(failed)?.json;
        if let Some(fields) = answer.as_object_mut() {
            fields.remove("data");
            fields.remove("stringData");
        }
        Ok(answer)
    }

    /// Creates an object as a patch has it. Returns its uid.
    async fn create(&self, patch: &Value) -> Result<Option<String>, kube::Error> {
        let live = Live(patch);
        let resource = resource(live.group(), live.version(), live.kind());
        let api: Api<DynamicObject> =
            address::api(&self.client, &resource, (live.namespace(), live.name()))?;
        let params = PostParams {
            field_manager: Some(self.manager.to_owned()),
            ..PostParams::default()
        };
        let object = serde_json::from_value(patch.clone()).map_err(kube::Error::SerdeError)?;
        let made = api.create(&params, &object).await?;
        Ok(made.metadata.uid)
    }
}

/// The Secret as it is made, without content: its annotations would say that it has some.
fn empty(patch: &Value) -> Value {
    let mut empty = patch.clone();
    if let Some(metadata) = empty["metadata"].as_object_mut() {
        metadata.remove("annotations");
    }
    empty
}

/// A merge patch that takes other proofs than those of `content` out of the Secret, at the version that it was read at.
fn left_over(held: &Value, content: &BTreeMap<String, Vec<u8>>) -> Option<Value> {
    let data = held["data"].as_object()?;
    let rest = PROOFS.iter().filter(|key| data.contains_key(**key));
    let rest = rest.filter(|key| !content.contains_key(**key));
    let rest: Map<String, Value> = rest.map(|key| ((*key).to_owned(), Value::Null)).collect();
    let version = Live(held).text(&["metadata", "resourceVersion"]);
    let metadata = json!({"uid": Live(held).uid(), "resourceVersion": version});
    (!rest.is_empty()).then(|| json!({"metadata": metadata, "data": rest}))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(keys: &[&str]) -> BTreeMap<String, Vec<u8>> {
        let keys = keys.iter();
        keys.map(|key| ((*key).to_owned(), Vec::new())).collect()
    }

    #[test]
    fn issue_15_a_password_that_another_tool_moved_does_not_outlive_the_identity_that_had_it() {
        let held = json!({"metadata": {"uid": "u", "resourceVersion": "7"}, "data": {"AZURE_CLIENT_ID": "YQ==",
            "AZURE_CLIENT_SECRET": "YQ==", "AUTH_MODE": "YQ==", "AZURE_ADDITIONAL_TENANTS": "YQ=="}});
        let rest = left_over(&held, &content(&["AZURE_CLIENT_ID", "AUTH_MODE"]));
        let expected = json!({"metadata": {"uid": "u", "resourceVersion": "7"}, "data": {"AZURE_CLIENT_SECRET": null}});
        assert_eq!(rest, Some(expected));
        let all = content(&["AZURE_CLIENT_ID", "AUTH_MODE", "AZURE_CLIENT_SECRET"]);
        assert_eq!(left_over(&held, &all), None);
    }

    #[test]
    fn issue_15_a_secret_that_has_no_content_yet_does_not_look_as_if_it_had() {
        let patch = json!({"metadata": {"name": "s", "labels": {"c": "owned"},
            "annotations": {"capstan.dev/credential-version": "1"}}});
        let expected = json!({"metadata": {"name": "s", "labels": {"c": "owned"}}});
        assert_eq!(empty(&patch), expected);
    }
}
