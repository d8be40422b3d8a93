//! Asks the user: in mid-request on the legacy wire, by `input_required` results on the modern one.

use serde_json::Value;

use crate::{
    engine::{Engine, complete},
    message::{Refusal, members, quote, string},
    reply::{End, Interaction, Reply},
};

/// Who asks what for: one request and what it brings along.
#[derive(Clone, Copy)]
pub(crate) struct Asking<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) modern: bool,
    /// What the client can answer.
    pub(crate) capabilities: &'a Value,
    /// Raw text of `inputResponses`, on a retry.
    pub(crate) responses: Option<&'a str>,
    /// Raw text of `requestState`, on a retry.
    pub(crate) state: Option<&'a str>,
    /// The task the questions belong to, for `_meta`.
    pub(crate) task: Option<&'a str>,
}

/// Makes the raw members of the result out of the answers: an object, key to raw result or `null`.
pub(crate) type Done = Box<dyn FnOnce(&Engine, &str) -> String + Send>;

/// One round: what is asked at once.
pub(crate) type Round = &'static [Question];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Question {
    Form,
    Age,
    Url,
    Sample,
    SampleTools,
    Roots,
}

impl Question {
    fn key(self) -> &'static str {
        match self {
            Self::Form => "name",
            Self::Age => "age",
            Self::Url => "consent",
            Self::Sample | Self::SampleTools => "text",
            Self::Roots => "roots",
        }
    }

    fn method(self) -> &'static str {
        match self {
            Self::Form | Self::Age | Self::Url => "elicitation/create",
            Self::Sample | Self::SampleTools => "sampling/createMessage",
            Self::Roots => "roots/list",
        }
    }

    /// What the client must have declared, as `requiredCapabilities` wants it.
    fn needs(self) -> &'static str {
        match self {
            Self::Form | Self::Age => r#"{"elicitation":{"form":{}}}"#,
            Self::Url => r#"{"elicitation":{"url":{}}}"#,
            Self::Sample => r#"{"sampling":{}}"#,
            Self::SampleTools => r#"{"sampling":{"tools":{}}}"#,
            Self::Roots => r#"{"roots":{}}"#,
        }
    }

    fn is_declared(self, capabilities: &Value) -> bool {
        let elicitation = &capabilities["elicitation"];
        match self {
            // An empty object is form mode.
            Self::Form | Self::Age => {
                elicitation.is_object() && (elicitation["form"].is_object() || elicitation["url"].is_null())
            }
            Self::Url => elicitation["url"].is_object(),
            Self::Sample => capabilities["sampling"].is_object(),
            Self::SampleTools => capabilities["sampling"]["tools"].is_object(),
            Self::Roots => capabilities["roots"].is_object(),
        }
    }

    /// Raw members of `params`.
    fn members(self, modern: bool) -> String {
        match self {
            Self::Form => form("Your name?", r#""name":{"type":"string"}"#),
            Self::Age => form("Your age?", r#""age":{"type":"integer"}"#),
            Self::Url => {
                let id = if modern { "" } else { r#","elicitationId":"e-1""# };
                format!(r#""mode":"url","message":"Please agree","url":"{CONSENT_URL}"{id}"#)
            }
            Self::Sample => SAMPLE.to_owned(),
            Self::SampleTools => format!(
                r#"{SAMPLE},"tools":[{{"name":"lookup","inputSchema":{{"type":"object"}}}}],"toolChoice":{{"mode":"auto"}}"#
            ),
            Self::Roots => String::new(),
        }
    }

    fn params(self, asking: &Asking<'_>) -> String {
        let members = self.members(asking.modern);
        let meta = asking.task.filter(|_| !asking.modern).map(|task| {
            format!(r#""_meta":{{"io.modelcontextprotocol/related-task":{{"taskId":{}}}}}"#, quote(task))
        });
        let comma = if meta.is_some() && !members.is_empty() { "," } else { "" };
        format!("{{{members}{comma}{}}}", meta.unwrap_or_default())
    }
}

/// Asks round by round, then ends with a result.
pub(crate) fn ask(asking: &Asking<'_>, rounds: &'static [Round], done: Done) -> Reply {
    let lacking = rounds.iter().copied().flatten().find(|q| !q.is_declared(asking.capabilities));
    if let Some(question) = lacking {
        return lacks(asking.modern, question.needs());
    }
    if asking.modern {
        return modern(asking, rounds, done);
    }
    legacy(asking.engine, asking.task.map(str::to_owned), rounds, "", done)
}

/// What the client must have declared and did not; the legacy eras have no code for it.
pub(crate) fn lacks(modern: bool, needed: &str) -> Reply {
    if !modern {
        let text = quote(&format!("the client lacks {needed}"));
        let members = format!(r#""content":[{{"type":"text","text":{text}}}],"isError":true"#);
        return Reply::end(End::Result(complete(false, &members)));
    }
    let mut refusal = Refusal::new(-32021, 400, "a client capability is missing");
    refusal.data = Some(format!(r#"{{"requiredCapabilities":{needed}}}"#));
    Reply::end(End::Error(refusal))
}

/// The questions of one round as `inputRequests`.
pub(crate) fn input_requests(asking: &Asking<'_>, round: Round) -> String {
    let requests = round
        .iter()
        .map(|q| format!(r#""{}":{{"method":"{}","params":{}}}"#, q.key(), q.method(), q.params(asking)));
    format!("{{{}}}", requests.collect::<Vec<_>>().join(","))
}

fn legacy(
    engine: &Engine,
    task: Option<String>,
    rounds: &'static [Round],
    so_far: &str,
    done: Done,
) -> Reply {
    let Some((round, rest)) = rounds.split_first() else {
        let members = done(engine, &format!("{{{so_far}}}"));
        return Reply::end(End::Result(complete(false, &members)));
    };
    let asking = Asking {
        engine,
        modern: false,
        capabilities: &Value::Null,
        responses: None,
        state: None,
        task: task.as_deref(),
    };
    let questions: Vec<_> = round.iter().map(|q| (q.method(), q.params(&asking))).collect();
    let so_far = so_far.to_owned();
    Reply::end(End::Interact(engine.interact(questions.into_iter(), move |engine, responses| {
        let answers = round.iter().zip(responses).map(|(q, response)| (q.key(), result_of(&response)));
        let all = joined(&so_far, answers);
        legacy(engine, task, rest, &all, done)
    })))
}

/// The raw `result` of a response, or `null` if it refuses.
fn result_of(response: &str) -> String {
    let result = members(response).and_then(|m| m.get("result").map(|r| r.get().to_owned()));
    result.unwrap_or_else(|| "null".to_owned())
}

fn joined<'a>(so_far: &str, answers: impl Iterator<Item = (&'a str, String)>) -> String {
    let new = answers.map(|(key, answer)| format!(r#""{key}":{answer}"#)).collect::<Vec<_>>().join(",");
    if so_far.is_empty() { new } else { format!("{so_far},{new}") }
}

fn modern(asking: &Asking<'_>, rounds: &'static [Round], done: Done) -> Reply {
    let (at, so_far) = match (asking.state, asking.responses) {
        (None, None) => (0, String::new()),
        (None, Some(_)) => return Reply::refuse(-32602, 200, "answers without the state they belong to"),
        (Some(state), _) => match State::read(state) {
            Some(state) => (state.round, state.answers),
            None => return Reply::refuse(-32602, 200, "this requestState is not ours"),
        },
    };
    let Some(round) = rounds.get(at) else {
        return Reply::refuse(-32602, 200, "this requestState is of another request");
    };
    let given = asking.responses.and_then(members).unwrap_or_default();
    if asking.state.is_none() || round.iter().any(|q| !given.contains_key(q.key())) {
        return require(asking, round, &State { round: at, answers: so_far });
    }
    let answers = round.iter().map(|q| (q.key(), given.get(q.key()).map_or("null", |a| a.get()).to_owned()));
    let all = joined(&so_far, answers);
    match rounds.get(at + 1) {
        Some(next) => require(asking, next, &State { round: at + 1, answers: all }),
        None => {
            let members = done(asking.engine, &format!("{{{all}}}"));
            Reply::end(End::Result(complete(true, &members)))
        }
    }
}

fn require(asking: &Asking<'_>, round: Round, state: &State) -> Reply {
    Reply::end(End::Result(format!(
        r#"{{"resultType":"input_required","inputRequests":{},"requestState":{}}}"#,
        input_requests(asking, round),
        state.write()
    )))
}

/// What a `requestState` holds. Its text has what a splice could get wrong, and a sum over every byte.
struct State {
    round: usize,
    answers: String,
}

impl State {
    /// As raw JSON.
    fn write(&self) -> String {
        let body = format!("{}|{}", self.round, self.answers);
        let quoted = quote(&body);
        format!(r#""v1.\u0061\/=\"+é😀|{:016x}|{}"#, sum(&body), &quoted[1..])
    }

    fn read(raw: &str) -> Option<Self> {
        let text: String = serde_json::from_str(raw).ok()?;
        let rest = text.strip_prefix("v1.a/=\"+é😀|")?;
        let (told, body) = rest.split_once('|')?;
        if told != format!("{:016x}", sum(body)) {
            return None;
        }
        let (round, answers) = body.split_once('|')?;
        Some(Self { round: round.parse().ok()?, answers: answers.to_owned() })
    }
}

/// FNV-1a: enough to notice a byte that changed.
fn sum(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Asks without a state (`ask_stateless`): none may come back.
pub(crate) fn ask_stateless(asking: &Asking<'_>, round: Round, done: Done) -> Reply {
    if !asking.modern {
        return ask(asking, STATELESS, done);
    }
    if let Some(question) = round.iter().find(|q| !q.is_declared(asking.capabilities)) {
        return lacks(true, question.needs());
    }
    if asking.state.is_some() {
        return Reply::refuse(-32602, 200, "a requestState came back though none was given");
    }
    match asking.responses {
        Some(responses) => Reply::end(End::Result(complete(true, &done(asking.engine, responses)))),
        None => Reply::end(End::Result(format!(
            r#"{{"resultType":"input_required","inputRequests":{}}}"#,
            input_requests(asking, round)
        ))),
    }
}

/// Has the client come again without asking it anything (`come_again`).
pub(crate) fn come_again(asking: &Asking<'_>, done: Done) -> Reply {
    let state = State { round: 7, answers: String::new() };
    match asking.state {
        None if asking.modern => Reply::end(End::Result(format!(
            r#"{{"resultType":"input_required","requestState":{}}}"#,
            state.write()
        ))),
        Some(state) if State::read(state).is_none() => {
            Reply::refuse(-32602, 200, "this requestState is not ours")
        }
        _ => Reply::end(End::Result(complete(asking.modern, &done(asking.engine, "{}")))),
    }
}

fn form(message: &str, properties: &str) -> String {
    format!(r#""message":"{message}","requestedSchema":{{"type":"object","properties":{{{properties}}}}}"#)
}

/// The one string in `raw`, if it is one.
pub(crate) fn text_of(raw: &serde_json::value::RawValue) -> String {
    string(raw).unwrap_or_default()
}

/// Where the url question leads.
pub(crate) const CONSENT_URL: &str = "https://example.com/agree?to=1";

const SAMPLE: &str =
    r#""messages":[{"role":"user","content":{"type":"text","text":"Say hello"}}],"maxTokens":10"#;

pub(crate) const STATELESS: &[Round] = &[&[Question::Form]];

impl Interaction {
    /// One question, whose raw result the call ends with.
    pub(crate) fn echoing(engine: &Engine, method: &'static str, params: &str) -> Self {
        engine.interact([(method, params.to_owned())].into_iter(), |_, responses| {
            let answer = responses.first().map_or_else(|| "null".to_owned(), |response| result_of(response));
            let members = super::structured(&format!(r#"{{"answer":{answer}}}"#));
            Reply::end(End::Result(complete(false, &members)))
        })
    }
}
