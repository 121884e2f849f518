//! How ASO and Azure behave over time.

#![allow(clippy::needless_pass_by_value)]

use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD, Engine as _};
use serde_json::{Value, json};

use super::*;
use crate::api::aso as words;
use crate::api::labels::{RECONCILE_POLICY, RESOURCE_ID};
use crate::model::HealthState;
use crate::reconcile::fixture::Fixture;
use crate::reconcile::snapshot::Snapshot;

fn fixture(failures: &[&str]) -> Fixture {
    on(&Azure::default(), failures)
}

/// A cluster whose resources are in this Azure.
fn on(azure: &Azure, failures: &[&str]) -> Fixture {
    let failures: Vec<Failure> = failures
        .iter()
        .map(|f| f.parse().expect("a failure"))
        .collect();
    Fixture::new(controllers(&failures, &[], azure))
}

fn resource(api: &str, kind: &str, name: &str, spec: Value) -> Value {
    json!({"apiVersion": api, "kind": kind, "metadata": {"name": name}, "spec": spec})
}

fn group() -> Value {
    resource(
        "resources.azure.com/v1api20200601",
        "ResourceGroup",
        "rg",
        json!({"location": "uksouth"}),
    )
}

fn network(name: &str) -> Value {
    let spec = json!({"location": "uksouth", "owner": {"name": "rg"}});
    resource("network.azure.com/v20250301", "VirtualNetwork", name, spec)
}

fn identity() -> Value {
    let maps = json!({"principalId": {"name": "map", "key": "principalId"}, "clientId": {"name": "map", "key": "clientId"}});
    let spec = json!({"owner": {"name": "rg"}, "operatorSpec": {"configMaps": maps}});
    resource(
        "managedidentity.azure.com/v1api20230131",
        "UserAssignedIdentity",
        "kms",
        spec,
    )
}

fn cluster() -> Value {
    let secret = json!({"adminCredentials": {"name": "c-kubeconfig", "key": "value"}});
    let spec = json!({"owner": {"name": "rg"}, "location": "uksouth", "azureName": "prod-uks-1-and-more",
        "operatorSpec": {"secrets": secret}, "properties": {"version": {"id": "4.20"}}});
    resource(
        "redhatopenshift.azure.com/v1api20251223preview",
        "HcpOpenShiftCluster",
        "c",
        spec,
    )
}

/// A status field, as text.
fn status(fixture: &Fixture, kind: &str, name: &str, path: &[&str]) -> String {
    let object = fixture.live(kind, name).unwrap_or_default();
    Live(&object).text(&[&["status"], path].concat()).to_owned()
}

#[test]
fn a_resource_is_ready_after_its_time_and_not_before() {
    let mut fixture = fixture(&[]);
    fixture.put(group());
    fixture.run_to(5);
    let ready = fixture.ready("ResourceGroup", "rg");
    assert_eq!(
        ready,
        (words::RECONCILING.to_owned(), words::INFO.to_owned())
    );
    fixture.run_to(6);
    assert_eq!(
        fixture.ready("ResourceGroup", "rg"),
        (words::SUCCEEDED.to_owned(), String::new())
    );
    let object = fixture.live("ResourceGroup", "rg").unwrap_or_default();
    let id = Live(&object).text(&["status", "id"]);
    assert!(
        id.starts_with("/subscriptions/") && id.ends_with("/resourceGroups/rg"),
        "{id}"
    );
}

#[test]
fn a_resource_waits_for_its_owner_to_be_ready() {
    let mut fixture = fixture(&[]);
    fixture.put(network("vnet"));
    fixture.run_to(10);
    assert_eq!(
        fixture.ready("VirtualNetwork", "vnet"),
        (
            words::WAITING_FOR_OWNER.to_owned(),
            words::WARNING.to_owned()
        )
    );
    fixture.put(group());
    fixture.run_to(31);
    assert_eq!(
        fixture.health("VirtualNetwork", "vnet").state,
        HealthState::Progressing
    );
    fixture.run_to(32);
    assert!(fixture.health("VirtualNetwork", "vnet").is_ready());
    let object = fixture.live("VirtualNetwork", "vnet").unwrap_or_default();
    let owner = &object["metadata"]["ownerReferences"][0];
    assert_eq!(
        (&owner["kind"], &owner["name"]),
        (&json!("ResourceGroup"), &json!("rg"))
    );
}

