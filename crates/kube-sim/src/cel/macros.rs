//! Macros that the parser leaves as calls. Their arguments are evaluated once per item.
//!
//! In: a call on a list, a map or an optional value, and the evaluator for its arguments. Out: a value
//! or an error. `optMap` and `optFlatMap` have one variable. The others have two, the index or key and
//! the item or value (cel-go's `ext.TwoVarComprehensions`).

use std::collections::HashMap;
use std::sync::Arc;

use kube_cel::cel::common::ast::Expr;
use kube_cel::cel::objects::{Key, Map};
use kube_cel::cel::{IdedExpr, Value};
use serde_json::Value as Json;

use super::error::Error;
use super::scope::{Evaluate, Scope, Variables};
use super::value::{Outcome, Val, truth};

/// The value of `target.name(args)`; `None` when that is not a macro.
pub(super) fn call<'a>(
    env: &dyn Evaluate<'a>,
    scope: Variables<'_, 'a>,
    name: &str,
    target: &Val<'a>,
    args: &[IdedExpr],
) -> Option<Outcome<'a>> {
    match (name, target, args) {
        ("optMap" | "optFlatMap", Val::Optional(value), [variable, body]) => Some(of_optional(
            env,
            scope,
            name,
            value.as_deref(),
            (variable, body),
        )),
        (_, _, [first, second, rest @ ..]) if is_macro(name, rest.len()) => {
            let (Expr::Ident(first), Expr::Ident(second)) = (&first.expr, &second.expr) else {
                return Some(Err(Error::NoOverload));
            };
            let walk = Walk {
                env,
                scope,
                first,
                second,
            };
            Some(walk.call(name, target, rest))
        }
        _ => None,
    }
}

/// Whether `name` is a macro with two variables and that number of expressions after them.
fn is_macro(name: &str, expressions: usize) -> bool {
    match name {
        "all" | "exists" | "existsOne" | "exists_one" => expressions == 1,
        "transformList" | "transformMap" | "transformMapEntry" => matches!(expressions, 1 | 2),
        _ => false,
    }
}

fn of_optional<'a>(
    env: &dyn Evaluate<'a>,
    scope: Variables<'_, 'a>,
    name: &str,
    value: Option<&Val<'a>>,
    (variable, body): (&IdedExpr, &IdedExpr),
) -> Outcome<'a> {
    let (Some(value), Expr::Ident(variable)) = (value, &variable.expr) else {
        return Ok(Val::Optional(None));
    };
    let inner = Scope::new(scope, variable, Ok(value.clone()));
    match (name, env.eval(body, Some(&inner))?) {
        ("optMap", made) => Ok(made.some()),
        (_, made @ Val::Optional(_)) => Ok(made),
        _ => Err(Error::NoOverload),
    }
}

/// A macro's two variables.
struct Walk<'e, 's, 'a> {
    env: &'e dyn Evaluate<'a>,
    scope: Variables<'s, 'a>,
    first: &'e str,
    second: &'e str,
}

/// The index or key, and the item or value.
type Entry<'a> = (Value, Outcome<'a>);

impl<'a> Walk<'_, '_, 'a> {
    fn call(&self, name: &str, target: &Val<'a>, args: &[IdedExpr]) -> Outcome<'a> {
        let entries = entries(target)?;
        match (name, args) {
            ("all", [test]) => self.quantified(entries, test, false),
            ("exists", [test]) => self.quantified(entries, test, true),
            ("existsOne" | "exists_one", [test]) => {
                let kept = self.kept(entries, Some(test))?;
                Ok((kept.len() == 1).into())
            }
            (_, [made]) => self.transformed(name, entries, None, made),
            (_, [test, made]) => self.transformed(name, entries, Some(test), made),
            _ => Err(Error::NoOverload),
        }
    }

    fn eval(&self, (key, value): &Entry<'a>, expr: &IdedExpr) -> Outcome<'a> {
        let outer = Scope::new(self.scope, self.first, Ok(Val::Plain(key.clone())));
        let inner = Scope::new(Some(&outer), self.second, value.clone());
        self.env.eval(expr, Some(&inner))
    }

    /// An error is the result only when no entry decides.
    fn quantified(&self, entries: Vec<Entry<'a>>, test: &IdedExpr, decides: bool) -> Outcome<'a> {
        let mut found = Ok((!decides).into());
        for entry in entries {
            match truth(self.eval(&entry, test)) {
                Ok(yes) if yes == decides => return Ok(decides.into()),
                Ok(_) => {}
                Err(fault) => found = Err(fault),
            }
        }
        found
    }

    fn kept(
        &self,
        entries: Vec<Entry<'a>>,
        test: Option<&IdedExpr>,
    ) -> Result<Vec<Entry<'a>>, Error> {
        let mut kept = Vec::new();
        for entry in entries {
            let keeps = test.map_or(Ok(true), |test| truth(self.eval(&entry, test)))?;
            kept.extend(keeps.then_some(entry));
        }
        Ok(kept)
    }

    fn transformed(
        &self,
        name: &str,
        entries: Vec<Entry<'a>>,
        test: Option<&IdedExpr>,
        made: &IdedExpr,
    ) -> Outcome<'a> {
        let mut list = Vec::new();
        let mut map: HashMap<Key, Value> = HashMap::new();
        for entry in self.kept(entries, test)? {
            let value = self.eval(&entry, made)?.plain()?;
            match (name, value) {
                ("transformList", value) => list.push(value),
                ("transformMap", value) => {
                    map.insert(entry.0.try_into().map_err(|_| Error::NoOverload)?, value);
                }
                (_, Value::Map(more)) => {
                    if let Some(known) = more.map.keys().find(|key| map.contains_key(*key)) {
                        return Err(Error::Failed(format!(
                            "insert failed: key {known} already exists"
                        )));
                    }
                    map.extend(
                        more.map
                            .iter()
                            .map(|(key, value)| (key.clone(), value.clone())),
                    );
                }
                _ => return Err(Error::NoOverload),
            }
        }
        Ok(Val::Plain(match name {
            "transformList" => Value::List(Arc::new(list)),
            _ => Value::Map(Map { map: Arc::new(map) }),
        }))
    }
}

fn entries<'a>(target: &Val<'a>) -> Result<Vec<Entry<'a>>, Error> {
    let items = target.items()?.into_iter();
    if !matches!(
        target,
        Val::Part(Json::Object(_), _) | Val::Plain(Value::Map(_))
    ) {
        return Ok(items
            .zip(0_i64..)
            .map(|(item, at)| (Value::Int(at), item))
            .collect());
    }
    let entry = |key: Outcome<'a>| match key?.plain()? {
        Value::String(key) => {
            let value = target.find(&key)?.ok_or_else(|| Error::no_such_key(&key));
            Ok((Value::String(key), value))
        }
        _ => Err(Error::NoOverload),
    };
    items.map(entry).collect()
}
