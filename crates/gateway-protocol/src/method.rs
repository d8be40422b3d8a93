//! Method names (protocol.md §10).

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
/// A named prompt.
pub const PROMPTS_GET: &str = "prompts/get";
/// A resource's contents.
pub const RESOURCES_READ: &str = "resources/read";
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
/// Modern: first message of a listen stream.
pub const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";

/// The member of `params` that the `Mcp-Name` header repeats (protocol.md §5.2).
pub fn named_by(method: &str) -> Option<&'static str> {
    match method {
        TOOLS_CALL | PROMPTS_GET => Some("name"),
        RESOURCES_READ => Some("uri"),
        "tasks/get" | "tasks/update" | "tasks/cancel" => Some("taskId"),
        _ => None,
    }
}
