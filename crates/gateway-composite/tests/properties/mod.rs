//! What holds for every definition and every template, as a function that panics where it does not.
//!
//! Written once and run twice: over the files of `fuzz/corpus/workflow` by `tests/composite/fuzzed.rs`, and over
//! whatever a fuzzer finds by the target in `fuzz`, which includes this file.

use std::sync::Arc;

use async_trait::async_trait;
use gateway_composite::{
    Composer, ComposerConfig, RoutingTable, RunContext, RunStatus, Turn, Workflow, WorkflowDefinition,
    WorkflowError, WorkflowResult,
};
use gateway_domain::{
    Call, Caller, ClientCapabilities, Dispatcher, Era, Error, Exchange, OfferedTool, Outcome, RawJson,
    RawObject, SessionKey,
};

/// What the templates are about.
const ARGUMENTS: &str = r#"{"text":"a text","n":3,"list":[3,1,2,{"a":1}],"map":{"a":1,"b":[null]},"yes":true,"nothing":null,"big":1e400,"price":1.50}"#;

/// Reading and compiling a definition never panics and says what is wrong; a template comes to JSON, or to an error
/// that is its own, and asks for no tool.
///
/// The input is a definition, then on lines of their own templates.
pub(crate) fn workflow(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut lines = text.lines();
    define(lines.next().unwrap_or_default());
    lines.for_each(evaluate);
}

fn define(text: &str) {
    let Ok(definition) = RawObject::parse(text.to_owned()) else { return };
    let compiled = WorkflowDefinition::read(&definition, None).and_then(Workflow::compile);
    match compiled {
        Ok(workflow) => {
            assert!(!workflow.definition().steps.is_empty(), "there is at least one step");
            let _ = workflow.asks();
            assert!(workflow.tools().count() <= workflow.definition().steps.len());
        }
        Err(errors) => {
            assert!(!errors.0.is_empty(), "a definition is refused for a reason");
            assert!(errors.0.iter().all(|error| !error.field.is_empty() && !error.message.is_empty()));
        }
    }
}

fn evaluate(template: &str) {
    let Some(result) = run(template) else { return };
    match (result.status, result.error) {
        (RunStatus::Completed, None) => {
            let output = result.output.map_or_else(RawObject::empty, |output| {
                RawObject::try_from(output).unwrap_or_else(|error| panic!("the output is an object: {error}"))
            });
            assert!(output.get("list").is_some_and(|list| list.elements(1).is_some()), "{output:?}");
        }
        (_, Some(WorkflowError::Template(error))) => assert!(!error.reason.is_empty()),
        (status, error) => panic!("{template:?} ended as {status:?}: {error:?}"),
    }
}

/// A run that does nothing but evaluate the template. `None`: it does not compile.
fn run(template: &str) -> Option<WorkflowResult> {
    let text = RawJson::string(template);
    let definition = format!(
        r#"{{"name":"w","description":"One template.","vars":{{"x":{text}}},
        "steps":[{{"id":"s","tool":"t__x","condition":"false"}}],
        "output":{{"properties":{{"list":{{"type":"array","description":"It.","value":"{{{{ [vars.x] }}}}"}}}}}}}}"#
    );
    let definition = RawObject::parse(definition).unwrap_or_else(|error| panic!("{error}"));
    let definition = WorkflowDefinition::read(&definition, None).unwrap_or_else(|error| panic!("{error}"));
    let workflow = Arc::new(Workflow::compile(definition).ok()?);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let runtime = runtime.unwrap_or_else(|error| panic!("{error}"));
    Some(runtime.block_on(result(workflow)))
}

async fn result(workflow: Arc<Workflow>) -> WorkflowResult {
    let capabilities = ClientCapabilities::default();
    let session = SessionKey::Modern { caller: Caller::anonymous(), capabilities: capabilities.clone() };
    let context = RunContext {
        caller: Caller::anonymous(),
        exchange: Exchange::quiet(Era::Modern, session, capabilities),
        meta: None,
        tools: Arc::new(Nothing),
    };
    let arguments = RawObject::parse(ARGUMENTS).unwrap_or_else(|error| panic!("{error}"));
    let composer = Composer::new(ComposerConfig::default(), Arc::new(Nothing));
    match composer.begin(workflow, arguments, context) {
        Ok(mut run) => match run.next().await {
            Turn::Ended(result) => result,
            Turn::Asks(questions) => panic!("nothing is asked: {questions:?}"),
        },
        Err(error) => panic!("the run begins: {error}"),
    }
}

/// No tools.
struct Nothing;

impl RoutingTable for Nothing {
    fn exact(&self, _: &str) -> Option<Arc<OfferedTool>> {
        None
    }

    fn of(&self, _: &str, _: &str) -> Option<Arc<OfferedTool>> {
        None
    }
}

#[async_trait]
impl Dispatcher for Nothing {
    async fn dispatch(&self, _: Call) -> Result<Outcome, Error> {
        panic!("no tool is called")
    }
}
