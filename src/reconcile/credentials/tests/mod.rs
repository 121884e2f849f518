//! What is decided about the credential of a cluster.

#![allow(clippy::unwrap_used)]

mod ending;
mod infrastructure;

use serde_json::{Value, json};

use super::super::bench::{Bench, applied};
use crate::api::conditions as c;
use crate::api::labels::CREDENTIAL_VERSION;
use crate::health::Live;
use crate::model::{AdapterError, ErrorClass, Namespaces, ObjectId};
use crate::reconcile::ProcessIdentity;
use crate::reconcile::outcome::Write;

const PLANE: &str = "AROControlPlane";
const API: &str = "infrastructure.cluster.x-k8s.io/v1beta1";
const SECRET: &str = "c-aso-secret";
const FROM: &str = "serviceoperator.azure.com/credential-from";

fn identity(allowed: &Value) -> Value {
    json!({"apiVersion": API, "kind": "AzureClusterIdentity", "metadata": {"name": "id"}, "spec": {
        "type": "ServicePrincipal", "clientID": "c", "tenantID": "t", "allowedNamespaces": allowed,
        "clientSecret": {"name": "password"}}})
}

/// A cluster with an identity that allows these namespaces, and its Secret.
fn bench(allowed: &Value) -> Bench {
    let mut bench = Bench::new();
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "password"}});
    bench.put(secret);
    bench.put(identity(allowed));
    bench.edit(PLANE, "c", |plane| {
        plane["spec"]["identityRef"] = json!({"name": "id"});
        plane["spec"]["subscriptionID"] = json!("sub");
    });
    bench
}

/// The credential that a resource names.
fn named(bench: &Bench, kind: &str, name: &str) -> String {
    let found = bench.find(kind, name).unwrap_or_default();
    Live(&found).annotation(FROM).to_owned()
}

#[test]
fn issue_15_every_resource_names_the_secret_that_is_made_for_the_cluster() {
    let mut bench = bench(&json!({}));
    bench.provision();
    for (kind, name) in [
        ("ResourceGroup", "rg"),
        ("Vault", "vault"),
        ("HcpOpenShiftCluster", "c"),
    ] {
        assert_eq!(named(&bench, kind, name), SECRET, "{kind}");
    }
    let secret = bench.live("Secret", SECRET);
    assert_eq!(secret["metadata"]["labels"]["c"], "owned");
    let owner = &secret["metadata"]["ownerReferences"][0];
    assert_eq!(
        (&owner["kind"], owner.get("controller")),
        (&json!("AROCluster"), None)
    );
    for kind in [PLANE, "AROCluster"] {
        assert_eq!(bench.reason(kind, c::IDENTITY_READY), c::CREDENTIALS_VALID);
    }
    assert_eq!(bench.condition(PLANE, c::READY).0, "True");
}

#[test]
fn the_infrastructure_says_why_the_control_plane_writes_no_secret() {
    let mut bench = bench(&json!({}));
    bench.edit(PLANE, "c", |plane| {
        let resources = plane["spec"]["resources"].as_array_mut().unwrap();
        resources.retain(|one| one["kind"] != "HcpOpenShiftCluster");
    });
    bench.rest();
    let (_, reason, message) = bench.condition("AROCluster", c::IDENTITY_READY);
    assert_eq!(reason, c::WAITING_FOR_IDENTITY);
    let expected = format!(
        "Waiting for the Secret {SECRET} with the credential of the cluster, which AROControlPlane c writes once it is corrected: {}",
        c::NO_HCP_CLUSTER
    );
    assert_eq!(message, expected);
}

#[test]
fn section_5_a_namespace_that_is_not_allowed_gets_nothing() {
    for allowed in [json!(null), json!({"list": []}), json!({"list": ["other"]})] {
        let mut bench = bench(&allowed);
        bench.rest();
        for (kind, condition) in [
            (PLANE, c::IDENTITY_READY),
            ("AROCluster", c::IDENTITY_READY),
            ("AROCluster", c::NETWORK_INFRASTRUCTURE_READY),
        ] {
            let (status, reason, message) = bench.condition(kind, condition);
            assert_eq!(status, "False", "{kind}");
            assert_eq!(reason, c::NAMESPACE_NOT_ALLOWED_BY_IDENTITY);
            assert_eq!(message, c::NAMESPACE_NOT_ALLOWED);
        }
        assert!(bench.find("ResourceGroup", "rg").is_none());
        assert!(bench.find("Secret", SECRET).is_none());
        let warnings = bench.warnings();
        assert!(
            warnings.contains(&c::NAMESPACE_NOT_ALLOWED_BY_IDENTITY.to_owned()),
            "{warnings:?}"
        );
        assert!(
            bench.live("AzureClusterIdentity", "id")["metadata"]
                .get("finalizers")
                .is_none()
        );
        // It is looked at again as soon as the identity changes.
        bench.edit("AzureClusterIdentity", "id", |id| {
            id["spec"]["allowedNamespaces"] = json!({})
        });
        bench.provision();
        assert_eq!(bench.condition(PLANE, c::READY).0, "True");
    }
}

