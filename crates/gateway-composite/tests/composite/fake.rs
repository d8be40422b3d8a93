//! Tools that do as their arguments say, and what is known about their calls.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use gateway_composite::{RoutingTable, RunContext, Workflow, WorkflowDefinition};
use gateway_domain::{
    Call, Caller, ClientCapabilities, Dispatcher, DownstreamName, Era, Error, Exchange, OfferedTool, Outcome,
    RawJson, RawObject, SessionKey, Tool,
};
use tokio::time::{Instant, sleep};

pub(crate) fn object(text: &str) -> RawObject {
    RawObject::parse(text.to_owned()).unwrap()
}

/// A workflow of these steps, and whatever else its definition has.
pub(crate) fn workflow(steps: &[String], rest: &str) -> Arc<Workflow> {
    let text = format!(r#"{{"name":"w","description":"A test.","steps":[{}]{rest}}}"#, steps.join(","));
    let definition = WorkflowDefinition::read(&object(&text), None).unwrap();
    Arc::new(Workflow::compile(definition).unwrap())
}

/// What one call was about, and when.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) step: Arc<str>,
    pub(crate) arguments: RawObject,
    pub(crate) from: Instant,
    pub(crate) until: Option<Instant>,
}

/// `t__work` takes `ms` long and gives its `id`. With `fail` it says `always` or `once` that it failed, or panics.
#[derive(Clone, Default)]
pub(crate) struct Tools(Arc<Inner>);

#[derive(Default)]
struct Inner {
    seen: Mutex<Vec<Seen>>,
    running: AtomicUsize,
    most: AtomicUsize,
}

impl Tools {
    /// All calls, in the order in which they were made.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.0.seen.lock().unwrap().clone()
    }

    pub(crate) fn seen_of(&self, step: &str) -> Vec<Seen> {
        self.seen().into_iter().filter(|seen| &*seen.step == step).collect()
    }

    /// How many calls are going on.
    pub(crate) fn running(&self) -> usize {
        self.0.running.load(Ordering::SeqCst)
    }

    /// How many there were at most.
    pub(crate) fn most(&self) -> usize {
        self.0.most.load(Ordering::SeqCst)
    }

    fn begin(&self, step: Arc<str>, arguments: RawObject) -> Going {
        let running = self.0.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.0.most.fetch_max(running, Ordering::SeqCst);
        let mut seen = self.0.seen.lock().unwrap();
        seen.push(Seen { step, arguments, from: Instant::now(), until: None });
        Going { tools: self.clone(), at: seen.len() - 1 }
    }
}

/// A call that has not ended. Dropping it is how it ends.
struct Going {
    tools: Tools,
    at: usize,
}

impl Going {
    fn end(&self) {
        self.tools.0.seen.lock().unwrap()[self.at].until = Some(Instant::now());
    }
}

impl Drop for Going {
    fn drop(&mut self) {
        self.tools.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}

#[async_trait]
impl Dispatcher for Tools {
    async fn dispatch(&self, call: Call) -> Result<Outcome, Error> {
        let step = call.origin.expect("the origin of a step's call").step;
        let arguments = call.params.object.get_object("arguments").unwrap();
        let times = self.seen_of(&step).len();
        let going = self.begin(step, arguments.clone());
        let ms = arguments.get("ms").and_then(|ms| ms.to_integer()).unwrap_or_default();
        sleep(Duration::from_millis(ms.unsigned_abs())).await;
        going.end();
        let fails = match arguments.get_text("fail").as_deref() {
            Some("always") => true,
            Some("once") => times == 0,
            Some("panic") => panic!("a tool that panics"),
            _ => false,
        };
        let id = arguments.get("id").unwrap_or_else(|| RawJson::string(""));
        Ok(Outcome::Complete(match fails {
            true => object(r#"{"content":[{"type":"text","text":"it failed"}],"isError":true}"#),
            false => object(&format!(r#"{{"content":[],"structuredContent":{{"id":{id}}}}}"#)),
        }))
    }
}

impl RoutingTable for Tools {
    fn exact(&self, name: &str) -> Option<Arc<OfferedTool>> {
        let idempotent = RawJson::parse(r#"{"idempotentHint":true}"#).unwrap();
        (name == "t__work").then(|| {
            Arc::new(OfferedTool {
                downstream: DownstreamName::parse("t").unwrap(),
                tool: Tool::new("work").with("annotations", &idempotent),
                headers: Arc::default(),
            })
        })
    }

    fn of(&self, _: &str, _: &str) -> Option<Arc<OfferedTool>> {
        None
    }
}

pub(crate) fn exchange(capabilities: &str) -> Exchange {
    let capabilities = ClientCapabilities::from(object(capabilities));
    let session = SessionKey::Modern { caller: Caller::anonymous(), capabilities: capabilities.clone() };
    Exchange::quiet(Era::Modern, session, capabilities)
}

pub(crate) fn context(tools: &Tools, caller: &str, capabilities: &str) -> RunContext {
    RunContext {
        caller: Caller::client(caller),
        exchange: exchange(capabilities),
        meta: None,
        tools: Arc::new(tools.clone()),
    }
}
