//! Calls of functions.
//!
//! In: a call and the evaluator for its arguments. Out: a value or an error. Most functions are those of
//! `kube-cel`. Functions that it lacks are here (`type`, `bool`), and so are those in which it differs
//! from the API server: sizes in characters, conversions, URLs, patterns in Go's syntax. Not supported:
//! `sortBy` and times in other time zones.

use kube_cel::cel::Value;
use kube_cel::cel::common::ast::{CallExpr, Expr};
use kube_cel::cel::objects::OptionalValue;

use super::conversions;
use super::error::Error;
use super::functions;
use super::library::library;
use super::macros;
use super::scope::{Evaluate, Variables};
use super::urls;
use super::value::{Outcome, Val};
use kube_schema::regular_expression;

/// The value of a call.
pub(super) fn call<'a>(
    env: &dyn Evaluate<'a>,
    call: &CallExpr,
    scope: Variables<'_, 'a>,
) -> Outcome<'a> {
    let name = call.func_name.as_str();
    let is_variable = |name: &str| scope.is_some_and(|scope| scope.find(name).is_some());
    let evaluated = || {
        let args = call.args.iter().map(|arg| env.eval(arg, scope));
        args.collect::<Result<Vec<_>, _>>()
    };
    let Some(target) = &call.target else {
        return global(env, name, &evaluated()?);
    };
    if let Expr::Ident(space) = &target.expr
        && let Some(name) = functions::qualified(space, name).filter(|_| !is_variable(space))
    {
        return global(env, &name, &evaluated()?);
    }
    if name == "sortBy" {
        return Err(Error::Unsupported("`sortBy` is not known here".into()));
    }
    let target = env.eval(target, scope)?;
    if let Some(made) = macros::call(env, scope, name, &target, &call.args) {
        return made;
    }
    match target {
        Val::Optional(value) => of_optional(name, value, evaluated()?),
        target => method(env, name, &target, &evaluated()?),
    }
}

/// `f(x)`
fn global<'a>(env: &dyn Evaluate<'a>, name: &str, args: &[Val<'a>]) -> Outcome<'a> {
    match (name, args) {
        ("dyn", [value]) => Ok(value.clone()),
        ("type", [value]) => conversions::type_of(value),
        ("bool", [value]) => conversions::bool(value),
        ("int", [Val::Plain(Value::Timestamp(time))]) => {
            Ok(Val::Plain(Value::Int(time.timestamp())))
        }
        ("string", [value]) => conversions::text(value),
        ("optional.none", []) => Ok(Val::Optional(None)),
        ("optional.of", [value]) => Ok(value.clone().some()),
        ("optional.ofNonZeroValue", [value]) => Ok(match conversions::is_zero(value) {
            true => Val::Optional(None),
            false => value.clone().some(),
        }),
        ("size" | "matches", [target, rest @ ..]) => method(env, name, target, rest),
        ("isURL", [Val::Plain(Value::String(text))]) => Ok(urls::is_url(text).into()),
        ("url", [Val::Plain(Value::String(text))]) => urls::url(text).map(Val::Plain),
        ("double" | "duration" | "int" | "timestamp" | "uint", [Val::Plain(Value::String(_))]) => {
            library_function(name, None, args).map_err(|_| conversions::unparsable(name))
        }
        ("format.named", [_]) => match library_function(name, None, args)? {
            Val::Plain(Value::Null) => Ok(Val::Optional(None)),
            format => Ok(format.some()),
        },
        _ => library_function(name, None, args),
    }
}

/// `x.f()`
fn method<'a>(
    env: &dyn Evaluate<'a>,
    name: &str,
    target: &Val<'a>,
    args: &[Val<'a>],
) -> Outcome<'a> {
    match (name, args) {
        ("size", []) => {
            let size = i64::try_from(target.size()?).unwrap_or(i64::MAX);
            Ok(Val::Plain(Value::Int(size)))
        }
        ("matches", [pattern]) => match (target.plain()?, pattern.plain()?) {
            (Value::String(text), Value::String(pattern)) => matches(env, &text, &pattern),
            _ => Err(Error::NoOverload),
        },
        ("format", [values]) => formatted(target, values),
        ("split", [separator, limit @ ..]) => {
            let limit = limit.first().map(Val::plain).transpose()?;
            let parts = conversions::split(&target.plain()?, &separator.plain()?, limit.as_ref())?;
            Ok(Val::Plain(parts))
        }
        ("min" | "max", []) if target.size() == Ok(0) => {
            Err(Error::Failed(format!("{name} called on empty list")))
        }
        (_, [_]) if name.starts_with("get") => Err(Error::Unsupported(
            "times of other zones are not known here".into(),
        )),
        (_, []) if name.starts_with("get") => match urls::method(name, &target.plain()?) {
            Some(part) => Ok(Val::Plain(part)),
            None => library_function(name, Some(target), args),
        },
        _ => library_function(name, Some(target), args),
    }
}

/// `'%s'.format([x])`, with times and durations in the API server's spelling.
fn formatted<'a>(target: &Val<'a>, values: &Val<'a>) -> Outcome<'a> {
    let Value::List(values) = values.plain()? else {
        return Err(Error::NoOverload);
    };
    let values = values.iter().map(|value| match value {
        Value::Timestamp(_) | Value::Duration(_) => {
            conversions::text(&value.clone().into())?.plain()
        }
        value => Ok(value.clone()),
    });
    let values: Result<Vec<Value>, Error> = values.collect();
    library_function("format", Some(target), &[Val::Plain(Value::from(values?))])
}

fn matches<'a>(env: &dyn Evaluate<'a>, text: &str, pattern: &str) -> Outcome<'a> {
    let unknown = || Error::Unsupported(format!("the pattern {pattern:?} is not understood here"));
    let found = match env.pattern(pattern) {
        Some(known) => known.ok_or_else(unknown)?.is_match(text),
        None => regular_expression(pattern)
            .map_err(|_| unknown())?
            .is_match(text),
    };
    Ok(found.into())
}

fn of_optional<'a>(name: &str, value: Option<Box<Val<'a>>>, args: Vec<Val<'a>>) -> Outcome<'a> {
    let mut args = args.into_iter();
    match (name, value, args.next()) {
        ("hasValue", value, None) => Ok(value.is_some().into()),
        ("value", Some(value), None) | ("orValue", Some(value), Some(_)) => Ok(*value),
        ("value", None, None) => Err(Error::Failed("optional.none() dereference".into())),
        ("orValue", None, Some(other)) | ("or", None, Some(other @ Val::Optional(_))) => Ok(other),
        ("or", value @ Some(_), Some(_)) => Ok(Val::Optional(value)),
        _ => Err(Error::NoOverload),
    }
}

fn library_function<'a>(name: &str, target: Option<&Val<'a>>, args: &[Val<'a>]) -> Outcome<'a> {
    let target = target.map(Val::plain).transpose()?;
    let args: Result<Vec<Value>, Error> = args.iter().map(Val::plain).collect();
    let value = library(name, target, args?)?;
    Ok(match <&OptionalValue>::try_from(&value) {
        Ok(optional) => Val::Optional(optional.value().cloned().map(|v| Box::new(Val::Plain(v)))),
        Err(_) => Val::Plain(value),
    })
}
