//! The validation of rules when a definition is written.
//!
//! In: the schema of a definition and its rules. Out: what is wrong with them. The messages are the API
//! server's, except for those of its CEL compiler. Source: `pkg/apis/apiextensions/validation` of
//! k8s.io/apiextensions-apiserver.

use serde_json::json;

use super::check::Checker;
use super::error::Error;
use super::field_path;
use super::kinds::Kind;
use super::overloads::Checked;
use super::place::Place;
use super::rule::{CompiledRule, Rule};
use super::tree::RuleTree;
use kube_schema::wording::{encoded, quoted};
use kube_schema::{Additional, ListKind, Schema};

/// The valid values of `reason`.
const REASONS: [&str; 4] = [
    "FieldValueDuplicate",
    "FieldValueForbidden",
    "FieldValueInvalid",
    "FieldValueRequired",
];

/// What is wrong with the rules of a schema.
#[derive(Debug, Default)]
pub(crate) struct RuleFaults {
    /// Each with the path below the schema, such as `properties[spec].x-kubernetes-validations[0].rule`.
    pub faults: Vec<(String, String)>,
    /// Rules that cannot be evaluated here, each with its path and the reason.
    pub unchecked: Vec<(String, String)>,
}

/// What is wrong with `rules`, the rules of `schema`. Like the API server, it compiles expressions only
/// when the schema `is_structural`.
#[must_use]
pub(crate) fn rule_faults(schema: &Schema, rules: &RuleTree, is_structural: bool) -> RuleFaults {
    let mut review = Review::default();
    let root = Site {
        place: Place::root(schema),
        rules,
        path: String::new(),
        uncorrelated: None,
    };
    review.site(&root, is_structural);
    review.faults.extend(review.expression_faults);
    RuleFaults {
        faults: review.faults,
        unchecked: review.unchecked,
    }
}

/// A schema whose rules are validated.
struct Site<'a> {
    place: Place<'a>,
    rules: &'a RuleTree,
    path: String,
    /// The innermost list around it whose items cannot be matched with old items.
    uncorrelated: Option<String>,
}

impl<'a> Site<'a> {
    fn below(&self, schema: &'a Schema, rules: &'a RuleTree, step: &str) -> Self {
        Site {
            place: Place::of(schema),
            rules,
            path: below(&self.path, step),
            uncorrelated: self.uncorrelated.clone(),
        }
    }

    fn of_rule(&self, index: usize, field: &str) -> String {
        below(
            &self.path,
            &format!("x-kubernetes-validations[{index}].{field}"),
        )
    }
}

fn below(path: &str, step: &str) -> String {
    match path.is_empty() {
        true => step.to_owned(),
        false => format!("{path}.{step}"),
    }
}

#[derive(Default)]
struct Review {
    faults: Vec<(String, String)>,
    /// Reported after all others.
    expression_faults: Vec<(String, String)>,
    unchecked: Vec<(String, String)>,
}

impl Review {
    /// Expressions are not compiled where the schema or one below it has other faults.
    fn site(&mut self, site: &Site<'_>, compile: bool) {
        let before = self.faults.len();
        let (schema, tree) = (site.place.schema, site.rules);
        if let (Additional::Schema(values), Some(tree)) = (&schema.additional, &tree.additional) {
            self.site(&site.below(values, tree, "additionalProperties"), compile);
        }
        for (name, tree) in &tree.properties {
            if let Some(property) = schema.properties.get(name) {
                let below = site.below(property, tree, &format!("properties[{name}]"));
                self.site(&below, compile);
            }
        }
        if let (Some(items), Some(tree)) = (&schema.items, &tree.items) {
            let mut below = site.below(items, tree, "items");
            if !matches!(schema.list, ListKind::Map(_)) {
                below.uncorrelated = Some(site.path.clone());
            }
            self.site(&below, compile);
        }
        for (index, compiled) in tree.rules.iter().enumerate() {
            for (field, message) in field_faults(&compiled.rule, schema) {
                self.faults.push((site.of_rule(index, field), message));
            }
        }
        if compile && self.faults.len() == before {
            for (index, compiled) in tree.rules.iter().enumerate() {
                self.compile(site, index, compiled);
            }
        }
    }

