//! What is said of a value of the wrong type, and what is not.

use crate::model::Finding;

/// Drops findings about unknown fields of values that have the wrong type.
pub(crate) fn without_mistyped(mut found: Vec<Finding>) -> Vec<Finding> {
    let all = found.clone();
    found.retain(|finding| finding.id != "S01" || !is_mistyped(finding, &all));
    found
}

/// Whether a finding is about a part of a value that has the wrong type.
pub(super) fn is_mistyped(finding: &Finding, found: &[Finding]) -> bool {
    let mut types = found.iter().filter(|found| found.id == "S02");
    types.any(|wrong| match (&finding.field, &wrong.field) {
        (Some(field), Some(wrong)) => field.0.starts_with(&wrong.0),
        _ => false,
    })
}
