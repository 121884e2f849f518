//! The evaluation of an expression.
//!
//! In: a syntax tree and the values of `self` and `oldSelf`. Out: a value or an error. It knows schemas
//! only through [`Val`], and not what the result is used for.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;

use kube_cel::cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, ListExpr, MapExpr, SelectExpr, operators as op,
};
use kube_cel::cel::objects::{Key, Map};
use kube_cel::cel::{IdedExpr, Value};
use regex::Regex;

use super::calls;
use super::conversions;
use super::error::Error;
use super::operators;
use super::scope::{Evaluate, Scope, Variables};
use super::value::{Outcome, Val, truth};

/// How many steps an expression may take. The API server has a cost limit of its own instead; a rule
/// that needs more steps is reported as not evaluated.
const STEPS: u64 = 1_000_000;

/// The values and patterns that an expression is evaluated with.
pub(super) struct Env<'a> {
    this: Outcome<'a>,
    old: Option<Outcome<'a>>,
    /// The patterns that the expression contains as literals, compiled.
    patterns: &'a HashMap<String, Option<Regex>>,
    steps: Cell<u64>,
}

impl<'a> Evaluate<'a> for Env<'a> {
    fn eval(&self, expr: &IdedExpr, scope: Variables<'_, 'a>) -> Outcome<'a> {
        self.count(1)?;
        match &expr.expr {
            Expr::Literal(literal) => match Value::try_from(literal.to_val().as_ref()) {
                Ok(value) => Ok(Val::Plain(value)),
                Err(error) => Err(error.into()),
            },
            Expr::Ident(name) => self.variable(name, scope),
            Expr::Select(select) => self.select(select, scope),
            Expr::Call(call) => self.call(call, scope),
            Expr::List(list) => self.list(list, scope),
            Expr::Map(map) => self.map(map, scope),
            Expr::Comprehension(fold) => self.fold(fold, scope),
            Expr::Struct(made) => Err(Error::Unsupported(format!(
                "`{}` is no type",
                made.type_name
            ))),
            Expr::Unspecified => Err(Error::Unsupported("an empty expression".into())),
        }
    }

    fn pattern(&self, text: &str) -> Option<Option<&Regex>> {
        self.patterns.get(text).map(Option::as_ref)
    }
}

impl<'a> Env<'a> {
    pub(super) const fn new(
        this: Outcome<'a>,
        old: Option<Outcome<'a>>,
        patterns: &'a HashMap<String, Option<Regex>>,
    ) -> Self {
        let steps = Cell::new(0);
        Self {
            this,
            old,
            patterns,
            steps,
        }
    }

