//! One rule: an entry of `x-kubernetes-validations`.
//!
//! In: its JSON. Out: the rule with its parsed expressions. It does not know the schema around it.

use std::collections::HashMap;

use kube_cel::cel::IdedExpr;
use kube_cel::cel::common::ast::{Expr, LiteralValue};
use regex::Regex;
use serde::Deserialize;
use serde_json::Value;

use super::error::Error;
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
    /// The message when it is not.
    #[serde(default)]
    pub message: String,
    /// An expression for the message.
    #[serde(default)]
    pub message_expression: String,
    /// The reason of the violation; `FieldValueInvalid` when absent.
    pub reason: Option<String>,
    /// The field that violations name, below the place of the rule: `.spec.size`.
    #[serde(default)]
    pub field_path: String,
    /// Whether `oldSelf` is an optional value, so that the rule also applies to new values.
    pub optional_old_self: Option<bool>,
}

/// A rule and its parsed expressions.
#[derive(Debug)]
pub(super) struct CompiledRule {
    pub(super) rule: Rule,
    /// The expressions, or why the rule is not CEL or cannot be parsed here.
    pub(super) parsed: Result<Parsed, Error>,
}

impl CompiledRule {
    /// Reads and parses a rule.
    ///
    /// # Errors
    /// When the JSON does not have the form of a rule. An expression that does not parse is not an error
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
    /// The expression for the message, or why it cannot be parsed.
    pub(super) message: Option<Result<IdedExpr, Error>>,
    /// Whether the rule uses `oldSelf`.
    pub(super) uses_old: bool,
    /// The patterns that the expressions contain as literals; `None` for those that do not compile here.
    pub(super) patterns: HashMap<String, Option<Regex>>,
}

impl Rule {
    fn parse(&self) -> Result<Parsed, Error> {
        let rule = parse(&self.rule)?;
        let message = Some(&self.message_expression).filter(|text| !text.is_empty());
        let message = message.map(|text| parse(text));
        let message_expr = message.as_ref().and_then(|message| message.as_ref().ok());
        let mut patterns = HashMap::new();
        for expr in [Some(&rule), message_expr].into_iter().flatten() {
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

    /// The text that messages show for the rule.
    pub(super) fn label(&self) -> &str {
        match self.message.is_empty() {
            true => self.rule.trim(),
            false => self.message.trim(),
        }
    }

    /// The message when the rule is broken and has no message expression.
    pub(super) fn failure_message(&self) -> String {
        match self.message.is_empty() {
            true => format!("failed rule: {}", self.label()),
            false => self.label().into(),
        }
    }
}

/// The pattern of a call of `matches`, if it is a literal.
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
