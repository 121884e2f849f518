//! Private Link against a strict stand-in for Azure Resource Manager.

#![allow(clippy::unwrap_used, clippy::panic)]

mod arm;
mod faults;
mod hostile;
mod lookup;
mod rejection;
mod sharing;

use std::pin::Pin;
use std::sync::Arc;

use azure_core::credentials::{AccessToken, TokenCredential, TokenRequestOptions};
use azure_core::error::ErrorKind;
use azure_core::http::Transport;
use azure_core::time::{Duration as Span, OffsetDateTime};
use kube_sim::SimClock;
use serde_json::{Value, json};

use self::arm::{Arm, HOST, TOKEN};
use super::*;
use crate::model::ObjectId;

const SUBSCRIPTION: &str = "11111111-2222-3333-4444-555555555555";
const LIST: &str = "/subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/rg/providers/Microsoft.Network/loadBalancers";
const SERVICE: &str = "/subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/rg/providers/Microsoft.Network/privateLinkServices/pls-c1";

/// Gives the token, or what Entra ID says instead.
#[derive(Debug)]
struct Given {
    scope: String,
    refusal: Option<&'static str>,
}

impl TokenCredential for Given {
    fn get_token<'s, 'a, 'b, 'c, 'f>(
        &'s self,
        scopes: &'a [&'b str],
        _: Option<TokenRequestOptions<'c>>,
    ) -> Pin<Box<dyn Future<Output = azure_core::Result<AccessToken>> + Send + 'f>>
    where
        's: 'f,
        'a: 'f,
        'b: 'f,
        'c: 'f,
    {
        assert_eq!(scopes, [&self.scope]);
        let expires = OffsetDateTime::now_utc() + Span::hours(1);
        let token = match self.refusal {
            None => Ok(AccessToken::new(TOKEN, expires)),
            Some(text) => Err(azure_core::Error::with_message(ErrorKind::Credential, text)),
        };
        std::future::ready(token).boxed()
    }
}

struct Source {
    host: &'static str,
    refusal: Option<&'static str>,
}

impl CredentialSource for Source {
    fn credential(
        &self,
        identity: &ObjectId,
        namespace: &str,
        _: &str,
    ) -> BoxFuture<'static, Result<Arc<dyn TokenCredential>, AdapterError>> {
        assert_eq!(identity.name, "me");
        if namespace == "forbidden" {
            let error = AdapterError::new(ErrorClass::Denied, "the identity is not for it");
            return std::future::ready(Err(error)).boxed();
        }
        let given: Arc<dyn TokenCredential> = Arc::new(Given {
            scope: format!("https://{}/.default", self.host),
            refusal: self.refusal,
        });
        std::future::ready(Ok(given)).boxed()
    }
}

/// A connector to this Azure, at the time 1000.
fn links(arm: &Arc<Arm>) -> AzureLinks {
    let host = match arm.host {
        "" => HOST,
        host => host,
    };
    links_of(
        arm,
        Source {
            host,
            refusal: None,
        },
    )
}

fn links_of(arm: &Arc<Arm>, source: Source) -> AzureLinks {
    let options = ClientOptions {
        transport: Some(Transport::new(Arc::clone(arm) as _)),
        ..ClientOptions::default()
    };
    let clock = Arc::new(SimClock::new(Timestamp::from_second(1_000).unwrap(), 1));
    AzureLinks::through(Arc::new(source), clock, options)
}

fn world() -> (AzureLinks, Arc<Arm>) {
    let arm = Arc::new(Arm::default());
    (links(&arm), arm)
}

fn caller() -> AzureCaller {
    AzureCaller {
        identity: ObjectId::new("", "AzureClusterIdentity", "team", "me"),
        namespace: "ns".to_owned(),
        environment: String::new(),
    }
}

fn network(name: &str) -> String {
    format!(
        "/subscriptions/{SUBSCRIPTION}/resourceGroups/net/providers/Microsoft.Network/virtualNetworks/{name}"
    )
}

/// Asks for an address in the network `vnet-a`.
fn request(address: &str) -> FrontendRequest {
    FrontendRequest {
        subscription: SUBSCRIPTION.to_owned(),
        resource_group: "rg".to_owned(),
        network: network("vnet-a"),
        address: address.to_owned(),
        caller: caller(),
    }
}

fn rejection() -> RejectRequest {
    RejectRequest {
        service: SERVICE.to_owned(),
        caller: caller(),
    }
}

fn balancer_id(name: &str) -> String {
    format!("{LIST}/{name}")
}

fn frontend_id(balancer: &str, name: &str) -> String {
    format!("{LIST}/{balancer}/frontendIPConfigurations/{name}")
}

/// A load balancer with frontends: the name, address and network of each.
fn balancer(name: &str, frontends: &[(&str, &str, &str)]) -> Value {
    let frontends = frontends.iter().map(|(frontend, address, network_name)| {
        let subnet = format!("{}/subnets/workers", network(network_name));
        json!({
            "name": frontend,
            "id": frontend_id(name, frontend),
            "properties": {
                "provisioningState": "Succeeded",
                "privateIPAddress": address,
                "privateIPAllocationMethod": "Dynamic",
                "subnet": {"id": subnet},
            },
        })
    });
    let frontends: Vec<Value> = frontends.collect();
    json!({
        "name": name,
        "id": balancer_id(name),
        "type": "Microsoft.Network/loadBalancers",
        "location": "westeurope",
        "properties": {"frontendIPConfigurations": frontends},
    })
}

fn connection(name: &str, status: &str) -> Value {
    json!({
        "name": name,
        "id": format!("{SERVICE}/privateEndpointConnections/{name}"),
        "properties": {
            "provisioningState": "Succeeded",
            "privateEndpoint": {"id": format!("/subscriptions/other/resourceGroups/g/providers/Microsoft.Network/privateEndpoints/{name}")},
            "privateLinkServiceConnectionState": {"status": status, "description": "please", "actionsRequired": ""},
            "linkIdentifier": "536872049",
        },
    })
}
