//! What is reported of a cluster in Azure.

use serde_json::json;

use super::super::super::bench::{Bench, HCP_API, deleted, object};
use super::KIND;
use crate::api::conditions as c;
use crate::api::labels::{PART_OF, RECREATE};
use crate::health::Live;
use crate::model::{AdapterError, ErrorClass};
use crate::reconcile::outcome::Write;

const LOST: &str = "[E]Cluster '/subscriptions/s/c' is in state 'error', can't update";

#[test]
fn section_3_2_step_9_the_cluster_s_condition_is_azure_s_with_its_severity() {
    let cases = [
        (
            "True",
            "Succeeded",
            "",
            "Succeeded",
            "HCP cluster is fully operational",
        ),
        ("False", "Reconciling", "working", "Reconciling", "working"),
        (
            "False",
            "InvalidRequestContent",
            "[E]no",
            "InvalidRequestContent",
            "[Error] no",
        ),
        (
            "False",
            "AuthorizationFailed",
            "[W]no right",
            "AuthorizationFailed",
            "[Warning] no right",
        ),
    ];
    for (status, reason, message, expected, text) in cases {
        let mut bench = Bench::new();
        bench.build();
        bench.warnings();
        bench.report("HcpOpenShiftCluster", "c", status, reason, message);
        bench.rest();
        let found = bench.condition(KIND, c::HCP_CLUSTER_READY);
        assert_eq!(
            found,
            (status.to_owned(), expected.to_owned(), text.to_owned())
        );
        let warns = bench.warnings().contains(&reason.to_owned());
        assert_eq!(warns, text.starts_with('['), "{reason}");
        let failure = bench.live(KIND, "c")["status"]
            .get("failureMessage")
            .cloned();
        assert_eq!(failure.is_some(), text.starts_with("[Error]"), "{reason}");
    }
}

/// CAPZ's watch sees a resource only when its status changes, so that a reason is seen ten minutes later (§6.9).
#[test]
fn section_6_9_a_reason_that_changes_is_seen_at_once_and_the_failure_goes_away() {
    let mut bench = Bench::new();
    bench.build();
    bench.report("HcpOpenShiftCluster", "c", "False", "Reconciling", "");
    bench.rest();
    bench.report(
        "HcpOpenShiftCluster",
        "c",
        "False",
        "InvalidRequestContent",
        "[E]no",
    );
    bench.rest();
    assert_eq!(
        bench.reason(KIND, c::HCP_CLUSTER_READY),
        "InvalidRequestContent"
    );
    assert_eq!(
        bench.live(KIND, "c")["status"]["failureMessage"],
        "[Error] no"
    );
    bench.ready("HcpOpenShiftCluster", "c");
    bench.rest();
    assert_eq!(bench.live(KIND, "c")["status"].get("failureMessage"), None);
}

#[test]
fn what_azure_reports_is_copied_and_never_cleared() {
    let mut bench = Bench::new();
    bench.build();
    bench.edit("HcpOpenShiftCluster", "c", |hcp| {
        hcp["status"] = json!({"id": "/subscriptions/s/c", "properties": {"api": {"url": "https://api"},
            "console": {"url": "https://console"}, "version": {"id": "4.20.1"}}});
    });
    bench.rest();
    bench.edit("HcpOpenShiftCluster", "c", |hcp| hcp["status"] = json!({}));
    bench.rest();
    let status = bench.live(KIND, "c")["status"].clone();
    let copied = [
        &status["id"],
        &status["apiURL"],
        &status["consoleURL"],
        &status["version"],
    ];
    assert_eq!(
        copied,
        [
            "/subscriptions/s/c",
            "https://api",
            "https://console",
            "4.20.1"
        ]
    );
}

