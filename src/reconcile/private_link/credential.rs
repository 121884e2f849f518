//! The credential by which Azure Service Operator (ASO) makes the resources of one side.
//!
//! In: an identity, or the name of a Secret that a person made, and the namespace of the resources. Out: the name of the
//! Secret that the resources name, and the writes that make it; or why there is none. A namespace that the identity does
//! not allow gets nothing. No secret value is looked at here.

use jiff::Timestamp;
use serde_json::json;

use super::names::secret;
use crate::api::conditions as c;
use crate::api::kinds::INFRASTRUCTURE;
use crate::api::labels::{
    CREDENTIAL_FINALIZER, CREDENTIAL_VERSION, LINK_CREDENTIAL, LINK_IDENTITY, MANAGED_BY,
    MANAGED_BY_VALUE,
};
use crate::health::Live;
use crate::model::{AsoSecretRequest, CredentialOf, CredentialRequest, ObjectId};
use crate::reconcile::conditions::NewCondition;
use crate::reconcile::credentials::{check, is_allowed, unseen};
use crate::reconcile::outcome::{self, Outcome, Write, covers, unfinalize};
use crate::reconcile::world::World;

/// Where a credential comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// An AzureClusterIdentity.
    Identity(ObjectId),
    /// A Secret in the namespace of the resources.
    Secret(String),
    /// ASO's own: of the namespace, or of all.
    Operator,
}

impl Source {
    /// The credential of the customer's side, as annotations of the HostedCluster name it.
    pub(super) fn of_cluster(hosted: Live<'_>) -> Self {
        let (identity, secret) = (
            hosted.annotation(LINK_IDENTITY),
            hosted.annotation(LINK_CREDENTIAL),
        );
        if !identity.is_empty() {
            // Without a namespace it is not the operator's credential that is meant.
            let parts = identity.split_once('/');
            let (namespace, name) = parts.unwrap_or((hosted.namespace(), identity));
            let kind = "AzureClusterIdentity";
            return Self::Identity(ObjectId::new(INFRASTRUCTURE, kind, namespace, name));
        }
        if secret.is_empty() {
            Self::Operator
        } else {
            Self::Secret(secret.to_owned())
        }
    }
}

/// The Secret that the resources of a cluster name, once it is there; empty for ASO's own.
pub(super) fn named(hosted: Live<'_>, cluster: &ObjectId) -> String {
    match Source::of_cluster(hosted) {
        Source::Identity(_) => secret(cluster),
        Source::Secret(name) => name,
        Source::Operator => String::new(),
    }
}

/// A credential that is used somewhere.
pub(super) struct Use<'a> {
    /// Where it comes from.
    pub(super) source: &'a Source,
    /// The namespace of the resources.
    pub(super) namespace: &'a str,
    /// The name of the Secret to make of an identity.
    pub(super) secret: &'a str,
    /// The subscription of the resources.
    pub(super) subscription: &'a str,
    /// The cloud.
    pub(super) environment: &'a str,
}

