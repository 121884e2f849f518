//! The encryption key, with and without an identity.

#![allow(clippy::panic)]

use serde_json::{Value, json};

use super::super::super::bench::{Bench, hosted, object};
use super::super::super::outcome::{Outcome, Write};
use super::KIND;
use crate::api::conditions as c;
use crate::api::embedded::KMS;
use crate::health::Live;
use crate::model::{KeyError, KeyRequest};

pub(super) fn bench(kms: &Value, with_identity: bool) -> Bench {
    let mut bench = Bench::new();
    bench.edit(KIND, "c", |plane| {
        plane["spec"]["resources"] = hosted(kms);
        if with_identity {
            plane["spec"]["identityRef"] = json!({"name": "identity"});
        }
    });
    bench.put(identity());
    bench
}

/// An identity that every namespace may use.
fn identity() -> Value {
    let spec = json!({"type": "WorkloadIdentity", "clientID": "c", "tenantID": "t", "allowedNamespaces": {}});
    let api = "infrastructure.cluster.x-k8s.io/v1beta1";
    object(api, "AzureClusterIdentity", "identity", spec)
}

/// What is asked of the vault.
pub(super) fn asked(outcome: &Outcome) -> Option<KeyRequest> {
    outcome.writes.iter().find_map(|write| match write {
        Write::EnsureKey(request) => Some(request.clone()),
        _ => None,
    })
}

pub(super) fn modern() -> Value {
    json!({"vaultName": "kv", "visibility": "Public", "activeKey": {"name": "etcd"}})
}

pub(super) fn version(bench: &Bench) -> String {
    let hcp = bench.find("HcpOpenShiftCluster", "c").unwrap_or_default();
    Live(&hcp)
        .text(&[KMS.as_slice(), &["activeKey", "version"]].concat())
        .to_owned()
}

/// The vault answers now.
pub(super) fn answer(bench: &mut Bench, request: KeyRequest, answer: Result<String, KeyError>) {
    let now = bench.fixture.now;
    bench.fixture.snapshot.set_key(request, answer, now);
}

/// The infrastructure is there, and whoever is asked for keys has not answered.
pub(super) fn unanswered(bench: &mut Bench) -> KeyRequest {
    bench.rest();
    bench.ready("ResourceGroup", "rg");
    bench.ready("Vault", "vault");
    // Only the AROCluster decides, so that the fixture answers nothing.
    let outcome = bench.decide("AROCluster");
    for write in outcome.writes {
        if let Write::Status(patch) = write {
            let mut cluster = bench.live("AROCluster", "c");
            cluster["status"] = patch["status"].clone();
            bench.put(cluster);
        }
    }
    let outcome = bench.decide(KIND);
    asked(&outcome).unwrap_or_else(|| panic!("nothing was asked: {outcome:#?}"))
}

pub(super) fn decided(outcome: &Outcome, kind: &str) -> (String, String, String) {
    let status = outcome.writes.iter().find_map(|write| match write {
        Write::Status(patch) => Some(patch),
        _ => None,
    });
    let found = status.and_then(|status| Live(status).condition(kind));
    found.map_or_else(Default::default, |found| {
        (
            found.status().to_owned(),
            found.reason().to_owned(),
            found.message().to_owned(),
        )
    })
}

/// The seed's message, word for word.
const SEED: &str = "identityRef is not set and keyVersion is not specified in HcpOpenShiftCluster - CAPZ cannot auto-create or propagate the encryption key without Azure credentials. Please manually create the vault and key via ASO and specify the keyVersion in spec.properties.etcd.dataEncryption.customerManaged.kms.keyVersion";

#[test]
fn section_3_2_step_5_without_an_identity_the_key_must_be_given() {
    let missing = "activeKey is required when identityRef is not set - CAPZ cannot auto-create or propagate the encryption key without Azure credentials";
    let by_hand = "identityRef not set - encryption key must be manually created and specified in HcpOpenShiftCluster";
    let now = format!(
        "{SEED}. No API version has that field: the version goes to spec.resources[0].spec.properties.etcd.dataEncryption.customerManaged.kms.activeKey.version"
    );
    let cases = [
        (
            json!({"vaultName": "kv"}),
            "False",
            c::ACTIVE_KEY_MISSING,
            missing,
        ),
        (modern(), "False", c::KEY_VERSION_MISSING, &*now),
        (
            json!({"activeKey": {"name": "etcd", "vaultName": "kv"}}),
            "False",
            c::KEY_VERSION_MISSING,
            &*now,
        ),
        (
            json!({"keyVaultResourceId": "/x", "keyName": "etcd"}),
            "False",
            c::KEY_VERSION_MISSING,
            &*now,
        ),
        (
            json!({"vaultName": "kv", "activeKey": {"name": "etcd", "version": "1"}}),
            "Unknown",
            c::MANUAL_KEY_MANAGEMENT,
            by_hand,
        ),
        (
            json!({"activeKey": {"name": "etcd", "vaultName": "kv"}, "keyVersion": "1"}),
            "Unknown",
            c::MANUAL_KEY_MANAGEMENT,
            by_hand,
        ),
        (
            json!({"keyVaultResourceId": "/x", "keyName": "etcd", "keyVersion": "1"}),
            "Unknown",
            c::MANUAL_KEY_MANAGEMENT,
            by_hand,
        ),
    ];
    for (kms, status, reason, message) in cases {
        let mut bench = bench(&kms, false);
        bench.build();
        let found = bench.condition(KIND, c::ENCRYPTION_KEY_READY);
        assert_eq!(
            found,
            (status.to_owned(), reason.to_owned(), message.to_owned()),
            "{kms}"
        );
        let is_made = bench.find("HcpOpenShiftCluster", "c").is_some();
        assert_eq!(is_made, status == "Unknown", "{kms}");
        let warns = bench.warnings().contains(&reason.to_owned());
        assert_eq!(warns, status == "False");
        assert_eq!(
            bench.fixture.health(KIND, "c").is_terminal(),
            status == "False"
        );
        assert_eq!(
            bench.live(KIND, "c")["status"]
                .get("failureMessage")
                .is_some(),
            status == "False"
        );
        assert!(asked(&bench.decide(KIND)).is_none());
    }
}

