//! The order of findings.

use crate::model::Finding;

/// Sorts findings by path, line and id, and removes duplicates.
pub(super) fn sort(findings: &mut Vec<Finding>) {
    findings.sort_by(|a, b| order(a).cmp(&order(b)));
    findings.dedup();
}

fn order(finding: &Finding) -> impl Ord {
    let Finding {
        id, span, object, ..
    } = finding;
    (span, *id, &finding.args, &finding.field, object)
}
