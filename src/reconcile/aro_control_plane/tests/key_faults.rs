//! What is in the way of an encryption key, and what has to come before it.

#![allow(clippy::panic)]

use serde_json::json;

use super::super::super::bench::{Bench, SETTLE, object};
use super::KIND;
use super::keys::{answer, asked, bench, decided, modern, unanswered, version};
use crate::api::conditions as c;
use crate::api::embedded::KEY_VAULT_CRYPTO_OFFICER;
use crate::model::{AdapterError, ErrorClass, KeyError, KeyFault};

fn fault(fault: KeyFault, class: ErrorClass, text: &str) -> KeyError {
    KeyError::new(fault, AdapterError::new(class, text))
}

/// The infrastructure with a role assignment that lets somebody create keys.
fn assign(bench: &mut Bench) {
    bench.edit("AROCluster", "c", |cluster| {
        let role =
            format!("/subscriptions/s/providers/x/roleDefinitions/{KEY_VAULT_CRYPTO_OFFICER}");
        let spec = json!({"owner": {"name": "vault"}, "roleDefinitionReference": {"armId": role}});
        let role = object(
            "authorization.azure.com/v1api20220401",
            "RoleAssignment",
            "officer",
            spec,
        );
        let items = cluster["spec"]["resources"].as_array_mut();
        items.into_iter().for_each(|items| items.push(role.clone()));
    });
}

#[test]
fn each_fault_of_a_vault_holds_back_the_cluster_and_has_its_reason() {
    use ErrorClass::{Conflict, Denied, Invalid, Transient};
    let cases = [
        (
            KeyFault::NotConfigured,
            Invalid,
            c::KEY_MANAGEMENT_NOT_CONFIGURED,
        ),
        (KeyFault::VaultNotFound, Transient, c::VAULT_NOT_FOUND),
        (KeyFault::AccessDenied, Denied, c::KEY_ACCESS_DENIED),
        (KeyFault::NetworkDenied, Denied, c::VAULT_NETWORK_DENIED),
        (KeyFault::Deleted, Conflict, c::KEY_DELETED),
        (KeyFault::Unusable, Invalid, c::KEY_UNUSABLE),
        (KeyFault::Other, Invalid, c::KEY_FAILED),
        (KeyFault::Other, Denied, c::KEY_FAILED),
        (KeyFault::Other, Transient, c::CREATING_KEY),
    ];
    for (what, class, reason) in cases {
        let mut bench = bench(&modern(), true);
        let request = unanswered(&mut bench);
        answer(
            &mut bench,
            request.clone(),
            Err(fault(what, class, "do this")),
        );
        let outcome = bench.decide(KIND);
        let found = decided(&outcome, c::ENCRYPTION_KEY_READY);
        assert_eq!(found.1, reason, "{what:?}");
        assert!(found.2.contains("do this"), "{}", found.2);
        assert_eq!(asked(&outcome), Some(request), "it is asked again");
        let held = decided(&outcome, c::HCP_CLUSTER_READY).1;
        assert_eq!(held, c::WAITING_FOR_ENCRYPTION_KEY);
        assert_eq!(version(&bench), "");
        let warns = outcome.events.iter().any(|event| event.is_warning);
        assert_eq!(warns, reason != c::CREATING_KEY, "{what:?}");
    }
}

/// A private endpoint without a route never heals, and a refused connection usually does.
#[test]
fn issue_15_a_vault_that_stays_out_of_reach_is_reported() {
    let unreachable = |text: &str| fault(KeyFault::Unreachable, ErrorClass::Transient, text);
    let mut bench = bench(&modern(), true);
    let request = unanswered(&mut bench);
    let mut said = |after: u64, error: Result<String, KeyError>| {
        bench.fixture.now += std::time::Duration::from_secs(after);
        answer(&mut bench, request.clone(), error);
        let outcome = bench.decide(KIND);
        assert_eq!(asked(&outcome), Some(request.clone()), "it is asked again");
        let warns = outcome.events.iter().any(|event| event.is_warning);
        let found = decided(&outcome, c::ENCRYPTION_KEY_READY);
        assert_eq!(warns, found.1 != c::CREATING_KEY);
        (found.1, found.2)
    };
    assert_eq!(said(0, Err(unreachable("a"))).0, c::CREATING_KEY);
    assert_eq!(said(60, Err(unreachable("b"))).0, c::CREATING_KEY);
    let (reason, message) = said(180, Err(unreachable("check the route")));
    assert_eq!(reason, c::VAULT_UNREACHABLE);
    assert!(message.contains("check the route"), "{message}");
    // Something answered in between.
    let busy = fault(KeyFault::Other, ErrorClass::Transient, "busy");
    assert_eq!(said(60, Err(busy)).0, c::CREATING_KEY);
    assert_eq!(said(60, Err(unreachable("a"))).0, c::CREATING_KEY);
}

#[test]
fn the_key_waits_for_the_assignment_of_the_role_that_creates_it() {
    let mut bench = bench(&modern(), true);
    assign(&mut bench);
    bench.build();
    bench.ready("RoleAssignment", "officer");
    bench.rest();
    assert_eq!(bench.reason(KIND, c::ENCRYPTION_KEY_READY), c::KEY_READY);
    // The AROCluster says that all is ready; the assignment is looked at all the same.
    bench.fixture.snapshot.keys.clear();
    bench.report("RoleAssignment", "officer", "False", "Reconciling", "[W]");
    let outcome = bench.decide(KIND);
    let found = decided(&outcome, c::ENCRYPTION_KEY_READY);
    assert_eq!(found.1, c::WAITING_FOR_ROLE_ASSIGNMENTS, "{outcome:#?}");
    assert!(found.2.contains("officer"), "{}", found.2);
    assert_eq!(asked(&outcome), None);
}

#[test]
fn who_lacks_the_role_is_waited_for_while_a_new_assignment_settles() {
    let denied = || {
        fault(
            KeyFault::AccessDenied,
            ErrorClass::Denied,
            "assign the role",
        )
    };
    for is_assigned in [true, false] {
        let mut bench = bench(&modern(), true);
        if is_assigned {
            assign(&mut bench);
            bench.rest();
            bench.ready("RoleAssignment", "officer");
        }
        let request = unanswered(&mut bench);
        answer(&mut bench, request.clone(), Err(denied()));
        let found = decided(&bench.decide(KIND), c::ENCRYPTION_KEY_READY);
        let settles = if is_assigned {
            c::CREATING_KEY
        } else {
            c::KEY_ACCESS_DENIED
        };
        assert_eq!(found.1, settles);
        bench.fixture.now += SETTLE;
        answer(&mut bench, request, Err(denied()));
        let found = decided(&bench.decide(KIND), c::ENCRYPTION_KEY_READY);
        assert_eq!(found.1, c::KEY_ACCESS_DENIED);
        let hint = found.2.contains(c::KEY_OFFICER_NOT_ASSIGNED);
        assert_eq!(hint, !is_assigned, "{}", found.2);
    }
}
