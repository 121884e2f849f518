//! Azure Resource Manager, as far as our controllers ask it about Private Link.

use futures::future::{self, BoxFuture, FutureExt as _};
use serde_json::json;

use super::{CONNECTIONS, connections, is_open};
use crate::adapters::azure_sim::azure::Azure;
use crate::health::Live;
use crate::model::{
    AzureError, AzureFault, Frontend, FrontendRequest, PrivateLinks, RejectRequest,
};

/// Simulated Azure behind the port for Private Link.
#[derive(Clone, Debug)]
pub struct SimulatedLinks {
    azure: Azure,
}

impl SimulatedLinks {
    /// About what exists in `azure`.
    #[must_use]
    pub const fn new(azure: Azure) -> Self {
        Self { azure }
    }
}

impl PrivateLinks for SimulatedLinks {
    fn frontend(
        &self,
        request: &FrontendRequest,
    ) -> BoxFuture<'static, Result<Frontend, AzureError>> {
        future::ready(found(&self.azure, request)).boxed()
    }

    fn reject(&self, request: &RejectRequest) -> BoxFuture<'static, Result<usize, AzureError>> {
        future::ready(Ok(reject(&self.azure, &request.service))).boxed()
    }
}

/// The frontend with an address in a network.
fn found(azure: &Azure, request: &FrontendRequest) -> Result<Frontend, AzureError> {
    let group = format!(
        "/subscriptions/{}/resourceGroups/{}/",
        request.subscription, request.resource_group
    );
    let (group, network) = (
        group.to_ascii_lowercase(),
        format!("{}/", request.network.to_ascii_lowercase()),
    );
    for (id, state) in azure.below("/loadBalancers/") {
        if !id.to_ascii_lowercase().starts_with(&group) {
            continue;
        }
        let frontends = Live(&state)
            .list(&["frontendIPConfigurations"])
            .iter()
            .map(Live);
        let mut frontends = frontends.filter(|one| {
            let subnet = one.text(&["subnet", "id"]).to_ascii_lowercase();
            one.text(&["privateIPAddress"]) == request.address && subnet.starts_with(&network)
        });
        if let Some(frontend) = frontends.next() {
            return Ok(Frontend {
                id: frontend.text(&["id"]).to_owned(),
                load_balancer: id.clone(),
                location: Live(&state).text(&["location"]).to_owned(),
            });
        }
    }
    let message = format!(
        "no load balancer in {group} has the address {}",
        request.address
    );
    Err(AzureError::new(AzureFault::NotFound, message))
}

/// Rejects the open connections of a service, and counts them.
fn reject(azure: &Azure, service: &str) -> usize {
    let open = connections(azure, service)
        .into_iter()
        .filter(|one| is_open(one.state()));
    let mut count = 0;
    for one in open {
        let mut state = one.state;
        state[CONNECTIONS][0]["privateLinkServiceConnectionState"] = json!({"status": "Rejected"});
        azure.put(&one.endpoint, state);
        count += 1;
    }
    count
}
