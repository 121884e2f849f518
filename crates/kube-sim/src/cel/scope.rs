//! What an expression within another is evaluated in.
//!
//! [`Scope`] holds the variables of macros. [`Evaluate`] is what calls and macros need of the
//! evaluator, which they do not know: the values of their arguments, and patterns.

use kube_cel::cel::IdedExpr;
use regex::Regex;

use super::value::Outcome;

/// The evaluator, as calls and macros see it.
pub(super) trait Evaluate<'a> {
    /// The value of `expr` within `scope`.
    fn eval(&self, expr: &IdedExpr, scope: In<'_, 'a>) -> Outcome<'a>;

    /// A pattern that is written out in the expression; the inner `None` is one that does not compile.
    fn pattern(&self, text: &str) -> Option<Option<&Regex>>;
}

/// A variable of a macro, and those around it.
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

/// The variables around an expression.
pub(super) type In<'s, 'a> = Option<&'s Scope<'s, 'a>>;
