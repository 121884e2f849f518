//! The names of the checks of a fleet.

/// The name of the check of what is applied.
pub(crate) fn sync_context(fleet: &str) -> String {
    format!("capstan/{fleet}/sync")
}

/// The name of the check of what a candidate would change.
pub(crate) fn plan_context(fleet: &str) -> String {
    format!("capstan/{fleet}/plan")
}

/// Returns true if a check of this name is about a candidate.
pub(crate) fn is_plan(context: &str) -> bool {
    context.ends_with("/plan")
}