#[test]
fn section_8_a_a_lost_cluster_is_recreated_only_when_this_one_is_approved() {
    let mut bench = Bench::new();
    bench.provision();
    bench.report(
        "HcpOpenShiftCluster",
        "c",
        "False",
        "InvalidRequestContent",
        LOST,
    );
    bench.rest();
    let uid = Live(&bench.live("HcpOpenShiftCluster", "c"))
        .uid()
        .to_owned();
    let found = bench.condition(KIND, c::HCP_CLUSTER_READY);
    assert!(!found.2.contains("Capstan-Approve"), "it ran: {}", found.2);
    assert!(
        found.2.contains(&format!("capstan.dev/recreate={uid}")),
        "{}",
        found.2
    );
    assert!(bench.fixture.health(KIND, "c").is_terminal());
    assert!(deleted(&bench.decide(KIND)).is_empty());
    let approve = |bench: &mut Bench, uid: &str| {
        bench.edit(KIND, "c", |plane| {
            plane["metadata"]["annotations"][RECREATE] = json!(uid)
        });
    };
    approve(&mut bench, "another");
    assert!(deleted(&bench.decide(KIND)).is_empty());
    approve(&mut bench, &uid);
    assert_eq!(deleted(&bench.decide(KIND)), ["HcpOpenShiftCluster"]);
    bench.rest();
    let again = bench.live("HcpOpenShiftCluster", "c");
    assert_ne!(Live(&again).uid(), uid);
    bench.report(
        "HcpOpenShiftCluster",
        "c",
        "False",
        "InvalidRequestContent",
        LOST,
    );
    bench.rest();
    assert!(
        deleted(&bench.decide(KIND)).is_empty(),
        "an approval is good for one"
    );
}

#[test]
fn an_approval_of_a_cluster_that_works_deletes_nothing() {
    let mut bench = Bench::new();
    bench.provision();
    let uid = Live(&bench.live("HcpOpenShiftCluster", "c"))
        .uid()
        .to_owned();
    bench.edit(KIND, "c", |plane| {
        plane["metadata"]["annotations"][RECREATE] = json!(uid)
    });
    assert!(deleted(&bench.decide(KIND)).is_empty());
    bench.report(
        "HcpOpenShiftCluster",
        "c",
        "False",
        "InvalidRequestContent",
        "[E]the version is unknown",
    );
    assert!(deleted(&bench.decide(KIND)).is_empty());
}

#[test]
fn section_7_a_secret_that_a_person_must_make_is_named() {
    let mut bench = Bench::new();
    bench.edit(KIND, "c", |plane| {
        let client = json!({"type": "Confidential", "component": {"name": "console", "authClientNamespace": "openshift-console"}});
        plane["spec"]["resources"][1]["spec"] = json!({"properties": {"clients": [client]}});
    });
    bench.provision();
    let pool = object(
        HCP_API,
        "HcpOpenShiftClustersNodePool",
        "c-mp1",
        json!({"owner": {"name": "c"}}),
    );
    bench.put(pool);
    bench.ready("HcpOpenShiftClustersNodePool", "c-mp1");
    bench.rest();
    bench.warnings();
    bench.edit("HcpOpenShiftClustersExternalAuth", "c-ea", |auth| {
        auth["status"] = json!({"properties": {"provisioningState": "AwaitingSecret"}});
    });
    bench.rest();
    let found = bench.condition(KIND, c::EXTERNAL_AUTH_READY);
    assert_eq!(
        (found.0.as_str(), found.1.as_str()),
        ("False", c::AWAITING_SECRET)
    );
    let named = "create the Secret c-ea-console-openshift-console with the key clientSecret in namespace ns";
    assert!(found.2.contains(named), "{}", found.2);
    assert_eq!(bench.warnings(), [c::AWAITING_SECRET]);
    let health = bench.fixture.health(KIND, "c");
    assert!(
        health.is_ready() && health.reason == c::AWAITING_SECRET,
        "{health:?}"
    );
    assert_eq!(bench.condition(KIND, c::READY).0, "True");
    bench.edit("HcpOpenShiftClustersExternalAuth", "c-ea", |auth| {
        auth["status"]["properties"]["provisioningState"] = json!("Succeeded");
    });
    bench.ready("HcpOpenShiftClustersExternalAuth", "c-ea");
    bench.rest();
    assert_eq!(
        bench.condition(KIND, c::EXTERNAL_AUTH_READY).2,
        "External authentication configured successfully"
    );
}

