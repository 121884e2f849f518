//! `HcpOpenShiftClustersExternalAuth`: who users log in through.

use super::blueprint::Blueprint;
use super::write::embedded;
use crate::api::kinds::RED_HAT_OPENSHIFT;
use crate::expand::node::node;
use crate::model::Node;

const KIND: &str = "HcpOpenShiftClustersExternalAuth";

/// Its name in Azure, which is unique only within the cluster.
const NAME: &str = "ea";

pub(super) fn resource(b: &Blueprint) -> Option<Node> {
    b.spec().external_auth.as_ref()?;
    let spec = node!(b.origin(), {
        "azureName": azure_name(b),
        "owner": {"name": &b.names.cluster},
        "properties": b.with(properties(b), "externalAuth.properties"),
    });
    Some(embedded(
        b,
        [RED_HAT_OPENSHIFT, KIND, &b.names.external_auth],
        spec,
    ))
}

fn azure_name(b: &Blueprint) -> Node {
    let given = b.value("externalAuth.azureName");
    given.unwrap_or_else(|| b.text(NAME))
}

/// The one client is the cluster's console.
fn properties(b: &Blueprint) -> Node {
    let client = b.value("externalAuth.clientID");
    node!(b.origin(), {
        "issuer": {
            "url": issuer(b),
            "audiences": [client.clone()],
        },
        "claim": {
            "mappings": {
                "username": {
                    "claim": b.value("externalAuth.usernameClaim"),
                    "prefixPolicy": "NoPrefix",
                },
                "groups": {"claim": b.value("externalAuth.groupsClaim")},
            },
        },
        "clients": [{
            "clientId": client,
            "component": {"name": "console", "authClientNamespace": "openshift-console"},
            "type": "Confidential",
            "extraScopes": ["openid", "profile"],
        }],
    })
}

fn issuer(b: &Blueprint) -> Node {
    let given = b.value("externalAuth.issuerURL");
    given.unwrap_or_else(|| {
        let authority = b.spec().azure_environment.authority();
        let url = format!("{authority}/{}/v2.0", b.spec().tenant_id);
        b.values.made_from("tenantID", url)
    })
}
