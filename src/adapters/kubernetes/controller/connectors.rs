//! What controllers reach besides the cluster they run on.
//!
//! Supplied by the wiring: real ones outside, simulated ones in a rehearsal.

use std::sync::Arc;

use futures::future::{self, BoxFuture, FutureExt as _};
use futures::stream::{self, BoxStream, StreamExt as _};

use crate::model::{
    AdapterError, AsoSecretRequest, AzureError, AzureFault, CredentialRequest, Credentials,
    ErrorClass, Frontend, FrontendRequest, KeyError, KeyFault, KeyRequest, KeyVaults, ObjectId,
    PrivateLinks, RejectRequest, SecretContent, WorkloadNode, Workloads,
};

/// What controllers reach besides the cluster they run on.
#[derive(Clone)]
pub struct Connectors {
    /// The workload clusters.
    pub workloads: Arc<dyn Workloads>,
    /// The vaults.
    pub keys: Arc<dyn KeyVaults>,
    /// The credentials of Azure.
    pub credentials: Arc<dyn Credentials>,
    /// Azure Resource Manager, for Private Link.
    pub links: Arc<dyn PrivateLinks>,
}

/// Nothing: nobody asks for nodes or keys.
impl Default for Connectors {
    fn default() -> Self {
        Self {
            workloads: Arc::new(Unconnected),
            keys: Arc::new(Unconnected),
            credentials: Arc::new(Unconnected),
            links: Arc::new(Unconnected),
        }
    }
}

/// Reaches nothing.
#[derive(Clone, Copy, Debug)]
pub struct Unconnected;

impl Workloads for Unconnected {
    fn nodes(
        &self,
        _: &ObjectId,
        _: &[u8],
    ) -> BoxStream<'static, Result<Vec<WorkloadNode>, AdapterError>> {
        stream::pending().boxed()
    }
}

impl KeyVaults for Unconnected {
    fn ensure(&self, request: &KeyRequest) -> BoxFuture<'static, Result<String, KeyError>> {
        let KeyRequest { vault, key, .. } = request;
        let message = format!(
            "automatic keys are not configured: create the key '{key}' in the vault '{vault}' and set its version in the HcpOpenShiftCluster, without an identityRef"
        );
        let error = AdapterError::new(ErrorClass::Invalid, message);
        future::ready(Err(KeyError::new(KeyFault::NotConfigured, error))).boxed()
    }
}

impl Credentials for Unconnected {
    fn check(&self, _: &CredentialRequest) -> BoxFuture<'static, Result<(), AdapterError>> {
        future::ready(Err(unasked())).boxed()
    }

    fn aso_secret(
        &self,
        _: &AsoSecretRequest,
    ) -> BoxFuture<'static, Result<SecretContent, AdapterError>> {
        future::ready(Err(unasked())).boxed()
    }
}

impl PrivateLinks for Unconnected {
    fn frontend(&self, _: &FrontendRequest) -> BoxFuture<'static, Result<Frontend, AzureError>> {
        future::ready(Err(unlinked())).boxed()
    }

    fn reject(&self, _: &RejectRequest) -> BoxFuture<'static, Result<usize, AzureError>> {
        future::ready(Err(unlinked())).boxed()
    }
}

fn unlinked() -> AzureError {
    let message = "nothing here asks Azure Resource Manager";
    AzureError::new(AzureFault::Other, message)
}

fn unasked() -> AdapterError {
    AdapterError::new(ErrorClass::Transient, "nothing here asks Entra ID")
}