#[test]
fn with_an_identity_the_key_is_asked_for_and_its_version_injected() {
    for kms in [
        modern(),
        json!({"activeKey": {"name": "etcd", "vaultName": "kv"}}),
    ] {
        let mut bench = bench(&kms, true);
        bench.edit(KIND, "c", |plane| {
            plane["spec"]["azureEnvironment"] = json!("AzureChinaCloud")
        });
        bench.rest();
        assert_eq!(
            bench.reason(KIND, c::HCP_CLUSTER_READY),
            c::WAITING_FOR_INFRASTRUCTURE
        );
        let request = unanswered(&mut bench);
        let asked = (
            request.vault.as_str(),
            request.key.as_str(),
            request.environment.as_str(),
        );
        assert_eq!(asked, ("kv", "etcd", "AzureChinaCloud"));
        assert_eq!(
            (request.identity.name.as_str(), request.namespace.as_str()),
            ("identity", "ns")
        );
        let found = decided(&bench.decide(KIND), c::ENCRYPTION_KEY_READY);
        assert_eq!(
            (found.1.as_str(), found.2.as_str()),
            (
                c::CREATING_KEY,
                "Creating encryption key 'etcd' in vault 'kv'"
            )
        );
        answer(&mut bench, request, Ok("v7".to_owned()));
        bench.rest();
        let found = bench.condition(KIND, c::ENCRYPTION_KEY_READY);
        assert_eq!(
            found.2,
            "Encryption key 'etcd' version 'v7' ready in vault 'kv'"
        );
        assert_eq!((found.0.as_str(), found.1.as_str()), ("True", c::KEY_READY));
        assert_eq!(version(&bench), "v7");
    }
}

/// CAPZ skips a key whose vault is named in the old place, and one without a vault, and waits forever.
#[test]
fn section_4_a_vault_must_be_named_and_declared() {
    let mut bench = bench(&json!({"activeKey": {"name": "etcd"}}), true);
    bench.rest();
    assert_eq!(
        bench.reason(KIND, c::ENCRYPTION_KEY_READY),
        c::VAULT_NAME_MISSING
    );
    bench.warnings();
    let kms = json!({"vaultName": "elsewhere", "activeKey": {"name": "etcd"}});
    bench.edit(KIND, "c", |plane| plane["spec"]["resources"] = hosted(&kms));
    bench.rest();
    let found = bench.condition(KIND, c::ENCRYPTION_KEY_READY);
    assert_eq!(found.1, c::VAULT_NOT_DECLARED);
    assert_eq!(
        found.2,
        "vault with azureName \"elsewhere\" not found in AROCluster spec.resources - when using encryption with identityRef, the Vault resource must be declared in AROCluster.spec.resources[] (CAPZ will create the encryption key inside the vault, but ASO must create the vault itself). Add a Vault resource with spec.azureName: \"elsewhere\" to AROCluster.spec.resources[]"
    );
    assert_eq!(bench.warnings(), [c::VAULT_NOT_DECLARED]);
    assert!(bench.fixture.health(KIND, "c").is_terminal());
    bench.edit("AROCluster", "c", |cluster| {
        let scope = json!({"armId": "/subscriptions/s/resourceGroups/g/providers/Microsoft.KeyVault/vaults/Elsewhere"});
        let role = object("authorization.azure.com/v1api20220401", "RoleAssignment", "role", json!({"owner": scope}));
        cluster["spec"]["resources"] = json!([role]);
    });
    bench.rest();
    bench.ready("RoleAssignment", "role");
    bench.ready("ResourceGroup", "rg");
    bench.wait(200);
    assert_eq!(
        bench.reason(KIND, c::ENCRYPTION_KEY_READY),
        c::KEY_READY,
        "an existing vault"
    );
}

