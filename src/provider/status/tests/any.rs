//! Objects of any shape.

use proptest::prelude::*;

use super::*;

fn any_text() -> impl Strategy<Value = Value> {
    prop_oneof![prop::sample::select(vec![
        "True",
        "False",
        "Unknown",
        "",
        "Available",
        "Progressing",
        "Degraded",
        "Ready",
        "Completed",
        "Partial",
        "UnavailableReplicas",
        "Blocked",
        CREATED,
        "9999-12-31T23:59:59Z",
        "-009999-01-01T00:00:00Z",
        "\u{1b}\u{202e}é",
    ]),]
    .prop_map(Value::from)
}

fn any_value() -> impl Strategy<Value = Value> {
    let keys = prop::sample::select(vec![
        "metadata",
        "status",
        "spec",
        "conditions",
        "version",
        "history",
        "type",
        "state",
        "reason",
        "message",
        "lastTransitionTime",
        "completionTime",
        "creationTimestamp",
        "deletionTimestamp",
        "generation",
        "replicas",
        "nodesInfo",
        "nodeVersions",
        "observedGeneration",
        "name",
    ]);
    let leaf = prop_oneof![
        any_text(),
        Just(Value::Null),
        any::<i64>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from)
    ];
    leaf.prop_recursive(6, 60, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::hash_map(keys.clone().prop_map(str::to_owned), inner, 0..8)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// A condition of which one field may be anything.
fn any_condition() -> impl Strategy<Value = Value> {
    let kinds = prop::sample::select(vec![
        "Available",
        "Progressing",
        "Degraded",
        "Ready",
        "ReconciliationActive",
        "ValidReleaseImage",
    ]);
    (kinds, any_text(), any_text(), any_value()).prop_map(|(kind, status, reason, since)| {
        json!({"type": kind, "status": status, "reason": reason, "message": reason, "lastTransitionTime": since})
    })
}

fn any_object() -> impl Strategy<Value = Value> {
    let conditions = prop::collection::vec(any_condition(), 0..6);
    let near = (conditions, any_value(), any_text(), any_value()).prop_map(
        |(conditions, history, created, deleted)| {
            json!({"metadata": {"creationTimestamp": created, "deletionTimestamp": deleted},
            "status": {"conditions": conditions, "version": {"history": history}}})
        },
    );
    prop_oneof![any_value(), near]
}

proptest! {
    #[test]
    fn an_object_of_any_shape_has_a_bounded_status(
        cluster in any_object(),
        pools in prop::collection::vec(any_object(), 0..3),
        seconds in -99_999_i64..99_999_999,
    ) {
        let pools: Vec<&Value> = pools.iter().collect();
        for mapping in [Mapping::Strict, Mapping::Tolerant] {
            let told = assess(Some(&cluster), &pools, mapping, at(seconds));
            prop_assert!(told.status.message.chars().count() <= 1_024);
            prop_assert!(!told.status.message.contains(char::is_control));
            prop_assert_ne!(told.status.state, State::Deleted);
            // Otherwise whoever waits for that time would not stop looking.
            prop_assert!(told.again.is_none_or(|again| again > at(seconds)));
        }
        let _ = nodes(&cluster, &pools, None);
    }
}