    fn compile(&mut self, site: &Site<'_>, index: usize, compiled: &CompiledRule) {
        let CompiledRule { rule, parsed } = compiled;
        let value = printed(rule);
        let refusal = |field: &str, why: &str| {
            let message = format!("Invalid value: {value}: {why}");
            (site.of_rule(index, field), message)
        };
        let parsed = match parsed {
            Ok(parsed) => parsed,
            Err(Error::Unsupported(why)) => {
                return self
                    .unchecked
                    .push((site.of_rule(index, "rule"), why.clone()));
            }
            Err(why) => {
                let why = format!("compilation failed: {why}");
                return self.expression_faults.push(refusal("rule", &why));
            }
        };
        let mut checker = Checker::new(site.place, rule.optional_old_self == Some(true));
        let fault = rule_fault(&checker.check(&parsed.rule));
        self.expression_faults
            .extend(fault.map(|why| refusal("rule", &why)));
        let message = parsed.message.as_ref();
        let fault = message.and_then(|message| message_fault(&checker.message(message)));
        self.expression_faults
            .extend(fault.map(|why| refusal("messageExpression", &why)));
        let unsupported = checker.unsupported.into_iter();
        self.unchecked
            .extend(unsupported.map(|why| (site.of_rule(index, "rule"), why)));
        self.expression_faults
            .extend(old_self_fault(site, index, rule, parsed.uses_old));
    }
}

fn rule_fault(checked: &Checked<'_>) -> Option<String> {
    match checked {
        Ok(Kind::Any | Kind::Bool) => None,
        Ok(_) => Some("cel expression must evaluate to a bool".into()),
        Err(why) => Some(format!("compilation failed: {why}")),
    }
}

fn message_fault(checked: &Checked<'_>) -> Option<String> {
    match checked {
        Ok(Kind::Any | Kind::Text) => None,
        Ok(_) => Some("messageExpression must evaluate to a string".into()),
        Err(why) => Some(format!("messageExpression compilation failed: {why}")),
    }
}

/// The rule as the API server prints it.
fn printed(rule: &Rule) -> String {
    let fields = [
        ("Rule", json!(rule.rule)),
        ("Message", json!(rule.message)),
        ("MessageExpression", json!(rule.message_expression)),
        ("Reason", json!(rule.reason)),
        ("FieldPath", json!(rule.field_path)),
        ("OptionalOldSelf", json!(rule.optional_old_self)),
    ];
    let fields = fields.map(|(name, value)| format!("\"{name}\":{}", encoded(&value)));
    format!("{{{}}}", fields.join(","))
}

/// What is wrong with how a rule uses `oldSelf`.
fn old_self_fault(
    site: &Site<'_>,
    index: usize,
    rule: &Rule,
    uses_old: bool,
) -> Option<(String, String)> {
    match (uses_old, &site.uncorrelated, rule.optional_old_self) {
        (true, Some(list), _) => {
            let why = "oldSelf cannot be used on the uncorrelatable portion of the schema within";
            let message = format!("Invalid value: {}: {why} {list}", quoted(&rule.rule));
            Some((site.of_rule(index, "rule"), message))
        }
        (false, _, Some(optional)) => {
            let why = "may not be set if oldSelf is not used in rule";
            let message = format!("Invalid value: {optional}: {why}");
            Some((site.of_rule(index, "optionalOldSelf"), message))
        }
        _ => None,
    }
}

/// What is wrong with the other fields of a rule.
fn field_faults(rule: &Rule, schema: &Schema) -> Vec<(&'static str, String)> {
    let mut faults: Vec<(&str, String)> = text_fault(rule).into_iter().collect();
    if !rule.message_expression.is_empty() && rule.message_expression.trim().is_empty() {
        let why = "Required value: messageExpression must be non-empty if specified";
        faults.push(("messageExpression", why.into()));
    }
    let unknown = |reason: &&str| !REASONS.contains(reason);
    if let Some(reason) = rule.reason.as_deref().filter(unknown) {
        let (reason, known) = (quoted(reason), REASONS.map(quoted).join(", "));
        let message = format!("Unsupported value: {reason}: supported values: {known}");
        faults.push(("reason", message));
    }
    let path = &rule.field_path;
    if !path.is_empty() && path.trim().is_empty() {
        faults.push(("fieldPath", invalid(path, "must be non-empty if specified")));
    }
    if path.contains('\n') {
        faults.push(("fieldPath", invalid(path, "must not contain line breaks")));
    }
    if field_path::steps(path, schema).is_err() {
        faults.push(("fieldPath", invalid(path, "must be a valid path")));
    }
    faults
}

/// The first fault of `rule` and `message` that does not need a compiler.
fn text_fault(rule: &Rule) -> Option<(&'static str, String)> {
    let (text, message) = (rule.rule.trim(), rule.message.trim());
    if text.is_empty() {
        return Some(("rule", "Required value: rule is not specified".into()));
    }
    if message.is_empty() && !rule.message.is_empty() {
        return Some((
            "message",
            invalid(&rule.message, "must be non-empty if specified"),
        ));
    }
    if message.contains('\n') {
        return Some((
            "message",
            invalid(&rule.message, "must not contain line breaks"),
        ));
    }
    let why = "Required value: message must be specified if rule contains line breaks";
    (text.contains('\n') && message.is_empty()).then(|| ("message", why.into()))
}

fn invalid(value: &str, why: &str) -> String {
    format!("Invalid value: {}: {why}", quoted(value))
}
