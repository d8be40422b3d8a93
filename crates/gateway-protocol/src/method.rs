//! Method names (protocol.md §10).

use gateway_domain::{ListKind, Question, Subject, TaskAct};

/// Legacy handshake.
pub const INITIALIZE: &str = "initialize";
/// End of the legacy handshake.
pub const INITIALIZED: &str = "notifications/initialized";
/// Legacy sign of life, either direction.
pub const PING: &str = "ping";
/// Modern: versions, capabilities, instructions.
pub const DISCOVER: &str = "server/discover";
/// A page of tools.
pub const TOOLS_LIST: &str = "tools/list";
/// A call of a tool.
pub const TOOLS_CALL: &str = "tools/call";
/// A page of prompts.
pub const PROMPTS_LIST: &str = "prompts/list";
/// A named prompt.
pub const PROMPTS_GET: &str = "prompts/get";
/// A page of resources.
pub const RESOURCES_LIST: &str = "resources/list";
/// A page of resource templates.
pub const TEMPLATES_LIST: &str = "resources/templates/list";
/// A resource's contents.
pub const RESOURCES_READ: &str = "resources/read";
/// Legacy: tell of changes of a resource.
pub const SUBSCRIBE: &str = "resources/subscribe";
/// Legacy: no longer.
pub const UNSUBSCRIBE: &str = "resources/unsubscribe";
/// Values for an argument.
pub const COMPLETE: &str = "completion/complete";
/// Legacy: the lowest level of log messages that a session wants.
pub const SET_LEVEL: &str = "logging/setLevel";
/// Asked of a client: its user is to answer.
pub const ELICIT: &str = Question::ELICIT;
/// Asked of a client: its model is to answer.
pub const SAMPLE: &str = Question::SAMPLE;
/// Asked of a client: the folders it works in.
pub const ROOTS_LIST: &str = Question::ROOTS;
/// State or result of a task.
pub const TASKS_GET: &str = "tasks/get";
/// Extension: answers for a task.
pub const TASKS_UPDATE: &str = "tasks/update";
/// A task shall end.
pub const TASKS_CANCEL: &str = "tasks/cancel";
/// Legacy core tasks: the result, once there is one.
pub const TASKS_RESULT: &str = "tasks/result";
/// Legacy core tasks: a page of them.
pub const TASKS_LIST: &str = "tasks/list";
/// Modern: a stream of change events.
pub const LISTEN: &str = "subscriptions/listen";
/// The request of this id is no longer wanted.
pub const CANCELLED: &str = "notifications/cancelled";
/// Something moved.
pub const PROGRESS: &str = "notifications/progress";
/// A log message.
pub const MESSAGE: &str = "notifications/message";
/// The list of tools is another one.
pub const TOOLS_LIST_CHANGED: &str = "notifications/tools/list_changed";
/// The list of prompts is another one.
pub const PROMPTS_LIST_CHANGED: &str = "notifications/prompts/list_changed";
/// The list of resources or of their templates is another one.
pub const RESOURCES_LIST_CHANGED: &str = "notifications/resources/list_changed";
/// A resource has changed.
pub const RESOURCE_UPDATED: &str = "notifications/resources/updated";
/// Legacy: the client's roots are others now.
pub const ROOTS_LIST_CHANGED: &str = "notifications/roots/list_changed";
/// 2025-11-25: what a URL was for has been done.
pub const ELICITATION_COMPLETE: &str = "notifications/elicitation/complete";
/// Extension: the state of a task.
pub const TASK_CHANGED: &str = "notifications/tasks";
/// Modern: first message of a listen stream.
pub const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";

/// The method that asks for a page of this list.
pub fn of_list(list: ListKind) -> &'static str {
    match list {
        ListKind::Tools => TOOLS_LIST,
        ListKind::Prompts => PROMPTS_LIST,
        ListKind::Resources => RESOURCES_LIST,
        ListKind::ResourceTemplates => TEMPLATES_LIST,
    }
}

/// The list that a request of this method asks for a page of.
pub fn list_of(method: &str) -> Option<ListKind> {
    ListKind::ALL.into_iter().find(|list| of_list(*list) == method)
}

/// The list that a notification says has changed.
pub fn changed_list(method: &str) -> Option<ListKind> {
    match method {
        TOOLS_LIST_CHANGED => Some(ListKind::Tools),
        PROMPTS_LIST_CHANGED => Some(ListKind::Prompts),
        RESOURCES_LIST_CHANGED => Some(ListKind::Resources),
        _ => None,
    }
}

/// The method of a request about this.
pub fn of(subject: &Subject) -> &str {
    match subject {
        Subject::Tool { .. } => TOOLS_CALL,
        Subject::Prompt { .. } => PROMPTS_GET,
        Subject::Resource { .. } => RESOURCES_READ,
        Subject::Completion(_) => COMPLETE,
        Subject::Task { act: TaskAct::Get, .. } => TASKS_GET,
        Subject::Task { act: TaskAct::Update, .. } => TASKS_UPDATE,
        Subject::Task { act: TaskAct::Cancel, .. } => TASKS_CANCEL,
        Subject::Other { method } => method,
    }
}

/// The member of `params` that the `Mcp-Name` header repeats (protocol.md §5.2).
pub fn named_by(method: &str) -> Option<&'static str> {
    match method {
        TOOLS_CALL | PROMPTS_GET => Some("name"),
        RESOURCES_READ => Some("uri"),
        TASKS_GET | TASKS_UPDATE | TASKS_CANCEL => Some("taskId"),
        _ => None,
    }
}