impl Use<'_> {
    fn id(&self) -> ObjectId {
        ObjectId::new("", "Secret", self.namespace, self.secret)
    }

    /// The Secret that the resources name; empty if ASO is to use its own.
    ///
    /// # Errors
    /// When there is none yet, or there cannot be: a condition that is false.
    pub(super) fn keep(
        &self,
        world: World<'_>,
        now: Timestamp,
        outcome: &mut Outcome,
    ) -> Result<String, NewCondition> {
        let identity = match self.source {
            Source::Operator => return Ok(String::new()),
            Source::Secret(name) => return self.made_by_hand(world, name, outcome),
            Source::Identity(identity) => identity,
        };
        outcome.need(identity.clone());
        let Some(live) = world.get(identity).present() else {
            let (reason, message) = unseen(world, identity);
            return Err(NewCondition::no(reason, message));
        };
        if !is_allowed(world, live, self.namespace, outcome) {
            let (reason, message) = (
                c::NAMESPACE_NOT_ALLOWED_BY_IDENTITY,
                c::NAMESPACE_NOT_ALLOWED,
            );
            return Err(NewCondition::no(reason, format!("{identity}: {message}")));
        }
        let request = CredentialRequest {
            of: CredentialOf::Identity(identity.clone()),
            environment: self.environment.to_owned(),
            version: check::version(world, live, now, outcome),
        };
        let state = check::ask(world, &request, now, outcome);
        if state.works {
            self.write(world, request, outcome);
        }
        let id = self.id();
        let held = world.get(&id).present();
        outcome.need(id.clone());
        if held.is_some_and(|held| held.label(MANAGED_BY) != MANAGED_BY_VALUE) {
            let message = format!(
                "{id} exists and was not made by Capstan; it is left alone: delete it, so that one with the credential of {identity} can be made"
            );
            return Err(NewCondition::no(c::CREDENTIAL_SECRET_FAILED, message));
        }
        // One that worked before stays in use.
        let is_filled = held.is_some_and(|held| !held.annotation(CREDENTIAL_VERSION).is_empty());
        match world.refusal(&id) {
            _ if is_filled => Ok(self.secret.to_owned()),
            Some(error) => Err(NewCondition::no(
                c::CREDENTIAL_SECRET_FAILED,
                error.to_string(),
            )),
            None if state.works => Err(NewCondition::no(
                c::WAITING_FOR_IDENTITY,
                format!("Waiting for the Secret {} with the credential", self.secret),
            )),
            None if state.condition.is_false() => {
                let said = format!("{identity}: {}", state.condition.message());
                Err(state.condition.saying(said))
            }
            None => Err(NewCondition::no(
                c::WAITING_FOR_IDENTITY,
                format!("Waiting for a token of Entra ID for {identity}"),
            )),
        }
    }

    fn made_by_hand(
        &self,
        world: World<'_>,
        name: &str,
        outcome: &mut Outcome,
    ) -> Result<String, NewCondition> {
        let id = ObjectId::new("", "Secret", self.namespace, name);
        let found = world.get(&id);
        outcome.need(id.clone());
        if found.is_absent() {
            let message = format!(
                "{id}, which the annotation {LINK_CREDENTIAL} of the HostedCluster names, does not exist: create it with the credential for Azure Service Operator"
            );
            return Err(NewCondition::no(c::CREDENTIALS_NOT_FOUND, message));
        }
        Ok(name.to_owned())
    }

    /// Writes the Secret, unless it is there as it was written last.
    fn write(&self, world: World<'_>, credential: CredentialRequest, outcome: &mut Outcome) {
        let id = self.id();
        let held = world.get(&id).present();
        let mut patch = json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {
                "name": id.name,
                "namespace": id.namespace,
                "labels": {MANAGED_BY: MANAGED_BY_VALUE},
                "annotations": {CREDENTIAL_VERSION: format!("{}/{}", credential.version, self.subscription)},
                "finalizers": [CREDENTIAL_FINALIZER],
            },
            "type": "Opaque",
        });
        if let Some(held) = held {
            // One that somebody deletes stays for as long as it is used, and its content is kept up to date.
            if held.label(MANAGED_BY) != MANAGED_BY_VALUE {
                return;
            }
            patch["metadata"]["uid"] = json!(held.uid());
        }
        let is_held = held.is_some_and(|held| {
            let version = held.text(&["metadata", "resourceVersion"]);
            world.written(&id) == Some(version) && covers(held.0, &patch)
        });
        if !is_held {
            let request = AsoSecretRequest {
                credential,
                namespace: self.namespace.to_owned(),
                subscription: self.subscription.to_owned(),
            };
            outcome.write(Write::CredentialSecret(Box::new(request), patch));
        }
    }
}

/// Deletes the Secret that was made for a cluster. Returns whether it is gone.
pub(super) fn release(
    world: World<'_>,
    namespace: &str,
    secret: &str,
    outcome: &mut Outcome,
) -> bool {
    let id = ObjectId::new("", "Secret", namespace, secret);
    let held = world.get(&id).present();
    outcome.need(id);
    let Some(held) = held.filter(|held| held.label(MANAGED_BY) == MANAGED_BY_VALUE) else {
        return true;
    };
    outcome.maybe(outcome::delete(held));
    outcome.maybe(unfinalize(held, CREDENTIAL_FINALIZER));
    false
}
