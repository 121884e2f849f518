//! Credentials of AzureClusterIdentities, and that of this process.
//!
//! In: which identity, for whose namespace, in which cloud. Out: a credential of azure_identity; whether it works; or what
//! Azure Service Operator needs of it. The identity and its Secret are read at the moment they are needed, and a credential is
//! kept by a digest of what it is made of, so that many clusters share its tokens and a change makes a new one. Three rules
//! keep tenants apart: an identity is for the namespaces that it allows, a Secret is for the identities of its own
//! namespace unless it says otherwise, and only a client that is bound to its namespace is proved by this process itself.

mod aso;
mod build;
mod cache;
mod certificate;
pub(super) mod cloud;
mod default;
mod files;
mod principal;
mod read;
#[cfg(test)]
mod tests;
mod validity;

use std::collections::BTreeSet;
use std::sync::Arc;

use azure_core::credentials::TokenCredential;
use azure_core::http::ClientOptions;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use parking_lot::Mutex;

use self::cache::Cache;
use self::cloud::Cloud;
pub use self::default::DefaultIdentity;
pub use self::files::Files;
use self::principal::{Principal, Proof};
use self::read::Found;
use super::bounded::bounded;
use super::{CredentialSource, entra_error};
use crate::api::azure_cluster_identity::{IdentityType, UNBOUND_HELP, unbound};
use crate::model::{
    AdapterError, AsoSecretRequest, ClientBindings, Clock, CredentialOf, CredentialRequest,
    Credentials, ErrorClass, Namespaces, ObjectId, ObjectReader, SecretContent,
};

/// How credentials are made.
#[derive(Clone, Default)]
pub struct Settings {
    /// How requests are sent.
    pub options: ClientOptions,
    /// The server of Entra ID; `None` for that of the cloud.
    pub authority: Option<String>,
    /// The files that identities may name.
    pub files: Files,
    /// The identity of this process, if it has one.
    pub default: Option<DefaultIdentity>,
    /// The namespaces that may use it.
    pub namespaces: Namespaces,
    /// The client IDs that identities which prove themselves as this process may name.
    pub bindings: ClientBindings,
    /// Why the identity of this process cannot be used, if somebody asked for one.
    pub fault: Option<String>,
}

/// Credentials of the identities in a cluster.
#[derive(Clone)]
pub struct AzureCredentials(Arc<Inner>);

struct Inner {
    objects: Arc<dyn ObjectReader>,
    clock: Arc<dyn Clock>,
    settings: Settings,
    cache: Cache,
    /// The namespaces of identities that proved themselves as this process while nothing was bound.
    unbound: Mutex<BTreeSet<String>>,
}

/// A credential, and what a token for Azure Resource Manager is asked for.
struct Made {
    credential: Arc<dyn TokenCredential>,
    management: &'static str,
}

fn invalid(message: String) -> AdapterError {
    AdapterError::new(ErrorClass::Invalid, message)
}

impl AzureCredentials {
    /// Credentials of the identities that `objects` has. Nothing is requested yet. `clock` has the time by which
    /// certificates are valid.
    #[must_use]
    pub fn new(objects: Arc<dyn ObjectReader>, clock: Arc<dyn Clock>, settings: Settings) -> Self {
        let settings = Settings {
            options: bounded(settings.options),
            ..settings
        };
        Self(Arc::new(Inner {
            objects,
            clock,
            settings,
            cache: Cache::default(),
            unbound: Mutex::default(),
        }))
    }
}

impl Inner {
    /// The principal as it is now, and its cloud. `namespace` is what uses it, unless it is only looked at.
    async fn principal(
        &self,
        of: &CredentialOf,
        namespace: Option<&str>,
        environment: &str,
    ) -> Result<(Principal, Cloud), AdapterError> {
        let cloud = Cloud::of_environment(environment).map_err(invalid)?;
        let now = self.clock.now();
        let id = match of {
            CredentialOf::Identity(id) => id,
            CredentialOf::Default => {
                let may_use = |namespace| self.settings.namespaces.has(namespace);
                if !namespace.is_none_or(may_use) {
                    return Err(AdapterError::new(
                        ErrorClass::Denied,
                        default::NOT_ALLOWED.to_owned(),
                    ));
                }
                let default = self.settings.default.as_ref();
                if let Some(fault) = &self.settings.fault {
                    return Err(invalid(format!("{}: {fault}", default::PLACE)));
                }
                let missing = || invalid("this process has no default identity".to_owned());
                let principal = default
                    .ok_or_else(missing)?
                    .principal(&self.settings.files, now);
                return Ok((principal.map_err(invalid)?, cloud));
            }
        };
        let Found { spec, keys } = read::identity(self.objects.as_ref(), id, namespace).await?;
        self.bound(id, (spec.kind, &spec.client_id))?;
        let named = |why: String| invalid(format!("{id}: {why}"));
        let keys = keys.as_ref().map(|(place, keys)| (place.as_str(), keys));
        let principal = Principal::read(&spec, keys, (&self.settings.files, &id.namespace), now);
        let own = spec.user_assigned_identity_credentials_cloud_type;
        let cloud = match own.filter(|own| !own.is_empty()) {
            Some(own) => Cloud::of_type(&own).map_err(named)?,
            None => cloud,
        };
        Ok((principal.map_err(named)?, cloud))
    }

