//! A whole rollout, as the operator of a cluster with an InPlace pool reports it.

use super::super::State::*;
use super::*;

/// A moment: seconds, conditions of the cluster, when the release was complete, conditions of the pool.
type Moment<'a> = (i64, &'a str, Option<i64>, &'a str);

const DEGRADED: &str = "Degraded=True/UnavailableReplicas: 1 replica";

fn moments() -> Vec<Moment<'static>> {
    const WAITING: &str = "Available=False/WaitingForAvailable: wait, Progressing=False";
    const UP: &str = "Available=True, Progressing=False";
    // The pool is updated as soon as it has something to boot with, and not ready until all nodes are.
    const BOOTING: &str = "UpdatingVersion=False, UpdatingConfig=False, Ready=False: 0 of 2 nodes";
    const HALF: &str = "UpdatingVersion=False, UpdatingConfig=False, Ready=False: 1 of 2 nodes";
    const NODES: &str = "UpdatingVersion=False, UpdatingConfig=False, Ready=True";
    vec![
        (0, "", None, ""),
        (
            1,
            "Degraded=Unknown/StatusUnknown, Available=False, Progressing=False",
            None,
            "",
        ),
        (
            2,
            "Degraded=Unknown/StatusUnknown, Available=False, Progressing=True",
            None,
            "UpdatingVersion=True",
        ),
        (
            5,
            "+Available=False, Progressing=False",
            None,
            "UpdatingVersion=True, Ready=False: wait",
        ),
        (30, WAITING, None, BOOTING),
        (31, "+Available=False, Progressing=False", None, BOOTING),
        (600, "+Available=True, Progressing=False", None, BOOTING),
        (610, UP, None, BOOTING),
        (620, "+Available=False, Progressing=False", None, BOOTING),
        (700, UP, None, BOOTING),
        (1_000, UP, Some(1_000), HALF),
        (
            1_001,
            "+Available=True, Progressing=False",
            Some(1_000),
            HALF,
        ),
        (
            1_300,
            "+Available=True, Progressing=False",
            Some(1_000),
            NODES,
        ),
        (
            1_400,
            "Degraded=False, Available=True, Progressing=False",
            Some(1_000),
            NODES,
        ),
        (
            9_000,
            "Degraded=False, Available=True, Progressing=False",
            Some(1_000),
            NODES,
        ),
    ]
}

fn states(mapping: Mapping) -> Vec<State> {
    let states = moments()
        .into_iter()
        .map(|(seconds, conditions, complete, pool)| {
            let conditions = conditions.replacen('+', &format!("{DEGRADED}, "), 1);
            let cluster = match (complete, seconds) {
                (Some(complete), _) => completed(live(&conditions), complete),
                (None, 0) => live(&conditions),
                (None, _) => partial(live(&conditions)),
            };
            told(&cluster, &[&live(pool)], mapping, seconds).0
        });
    let mut states: Vec<State> = states.collect();
    states.dedup();
    states
}

#[test]
fn a_whole_rollout_is_pending_then_provisioning_then_ready() {
    assert_eq!(states(Mapping::Tolerant), [Pending, Provisioning, Ready]);
}

#[test]
fn a_whole_rollout_is_what_the_table_says_in_strict_mode() {
    let expected = [
        Pending,
        Unavailable,
        Provisioning,
        Failed,
        Unavailable,
        Failed,
        Unavailable,
        Failed,
        Unavailable,
        Failed,
        Ready,
    ];
    assert_eq!(states(Mapping::Strict), expected);
}