#[test]
fn references_and_config_maps_are_waited_for() {
    let mut fixture = fixture(&[]);
    let reference =
        json!({"group": "network.azure.com", "kind": "VirtualNetwork", "name": "other"});
    let mut referring = network("vnet");
    referring["spec"]["peering"] = json!([{"remoteReference": reference}]);
    let assignment = json!({"owner": {"group": "resources.azure.com", "kind": "ResourceGroup", "name": "rg"},
        "principalIdFromConfig": {"name": "map", "key": "principalId"},
        "roleDefinitionReference": {"armId": "/subscriptions/x"}});
    fixture.put(resource(
        "authorization.azure.com/v1api20220401",
        "RoleAssignment",
        "role",
        assignment,
    ));
    fixture.put(referring);
    fixture.put(group());
    fixture.run_to(20);
    assert_eq!(
        fixture.ready("VirtualNetwork", "vnet").0,
        words::REFERENCE_NOT_FOUND
    );
    assert_eq!(
        fixture.ready("RoleAssignment", "role").0,
        words::CONFIG_MAP_NOT_FOUND
    );
    fixture.put(network("other"));
    fixture.put(identity());
    fixture.run();
    assert_eq!(fixture.unready(), Vec::<String>::new());
}

#[test]
fn an_identity_exports_the_same_numbers_every_time() {
    let run = || {
        let mut fixture = fixture(&[]);
        fixture.put(group());
        fixture.put(identity());
        fixture.run();
        fixture.live("ConfigMap", "map").unwrap_or_default()["data"].clone()
    };
    let data = run();
    let principal = data["principalId"].as_str().unwrap_or_default();
    assert_eq!(principal.len(), 36, "{data}");
    assert_ne!(data["principalId"], data["clientId"]);
    assert_eq!(data, run());
}

#[test]
fn a_cluster_reports_its_addresses_and_a_kubeconfig() {
    let mut fixture = fixture(&[]);
    fixture.put(group());
    fixture.put(cluster());
    fixture.run_to(300);
    let state = ["properties", "provisioningState"];
    assert_eq!(
        status(&fixture, "HcpOpenShiftCluster", "c", &state),
        "Provisioning"
    );
    fixture.run();
    assert_eq!(fixture.elapsed(), 6 + 531);
    assert_eq!(
        status(&fixture, "HcpOpenShiftCluster", "c", &state),
        "Succeeded"
    );
    let url = status(
        &fixture,
        "HcpOpenShiftCluster",
        "c",
        &["properties", "api", "url"],
    );
    assert_eq!(
        url,
        "https://api.prod-uks-1-and.uksouth.aroapp-hcp.example:443/"
    );
    let secret = fixture.live("Secret", "c-kubeconfig").unwrap_or_default();
    assert!(
        secret["data"]["value"]
            .as_str()
            .is_some_and(|data| data.len() > 100),
        "{secret}"
    );
    assert_eq!(
        secret["metadata"]["ownerReferences"][0]["kind"],
        "HcpOpenShiftCluster"
    );
}

#[test]
fn a_changed_spec_is_worked_on_again_for_a_shorter_time() {
    let mut fixture = fixture(&[]);
    fixture.put(group());
    fixture.put(network("vnet"));
    fixture.run();
    let mut changed = fixture.live("VirtualNetwork", "vnet").unwrap_or_default();
    changed["spec"]["tags"] = json!({"a": "b"});
    fixture.put(changed);
    let before = fixture.elapsed();
    fixture.run_to(before + 1);
    assert_eq!(
        fixture.ready("VirtualNetwork", "vnet").0,
        words::RECONCILING
    );
    fixture.run();
    assert!(fixture.health("VirtualNetwork", "vnet").is_ready());
    assert_eq!(fixture.elapsed() - before, 5);
}

