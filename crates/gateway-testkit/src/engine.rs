//! What a fake server says, apart from how it is carried: both eras, the tools, pages, probes.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use tokio::sync::{broadcast, oneshot};

use crate::{
    behaviour::{self, Call},
    fixtures,
    message::{Message, Refusal, members, quote, string},
    profile::{Era, LEGACY, MODERN, Paging, Probe, Profile},
    reply::{End, Interaction, Reply},
};

/// The state that belongs to one legacy session, or to nobody (modern, stateless).
#[derive(Debug, Default)]
pub(crate) struct Conversation {
    revision: Mutex<Option<String>>,
    counter: AtomicU64,
}

impl Conversation {
    /// A conversation that needs no `initialize`.
    pub(crate) fn stateless(revision: &str) -> Self {
        Self { revision: Mutex::new(Some(revision.to_owned())), counter: AtomicU64::new(0) }
    }

    pub(crate) fn revision(&self) -> Option<String> {
        locked(&self.revision).clone()
    }

    /// Counts a call of `counter`; the first is 1.
    pub(crate) fn count(&self) -> u64 {
        self.counter.fetch_add(1, Ordering::Relaxed) + 1
    }
}

/// One fake server's mind.
#[derive(Debug)]
pub(crate) struct Engine {
    pub(crate) profile: Profile,
    tools: Mutex<Vec<(String, String)>>,
    changes: broadcast::Sender<String>,
    facts: Mutex<BTreeMap<String, String>>,
    cancelled: Mutex<Vec<String>>,
    /// Who waits for the client's response to a request of ours, by raw id.
    asked: Mutex<HashMap<String, oneshot::Sender<String>>>,
    asks: AtomicU64,
}

impl Engine {
    pub(crate) fn new(profile: Profile) -> Self {
        let tools = profile.tools.iter().map(|t| (tool_name(t), t.clone())).collect();
        Self {
            profile,
            tools: Mutex::new(tools),
            changes: broadcast::channel(CHANGES).0,
            facts: Mutex::default(),
            cancelled: Mutex::default(),
            asked: Mutex::default(),
            asks: AtomicU64::new(1),
        }
    }

    /// Methods of change notifications, as they happen.
    pub(crate) fn changes(&self) -> broadcast::Receiver<String> {
        self.changes.subscribe()
    }

    /// Tells every open stream of a change; nobody listening is fine.
    pub(crate) fn announce(&self, method: &str) {
        drop(self.changes.send(method.to_owned()));
    }

    pub(crate) fn set_tools(&self, definitions: &[String]) {
        *locked(&self.tools) = definitions.iter().map(|t| (tool_name(t), t.clone())).collect();
        self.announce(TOOLS_CHANGED);
    }

    pub(crate) fn add_tool(&self, definition: &str) {
        locked(&self.tools).push((tool_name(definition), definition.to_owned()));
        self.announce(TOOLS_CHANGED);
    }

    pub(crate) fn tool(&self, name: &str) -> Option<String> {
        locked(&self.tools).iter().find(|(n, _)| n == name).map(|(_, t)| t.clone())
    }

    /// Adds a line (raw JSON) to what the tool `report` tells.
    pub(crate) fn note(&self, name: &str, json: String) {
        locked(&self.facts).insert(name.to_owned(), json);
    }

    /// Remembers that the request with this raw id was cancelled.
    pub(crate) fn note_cancelled(&self, id: &str) {
        locked(&self.cancelled).push(id.to_owned());
    }

    pub(crate) fn cancelled(&self) -> Vec<String> {
        locked(&self.cancelled).clone()
    }

