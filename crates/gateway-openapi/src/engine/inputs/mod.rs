//! What a tool takes: the input schema of an operation and where each argument goes (E-5 to E-9).

mod bundle;
mod names;
mod property;
mod reserved;
#[cfg(test)]
mod tests;

use std::{cmp::Reverse, collections::BTreeMap, fmt};

use gateway_domain::{RawJson, RawObject};

pub use self::bundle::bundle;
use self::property::Property;
pub(crate) use self::reserved::{is_of_http, reserves};
use super::{Argument, CallError, Reserved, arguments::Checker};
use crate::ir::{Definitions, Location, Operation};

/// The longest input schema of a tool by default, in bytes.
pub const MAX_SCHEMA_BYTES: usize = 32 * 1024;

/// The input schema of an operation from which nothing is taken away: one object with a property for each parameter
/// and one for the body.
pub fn input_schema(operation: &Operation) -> RawJson {
    Inputs::new(operation, &Reserved::default(), &BTreeMap::new(), MAX_SCHEMA_BYTES).schema.raw().clone()
}

/// The inputs of one tool.
#[derive(Debug)]
pub struct Inputs {
    schema: RawObject,
    checker: Checker,
    required: Vec<String>,
    /// For each parameter of the operation, in its order.
    params: Vec<Origin>,
    body: Option<Origin>,
    reserved: Reserved,
    strangers: Vec<String>,
    notes: Vec<String>,
}

/// Where the value of a parameter or of the body comes from.
#[derive(Clone, PartialEq)]
pub(crate) enum Origin {
    /// The argument of this name.
    Argument(String),
    /// The operator.
    Fixed(RawJson),
    /// It is never sent.
    Nowhere,
}

/// Shows no fixed value: it may be a secret.
impl fmt::Debug for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Argument(name) => f.debug_tuple("Argument").field(name).finish(),
            Self::Fixed(_) => f.write_str("Fixed"),
            Self::Nowhere => f.write_str("Nowhere"),
        }
    }
}

impl Inputs {
    /// Reads the inputs off an operation.
    ///
    /// A parameter is called what the API calls it, and the body `body`. Where two would have the same name, the one
    /// in the path keeps it, then query, header, cookie and body; the others become `name_in_query` and so on, or
    /// `request_body` (E-W4). Parameters with [`Reserved`] names are no inputs and never sent (E-W11). `arguments` are
    /// those that the caller does not give, by the name that the schema would have for them.
    ///
    /// `max_schema_bytes` bounds the schema, save for the names of the inputs, which it always has. What does not fit, or is no valid JSON Schema, accepts everything.
    pub fn new(
        operation: &Operation,
        reserved: &Reserved,
        arguments: &BTreeMap<String, Argument>,
        max_schema_bytes: usize,
    ) -> Self {
        let mut notes = Vec::new();
        let (params, body) = names::assign(operation, reserved, &mut notes);
        let mut properties = Vec::new();
        let mut origin = |name: Option<String>, property: &dyn Fn(&str) -> Property| match name {
            None => Origin::Nowhere,
            Some(name) => match arguments.get(&name) {
                Some(Argument::Fixed(value)) => Origin::Fixed(value.clone()),
                Some(Argument::Hidden) => Origin::Nowhere,
                None => {
                    properties.push(property(&name));
                    Origin::Argument(name)
                }
            },
        };
        let names: Vec<Option<String>> = params.iter().chain([&body]).cloned().collect();
        let known: Vec<&String> = names.iter().flatten().collect();
        let params = std::iter::zip(&operation.params, params)
            .map(|(param, name)| origin(name, &|name| Property::of_param(name, param, max_schema_bytes)))
            .collect();
        let body = operation
            .body
            .as_ref()
            .map(|declared| origin(body, &|name| Property::of_body(name, declared, max_schema_bytes)));
        // A parameter that is reserved is hidden already.
        let is_hidden = |name: &String| {
            arguments[name] == Argument::Hidden && operation.params.iter().any(|p| p.name == *name)
        };
        let mut strangers: Vec<String> =
            arguments.keys().filter(|name| !known.contains(name) && !is_hidden(name)).cloned().collect();
        notes.extend(
            strangers
                .iter()
                .map(|name| format!("there is no input `{name}`, for which something is configured")),
        );
        hidden(operation, arguments, &names, &mut strangers, &mut notes);
        let required = properties.iter().filter(|p| p.required).map(|p| p.name.clone()).collect();
        let schema = assemble(properties, &operation.definitions, max_schema_bytes, &mut notes);
        if ["(?=", "(?!", "(?<=", "(?<!"].iter().any(|look| schema.as_str().contains(look)) {
            notes.push("the schema has patterns with look-around, which the API alone checks".to_owned());
        }
        let checker = Checker::new(schema.raw().clone());
        Self { schema, checker, required, params, body, reserved: reserved.clone(), strangers, notes }
    }