#[test]
fn section_5_a_selector_looks_at_the_labels_of_the_namespace() {
    let mut bench = bench(&json!({"selector": {"matchLabels": {"team": "a"}}}));
    bench.rest();
    assert_eq!(
        bench.reason(PLANE, c::IDENTITY_READY),
        c::NAMESPACE_NOT_ALLOWED_BY_IDENTITY
    );
    bench.put(json!({"apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": "ns", "namespace": "", "labels": {"team": "a"}}}));
    bench.provision();
    assert_eq!(bench.reason(PLANE, c::IDENTITY_READY), c::CREDENTIALS_VALID);
}

#[test]
fn an_identity_in_a_namespace_that_is_not_watched_is_not_said_to_be_missing() {
    let mut bench = bench(&json!({}));
    bench.edit(PLANE, "c", |plane| {
        plane["spec"]["identityRef"]["namespace"] = json!("elsewhere");
    });
    bench.fixture.snapshot.watched = Namespaces::of_text("ns").into();
    bench.rest();
    let (_, reason, message) = bench.condition(PLANE, c::IDENTITY_READY);
    assert_eq!(reason, c::IDENTITY_NOT_WATCHED);
    assert!(message.contains("--watch-namespace elsewhere"), "{message}");
}

#[test]
fn a_missing_identity_and_an_unknown_cloud_are_named() {
    let mut bench = Bench::new();
    bench.edit(PLANE, "c", |plane| {
        plane["spec"]["identityRef"] = json!({"name": "id"})
    });
    bench.rest();
    let (_, reason, message) = bench.condition(PLANE, c::IDENTITY_READY);
    assert_eq!(reason, c::IDENTITY_NOT_FOUND);
    let expected =
        "failed to retrieve AzureClusterIdentity external object \"ns\"/\"id\": it does not exist";
    assert_eq!(message, expected);
    assert!(bench.warnings().contains(&c::IDENTITY_NOT_FOUND.to_owned()));
    bench.put(identity(&json!({})));
    bench.edit(PLANE, "c", |plane| {
        plane["spec"]["azureEnvironment"] = json!("Moon")
    });
    bench.rest();
    for kind in [PLANE, "AROCluster"] {
        let (_, reason, message) = bench.condition(kind, c::IDENTITY_READY);
        assert_eq!(reason, c::UNKNOWN_CLOUD);
        assert!(message.contains("\"Moon\" is not a cloud"), "{message}");
    }
    assert!(bench.find("ResourceGroup", "rg").is_none());
}

/// An identity may be shared by teams that do not know each other.
#[test]
fn issue_15_the_cloud_of_one_user_of_an_identity_breaks_no_other() {
    for (cloud, expected) in [("Moon", "True"), ("AzureChinaCloud", "False")] {
        let mut bench = bench(&json!({}));
        bench.fixture.refusing = vec!["AzureChinaCloud", "Moon"];
        let mut other = bench.live(PLANE, "c");
        other["metadata"] = json!({"name": "other", "namespace": "theirs"});
        other["spec"]["azureEnvironment"] = json!(cloud);
        other["spec"]["identityRef"] = json!({"name": "id", "namespace": "ns"});
        bench.put(other);
        bench.provision();
        let identity = bench.live("AzureClusterIdentity", "id");
        let ready = Live(&identity).condition(c::READY).unwrap();
        assert_eq!(ready.status(), expected, "{cloud}");
        for kind in [PLANE, "AROCluster"] {
            let reason = bench.reason(kind, c::IDENTITY_READY);
            assert_eq!(reason, c::CREDENTIALS_VALID, "{cloud}");
        }
        assert_eq!(bench.condition(PLANE, c::READY).0, "True", "{cloud}");
    }
}

#[test]
fn issue_15_an_unknown_cloud_is_refused_without_an_identity_as_well() {
    for mut bench in [Bench::new(), Bench::with_default()] {
        bench.edit(PLANE, "c", |plane| {
            plane["spec"]["azureEnvironment"] = json!("Moon")
        });
        bench.rest();
        for kind in [PLANE, "AROCluster"] {
            let (_, reason, message) = bench.condition(kind, c::IDENTITY_READY);
            assert_eq!(reason, c::UNKNOWN_CLOUD, "{kind}");
            assert!(message.contains("\"Moon\" is not a cloud"), "{message}");
        }
        assert!(bench.find("ResourceGroup", "rg").is_none());
    }
}

