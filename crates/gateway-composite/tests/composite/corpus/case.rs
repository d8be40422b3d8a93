//! One workflow, run from end to end.

use std::{fmt::Write as _, sync::Arc, time::Duration};

use gateway_composite::{
    Composer, ComposerConfig, Run, RunContext, StepRecord, Turn, Workflow, WorkflowDefinition, WorkflowResult,
};
use gateway_domain::{Caller, ClientCapabilities, Era, Exchange, RawJson, RawObject, SessionKey};
use tokio::time::sleep;

use super::script::{Script, objects};

/// Longer than anybody is waited for.
const FOREVER: Duration = Duration::from_secs(11 * 60);

pub(super) struct Case {
    file: RawObject,
    workflow: Arc<Workflow>,
}

/// What became of a case, to be compared.
#[derive(Debug, PartialEq)]
pub(super) struct Told {
    calls: Vec<String>,
    asked: Vec<String>,
    status: String,
    output: Option<String>,
    error: Option<String>,
    steps: Vec<String>,
}

impl Case {
    pub(super) fn read(name: &str, file: &RawObject) -> Self {
        let definition = file.get_object("workflow").unwrap_or_else(|| panic!("{name}: no `workflow`"));
        let definition = definition.edit().set("name", RawJson::string(name).as_bytes());
        let definition = definition.set("description", br#""One of the corpus.""#).finish();
        let definition = WorkflowDefinition::read(&RawObject::try_from(definition).unwrap(), None);
        let workflow =
            definition.and_then(Workflow::compile).unwrap_or_else(|errors| panic!("{name}: {errors}"));
        Self { file: file.clone(), workflow: Arc::new(workflow) }
    }

    /// Runs it for a client of this era.
    pub(super) async fn tell(&self, era: Era) -> Told {
        let script = Script::read(&self.file.get_object("tools").unwrap_or_default());
        let exchange = self.exchange(era);
        let mut run = self.begin(&script, exchange.clone());
        let mut asks = self.asks().into_iter();
        let mut asked = Vec::new();
        let ended = loop {
            match run.next().await {
                Turn::Ended(ended) => break ended,
                Turn::Asks(questions) => {
                    asked.push(questions.as_str().to_owned());
                    match asks.next().and_then(|ask| ask.get_object("answers")) {
                        Some(answers) => run.answer(&answers, exchange.clone()),
                        None => sleep(FOREVER).await,
                    }
                }
            }
        };
        // What was cancelled is let go of by then.
        sleep(Duration::from_secs(1)).await;
        Told::of(&ended, self.ordered(script.log()), asked)
    }

    pub(super) fn begin(&self, script: &Script, exchange: Exchange) -> Run {
        let arguments = self.file.get_object("arguments").unwrap_or_default();
        let number =
            |name: &str| self.file.get(name).and_then(|number| number.to_integer()).map(i64::unsigned_abs);
        let config = ComposerConfig::default();
        let config = ComposerConfig {
            max_calls: number("maxCalls").unwrap_or(config.max_calls),
            max_bytes: number("maxBytes").unwrap_or(config.max_bytes),
            label_questions: !self.file.contains("unlabelled"),
            ..config
        };
        let tools = Arc::new(script.clone());
        let composer = Composer::new(config, tools.clone()).with_sessions(tools.clone());
        let context = RunContext {
            caller: Caller::client("somebody"),
            exchange,
            meta: self.file.get_object("meta"),
            tools,
        };
        composer.begin(self.workflow.clone(), arguments, context).expect("it begins")
    }

    pub(super) fn exchange(&self, era: Era) -> Exchange {
        let forms = || RawObject::parse(r#"{"elicitation":{"form":{}}}"#).unwrap();
        let capabilities = self.file.get_object("capabilities").unwrap_or_else(forms);
        let capabilities = ClientCapabilities::from(capabilities);
        let session = match era {
            Era::Legacy => SessionKey::Legacy { id: "".into() },
            Era::Modern => {
                SessionKey::Modern { caller: Caller::client("somebody"), capabilities: capabilities.clone() }
            }
        };
        Exchange::quiet(era, session, capabilities)
    }

    fn asks(&self) -> Vec<RawObject> {
        self.file.get("asks").map_or_else(Vec::new, |list| objects(&list))
    }

    fn elements(&self, name: &str) -> Vec<RawJson> {
        self.file.get(name).map_or_else(Vec::new, |list| list.elements(usize::MAX).expect("a list"))
    }

    fn ordered(&self, mut calls: Vec<String>) -> Vec<String> {
        if self.file.contains("anyOrder") {
            calls.sort();
        }
        calls
    }

    /// What the file says.
    pub(super) fn expected(&self) -> Told {
        let asked = self.asks().into_iter().map(|ask| ask.get("questions").expect("questions").to_string());
        let error = self.file.get_text("error");
        let status = self.file.get_text("status");
        Told {
            calls: self.ordered(self.calls()),
            asked: asked.collect(),
            status: status.unwrap_or_else(|| if error.is_some() { "failed" } else { "completed" }.to_owned()),
            output: self.file.get("output").map(|output| output.to_string()),
            error,
            steps: self.elements("steps").iter().map(bare).collect(),
        }
    }

    /// `callEach` stands for one call for each number below a count, written where `#` stands.
    fn calls(&self) -> Vec<String> {
        let each = self.file.get_object("callEach").map(|each| {
            let count = each.get("count").and_then(|count| count.to_integer()).expect("a count");
            let call = each.get_text("call").expect("a call");
            (0..count).map(move |number| call.replace('#', &number.to_string()))
        });
        let calls = self.elements("calls").into_iter().map(|call| match call.elements(usize::MAX) {
            Some(parts) => parts.iter().map(bare).collect::<Vec<_>>().join(" "),
            None => bare(&call),
        });
        calls.chain(each.into_iter().flatten()).collect()
    }
}

impl Told {
    fn of(ended: &WorkflowResult, calls: Vec<String>, asked: Vec<String>) -> Self {
        Self {
            calls,
            asked,
            status: ended.status.as_str().to_owned(),
            output: ended.output.as_ref().map(ToString::to_string),
            error: ended.error.as_ref().map(ToString::to_string),
            steps: ended.steps.iter().map(step).collect(),
        }
    }

    /// The parts that differ.
    pub(super) fn difference(told: &Self, expected: &Self) -> String {
        let mut text = String::new();
        let mut part = |name: &str, told: String, expected: String| {
            if told != expected {
                let _ = writeln!(text, "  {name}:\n    is       {told}\n    expected {expected}");
            }
        };
        part("calls", format!("{:#?}", told.calls), format!("{:#?}", expected.calls));
        part("asks", told.asked.join("\n"), expected.asked.join("\n"));
        part("status", told.status.clone(), expected.status.clone());
        part("output", format!("{:?}", told.output), format!("{:?}", expected.output));
        part("error", format!("{:?}", told.error), format!("{:?}", expected.error));
        part("steps", format!("{:#?}", told.steps), format!("{:#?}", expected.steps));
        text
    }
}

/// Texts without quotes, all else as JSON.
fn bare(value: &RawJson) -> String {
    value.to_text().map_or_else(|| value.to_string(), |text| text.into_owned())
}

/// `id: status`, with how often it was tried again, and why it failed.
fn step(step: &StepRecord) -> String {
    let retries = match step.retries {
        0 => String::new(),
        retries => format!(" ({retries} retries)"),
    };
    let error = step.error.as_ref().map_or_else(String::new, |error| format!(": {error}"));
    format!("{}: {}{retries}{error}", step.id, step.status.as_str())
}
