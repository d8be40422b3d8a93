//! What a fake server says, apart from how it is carried: both eras, the tools, pages, probes.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use serde_json::Value;
use tokio::sync::{broadcast, oneshot};

use crate::{
    behaviour::{self, Call, tasks::Task},
    changes::{Change, TOOLS},
    fixtures,
    message::{Message, Refusal, members, quote, string},
    offer::{Caller, Offer},
    profile::{Era, LEGACY, MODERN, Paging, Probe, Profile},
    reply::{End, Interaction, Reply},
    transcript::{Transcript, Way},
};

/// The state that belongs to one legacy session, or to nobody (modern, stateless).
#[derive(Debug, Default)]
pub(crate) struct Conversation {
    revision: Mutex<Option<String>>,
    counter: AtomicU64,
    /// What `initialize` declared.
    capabilities: Mutex<Value>,
    /// URIs subscribed to.
    watched: Mutex<HashSet<String>>,
    /// What `logging/setLevel` said last.
    log_level: Mutex<Option<String>>,
    consented: AtomicBool,
}

impl Conversation {
    /// A conversation that needs no `initialize`.
    pub(crate) fn stateless(revision: &str) -> Self {
        Self { revision: Mutex::new(Some(revision.to_owned())), ..Self::default() }
    }

    pub(crate) fn watches(&self, uri: &str) -> bool {
        locked(&self.watched).contains(uri)
    }

    pub(crate) fn watch(&self, uri: &str, on: bool) {
        let mut watched = locked(&self.watched);
        if on {
            watched.insert(uri.to_owned())
        } else {
            watched.remove(uri)
        };
    }

