//! Why the fleet cannot have a definition.
//!
//! In: a fleet with the new definition, and the errors that it had before. Out: the problem for the client, if there are new errors.

use std::collections::BTreeSet;

use crate::model::{Finding, Severity};
use crate::provider::problem::{Problem, ProblemKind};

/// The most errors that are told.
const MOST: usize = 5;

/// The problem of a definition, if the errors `after` it are not all `before` it: 403 for what a tenant may not use, 400 for a value of a wrong
/// form, 422 for all else.
pub(super) fn rejection(after: &[Finding], before: &[Finding]) -> Option<Problem> {
    let before: BTreeSet<String> = before.iter().map(ToString::to_string).collect();
    let is_new =
        |one: &&Finding| one.severity == Severity::Error && !before.contains(&one.to_string());
    let errors: Vec<&Finding> = after.iter().filter(is_new).collect();
    let first = errors.first()?;
    let kind = match first.id.chars().next() {
        Some('T') => ProblemKind::PermissionDenied,
        Some('S') => ProblemKind::InvalidArgument,
        _ => ProblemKind::UnprocessableEntity,
    };
    let told: Vec<String> = errors.iter().take(MOST).map(|one| told(one)).collect();
    Some(Problem::new(kind, told.join("; ")))
}

/// A finding without the place in a file that the client does not know.
fn told(finding: &Finding) -> String {
    let field = finding.field.as_ref();
    let field = field.map_or_else(String::new, |field| format!(" ({field})"));
    let help = finding.help.as_ref();
    let help = help.map_or_else(String::new, |help| format!(": {help}"));
    format!("{} {}{field}{help}", finding.id, finding.message)
}
