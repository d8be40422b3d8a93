//! Tools that do as they are told.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use gateway_composite::RoutingTable;
use gateway_domain::{
    Asker, Call, CallerError, Dispatcher, DownstreamFault, DownstreamName, Error, InputRequired, OfferedTool,
    Outcome, ParkId, PeerError, RawJson, RawObject, SessionKey, Sessions, State, Subject, Target, TaskHandle,
    Tool, ToolRef,
};
use tokio::time::sleep;

/// All tools of a case. Clones share everything.
#[derive(Clone)]
pub(super) struct Script {
    tools: Arc<BTreeMap<String, Acts>>,
    log: Arc<Mutex<Vec<String>>>,
    crowd: Arc<Mutex<Crowd>>,
}

/// How many calls there are at once, and were at most.
#[derive(Default)]
struct Crowd {
    now: usize,
    most: usize,
}

struct Acts {
    offered: Arc<OfferedTool>,
    /// Answers to calls with just these arguments, before all others.
    when: Vec<(String, RawObject)>,
    then: Vec<RawObject>,
    calls: Mutex<usize>,
}

impl Script {
    /// By the name that clients call: the tool's definition beside `answers` and `when`.
    pub(super) fn read(tools: &RawObject) -> Self {
        let tools = tools.iter().map(|(name, acts)| {
            let acts = RawObject::try_from(acts).unwrap();
            (name.to_string(), Acts::read(&name, &acts))
        });
        Self { tools: Arc::new(tools.collect()), log: Arc::default(), crowd: Arc::default() }
    }

    /// What was called, in order.
    pub(super) fn log(&self) -> Vec<String> {
        self.log.lock().unwrap().clone()
    }

    /// How many calls there were at once, at most.
    pub(super) fn most_at_once(&self) -> usize {
        self.crowd.lock().unwrap().most
    }

    fn note(&self, entry: String) {
        self.log.lock().unwrap().push(entry);
    }
}

impl Acts {
    fn read(exposed: &str, acts: &RawObject) -> Self {
        let name = ToolRef::parse(exposed).unwrap();
        let mut tool = Tool::new(name.tool());
        for member in ["inputSchema", "annotations"] {
            if let Some(value) = acts.get(member) {
                tool = tool.with(member, &value);
            }
        }
        let downstream = DownstreamName::parse(name.downstream()).unwrap();
        let then = acts.get("answers").map_or_else(Vec::new, |all| objects(&all));
        let when = acts.get("when").map_or_else(Vec::new, |all| objects(&all));
        let when = when
            .iter()
            .map(|it| (it.get("arguments").unwrap().to_string(), it.get_object("answer").unwrap()));
        Self {
            offered: Arc::new(OfferedTool { downstream, tool, headers: Arc::new([]) }),
            when: when.collect(),
            then,
            calls: Mutex::new(0),
        }
    }

    fn next(&self, arguments: &RawJson) -> RawObject {
        if let Some((_, answer)) = self.when.iter().find(|(given, _)| given == arguments.as_str()) {
            return answer.clone();
        }
        let mut calls = self.calls.lock().unwrap();
        let answer = self.then.get(*calls).or_else(|| self.then.last()).expect("an answer").clone();
        *calls += 1;
        answer
    }
}

pub(super) fn objects(array: &RawJson) -> Vec<RawObject> {
    let elements = array.elements(usize::MAX).expect("an array");
    elements.into_iter().map(|element| RawObject::try_from(element).expect("an object")).collect()
}

#[async_trait]
impl Dispatcher for Script {
    async fn dispatch(&self, call: Call) -> Result<Outcome, Error> {
        let Target::Exposed { subject: Subject::Tool { name, .. }, .. } = &call.target else {
            panic!("no tool")
        };
        let origin = call.origin.as_ref().expect("a step calls");
        assert!(!origin.run.is_empty() && !origin.workflow.is_empty() && !origin.step.is_empty());
        assert_eq!(call.params.object.get_text("name").as_deref(), Some(&**name));
        let arguments = call.params.object.get("arguments").expect("arguments");
        match &call.follow_up {
            None => self.note(format!("{name} {arguments}{}{}", session(&call), meta(&call))),
            Some(follow_up) => {
                assert_eq!(follow_up.asker, asker(&self.tools[&**name]));
                let (state, responses) = (shown(&follow_up.state), follow_up.responses.as_str());
                self.note(format!("{name} {state} {responses}{}", session(&call)));
            }
        }
        let acts = &self.tools[&**name];
        let answer = acts.next(&arguments);
        let mut running = Running::begin(self, name);
        let after = answer.get("afterMs").and_then(|after| after.to_integer()).unwrap_or(0);
        sleep(Duration::from_millis(after.unsigned_abs())).await;
        running.has_ended = true;
        give(acts, &answer, &arguments)
    }
}

