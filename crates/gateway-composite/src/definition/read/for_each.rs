use gateway_domain::{RawJson, RawObject};

use super::{
    super::{ForEachStep, InnerStep, ToolStep},
    members::Members,
    on_error::on_error,
    time::time,
    value::{Read, Value},
};

/// What a loop has beside the members of every step.
pub(super) const MEMBERS: &[&str] = &["collection", "itemVar", "maxParallel", "maxIterations", "step"];

/// The members of a loop (C-25). A collection that is missing is null.
pub(super) fn for_each(members: &mut Members) -> Option<ForEachStep> {
    let collection = members.take("collection", Value::any);
    let item_var = members.take("itemVar", Value::text);
    let max_parallel = members.take("maxParallel", Value::count);
    let max_iterations = members.take("maxIterations", Value::count);
    let step = members.demand("step", inner)?;
    Some(ForEachStep {
        collection: collection.or_else(|| RawJson::parse("null").ok())?,
        item_var: item_var.unwrap_or_else(|| "item".to_owned()).into(),
        max_parallel,
        max_iterations,
        step,
    })
}

/// The call of a tool, of a step or of a loop's inner step.
pub(super) fn call(members: &mut Members) -> ToolStep {
    ToolStep {
        tool: members.take("tool", Value::text).unwrap_or_default().into(),
        arguments: members.take("arguments", Value::object).unwrap_or_else(RawObject::empty),
    }
}

fn inner(value: Value) -> Read<InnerStep> {
    let object = value.indexed("an object")?;
    let known = &["id", "type", "tool", "arguments", "condition", "onError", "timeout", "defaultResults"];
    let mut members = Members::explained(object, value.place, known, |name| {
        let of_the_loop = name == "dependsOn" || MEMBERS.contains(&name);
        of_the_loop.then(|| "belongs to the loop itself, not to its inner step; move it there".to_owned())
    });
    // A name of its own is a remark: outputs of items stand in the loop's.
    members.take("id", Value::text);
    members.take("type", |kind| match kind.raw.to_text().as_deref() {
        Some("tool") => Ok(()),
        _ => kind.problem("must be `tool`; a loop's inner step can be nothing else"),
    });
    let step = InnerStep {
        call: call(&mut members),
        condition: members.take("condition", Value::text),
        on_error: members.take("onError", on_error).unwrap_or_default(),
        timeout: members.take("timeout", time),
        default_results: members.take("defaultResults", Value::object),
    };
    members.finish(Some(step))
}
