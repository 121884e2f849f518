//! One rule: an entry of `x-kubernetes-validations`.
//!
//! In: its JSON. Out: the rule with its parsed expressions. It does not know the schema around it.

use std::collections::HashMap;

use kube_cel::cel::IdedExpr;
use kube_cel::cel::common::ast::{Expr, LiteralValue};
use regex::Regex;
use serde::Deserialize;
use serde_json::Value;

use super::fault::Fault;
use super::parse::parse;
use super::syntax;
use kube_schema::regular_expression;

/// One entry of `x-kubernetes-validations`: what must hold for the value at its place.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Rule {
    /// The expression that must be true, in CEL.
    #[serde(default)]
    pub rule: String,
    /// What to say when it is not.
    #[serde(default)]
    pub message: String,
    /// An expression for what to say.
    #[serde(default)]
    pub message_expression: String,
    /// What kind of fault it is; `FieldValueInvalid` when not said.
    pub reason: Option<String>,
    /// The field that is at fault, below the place of the rule: `.spec.size`.
    #[serde(default)]
    pub field_path: String,
    /// Whether `oldSelf` is an optional value, so that the rule also holds for what is new.
    pub optional_old_self: Option<bool>,
}

/// A rule and its parsed expressions.
#[derive(Debug)]
pub(super) struct CompiledRule {
    pub(super) rule: Rule,
    /// The expressions, or why the rule is not CEL or cannot be parsed here.
    pub(super) parsed: Result<Parsed, Fault>,
}

impl CompiledRule {
    /// Reads and parses a rule.
    ///
    /// # Errors
    /// When the JSON does not have the form of a rule. An expression that does not parse is no error
    /// here.
    pub(super) fn from_json(json: &Value) -> Result<Self, String> {
        let rule = Rule::deserialize(json);
        let rule = rule.map_err(|error| format!("x-kubernetes-validations: {error}"))?;
        let parsed = rule.parse();
        Ok(Self { rule, parsed })
    }
}

/// A rule's expressions.
#[derive(Debug)]
pub(super) struct Parsed {
    pub(super) rule: IdedExpr,
    /// The expression for the message, or why it is none.
    pub(super) message: Option<Result<IdedExpr, Fault>>,
    /// Whether the rule is about a change.
    pub(super) uses_old: bool,
    /// The patterns that it names, compiled as far as they can be.
    pub(super) patterns: HashMap<String, Option<Regex>>,
}

impl Rule {
    fn parse(&self) -> Result<Parsed, Fault> {
        let rule = parse(&self.rule)?;
        let message = Some(&self.message_expression).filter(|text| !text.is_empty());
        let message = message.map(|text| parse(text));
        let said = message.as_ref().and_then(|message| message.as_ref().ok());
        let mut patterns = HashMap::new();
        for expr in [Some(&rule), said].into_iter().flatten() {
            syntax::walk(expr, &mut |expr| {
                let known = pattern_of(expr);
                patterns.extend(known.map(|text| (text.to_owned(), regular_expression(text).ok())));
            });
        }
        Ok(Parsed {
            uses_old: rule.references().has_variable("oldSelf"),
            rule,
            message,
            patterns,
        })
    }

    /// The text that stands for the rule in messages.
    pub(super) fn shown(&self) -> &str {
        match self.message.is_empty() {
            true => self.rule.trim(),
            false => self.message.trim(),
        }
    }

    /// What to say when it does not hold.
    pub(super) fn complaint(&self) -> String {
        match self.message.is_empty() {
            true => format!("failed rule: {}", self.shown()),
            false => self.shown().into(),
        }
    }
}

/// The pattern of a call of `matches`, where it is written out.
fn pattern_of(expr: &IdedExpr) -> Option<&str> {
    let Expr::Call(call) = &expr.expr else {
        return None;
    };
    match &call.args.last()?.expr {
        Expr::Literal(LiteralValue::String(text)) if call.func_name == "matches" => {
            Some(text.inner())
        }
        _ => None,
    }
}
