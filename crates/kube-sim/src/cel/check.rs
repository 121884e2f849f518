//! Type checks of an expression.
//!
//! In: a syntax tree and the place of its rule. Out: the kind of its value, or the first error that an
//! API server reports: unknown names, fields and functions, and operators that are not defined for
//! their operands. It finds fewer errors than the API server's checker, because the result of most
//! functions is [`Kind::Any`], and never reports one that the API server does not.

use kube_cel::cel::IdedExpr;
use kube_cel::cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, ListExpr, LiteralValue, MapExpr, SelectExpr,
    operators as op,
};

use super::error::Error;
use super::functions;
use super::kinds::Kind;
use super::literals;
use super::operators::is_binary;
use super::overloads::{self, Checked, field, must_be_bool, no_overload, no_range, unify};
use super::place::Place;

/// The checker of one rule's expressions.
pub(super) struct Checker<'a> {
    this: Kind<'a>,
    old: Kind<'a>,
    /// What an API server supports and this crate does not.
    pub(super) unsupported: Vec<String>,
}

/// A variable of a macro, and the variables around it.
struct Scope<'s, 'a> {
    above: Option<&'s Self>,
    name: &'s str,
    kind: Kind<'a>,
}

type Variables<'s, 'a> = Option<&'s Scope<'s, 'a>>;

fn find<'s, 'a>(scope: Variables<'s, 'a>, name: &str) -> Option<&'s Kind<'a>> {
    let scope = scope?;
    match scope.name == name {
        true => Some(&scope.kind),
        false => find(scope.above, name),
    }
}

impl<'a> Checker<'a> {
    /// A checker for a rule at `place`. With `optional_old`, `oldSelf` is an optional value.
    pub(super) fn new(place: Place<'a>, optional_old: bool) -> Self {
        let this = Kind::of(place);
        let old = match optional_old {
            true => this.clone().optional(),
            false => this.clone(),
        };
        Self {
            this,
            old,
            unsupported: Vec::new(),
        }
    }