    /// Whether the identity may prove itself as this process, if that is what it does.
    fn bound(&self, id: &ObjectId, who: (IdentityType, &str)) -> Result<(), AdapterError> {
        let bindings = &self.settings.bindings;
        if who.0.is_of_process() && bindings.is_open() {
            self.warn_if_shared(&id.namespace);
        }
        let refused = unbound(bindings, &id.namespace, who);
        refused.map_or(Ok(()), |why| {
            let text = format!("{id}: {why}: {UNBOUND_HELP}");
            Err(AdapterError::new(ErrorClass::Denied, text))
        })
    }

    /// Warns once as soon as identities of two namespaces prove themselves as this process, and nothing keeps either from
    /// naming the client of the other.
    fn warn_if_shared(&self, namespace: &str) {
        let mut seen = self.unbound.lock();
        let is_second = seen.insert(namespace.to_owned()) && seen.len() == 2;
        if is_second {
            let namespaces = Vec::from_iter(seen.iter().map(String::as_str)).join(", ");
            tracing::warn!(
                "identities in the namespaces {namespaces} authenticate as Capstan itself, and each of them can name any client ID: set CAPSTAN_AZURE_IDENTITY_BINDINGS to keep them apart"
            );
        }
    }

    async fn made(
        &self,
        of: &CredentialOf,
        namespace: Option<&str>,
        environment: &str,
    ) -> Result<Made, AdapterError> {
        let found = self.principal(of, namespace, environment).await;
        if found
            .as_ref()
            .is_err_and(|error| error.class() == ErrorClass::Gone)
        {
            self.cache.forget(of);
        }
        let (principal, cloud) = found?;
        let authority = match (&principal.proof, &self.settings.authority) {
            (Proof::CertificateAt { authority, .. }, _) | (_, Some(authority)) => authority.clone(),
            (_, None) => cloud.authority().to_owned(),
        };
        let content = cache::content(&principal, &authority);
        let asked = (of.clone(), authority.clone());
        let make = || build::credential(principal, &authority, &self.clock, &self.settings.options);
        Ok(Made {
            credential: self.cache.get(asked, content, self.clock.now(), make)?,
            management: cloud.management(),
        })
    }

    async fn check(&self, request: &CredentialRequest) -> Result<(), AdapterError> {
        let made = self.made(&request.of, None, &request.environment).await?;
        let token = made.credential.get_token(&[made.management], None).await;
        token
            .map(drop)
            .map_err(|error| entra_error::refused(&error))
    }

    async fn aso_secret(&self, request: &AsoSecretRequest) -> Result<SecretContent, AdapterError> {
        let AsoSecretRequest {
            credential,
            namespace,
            subscription,
        } = request;
        let (of, environment) = (&credential.of, &credential.environment);
        let (principal, _) = self.principal(of, Some(namespace), environment).await?;
        let default = self.settings.default.as_ref();
        // Other identities do not get the subscription of this process.
        let default = default.filter(|_| *of == CredentialOf::Default);
        let own = default.and_then(|default| default.subscription.as_deref());
        let subscription = Some(subscription.as_str()).filter(|one| !one.is_empty());
        let subscription = subscription.or(own).ok_or_else(|| {
            invalid(
                "spec.subscriptionID of the AROControlPlane is required: Azure Service Operator needs it beside the credential"
                    .to_owned(),
            )
        })?;
        aso::secret(principal, subscription).map_err(invalid)
    }
}

impl CredentialSource for AzureCredentials {
    fn credential(
        &self,
        identity: &ObjectId,
        namespace: &str,
        environment: &str,
    ) -> BoxFuture<'static, Result<Arc<dyn TokenCredential>, AdapterError>> {
        let inner = Arc::clone(&self.0);
        let of = CredentialOf::Identity(identity.clone());
        let (namespace, environment) = (namespace.to_owned(), environment.to_owned());
        async move {
            let made = inner.made(&of, Some(&namespace), &environment).await?;
            Ok(made.credential)
        }
        .boxed()
    }
}

impl Credentials for AzureCredentials {
    fn check(&self, request: &CredentialRequest) -> BoxFuture<'static, Result<(), AdapterError>> {
        let (inner, request) = (Arc::clone(&self.0), request.clone());
        async move { inner.check(&request).await }.boxed()
    }

    fn aso_secret(
        &self,
        request: &AsoSecretRequest,
    ) -> BoxFuture<'static, Result<SecretContent, AdapterError>> {
        let (inner, request) = (Arc::clone(&self.0), request.clone());
        async move { inner.aso_secret(&request).await }.boxed()
    }
}