#[test]
fn issue_15_a_wrong_password_shows_on_identity_and_cluster() {
    let mut bench = bench(&json!({}));
    let why = "AADSTS7000215: Invalid client secret provided.";
    bench.fixture.credential = Err(AdapterError::new(ErrorClass::Denied, why));
    bench.rest();
    let identity = bench.live("AzureClusterIdentity", "id");
    let ready = Live(&identity).condition(c::READY).unwrap();
    assert_eq!(
        (ready.status(), ready.reason()),
        ("False", c::CREDENTIALS_REFUSED)
    );
    assert_eq!(ready.message(), why);
    for kind in [PLANE, "AROCluster"] {
        let (status, reason, message) = bench.condition(kind, c::IDENTITY_READY);
        assert_eq!(
            (status.as_str(), reason.as_str()),
            ("False", c::CREDENTIALS_REFUSED)
        );
        assert_eq!(message, format!("AzureClusterIdentity/ns/id: {why}"));
    }
    assert!(bench.find("ResourceGroup", "rg").is_none());
    let warnings = bench.warnings();
    let refused = warnings.iter().filter(|one| *one == c::CREDENTIALS_REFUSED);
    assert!(refused.count() >= 2, "{warnings:?}");
    // A new Secret is tried at once.
    bench.fixture.credential = Ok(());
    bench.edit("Secret", "password", |secret| {
        secret["data"] = json!({"x": "eA=="})
    });
    bench.provision();
    assert_eq!(bench.condition(PLANE, c::READY).0, "True");
}

#[test]
fn a_password_that_does_not_work_replaces_none_that_did() {
    let mut bench = bench(&json!({}));
    bench.provision();
    let before = bench.live("Secret", SECRET);
    bench.fixture.credential = Err(AdapterError::new(ErrorClass::Denied, "no"));
    bench.edit("Secret", "password", |secret| {
        secret["data"] = json!({"x": "eA=="})
    });
    bench.rest();
    assert_eq!(bench.live("Secret", SECRET), before);
    assert_eq!(
        bench.reason(PLANE, c::IDENTITY_READY),
        c::CREDENTIALS_REFUSED
    );
    assert_eq!(named(&bench, "ResourceGroup", "rg"), SECRET);
    assert_eq!(bench.live(PLANE, "c")["status"]["ready"], true);
}

#[test]
fn issue_15_what_a_person_made_is_never_overwritten() {
    let mut bench = bench(&json!({}));
    let own = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": SECRET}, "data": {"a": "YQ=="}});
    bench.put(own);
    bench.edit("AROCluster", "c", |cluster| {
        cluster["spec"]["resources"][1]["metadata"]["annotations"] = json!({FROM: "mine"});
    });
    let by_hand = json!({"apiVersion": "resources.azure.com/v1api20200601", "kind": "ResourceGroup",
        "metadata": {"name": "rg", "annotations": {FROM: "by-hand"}}, "spec": {"location": "uksouth"}});
    bench.put(by_hand);
    let before = bench.live("Secret", SECRET);
    bench.provision();
    assert_eq!(bench.live("Secret", SECRET), before);
    assert_eq!(named(&bench, "Vault", "vault"), "mine");
    assert_eq!(named(&bench, "ResourceGroup", "rg"), "by-hand");
    assert_eq!(named(&bench, "HcpOpenShiftCluster", "c"), SECRET);
}

#[test]
fn resources_that_all_name_a_credential_need_no_secret() {
    let mut bench = bench(&json!({}));
    for kind in [PLANE, "AROCluster"] {
        bench.edit(kind, "c", |object| {
            for item in object["spec"]["resources"].as_array_mut().unwrap() {
                item["metadata"]["annotations"] = json!({FROM: "mine"});
            }
        });
    }
    bench.fixture.credential = Err(AdapterError::new(ErrorClass::Denied, "no"));
    bench.build();
    assert!(bench.find("Secret", SECRET).is_none());
    assert_eq!(named(&bench, "HcpOpenShiftCluster", "c"), "mine");
    assert_eq!(
        bench.reason(PLANE, c::IDENTITY_READY),
        c::CREDENTIALS_REFUSED
    );
}

