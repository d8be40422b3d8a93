//! What an expression refers to and calls, from its syntax tree.

use gateway_domain::printable;
use minijinja::{
    Value,
    machinery::ast::{BinOpKind, Call, CallArg, CallType, Expr, Slice},
};

use super::{
    Reference,
    factor::factor,
    language::{FILTERS, FUNCTIONS, TESTS},
};

/// Filters whose first argument names another filter or test.
const NAMING: &[(&str, &[&str])] = &[("map", FILTERS), ("select", TESTS), ("reject", TESTS)];
/// The most that the step of a slice may be, in either direction.
const STEP_LIMIT: i64 = 1000;
/// How much of a name an error shows, in characters.
const SHOWN: usize = 64;

/// What is known about an expression.
#[derive(Debug)]
pub(super) struct Inspected {
    /// In the order of the text.
    pub(super) references: Vec<Reference>,
    /// Its keys, if it is nothing but a constant path.
    pub(super) path: Option<Vec<Value>>,
    /// Paths that must not lead to a list.
    pub(super) factors: Vec<Vec<Value>>,
}

/// Looks through an expression.
///
/// Errors: it asks for something that the language here does not have.
pub(super) fn inspect(tree: &Expr<'_>) -> Result<Inspected, String> {
    let mut inspector = Inspector { references: Vec::new(), factors: Vec::new() };
    inspector.expression(tree, false)?;
    Ok(Inspected { references: inspector.references, path: path(tree), factors: inspector.factors })
}

struct Inspector {
    references: Vec<Reference>,
    factors: Vec<Vec<Value>>,
}

impl Inspector {
    /// `may_be_missing`: whether what stands around it takes a missing value.
    fn expression(&mut self, tree: &Expr<'_>, may_be_missing: bool) -> Result<(), String> {
        match tree {
            Expr::Var(_) | Expr::GetAttr(_) | Expr::GetItem(_) => self.reference(tree, may_be_missing),
            Expr::Const(_) => Ok(()),
            Expr::Slice(slice) => self.slice(slice),
            Expr::UnaryOp(operation) => self.expression(&operation.expr, false),
            Expr::BinOp(operation) => {
                if matches!(operation.op, BinOpKind::Mul) {
                    factor(&operation.left, &mut self.factors)?;
                    factor(&operation.right, &mut self.factors)?;
                }
                self.all([&operation.left, &operation.right])
            }
            Expr::Compare(chain) => {
                self.expression(&chain.expr, false)?;
                self.all(chain.ops.iter().map(|operation| &operation.expr))
            }
            Expr::IfExpr(choice) => {
                let Some(otherwise) = &choice.false_expr else {
                    return Err("an `if` needs an `else`: what is it if not?".to_owned());
                };
                self.expression(&choice.test_expr, false)?;
                self.expression(&choice.true_expr, may_be_missing)?;
                self.expression(otherwise, may_be_missing)
            }
            Expr::Filter(filter) => {
                known("filter", filter.name, FILTERS)?;
                if let Some((_, names)) = NAMING.iter().find(|(name, _)| *name == filter.name) {
                    named_in(&filter.args, names)?;
                }
                if let Some(input) = &filter.expr {
                    self.expression(input, matches!(filter.name, "default" | "d"))?;
                }
                self.arguments(&filter.args)
            }
            Expr::Test(test) => {
                known("test", test.name, TESTS)?;
                self.expression(&test.expr, matches!(test.name, "defined" | "undefined"))?;
                self.arguments(&test.args)
            }
            Expr::Call(call) => self.call(call),
            Expr::List(list) => self.all(&list.items),
            Expr::Tuple(tuple) => self.all(&tuple.items),
            Expr::Map(map) => self.all(map.keys.iter().chain(&map.values)),
        }
    }

    fn all<'a>(&mut self, trees: impl IntoIterator<Item = &'a Expr<'a>>) -> Result<(), String> {
        trees.into_iter().try_for_each(|tree| self.expression(tree, false))
    }

    fn arguments(&mut self, arguments: &[CallArg<'_>]) -> Result<(), String> {
        arguments.iter().try_for_each(|argument| match argument {
            CallArg::Pos(tree) | CallArg::Kwarg(_, tree) => self.expression(tree, false),
            CallArg::PosSplat(_) | CallArg::KwargSplat(_) => {
                Err("arguments are written out; there is no `*` before them".to_owned())
            }
        })
    }

    fn call(&mut self, call: &Call<'_>) -> Result<(), String> {
        match call.identify_call() {
            CallType::Function(name) => known("function", name, FUNCTIONS)?,
            CallType::Method(_, name) => {
                let name = printable(name, SHOWN);
                return Err(format!("values have no methods; is `| {name}` meant instead of `.{name}()`?"));
            }
            _ => return Err("only functions can be called, by their names".to_owned()),
        }
        self.arguments(&call.args)
    }

    fn slice(&mut self, slice: &Slice<'_>) -> Result<(), String> {
        if let Some(step) = &slice.step {
            let step = step.as_const().and_then(|step| step.as_i64());
            if !step.is_some_and(|step| (-STEP_LIMIT..=STEP_LIMIT).contains(&step)) {
                return Err(format!(
                    "the step of a slice is a number that is written there, from -{STEP_LIMIT} to {STEP_LIMIT}"
                ));
            }
        }
        self.expression(&slice.expr, false)?;
        self.all(slice.start.iter().chain(&slice.stop))
    }

    /// A lookup. Its constant beginning is a reference; what is looked up by a computed key, or in something else than
    /// a root, is looked through.
    fn reference(&mut self, tree: &Expr<'_>, may_be_missing: bool) -> Result<(), String> {
        if let Some(keys) = path(tree) {
            let path = keys.iter().map(ToString::to_string).collect();
            self.references.push(Reference { path, may_be_missing });
            return Ok(());
        }
        match tree {
            Expr::GetAttr(lookup) => self.expression(&lookup.expr, false),
            Expr::GetItem(lookup) => self.all([&lookup.expr, &lookup.subscript_expr]),
            _ => Ok(()),
        }
    }
}

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

/// `map('name')` calls a filter by its name, and `select('name')` a test.
fn named_in(arguments: &[CallArg<'_>], names: &[&str]) -> Result<(), String> {
    match arguments.first() {
        Some(CallArg::Pos(Expr::Const(name))) => match name.value.as_str() {
            Some(name) => known("filter or test", name, names),
            None => Err(not_written_out()),
        },
        Some(CallArg::Pos(_)) => Err(not_written_out()),
        _ => Ok(()),
    }
}

fn not_written_out() -> String {
    "the name of a filter or test is written out as a text".to_owned()
}

fn known(what: &str, name: &str, names: &[&str]) -> Result<(), String> {
    if names.contains(&name) {
        return Ok(());
    }
    let distance = |known: &&&str| strsim::damerau_levenshtein(name, known);
    let nearest = names.iter().min_by_key(distance).filter(|known| distance(known) <= 2);
    Err(match nearest {
        Some(nearest) => format!("there is no {what} `{}`; is `{nearest}` meant?", printable(name, SHOWN)),
        None => format!("there is no {what} `{}`; there are {}", printable(name, SHOWN), names.join(", ")),
    })
}
