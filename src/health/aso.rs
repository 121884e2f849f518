//! Azure resources held by Azure Service Operator: the severity of its one condition decides
//! (facts/aro-rules.md §1.5).
//!
//! In: nothing. Out: the clauses for any ASO kind, and what a failure means.

use super::rule::{ALWAYS, Clause, Of, Test, Why, clause, not};
use crate::api::aso;
use crate::model::HealthState::{Failed, Progressing, Ready, Waiting};

/// Ready when the condition of the newest spec is true.
pub(super) fn clauses() -> Vec<Clause> {
    let is = |of| Test::Condition(aso::READY, vec![of]);
    let unseen = Why::Unobserved("status from Azure Service Operator");
    let mut clauses = vec![
        clause(not(is(Of::Current)), Progressing, unseen),
        clause(is(Of::True), Ready, Why::Condition(aso::READY)),
    ];
    clauses.extend(failure(aso::READY, Of::Severity));
    clauses
}

/// What a condition that is not true means. Waiting does not help against two failures although ASO keeps
/// retrying them: several rejected fields at once, and a cluster that failed to provision.
pub(super) fn failure(kind: &'static str, severity: impl Fn(&'static str) -> Of) -> Vec<Clause> {
    let is = |of| Test::Condition(kind, vec![of]);
    let in_vain = [
        Of::Reason(vec![aso::MULTIPLE_ERRORS_OCCURRED]),
        Of::MessageContains(aso::IN_STATE_ERROR),
        severity(aso::ERROR),
    ];
    let why = Why::Condition(kind);
    let in_vain = Test::Any(in_vain.into_iter().map(is).collect());
    vec![
        clause(in_vain, Failed { terminal: true }, why),
        clause(is(Of::Reason(aso::WAITING.to_vec())), Waiting, why),
        clause(is(severity(aso::WARNING)), Failed { terminal: false }, why),
        clause(ALWAYS, Progressing, why),
    ]
}
