//! The members of tasks, and how the two dialects differ in them (protocol.md §15.3).

use std::{sync::Arc, time::Duration};

use gateway_domain::{Error, InternalError, Outcome, RawJson, RawObject, TaskHandle};

use super::spliced;

const RELATED: &str = "io.modelcontextprotocol/related-task";

/// Where a task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    /// Also a status that nobody knows: the next may be another.
    Working,
    InputRequired,
    Completed,
    Failed,
    Cancelled,
}

impl Status {
    pub(super) fn of(task: &RawObject) -> Self {
        match task.get_text("status").as_deref() {
            Some("input_required") => Self::InputRequired,
            Some("completed") => Self::Completed,
            Some("failed") => Self::Failed,
            Some("cancelled") => Self::Cancelled,
            _ => Self::Working,
        }
    }
}

pub(super) fn id(task: &RawObject) -> Option<Arc<str>> {
    task.get_text("taskId").map(Arc::from)
}

/// How long to wait before the next look, within reason.
pub(super) fn pause(task: &RawObject) -> Duration {
    const USUAL: Duration = Duration::from_secs(1);
    let given =
        ["pollInterval", "pollIntervalMs"].into_iter().find_map(|member| task.get(member)?.to_integer());
    let given = given.and_then(|given| u64::try_from(given).ok()).map_or(USUAL, Duration::from_millis);
    given.clamp(Duration::from_millis(100), Duration::from_secs(60))
}

/// A legacy task as the extension writes it, with `changes` in the place of members.
pub(super) fn flat(
    task: &RawObject,
    result_type: &str,
    changes: &[(&str, &str)],
) -> Result<RawObject, Error> {
    let mut text = format!(r#"{{"resultType":"{result_type}""#);
    let task = without_related(task.clone())?;
    let mut write = |name: &str, value: &str| {
        text.push(',');
        text.push_str(RawJson::string(name).as_str());
        text.push(':');
        text.push_str(value);
    };
    let is_changed = |name: &str| changes.iter().any(|(changed, _)| *changed == name);
    for (name, value) in task.iter() {
        let name = match &*name {
            "ttl" => "ttlMs",
            "pollInterval" => "pollIntervalMs",
            "resultType" | "ttlMs" | "pollIntervalMs" => continue,
            name => name,
        };
        if !is_changed(name) {
            write(name, value.as_str());
        }
    }
    changes.iter().for_each(|(name, value)| write(name, value));
    text.push('}');
    RawObject::parse(text).map_err(|_| InternalError { what: "a task became invalid" }.into())
}

/// A result without the mark that it is a task's, which means nothing to who called no task.
pub(super) fn without_related(result: RawObject) -> Result<RawObject, Error> {
    let Some(meta) = result.get_object("_meta").filter(|meta| meta.contains(RELATED)) else {
        return Ok(result);
    };
    let edit = result.edit();
    let edit = match meta.len() {
        1 => edit.remove("_meta"),
        _ => edit.set("_meta", meta.edit().remove(RELATED).finish().as_str()),
    };
    spliced(edit.finish())
}

/// The answer to `tasks/get`, which some servers mark as a task and not as complete (protocol.md §21).
pub(super) fn state(outcome: Outcome) -> Result<Outcome, Error> {
    match outcome {
        Outcome::Task(TaskHandle { object, .. }) => {
            let object = object.edit().set("resultType", r#""complete""#).finish();
            spliced(object).map(Outcome::Complete)
        }
        outcome => Ok(outcome),
    }
}

/// The same members under other names, without those that have none.
pub(super) fn renamed(object: &RawObject, rename: impl Fn(&str) -> Option<String>) -> RawObject {
    let members = object
        .iter()
        .filter_map(|(name, value)| Some(format!("{}:{value}", RawJson::string(&rename(&name)?))));
    let members: Vec<_> = members.collect();
    // Names that are different stay so by what the callers do to them.
    RawObject::parse(format!("{{{}}}", members.join(","))).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(text: &str) -> RawObject {
        RawObject::parse(text.to_owned()).unwrap()
    }

    #[test]
    fn a_legacy_task_reads_as_one_of_the_extension() {
        for (legacy, changes, flattened) in [
            (
                r#"{"taskId":"t","status":"working","ttl":null,"pollInterval":5e2,"createdAt":"x","more":1.0}"#,
                &[] as &[(&str, &str)],
                r#"{"resultType":"task","taskId":"t","status":"working","ttlMs":null,"pollIntervalMs":5e2,"createdAt":"x","more":1.0}"#,
            ),
            (
                r#"{"taskId":"t","status":"failed","_meta":{"io.modelcontextprotocol/related-task":{}}}"#,
                &[("status", r#""completed""#), ("result", r#"{"isError":true}"#)],
                r#"{"resultType":"task","taskId":"t","status":"completed","result":{"isError":true}}"#,
            ),
        ] {
            assert_eq!(flat(&object(legacy), "task", changes).unwrap(), object(flattened));
        }
    }

    #[test]
    fn only_the_mark_of_a_task_goes() {
        for (result, expected) in [
            (r#"{"a":1}"#, r#"{"a":1}"#),
            (r#"{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t"}},"a":1}"#, r#"{"a":1}"#),
            (
                r#"{"a":1,"_meta":{"x":1.0,"io.modelcontextprotocol/related-task":{"taskId":"t"}}}"#,
                r#"{"a":1,"_meta":{"x":1.0}}"#,
            ),
        ] {
            assert_eq!(without_related(object(result)).unwrap(), object(expected));
        }
    }

    #[test]
    fn looks_are_paced_within_reason() {
        for (task, millis) in [
            ("{}", 1_000),
            (r#"{"pollInterval":500}"#, 500),
            (r#"{"pollIntervalMs":2000}"#, 2_000),
            (r#"{"pollInterval":0}"#, 100),
            (r#"{"pollInterval":-1}"#, 1_000),
            (r#"{"pollInterval":99999999}"#, 60_000),
        ] {
            assert_eq!(pause(&object(task)).as_millis(), millis, "{task}");
        }
    }
}
