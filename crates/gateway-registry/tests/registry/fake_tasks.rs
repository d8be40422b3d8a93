//! The one task of a fake downstream, in both dialects. What becomes of it is set by the test.

use std::sync::{
    Mutex,
    atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
};

use gateway_domain::{
    DownstreamFault, DownstreamSession as _, Era, Error, Exchange, Outcome, Params, PeerError, RawObject,
    Subject, TaskAct, TaskHandle,
};

use crate::fake::{FakePark, FakeSession, SECOND, name};

const EXTENSION: &str = "io.modelcontextprotocol/tasks";
const RELATED: &str = r#""_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t"}}"#;

pub(crate) struct FakeTasks {
    status: Mutex<&'static str>,
    message: Mutex<&'static str>,
    /// The error it ends with, if it does with one.
    pub(crate) error: Mutex<Option<&'static str>>,
    /// What was asked of it, by method.
    pub(crate) asked: Mutex<Vec<String>>,
    pub(crate) cancels: AtomicUsize,
    /// Whether a modern one marks its state as a task.
    pub(crate) marks: AtomicBool,
    pub(crate) updates: Mutex<Vec<String>>,
    /// What the next polls fail with.
    faults: Mutex<Vec<Error>>,
}

impl Default for FakeTasks {
    fn default() -> Self {
        Self {
            status: Mutex::new("working"),
            message: Mutex::new("begun"),
            error: Mutex::default(),
            asked: Mutex::default(),
            cancels: AtomicUsize::default(),
            marks: AtomicBool::default(),
            updates: Mutex::default(),
            faults: Mutex::default(),
        }
    }
}

impl FakeTasks {
    pub(crate) fn is(&self, status: &'static str) {
        *self.status.lock().unwrap() = status;
    }

    pub(crate) fn says(&self, message: &'static str) {
        *self.message.lock().unwrap() = message;
    }

    pub(crate) fn fails(&self, error: &'static str) {
        *self.error.lock().unwrap() = Some(error);
        self.is("failed");
    }

    pub(crate) fn fault(&self, times: usize, with: Error) {
        *self.faults.lock().unwrap() = vec![with; times];
    }

    /// Its question has been answered, if it asked one.
    pub(crate) fn answered(&self) {
        if *self.status.lock().unwrap() == "input_required" {
            self.is("completed");
        }
    }

    fn status(&self) -> &'static str {
        *self.status.lock().unwrap()
    }

    fn fields(&self, names: [&str; 2]) -> String {
        let (status, message) = (self.status(), *self.message.lock().unwrap());
        let [ttl, poll] = names;
        format!(r#""taskId":"t","status":"{status}","statusMessage":"{message}","{ttl}":60000,"{poll}":500"#)
    }

    fn count(&self, method: &str) -> usize {
        self.asked.lock().unwrap().push(method.to_owned());
        self.asked.lock().unwrap().iter().filter(|asked| *asked == method).count()
    }
}

