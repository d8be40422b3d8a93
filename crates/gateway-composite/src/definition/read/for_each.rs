use std::sync::Arc;

use gateway_domain::{RawJson, RawObject};

use super::{
    super::{Draft, ForEachStep, InnerStep, OnError, ToolStep},
    members::Members,
    on_error::on_error,
    time::time,
    value::Value,
};

/// What a loop has beside the members of every step.
pub(super) const MEMBERS: &[&str] = &["collection", "itemVar", "maxParallel", "maxIterations", "step"];

/// The members of a loop (C-25). A collection that is missing is an empty text.
pub(super) fn for_each(members: &mut Members) -> ForEachStep {
    members.demand("step");
    ForEachStep {
        collection: members.take("collection", Value::any).unwrap_or_else(|| RawJson::string("")),
        item_var: members.take("itemVar", Value::text).map_or_else(|| "item".into(), Arc::from),
        max_parallel: members.take("maxParallel", Value::count),
        max_iterations: members.take("maxIterations", Value::count),
        step: members.draft("step", inner).unwrap_or_else(unreadable),
    }
}

/// The call of a tool, of a step or of a loop's inner step.
pub(super) fn call(members: &mut Members) -> ToolStep {
    ToolStep {
        tool: members.take("tool", Value::text).unwrap_or_default().into(),
        arguments: members.take("arguments", Value::object).unwrap_or_else(RawObject::empty),
    }
}

fn inner(value: Value) -> Draft<InnerStep> {
    let object = match value.indexed("an object") {
        Ok(object) => object,
        Err(problems) => return Draft::left_out(unreadable(), &value.place, problems),
    };
    let known = &["id", "type", "tool", "arguments", "condition", "onError", "timeout", "defaultResults"];
    let mut members = Members::explained(object, value.place, known, |name| {
        let of_the_loop = name == "dependsOn" || MEMBERS.contains(&name);
        of_the_loop.then(|| "belongs to the loop itself, not to its inner step; move it there".to_owned())
    });
    // Steps have one (C-25), so it may be written; but nothing can refer to it: outputs of items stand in the loop's.
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
    members.drafted(step)
}

/// What stands in for an inner step that cannot be read.
fn unreadable() -> InnerStep {
    InnerStep {
        call: no_call(),
        condition: None,
        on_error: OnError::default(),
        timeout: None,
        default_results: None,
    }
}

/// What stands in for a call that cannot be read.
pub(super) fn no_call() -> ToolStep {
    ToolStep { tool: Arc::default(), arguments: RawObject::empty() }
}