    /// The kind of the value of `expr`.
    ///
    /// # Errors
    /// What is wrong with it, in the words of the API server's checker.
    pub(super) fn check(&mut self, expr: &IdedExpr) -> Checked<'a> {
        self.expr(expr, None)
    }

    /// The kind of the value of a rule's `messageExpression`, if that can be parsed here.
    ///
    /// # Errors
    /// What is wrong with it, in the words of the API server's checker.
    pub(super) fn message(&mut self, message: &Result<IdedExpr, Error>) -> Checked<'a> {
        match message {
            Ok(expr) => self.check(expr),
            Err(Error::Unsupported(_)) => Ok(Kind::Any),
            Err(fault) => Err(fault.to_string()),
        }
    }

    fn expr(&mut self, expr: &IdedExpr, scope: Variables<'_, 'a>) -> Checked<'a> {
        match &expr.expr {
            Expr::Literal(literal) => Ok(overloads::literal_kind(literal)),
            Expr::Ident(name) => self.variable(name, scope),
            Expr::Select(select) => self.select(select, scope),
            Expr::Call(call) => self.call(call, scope),
            Expr::List(list) => self.list(list, scope),
            Expr::Map(map) => self.map(map, scope),
            Expr::Comprehension(fold) => self.fold(fold, scope),
            Expr::Struct(made) => Ok(self.unknown(&format!("the type `{}`", made.type_name))),
            Expr::Unspecified => Ok(Kind::Any),
        }
    }

    fn list(&mut self, list: &ListExpr, scope: Variables<'_, 'a>) -> Checked<'a> {
        let mut items = None;
        for element in &list.elements {
            let kind = self.expr(element, scope)?;
            items = Some(unify(items, kind)?);
        }
        Ok(Kind::list(items.unwrap_or(Kind::Any)))
    }

    fn map(&mut self, map: &MapExpr, scope: Variables<'_, 'a>) -> Checked<'a> {
        let (mut values, mut keys_are_texts) = (None, true);
        for entry in &map.entries {
            if let EntryExpr::MapEntry(entry) = &entry.expr {
                keys_are_texts &= matches!(self.expr(&entry.key, scope)?, Kind::Text);
                let kind = self.expr(&entry.value, scope)?;
                values = Some(unify(values, kind)?);
            }
        }
        Ok(match keys_are_texts {
            true => Kind::Map(Box::new(values.unwrap_or(Kind::Any))),
            false => Kind::Any,
        })
    }

    fn unknown(&mut self, what: &str) -> Kind<'a> {
        self.unsupported.push(format!("{what} is not known here"));
        Kind::Any
    }

    fn variable(&mut self, name: &str, scope: Variables<'_, 'a>) -> Checked<'a> {
        if let Some(kind) = find(scope, name) {
            return Ok(kind.clone());
        }
        match name {
            "self" => Ok(self.this.clone()),
            "oldSelf" => Ok(self.old.clone()),
            "google" => Ok(self.unknown("`google`")),
            name if functions::type_name(name).is_some() => Ok(Kind::Any),
            name => Err(format!("undeclared reference to '{name}'")),
        }
    }

    fn select(&mut self, select: &SelectExpr, scope: Variables<'_, 'a>) -> Checked<'a> {
        let operand = self.expr(&select.operand, scope)?;
        let field = field(&operand, &select.field)?;
        Ok(if select.test { Kind::Bool } else { field })
    }

    fn call(&mut self, call: &CallExpr, scope: Variables<'_, 'a>) -> Checked<'a> {
        let name = call.func_name.as_str();
        match (name, call.args.as_slice()) {
            (op::OPT_SELECT, [operand, key]) => {
                let operand = self.expr(operand, scope)?;
                let field = match &key.expr {
                    Expr::Literal(LiteralValue::String(name)) => field(&operand, name.inner())?,
                    _ => Kind::Any,
                };
                Ok(match field {
                    Kind::Optional(_) => field,
                    field => field.optional(),
                })
            }
            (_, [a, b]) if is_binary(name) => {
                let (a, b) = (self.expr(a, scope)?, self.expr(b, scope)?);
                overloads::operator(name, a, b)
            }
            (op::CONDITIONAL, [condition, yes, no]) => {
                must_be_bool(name, &self.expr(condition, scope)?)?;
                let (yes, no) = (self.expr(yes, scope)?, self.expr(no, scope)?);
                match yes.is_like(&no) {
                    true => Ok(yes.or(no)),
                    false => Err(no_overload(name, format!("bool, {yes}, {no}"))),
                }
            }
            (op::LOGICAL_NOT, [a]) => {
                must_be_bool(name, &self.expr(a, scope)?)?;
                Ok(Kind::Bool)
            }
            (op::NEGATE, [a]) => match self.expr(a, scope)? {
                number @ (Kind::Any | Kind::Int | Kind::Double) => Ok(number),
                other => Err(no_overload(name, other)),
            },
            (op::NOT_STRICTLY_FALSE, [a]) => self.expr(a, scope).map(|_| Kind::Bool),
            _ => self.function(call, scope),
        }
    }

    fn function(&mut self, call: &CallExpr, scope: Variables<'_, 'a>) -> Checked<'a> {
        let name = call.func_name.as_str();
        let space = match call.target.as_deref().map(|target| &target.expr) {
            Some(Expr::Ident(space)) if find(scope, space).is_none() => {
                functions::qualified(space, name)
            }
            _ => None,
        };
        let is_method = call.target.is_some() && space.is_none();
        let name = space.as_deref().unwrap_or(name);
        if !functions::is_known(name, is_method, call.args.len()) {
            return Err(format!(
                "undeclared reference to '{name}' or no such overload"
            ));
        }
        match &call.target {
            Some(target) if is_method => {
                let target = self.expr(target, scope)?;
                self.method(name, target, &call.args, scope)
            }
            _ => self.arguments(name, None, &call.args, scope),
        }
    }

    fn method(
        &mut self,
        name: &str,
        target: Kind<'a>,
        args: &[IdedExpr],
        scope: Variables<'_, 'a>,
    ) -> Checked<'a> {
        match (name, args) {
            ("optMap" | "optFlatMap", [variable, body]) => {
                let Expr::Ident(variable) = &variable.expr else {
                    return Err("argument must be a simple name".into());
                };
                let kind = overloads::optional(name, &target)?;
                let inner = Scope {
                    above: scope,
                    name: variable,
                    kind,
                };
                let made = self.expr(body, Some(&inner))?;
                Ok(if name == "optMap" {
                    made.optional()
                } else {
                    made
                })
            }
            ("sortBy", _) => Ok(self.unknown("`sortBy`")),
            (_, [first, second, rest @ ..]) if functions::is_macro(name) => {
                self.two_variables(name, target, (first, second), rest, scope)
            }
            ("format", [list]) => self.format(list, scope),
            (name, args) => self.arguments(name, Some(target), args, scope),
        }
    }

    /// The arguments of `format` may be of different kinds.
    fn format(&mut self, list: &IdedExpr, scope: Variables<'_, 'a>) -> Checked<'a> {
        let parts = match &list.expr {
            Expr::List(list) => list.elements.as_slice(),
            _ => std::slice::from_ref(list),
        };
        for part in parts {
            self.expr(part, scope)?;
        }
        Ok(Kind::Text)
    }

    fn arguments(
        &mut self,
        name: &str,
        mut subject: Option<Kind<'a>>,
        args: &[IdedExpr],
        scope: Variables<'_, 'a>,
    ) -> Checked<'a> {
        for arg in args {
            let kind = self.expr(arg, scope)?;
            if subject.is_some() && !overloads::takes(name, &kind) {
                return Err(no_overload(name, kind));
            }
            subject.get_or_insert(kind);
            if let Expr::Literal(LiteralValue::String(text)) = &arg.expr
                && matches!(name, "duration" | "timestamp")
                && !literals::is_time(name, text.inner())
            {
                return Err(format!("invalid {name} argument"));
            }
        }
        overloads::result(name, &subject.unwrap_or(Kind::Any))
    }

    /// A macro with two variables: the index or key, and the item or value.
    fn two_variables(
        &mut self,
        name: &str,
        target: Kind<'a>,
        (first, second): (&IdedExpr, &IdedExpr),
        rest: &[IdedExpr],
        scope: Variables<'_, 'a>,
    ) -> Checked<'a> {
        let (Expr::Ident(first), Expr::Ident(second)) = (&first.expr, &second.expr) else {
            return Err("argument must be a simple name".into());
        };
        let (key, value) = match target {
            Kind::Any => (Kind::Any, Kind::Any),
            Kind::List(items) => (Kind::Int, *items),
            Kind::Map(values) => (Kind::Text, *values),
            other => return Err(no_range(&other)),
        };
        let outer = Scope {
            above: scope,
            name: first,
            kind: key,
        };
        let inner = Scope {
            above: Some(&outer),
            name: second,
            kind: value,
        };
        let mut kind = Kind::Any;
        for expr in rest {
            kind = self.expr(expr, Some(&inner))?;
        }
        if !name.starts_with("transform") {
            must_be_bool(name, &kind)?;
        }
        Ok(match name {
            "transformList" => Kind::list(Kind::Any),
            "transformMap" | "transformMapEntry" => Kind::Map(Box::new(Kind::Any)),
            _ => Kind::Bool,
        })
    }

    /// A macro such as `all` or `map`.
    fn fold(&mut self, fold: &ComprehensionExpr, scope: Variables<'_, 'a>) -> Checked<'a> {
        let items = match self.expr(&fold.iter_range, scope)? {
            Kind::Any => Kind::Any,
            Kind::List(items) => *items,
            Kind::Map(_) => Kind::Text,
            other => return Err(no_range(&other)),
        };
        let found = self.expr(&fold.accu_init, scope)?;
        let around = Scope {
            above: scope,
            name: &fold.accu_var,
            kind: found,
        };
        self.expr(&fold.loop_cond, Some(&around))?;
        let inner = Scope {
            above: Some(&around),
            name: &fold.iter_var,
            kind: items,
        };
        let kind = self.expr(&fold.loop_step, Some(&inner))?;
        let around = Scope {
            above: scope,
            name: &fold.accu_var,
            kind,
        };
        self.expr(&fold.result, Some(&around))
    }
}
