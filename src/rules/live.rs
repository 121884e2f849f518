//! The rules for one object at the API server, beside what the cluster has.
//!
//! In: an object and the objects around it, as many of them as exist yet. Out: the findings about the object. No rule
//! reports what is only missing (references do, and they are not rules), so what is found holds whatever is applied
//! later; `tests/suite/rules/admitted.rs` proves that with the examples of the rule book. It does not know: how the
//! objects were read, what is done with the findings.

use super::book::ALLOWABLE;
use super::check;
use crate::api::fleet::FleetPolicy;
use crate::model::{Finding, Object};

/// The findings of `object` beside `around`. Findings about those others are left out: each object has a path of its
/// own in its spans. So are those that a comment in a file may allow: the cluster has no comments.
#[must_use]
pub fn check_live(object: &Object, around: &[Object], policy: &FleetPolicy) -> Vec<Finding> {
    let mut objects = Vec::with_capacity(around.len() + 1);
    objects.push(object.clone());
    objects.extend_from_slice(around);
    let own = &object.origin.span().path;
    let is_own = |finding: &Finding| finding.span.as_ref().is_some_and(|span| span.path == *own);
    let mut found = check(&objects, policy);
    found.retain(|finding| is_own(finding) && !ALLOWABLE.contains(&finding.id));
    found
}
