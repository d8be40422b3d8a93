//! Tasks of both eras: those of 2025-11-25 and the extension `io.modelcontextprotocol/tasks`.

use std::time::Duration;

use tokio::time::Instant;

use super::{
    Call,
    questions::{Asking, Question, Round, ask, input_requests, lacks},
    structured, whole,
};
use crate::{
    engine::{Engine, complete, locked},
    message::{Message, members, quote},
    reply::{End, Reply},
};

/// One task.
#[derive(Debug, Clone)]
pub(crate) struct Task {
    tool: String,
    ready: Instant,
    cancelled: bool,
    /// Raw answers, once a task that asks has them.
    answers: Option<String>,
}

impl Task {
    fn asks(&self) -> bool {
        self.tool == "task_ask" && self.answers.is_none()
    }

    fn status(&self) -> &'static str {
        match self {
            Self { cancelled: true, .. } => "cancelled",
            task if task.asks() => "input_required",
            task if Instant::now() < task.ready => "working",
            _ => "completed",
        }
    }

    fn is_over(&self) -> bool {
        matches!(self.status(), "cancelled" | "completed")
    }

    /// Raw members that tell of it.
    fn members(&self, id: &str, modern: bool) -> String {
        let (ttl, poll) = if modern { ("ttlMs", "pollIntervalMs") } else { ("ttl", "pollInterval") };
        format!(
            r#""taskId":{},"status":"{}","createdAt":"{BORN}","lastUpdatedAt":"{BORN}","{ttl}":600000,"{poll}":50"#,
            quote(id),
            self.status()
        )
    }

    /// Raw members of the result of the call.
    fn outcome(&self) -> String {
        match &self.answers {
            Some(answers) => structured(&format!(r#"{{"answers":{answers}}}"#)),
            None if self.tool == "failing_task" => {
                format!(r#"{},"isError":true"#, super::text("the task failed"))
            }
            None => structured(r#"{"task":"done"}"#),
        }
    }
}

/// A call of a tool that may become a task.
pub(super) fn call(call: &Call<'_>) -> Reply {
    let declared = call.capabilities["extensions"][EXTENSION].is_object();
    let is_task = if call.modern { declared } else { call.wants_task };
    let optional = call.name == "maybe_task";
    match (is_task, optional, call.modern) {
        (true, ..) => create(call),
        (false, true, modern) => Reply::end(End::Result(whole::plain(modern))),
        (false, false, true) => lacks(true, &format!(r#"{{"extensions":{{"{EXTENSION}":{{}}}}}}"#)),
        (false, false, false) => Reply::refuse(-32601, 200, "this tool runs as a task only"),
    }
}

fn create(call: &Call<'_>) -> Reply {
    let wait = Duration::from_millis(call.argument("ms").as_u64().unwrap_or(120));
    let task =
        Task { tool: call.name.to_owned(), ready: Instant::now() + wait, cancelled: false, answers: None };
    let mut tasks = locked(&call.engine.tasks);
    let id = format!("task-{}-{}", std::process::id(), tasks.len() + 1);
    let members = task.members(&id, call.modern);
    tasks.insert(id, task);
    Reply::end(End::Result(match call.modern {
        true => format!(r#"{{"resultType":"task",{members}}}"#),
        false => format!(r#"{{"task":{{{members}}}}}"#),
    }))
}

/// `tasks/…` of 2025-11-25.
pub(crate) fn legacy(engine: &Engine, method: &str, message: &Message) -> Reply {
    if method == "tasks/list" {
        let tasks = locked(&engine.tasks);
        let all = tasks.iter().map(|(id, task)| format!("{{{}}}", task.members(id, false)));
        let all = all.collect::<Vec<_>>().join(",");
        return Reply::end(End::Result(format!(r#"{{"tasks":[{all}]}}"#)));
    }
    let Some((id, task)) = find(engine, message) else { return unknown() };
    match method {
        "tasks/get" => Reply::end(End::Result(format!("{{{}}}", task.members(&id, false)))),
        "tasks/cancel" if task.is_over() => Reply::refuse(-32602, 200, "the task is over"),
        "tasks/cancel" => {
            let task = change(engine, &id, |task| task.cancelled = true);
            Reply::end(End::Result(format!("{{{}}}", task.members(&id, false))))
        }
        "tasks/result" => legacy_result(engine, &id, &task),
        _ => Reply::refuse(-32601, 200, format!("no method {method}")),
    }
}

fn legacy_result(engine: &Engine, id: &str, task: &Task) -> Reply {
    if task.cancelled {
        return Reply::refuse(-32603, 200, "the task was cancelled");
    }
    let related = format!(r#""_meta":{{"io.modelcontextprotocol/related-task":{{"taskId":{}}}}}"#, quote(id));
    if task.asks() {
        // Whoever reads the questions has declared them: the call said so.
        let capabilities = serde_json::json!({"elicitation": {"form": {}}});
        let asking = Asking {
            engine,
            modern: false,
            capabilities: &capabilities,
            responses: None,
            state: None,
            task: Some(id),
        };
        let id = id.to_owned();
        return ask(
            &asking,
            ROUNDS,
            Box::new(move |engine, answers| {
                let task = change(engine, &id, |task| task.answers = Some(answers.to_owned()));
                format!("{},{related}", task.outcome())
            }),
        );
    }
    let delay = task.ready.saturating_duration_since(Instant::now());
    let outcome = complete(false, &format!("{},{related}", task.outcome()));
    Reply { delay, ..Reply::end(End::Result(outcome)) }
}

/// `tasks/…` of the extension.
pub(crate) fn modern(
    engine: &Engine,
    method: &str,
    message: &Message,
    capabilities: &serde_json::Value,
) -> Reply {
    if !capabilities["extensions"][EXTENSION].is_object() {
        return lacks(true, &format!(r#"{{"extensions":{{"{EXTENSION}":{{}}}}}}"#));
    }
    let Some((id, task)) = find(engine, message) else { return unknown() };
    match method {
        "tasks/get" => {
            let members = format!("{}{}", task.members(&id, true), inlined(engine, &task));
            Reply::end(End::Result(complete(true, &members)))
        }
        "tasks/update" => {
            let given = message.params.get("inputResponses").and_then(|raw| members(raw.get()));
            if given.is_some_and(|given| given.contains_key("name")) {
                let raw = message.params.get("inputResponses").map_or("{}", |raw| raw.get());
                change(engine, &id, |task| task.answers = Some(raw.to_owned()));
            }
            acknowledged()
        }
        "tasks/cancel" => {
            change(engine, &id, |task| task.cancelled |= !task.is_over());
            acknowledged()
        }
        _ => Reply::refuse(-32601, 404, format!("no method {method}")),
    }
}

/// What `tasks/get` of the extension tells besides.
fn inlined(engine: &Engine, task: &Task) -> String {
    match task.status() {
        "completed" => format!(r#","result":{}"#, complete(true, &task.outcome())),
        "input_required" => {
            let asking = Asking {
                engine,
                modern: true,
                capabilities: &serde_json::Value::Null,
                responses: None,
                state: None,
                task: None,
            };
            format!(r#","inputRequests":{}"#, input_requests(&asking, ROUNDS[0]))
        }
        _ => String::new(),
    }
}

fn acknowledged() -> Reply {
    Reply::end(End::Result(r#"{"resultType":"complete"}"#.to_owned()))
}

fn find(engine: &Engine, message: &Message) -> Option<(String, Task)> {
    let id = message.param("taskId")?;
    let task = locked(&engine.tasks).get(&id).cloned()?;
    Some((id, task))
}

/// Changes it and gives what became of it.
fn change(engine: &Engine, id: &str, change: impl FnOnce(&mut Task)) -> Task {
    let mut tasks = locked(&engine.tasks);
    let gone = Task { tool: String::new(), ready: Instant::now(), cancelled: true, answers: None };
    let task = tasks.entry(id.to_owned()).or_insert(gone);
    change(task);
    task.clone()
}

fn unknown() -> Reply {
    Reply::refuse(-32602, 200, "unknown task")
}

const ROUNDS: &[Round] = &[&[Question::Form]];
const EXTENSION: &str = "io.modelcontextprotocol/tasks";
const BORN: &str = "2026-11-02T09:00:00Z";
