//! The table, row by row, which counts in strict mode and for a cluster without a history.

use super::super::State::*;
use super::*;

#[test]
fn every_row_of_the_table_has_its_state() {
    let cases = [
        // The rows of the proposal.
        ("Progressing=Unknown", Pending),
        ("Progressing=True, Available=False", Provisioning),
        ("Available=True, Progressing=False", Ready),
        ("Degraded=True", Failed),
        // The rows that its later text adds.
        ("Available=False, Progressing=False", Unavailable),
        ("", Pending),
        // Several rows match, and the first counts.
        ("Degraded=True, Available=True", Failed),
        ("Degraded=True, Available=True, Progressing=False", Failed),
        ("Degraded=True, Available=False, Progressing=False", Failed),
        // No row says so in words.
        ("Progressing=True", Provisioning),
        ("Progressing=True, Available=True", Provisioning),
        ("Progressing=True, Available=Unknown", Provisioning),
        ("Progressing=False", Pending),
        ("Available=False", Pending),
        ("Available=False, Progressing=Unknown", Pending),
        ("Available=True, Progressing=Unknown", Pending),
        ("Degraded=False, Available=True, Progressing=False", Ready),
        ("Degraded=Unknown, Available=True, Progressing=False", Ready),
    ];
    for (conditions, expected) in cases {
        for mapping in [Mapping::Strict, Mapping::Tolerant] {
            // A cluster of which nothing is reported is new to the tolerant mapping, and pending as well.
            assert_eq!(
                state(&live(conditions), mapping, 0),
                expected,
                "{conditions} {mapping:?}"
            );
            let gone = deleted(live(conditions));
            assert_eq!(
                state(&gone, mapping, 0),
                Deleting,
                "{conditions} {mapping:?}"
            );
        }
    }
}

#[test]
fn without_a_cluster_it_is_deleted() {
    let pool = live("Ready=True");
    for mapping in [Mapping::Strict, Mapping::Tolerant] {
        let told = assess(None, &[&pool], mapping, at(0));
        let status = Status {
            state: Deleted,
            message: String::new(),
        };
        assert_eq!(
            told,
            Assessment {
                status,
                again: None
            }
        );
    }
}

/// READY takes `Progressing=False`, or a history that says as much.
#[test]
fn an_available_cluster_without_progress_is_ready_only_if_a_release_was_complete() {
    let cluster = live("Available=True");
    assert_eq!(state(&cluster, Mapping::Strict, 0), Pending);
    assert_eq!(state(&cluster, Mapping::Tolerant, 0), Pending);
    let known = completed(cluster, 600);
    assert_eq!(state(&known, Mapping::Strict, 9_999), Pending);
    assert_eq!(state(&known, Mapping::Tolerant, 9_999), Ready);
}

#[test]
fn strict_reads_neither_history_nor_times() {
    let conditions =
        "Degraded=True/UnavailableReplicas: 1 replica, Available=False, Progressing=False";
    let (state, message) = told(&partial(live(conditions)), &[], Mapping::Strict, 1);
    assert_eq!((state, &*message), (Failed, "1 replica"));
    let waiting = partial(live(
        "Available=False, Progressing=False, ValidReleaseImage=False",
    ));
    assert_eq!(super::state(&waiting, Mapping::Strict, 1), Unavailable);
    let available = partial(live("Available=True, Progressing=False"));
    assert_eq!(super::state(&available, Mapping::Strict, 1), Ready);
    let pool = live("Ready=False");
    assert_eq!(
        told(&available, &[&pool], Mapping::Strict, 1).0,
        Unavailable
    );
}

#[test]
fn a_failure_and_an_outage_have_the_words_of_the_operator() {
    for mapping in [Mapping::Strict, Mapping::Tolerant] {
        let failed = live("Degraded=True/Etcd: etcd is broken, Available=True: up");
        assert_eq!(
            told(&failed, &[], mapping, 0),
            (Failed, "etcd is broken".into())
        );
        let away = live("Available=False/KASDown: no answer, Progressing=False: as it should");
        assert_eq!(
            told(&away, &[], mapping, 0),
            (Unavailable, "no answer".into())
        );
        let ready = live("Available=True: up, Progressing=False: calm, Degraded=False: well");
        assert_eq!(told(&ready, &[], mapping, 0), (Ready, String::new()));
        let busy = live("Available=False: not yet, Progressing=True: busy");
        assert_eq!(told(&busy, &[], mapping, 0), (Provisioning, String::new()));
    }
}

#[test]
fn a_message_is_one_line_of_bounded_length() {
    let long = format!("a\u{1b}[31m\nb\u{202e}c {}", "é".repeat(5_000));
    let cluster = live(&format!("Degraded=True/Etcd: {long}"));
    let (_, message) = told(&cluster, &[], Mapping::Strict, 0);
    assert!(message.starts_with("a [31m b c éé"), "{message}");
    assert!(message.chars().count() <= 1_024);
    let pool = live(&format!("Ready=False/Etcd: {long}"));
    let ready = live("Available=True, Progressing=False");
    let (_, message) = told(&ready, &[&pool], Mapping::Strict, 0);
    assert!(message.starts_with("NodePool: a [31m b c éé"), "{message}");
    assert!(message.chars().count() <= 1_024 && !message.contains(char::is_control));
}

#[test]
fn each_vocabulary_has_a_word_for_each_state() {
    let words = |of: Vocabulary| State::ALL.map(|state| of.word(state));
    assert_eq!(
        words(Vocabulary::Proposal),
        [
            "READY",
            "PENDING",
            "PROVISIONING",
            "UNAVAILABLE",
            "FAILED",
            "DELETING",
            "DELETED"
        ]
    );
    assert_eq!(
        words(Vocabulary::Sprm),
        [
            "RUNNING",
            "PENDING",
            "PROVISIONING",
            "PROVISIONING",
            "FAILED",
            "DELETING",
            "DELETED"
        ]
    );
    for state in State::ALL {
        let json = serde_json::to_value(state).unwrap();
        assert_eq!(json, json!(state.name()));
        assert_eq!(serde_json::from_value::<State>(json).unwrap(), state);
    }
    assert!(State::ALL.is_sorted());
}
