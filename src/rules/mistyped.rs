//! What is reported of a value of the wrong type, and what is not.

use crate::model::{Finding, rule_id};

/// Whether a finding is about a part of a value that has the wrong type.
pub(super) fn is_mistyped(finding: &Finding, found: &[Finding]) -> bool {
    let mut types = found.iter().filter(|found| found.id == rule_id::WRONG_TYPE);
    types.any(|wrong| match (&finding.field, &wrong.field) {
        (Some(field), Some(wrong)) => field.0.starts_with(&wrong.0),
        _ => false,
    })
}
