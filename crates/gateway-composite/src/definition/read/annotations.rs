use super::{
    super::Annotations,
    value::{Read, Value},
};

/// `annotations` (C-21).
pub(super) fn annotations(value: Value) -> Read<Annotations> {
    let mut members =
        value.members(&["title", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"])?;
    let annotations = Annotations {
        title: members.take("title", Value::text),
        read_only_hint: members.take("readOnlyHint", Value::flag),
        destructive_hint: members.take("destructiveHint", Value::flag),
        idempotent_hint: members.take("idempotentHint", Value::flag),
        open_world_hint: members.take("openWorldHint", Value::flag),
    };
    members.finish(annotations)
}
