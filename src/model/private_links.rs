//! The port for what Azure Service Operator cannot do about Private Link.
//!
//! In: the address of a load balancer's frontend, or a Private Link Service. Out: which frontend has the address, and how
//! many connections of others a service still has, or what is in the way. The caller does not know how Azure is reached.

use std::time::Duration;

use futures::future::BoxFuture;

use super::{AdapterError, ErrorClass, ObjectId};

/// Who asks Azure: an AzureClusterIdentity, for an object in a namespace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AzureCaller {
    /// The AzureClusterIdentity.
    pub identity: ObjectId,
    /// The namespace that uses it.
    pub namespace: String,
    /// `AzurePublicCloud`, `AzureChinaCloud` or `AzureUSGovernmentCloud`; empty for the first.
    pub environment: String,
}

/// The frontend of a load balancer that has an address.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FrontendRequest {
    /// The ID of the subscription of the load balancers.
    pub subscription: String,
    /// Their resource group.
    pub resource_group: String,
    /// The ARM ID of the virtual network in which the address counts. Networks may have the same addresses.
    pub network: String,
    /// The private address, IPv4 or IPv6.
    pub address: String,
    /// Who asks.
    pub caller: AzureCaller,
}

/// A frontend that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frontend {
    /// Its ARM ID.
    pub id: String,
    /// The ARM ID of its load balancer.
    pub load_balancer: String,
    /// The region of the load balancer, such as `westeurope`.
    pub location: String,
}

/// The connections to a Private Link Service that is to be deleted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RejectRequest {
    /// The ARM ID of the service.
    pub service: String,
    /// Who asks.
    pub caller: AzureCaller,
}

/// What is in the way of a request to Azure Resource Manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AzureFault {
    /// There were too many requests.
    Throttled,
    /// The identity lacks a permission.
    Denied,
    /// Something else works on the resource.
    Conflict,
    /// What was looked for does not exist, or not yet.
    NotFound,
    /// Several things fit, and only one is meant.
    Ambiguous,
    /// Anything else: the class of the error says what to do.
    Other,
}

impl AzureFault {
    /// Whether Azure answered what was asked, rather than that it does not do so now.
    #[must_use]
    pub const fn is_answer(self) -> bool {
        matches!(self, Self::Denied | Self::NotFound | Self::Ambiguous)
    }
}

/// Why Azure Resource Manager gave no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{error}")]
pub struct AzureError {
    /// What is in the way.
    pub fault: AzureFault,
    /// What to do about it, and the message for people.
    pub error: AdapterError,
    /// How long Azure wants to be left alone, if it says so.
    pub retry_after: Option<Duration>,
}

impl AzureError {
    /// This is in the way.
    #[must_use]
    pub fn new(fault: AzureFault, message: impl Into<String>) -> Self {
        let class = match fault {
            AzureFault::Throttled | AzureFault::NotFound | AzureFault::Other => {
                ErrorClass::Transient
            }
            AzureFault::Denied => ErrorClass::Denied,
            AzureFault::Conflict => ErrorClass::Conflict,
            AzureFault::Ambiguous => ErrorClass::Invalid,
        };
        Self {
            fault,
            error: AdapterError::new(class, message),
            retry_after: None,
        }
    }

    /// How long to wait before the request is sent again: what Azure asks for, or what HyperShift waits for an error of
    /// this kind.
    #[must_use]
    pub fn pause(&self) -> Duration {
        let seconds = match self.fault {
            AzureFault::Throttled => 300,
            AzureFault::Denied => 600,
            AzureFault::Conflict | AzureFault::NotFound => 30,
            AzureFault::Ambiguous | AzureFault::Other => 120,
        };
        self.retry_after.unwrap_or(Duration::from_secs(seconds))
    }
}

/// An error of what proves who calls: Azure was not asked.
impl From<AdapterError> for AzureError {
    fn from(error: AdapterError) -> Self {
        let fault = match error.class() {
            ErrorClass::Denied => AzureFault::Denied,
            _ => AzureFault::Other,
        };
        Self {
            fault,
            error,
            retry_after: None,
        }
    }
}

/// Looks for frontends, and rejects connections.
pub trait PrivateLinks: Send + Sync {
    /// The frontend that has the address.
    fn frontend(
        &self,
        request: &FrontendRequest,
    ) -> BoxFuture<'static, Result<Frontend, AzureError>>;

    /// Rejects every connection that is approved or pending. Answers how many there were; none if the service does not
    /// exist.
    fn reject(&self, request: &RejectRequest) -> BoxFuture<'static, Result<usize, AzureError>>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn azure_is_left_alone_for_as_long_as_the_error_says() {
        let pause = |fault, asked| {
            let mut error = AzureError::new(fault, "no");
            error.retry_after = asked;
            error.pause().as_secs()
        };
        assert_eq!(pause(AzureFault::Throttled, None), 300);
        assert_eq!(
            pause(AzureFault::Throttled, Some(Duration::from_secs(120))),
            120
        );
        assert_eq!(pause(AzureFault::Denied, None), 600);
        assert_eq!(pause(AzureFault::Conflict, None), 30);
        assert_eq!(pause(AzureFault::Other, None), 120);
    }
}
