use gateway_domain::{RawJson, RawObject};

use crate::{
    engine::{AnnotationOverride, Annotations, Override},
    ir::Operation,
};

/// What a client is shown of a tool.
pub(in crate::engine) fn define(
    name: &str,
    operation: &Operation,
    wanted: &Override,
    annotations: &Annotations,
    input: &RawObject,
    output: Option<&RawJson>,
) -> gateway_domain::Tool {
    let title = match &annotations.title {
        Some(title) => format!(r#","title":{}"#, RawJson::string(title)),
        None => String::new(),
    };
    let output = output.map(|schema| format!(r#","outputSchema":{schema}"#)).unwrap_or_default();
    // Written and checked in one piece: there are thousands of them.
    let text = format!(
        r#"{{"name":{}{title},"description":{},"inputSchema":{}{output},"annotations":{}}}"#,
        RawJson::string(name),
        RawJson::string(&description(operation, wanted.description.as_deref())),
        input.as_str(),
        hints(annotations),
    );
    let definition = RawObject::parse(text).ok().and_then(gateway_domain::Tool::from_definition);
    definition.unwrap_or_else(|| gateway_domain::Tool::new(name))
}

/// Summary, description, and how the API is called, with blank lines between what there is (E-11).
fn description(operation: &Operation, wanted: Option<&str>) -> String {
    let calls = format!("Calls {} {}", operation.method, operation.path);
    let said = match wanted {
        Some(wanted) => [Some(wanted), None],
        None => [operation.summary.as_deref(), operation.description.as_deref()],
    };
    let said = said.into_iter().flatten().map(str::trim).filter(|part| !part.is_empty());
    said.chain([calls.as_str()]).collect::<Vec<_>>().join("\n\n")
}

fn hints(annotations: &Annotations) -> String {
    let Annotations { title, read_only, destructive, idempotent, open_world } = annotations;
    let title = title.as_deref().map(|title| format!(r#""title":{},"#, RawJson::string(title)));
    format!(
        r#"{{{}"readOnlyHint":{read_only},"destructiveHint":{destructive},"idempotentHint":{idempotent},"openWorldHint":{open_world}}}"#,
        title.unwrap_or_default(),
    )
}

impl Annotations {
    /// The same with what the operator says of them (E-14).
    pub(in crate::engine) fn overridden(self, title: Option<&str>, hints: AnnotationOverride) -> Self {
        let becomes_destructive = hints.destructive == Some(true);
        Self {
            title: title.map(str::to_owned).or(self.title),
            read_only: hints.read_only.unwrap_or(self.read_only && !becomes_destructive),
            destructive: hints.destructive.unwrap_or(self.destructive),
            idempotent: hints.idempotent.unwrap_or(self.idempotent),
            open_world: hints.open_world.unwrap_or(self.open_world),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Method;

    fn operation(summary: Option<&str>, description: Option<&str>) -> Operation {
        Operation {
            summary: summary.map(str::to_owned),
            description: description.map(str::to_owned),
            ..Operation::new("read", Method::Get, "/a/{b}")
        }
    }

    #[test]
    fn a_description_says_what_is_called_at_its_end() {
        for (summary, said, wanted, expected) in [
            (Some("S"), Some("D"), None, "S\n\nD\n\nCalls GET /a/{b}"),
            (Some("S"), None, None, "S\n\nCalls GET /a/{b}"),
            (None, Some(" D\n"), None, "D\n\nCalls GET /a/{b}"),
            (Some(""), Some(" \n"), None, "Calls GET /a/{b}"),
            (Some("S"), Some("D"), Some("W"), "W\n\nCalls GET /a/{b}"),
            (Some("S"), Some("D"), Some(""), "Calls GET /a/{b}"),
        ] {
            assert_eq!(description(&operation(summary, said), wanted), expected);
        }
    }

    #[test]
    fn hints_follow_from_the_method_and_what_the_operator_says() {
        const NONE: AnnotationOverride =
            AnnotationOverride { read_only: None, destructive: None, idempotent: None, open_world: None };
        let destructive = AnnotationOverride { destructive: Some(true), ..NONE };
        let closed = AnnotationOverride { open_world: Some(false), idempotent: Some(true), ..NONE };
        let both = AnnotationOverride { read_only: Some(true), ..destructive };
        for (method, hints, expected) in [
            (Method::Get, NONE, [true, false, true, true]),
            (Method::Head, NONE, [true, false, true, true]),
            (Method::Post, NONE, [false, false, false, true]),
            (Method::Put, NONE, [false, true, true, true]),
            (Method::Patch, NONE, [false, true, false, true]),
            (Method::Delete, NONE, [false, true, true, true]),
            (Method::Get, destructive, [false, true, true, true]),
            (Method::Get, both, [true, true, true, true]),
            (Method::Post, destructive, [false, true, false, true]),
            (Method::Post, closed, [false, false, true, false]),
        ] {
            let made = Annotations::of(&Operation::new("x", method, "/")).overridden(None, hints);
            let made = [made.read_only, made.destructive, made.idempotent, made.open_world];
            assert_eq!(made, expected, "for {method} with {hints:?}");
        }
    }

    #[test]
    fn a_definition_has_everything_that_is_known() {
        let operation = operation(Some("Read \"it\""), None);
        let annotations = Annotations::of(&operation).overridden(None, AnnotationOverride::default());
        let input = RawObject::parse(r#"{"type":"object","n":1e400}"#).unwrap();
        let output = RawJson::parse(r#"{"type":"array"}"#).unwrap();
        let whole = define("read", &operation, &Override::default(), &annotations, &input, Some(&output));
        assert_eq!(
            whole.definition().as_str(),
            concat!(
                r#"{"name":"read","title":"Read \"it\"","description":"Read \"it\"\n\nCalls GET /a/{b}","#,
                r#""inputSchema":{"type":"object","n":1e400},"outputSchema":{"type":"array"},"#,
                r#""annotations":{"title":"Read \"it\"","readOnlyHint":true,"destructiveHint":false,"#,
                r#""idempotentHint":true,"openWorldHint":true}}"#
            )
        );
        let untitled = Annotations { title: None, ..annotations };
        let bare = define("read", &operation, &Override::default(), &untitled, &input, None);
        assert_eq!((bare.title(), bare.output_schema()), (None, None));
    }
}
