//! What calls and macros see of the evaluator.
//!
//! [`Scope`] holds the variables of macros. [`Evaluate`] evaluates arguments and looks up compiled
//! patterns. Calls and macros take it as a trait, so they do not import the evaluator.

use kube_cel::cel::IdedExpr;
use regex::Regex;

use super::value::Outcome;

/// The evaluator, as calls and macros see it.
pub(super) trait Evaluate<'a> {
    /// The value of `expr` within `scope`.
    fn eval(&self, expr: &IdedExpr, scope: Variables<'_, 'a>) -> Outcome<'a>;

    /// A pattern that the expression contains as a literal. The inner `None` is a pattern that does not
    /// compile here.
    fn pattern(&self, text: &str) -> Option<Option<&Regex>>;
}

/// A variable of a macro, and the variables around it.
pub(super) struct Scope<'s, 'a> {
    above: Option<&'s Self>,
    name: &'s str,
    value: Outcome<'a>,
}

impl<'s, 'a> Scope<'s, 'a> {
    pub(super) const fn new(above: Option<&'s Self>, name: &'s str, value: Outcome<'a>) -> Self {
        Self { above, name, value }
    }

    pub(super) fn into_value(self) -> Outcome<'a> {
        self.value
    }

    pub(super) fn find(&self, name: &str) -> Option<&Outcome<'a>> {
        match self.name == name {
            true => Some(&self.value),
            false => self.above?.find(name),
        }
    }
}

/// The variables that an expression can use beside `self` and `oldSelf`.
pub(super) type Variables<'s, 'a> = Option<&'s Scope<'s, 'a>>;
