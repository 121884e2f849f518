//! From an identity of each type over a token of Entra ID and the Secret for Azure Service Operator to a cluster that is
//! ready; and that no secret gets anywhere else.

#![allow(clippy::unwrap_used)]

use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde_json::{Value, json};

use super::stage::Stage;
use crate::adapters::azure::authority::{KEY, Known, certificate, spellings};
use crate::adapters::azure::credentials::DefaultIdentity;
use crate::adapters::azure::log::Log;
use crate::api::azure_cluster_identity::IdentityType;
use crate::health::Live;

fn spec(kind: &str, secret: bool) -> Value {
    let mut spec =
        json!({"type": kind, "clientID": "client", "tenantID": "tenant", "allowedNamespaces": {}});
    if secret {
        spec["clientSecret"] = json!({"name": "seeded"});
    }
    spec
}

fn assert_hidden(text: &str, pem: &str) {
    let seeded = [
        pem,
        KEY,
        "seeded-password",
        "seeded-federated",
        "issued-token",
    ];
    let seeded = seeded.into_iter().filter(|secret| !secret.is_empty());
    for secret in seeded.flat_map(spellings) {
        assert!(!text.contains(&secret), "{secret} is in public");
    }
}

/// A hunt that finds nothing proves something only if it would find what is there.
#[test]
fn issue_15_a_key_in_base64_is_found_wherever_it_begins() {
    for before in ["", "a", "ab", "abc"] {
        let encoded = BASE64_STANDARD.encode(format!("{before}{KEY}\n"));
        for secret in [encoded, KEY.to_owned()] {
            let found = spellings(KEY).into_iter().any(|one| secret.contains(&one));
            assert!(found, "{before:?}");
        }
    }
}

#[tokio::test]
async fn issue_15_each_type_gets_a_token_a_secret_and_a_cluster_and_shows_nothing() {
    let log = Log::begin();
    let (public, pem) = certificate(2020, 2090);
    let cases = [
        (
            "ServicePrincipal",
            Some(Known::Password("seeded-password".to_owned())),
            "AZURE_CLIENT_SECRET",
        ),
        (
            "ManualServicePrincipal",
            Some(Known::Password("seeded-password".to_owned())),
            "AZURE_CLIENT_SECRET",
        ),
        (
            "ServicePrincipalCertificate",
            Some(Known::Certificate(public)),
            "AZURE_CLIENT_CERTIFICATE",
        ),
        (
            "WorkloadIdentity",
            Some(Known::Federated("seeded-federated".to_owned())),
            "AUTH_MODE",
        ),
        ("UserAssignedMSI", None, "AUTH_MODE"),
    ];
    for (kind, known, key) in cases {
        let stage = Stage::new().await;
        let secret = match &known {
            Some(Known::Password(password)) => Some(password.clone()),
            Some(Known::Certificate(_)) => Some(pem.clone()),
            _ => None,
        };
        if let Some(secret) = &secret {
            stage.secret("seeded", "clientSecret", secret).await;
        }
        std::fs::write(stage.files.path().join("token"), "seeded-federated").unwrap();
        match known {
            Some(known) => stage.authority.know("tenant", "client", known),
            None => stage.authority.assign("client"),
        }
        stage.cluster(&spec(kind, secret.is_some())).await;
        let is_ready = |plane: Live<'_>| plane.flag(&["status", "ready"]);
        stage.until("AROControlPlane", "c", is_ready).await;
        let made = stage.find("Secret", "c-aso-secret").unwrap();
        assert!(made["data"].get(key).is_some(), "{kind}");
        let hcp = stage.find("HcpOpenShiftCluster", "c").unwrap();
        let named = Live(&hcp).annotation("serviceoperator.azure.com/credential-from");
        assert_eq!(named, "c-aso-secret", "{kind}");
        assert_eq!(stage.authority.asked().len(), 1, "{kind}");
        assert_hidden(&stage.public(), &pem);
    }
    let text = log.end();
    assert!(text.contains("TRACE"));
    assert_hidden(&text, &pem);
}

#[tokio::test]
async fn issue_15_a_wrong_password_is_shown_without_it_and_a_new_one_helps() {
    let stage = Stage::new().await;
    let known = Known::Password("right".to_owned());
    stage.authority.know("tenant", "client", known);
    stage
        .secret("seeded", "clientSecret", "seeded-password")
        .await;
    stage.cluster(&spec("ServicePrincipal", true)).await;
    let is_refused = |live: Live<'_>, condition: &str| {
        let found = live.condition(condition);
        found.is_some_and(|found| found.reason() == "CredentialsRefused")
    };
    for (kind, name, condition) in [
        ("AzureClusterIdentity", "identity", "Ready"),
        ("AROControlPlane", "c", "IdentityReady"),
        ("AROCluster", "c", "IdentityReady"),
    ] {
        let object = stage
            .until(kind, name, |live| is_refused(live, condition))
            .await;
        let message = Live(&object)
            .condition(condition)
            .unwrap()
            .message()
            .to_owned();
        assert!(message.contains("AADSTS7000215"), "{message}");
    }
    assert!(stage.find("ResourceGroup", "rg").is_none());
    assert_hidden(&stage.public(), "");
    stage.secret("seeded", "clientSecret", "right").await;
    let is_ready = |plane: Live<'_>| plane.flag(&["status", "ready"]);
    stage.until("AROControlPlane", "c", is_ready).await;
}

/// A cluster that names no identity gets that of the process.
#[tokio::test]
async fn issue_15_the_identity_of_the_process_gets_a_token_a_secret_and_a_cluster() {
    let log = Log::begin();
    let stage = Stage::with_identity(DefaultIdentity {
        kind: IdentityType::ServicePrincipal,
        client: "client".to_owned(),
        tenant: "tenant".to_owned(),
        password: Some("seeded-password".to_owned()),
        certificate: None,
        subscription: Some("subscription".to_owned()),
    })
    .await;
    let known = Known::Password("seeded-password".to_owned());
    stage.authority.know("tenant", "client", known);
    stage.cluster_without_identity().await;
    let is_ready = |plane: Live<'_>| plane.flag(&["status", "ready"]);
    stage.until("AROControlPlane", "c", is_ready).await;
    let made = stage.find("Secret", "c-aso-secret").unwrap();
    for (key, value) in [
        ("AZURE_CLIENT_SECRET", "seeded-password"),
        ("AZURE_CLIENT_ID", "client"),
        ("AZURE_SUBSCRIPTION_ID", "subscription"),
    ] {
        assert_eq!(made["data"][key], BASE64_STANDARD.encode(value), "{key}");
    }
    let hcp = stage.find("HcpOpenShiftCluster", "c").unwrap();
    let named = Live(&hcp).annotation("serviceoperator.azure.com/credential-from");
    assert_eq!(named, "c-aso-secret");
    assert_eq!(stage.authority.asked().len(), 1);
    assert!(stage.find("AzureClusterIdentity", "identity").is_none());
    assert_hidden(&stage.public(), "");
    assert_hidden(&log.end(), "");
}
