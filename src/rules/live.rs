//! The rules for one object at the API server, beside what the cluster has.
//!
//! In: an object and the ARO objects around it, as many of them as exist yet. Out: the findings about the object. What
//! is only missing is not reported (references, which are not rules, and the rules about owners are left out), so what is
//! found holds whatever is applied later; `tests/suite/rules/admitted.rs` proves that with the examples of the rule book.
//! It does not know: how the objects were read, what is done with the findings.

use super::book::ALLOWABLE;
use super::check;
use crate::api::fleet::FleetPolicy;
use crate::model::{Finding, Object, rule_id};

/// The rules about who names the object: a Cluster or a MachinePool, which may come later, and is not among the objects
/// around it.
const OWNERS: &[&str] = &[rule_id::UNNAMED_PART, rule_id::UNNAMED_POOL];

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
    let is_left_out = |id: &str| ALLOWABLE.contains(&id) || OWNERS.contains(&id);
    found.retain(|finding| is_own(finding) && !is_left_out(finding.id));
    found
}