    /// The value of `expr`, outside of any macro.
    pub(super) fn value(&self, expr: &IdedExpr) -> Outcome<'a> {
        self.steps.set(0);
        self.eval(expr, None)
    }

    fn count(&self, steps: u64) -> Result<(), Error> {
        let taken = self.steps.get() + steps;
        self.steps.set(taken);
        match taken > STEPS {
            true => Err(Error::Unsupported("it takes too many steps".into())),
            false => Ok(()),
        }
    }

    fn variable(&self, name: &str, scope: Variables<'_, 'a>) -> Outcome<'a> {
        if let Some(value) = scope.and_then(|scope| scope.find(name)) {
            return value.clone();
        }
        match (name, &self.old) {
            ("self", _) => self.this.clone(),
            ("oldSelf", Some(old)) => old.clone(),
            _ => conversions::type_named(name)
                .ok_or_else(|| Error::Unsupported(format!("undeclared reference to '{name}'"))),
        }
    }

    fn select(&self, select: &SelectExpr, scope: Variables<'_, 'a>) -> Outcome<'a> {
        let operand = self.eval(&select.operand, scope)?;
        let field = &select.field;
        match (select.test, operand) {
            (true, Val::Optional(operand)) => {
                let found = operand.map(|value| value.find(field)).transpose()?;
                Ok(found.flatten().is_some().into())
            }
            (true, operand) => Ok(operand.find(field)?.is_some().into()),
            (false, Val::Optional(operand)) => optional(operand, |value| value.find(field)),
            (false, operand) => operand
                .find(field)?
                .ok_or_else(|| Error::no_such_key(field)),
        }
    }

    fn call(&self, call: &CallExpr, scope: Variables<'_, 'a>) -> Outcome<'a> {
        let bool = |expr: &IdedExpr| truth(self.eval(expr, scope));
        match (call.func_name.as_str(), call.args.as_slice()) {
            (op::CONDITIONAL, [condition, yes, no]) => match bool(condition)? {
                true => self.eval(yes, scope),
                false => self.eval(no, scope),
            },
            (op::LOGICAL_AND, [a, b]) => decided(|| bool(a), || bool(b), false),
            (op::LOGICAL_OR, [a, b]) => decided(|| bool(a), || bool(b), true),
            (op::LOGICAL_NOT, [a]) => Ok((!bool(a)?).into()),
            (op::NOT_STRICTLY_FALSE, [a]) => Ok(bool(a).unwrap_or(true).into()),
            (op::NEGATE, [a]) => negated(&self.eval(a, scope)?),
            (op::INDEX, [a, b]) => self.index(a, b, scope),
            (op::OPT_INDEX | op::OPT_SELECT, [a, b]) => {
                let key = self.eval(b, scope)?;
                let operand = match self.eval(a, scope)? {
                    Val::Optional(operand) => operand,
                    value => Some(Box::new(value)),
                };
                optional(operand, |value| at(value, &key))
            }
            (operator, [a, b]) if operators::is_binary(operator) => {
                let (a, b) = (self.eval(a, scope)?, self.eval(b, scope)?);
                self.count(a.size().unwrap_or_default() as u64)?;
                operators::binary(operator, &a, &b)
            }
            _ => calls::call(self, call, scope),
        }
    }

    fn index(&self, a: &IdedExpr, b: &IdedExpr, scope: Variables<'_, 'a>) -> Outcome<'a> {
        let (operand, key) = (self.eval(a, scope)?, self.eval(b, scope)?);
        if let Val::Optional(operand) = operand {
            return optional(operand, |value| at(value, &key));
        }
        let missing = |key: Value| match key {
            Value::String(key) => Error::no_such_key(&key),
            Value::Int(index) => Error::Failed(format!("index out of bounds: {index}")),
            _ => Error::NoOverload,
        };
        match at(&operand, &key)? {
            Some(value) => Ok(value),
            None => Err(missing(key.plain()?)),
        }
    }

    fn list(&self, list: &ListExpr, scope: Variables<'_, 'a>) -> Outcome<'a> {
        let mut items = Vec::with_capacity(list.elements.len());
        for (index, element) in list.elements.iter().enumerate() {
            let may_lack = list.optional_indices.contains(&index);
            match self.eval(element, scope)? {
                Val::Optional(value) if may_lack => {
                    items.extend(value.map(|value| value.plain()).transpose()?);
                }
                value => items.push(value.plain()?),
            }
        }
        Ok(Val::Plain(Value::List(Arc::new(items))))
    }

    fn map(&self, map: &MapExpr, scope: Variables<'_, 'a>) -> Outcome<'a> {
        let mut made = HashMap::with_capacity(map.entries.len());
        for entry in &map.entries {
            let EntryExpr::MapEntry(entry) = &entry.expr else {
                return Err(Error::NoOverload);
            };
            let key = self.eval(&entry.key, scope)?.plain()?;
            let key: Key = key.try_into().map_err(|_| Error::NoOverload)?;
            match self.eval(&entry.value, scope)? {
                Val::Optional(None) if entry.optional => {}
                Val::Optional(Some(value)) if entry.optional => {
                    made.insert(key, value.plain()?);
                }
                value => {
                    made.insert(key, value.plain()?);
                }
            }
        }
        Ok(Val::Plain(Value::Map(Map {
            map: Arc::new(made),
        })))
    }

    /// A macro such as `all` or `map`. The accumulated value may be an error that a later item
    /// overrides.
    fn fold(&self, fold: &ComprehensionExpr, scope: Variables<'_, 'a>) -> Outcome<'a> {
        let range = self.eval(&fold.iter_range, scope)?;
        let mut found = self.eval(&fold.accu_init, scope);
        for item in range.items()? {
            let around = Scope::new(scope, &fold.accu_var, found);
            if !truth(self.eval(&fold.loop_cond, Some(&around)))? {
                found = around.into_value();
                break;
            }
            let inner = Scope::new(Some(&around), &fold.iter_var, item);
            found = self.eval(&fold.loop_step, Some(&inner));
        }
        let around = Scope::new(scope, &fold.accu_var, found);
        self.eval(&fold.result, Some(&around))
    }
}

/// `&&` and `||`: a side that decides the result does so even when the other side is an error.
fn decided<'a>(
    a: impl Fn() -> Result<bool, Error>,
    b: impl Fn() -> Result<bool, Error>,
    decides: bool,
) -> Outcome<'a> {
    let a = a();
    if a == Ok(decides) {
        return Ok(decides.into());
    }
    let b = b();
    if b == Ok(decides) {
        return Ok(decides.into());
    }
    a?;
    b?;
    Ok((!decides).into())
}

fn negated<'a>(value: &Val<'a>) -> Outcome<'a> {
    match value {
        Val::Plain(Value::Int(number)) => match number.checked_neg() {
            Some(number) => Ok(Val::Plain(Value::Int(number))),
            None => Err(Error::Failed("integer overflow".into())),
        },
        Val::Plain(Value::Float(number)) => Ok(Val::Plain(Value::Float(-number))),
        Val::Plain(Value::Duration(duration)) => Ok(Val::Plain(Value::Duration(-*duration))),
        _ => Err(Error::NoOverload),
    }
}

/// Applies `find` to an optional value.
fn optional<'a>(
    operand: Option<Box<Val<'a>>>,
    find: impl Fn(&Val<'a>) -> Result<Option<Val<'a>>, Error>,
) -> Outcome<'a> {
    let found = operand.map(|value| find(&value)).transpose()?;
    Ok(Val::Optional(found.flatten().map(Box::new)))
}

/// The item or field at `key`; `None` when there is none.
fn at<'a>(value: &Val<'a>, key: &Val<'a>) -> Result<Option<Val<'a>>, Error> {
    match key {
        Val::Plain(Value::String(key)) => value.find(key),
        Val::Plain(Value::Int(index)) => {
            let mut items = match value {
                Val::Plain(Value::Map(map)) => {
                    return Ok(map.get(&Key::Int(*index)).cloned().map(Val::Plain));
                }
                Val::Part(serde_json::Value::Object(_), _) => return Err(Error::NoOverload),
                list => list.items()?,
            };
            match usize::try_from(*index) {
                Ok(index) if index < items.len() => items.swap_remove(index).map(Some),
                _ => Ok(None),
            }
        }
        _ => Err(Error::NoOverload),
    }
}