    /// The tool's `inputSchema`: a JSON Schema (2020-12) that is complete in itself.
    pub fn schema(&self) -> &RawObject {
        &self.schema
    }

    /// What the operator should know: inputs that were renamed or left out, schemas that were widened.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Names for which something is configured that cannot be done. There is no such input: what was to be fixed or
    /// hidden may have another name now, and be the caller's. Or it is to be hidden, and the path needs it. Such an operation is not to be a tool.
    pub(crate) fn strangers(&self) -> &[String] {
        &self.strangers
    }

    /// Whether the arguments are what the schema says (E-W3).
    ///
    /// # Errors
    /// [`CallError::Arguments`].
    pub fn check(&self, arguments: &RawObject) -> Result<(), CallError> {
        let missing: Vec<_> =
            self.required.iter().filter(|name| !arguments.contains(name)).map(String::as_str).collect();
        if !missing.is_empty() {
            return Err(CallError::Arguments { reason: format!("missing: {}", missing.join(", ")) });
        }
        self.checker.check(arguments.raw()).map_err(|reason| CallError::Arguments { reason })
    }

    /// Where the values of the operation's parameters come from, in their order.
    pub(crate) fn params(&self) -> &[Origin] {
        &self.params
    }

    /// Where the body comes from, if the operation has one.
    pub(crate) fn body(&self) -> Option<&Origin> {
        self.body.as_ref()
    }

    /// Names that no part of an argument may have either.
    pub(crate) fn reserved(&self) -> &Reserved {
        &self.reserved
    }
}

/// What is required and never sent: without what belongs in it there is no path.
fn hidden(
    operation: &Operation,
    arguments: &BTreeMap<String, Argument>,
    names: &[Option<String>],
    strangers: &mut Vec<String>,
    notes: &mut Vec<String>,
) {
    let params = operation.params.iter().map(|p| (p.required, p.location == Location::Path));
    let body = operation.body.iter().map(|body| (body.required, false));
    for ((is_required, is_of_path), name) in std::iter::zip(params.chain(body), names) {
        let Some(name) = name.as_ref().filter(|name| arguments.get(*name) == Some(&Argument::Hidden)) else {
            continue;
        };
        if is_of_path {
            notes.push(format!("`{name}` is hidden, but the path needs it"));
            strangers.push(name.clone());
        } else if is_required {
            notes.push(format!("`{name}` is hidden, but the API requires it"));
        }
    }
}

/// The schema of an object with these properties. Where the whole is too long, the longest properties are widened
/// first; then descriptions go, and then types.
fn assemble(
    mut properties: Vec<Property>,
    definitions: &Definitions,
    max_bytes: usize,
    notes: &mut Vec<String>,
) -> RawObject {
    notes.extend(
        properties
            .iter()
            .filter(|p| p.was_unsound)
            .map(|p| format!("the schema of `{}` is not valid and accepts everything", p.name)),
    );
    let wider: [fn(&RawJson) -> RawJson; 3] =
        [property::stub, property::bare, |_| RawObject::empty().raw().clone()];
    let mut object = property::object(&properties);
    for wider in wider {
        let least = bundle::Bundle::least(&object);
        shorten(&mut properties, least.saturating_sub(max_bytes), wider);
        object = property::object(&properties);
    }
    notes.extend(
        properties
            .iter()
            .filter(|p| p.was_widened)
            .map(|p| format!("the schema of `{}` is too long and accepts everything", p.name)),
    );
    let fitted = bundle::Bundle::new(&object, definitions, max_bytes);
    notes.extend(fitted.notes());
    RawObject::try_from(fitted.into_schema()).unwrap_or_default()
}

/// Widens the longest schemas until there are so many bytes less, or nothing is left to widen.
fn shorten(properties: &mut [Property], mut excess: usize, wider: fn(&RawJson) -> RawJson) {
    let mut order: Vec<_> = properties.iter_mut().collect();
    order.sort_by_key(|property| Reverse(property.schema.as_bytes().len()));
    for property in order {
        if excess == 0 {
            return;
        }
        let wide = wider(&property.schema);
        excess = excess.saturating_sub(property.widen(wide));
    }
}