#[test]
fn a_failure_shows_at_half_time_with_the_severity_of_its_code() {
    let cases = [
        ("InvalidRequestContent", words::ERROR, true),
        ("MultipleErrorsOccurred", words::WARNING, true),
        ("AuthorizationFailed", words::WARNING, false),
        ("WaitingForOwner", words::WARNING, false),
    ];
    for (reason, severity, terminal) in cases {
        let mut fixture = fixture(&[&format!("HcpOpenShiftCluster/c={reason}")]);
        fixture.put(group());
        fixture.put(cluster());
        fixture.run_to(6 + 264);
        assert_eq!(
            fixture.ready("HcpOpenShiftCluster", "c").0,
            words::RECONCILING,
            "{reason}"
        );
        fixture.run_to(6 + 266);
        let ready = fixture.ready("HcpOpenShiftCluster", "c");
        assert_eq!(ready, (reason.to_owned(), severity.to_owned()));
        fixture.run();
        assert_eq!(
            fixture.health("HcpOpenShiftCluster", "c").is_terminal(),
            terminal,
            "{reason}"
        );
        assert!(fixture.elapsed() < 300, "{reason} is not tried for ever");
    }
}

#[test]
fn a_cluster_that_failed_refuses_every_update() {
    let mut fixture = fixture(&["HcpOpenShiftCluster/c=InternalServerError"]);
    fixture.put(group());
    fixture.put(cluster());
    fixture.run();
    let mut changed = fixture.live("HcpOpenShiftCluster", "c").unwrap_or_default();
    changed["spec"]["tags"] = json!({"a": "b"});
    fixture.put(changed);
    fixture.run();
    assert_eq!(
        fixture.ready("HcpOpenShiftCluster", "c").0,
        words::INVALID_REQUEST_CONTENT
    );
    assert!(fixture.health("HcpOpenShiftCluster", "c").is_terminal());
}

#[test]
fn deletion_takes_time_unless_azure_must_not_be_touched() {
    let cases = [("manage", 10), ("skip", 0), ("detach-on-delete", 0)];
    for (policy, seconds) in cases {
        let mut fixture = fixture(&[]);
        fixture.put(group());
        let mut object = network("vnet");
        object["metadata"]["annotations"] =
            json!({"serviceoperator.azure.com/reconcile-policy": policy});
        fixture.put(object);
        fixture.run();
        let before = fixture.elapsed();
        fixture.delete(&ObjectId::new(
            "network.azure.com",
            "VirtualNetwork",
            "ns",
            "vnet",
        ));
        let there = |fixture: &Fixture| fixture.live("VirtualNetwork", "vnet").is_some();
        if seconds > 0 {
            fixture.run_to(before + seconds - 1);
            assert!(there(&fixture), "{policy}");
        }
        fixture.run_to(before + seconds);
        assert!(!there(&fixture), "{policy}");
    }
}

fn node_pool(name: &str) -> Value {
    let spec = json!({"owner": {"name": "c"}, "location": "uksouth"});
    resource(
        "redhatopenshift.azure.com/v1api20251223preview",
        "HcpOpenShiftClustersNodePool",
        name,
        spec,
    )
}

