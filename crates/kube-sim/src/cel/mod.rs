//! Rules of a schema: `x-kubernetes-validations`, in CEL.
//!
//! - [`RuleTree`] holds the compiled rules of a schema.
//! - [`Failures`] reports the rules that an object, or a change of one, breaks.
//! - [`rule_faults`] reports why a definition with rules is refused.
//!
//! In: schemas with rules, values with defaults. Out: violations with the API server's messages, and the
//! rules that cannot be evaluated here, which are reported as not evaluated.
//!
//! The crate `kube-cel` parses expressions and provides most functions. This module evaluates them
//! itself, because the evaluation of `kube-cel` (feature `validation`) gives other answers than a real
//! API server. These recordings of the conformance suite decided it:
//!
//! - `rules/a_set_has_no_order_and_a_list_has`: lists of type `set` are equal in any order.
//! - `rules/a_rule_may_take_no_change_for_one`: with `optionalOldSelf`, an absent old value is an empty
//!   optional value, not null.
//! - `rules/a_rule_may_come_to_nothing` and `rules/a_rule_sees_what_is_not_there`: an error in one item
//!   is ignored when another item decides the result, and `.?` selects optional fields.
//!
//! Besides, `kube-cel` counts the sizes of strings in bytes, not characters, and has no step limit.
//!
//! Limits of this module: it does not compute costs as the API server does, so it accepts rules that the
//! API server refuses as too expensive. `sortBy` and times in other time zones are not supported. The
//! message of a failed evaluation is the API server's only for errors that are common in rules.

mod calls;
mod check;
mod conversions;
mod definition;
mod error;
mod eval;
mod failures;
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
