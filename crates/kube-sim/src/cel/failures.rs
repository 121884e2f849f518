//! The rules that an object breaks.
//!
//! In: a schema and its rules, an object with defaults and without structural faults, and the one it replaces. Out:
//! violations with the API server's messages, in its order. A rule applies to each value at its place in
//! the schema; a rule that uses `oldSelf` applies only where there is an old value. Source: `pkg/apiserver/schema/cel/validation.go` of k8s.io/apiextensions-apiserver.

use std::fmt;

use serde_json::Value as Json;

use super::error::Error;
use super::eval::Env;
use super::field_path;
use super::place::Place;
use super::rule::{CompiledRule, Parsed, Rule};
use super::tree::RuleTree;
use super::value::{Outcome, Val, read, truth};
use kube_schema::Schema;
use kube_schema::at::At;
use kube_schema::ratchet::{Pair, namesake};
use kube_schema::wording::quoted;
use kube_schema::{Path, Segment};
use kube_schema::{Violation, ViolationKind};

/// The longest message that an expression may make, in bytes.
const LONGEST_MESSAGE: usize = 5 * 1024;

/// A rule that was not evaluated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unchecked {
    /// The value that the rule applies to.
    pub path: Path,
    /// The field as the API server names it; `<nil>` for the root.
    pub field: String,
    /// The rule's message, or its expression when it has none.
    pub rule: String,
    /// Why it was not evaluated.
    pub why: String,
}

/// `spec.x: rule not evaluated: why: the rule`
impl fmt::Display for Unchecked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: rule not evaluated: {}: {}",
            self.field, self.why, self.rule
        )
    }
}

/// The result of evaluating all rules.
#[derive(Debug, Default)]
pub(crate) struct Failures {
    /// Broken rules.
    pub(crate) violations: Vec<Violation>,
    /// Rules that were already broken before the change.
    pub(crate) tolerated: Vec<Violation>,
    /// Rules that cannot be evaluated here.
    pub(crate) unchecked: Vec<Unchecked>,
}

/// A value, the value it replaces, and their place.
#[derive(Clone, Copy)]
struct Node<'a, 'b> {
    place: Place<'a>,
    /// The rules of the schema there.
    rules: &'a RuleTree,
    value: &'a Json,
    /// `oldSelf`.
    old: Option<&'a Json>,
    /// The new and the old value, if the API server matches them to find changes.
    pair: Option<Pair<'a>>,
    /// The same for the nearest value above that has such a pair.
    above: Option<Pair<'a>>,
    at: &'b At<'b>,
}

impl<'a> Node<'a, '_> {
    /// Whether the value is unchanged, so that a broken rule is tolerated.
    fn is_unchanged(&self) -> bool {
        self.pair.or(self.above).is_some_and(Pair::is_unchanged)
    }

    /// `pair` and `above` of a field or item. The API server never takes `apiVersion` and `kind` for
    /// unchanged.
    fn below(
        &self,
        name: Option<&str>,
        pair: Option<Pair<'a>>,
    ) -> (Option<Pair<'a>>, Option<Pair<'a>>) {
        match (self.pair, self.above, name) {
            (None, above, _) => (None, above),
            (Some(_), None, Some("apiVersion" | "kind")) => (None, None),
            (Some(_), ..) => (pair, self.pair),
        }
    }
}

impl Failures {
    /// The `rules` of `schema` that `new` breaks, or the change from `old` to it.
    pub(crate) fn of(schema: &Schema, rules: &RuleTree, new: &Json, old: Option<&Json>) -> Self {
        let mut failures = Self::default();
        failures.node(Node {
            place: Place::root(schema),
            rules,
            value: new,
            old,
            pair: old.map(|old| Pair::new(schema, new, old)),
            above: None,
            at: &At::ROOT,
        });
        failures
    }

    fn node(&mut self, node: Node<'_, '_>) {
        if node.value.is_null() {
            return;
        }
        self.rules(node);
        match node.value {
            Json::Object(fields) => self.fields(node, fields),
            Json::Array(items) => self.items(node, items),
            _ => {}
        }
    }

    fn fields(&mut self, node: Node<'_, '_>, fields: &serde_json::Map<String, Json>) {
        let schema = node.place.schema;
        for (name, value) in fields {
            let (rules, at) = match schema.properties.contains_key(name) {
                true => (node.rules.properties.get(name), node.at.key(name)),
                false => (node.rules.additional.as_deref(), node.at.free_key(name)),
            };
            let (Some(wanted), Some(rules)) = (exposed(schema.field(name)), rules) else {
                continue;
            };
            let pair = node.pair.and_then(|pair| pair.field(name));
            let (pair, above) = node.below(Some(name), pair);
            self.node(Node {
                place: wanted,
                rules,
                value,
                old: node.old.and_then(|old| old.get(name)),
                pair,
                above,
                at: &at,
            });
        }
    }

