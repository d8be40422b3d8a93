use gateway_domain::printable;
use minijinja::{Environment, Error, ErrorKind, Value, machinery, value::ValueKind};

use super::{
    Reference,
    context::Context,
    inspect::{self, Inspected},
    json::Part,
    language,
    write::{Writer, failed, missing},
};
use crate::error::TemplateError;

/// How many tokens an expression may have. What is nested or chained is compiled by recursion, so this also bounds
/// the stack.
const TOKEN_LIMIT: usize = 500;
/// How much of an expression an error shows, in characters.
const SHOWN: usize = 80;
/// How much of what the language says an error shows, in characters.
const DETAIL: usize = 200;

type Compiled<'source> = minijinja::Expression<'static, 'source>;

/// An expression that is known to compile.
pub(super) struct Expression {
    source: String,
    /// `None`: it is nothing but a constant path, and what a compiled one takes, which is 16 KiB, is not worth it.
    compiled: Option<Compiled<'static>>,
    inspected: Inspected,
}

impl Expression {
    pub(super) fn compile(source: &str) -> Result<Self, String> {
        let shown = || printable(source, SHOWN);
        let tokens = machinery::tokenize(source, true, Default::default());
        if tokens.take_while(Result::is_ok).count() > TOKEN_LIMIT {
            return Err(format!("`{}` is too long; an expression may have {TOKEN_LIMIT} tokens", shown()));
        }
        let no_expression = |error: Error| format!("`{}` is no expression: {}", shown(), detail(&error));
        let tree = machinery::parse_expr(source).map_err(no_expression)?;
        let inspected = inspect::inspect(&tree).map_err(|reason| format!("`{}`: {reason}", shown()))?;
        let compiled =
            language::little().compile_expression_owned(source.to_owned()).map_err(no_expression)?;
        let compiled = Some(compiled).filter(|_| inspected.path.is_none());
        Ok(Self { source: source.to_owned(), compiled, inspected })
    }

    pub(super) fn source(&self) -> &str {
        &self.source
    }

    pub(super) fn references(&self) -> &[Reference] {
        &self.inspected.references
    }

    /// Writes what it comes to as JSON.
    pub(super) fn write(&self, context: &Context, out: &mut Writer) -> Result<(), TemplateError> {
        match self.raw(context) {
            Some(part) => out.raw(part.as_str()),
            None => out.value(&self.value(context)?).map_err(|error| self.named(error)),
        }
    }

    /// Writes what it comes to as a stretch of a string.
    pub(super) fn write_text(&self, context: &Context, out: &mut Writer) -> Result<(), TemplateError> {
        match self.raw(context) {
            Some(part) => out.escaped(part.to_text().as_deref().unwrap_or(part.as_str())),
            None => out.escaped_value(&self.value(context)?).map_err(|error| self.named(error)),
        }
    }

    /// The value as it came, if that is all it asks for.
    fn raw(&self, context: &Context) -> Option<Part> {
        context.raw(self.inspected.path.as_deref()?)
    }

    fn value(&self, context: &Context) -> Result<Value, TemplateError> {
        context.effort().begin()?;
        if let Some(value) = self.inspected.path.as_ref().and_then(|path| context.get(path))
            && !value.is_undefined()
        {
            return Ok(value);
        }
        self.check(context)?;
        let value = self.evaluated(context)?;
        if value.is_undefined() {
            return Err(missing(&format!("`{}`", printable(&self.source, SHOWN))));
        }
        Ok(value)
    }

    /// What it comes to with a little fuel, else with all that there may be.
    fn evaluated(&self, context: &Context) -> Result<Value, TemplateError> {
        let anew = |environment: &'static Environment<'static>| {
            environment.compile_expression(&self.source)?.eval(context.root())
        };
        let little = match &self.compiled {
            Some(compiled) => compiled.eval(context.root()),
            // There is nothing at the path, and the language says best what is missing.
            None => anew(language::little()),
        };
        match little {
            // A value that is missing is so with any fuel; want of fuel may look like any other error.
            Err(error) if error.kind() != ErrorKind::UndefinedError => {
                context.effort().enlarge().map_err(|error| self.named(error))?;
                // Compiled code keeps to the environment that it was compiled in, and is large; this is rare.
                anew(language::whole())
            }
            done => done,
        }
        .map_err(|error| self.explained(&error))
    }

    /// What the language would not mind.
    fn check(&self, context: &Context) -> Result<(), TemplateError> {
        let is_missing = |path: &&Vec<Value>| context.get(path).is_none_or(|value| value.is_undefined());
        if let Some(path) = self.inspected.needed.iter().find(is_missing) {
            let path: Vec<_> = path.iter().map(ToString::to_string).collect();
            return Err(missing(&format!("`{}`", printable(&path.join("."), SHOWN))));
        }
        let mut factors = self.inspected.factors.iter().filter_map(|path| context.get(path));
        match factors.any(|value| value.kind() == ValueKind::Seq) {
            true => Err(self.named(failed(inspect::refusal()))),
            false => Ok(()),
        }
    }

    fn explained(&self, error: &Error) -> TemplateError {
        if let Some(name) = error.detail().and_then(undefined) {
            return missing(&printable(name, SHOWN));
        }
        let is_missing = error.kind() == ErrorKind::UndefinedError;
        let reason = match error.kind() {
            ErrorKind::OutOfFuel => "it has too much to do; filter or cut what it works on first".to_owned(),
            _ => detail(error),
        };
        TemplateError { is_missing, ..self.named(failed(reason)) }
    }

    fn named(&self, error: TemplateError) -> TemplateError {
        TemplateError { reason: format!("`{}`: {}", printable(&self.source, SHOWN), error.reason), ..error }
    }
}

fn detail(error: &Error) -> String {
    match error.detail() {
        Some(detail) => printable(detail, DETAIL),
        None => error.kind().to_string(),
    }
}

/// Which value was missing, in its backticks: the language says so at the end, in parentheses if it has more to say.
fn undefined(detail: &str) -> Option<&str> {
    let before = detail.trim_end_matches(')').strip_suffix("` is undefined")?;
    detail.get(before.rfind('`')?..=before.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_compiled_is_kept_of_a_constant_path() {
        for (source, is_kept) in [
            ("params.x", false),
            ("steps['look-up'].output.list[-1]", false),
            ("params.list[params.n]", true),
            ("params.x | upper", true),
        ] {
            assert_eq!(Expression::compile(source).unwrap().compiled.is_some(), is_kept, "{source}");
        }
    }
}