    pub(crate) fn report(&self) -> String {
        let cancelled = self.cancelled().join(",");
        let facts = locked(&self.facts).iter().map(|(k, v)| format!(r#","{k}":{v}"#)).collect::<String>();
        format!(r#"{{"cancelled":[{cancelled}]{facts}}}"#)
    }

    pub(crate) fn answer(&self, message: &Message, conversation: &Conversation) -> Reply {
        let Some(method) = message.method.as_deref() else {
            self.responded(message);
            return Reply::end(End::Nothing);
        };
        if message.id.is_none() {
            return self.notified(method, message);
        }
        if let Some(reply) = self.refuse_probe(message) {
            return reply;
        }
        match (message.version(), self.profile.era) {
            (Some(version), Era::Modern | Era::Dual) => self.modern(method, message, &version, conversation),
            (None, Era::Modern) => needs_envelope(),
            _ => self.legacy(method, message, conversation),
        }
    }

    /// A request of ours with this method and parameters, to be sent in the middle of a call.
    pub(crate) fn interact(&self, method: &str, params: &str) -> Interaction {
        let (sender, response) = oneshot::channel();
        let mut asked = locked(&self.asked);
        let id = format!("\"ask-{}\"", self.asks.fetch_add(1, Ordering::Relaxed));
        let request = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#);
        asked.insert(id, sender);
        Interaction { request, response }
    }

    fn responded(&self, message: &Message) {
        let waiting = message.id.as_deref().and_then(|id| locked(&self.asked).remove(id));
        match waiting {
            // The call may have been cancelled meanwhile.
            Some(sender) => drop(sender.send(message.text.clone())),
            None => self.note("roots_answer", message.text.clone()),
        }
    }

    /// The answer to `server/discover`, if it is to be refused.
    pub(crate) fn refuse_probe(&self, message: &Message) -> Option<Reply> {
        if message.method.as_deref() != Some("server/discover") {
            return None;
        }
        let probe = match (self.profile.probe, self.profile.era) {
            (None, Era::Legacy) => Probe::Error(-32601),
            (probe, _) => probe?,
        };
        Some(match probe {
            Probe::Error(code) => Reply::refuse(code, 400, "server/discover is refused"),
            Probe::Silent => Reply::end(End::Never),
            Probe::Exit => Reply::end(End::Crash),
            Probe::Garbage => Reply::end(End::Garbage),
            Probe::Empty => Reply::end(End::Result("{}".to_owned())),
        })
    }

    fn notified(&self, method: &str, message: &Message) -> Reply {
        match method {
            "notifications/initialized" if self.profile.request_roots => {
                Reply::end(End::Ask(r#"{"jsonrpc":"2.0","id":"roots-1","method":"roots/list"}"#.to_owned()))
            }
            "notifications/cancelled" => {
                if let Some(id) = message.params.get("requestId") {
                    self.note_cancelled(id.get());
                }
                Reply::end(End::Nothing)
            }
            _ => Reply::end(End::Nothing),
        }
    }

    fn modern(&self, method: &str, message: &Message, version: &str, nobody: &Conversation) -> Reply {
        if message.meta("io.modelcontextprotocol/clientCapabilities").is_none() {
            return Reply::refuse(-32602, 400, "_meta lacks io.modelcontextprotocol/clientCapabilities");
        }
        if version != MODERN {
            let mut refusal = Refusal::new(-32022, 400, "unsupported protocol version");
            refusal.data = Some(format!(r#"{{"supported":["{MODERN}"],"requested":{}}}"#, quote(version)));
            return Reply::end(End::Error(refusal));
        }
        match method {
            "server/discover" => Reply::end(End::Result(self.discover())),
            "tools/list" => self.list(message, true),
            "tools/call" => self.call(message, nobody, true),
            "subscriptions/listen" => Reply::end(End::Listen),
            _ => Reply::refuse(-32601, 404, format!("no method {method}")),
        }
    }

    fn legacy(&self, method: &str, message: &Message, conversation: &Conversation) -> Reply {
        if conversation.revision().is_none() && method != "initialize" && method != "ping" {
            return Reply::refuse(-32600, 400, "not initialized");
        }
        match method {
            "initialize" => Reply::end(End::Result(self.initialize(message, conversation))),
            "ping" | "logging/setLevel" => Reply::end(End::Result("{}".to_owned())),
            "tools/list" => self.list(message, false),
            "tools/call" => self.call(message, conversation, false),
            _ => Reply::refuse(-32601, 200, format!("no method {method}")),
        }
    }

    fn initialize(&self, message: &Message, conversation: &Conversation) -> String {
        let cap = self.profile.protocol.as_str();
        let asked = message.param("protocolVersion").unwrap_or_default();
        let agreed = if LEGACY.contains(&asked.as_str()) && asked.as_str() <= cap { &asked } else { cap };
        *locked(&conversation.revision) = Some(agreed.to_owned());
        format!(
            r#"{{"protocolVersion":"{agreed}","capabilities":{CAPABILITIES},"serverInfo":{},"instructions":"a fake"}}"#,
            self.server_info()
        )
    }

    fn discover(&self) -> String {
        let (ttl, info) = (self.profile.ttl_ms, self.server_info());
        format!(
            r#"{{"resultType":"complete","supportedVersions":["{MODERN}"],"capabilities":{CAPABILITIES},"instructions":"a fake","ttlMs":{ttl},"cacheScope":"public","_meta":{{"io.modelcontextprotocol/serverInfo":{info}}}}}"#
        )
    }

    fn server_info(&self) -> String {
        let title = quote(self.profile.marker.as_deref().unwrap_or("fake"));
        format!(r#"{{"name":"fake-mcp","title":{title},"version":"1.0.0"}}"#)
    }

    fn list(&self, message: &Message, modern: bool) -> Reply {
        let Some((page, next)) = self.page(message.param("cursor").as_deref()) else {
            return Reply::refuse(-32602, 200, "invalid cursor");
        };
        let next = next.map(|c| format!(r#","nextCursor":{}"#, quote(&c))).unwrap_or_default();
        let hints = match modern {
            true => format!(r#","ttlMs":{},"cacheScope":"public""#, self.profile.ttl_ms),
            false => String::new(),
        };
        Reply::end(End::Result(complete(modern, &format!(r#""tools":[{}]{next}{hints}"#, page.join(",")))))
    }

    /// One page and the cursor of the next; `None` for a cursor we never gave.
    fn page(&self, cursor: Option<&str>) -> Option<(Vec<String>, Option<String>)> {
        let place = match cursor {
            None => 0,
            Some(cursor) => cursor.strip_prefix("at:")?.parse::<usize>().ok()?,
        };
        if self.profile.paging == Paging::Endless {
            let page = (0..10).map(|n| fixtures::generated_tool(&format!("endless_{place}_{n}")));
            return Some((page.collect(), Some(format!("at:{}", place + 1))));
        }
        let tools = locked(&self.tools);
        let all = tools.iter().map(|(_, t)| t.clone());
        match self.profile.paging {
            Paging::Size(size) => {
                let page = all.skip(place).take(size).collect();
                let next = place + size;
                Some((page, (next < tools.len()).then(|| format!("at:{next}"))))
            }
            Paging::SameCursor => Some((all.collect(), Some("at:0".to_owned()))),
            Paging::Whole | Paging::Endless => Some((all.collect(), None)),
        }
    }

    fn call(&self, message: &Message, conversation: &Conversation, modern: bool) -> Reply {
        let name = message.param("name").unwrap_or_default();
        if self.tool(&name).is_none() {
            return Reply::refuse(-32602, 200, format!("unknown tool {name}"));
        }
        if self.profile.hang_on.as_deref() == Some(&name) {
            return Reply::end(End::Never);
        }
        if self.profile.crash_on.as_deref() == Some(&name) {
            return Reply::end(End::Crash);
        }
        behaviour::call(&Call {
            name: &name,
            arguments: message.params.get("arguments").map_or("{}", |a| a.get()),
            token: message.meta("progressToken"),
            logs: !modern || message.meta("io.modelcontextprotocol/logLevel").is_some(),
            responses: message.params.get("inputResponses").map(|r| r.get()),
            state: message.params.get("requestState").map(|s| s.get()),
            modern,
            engine: self,
            conversation,
        })
    }
}

/// The first message on a listen stream and the `_meta` of all that follow.
pub(crate) fn acknowledgement(message: &Message) -> String {
    let meta = subscription(message);
    let filter = message.params.get("notifications").map_or("{}", |f| f.get());
    crate::message::notification(
        "notifications/subscriptions/acknowledged",
        &format!(r#"{{"_meta":{meta},"notifications":{filter}}}"#),
    )
}

/// `_meta` that names the listen request.
pub(crate) fn subscription(message: &Message) -> String {
    let id = message.id.as_deref().unwrap_or("null");
    format!(r#"{{"io.modelcontextprotocol/subscriptionId":{id}}}"#)
}

/// A result with these members, as its era wants it.
pub(crate) fn complete(modern: bool, members: &str) -> String {
    match modern {
        true => format!(r#"{{"resultType":"complete",{members}}}"#),
        false => format!("{{{members}}}"),
    }
}

/// The guarded value; a fake whose other thread panicked goes on with what is there.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn needs_envelope() -> Reply {
    let mut refusal = Refusal::new(-32602, 400, format!("only {MODERN} requests with _meta are served"));
    refusal.data = Some(format!(r#"{{"supported":["{MODERN}"]}}"#));
    Reply::end(End::Error(refusal))
}

fn tool_name(definition: &str) -> String {
    members(definition).and_then(|m| m.get("name").and_then(|n| string(n))).unwrap_or_default()
}

const TOOLS_CHANGED: &str = "notifications/tools/list_changed";
const CAPABILITIES: &str = r#"{"tools":{"listChanged":true},"logging":{}}"#;

/// Changes a slow stream may lag behind before it misses some.
const CHANGES: usize = 256;