#[test]
fn a_refused_deletion_is_tried_again_after_three_minutes() {
    let azure = Azure::bare();
    let cluster = format!("{GROUP}/providers/Microsoft.RedHatOpenShift/hcpOpenShiftClusters/c");
    let id = format!("{cluster}/nodePools/one");
    for id in [&cluster, &id] {
        azure.put(id, json!({}));
    }
    let mut pool = node_pool("one");
    pool["metadata"] = json!({"name": "one", "namespace": "ns", "uid": "u",
        "deletionTimestamp": "2026-01-01T00:00:00Z", "annotations": {RESOURCE_ID: id},
        "finalizers": ["serviceoperator.azure.com/finalizer"]});
    let (now, nothing) = (Timestamp::UNIX_EPOCH, Snapshot::default());
    let outcome = deletion::reconcile(&azure, World::of(&nothing), Live(&pool), now);
    assert_eq!(outcome.wake, Some(now + deletion::RETRY));
    assert_eq!(deletion::RETRY.as_secs(), 180);
    assert_eq!(outcome.writes.len(), 1, "only the condition");
    // Azure has another one by then.
    azure.put(&format!("{cluster}/nodePools/two"), json!({}));
    let outcome = deletion::reconcile(
        &azure,
        World::of(&nothing),
        Live(&pool),
        now + deletion::RETRY,
    );
    assert_eq!(outcome.writes.len(), 2, "the mark of the operation, too");
}

#[test]
fn node_pools_go_with_their_cluster() {
    let azure = Azure::default();
    let mut fixture = on(&azure, &[]);
    for object in [group(), cluster(), node_pool("one"), node_pool("two")] {
        fixture.put(object);
    }
    fixture.run();
    let kind = "HcpOpenShiftCluster";
    fixture.delete(&ObjectId::new("redhatopenshift.azure.com", kind, "ns", "c"));
    fixture.run();
    assert_eq!(fixture.kinds(), ["ResourceGroup"]);
    assert_eq!(azure.ids().len(), 1, "nothing of it is put back");
}

#[test]
fn children_are_deleted_with_their_owner() {
    let mut fixture = fixture(&[]);
    fixture.put(group());
    fixture.put(network("vnet"));
    fixture.put(identity());
    fixture.run();
    fixture.delete(&ObjectId::new(
        "resources.azure.com",
        "ResourceGroup",
        "ns",
        "rg",
    ));
    fixture.run();
    assert_eq!(fixture.kinds(), Vec::<String>::new());
}

/// A resource with a policy.
fn with_policy(mut object: Value, policy: &str) -> Value {
    object["metadata"]["annotations"] = json!({RECONCILE_POLICY: policy});
    object
}

/// Somebody changes the policy, but not the spec.
fn set_policy(fixture: &mut Fixture, kind: &str, name: &str, policy: &str) {
    let mut object = fixture.live(kind, name).unwrap_or_default();
    object["metadata"]["annotations"][RECONCILE_POLICY] = json!(policy);
    fixture.put(object);
}

const GROUP: &str = "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/rg";

#[test]
fn a_skipped_resource_that_a_person_is_to_create_is_there() {
    let mut fixture = fixture(&[]);
    fixture.put(with_policy(group(), "skip"));
    fixture.run_to(0);
    assert!(fixture.health("ResourceGroup", "rg").is_ready());
}

#[test]
fn a_skipped_resource_is_looked_for_and_nothing_else() {
    let azure = Azure::bare();
    let mut fixture = on(&azure, &[]);
    fixture.put(with_policy(group(), "skip"));
    fixture.put(with_policy(network("vnet"), "skip"));
    fixture.run();
    assert_eq!(fixture.elapsed(), 0);
    let missing = (
        words::AZURE_RESOURCE_NOT_FOUND.to_owned(),
        words::WARNING.to_owned(),
    );
    assert_eq!(fixture.ready("ResourceGroup", "rg"), missing);
    assert_eq!(fixture.ready("VirtualNetwork", "vnet"), missing);
    assert!(azure.ids().is_empty());

    azure.put(
        GROUP,
        json!({"tags": {"team": "sre"}, "location": "westeurope"}),
    );
    let mut fixture = on(&azure, &[]);
    fixture.put(with_policy(group(), "skip"));
    fixture.run();
    assert!(fixture.health("ResourceGroup", "rg").is_ready());
    let found = fixture.live("ResourceGroup", "rg").unwrap_or_default();
    assert_eq!(found["status"]["tags"], json!({"team": "sre"}));
    assert_eq!(found["status"]["location"], "westeurope");
    assert_eq!(found["status"]["id"], GROUP);
}

