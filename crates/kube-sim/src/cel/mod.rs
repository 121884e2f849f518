//! Rules of a schema: `x-kubernetes-validations`, in CEL.
//!
//! - [`Rule`] is one rule; [`Failures`] says which rules an object, or a change of one, breaks.
//! - [`rule_faults`] says why a definition with rules is refused.
//!
//! In: schemas with rules, values with defaults. Out: violations in the API server's words; and the
//! rules that cannot be evaluated here, which are left to the API server. Syntax trees and most
//! functions come from the crate `kube-cel`; the evaluation is ours (see `eval`).
//!
//! Limits: costs are not counted as the API server counts them, so a rule that it refuses as too
//! expensive is taken; `sortBy` and macros with two variables are left to the API server; the words
//! for a failed evaluation are the API server's only where rules commonly meet one.

mod calls;
mod check;
mod conversions;
mod definition;
mod eval;
mod failures;
mod fault;
mod field_path;
mod functions;
mod kinds;
mod library;
mod literals;
mod macros;
mod names;
mod operators;
mod overloads;
mod parse;
mod place;
mod rule;
mod scope;
mod source;
mod syntax;
mod tree;
mod urls;
mod value;

pub(crate) use definition::rule_faults;
pub(super) use failures::Failures;
pub(crate) use failures::Unchecked;
pub(crate) use tree::RuleTree;

#[cfg(test)]
mod tests;
