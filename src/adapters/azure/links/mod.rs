//! Private Link in Azure Resource Manager, as far as Azure Service Operator does not do it.
//!
//! In: the address of a frontend, or a Private Link Service that is to be deleted, and the identity to ask with. Out: the
//! frontend, or how many connections were open, or what is in the way. Nothing is tried twice here: the error says when to ask
//! again. It does not know which cluster needs the answer, and never sees what its credentials are made of.

mod arm_id;
mod connections;
mod fault;
mod frontends;
mod session;
mod shared;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use azure_core::http::ClientOptions;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};

use self::arm_id::{ArmId, ResourceGroup};
use self::session::Gateway;
use self::shared::{Key, LIFE, Outcome, SharedListings};
use super::CredentialSource;
use crate::model::{
    AdapterError, AzureCaller, AzureError, AzureFault, Clock, ErrorClass, Frontend,
    FrontendRequest, PrivateLinks, RejectRequest,
};

/// The longest time for one answer, with the token and all its pages. Those who ask wait for two minutes.
const PATIENCE: Duration = Duration::from_secs(90);

/// A frontend that is missing from a listing older than this is looked for again: it may be new.
const FRESH: SignedDuration = SignedDuration::from_secs(5);

/// Azure Resource Manager, for Private Link.
#[derive(Clone)]
pub struct AzureLinks(Arc<ResourceManager>);

/// Azure Resource Manager, and what it listed lately.
struct ResourceManager {
    gateway: Arc<Gateway>,
    clock: Arc<dyn Clock>,
    listings: SharedListings,
}

impl AzureLinks {
    /// Azure as it is reached with these credentials. Nothing is requested yet. `clock` has the time by which listings age.
    #[must_use]
    pub fn new(credentials: Arc<dyn CredentialSource>, clock: Arc<dyn Clock>) -> Self {
        Self::through(credentials, clock, ClientOptions::default())
    }

    /// The same, with requests that are sent by these options. Only code that builds the program can set them: no setting
    /// and no flag does.
    #[must_use]
    pub fn through(
        credentials: Arc<dyn CredentialSource>,
        clock: Arc<dyn Clock>,
        options: ClientOptions,
    ) -> Self {
        let gateway = Gateway::new(credentials, Arc::clone(&clock), options);
        Self(Arc::new(ResourceManager {
            gateway: Arc::new(gateway),
            clock,
            listings: SharedListings::default(),
        }))
    }

    /// Gives an answer up that takes too long.
    fn patient<T: 'static>(
        &self,
        answer: impl Future<Output = Result<T, AzureError>> + Send + 'static,
    ) -> BoxFuture<'static, Result<T, AzureError>> {
        let patience = self.0.clock.real(PATIENCE);
        async move {
            let answer = tokio::time::timeout(patience, answer).await;
            answer.unwrap_or_else(|_| Err(silent()))
        }
        .boxed()
    }
}

fn silent() -> AzureError {
    let message = format!(
        "Unexpected error: Azure Resource Manager, or Entra ID, did not answer within {} seconds",
        PATIENCE.as_secs()
    );
    AzureError::new(AzureFault::Other, message)
}

fn invalid(message: String) -> AzureError {
    AdapterError::new(ErrorClass::Invalid, message).into()
}

impl PrivateLinks for AzureLinks {
    fn frontend(
        &self,
        request: &FrontendRequest,
    ) -> BoxFuture<'static, Result<Frontend, AzureError>> {
        let (azure, request) = (Arc::clone(&self.0), request.clone());
        self.patient(async move { azure.frontend(&request).await })
    }

    fn reject(&self, request: &RejectRequest) -> BoxFuture<'static, Result<usize, AzureError>> {
        let (azure, request) = (Arc::clone(&self.0), request.clone());
        self.patient(async move { azure.reject(&request).await })
    }
}

impl ResourceManager {
    async fn frontend(&self, request: &FrontendRequest) -> Result<Frontend, AzureError> {
        let FrontendRequest {
            subscription,
            resource_group,
            network,
            address,
            caller,
        } = request;
        let group = ResourceGroup::new(subscription, resource_group).ok_or_else(|| {
            invalid(format!(
                "cannot list load balancers: '{resource_group}' in '{subscription}' is not a resource group in a subscription"
            ))
        })?;
        let network = ArmId::parse(network, frontends::NETWORK)
            .ok_or_else(|| invalid(format!("'{network}' is not the ID of a virtual network")))?;
        let address = address
            .parse()
            .map_err(|_| invalid(format!("'{address}' is not an IP address")))?;
        let now = self.clock.now();
        let listing = self.listing(&group, caller, now - LIFE).await?;
        let found = listing.find(address, &network);
        if found.is_ok() || listing.at >= now - FRESH {
            return found;
        }
        let listing = self.listing(&group, caller, now - FRESH).await?;
        listing.find(address, &network)
    }

    /// A listing that was begun at `since` or later.
    async fn listing(
        &self,
        group: &ResourceGroup,
        caller: &AzureCaller,
        since: Timestamp,
    ) -> Outcome {
        let key: Key = (group.key(), caller.clone());
        let now = self.clock.now();
        let begin = || {
            let (gateway, group, caller) =
                (Arc::clone(&self.gateway), group.clone(), caller.clone());
            async move {
                let session = gateway.session(&caller).await?;
                let listing = frontends::list(&session, group, now).await?;
                Ok(Arc::new(listing))
            }
            .boxed()
        };
        self.listings.get(key, since, now, begin).await
    }

    async fn reject(&self, request: &RejectRequest) -> Result<usize, AzureError> {
        let RejectRequest { service, caller } = request;
        let service = ArmId::parse(service, connections::KIND).ok_or_else(|| {
            invalid(format!(
                "'{service}' is not the ID of a Private Link Service"
            ))
        })?;
        let session = self.gateway.session(caller).await?;
        connections::reject(&session, &service).await
    }
}
