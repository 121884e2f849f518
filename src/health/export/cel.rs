//! Rules as CEL, for Flux.
//!
//! In: the rules of a kind. Out: an expression for each answer. Every field is asked for before it is read, since CEL
//! has no empty values; that a field at the top is missing is an error, which Flux takes for: not yet
//! (facts/forges.md §7b).

use super::super::rule::{Keys, Of, Rules, Test};
use super::answer::Answer;

/// The expression of an answer that is never given.
pub(super) const FALSE: &str = "false";
const TRUE: &str = "true";
const CONDITIONS: Keys = &["status", "conditions"];
const OBSERVED: Keys = &["status", "observedGeneration"];
const GENERATION: Keys = &["metadata", "generation"];
const DELETED: Keys = &["metadata", "deletionTimestamp"];

/// Whether an object has this answer: of the first clause whose test holds.
pub(super) fn expression(rules: &Rules, answer: Answer) -> String {
    let mut rest = FALSE.to_owned();
    for clause in rules.clauses.iter().rev() {
        let is_this = Answer::from(clause.state) == answer;
        rest = either(&test(rules.group, &clause.when), is_this, &rest);
    }
    // What is being deleted has no other answer.
    either(&there(DELETED), Answer::Unfinished == answer, &rest)
}

/// `test ? is_this : rest`, in as few words.
fn either(test: &str, is_this: bool, rest: &str) -> String {
    match (test, is_this, rest) {
        (TRUE, _, _) => is_this.to_string(),
        (_, true, TRUE) | (_, false, FALSE) => rest.to_owned(),
        (_, true, FALSE) => test.to_owned(),
        (_, true, _) => format!("({test} || {rest})"),
        (_, false, TRUE) => negated(test),
        (_, false, _) => format!("({} && {rest})", negated(test)),
    }
}

/// The opposite of an expression that needs no brackets. Not every implementation of CEL reads `!!`.
fn negated(test: &str) -> String {
    match test.strip_prefix('!') {
        Some(opposite) => opposite.to_owned(),
        None => format!("!{test}"),
    }
}

/// A test as an expression that needs no brackets around it.
fn test(group: &str, it: &Test) -> String {
    match it {
        Test::All(tests) => joined(group, tests, " && ", TRUE),
        Test::Any(tests) => joined(group, tests, " || ", FALSE),
        Test::Not(inner) => negated(&test(group, inner)),
        Test::Version(version) => {
            format!("(apiVersion == {})", quoted(&format!("{group}/{version}")))
        }
        Test::Behind => format!("({} < {})", number(OBSERVED), number(GENERATION)),
        Test::Flag(keys) => format!("({} && {} == true)", there(keys), path(keys)),
        Test::Present(keys) => format!("({} && {} != '')", there(keys), path(keys)),
        Test::Text(keys, text) => {
            format!("({} && {} == {})", there(keys), path(keys), quoted(text))
        }
        Test::Filled(keys) => format!("({} && size({}) > 0)", there(keys), path(keys)),
        Test::Holds(keys, kind) => format!(
            "({} && {}.exists(r, has(r.kind) && r.kind == {}))",
            there(keys),
            path(keys),
            quoted(kind)
        ),
        Test::FirstText(list, field, text) => {
            format!("({} == {})", first(list, field), quoted(text))
        }
        Test::FirstSame(list, field, keys) => {
            let (is_there, other) = (there(keys), path(keys));
            format!(
                "({is_there} && {other} != '' && {} == {other})",
                first(list, field)
            )
        }
        Test::Number(keys) => there(keys),
        Test::Equal(one, other) => {
            let (a, b) = (path(one), path(other));
            format!("({} && {} && {a} == {b})", there(one), there(other))
        }
        Test::AtLeast(one, other) => format!("({} >= {})", number(one), number(other)),
        Test::Condition(kind, of) => condition(kind, of),
    }
}

fn joined(group: &str, tests: &[Test], by: &str, none: &str) -> String {
    let parts = tests.iter().map(|it| test(group, it));
    let parts: Vec<String> = parts.filter(|part| part != none).collect();
    match parts.as_slice() {
        [] => none.to_owned(),
        [one] => one.clone(),
        parts => format!("({})", parts.join(by)),
    }
}

fn condition(kind: &str, of: &[Of]) -> String {
    let mut parts = vec![format!("c.type == {}", quoted(kind))];
    parts.extend(of.iter().map(asked));
    let (list, holds) = (path(CONDITIONS), parts.join(" && "));
    format!("({} && {list}.exists(c, {holds}))", there(CONDITIONS))
}

fn asked(of: &Of) -> String {
    let is = |field: &str, text: &str| format!("has(c.{field}) && c.{field} == {}", quoted(text));
    let call = |field: &str, call: &str, text: &str| {
        format!("has(c.{field}) && c.{field}.{call}({})", quoted(text))
    };
    match of {
        Of::True => is("status", "True"),
        Of::False => is("status", "False"),
        Of::NotTrue => format!("!({})", is("status", "True")),
        Of::Current => {
            let (observed, generation) = (number(OBSERVED), number(GENERATION));
            format!(
                "(has(c.observedGeneration) ? c.observedGeneration : {observed}) >= {generation}"
            )
        }
        Of::Reason(reasons) => {
            let reasons: Vec<String> = reasons.iter().map(|reason| quoted(reason)).collect();
            format!("has(c.reason) && c.reason in [{}]", reasons.join(", "))
        }
        Of::ReasonStarts(start) => call("reason", "startsWith", start),
        Of::Severity(severity) => is("severity", severity),
        Of::MessageStarts(start) => call("message", "startsWith", start),
        Of::MessageContains(part) => call("message", "contains", part),
    }
}

/// The text in a field of the first item of a list; empty when absent.
fn first(list: Keys, field: &str) -> String {
    let (is_there, list) = (there(list), path(list));
    format!("({is_there} && size({list}) > 0 && has({list}[0].{field}) ? {list}[0].{field} : '')")
}

/// The number at a path; zero when absent.
fn number(keys: Keys) -> String {
    format!("({} ? {} : 0)", there(keys), path(keys))
}

/// Whether there is a value at a path, each step of it asked for.
fn there(keys: Keys) -> String {
    let step = |end: usize| match keys[end] {
        key if is_name(key) => format!("has({})", path(&keys[..=end])),
        key => format!("{} in {}", quoted(key), path(&keys[..end])),
    };
    let steps: Vec<String> = (1..keys.len()).map(step).collect();
    match steps.as_slice() {
        [one] => one.clone(),
        steps => format!("({})", steps.join(" && ")),
    }
}

fn path(keys: &[&str]) -> String {
    let (first, rest) = keys.split_first().unwrap_or((&"", &[]));
    rest.iter()
        .fold((*first).to_owned(), |path, key| match is_name(key) {
            true => format!("{path}.{key}"),
            false => format!("{path}[{}]", quoted(key)),
        })
}

fn is_name(key: &str) -> bool {
    key.chars().all(|c| c.is_ascii_alphanumeric())
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', r"\\").replace('\'', r"\'"))
}
