//! Objects without an id, and with the id of another.

use super::*;

fn named(object: &str, instance: &str, state: State) -> Observation {
    Observation {
        object: object.to_owned(),
        instance: instance.to_owned(),
        ..seen(object, state)
    }
}

#[test]
fn an_object_without_a_usable_id_is_passed_over_with_one_warning() {
    let long = "a".repeat(64);
    for id in ["", "a.b", "a b", "*", ">", "é", "a\n", &*long] {
        let mut rig = Rig::new();
        rig.on(Event::Observed(named("clusters/x", id, Ready)), 0);
        rig.on(Event::Observed(named("clusters/x", id, Failed)), 100);
        rig.list(&[named("clusters/x", id, Failed), seen("b", Ready)], 200);
        assert_eq!(rig.delivered(9_000), [("b".to_owned(), Ready)], "{id:?}");
        let object = "clusters/x".to_owned();
        assert_eq!(rig.warnings, [Warning::UnusableId { object }]);
        rig.lose("clusters/x", 10_000);
        assert_eq!(rig.delivered(20_000), []);
    }
    for id in ["a", "A_b-9", &*"a".repeat(63)] {
        let mut rig = Rig::with(&[named("x", id, Ready)], &[]);
        assert_eq!(rig.delivered(1_000), [(id.to_owned(), Ready)]);
        assert_eq!(rig.warnings, []);
    }
}

#[test]
fn of_two_objects_with_one_id_the_first_by_name_counts_whatever_the_order() {
    let pair = [named("x", "i", Ready), named("y", "i", Failed)];
    let shared = Warning::SharedId {
        instance: "i".into(),
        used: "x".into(),
        ignored: "y".into(),
    };
    for turn in 0..2 {
        let mut rig = Rig::new();
        rig.on(Event::Observed(pair[turn].clone()), 0);
        rig.on(Event::Observed(pair[1 - turn].clone()), 100);
        rig.list(&[pair[1].clone(), pair[0].clone()], 200);
        assert_eq!(rig.delivered(9_000), [("i".to_owned(), Ready)]);
        assert_eq!(rig.warnings, std::slice::from_ref(&shared));
        // What the other one says is of no account.
        rig.on(Event::Observed(named("y", "i", Deleting)), 10_000);
        assert_eq!(rig.delivered(19_000), []);
        // It takes the place of the first, and only the last one that goes ends the instance.
        rig.lose("x", 20_000);
        assert_eq!(rig.delivered(29_000), [("i".to_owned(), Deleting)]);
        rig.lose("y", 30_000);
        assert_eq!(rig.delivered(39_000), [("i".to_owned(), Deleted)]);
    }
}

#[test]
fn an_object_may_become_another_instance() {
    let mut rig = Rig::with(&[named("x", "i", Ready)], &[]);
    assert_eq!(rig.delivered(1_000), [("i".to_owned(), Ready)]);
    rig.on(Event::Observed(named("x", "j", Ready)), 2_000);
    let expected = [("i".to_owned(), Deleted), ("j".to_owned(), Ready)];
    assert_eq!(rig.delivered(3_000), expected);
    rig.on(Event::Observed(named("x", "", Ready)), 4_000);
    assert_eq!(rig.delivered(5_000), [("j".to_owned(), Deleted)]);
    assert_eq!(rig.warnings.len(), 1);
}

#[test]
fn an_object_that_is_observed_as_deleted_is_gone() {
    let mut rig = Rig::with(&[seen("a", Ready)], &[]);
    assert_eq!(rig.states(1_000), [Ready]);
    rig.see("a", Deleted, 2_000);
    assert_eq!(rig.states(3_000), [Deleted]);
    rig.lose("a", 4_000);
    rig.see("a", Deleted, 4_500);
    assert_eq!(rig.states(9_000), []);
}

#[test]
fn a_warning_says_what_to_do() {
    let unusable = Warning::UnusableId {
        object: "clusters/x".into(),
    };
    assert!(
        unusable
            .to_string()
            .starts_with("clusters/x has no instance id"),
        "{unusable}"
    );
    let shared = Warning::SharedId {
        instance: "i".into(),
        used: "x".into(),
        ignored: "y".into(),
    };
    assert!(
        shared
            .to_string()
            .starts_with("x and y have the same instance id i"),
        "{shared}"
    );
}
