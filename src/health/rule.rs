//! Readiness rules as data: so that one table decides here, in Argo CD's Lua and in Flux's CEL.
//!
//! In: a live object and the clauses of its kind. Out: the health that the first clause with a true test gives. It
//! knows no kind.

use super::answers::from_condition;
use super::live::{Condition, Live};
use crate::model::{Health, HealthState};

/// A path of keys in an object.
pub(super) type Keys = &'static [&'static str];

/// What is asked of an object. What is absent, or of another type, is empty.
#[derive(Clone, Debug)]
pub(super) enum Test {
    /// All of them hold.
    All(Vec<Self>),
    /// One of them holds.
    Any(Vec<Self>),
    /// It does not hold.
    Not(Box<Self>),
    /// `apiVersion` has this version.
    Version(&'static str),
    /// `status.observedGeneration` is behind the generation.
    Behind,
    /// The value is `true`.
    Flag(Keys),
    /// The text is not empty.
    Present(Keys),
    /// The text is this one.
    Text(Keys, &'static str),
    /// The list has an item.
    Filled(Keys),
    /// The list has an object of this kind.
    Holds(Keys, &'static str),
    /// The first item of the list has this text in this field.
    FirstText(Keys, &'static str, &'static str),
    /// The first item of the list has the text in this field that the object has at this path.
    FirstSame(Keys, &'static str, Keys),
    /// The value is a whole number.
    Number(Keys),
    /// Both numbers are there and equal.
    Equal(Keys, Keys),
    /// The first number, or zero, is the second or more.
    AtLeast(Keys, Keys),
    /// There is a condition of this type of which all of this is true.
    Condition(&'static str, Vec<Of>),
}

/// What is asked of a condition.
#[derive(Clone, Debug)]
pub(super) enum Of {
    /// Its status is `True`.
    True,
    /// Its status is `False`.
    False,
    /// Its status is not `True`.
    NotTrue,
    /// It is about the newest spec.
    Current,
    /// Its reason is one of these.
    Reason(Vec<&'static str>),
    /// Its reason begins so.
    ReasonStarts(&'static str),
    /// Its severity is this one.
    Severity(&'static str),
    /// Its message begins so.
    MessageStarts(&'static str),
    /// Its message contains this.
    MessageContains(&'static str),
}

/// What explains a health.
#[derive(Clone, Copy, Debug)]
pub(super) enum Why {
    /// Nothing.
    Nothing,
    /// This reason, and a message.
    Words(&'static str, &'static str),
    /// What is not reported about the newest spec.
    Unobserved(&'static str),
    /// The condition of this type.
    Condition(&'static str),
    /// `status.failureReason` and `status.failureMessage`.
    Failure,
    /// Ready nodes of those that are wanted.
    Nodes,
}

/// A health, and when it is the one.
#[derive(Clone, Debug)]
pub(super) struct Clause {
    pub(super) when: Test,
    pub(super) state: HealthState,
    pub(super) why: Why,
}

/// The rules of a kind, in order: the first clause whose test holds decides.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    pub(super) group: &'static str,
    pub(super) kind: &'static str,
    pub(super) clauses: Vec<Clause>,
}

/// The test of the last clause.
pub(super) const ALWAYS: Test = Test::All(Vec::new());

pub(super) fn not(test: Test) -> Test {
    Test::Not(Box::new(test))
}

/// A clause.
pub(super) const fn clause(when: Test, state: HealthState, why: Why) -> Clause {
    Clause { when, state, why }
}

/// The clauses, where `test` holds too.
pub(super) fn only_if(test: &Test, clauses: Vec<Clause>) -> Vec<Clause> {
    let narrowed = |clause: Clause| Clause {
        when: Test::All(vec![test.clone(), clause.when]),
        ..clause
    };
    clauses.into_iter().map(narrowed).collect()
}

/// The health of an object by the clauses of its kind. The last one always holds.
pub(super) fn decide(clauses: &[Clause], live: Live<'_>) -> Health {
    let decisive = clauses.iter().find(|clause| clause.when.holds(live));
    decisive.map_or_else(
        || Health::new(HealthState::Unknown, "", ""),
        |clause| clause.health(live),
    )
}

impl Test {
    fn holds(&self, live: Live<'_>) -> bool {
        match self {
            Self::All(tests) => tests.iter().all(|test| test.holds(live)),
            Self::Any(tests) => tests.iter().any(|test| test.holds(live)),
            Self::Not(test) => !test.holds(live),
            Self::Version(version) => live.version() == *version,
            Self::Behind => live.observed() < live.generation(),
            Self::Flag(keys) => live.flag(keys),
            Self::Present(keys) => !live.text(keys).is_empty(),
            Self::Text(keys, text) => live.text(keys) == *text,
            Self::Filled(keys) => !live.list(keys).is_empty(),
            Self::Holds(keys, kind) => live
                .list(keys)
                .iter()
                .any(|item| Live(item).kind() == *kind),
            Self::FirstText(list, field, text) => first(live, list, field) == *text,
            Self::FirstSame(list, field, keys) => {
                let text = live.text(keys);
                !text.is_empty() && first(live, list, field) == text
            }
            Self::Number(keys) => live.number(keys).is_some(),
            Self::Equal(one, other) => {
                live.number(one).is_some() && live.number(one) == live.number(other)
            }
            Self::AtLeast(one, other) => live.count(one) >= live.count(other),
            Self::Condition(kind, of) => live
                .condition(kind)
                .is_some_and(|condition| of.iter().all(|of| of.holds(live, condition))),
        }
    }
}

/// The text in a field of the first item of a list.
fn first<'a>(live: Live<'a>, list: Keys, field: &str) -> &'a str {
    let item = live.list(list).first();
    item.map_or("", |item| Live(item).text(&[field]))
}

impl Of {
    fn holds(&self, live: Live<'_>, condition: Condition<'_>) -> bool {
        match self {
            Self::True => condition.is_true(),
            Self::False => condition.is_false(),
            Self::NotTrue => !condition.is_true(),
            Self::Current => live.is_current(condition),
            Self::Reason(reasons) => reasons.contains(&condition.reason()),
            Self::ReasonStarts(start) => condition.reason().starts_with(start),
            Self::Severity(severity) => condition.severity() == *severity,
            Self::MessageStarts(start) => condition.message().starts_with(start),
            Self::MessageContains(part) => condition.message().contains(part),
        }
    }
}

impl Clause {
    fn health(&self, live: Live<'_>) -> Health {
        let words = |reason: &str, message: String| Health::new(self.state, reason, message);
        match self.why {
            Why::Nothing => words("", String::new()),
            Why::Words(reason, message) => words(reason, message.to_owned()),
            Why::Unobserved(what) => words(UNOBSERVED, unobserved(what, live.generation())),
            Why::Condition(kind) => match live.condition(kind) {
                Some(condition) => from_condition(self.state, condition),
                None => words("", String::new()),
            },
            Why::Failure => {
                let [reason, message] = FAILURE.map(|keys| live.text(keys));
                words(reason, message.to_owned())
            }
            Why::Nodes => words("NodesNotReady", {
                let want = wanted(live).unwrap_or_default();
                format!("Ready: {}/{want}", live.count(READY_NODES))
            }),
        }
    }
}

/// The reason of [`Why::Unobserved`].
pub(super) const UNOBSERVED: &str = "NotObserved";

fn unobserved(what: &str, generation: i64) -> String {
    format!("no {what} for generation {generation} yet")
}

/// Where [`Why::Failure`] stands.
pub(super) const FAILURE: [Keys; 2] = [&["status", "failureReason"], &["status", "failureMessage"]];
/// Nodes that are wanted, present and ready.
pub(super) const WANTED_NODES: Keys = &["spec", "replicas"];
pub(super) const NODES: Keys = &["status", "replicas"];
pub(super) const READY_NODES: Keys = &["status", "readyReplicas"];

/// How many nodes a pool should have: what its spec says, or under an autoscaler what it has.
fn wanted(live: Live<'_>) -> Option<i64> {
    use crate::api::labels::REPLICAS_MANAGED_BY;
    let is_managed = !live.annotation(REPLICAS_MANAGED_BY).is_empty();
    let asked = live.number(WANTED_NODES).filter(|_| !is_managed);
    asked.or_else(|| live.number(NODES))
}
