use std::sync::Arc;

use crate::ParamHeader;

/// What a request of a client is about: the method, and the one member of `params` that is routed on. All other
/// members are in [`crate::Call::params`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// `tools/call`.
    Tool {
        /// `name`.
        name: Arc<str>,
        /// Which of its arguments are mirrored in headers; filled in by *resolve*.
        headers: Arc<[ParamHeader]>,
        /// Whether it can or must be called as a task in the legacy era; filled in by *resolve*.
        task: TaskSupport,
    },
    /// `prompts/get`.
    Prompt {
        /// `name`.
        name: Arc<str>,
    },
    /// `resources/read`; of a subscription, the resource that is watched.
    Resource {
        /// `uri`.
        uri: Arc<str>,
    },
    /// `completion/complete`.
    Completion(Reference),
    /// `tasks/get`, `tasks/update` or `tasks/cancel` of the Tasks extension (protocol.md §15.2).
    Task {
        /// `taskId`.
        id: Arc<str>,
        /// Which of them.
        act: TaskAct,
        /// The tool that began it, by its name on `/mcp`; `None`: nobody knows.
        tool: Option<Arc<str>>,
    },
    /// Any other method; nothing of its params is routed on (a view of one downstream only).
    Other {
        /// The method.
        method: Arc<str>,
    },
}

/// What is to be completed (protocol.md §11.1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reference {
    /// `ref/prompt` with its `name`.
    Prompt(Arc<str>),
    /// `ref/resource` with its `uri`, which may be a template.
    Resource(Arc<str>),
}

/// What is wanted of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TaskAct {
    /// Its state, or its result.
    Get,
    /// It is given answers.
    Update,
    /// It shall end.
    Cancel,
}

/// `execution.taskSupport` of a 2025-11-25 tool (protocol.md §15.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum TaskSupport {
    /// Only plain calls.
    #[default]
    Forbidden,
    /// Either way.
    Optional,
    /// Only as a task.
    Required,
}

impl Subject {
    /// A tool of this name, without mirrored arguments and tasks.
    pub fn tool(name: &str) -> Self {
        Self::Tool { name: name.into(), headers: Arc::new([]), task: TaskSupport::Forbidden }
    }
}