/// Notes calls that are cancelled.
struct Running<'a> {
    script: &'a Script,
    name: &'a str,
    has_ended: bool,
}

impl<'a> Running<'a> {
    fn begin(script: &'a Script, name: &'a str) -> Self {
        let mut crowd = script.crowd.lock().unwrap();
        crowd.now += 1;
        crowd.most = crowd.most.max(crowd.now);
        Self { script, name, has_ended: false }
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.script.crowd.lock().unwrap().now -= 1;
        if !self.has_ended {
            self.script.note(format!("cancelled {}", self.name));
        }
    }
}

/// Said only of sessions that have a name.
fn session(call: &Call) -> String {
    match &call.exchange.session {
        SessionKey::Legacy { id } if !id.is_empty() => format!(" in {id}"),
        _ => String::new(),
    }
}

/// Said only of calls that have any.
fn meta(call: &Call) -> String {
    call.params.meta.as_ref().map_or_else(String::new, |meta| format!(" with {}", meta.as_str()))
}

fn asker(acts: &Acts) -> Asker {
    Asker::Downstream(acts.offered.downstream.clone())
}

fn shown(state: &State) -> String {
    match state {
        State::None => "none".to_owned(),
        State::Own(state) => format!("own {state}"),
        State::Waiting(_) => "waiting".to_owned(),
        State::Parked(park) => format!("parked {}", park.0),
        State::Afresh => "afresh".to_owned(),
    }
}

/// The one member beside `afterMs` says what is answered.
fn give(acts: &Acts, answer: &RawObject, arguments: &RawJson) -> Result<Outcome, Error> {
    let result = |text: String| Ok(Outcome::Complete(RawObject::parse(text).unwrap()));
    let asks = |requests| {
        let state = match answer.get_text("state").as_deref() {
            None => State::None,
            Some("parked") => State::Parked(ParkId("p1".into())),
            Some("afresh") => State::Afresh,
            Some(_) => State::Own(answer.get("state").unwrap()),
        };
        Ok(Outcome::InputRequired(InputRequired { asker: Some(asker(acts)), requests, state }))
    };
    let (kind, value) =
        answer.iter().find(|(name, _)| name != "afterMs" && name != "state").expect("an answer");
    match &*kind {
        "result" => result(value.to_string()),
        "structured" => result(format!(r#"{{"content":[],"structuredContent":{value}}}"#)),
        "echo" => result(format!(r#"{{"content":[],"structuredContent":{{"echo":{arguments}}}}}"#)),
        "text" => result(format!(r#"{{"content":[{{"type":"text","text":{value}}}]}}"#)),
        "fails" => result(format!(r#"{{"content":[{{"type":"text","text":{value}}}],"isError":true}}"#)),
        "peer" => Ok(Outcome::Failed(PeerError::new(RawObject::try_from(value).unwrap()).unwrap())),
        "task" => Ok(Outcome::Task(TaskHandle {
            downstream: None,
            tool: None,
            object: RawObject::try_from(value).unwrap(),
        })),
        "asks" => asks(Some(RawObject::try_from(value).unwrap())),
        "again" => asks(None),
        "unreachable" => {
            let fault = DownstreamFault::Unreachable { reason: "10.0.0.1:443".to_owned() };
            Err(match value.to_text().as_deref() {
                Some("before") => fault.before(&acts.offered.downstream),
                _ => fault.during(&acts.offered.downstream),
            })
        }
        "unknown" => Err(CallerError::UnknownTool { name: "t".to_owned() }.into()),
        other => panic!("no answer: {other}"),
    }
}

impl RoutingTable for Script {
    fn exact(&self, name: &str) -> Option<Arc<OfferedTool>> {
        self.tools.get(name).map(|acts| acts.offered.clone())
    }

    fn of(&self, downstream: &str, tool: &str) -> Option<Arc<OfferedTool>> {
        self.exact(&ToolRef::new(downstream, tool).to_string())
    }
}

#[async_trait]
impl Sessions for Script {
    async fn end(&self, _: &SessionKey) {}

    fn abandon(&self, park: &ParkId) {
        self.note(format!("abandoned {}", park.0));
    }
}
