//! Objects of kinds that the same plan defines: the API server shows a kind a moment after it is established.

use serde_json::{Value as Json, json};

use super::fixture::*;
use crate::apply::State;
use crate::model::ObjectId;

fn definition() -> Json {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "gadgets.x.dev"},
        "spec": {"group": "x.dev", "names": {"kind": "Gadget", "plural": "gadgets"}, "scope": "Namespaced",
                 "versions": [{"name": "v1", "served": true, "storage": true}]},
        "status": {"conditions": [{"type": "Established", "status": "True"}, {"type": "NamesAccepted", "status": "True"}]},
    })
}

fn gadget() -> (Json, ObjectId) {
    let object = json!({"apiVersion": "x.dev/v1", "kind": "Gadget", "metadata": {"name": "g", "namespace": "default"}});
    (object, ObjectId::new("x.dev", "Gadget", "default", "g"))
}

/// What is reported of the gadget if its kind is served after so many questions.
fn states(questions: usize) -> Vec<State> {
    let (object, id) = gadget();
    let mut fixture = Fixture::new(8);
    fixture.unserved.insert("Gadget".to_owned());
    fixture.assign("1", &[definition(), object]);
    fixture.calm();
    for _ in 1..questions {
        fixture.wake();
        fixture.calm();
    }
    fixture.unserved.clear();
    fixture.settle();
    assert_eq!(fixture.is_as_planned(), Ok(()));
    fixture.states(&id)
}

#[test]
fn a_kind_of_the_plan_is_waited_for_in_silence_for_seven_seconds() {
    for questions in [1, 2, 3] {
        let states = states(questions);
        assert_eq!(states[0], State::Waiting, "{states:?}");
        assert!(!states.contains(&State::Failed), "{states:?}");
    }
    let states = states(5);
    assert!(states.contains(&State::Failed), "{states:?}");
}
