//! Keys of clusters in vaults that are reached over TLS, with tokens of the identity that each cluster names.

#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};

use super::stage::Stage;
use crate::adapters::azure::authority::{Known, TOKEN};
use crate::adapters::azure::log::Log;
use crate::adapters::azure::vaults::Seen;
use crate::health::Live;

const PASSWORD: &str = "seeded-password";

/// A cluster whose identity is `client` of `tenant`, and needs the key `etcd` of the vault `kv1`.
async fn begin(stage: &Stage) {
    let known = Known::Password(PASSWORD.to_owned());
    stage.authority.know("tenant", "client", known);
    stage.secret("seeded", "clientSecret", PASSWORD).await;
    let spec = json!({"type": "ServicePrincipal", "clientID": "client", "tenantID": "tenant",
        "clientSecret": {"name": "seeded"}, "allowedNamespaces": {}});
    stage.cluster(&spec).await;
}

fn is_ready(plane: Live<'_>) -> bool {
    plane.flag(&["status", "ready"])
}

/// The message of `EncryptionKeyReady` once it has this reason.
async fn said(stage: &Stage, reason: &str) -> String {
    let has = |plane: Live<'_>| {
        let found = plane.condition("EncryptionKeyReady");
        found.is_some_and(|found| found.reason() == reason)
    };
    let plane = stage.until("AROControlPlane", "c", has).await;
    let condition = Live(&plane).condition("EncryptionKeyReady").unwrap();
    condition.message().to_owned()
}

/// The version of the key that the HCP cluster has.
fn used(stage: &Stage) -> Value {
    let hcp = stage.find("HcpOpenShiftCluster", "c").unwrap();
    let kms = "/spec/properties/etcd/dataEncryption/customerManaged/kms/activeKey/version";
    hcp.pointer(kms).cloned().unwrap_or_default()
}

fn seen(what: &str, status: u16) -> Seen {
    Seen {
        vault: "kv1".to_owned(),
        what: what.to_owned(),
        client: "client".to_owned(),
        status,
    }
}

#[tokio::test]
async fn issue_15_a_key_is_made_once_and_a_rotation_is_noticed_and_no_token_is_shown() {
    let log = Log::begin();
    let stage = Stage::with_vaults().await;
    stage.vaults.open("kv1", "tenant", &["client"]);
    begin(&stage).await;
    stage.until("AROControlPlane", "c", is_ready).await;
    let versions = stage.vaults.versions("kv1", "etcd");
    assert_eq!(versions.len(), 1, "it is made once");
    assert_eq!(used(&stage), json!(versions[0]));
    let asked = stage.vaults.seen();
    assert!(asked.contains(&seen("POST /keys/etcd/create", 200)));
    assert!(
        asked.iter().all(|seen| seen.client == "client"),
        "{asked:?}"
    );

    let newest = stage.vaults.rotate("kv1", "etcd");
    let message = said(&stage, "KeyRotated").await;
    assert!(message.contains(&newest), "{message}");
    assert_eq!(used(&stage), json!(versions[0]), "the cluster keeps it");
    let public = stage.public();
    drop(stage);
    let text = log.end();
    assert!(text.contains("TRACE"));
    for secret in [PASSWORD, TOKEN] {
        assert!(!text.contains(secret), "{secret} is in the log");
        assert!(!public.contains(secret), "{secret} is in the cluster");
    }
}

#[tokio::test]
async fn issue_15_a_key_that_is_there_is_taken() {
    let stage = Stage::with_vaults().await;
    stage.vaults.open("kv1", "tenant", &["client"]);
    stage.vaults.rotate("kv1", "etcd");
    let newest = stage.vaults.rotate("kv1", "etcd");
    begin(&stage).await;
    stage.until("AROControlPlane", "c", is_ready).await;
    assert_eq!(used(&stage), json!(newest));
    let asked = stage.vaults.seen();
    assert!(
        asked.iter().all(|one| *one == seen("GET /keys/etcd", 200)),
        "{asked:?}"
    );
}

#[tokio::test]
async fn issue_15_a_vault_that_is_not_there_is_waited_for() {
    let stage = Stage::with_vaults().await;
    begin(&stage).await;
    let message = said(&stage, "VaultNotFound").await;
    assert!(
        message.contains("kv1.vault.azure.net is not known here"),
        "{message}"
    );
    assert!(stage.find("HcpOpenShiftCluster", "c").is_none());
    stage.vaults.open("kv1", "tenant", &["client"]);
    stage.until("AROControlPlane", "c", is_ready).await;
}

#[tokio::test]
async fn issue_15_a_vault_that_denies_access_is_asked_rarely_until_it_allows_it() {
    let stage = Stage::with_vaults().await;
    stage.vaults.open("kv1", "tenant", &["somebody"]);
    begin(&stage).await;
    let message = said(&stage, "KeyAccessDenied").await;
    let expected = "AzureClusterIdentity clusters/identity (principal client) may not read the key 'etcd': assign it the role Key Vault Crypto Officer on the vault 'kv1'";
    assert!(message.contains(expected), "{message}");
    assert!(stage.find("HcpOpenShiftCluster", "c").is_none());
    let asked = stage.vaults.seen();
    assert!(
        asked.iter().all(|one| *one == seen("GET /keys/etcd", 403)),
        "{asked:?}"
    );
    // Role assignments settle for two minutes; it rests for half a minute, then for one, then for two.
    assert!(asked.len() <= 4, "{asked:?}");
    stage.vaults.assign("kv1", "client");
    stage.until("AROControlPlane", "c", is_ready).await;
    assert_eq!(stage.vaults.versions("kv1", "etcd").len(), 1);
}

#[tokio::test]
async fn issue_15_a_deleted_key_keeps_its_name() {
    let stage = Stage::with_vaults().await;
    stage.vaults.open("kv1", "tenant", &["client"]);
    stage.vaults.rotate("kv1", "etcd");
    stage.vaults.delete("kv1", "etcd");
    begin(&stage).await;
    let message = said(&stage, "KeyDeleted").await;
    assert!(message.contains("az keyvault key recover"), "{message}");
    assert!(stage.find("HcpOpenShiftCluster", "c").is_none());
}

#[tokio::test]
async fn issue_15_a_vault_of_another_tenant_takes_no_token() {
    let stage = Stage::with_vaults().await;
    stage.vaults.open("kv1", "theirs", &["client"]);
    begin(&stage).await;
    let message = said(&stage, "KeyAccessDenied").await;
    assert!(
        message.contains("spec.tenantID of the identity must be that of the vault"),
        "{message}"
    );
    assert_eq!(stage.vaults.versions("kv1", "etcd"), Vec::<String>::new());
}