#[test]
fn issue_15_a_pool_may_need_the_secret_alone() {
    let mut bench = bench(&json!({}));
    for kind in [PLANE, "AROCluster"] {
        bench.edit(kind, "c", |object| {
            for item in object["spec"]["resources"].as_array_mut().unwrap() {
                item["metadata"]["annotations"] = json!({FROM: "mine"});
            }
        });
    }
    bench.build();
    assert!(bench.find("Secret", SECRET).is_none());
    bench.put(
        json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "AROMachinePool",
        "metadata": {"name": "p", "labels": {"cluster.x-k8s.io/cluster-name": "c"}},
        "spec": {"resources": [{"apiVersion": "redhatopenshift.azure.com/v1api20251223preview",
            "kind": "HcpOpenShiftClustersNodePool", "metadata": {"name": "p"}, "spec": {}}]}}),
    );
    bench.rest();
    assert!(bench.find("Secret", SECRET).is_some());
}

#[test]
fn issue_15_without_its_control_plane_a_cluster_goes_on_with_its_secret() {
    let mut bench = bench(&json!({}));
    bench.provision();
    bench.edit(PLANE, "c", |plane| {
        plane["metadata"]["finalizers"] = json!([])
    });
    bench.delete(PLANE, "c");
    assert!(bench.find(PLANE, "c").is_none());
    bench.edit("ResourceGroup", "rg", |group| {
        group["spec"]["location"] = json!("elsewhere");
    });
    bench.rest();
    assert_eq!(
        bench.live("ResourceGroup", "rg")["spec"]["location"],
        "uksouth"
    );
    assert_eq!(named(&bench, "ResourceGroup", "rg"), SECRET);
}

#[test]
fn without_identity_and_default_nothing_is_written() {
    let mut bench = Bench::new();
    bench.provision();
    assert!(bench.find("Secret", SECRET).is_none());
    assert_eq!(named(&bench, "ResourceGroup", "rg"), "");
    assert_eq!(bench.condition(PLANE, c::IDENTITY_READY).0, "");
}

#[test]
fn issue_15_the_default_identity_is_reflected_unless_the_namespace_has_a_credential() {
    let mut bench = Bench::with_default();
    bench.provision();
    assert_eq!(named(&bench, "ResourceGroup", "rg"), SECRET);
    assert!(bench.find("Secret", SECRET).is_some());
    let mut bench = Bench::with_default();
    bench
        .put(json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "aso-credential"}}));
    bench.provision();
    assert_eq!(named(&bench, "ResourceGroup", "rg"), "");
    assert!(bench.find("Secret", SECRET).is_none());
}

#[test]
fn issue_15_only_listed_namespaces_use_the_identity_of_the_process() {
    for (listed, credential) in [("other,ns", SECRET), ("other", "")] {
        let mut bench = Bench::with_default_for(Namespaces::of_text(listed));
        bench.provision();
        let found = bench.find("Secret", SECRET).is_some();
        assert_eq!(found, !credential.is_empty(), "{listed}");
        assert_eq!(named(&bench, "ResourceGroup", "rg"), credential);
    }
}

#[test]
fn a_secret_that_somebody_changes_is_written_again_and_a_settled_one_is_not() {
    let mut bench = bench(&json!({}));
    bench.provision();
    let writes = |bench: &Bench| {
        let writes = bench.decide(PLANE).writes;
        let secrets = writes
            .iter()
            .filter(|write| matches!(write, Write::CredentialSecret(..)));
        secrets.count()
    };
    assert_eq!(writes(&bench), 0);
    bench.edit("Secret", SECRET, |secret| secret["data"] = json!({}));
    assert_eq!(writes(&bench), 1);
    bench.rest();
    assert_eq!(writes(&bench), 0);
    assert!(applied(&bench.decide(PLANE)).is_empty());
}

/// Otherwise each start would write the Secret of every cluster.
#[test]
fn a_secret_that_an_earlier_process_wrote_is_not_written_again() {
    let mut bench = bench(&json!({}));
    bench.provision();
    let writes = |bench: &Bench| {
        let writes = bench.decide(PLANE).writes;
        let is_secret = |write: &&Write| matches!(write, Write::CredentialSecret(..));
        writes.iter().filter(is_secret).count()
    };
    let secret = bench.live("Secret", SECRET);
    let id = Live(&secret).id();
    // A process that starts sees it for the first time.
    bench.fixture.snapshot.remove(&id);
    bench.fixture.snapshot.insert(secret.clone());
    assert_eq!(writes(&bench), 0);
    for version in ["other/sub", ""] {
        let mut secret = secret.clone();
        secret["metadata"]["annotations"][CREDENTIAL_VERSION] = json!(version);
        bench.fixture.snapshot.remove(&id);
        bench.fixture.snapshot.insert(secret);
        assert_eq!(writes(&bench), 1, "{version}");
    }
}

