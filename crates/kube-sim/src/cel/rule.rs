//! [`Rule`]: one entry of `x-kubernetes-validations`.
//!
//! In: its JSON. Out: the rule, with its expressions parsed when they are first needed. It does not
//! know the schema it stands in.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};

use kube_cel::cel::IdedExpr;
use kube_cel::cel::common::ast::{Expr, LiteralValue};
use regex::Regex;
use serde::Deserialize;
use serde_json::Value;

use super::fault::Fault;
use super::parse::parse;
use super::syntax;
use kube_schema::{Additional, Schema, regular_expression};

/// One entry of `x-kubernetes-validations`: what must hold for the value at its place.
#[derive(Clone, Debug, Deserialize)]
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
    #[serde(skip)]
    parsed: OnceLock<Result<Arc<Parsed>, Fault>>,
}

impl PartialEq for Rule {
    fn eq(&self, other: &Self) -> bool {
        let said = |rule: &Self| {
            let texts = [
                &rule.rule,
                &rule.message,
                &rule.message_expression,
                &rule.field_path,
            ];
            texts.map(Clone::clone)
        };
        said(self) == said(other)
            && self.reason == other.reason
            && self.optional_old_self == other.optional_old_self
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

/// Rules by their JSON, so that each is parsed once in a process.
static KNOWN: LazyLock<Mutex<HashMap<String, Arc<Rule>>>> = LazyLock::new(Mutex::default);

/// The rules of a schema. What is not a rule is left out: [`malformed`] names it.
pub(super) fn rules(schema: &Schema) -> Vec<Arc<Rule>> {
    schema.validations.iter().filter_map(known).collect()
}

fn known(json: &Value) -> Option<Arc<Rule>> {
    let mut rules = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let text = json.to_string();
    if let Some(rule) = rules.get(&text) {
        return Some(Arc::clone(rule));
    }
    let rule = Arc::new(Rule::from_json(json).ok()?);
    rules.insert(text, Arc::clone(&rule));
    Some(rule)
}

/// What is wrong with the form of the first entry, here or below, that is not a rule.
pub(crate) fn malformed(schema: &Schema) -> Option<String> {
    let additional = match &schema.additional {
        Additional::Schema(values) => Some(&**values),
        _ => None,
    };
    let mut parts = schema
        .properties
        .values()
        .chain(schema.items.as_deref())
        .chain(additional);
    let mut own = schema.validations.iter().map(Rule::from_json);
    own.find_map(Result::err)
        .or_else(|| parts.find_map(malformed))
}

impl Rule {
    fn from_json(json: &Value) -> Result<Self, String> {
        Self::deserialize(json).map_err(|error| format!("x-kubernetes-validations: {error}"))
    }

    /// The rule's expressions.
    ///
    /// # Errors
    /// Says where the rule is no CEL, or why it cannot be read here.
    pub(super) fn parsed(&self) -> Result<&Arc<Parsed>, &Fault> {
        let parsed = self.parsed.get_or_init(|| self.parse().map(Arc::new));
        parsed.as_ref()
    }

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
