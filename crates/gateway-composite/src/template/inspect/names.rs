//! What filters, tests and functions are called.

use gateway_domain::printable;
use minijinja::machinery::ast::{CallArg, Expr, Filter};

use super::SHOWN;
use crate::{
    definition::hint,
    template::language::{FILTERS, TESTS},
};

/// Filters whose first argument names another filter or test.
const NAMING: &[(&str, &[&str])] = &[("map", FILTERS), ("select", TESTS), ("reject", TESTS)];

/// Checks the names in the arguments of a filter: `map('name')` calls a filter by its name, and `select('name')` a test.
pub(super) fn naming(filter: &Filter<'_>) -> Result<(), String> {
    let Some((_, names)) = NAMING.iter().find(|(name, _)| *name == filter.name) else { return Ok(()) };
    match filter.args.first() {
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

/// Checks that there is a filter, test or function of this name.
pub(super) fn known(what: &str, name: &str, names: &[&str]) -> Result<(), String> {
    if names.contains(&name) {
        return Ok(());
    }
    Err(format!("there is no {what} `{}`{}", printable(name, SHOWN), hint(name, names)))
}
