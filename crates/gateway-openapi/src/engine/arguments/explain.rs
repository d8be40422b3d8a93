use std::fmt::Write as _;

use jsonschema::{
    ValidationError,
    error::{TypeKind, ValidationErrorKind as Kind},
};
use serde_json::Value;

/// The longest clause, and the longest part of it that comes from the schema, in characters.
const LONGEST: usize = 300;
const LONGEST_PART: usize = 160;

/// What is wrong, in words for a model: where, and what should be there. What is there is not repeated: it may be long,
/// and the model knows it.
pub(super) fn clause(error: &ValidationError<'_>) -> String {
    let place = place(error.instance_path().as_str());
    let text = match error.kind() {
        Kind::Required { property } => match (property.as_str(), place.as_str()) {
            (Some(name), "") => format!("`{name}` is missing"),
            (Some(name), place) => format!("`{place}.{name}` is missing"),
            _ => "a member is missing".to_owned(),
        },
        kind if place.is_empty() => format!("the value {}", demand(kind, error)),
        kind => format!("`{place}` {}", demand(kind, error)),
    };
    cut(&text, LONGEST)
}

fn demand(kind: &Kind, error: &ValidationError<'_>) -> String {
    match kind {
        Kind::Type { kind } => format!("must be {}", types(kind)),
        Kind::Enum { options } => format!("must be one of {}", json(options)),
        Kind::Constant { expected_value } => format!("must be {}", json(expected_value)),
        Kind::Minimum { limit } => format!("must be at least {}", json(limit)),
        Kind::ExclusiveMinimum { limit } => format!("must be more than {}", json(limit)),
        Kind::Maximum { limit } => format!("must be at most {}", json(limit)),
        Kind::ExclusiveMaximum { limit } => format!("must be less than {}", json(limit)),
        Kind::MultipleOf { multiple_of } => format!("must be a multiple of {multiple_of}"),
        Kind::MinLength { limit } => format!("must have at least {limit} characters"),
        Kind::MaxLength { limit } => format!("must have at most {limit} characters"),
        Kind::MinItems { limit } => format!("must have at least {limit} items"),
        Kind::MaxItems { limit } => format!("must have at most {limit} items"),
        Kind::MinProperties { limit } => format!("must have at least {limit} members"),
        Kind::MaxProperties { limit } => format!("must have at most {limit} members"),
        Kind::Pattern { pattern } => format!("must match the pattern {}", cut(pattern, LONGEST_PART)),
        Kind::UniqueItems => "must not have equal items".to_owned(),
        Kind::FalseSchema => "must not be given".to_owned(),
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            format!("must not have the members {}", cut(&unexpected.join(", "), LONGEST_PART))
        }
        Kind::AnyOf { .. } | Kind::OneOfNotValid { .. } => "matches none of the alternatives".to_owned(),
        Kind::OneOfMultipleValid { .. } => "matches more than one of the alternatives".to_owned(),
        Kind::Not { .. } => "is what its schema excludes".to_owned(),
        _ => format!("is not what its schema says of `{}`", error.kind().keyword()),
    }
}

fn types(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(kind) => kind.to_string(),
        TypeKind::Multiple(kinds) => {
            kinds.iter().map(|kind| kind.to_string()).collect::<Vec<_>>().join(" or ")
        }
    }
}

fn json(value: &Value) -> String {
    cut(&value.to_string(), LONGEST_PART)
}

/// `/body/items/0/id` as `body.items[0].id`.
fn place(pointer: &str) -> String {
    let mut place = String::new();
    for part in pointer.split('/').skip(1) {
        let name = part.replace("~1", "/").replace("~0", "~");
        let _infallible = match name.parse::<usize>() {
            Ok(index) => write!(place, "[{index}]"),
            Err(_) if place.is_empty() => write!(place, "{name}"),
            Err(_) => write!(place, ".{name}"),
        };
    }
    cut(&place, LONGEST_PART)
}

fn cut(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