    fn items(&mut self, node: Node<'_, '_>, items: &[Json]) {
        let items_place = exposed(node.place.schema.items.as_deref());
        let (Some(wanted), Some(rules)) = (items_place, node.rules.items.as_deref()) else {
            return;
        };
        let old = node.old.and_then(Json::as_array);
        for (index, value) in items.iter().enumerate() {
            let pair = node.pair.and_then(|pair| pair.item(index));
            let (pair, above) = node.below(None, pair);
            self.node(Node {
                place: wanted,
                rules,
                value,
                old: old.and_then(|old| namesake(node.place.schema, old, value)),
                pair,
                above,
                at: &node.at.index(index),
            });
        }
    }

    fn rules(&mut self, node: Node<'_, '_>) {
        let old = node.old.filter(|old| !old.is_null());
        for CompiledRule { rule, parsed } in &node.rules.rules {
            if rule.rule.trim().is_empty() {
                continue;
            }
            let parsed = match parsed {
                Ok(parsed) => parsed,
                Err(fault) => {
                    let why = fault.to_string();
                    let why = why.lines().next().unwrap_or_default();
                    self.skip(node, rule, why.to_owned());
                    continue;
                }
            };
            let optional = rule.optional_old_self == Some(true);
            if parsed.uses_old && old.is_none() && !optional {
                continue;
            }
            let old = old.map(|old| read(old, node.place));
            let old = match optional {
                true => Some(old.transpose().map(|old| Val::Optional(old.map(Box::new)))),
                false => old,
            };
            let env = Env::new(read(node.value, node.place), old, &parsed.patterns);
            self.rule(node, rule, parsed, &env);
        }
    }

    fn rule(&mut self, node: Node<'_, '_>, rule: &Rule, parsed: &Parsed, env: &Env<'_>) {
        match truth(env.value(&parsed.rule)) {
            Ok(true) => {}
            Ok(false) => {
                let violation = broken(node, rule, message(rule, parsed, env));
                match !parsed.uses_old && node.is_unchanged() {
                    true => self.tolerated.push(violation),
                    false => self.violations.push(violation),
                }
            }
            Err(Error::Unsupported(why)) => self.skip(node, rule, why),
            Err(fault) => self.violations.push(failed(node, rule, &fault)),
        }
    }

    fn skip(&mut self, node: Node<'_, '_>, rule: &Rule, why: String) {
        let rule = rule.label().to_owned();
        if !self.unchecked.iter().any(|known| known.rule == rule) {
            self.unchecked.push(Unchecked {
                path: node.at.path(),
                field: node.at.field(),
                rule,
                why,
            });
        }
    }
}

/// The place of a schema; `None` where rules cannot use the values, so that no rule below applies.
fn exposed(schema: Option<&Schema>) -> Option<Place<'_>> {
    schema.map(Place::of).filter(|place| place.is_exposed())
}

/// The message of `messageExpression` if it is usable, or else that of the rule.
fn message(rule: &Rule, parsed: &Parsed, env: &Env<'_>) -> String {
    let made = match &parsed.message {
        Some(Ok(expr)) => text(env.value(expr)),
        _ => None,
    };
    let usable =
        |text: &String| !text.is_empty() && text.len() <= LONGEST_MESSAGE && !text.contains('\n');
    made.filter(usable)
        .unwrap_or_else(|| rule.failure_message())
}

fn text(value: Outcome<'_>) -> Option<String> {
    match value.ok()?.plain().ok()? {
        kube_cel::cel::Value::String(text) => Some(text.trim().to_owned()),
        _ => None,
    }
}

/// The type of the value in the schema, which messages show in place of the value.
fn type_name(node: Node<'_, '_>) -> String {
    quoted(node.place.kind().map_or("", |kind| kind.name()))
}

/// The violation of a rule that is `false`.
fn broken(node: Node<'_, '_>, rule: &Rule, reason: String) -> Violation {
    let message = match rule.reason.as_deref() {
        Some("FieldValueForbidden") => format!("Forbidden: {reason}"),
        Some("FieldValueRequired") => format!("Required value: {reason}"),
        Some("FieldValueDuplicate") => format!("Duplicate value: {}", type_name(node)),
        _ => format!("Invalid value: {}: {reason}", type_name(node)),
    };
    let mut violation = Violation::new(node.at, ViolationKind::Rule { reason }, message);
    let steps = field_path::steps(&rule.field_path, node.place.schema).unwrap_or_default();
    let mut below = String::new();
    for step in steps {
        match (step.free, below.is_empty()) {
            (true, _) => below += &format!("[{}]", step.key),
            (false, true) => below += &step.key,
            (false, false) => below += &format!(".{}", step.key),
        }
        violation.path.0.push(Segment::Key(step.key));
    }
    violation.field = match (below.is_empty(), node.at.is_root()) {
        (true, _) => violation.field,
        (false, true) => below,
        (false, false) => format!("{}.{below}", violation.field),
    };
    violation
}

/// The violation of a rule whose evaluation failed.
fn failed(node: Node<'_, '_>, rule: &Rule, fault: &Error) -> Violation {
    let reason = match fault {
        Error::NoOverload => format!(
            "'no such overload': call arguments did not match a supported operator, function or macro signature for rule: {}",
            rule.label()
        ),
        fault => format!("{fault} evaluating rule: {}", rule.label()),
    };
    let message = format!("Invalid value: {}: {reason}", type_name(node));
    Violation::new(node.at, ViolationKind::Rule { reason }, message)
}