    /// Whether the user has agreed: from the second time of asking on.
    pub(crate) fn consents(&self) -> bool {
        self.consented.swap(true, Ordering::Relaxed)
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
    pub(crate) offer: Offer,
    pub(crate) tasks: Mutex<BTreeMap<String, Task>>,
    pub(crate) transcript: Transcript,
    changes: broadcast::Sender<Change>,
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
            offer: Offer::default(),
            tasks: Mutex::default(),
            transcript: Transcript::new(profile.record.clone()),
            profile,
            tools: Mutex::new(tools),
            changes: broadcast::channel(CHANGES).0,
            facts: Mutex::default(),
            cancelled: Mutex::default(),
            asked: Mutex::default(),
            asks: AtomicU64::new(1),
        }
    }

    /// Changes, as they happen.
    pub(crate) fn changes(&self) -> broadcast::Receiver<Change> {
        self.changes.subscribe()
    }

    /// Tells every open stream of a change; nobody listening is fine.
    pub(crate) fn announce(&self, change: Change) {
        drop(self.changes.send(change));
    }

    pub(crate) fn set_tools(&self, definitions: &[String]) {
        *locked(&self.tools) = definitions.iter().map(|t| (tool_name(t), t.clone())).collect();
        self.announce(TOOLS);
    }

    pub(crate) fn add_tool(&self, definition: &str) {
        self.keep_tool(definition);
        self.announce(TOOLS);
    }

    /// Lists it without a word.
    pub(crate) fn keep_tool(&self, definition: &str) {
        let mut tools = locked(&self.tools);
        tools.retain(|(_, known)| !self.profile.whole || known != definition);
        tools.push((tool_name(definition), definition.to_owned()));
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
        self.transcript.note(Way::In, &message.text);
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

    /// Requests of ours, to be sent in the middle of a call, and how it goes on with the responses.
    pub(crate) fn interact(
        &self,
        questions: impl Iterator<Item = (&'static str, String)>,
        then: impl FnOnce(&Self, Vec<String>) -> Reply + Send + 'static,
    ) -> Interaction {
        let (mut requests, mut responses) = (Vec::new(), Vec::new());
        for (method, params) in questions {
            let (sender, response) = oneshot::channel();
            let id = format!("\"ask-{}\"", self.asks.fetch_add(1, Ordering::Relaxed));
            let request = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#);
            self.transcript.note(Way::Out, &request);
            locked(&self.asked).insert(id, sender);
            requests.push(request);
            responses.push(response);
        }
        Interaction { requests, responses, then: Box::new(then) }
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
                let request = r#"{"jsonrpc":"2.0","id":"roots-1","method":"roots/list"}"#;
                self.transcript.note(Way::Out, request);
                Reply::end(End::Ask(request.to_owned()))
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
        let Some(capabilities) = message.meta("io.modelcontextprotocol/clientCapabilities") else {
            return Reply::refuse(-32602, 400, "_meta lacks io.modelcontextprotocol/clientCapabilities");
        };
        if version != MODERN {
            let mut refusal = Refusal::new(-32022, 400, "unsupported protocol version");
            refusal.data = Some(format!(r#"{{"supported":["{MODERN}"],"requested":{}}}"#, quote(version)));
            return Reply::end(End::Error(refusal));
        }
        let capabilities: Value = serde_json::from_str(capabilities).unwrap_or_default();
        let caller = Caller { modern: true, capabilities: &capabilities, conversation: nobody };
        match method {
            "server/discover" => Reply::end(End::Result(self.discover())),
            "tools/list" => self.list(message, true),
            "tools/call" => self.call(message, &caller),
            "subscriptions/listen" => Reply::end(End::Listen),
            _ => self
                .offered(method, message, &caller)
                .unwrap_or_else(|| Reply::refuse(-32601, 404, format!("no method {method}"))),
        }
    }

    fn legacy(&self, method: &str, message: &Message, conversation: &Conversation) -> Reply {
        if conversation.revision().is_none() && method != "initialize" && method != "ping" {
            return Reply::refuse(-32600, 400, "not initialized");
        }
        let capabilities = locked(&conversation.capabilities).clone();
        let caller = Caller { modern: false, capabilities: &capabilities, conversation };
        match method {
            "initialize" => Reply::end(End::Result(self.initialize(message, conversation))),
            "logging/setLevel" => {
                *locked(&conversation.log_level) = message.param("level");
                Reply::end(End::Result("{}".to_owned()))
            }
            "ping" => Reply::end(End::Result("{}".to_owned())),
            "tools/list" => self.list(message, false),
            "tools/call" => self.call(message, &caller),
            _ => self
                .offered(method, message, &caller)
                .unwrap_or_else(|| Reply::refuse(-32601, 200, format!("no method {method}"))),
        }
    }

    fn initialize(&self, message: &Message, conversation: &Conversation) -> String {
        let cap = self.profile.protocol.as_str();
        let asked = message.param("protocolVersion").unwrap_or_default();
        let agreed = if LEGACY.contains(&asked.as_str()) && asked.as_str() <= cap { &asked } else { cap };
        *locked(&conversation.revision) = Some(agreed.to_owned());
        let declared = message.params.get("capabilities").map_or("{}", |raw| raw.get());
        *locked(&conversation.capabilities) = serde_json::from_str(declared).unwrap_or_default();
        let capabilities = self.capabilities(agreed);
        format!(
            r#"{{"protocolVersion":"{agreed}","capabilities":{capabilities},"serverInfo":{},"instructions":"a fake"}}"#,
            self.server_info()
        )
    }

    fn discover(&self) -> String {
        let (ttl, info) = (self.profile.ttl_ms, self.server_info());
        let capabilities = self.capabilities(MODERN);
        format!(
            r#"{{"resultType":"complete","supportedVersions":["{MODERN}"],"capabilities":{capabilities},"instructions":"a fake","ttlMs":{ttl},"cacheScope":"public","_meta":{{"io.modelcontextprotocol/serverInfo":{info}}}}}"#
        )
    }

    fn capabilities(&self, revision: &str) -> String {
        if !self.profile.whole {
            return CAPABILITIES.to_owned();
        }
        let completions = if revision == LEGACY[0] { "" } else { r#","completions":{}"# };
        let tasks = match revision {
            MODERN => r#","extensions":{"io.modelcontextprotocol/tasks":{},"io.modelcontextprotocol/ui":{}}"#,
            "2025-11-25" => r#","tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}"#,
            _ => "",
        };
        format!(
            r#"{{"tools":{{"listChanged":true}},"prompts":{{"listChanged":true}},"resources":{{"subscribe":true,"listChanged":true}},"logging":{{}}{completions}{tasks}}}"#
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
        let hints = self.hints(modern);
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

    /// One page of a list that does not know the odd ways of paging.
    pub(crate) fn page_of(&self, member: &str, all: Vec<String>, message: &Message, modern: bool) -> Reply {
        let place = match message.param("cursor") {
            None => Some(0),
            Some(cursor) => cursor.strip_prefix("at:").and_then(|at| at.parse::<usize>().ok()),
        };
        let Some(place) = place.filter(|place| *place <= all.len()) else {
            return Reply::refuse(-32602, 200, "invalid cursor");
        };
        let size = if let Paging::Size(size) = self.profile.paging { size } else { usize::MAX };
        let end = place.saturating_add(size).min(all.len());
        let next = if end < all.len() { format!(r#","nextCursor":"at:{end}""#) } else { String::new() };
        let items = all[place..end].join(",");
        let members = format!(r#""{member}":[{items}]{next}{}"#, self.hints(modern));
        Reply::end(End::Result(complete(modern, &members)))
    }

    /// Raw caching hints, with a comma before them.
    pub(crate) fn hints(&self, modern: bool) -> String {
        match modern {
            true => format!(r#","ttlMs":{},"cacheScope":"public""#, self.profile.ttl_ms),
            false => String::new(),
        }
    }

    fn call(&self, message: &Message, caller: &Caller<'_>) -> Reply {
        let name = message.param("name").unwrap_or_default();
        let Some(definition) = self.tool(&name) else {
            return Reply::refuse(-32602, 200, format!("unknown tool {name}"));
        };
        if self.profile.hang_on.as_deref() == Some(&name) {
            return Reply::end(End::Never);
        }
        if self.profile.crash_on.as_deref() == Some(&name) {
            return Reply::end(End::Crash);
        }
        let wants_task = !caller.modern && message.params.contains_key("task");
        if self.profile.whole && wants_task && !definition.contains("taskSupport") {
            return Reply::refuse(-32601, 200, "this tool runs as no task");
        }
        let log_level = match caller.modern {
            true => message.meta("io.modelcontextprotocol/logLevel").map(|level| level.replace('"', "")),
            false => Some(locked(&caller.conversation.log_level).clone().unwrap_or_else(|| "debug".into())),
        };
        behaviour::call(&Call {
            name: &name,
            arguments: message.params.get("arguments").map_or("{}", |a| a.get()),
            token: message.meta("progressToken"),
            log_level,
            capabilities: caller.capabilities,
            wants_task,
            responses: message.params.get("inputResponses").map(|r| r.get()),
            state: message.params.get("requestState").map(|s| s.get()),
            modern: caller.modern,
            engine: self,
            conversation: caller.conversation,
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

const CAPABILITIES: &str = r#"{"tools":{"listChanged":true},"logging":{}}"#;

/// Changes a slow stream may lag behind before it misses some.
const CHANGES: usize = 256;
