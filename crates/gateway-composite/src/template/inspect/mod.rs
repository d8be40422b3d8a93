//! What an expression refers to and calls, from its syntax tree.

mod factor;
mod names;
mod paths;

use std::ops::Range;

use gateway_domain::printable;
use minijinja::{
    Value,
    machinery::ast::{BinOp, BinOpKind, Call, CallArg, CallType, Expr, Slice},
};

pub(super) use self::factor::refusal;
use self::{
    factor::factor,
    names::{known, naming},
    paths::{defined_by, path},
};
use super::{
    Reference,
    language::{FILTERS, FUNCTIONS, TESTS},
};

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
    /// Paths that must lead to something: they are arguments, and to the library an argument that is undefined is one
    /// that is not given.
    pub(super) needed: Vec<Vec<Value>>,
}

/// Looks through an expression.
///
/// Errors: it asks for something that the language here does not have.
pub(super) fn inspect(tree: &Expr<'_>) -> Result<Inspected, String> {
    let mut inspector = Inspector::default();
    inspector.expression(tree, false)?;
    let Inspector { references, factors, needed, .. } = inspector;
    Ok(Inspected { references, path: path(tree), factors, needed })
}

#[derive(Default)]
struct Inspector {
    references: Vec<Reference>,
    factors: Vec<Vec<Value>>,
    needed: Vec<Vec<Value>>,
    /// Around how many alternatives there are here: what stands in one is not always evaluated.
    alternatives: usize,
    /// Paths that `is defined` was asked of before it comes to this.
    defined: Vec<Vec<Value>>,
    /// Which references stand in the tests around this.
    tests: Vec<Range<usize>>,
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
                self.operation(operation)
            }
            Expr::Compare(chain) => {
                self.expression(&chain.expr, false)?;
                self.all(chain.ops.iter().map(|operation| &operation.expr))
            }
            Expr::IfExpr(choice) => {
                let Some(otherwise) = &choice.false_expr else {
                    return Err("an `if` needs an `else`: what is it if not?".to_owned());
                };
                let test = self.test(&choice.test_expr)?;
                self.alternative(&choice.true_expr, may_be_missing, test.clone(), Some(&choice.test_expr))?;
                self.alternative(otherwise, may_be_missing, test, None)
            }
            Expr::Filter(filter) => {
                known("filter", filter.name, FILTERS)?;
                naming(filter)?;
                let takes_missing = matches!(filter.name, "default" | "d");
                if let Some(input) = &filter.expr {
                    self.expression(input, takes_missing)?;
                }
                self.arguments(&filter.args, !takes_missing)
            }
            Expr::Test(test) => {
                known("test", test.name, TESTS)?;
                self.expression(&test.expr, matches!(test.name, "defined" | "undefined"))?;
                self.arguments(&test.args, true)
            }
            Expr::Call(call) => self.call(call),
            Expr::List(list) => self.all(&list.items),
            Expr::Tuple(tuple) => self.all(&tuple.items),
            Expr::Map(map) => self.all(map.keys.iter().chain(&map.values)),
        }
    }

    fn operation(&mut self, operation: &BinOp<'_>) -> Result<(), String> {
        let left = self.test(&operation.left)?;
        match operation.op {
            BinOpKind::ScAnd => self.alternative(&operation.right, false, left, Some(&operation.left)),
            BinOpKind::ScOr => self.alternative(&operation.right, false, left, None),
            _ => self.expression(&operation.right, false),
        }
    }

    /// Which references stand in a test.
    fn test(&mut self, tree: &Expr<'_>) -> Result<Range<usize>, String> {
        let before = self.references.len();
        self.expression(tree, false)?;
        Ok(before..self.references.len())
    }

    /// What is only evaluated after a test with these references: if `is_true` is, or in some other case.
    fn alternative(
        &mut self,
        tree: &Expr<'_>,
        may_be_missing: bool,
        test: Range<usize>,
        is_true: Option<&Expr<'_>>,
    ) -> Result<(), String> {
        let before = self.defined.len();
        is_true.into_iter().for_each(|test| defined_by(test, &mut self.defined));
        self.tests.push(test);
        self.alternatives += 1;
        let inspected = self.expression(tree, may_be_missing);
        self.alternatives -= 1;
        self.tests.pop();
        self.defined.truncate(before);
        inspected
    }

    fn tested(&self, path: &[String]) -> usize {
        let tests = self.tests.iter().flat_map(|test| &self.references[test.clone()]);
        let shared = |other: &Reference| other.path.iter().zip(path).take_while(|(a, b)| a == b).count();
        tests.map(shared).max().unwrap_or(0)
    }

    fn all<'a>(&mut self, trees: impl IntoIterator<Item = &'a Expr<'a>>) -> Result<(), String> {
        trees.into_iter().try_for_each(|tree| self.expression(tree, false))
    }

    fn arguments(&mut self, arguments: &[CallArg<'_>], are_needed: bool) -> Result<(), String> {
        arguments.iter().try_for_each(|argument| match argument {
            CallArg::Pos(tree) | CallArg::Kwarg(_, tree) => {
                self.needed.extend(path(tree).filter(|_| are_needed && self.alternatives == 0));
                self.expression(tree, false)
            }
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
        self.arguments(&call.args, true)
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
            let may_be_missing = may_be_missing || self.defined.contains(&keys);
            let path: Vec<_> = keys.iter().map(ToString::to_string).collect();
            let tested = self.tested(&path);
            self.references.push(Reference { path, may_be_missing, tested });
            return Ok(());
        }
        match tree {
            Expr::GetAttr(lookup) => self.expression(&lookup.expr, false),
            Expr::GetItem(lookup) => self.all([&lookup.expr, &lookup.subscript_expr]),
            _ => Ok(()),
        }
    }
}