/// A restart is the only way to change the identity of the process, and the Secrets of an earlier one count as written.
#[test]
fn issue_15_a_new_identity_of_the_process_reaches_the_secrets_that_are_there() {
    let mut bench = Bench::with_default();
    bench.provision();
    let version = |bench: &Bench| {
        let secret = bench.live("Secret", SECRET);
        Live(&secret).annotation(CREDENTIAL_VERSION).to_owned()
    };
    let identity = |version: &str, has_file| ProcessIdentity {
        version: version.to_owned(),
        has_file,
        ..ProcessIdentity::default()
    };
    let before = version(&bench);
    bench.restart_with(identity("two", false));
    bench.wait(60);
    let second = version(&bench);
    assert_ne!(second, before);
    bench.restart_with(identity("two", false));
    bench.wait(7200);
    assert_eq!(version(&bench), second, "nothing changed");
    // A file that somebody replaces shows only in what it says.
    bench.restart_with(identity("three", true));
    bench.wait(60);
    let third = version(&bench);
    bench.wait(3600);
    assert_ne!(version(&bench), third);
}

#[test]
fn section_3_4_the_secret_outlives_the_control_plane() {
    let mut bench = bench(&json!({}));
    bench.provision();
    bench.edit("ResourceGroup", "rg", |group| {
        group["metadata"]["finalizers"] = json!(["azure"])
    });
    // As Cluster API does it: the control plane first.
    bench.delete(PLANE, "c");
    bench.wait(60);
    bench.delete("AROCluster", "c");
    bench.wait(60);
    assert!(bench.find(PLANE, "c").is_none());
    assert!(bench.find("AROCluster", "c").is_some());
    assert!(bench.find("Secret", SECRET).is_some());
}

#[test]
fn issue_15_a_secret_that_cannot_be_written_is_reported_once() {
    let mut bench = bench(&json!({}));
    bench.provision();
    let id = ObjectId::new("", "Secret", "ns", SECRET);
    let error = AdapterError::new(ErrorClass::Invalid, "spec.subscriptionID is required");
    bench.fixture.snapshot.set_refusal(&id, Some(error));
    bench.rest();
    let reason = bench.reason(PLANE, c::IDENTITY_READY);
    assert_eq!(reason, c::CREDENTIAL_SECRET_FAILED);
    bench.warnings();
    bench.wait(60);
    assert_eq!(bench.warnings(), Vec::<String>::new());
    for kind in [PLANE, "AROCluster"] {
        let outcome = bench.decide(kind);
        assert_eq!((outcome.writes, outcome.events), (vec![], vec![]), "{kind}");
    }
}

#[test]
fn issue_15_a_secret_without_content_is_not_used() {
    let mut bench = bench(&json!({}));
    bench.fixture.credential = Err(AdapterError::new(ErrorClass::Denied, "no"));
    bench.put(json!({"apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": SECRET, "labels": {"c": "owned"}}}));
    bench.rest();
    for kind in [PLANE, "AROCluster"] {
        let reason = bench.reason(kind, c::IDENTITY_READY);
        assert_eq!(reason, c::CREDENTIALS_REFUSED);
    }
    assert!(bench.find("ResourceGroup", "rg").is_none());
    bench.fixture.credential = Ok(());
    bench.edit("Secret", "password", |secret| {
        secret["data"] = json!({"x": "eA=="})
    });
    bench.provision();
    assert_eq!(named(&bench, "ResourceGroup", "rg"), SECRET);
}

#[test]
fn issue_15_resources_do_not_turn_to_another_credential_by_themselves() {
    let mut bench = Bench::with_default();
    bench.provision();
    bench
        .put(json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "aso-credential"}}));
    bench.wait(60);
    for (kind, name) in [("ResourceGroup", "rg"), ("HcpOpenShiftCluster", "c")] {
        assert_eq!(named(&bench, kind, name), SECRET, "{kind}");
    }
    // The process has no identity any more.
    for kind in [PLANE, "AROCluster"] {
        assert_eq!(applied(&bench.decide(kind)), Vec::<String>::new(), "{kind}");
    }
    // That of the process cannot be used any more.
    let why = AdapterError::new(ErrorClass::Invalid, "CAPSTAN_AZURE_TENANT_ID is not set");
    bench.fixture.credential = Err(why);
    bench.wait(7200);
    let reason = bench.reason(PLANE, c::IDENTITY_READY);
    assert_eq!(reason, c::CREDENTIALS_INVALID);
    assert_eq!(named(&bench, "ResourceGroup", "rg"), SECRET);
}