#[test]
fn a_skipped_resource_waits_for_an_owner_that_is_not_in_the_cluster() {
    let mut fixture = on(&Azure::bare(), &[]);
    fixture.put(with_policy(network("vnet"), "skip"));
    fixture.run();
    assert_eq!(
        fixture.ready("VirtualNetwork", "vnet").0,
        words::WAITING_FOR_OWNER
    );
}

#[test]
fn a_change_of_the_policy_makes_aso_act_although_the_generation_stays() {
    let azure = Azure::bare();
    let mut fixture = on(&azure, &[]);
    fixture.put(with_policy(group(), "skip"));
    fixture.run();
    set_policy(&mut fixture, "ResourceGroup", "rg", "manage");
    fixture.run();
    assert!(fixture.health("ResourceGroup", "rg").is_ready());
    assert_eq!(
        (fixture.elapsed(), azure.ids()),
        (6, vec![GROUP.to_owned()])
    );
    set_policy(&mut fixture, "ResourceGroup", "rg", "skip");
    fixture.run();
    set_policy(&mut fixture, "ResourceGroup", "rg", "manage");
    fixture.run();
    assert_eq!(fixture.elapsed(), 6, "Azure has this spec already");
}

#[test]
fn what_was_only_looked_at_is_changed_once_it_is_managed() {
    let azure = Azure::bare();
    azure.put(GROUP, json!({"tags": {"team": "sre"}}));
    let mut fixture = on(&azure, &[]);
    let mut tagged = with_policy(group(), "skip");
    tagged["spec"]["tags"] = json!({"team": "web"});
    fixture.put(tagged);
    fixture.run();
    set_policy(&mut fixture, "ResourceGroup", "rg", "manage");
    fixture.run();
    assert_eq!(fixture.elapsed(), 3, "an update, not a creation");
    let tags = azure.get(GROUP).map(|state| state["tags"].clone());
    assert_eq!(tags, Some(json!({"team": "web"})));
}

#[test]
fn azure_outlives_what_is_not_deleted_in_it() {
    for (policy, stays) in [
        ("manage", false),
        ("skip", true),
        ("detach-on-delete", true),
    ] {
        let azure = Azure::bare();
        let mut fixture = on(&azure, &[]);
        fixture.put(group());
        fixture.put(network("vnet"));
        fixture.run();
        set_policy(&mut fixture, "ResourceGroup", "rg", policy);
        fixture.run();
        fixture.delete(&ObjectId::new(
            "resources.azure.com",
            "ResourceGroup",
            "ns",
            "rg",
        ));
        fixture.run();
        assert_eq!(fixture.live("ResourceGroup", "rg"), None, "{policy}");
        assert_eq!(azure.ids().contains(&GROUP.to_owned()), stays, "{policy}");
    }
}

#[test]
fn two_clusters_share_one_azure() {
    let azure = Azure::bare();
    let mut one = on(&azure, &[]);
    let mut tagged = group();
    tagged["spec"]["tags"] = json!({"a": "b"});
    one.put(tagged.clone());
    one.run();
    let mut two = on(&azure, &[]);
    two.put(with_policy(tagged, "skip"));
    two.run_to(0);
    let found = two.live("ResourceGroup", "rg").unwrap_or_default();
    assert_eq!(found["status"]["tags"], json!({"a": "b"}));
}

#[test]
fn a_creation_that_azure_refuses_leaves_nothing_but_a_broken_hcp_cluster() {
    let azure = Azure::bare();
    let failures = [
        "VirtualNetwork/vnet=Conflict",
        "HcpOpenShiftCluster/c=InternalServerError",
    ];
    let mut fixture = on(&azure, &failures);
    fixture.put(group());
    fixture.put(network("vnet"));
    fixture.put(cluster());
    fixture.run();
    let broken = format!(
        "{GROUP}/providers/Microsoft.RedHatOpenShift/hcpOpenShiftClusters/prod-uks-1-and-more"
    );
    assert_eq!(azure.ids(), [GROUP.to_owned(), broken.clone()]);
    let state = azure.get(&broken).unwrap_or_default();
    assert_eq!(state["properties"]["provisioningState"], "Failed");
}

