//! Lookups that are constant.

use minijinja::{
    Value,
    machinery::ast::{BinOpKind, Expr},
};

/// The keys of a lookup that is constant from a root on.
pub(super) fn path(tree: &Expr<'_>) -> Option<Vec<Value>> {
    let mut keys = Vec::new();
    let mut here = tree;
    loop {
        match here {
            Expr::Var(root) => {
                keys.push(Value::from(root.id));
                keys.reverse();
                return Some(keys);
            }
            Expr::GetAttr(lookup) => {
                keys.push(Value::from(lookup.name));
                here = &lookup.expr;
            }
            Expr::GetItem(lookup) => {
                let key = lookup.subscript_expr.as_const()?;
                keys.push(Some(key).filter(|key| key.as_str().is_some() || key.is_integer())?);
                here = &lookup.expr;
            }
            _ => return None,
        }
    }
}

/// Adds the paths that are certainly there if `test` is true.
pub(super) fn defined_by(test: &Expr<'_>, paths: &mut Vec<Vec<Value>>) {
    match test {
        Expr::Test(test) if test.name == "defined" => paths.extend(path(&test.expr)),
        Expr::BinOp(operation) if matches!(operation.op, BinOpKind::ScAnd) => {
            defined_by(&operation.left, paths);
            defined_by(&operation.right, paths);
        }
        _ => {}
    }
}