/// CAPZ looks at the first external authentication only.
#[test]
fn section_3_2_step_10_every_external_authentication_counts() {
    let mut bench = Bench::new();
    bench.edit(KIND, "c", |plane| {
        let mut second = plane["spec"]["resources"][1].clone();
        second["metadata"]["name"] = json!("second");
        if let Some(items) = plane["spec"]["resources"].as_array_mut() {
            items.push(second);
        }
    });
    bench.provision();
    bench.put(object(
        HCP_API,
        "HcpOpenShiftClustersNodePool",
        "c-mp1",
        json!({"owner": {"name": "c"}}),
    ));
    bench.ready("HcpOpenShiftClustersNodePool", "c-mp1");
    bench.rest();
    bench.ready("HcpOpenShiftClustersExternalAuth", "c-ea");
    bench.report(
        "HcpOpenShiftClustersExternalAuth",
        "second",
        "False",
        "Reconciling",
        "working",
    );
    bench.rest();
    let found = bench.condition(KIND, c::EXTERNAL_AUTH_READY);
    assert_eq!(
        (found.1.as_str(), found.2.as_str()),
        ("Reconciling", "working")
    );
    bench.ready("HcpOpenShiftClustersExternalAuth", "second");
    bench.rest();
    assert_eq!(bench.condition(KIND, c::EXTERNAL_AUTH_READY).0, "True");
    bench.edit(KIND, "c", |plane| {
        if let Some(items) = plane["spec"]["resources"].as_array_mut() {
            items.truncate(1);
        }
    });
    bench.rest();
    assert_eq!(bench.reason(KIND, c::EXTERNAL_AUTH_READY), "");
}

#[test]
fn section_3_2_step_8_every_kind_has_a_condition() {
    let mut bench = Bench::new();
    bench.edit(KIND, "c", |plane| {
        let identity = |name| {
            object(
                "managedidentity.azure.com/v1api20230131",
                "UserAssignedIdentity",
                name,
                json!({}),
            )
        };
        if let Some(items) = plane["spec"]["resources"].as_array_mut() {
            items.extend([identity("one"), identity("two")]);
        }
    });
    bench.build();
    bench.ready("UserAssignedIdentity", "one");
    bench.rest();
    let found = bench.condition(KIND, "UserAssignedIdentitiesReady");
    assert_eq!(
        (found.1.as_str(), found.2.as_str()),
        (
            c::CREATING,
            "Waiting for UserAssignedIdentity to be ready: [two]"
        )
    );
    bench.ready("UserAssignedIdentity", "two");
    bench.rest();
    assert_eq!(
        bench.reason(KIND, "UserAssignedIdentitiesReady"),
        c::SUCCEEDED
    );
}

/// Azure is done, and ASO never is: the field is needed with every kind of network.
#[test]
fn section_8_o_a_missing_machine_cidr_is_named() {
    let mut bench = Bench::new();
    bench.provision();
    bench.edit("HcpOpenShiftCluster", "c", |hcp| {
        hcp["status"]["properties"]["provisioningState"] = json!("Succeeded");
    });
    bench.report(
        "HcpOpenShiftCluster",
        "c",
        "False",
        "Reconciling",
        "working",
    );
    bench.rest();
    let found = bench.condition(KIND, c::HCP_CLUSTER_READY);
    assert!(
        found
            .2
            .contains("spec.properties.network.machineCidr is not set"),
        "{}",
        found.2
    );
    bench.edit(KIND, "c", |plane| {
        plane["spec"]["resources"][0]["spec"]["properties"]["network"] =
            json!({"machineCidr": "10.0.0.0/16"});
    });
    bench.rest();
    bench.report(
        "HcpOpenShiftCluster",
        "c",
        "False",
        "Reconciling",
        "working",
    );
    bench.rest();
    assert_eq!(bench.condition(KIND, c::HCP_CLUSTER_READY).2, "working");
}

