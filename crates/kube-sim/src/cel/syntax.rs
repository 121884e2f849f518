//! Walks through syntax trees.

use kube_cel::cel::IdedExpr;
use kube_cel::cel::common::ast::{EntryExpr, Expr};

/// Calls `visit` for `expr` and every expression in it.
pub(super) fn walk<'a>(expr: &'a IdedExpr, visit: &mut impl FnMut(&'a IdedExpr)) {
    visit(expr);
    for part in parts(&expr.expr) {
        walk(part, visit);
    }
}

/// The depth of the tree.
pub(super) fn depth(expr: &IdedExpr) -> usize {
    let below = parts(&expr.expr).into_iter().map(depth).max();
    1 + below.unwrap_or(0)
}

/// The direct subexpressions of `expr`.
fn parts(expr: &Expr) -> Vec<&IdedExpr> {
    match expr {
        Expr::Call(call) => call
            .target
            .as_deref()
            .into_iter()
            .chain(&call.args)
            .collect(),
        Expr::Comprehension(fold) => vec![
            &fold.iter_range,
            &fold.accu_init,
            &fold.loop_cond,
            &fold.loop_step,
            &fold.result,
        ],
        Expr::List(list) => list.elements.iter().collect(),
        Expr::Map(map) => map.entries.iter().flat_map(|e| entry(&e.expr)).collect(),
        Expr::Struct(made) => made.entries.iter().flat_map(|e| entry(&e.expr)).collect(),
        Expr::Select(select) => vec![&select.operand],
        Expr::Ident(_) | Expr::Literal(_) | Expr::Unspecified => Vec::new(),
    }
}

fn entry(entry: &EntryExpr) -> Vec<&IdedExpr> {
    match entry {
        EntryExpr::StructField(field) => vec![&field.value],
        EntryExpr::MapEntry(entry) => vec![&entry.key, &entry.value],
    }
}
