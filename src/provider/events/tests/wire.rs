//! Events as they go over the wire.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::*;
use crate::provider::status::Vocabulary;

fn origin() -> Origin {
    Origin {
        provider: ProviderName::new("acm-cluster-sp").unwrap(),
        epoch: 7,
        vocabulary: Vocabulary::Proposal,
    }
}

fn message() -> Message {
    Message {
        number: 3,
        instance: "abc-123".into(),
        state: Ready,
        message: "Cluster is \"ready\".".into(),
        time: wall(ms(1_500)),
    }
}

fn body(event: &CloudEvent) -> Value {
    serde_json::from_slice(&event.body).unwrap()
}

#[test]
fn the_consumer_and_the_proposal_have_their_own_subject_type_and_source() {
    let events = Subject::ALL.map(|subject| cloud_event(&origin(), subject, &message()));
    let expected = [
        (
            "dcm.cluster",
            "dcm.status.cluster",
            "dcm/providers/acm-cluster-sp",
        ),
        (
            "dcm.providers.acm-cluster-sp.cluster.instances.abc-123.status",
            "dcm.providers.acm-cluster-sp.status.update",
            "acm-cluster-sp",
        ),
    ];
    for (event, (subject, kind, source)) in events.iter().zip(expected) {
        assert_eq!(event.subject, subject);
        let expected = json!({
            "specversion": "1.0",
            "id": event.id,
            "source": source,
            "type": kind,
            "subject": subject,
            "time": "2026-11-29T09:00:01.5Z",
            "datacontenttype": "application/json",
            "data": {"id": "abc-123", "status": "READY", "message": "Cluster is \"ready\"."},
        });
        assert_eq!(body(event), expected);
    }
}

#[test]
fn the_vocabulary_is_that_of_the_consumer() {
    let mut origin = origin();
    origin.vocabulary = Vocabulary::Sprm;
    let running = cloud_event(&origin, Subject::Consumer, &message());
    assert_eq!(body(&running)["data"]["status"], "RUNNING");
}

#[test]
fn an_id_is_a_uuid_of_provider_instance_epoch_number_state_and_subject() {
    let id = |origin: &Origin, message: &Message| {
        Subject::ALL.map(|subject| cloud_event(origin, subject, message).id)
    };
    let mut ids: BTreeSet<String> = id(&origin(), &message()).into();
    assert_eq!(ids.len(), 2);
    for id in &ids {
        let lengths: Vec<usize> = id.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12], "{id}");
        assert!(
            id.bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f' | b'-')),
            "{id}"
        );
        assert!(
            id.as_bytes()[14] == b'8' && b"89ab".contains(&id.as_bytes()[19]),
            "{id}"
        );
    }
    // The same message has the same id, with other words as well.
    let later = Message {
        message: "other".into(),
        time: wall(ms(9)),
        ..message()
    };
    assert_eq!(BTreeSet::from(id(&origin(), &later)), ids);
    let others = [
        (
            Origin {
                provider: ProviderName::new("b").unwrap(),
                ..origin()
            },
            message(),
        ),
        (
            Origin {
                epoch: 8,
                ..origin()
            },
            message(),
        ),
        (
            origin(),
            Message {
                number: 4,
                ..message()
            },
        ),
        (
            origin(),
            Message {
                instance: "abc-124".into(),
                ..message()
            },
        ),
        (
            origin(),
            Message {
                state: Failed,
                ..message()
            },
        ),
    ];
    for (count, (origin, message)) in others.iter().enumerate() {
        ids.extend(id(origin, message));
        assert_eq!(ids.len(), 4 + 2 * count, "{origin:?} {message:?}");
    }
}

#[test]
fn a_name_that_is_no_token_is_refused_with_the_rule() {
    for name in ["a", "acm-cluster-sp", "A_9", &*"a".repeat(128)] {
        assert_eq!(ProviderName::new(name).unwrap().as_str(), name);
    }
    for name in ["", "a.b", "a b", "*", "a>", "é", "a\n", &*"a".repeat(9_999)] {
        let error = ProviderName::new(name).unwrap_err().to_string();
        assert!(
            error.contains("NATS token") && error.contains("[A-Za-z0-9_-]+"),
            "{error}"
        );
        assert!(error.len() < 500 && !error.contains('\n'), "{error}");
    }
}
