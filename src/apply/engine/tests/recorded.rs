//! What the parent records of a fleet, and what a restart keeps of it.

use super::fixture::{Fault, Fixture, asked, cluster, id, map};
use crate::model::ErrorClass;

/// What the parent records as failed for good, each with its reason.
fn failed(fixture: &Fixture) -> Vec<String> {
    let (parent, _) = fixture.parent.as_ref().expect("it was written");
    let reasons = parent.failed.first.iter();
    let reasons = reasons.map(|reason| format!("{}: {}", reason.object, reason.message));
    reasons.collect()
}

const INVALID: Option<Fault> = Some(Fault::Fails(ErrorClass::Invalid));

#[test]
fn the_parent_records_what_fails_for_good_until_it_does_not() {
    let documents = [map("a", "1", ""), map("b", "1", ""), map("c", "1", "b")];
    let mut fixture = Fixture::new(8);
    fixture.assign("1", &documents);
    for request in ["read parent", "write parent", "discover ConfigMap"] {
        fixture.answer(request);
    }
    fixture.see_all();
    fixture.answer_with("apply b", INVALID);
    assert_eq!(asked(&fixture), ["apply a"], "not before all were tried");
    fixture.answer("apply a");
    assert_eq!(asked(&fixture), ["write parent"]);
    fixture.calm();
    assert_eq!(failed(&fixture), ["ConfigMap/ns/b: no"]);
    // The same again costs no write, nor does a cluster that does not answer.
    for fault in [INVALID, Some(Fault::Lost)] {
        fixture.wake();
        fixture.answer_with("apply b", fault);
        fixture.see_all();
        assert_eq!(asked(&fixture), [""; 0]);
    }
    fixture.settle();
    assert_eq!(failed(&fixture), [""; 0]);
    assert_eq!(fixture.is_as_planned(), Ok(()));
}

#[test]
fn a_restart_keeps_what_failed_and_another_revision_forgets_it() {
    let documents = [map("a", "1", "")];
    let begun = |fixture: &mut Fixture, revision: &str| {
        fixture.assign(revision, &documents);
        fixture.answer("read parent");
    };
    let mut fixture = Fixture::new(8);
    begun(&mut fixture, "1");
    fixture.answer("write parent");
    fixture.answer("discover ConfigMap");
    fixture.see_all();
    fixture.answer_with("apply a", INVALID);
    fixture.calm();
    fixture.crash();
    begun(&mut fixture, "1");
    assert_eq!(asked(&fixture), ["discover ConfigMap"], "no write");
    fixture.answer("discover ConfigMap");
    fixture.see_all();
    fixture.answer_with("apply a", INVALID);
    assert_eq!(asked(&fixture), [""; 0], "no write");
    assert_eq!(failed(&fixture), ["ConfigMap/ns/a: no"]);
    begun(&mut fixture, "2");
    fixture.answer("write parent");
    assert_eq!(failed(&fixture), [""; 0]);
}

/// These count as in vain only from the third time on, also after a restart.
#[test]
fn a_restart_keeps_what_failed_while_another_writer_or_a_namespace_may_be_gone() {
    for class in [ErrorClass::Conflict, ErrorClass::Gone] {
        let mut fixture = Fixture::new(8);
        let begin = |fixture: &mut Fixture| {
            fixture.assign("1", &[map("a", "1", "")]);
            fixture.answer("read parent");
        };
        let fail = |fixture: &mut Fixture| {
            fixture.answer_with("apply a", Some(Fault::Fails(class)));
            fixture.see_all();
        };
        begin(&mut fixture);
        fixture.answer("write parent");
        fixture.answer("discover ConfigMap");
        fixture.see_all();
        fail(&mut fixture);
        for _ in 1..3 {
            fixture.wake();
            fail(&mut fixture);
        }
        fixture.calm();
        assert_eq!(failed(&fixture), ["ConfigMap/ns/a: no"], "{class:?}");
        fixture.crash();
        begin(&mut fixture);
        fixture.answer("discover ConfigMap");
        fixture.see_all();
        fail(&mut fixture);
        assert_eq!(asked(&fixture), [""; 0], "{class:?}: no write");
        fixture.settle();
        assert_eq!(failed(&fixture), [""; 0], "{class:?}");
    }
}

#[test]
fn a_repair_that_fails_for_good_is_recorded() {
    let mut fixture = Fixture::settled(&[map("a", "1", "")]);
    fixture.edit(&id("a"));
    fixture.see_all();
    fixture.answer_with("apply a", INVALID);
    fixture.calm();
    assert_eq!(failed(&fixture), ["ConfigMap/ns/a: no"]);
    fixture.settle();
    assert_eq!(failed(&fixture), [""; 0]);
}

#[test]
fn the_parent_records_why_members_are_kept() {
    let mut fixture = Fixture::settled(&[map("a", "1", ""), cluster("c")]);
    fixture.assign("2", &[map("a", "1", "")]);
    fixture.settle();
    let (parent, _) = fixture.parent.as_ref().expect("it was written");
    let kept: Vec<&str> = parent.kept.first.iter().map(|one| &*one.object).collect();
    assert_eq!(kept, ["Cluster/ns/c"]);
    assert!(!parent.kept.first[0].message.is_empty());
}

/// Another binary, or other overlays, may make other objects of one revision.
#[test]
fn the_members_are_those_of_the_plan_even_if_the_revision_and_their_number_are_the_same() {
    let mut fixture = Fixture::settled(&[map("a", "1", ""), map("b", "1", "")]);
    fixture.crash();
    fixture.assign("1", &[map("a", "1", ""), map("c", "1", "")]);
    fixture.answer("read parent");
    fixture.answer("write applied parent");
    let (parent, _) = fixture.parent.as_ref().expect("it was written");
    assert_eq!(parent.members.ids(), [id("a"), id("c")].into());
}