/// The resource is applied all the same, so that nothing fails: CI was red until the cluster was ready.
#[test]
fn an_ignored_namespace_is_no_failure_of_anything() {
    let mut bench = Bench::new();
    for kind in ["AROCluster", KIND] {
        bench.edit(kind, "c", |owner| {
            owner["spec"]["resources"][0]["metadata"]["namespace"] = json!("elsewhere");
        });
    }
    bench.rest();
    assert_eq!(
        bench.reason("AROCluster", c::RESOURCES_READY),
        c::PROVISIONING_INFRASTRUCTURE
    );
    bench.build();
    bench.report(
        "HcpOpenShiftCluster",
        "c",
        "False",
        "Reconciling",
        "working",
    );
    bench.rest();
    let found = bench.condition(KIND, c::HCP_CLUSTER_READY);
    assert_eq!(
        (found.1.as_str(), found.2.as_str()),
        ("Reconciling", "working")
    );
    let status = bench.live(KIND, "c")["status"].clone();
    assert_eq!(status.get("failureMessage"), None);
    let message = status["resources"][0]["message"].as_str();
    assert!(message.is_some_and(|message| message.contains("\"elsewhere\" is ignored")));
    assert!(bench.warnings().is_empty());
}

/// What the condition recommends is what is heeded.
#[test]
fn a_commit_is_offered_to_approve_a_recreation_only_while_one_is_heeded() {
    let mut bench = Bench::new();
    bench.build();
    let lose = |bench: &mut Bench| {
        let reason = "InvalidRequestContent";
        bench.report("HcpOpenShiftCluster", "c", "False", reason, LOST);
        bench.rest();
        bench.condition(KIND, c::HCP_CLUSTER_READY).2
    };
    let message = lose(&mut bench);
    assert!(!message.contains("commit"), "no fleet has it: {message}");
    bench.edit(KIND, "c", |plane| {
        plane["metadata"]["labels"][PART_OF] = json!("applyset-x-v1");
    });
    bench.rest();
    let message = lose(&mut bench);
    let offered =
        "with the commit trailer 'Capstan-Approve: recreate ns/c', or with the annotation";
    assert!(message.contains(offered), "{message}");
    let uid = Live(&bench.live("HcpOpenShiftCluster", "c"))
        .uid()
        .to_owned();
    bench.edit(KIND, "c", |plane| {
        plane["metadata"]["annotations"][RECREATE] = json!(uid)
    });
    bench.rest();
    let message = lose(&mut bench);
    assert!(!message.contains("Capstan-Approve"), "{message}");
    assert!(message.contains("with the annotation"), "{message}");
}

#[test]
fn a_cluster_of_which_the_spec_is_wrong_is_not_ready() {
    let mut bench = Bench::new();
    bench.provision();
    assert_eq!(bench.live(KIND, "c")["status"]["ready"], true);
    bench.edit(KIND, "c", |plane| {
        let second = object(HCP_API, "HcpOpenShiftCluster", "d", json!({}));
        plane["spec"]["resources"][1] = second;
    });
    bench.rest();
    let plane = bench.live(KIND, "c");
    assert_eq!(plane["status"]["ready"], false);
    let summary = bench.condition(KIND, c::READY);
    let expected = ("False", c::HCP_CLUSTER_INVALID, "HcpClusterReady is False");
    assert_eq!(
        (summary.0.as_str(), summary.1.as_str(), summary.2.as_str()),
        expected
    );
}

#[test]
fn a_spec_that_the_api_server_finds_invalid_is_a_failure() {
    let mut bench = Bench::new();
    bench.provision();
    bench.edit(KIND, "c", |plane| {
        plane["spec"]["resources"][0]["spec"]["location"] = json!(7);
    });
    let hcp = Live(&bench.live("HcpOpenShiftCluster", "c")).id();
    let text = format!(
        "{hcp}: the API server refused it: HcpOpenShiftCluster.redhatopenshift.azure.com \"c\" is invalid: spec.location: Invalid value"
    );
    let refusal = AdapterError::new(ErrorClass::Invalid, text);
    bench.fixture.snapshot.set_refusal(&hcp, Some(refusal));
    let outcome = bench.decide(KIND);
    let mut writes = outcome.writes.iter();
    let status = writes.find_map(|write| match write {
        Write::Status(patch) => Some(&patch["status"]),
        _ => None,
    });
    let failure = status.map(|status| &status["failureMessage"]);
    assert_eq!(
        failure,
        Some(&json!(
            "the API server refused it: spec.location: Invalid value"
        ))
    );
    assert_eq!(status.map(|status| &status["ready"]), Some(&json!(false)));
}
