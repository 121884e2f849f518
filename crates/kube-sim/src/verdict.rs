//! What an API server has to say of a write of a custom object.
//!
//! In: a schema and its rules, an object with defaults and without unknown fields, and the one it replaces. Out:
//! what is wrong with it, what was wrong already and is tolerated, and which rules nobody looked at.
//! Source: `strategy.go` and `status_strategy.go` of k8s.io/apiextensions-apiserver
//! (`pkg/registry/customresource`). It does not know metadata, nor how a refusal is worded.

use serde_json::Value;

use super::cel::{Failures, RuleTree, Unchecked};
use kube_schema::Schema;
use kube_schema::Segment;
use kube_schema::at::At;
use kube_schema::by_schema;
use kube_schema::ratchet::Pair;
use kube_schema::{Violation, ViolationKind};
use kube_schema::{embedded, lists};

/// What an API server has to say of a write.
#[derive(Debug, Default)]
pub(crate) struct Verdict {
    /// What is wrong; the write is refused for any of it.
    pub violations: Vec<Violation>,
    /// Rules that what did not change breaks; the API server warns of them.
    pub tolerated: Vec<Violation>,
    /// Rules that cannot be evaluated here.
    pub unchecked: Vec<Unchecked>,
}

/// Judges a write of `new` in place of `old` to `subresource`, or to the object itself if that is
/// empty.
#[must_use]
pub(crate) fn judge(
    schema: &Schema,
    rules: &RuleTree,
    new: &Value,
    old: Option<&Value>,
    subresource: &str,
) -> Verdict {
    let violations = match subresource {
        "status" => of_status(schema, new, old),
        _ => {
            let pair = old.map(|old| Pair::new(schema, new, old));
            let mut violations = by_schema(schema, new, pair);
            violations.extend(embedded::violations(schema, new));
            violations
        }
    };
    whole(schema, rules, new, old, violations)
}

/// As [`judge`], of an object that claims another kind, which is refused anyway: its values are
/// not compared with the schema, but all that is looked at beside that is.
#[must_use]
pub(crate) fn judge_stranger(
    schema: &Schema,
    rules: &RuleTree,
    new: &Value,
    old: Option<&Value>,
) -> Verdict {
    whole(schema, rules, new, old, embedded::violations(schema, new))
}

/// Adds what concerns more than single values.
fn whole(
    schema: &Schema,
    rules: &RuleTree,
    new: &Value,
    old: Option<&Value>,
    mut violations: Vec<Violation>,
) -> Verdict {
    // Lists that had such items before may keep them.
    if old.is_none_or(|old| lists::violations(schema, old).is_empty()) {
        violations.extend(lists::violations(schema, new));
    }
    if violations.iter().any(hides_rules) {
        if !rules.is_empty() {
            violations.push(rules_skipped());
        }
        return Verdict {
            violations,
            ..Verdict::default()
        };
    }
    let failures = Failures::of(schema, rules, new, old);
    violations.extend(failures.violations);
    Verdict {
        violations,
        tolerated: failures.tolerated,
        unchecked: failures.unchecked,
    }
}

/// A write of the status is checked as if that were all there is.
fn of_status(schema: &Schema, new: &Value, old: Option<&Value>) -> Vec<Violation> {
    let (Some(wanted), Some(status)) = (schema.field("status"), new.get("status")) else {
        return Vec::new();
    };
    let pair = old.and_then(|old| Pair::new(schema, new, old).field("status"));
    let below = |mut violation: Violation| {
        violation.path.0.insert(0, Segment::Key("status".into()));
        violation.field = match violation.field == At::ROOT.field() {
            true => "status".into(),
            false => format!("status.{}", violation.field),
        };
        violation
    };
    let found = by_schema(wanted, status, pair).into_iter();
    found.map(below).collect()
}

fn rules_skipped() -> Violation {
    let why = "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";
    let message = format!("Invalid value: null: {why}");
    Violation::new(&At::ROOT, ViolationKind::Other, message)
}

/// Whether rules would only add noise: a value is of a wrong type, is missing, or is one that
/// rules cannot count on.
fn hides_rules(violation: &Violation) -> bool {
    const OPENINGS: [&str; 4] = [
        "Required value",
        "Too long",
        "Too many",
        "Unsupported value",
    ];
    matches!(
        violation.kind,
        ViolationKind::WrongType { .. } | ViolationKind::WrongFormat
    ) || OPENINGS
        .iter()
        .any(|words| violation.message.starts_with(words))
}