/// The admin kubeconfig.
fn kubeconfig(fixture: &Fixture) -> Value {
    let secret = fixture.live("Secret", "c-kubeconfig").unwrap_or_default();
    let data = secret["data"]["value"].as_str().unwrap_or_default();
    let text = BASE64_STANDARD.decode(data).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

#[test]
fn a_kubeconfig_has_a_ca_and_is_issued_again_when_somebody_deletes_it() {
    let mut fixture = fixture(&[]);
    fixture.put(group());
    fixture.put(cluster());
    fixture.run();
    let first = kubeconfig(&fixture);
    let authority = &first["clusters"][0]["cluster"]["certificate-authority-data"];
    let authority = BASE64_STANDARD.decode(authority.as_str().unwrap_or_default());
    assert!(authority.is_ok_and(|pem| pem.starts_with(b"-----BEGIN CERTIFICATE-----")));
    let expiry = |config: &Value| {
        let token = config["users"][0]["user"]["token"]
            .as_str()
            .unwrap_or_default();
        let claims = token.split('.').nth(1).unwrap_or_default();
        let claims = BASE64_URL_SAFE_NO_PAD.decode(claims).unwrap_or_default();
        serde_json::from_slice::<Value>(&claims).unwrap_or_default()["exp"].as_i64()
    };
    let issued = fixture.now.as_second();
    assert_eq!(expiry(&first), Some(issued + 24 * 3600));
    fixture.run_to(7200);
    fixture.delete(&ObjectId::new("", "Secret", "ns", "c-kubeconfig"));
    fixture.run();
    assert_eq!(
        expiry(&kubeconfig(&fixture)),
        Some(fixture.now.as_second() + 24 * 3600)
    );
}

#[test]
fn a_kubeconfig_is_issued_again_before_it_expires() {
    let mut fixture = fixture(&[]);
    fixture.put(group());
    fixture.put(cluster());
    fixture.run();
    let (first, elapsed) = (kubeconfig(&fixture), fixture.elapsed());
    fixture.run_to(elapsed + 22 * 3600);
    assert_eq!(kubeconfig(&fixture), first);
    fixture.run_to(elapsed + 23 * 3600 + 60);
    let second = kubeconfig(&fixture);
    assert_ne!(second, first);
    fixture.run_to(elapsed + 47 * 3600);
    assert_ne!(kubeconfig(&fixture), second, "and again");
}

#[test]
fn an_external_authentication_waits_for_the_secret_of_its_client() {
    let component = json!({"name": "console", "authClientNamespace": "openshift-console"});
    let clients = json!([{"type": "Confidential", "component": component}]);
    let spec = json!({"owner": {"name": "c"}, "properties": {"clients": clients}});
    let auth = || {
        let (api, kind) = (
            "redhatopenshift.azure.com/v1api20251223preview",
            "HcpOpenShiftClustersExternalAuth",
        );
        resource(api, kind, "ea", spec.clone())
    };
    let state = |fixture: &Fixture| {
        let path = ["properties", "provisioningState"];
        status(fixture, "HcpOpenShiftClustersExternalAuth", "ea", &path)
    };
    for (azure, first) in [
        (Azure::default(), "Succeeded"),
        (Azure::bare(), AWAITING_SECRET),
    ] {
        let mut fixture = on(&azure, &[]);
        for object in [group(), cluster(), auth()] {
            fixture.put(object);
        }
        fixture.run();
        assert_eq!(state(&fixture), first);
        fixture.put(resource(
            "v1",
            "Secret",
            "c-ea-console-openshift-console",
            Value::Null,
        ));
        fixture.run();
        assert_eq!(state(&fixture), "Succeeded");
        assert!(
            fixture
                .health("HcpOpenShiftClustersExternalAuth", "ea")
                .is_ready()
        );
    }
}
