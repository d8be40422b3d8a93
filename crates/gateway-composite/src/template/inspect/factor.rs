//! What may be multiplied: numbers and texts.
//!
//! The library also repeats lists, up to a hundred million items, and what it makes is only counted out later, where
//! no fuel is paid for it. So no list may come to stand beside a `*`.

use minijinja::{
    Value,
    machinery::ast::{BinOpKind, CallArg, CallType, Expr},
};

use super::paths::path;

/// Filters that never give a list.
#[rustfmt::skip]
const SCALAR_FILTERS: &[&str] = &[
    "abs", "bool", "capitalize", "count", "float", "int", "join", "json", "length", "lower", "quote", "replace",
    "round", "string", "title", "trim", "upper",
];

/// Adds the paths in `tree` that must not lead to a list to `paths`. An error: it might come to one for another reason.
pub(super) fn factor(tree: &Expr<'_>, paths: &mut Vec<Vec<Value>>) -> Result<(), String> {
    match tree {
        Expr::Const(_) | Expr::Compare(_) | Expr::Test(_) | Expr::Map(_) => Ok(()),
        Expr::UnaryOp(operation) => factor(&operation.expr, paths),
        Expr::BinOp(operation) => match operation.op {
            BinOpKind::Add | BinOpKind::ScAnd | BinOpKind::ScOr => {
                factor(&operation.left, paths)?;
                factor(&operation.right, paths)
            }
            _ => Ok(()),
        },
        Expr::IfExpr(choice) => {
            factor(&choice.true_expr, paths)?;
            choice.false_expr.iter().try_for_each(|tree| factor(tree, paths))
        }
        Expr::Filter(filter) if SCALAR_FILTERS.contains(&filter.name) => Ok(()),
        Expr::Filter(filter) if matches!(filter.name, "default" | "d") => {
            filter.expr.iter().try_for_each(|tree| factor(tree, paths))?;
            filter.args.iter().try_for_each(|argument| match argument {
                CallArg::Pos(tree) => factor(tree, paths),
                _ => Err(refusal()),
            })
        }
        Expr::Call(call) if matches!(call.identify_call(), CallType::Function("json" | "quote")) => Ok(()),
        _ => {
            paths.push(path(tree).ok_or_else(refusal)?);
            Ok(())
        }
    }
}

/// Why something cannot be multiplied.
pub(in crate::template) fn refusal() -> String {
    "`*` is for numbers, and lists are not repeated; `| int` or `| float` makes sure of a number".to_owned()
}