/// What a call of a tool comes to that is only a task.
pub(crate) fn create(session: &FakeSession, params: &Params, exchange: &Exchange) -> Outcome {
    let tasks = &session.fake().tasks;
    match session.peer().era {
        Era::Legacy if params.object.get("task").is_none() => failed(-32601, "{}"),
        Era::Legacy => complete(&format!(r#"{{"task":{{{}}}}}"#, tasks.fields(["ttl", "pollInterval"]))),
        Era::Modern if exchange.capabilities.extension(EXTENSION).is_none() => {
            failed(-32021, r#"{"requiredCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}"#)
        }
        Era::Modern => {
            let fields = tasks.fields(["ttlMs", "pollIntervalMs"]);
            let object = RawObject::parse(format!(r#"{{"resultType":"task",{fields}}}"#)).unwrap();
            Outcome::Task(TaskHandle { downstream: None, tool: None, object })
        }
    }
}

/// What any other request comes to.
pub(crate) async fn about(
    session: &FakeSession,
    subject: &Subject,
    params: &Params,
    exchange: &Exchange,
) -> Result<Outcome, Error> {
    if params.object.get_text("taskId").is_some_and(|id| id != "t") {
        return Ok(failed(-32602, "{}"));
    }
    let is_poll = match subject {
        Subject::Other { method } => **method == *"tasks/get" || **method == *"tasks/result",
        Subject::Task { act, .. } => *act == TaskAct::Get,
        _ => false,
    };
    if is_poll && let Some(fault) = session.fake().tasks.faults.lock().unwrap().pop() {
        return Err(fault);
    }
    match (session.peer().era, subject) {
        (Era::Legacy, Subject::Other { method }) => legacy(session, method).await,
        (Era::Modern, Subject::Task { act, .. }) => {
            assert!(exchange.capabilities.extension(EXTENSION).is_some(), "it has to be declared");
            Ok(modern(session, *act, params))
        }
        _ => Ok(session.whoami()),
    }
}

async fn legacy(session: &FakeSession, method: &str) -> Result<Outcome, Error> {
    let tasks = &session.fake().tasks;
    let count = tasks.count(method);
    let status = tasks.status();
    let ended = matches!(status, "completed" | "failed" | "cancelled");
    match method {
        "tasks/get" => Ok(complete(&format!("{{{},{RELATED}}}", tasks.fields(["ttl", "pollInterval"])))),
        "tasks/cancel" if ended => Ok(failed(-32602, "{}")),
        "tasks/cancel" => {
            tasks.cancels.fetch_add(1, SeqCst);
            tasks.is("cancelled");
            Ok(complete("{}"))
        }
        "tasks/result" if status == "input_required" => Ok(FakePark::ask(&session.me(), 1)),
        "tasks/result" if !ended => {
            tokio::time::sleep(30 * SECOND).await;
            Err(DownstreamFault::TimedOut { after: 30 * SECOND }.during(&name("fake")))
        }
        "tasks/result" => Ok(match *tasks.error.lock().unwrap() {
            Some(error) => failed(-32000, error),
            None => complete(&format!(r#"{{"session":7,"isError":{},{RELATED}}}"#, status == "failed")),
        }),
        other => panic!("unexpected {other}, for the {count}. time"),
    }
}

fn modern(session: &FakeSession, act: TaskAct, params: &Params) -> Outcome {
    let tasks = &session.fake().tasks;
    let fields = tasks.fields(["ttlMs", "pollIntervalMs"]);
    match act {
        TaskAct::Get => {
            tasks.count("get");
            let more = match tasks.status() {
                "completed" => r#","result":{"session":7}"#,
                "failed" => r#","error":{"code":-32000,"message":"no"}"#,
                "input_required" => r#","inputRequests":{"q":{"method":"elicitation/create","params":{}}}"#,
                _ => "",
            };
            if tasks.marks.load(SeqCst) {
                let object = format!(r#"{{"resultType":"task",{fields}{more}}}"#);
                return Outcome::Task(TaskHandle {
                    downstream: None,
                    tool: None,
                    object: RawObject::parse(object).unwrap(),
                });
            }
            complete(&format!(r#"{{"resultType":"complete",{fields}{more}}}"#))
        }
        TaskAct::Update => {
            let responses = params.object.get_object("inputResponses").unwrap();
            tasks.updates.lock().unwrap().push(responses.as_str().to_owned());
            complete(r#"{"resultType":"complete"}"#)
        }
        TaskAct::Cancel => {
            tasks.cancels.fetch_add(1, SeqCst);
            complete(r#"{"resultType":"complete"}"#)
        }
    }
}

fn complete(text: &str) -> Outcome {
    Outcome::Complete(RawObject::parse(text.to_owned()).unwrap())
}

fn failed(code: i64, data: &str) -> Outcome {
    let error = format!(r#"{{"code":{code},"message":"no","data":{data}}}"#);
    Outcome::Failed(PeerError::new(RawObject::parse(error).unwrap()).unwrap())
}
