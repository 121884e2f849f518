//! What is said of a value of the wrong type, and what is not.

use crate::model::Finding;

/// The findings without unknown fields of what is of the wrong type: what should be no map has none.
pub(crate) fn told_once(mut found: Vec<Finding>) -> Vec<Finding> {
    let told = found.clone();
    found.retain(|finding| finding.id != "S01" || !is_mistyped(finding, &told));
    found
}

/// Whether what a finding is about stands in something that is of the wrong type.
pub(super) fn is_mistyped(finding: &Finding, found: &[Finding]) -> bool {
    let mut types = found.iter().filter(|found| found.id == "S02");
    types.any(|wrong| match (&finding.field, &wrong.field) {
        (Some(field), Some(wrong)) => field.0.starts_with(&wrong.0),
        _ => false,
    })
}