#[test]
fn a_key_must_be_named() {
    let mut bench = bench(&json!({"vaultName": "kv", "visibility": "Public"}), true);
    bench.build();
    let found = bench.condition(KIND, c::ENCRYPTION_KEY_READY);
    assert_eq!(found.1, c::KEY_NAME_MISSING);
    let path = "spec.resources[0].spec.properties.etcd.dataEncryption.customerManaged.kms.activeKey.name is required";
    assert!(found.2.starts_with(path), "{}", found.2);
    assert!(bench.fixture.health(KIND, "c").is_terminal());
    let outcome = bench.decide(KIND);
    assert_eq!((asked(&outcome), outcome.wake), (None, None), "no loop");
}

/// The proposal's form: the vault by its ARM id, and the version beside the name of the key.
#[test]
fn a_vault_named_by_its_arm_id_exists_and_the_version_is_written_beside_the_key() {
    let id = "/subscriptions/s/resourceGroups/g/providers/Microsoft.KeyVault/vaults/elsewhere";
    let mut bench = bench(&json!({"keyVaultResourceId": id, "keyName": "etcd"}), true);
    let request = unanswered(&mut bench);
    assert_eq!(
        (request.vault.as_str(), request.key.as_str()),
        ("elsewhere", "etcd")
    );
    answer(&mut bench, request, Ok("v7".to_owned()));
    bench.rest();
    let hcp = bench.live("HcpOpenShiftCluster", "c");
    let kms = Live(&hcp).at(&KMS).cloned();
    let expected = json!({"keyVaultResourceId": id, "keyName": "etcd", "keyVersion": "v7"});
    assert_eq!(kms, Some(expected));
}

/// ARO-24893: the vault's name in Azure is not its name in Kubernetes; either is found.
#[test]
fn section_8_g_the_vault_is_found_by_either_name() {
    for name in ["kv", "vault"] {
        let mut bench = bench(
            &json!({"vaultName": name, "activeKey": {"name": "etcd"}}),
            true,
        );
        bench.build();
        assert_eq!(bench.reason(KIND, c::ENCRYPTION_KEY_READY), c::KEY_READY);
    }
}

#[test]
fn a_version_that_a_person_set_must_be_the_one_of_the_key() {
    for (set, field) in [
        (
            json!({"vaultName": "kv", "activeKey": {"name": "etcd", "version": "old"}}),
            "activeKey.version",
        ),
        (
            json!({"activeKey": {"name": "etcd", "vaultName": "kv"}, "keyVersion": "old"}),
            "keyVersion",
        ),
    ] {
        let mut bench = bench(&set, true);
        let request = unanswered(&mut bench);
        answer(&mut bench, request, Ok("new".to_owned()));
        bench.rest();
        let found = bench.condition(KIND, c::ENCRYPTION_KEY_READY);
        assert_eq!(found.1, c::INCOMPATIBLE_VALUE);
        let path = format!(
            "value at spec.resources[0].spec.properties.etcd.dataEncryption.customerManaged.kms.{field} set by user to old but CAPZ must set it to new "
        );
        assert!(found.2.contains(&path), "{}", found.2);
        assert_eq!(bench.warnings(), [c::INCOMPATIBLE_VALUE]);
        assert_eq!(version(&bench), "", "nothing is applied");
    }
}

#[test]
fn a_missing_identity_is_reported_and_its_creation_awaited() {
    let mut bench = bench(&modern(), true);
    bench.delete("AzureClusterIdentity", "identity");
    bench.rest();
    let found = bench.condition(KIND, c::IDENTITY_READY);
    assert_eq!(found.1, c::IDENTITY_NOT_FOUND);
    assert_eq!(
        found.2,
        "failed to retrieve AzureClusterIdentity external object \"ns\"/\"identity\": it does not exist"
    );
    assert_eq!(bench.decide(KIND).wake, None, "its creation wakes");
    bench.put(identity());
    bench.build();
    assert_eq!(bench.reason(KIND, c::ENCRYPTION_KEY_READY), c::KEY_READY);
}

#[test]
fn after_a_restart_the_applied_version_is_good_until_the_vault_answers() {
    let mut bench = bench(&modern(), true);
    bench.build();
    let before = version(&bench);
    assert!(!before.is_empty());
    let keys = std::mem::take(&mut bench.fixture.snapshot.keys);
    let known = keys.into_keys().next();
    assert!(known.is_some());
    let outcome = bench.decide(KIND);
    assert_eq!(asked(&outcome), known);
    assert_eq!(outcome.events, []);
    assert_eq!(outcome.writes.len(), 1, "{outcome:#?}");
}

#[test]
fn a_key_of_no_cluster_leaves_no_condition() {
    let mut bench = bench(&modern(), true);
    bench.build();
    bench.edit(KIND, "c", |plane| {
        plane["spec"]["resources"] = hosted(&Value::Null)
    });
    bench.rest();
    assert_eq!(bench.reason(KIND, c::ENCRYPTION_KEY_READY), "");
}
