//! Functions of the crate `kube-cel`.
//!
//! In: the name of a function and the values it is called with. Out: its value, or why it has none. It
//! does not know schemas, nor which functions this crate evaluates itself.

use std::sync::LazyLock;

use kube_cel::KubeCelExt;
use kube_cel::cel::common::ast::{CallExpr, Expr};
use kube_cel::cel::{Context, ExecutionError, IdedExpr, Value};

/// The crate's functions.
static LIBRARY: LazyLock<Context<'static>> = LazyLock::new(|| Context::default().with_all());

/// The value of a call of `function` of the crate.
pub(super) fn library(
    function: &str,
    target: Option<Value>,
    args: Vec<Value>,
) -> Result<Value, ExecutionError> {
    let mut context = LIBRARY.new_inner_scope();
    let mut bound = |name: String, value: Value| {
        context.add_variable_from_value(name.clone(), value);
        IdedExpr {
            id: 0,
            expr: Expr::Ident(name),
        }
    };
    let target = target.map(|value| Box::new(bound("@target".into(), value)));
    let args = args.into_iter().enumerate();
    let args = args.map(|(at, value)| bound(format!("@{at}"), value));
    let args = args.collect();
    let func_name = function.to_owned();
    let call = Expr::Call(CallExpr {
        func_name,
        target,
        args,
    });
    Value::resolve(&IdedExpr { id: 0, expr: call }, &context)
}
