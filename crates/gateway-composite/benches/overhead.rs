//! What a step costs over the call that it makes, and what a loop costs over the time of its calls. The dispatcher
//! answers in memory.
//! `cargo bench -p gateway-composite --bench overhead`

#![expect(clippy::unwrap_used, clippy::panic, reason = "a bench that cannot go on has to stop")]

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use divan::{Bencher, counter::ItemsCount};
use gateway_composite::{
    Composer, ComposerConfig, RoutingTable, RunContext, RunStatus, Turn, Workflow, WorkflowDefinition,
};
use gateway_domain::{
    Call, Caller, ClientCapabilities, Dispatcher, DownstreamName, Era, Error, Exchange, OfferedTool, Outcome,
    Params, RawObject, SessionKey, Subject, Target, Tool, View,
};
use tokio::runtime::Runtime;

fn main() {
    divan::main();
}

fn object(text: &str) -> RawObject {
    RawObject::parse(text.to_owned()).unwrap()
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap()
}

fn exchange() -> Exchange {
    let capabilities = ClientCapabilities::none();
    let session = SessionKey::Modern { caller: Caller::anonymous(), capabilities: capabilities.clone() };
    Exchange::quiet(Era::Modern, session, capabilities)
}

/// Answers every call with the same result, after a time.
#[derive(Clone)]
struct Answers {
    result: RawObject,
    after: Option<Duration>,
}

impl Answers {
    fn new(after: Option<Duration>) -> Self {
        let result =
            r#"{"content":[{"type":"text","text":"seven"}],"structuredContent":{"n":7,"s":"seven"}}"#;
        Self { result: object(result), after }
    }
}

#[async_trait]
impl Dispatcher for Answers {
    async fn dispatch(&self, _: Call) -> Result<Outcome, Error> {
        if let Some(after) = self.after {
            tokio::time::sleep(after).await;
        }
        Ok(Outcome::Complete(self.result.clone()))
    }
}

struct Table(Arc<OfferedTool>);

impl RoutingTable for Table {
    fn exact(&self, _: &str) -> Option<Arc<OfferedTool>> {
        Some(self.0.clone())
    }

    fn of(&self, _: &str, _: &str) -> Option<Arc<OfferedTool>> {
        None
    }
}

/// A composer, a workflow, and somebody who calls it.
struct Bench {
    composer: Composer,
    workflow: Arc<Workflow>,
    context: RunContext,
}

impl Bench {
    fn new(steps: &str, answers: Answers) -> Self {
        let definition = object(&format!(r#"{{"name":"w","description":"A bench.","steps":[{steps}]}}"#));
        let workflow = Workflow::compile(WorkflowDefinition::read(&definition, None).unwrap()).unwrap();
        let tool = OfferedTool {
            downstream: DownstreamName::parse("d").unwrap(),
            tool: Tool::new("t"),
            headers: Arc::default(),
        };
        let tools = Arc::new(Table(Arc::new(tool)));
        Self {
            composer: Composer::new(ComposerConfig::default(), Arc::new(answers)),
            workflow: Arc::new(workflow),
            context: RunContext { caller: Caller::anonymous(), exchange: exchange(), meta: None, tools },
        }
    }

    async fn run(&self) {
        let mut run =
            self.composer.begin(self.workflow.clone(), RawObject::empty(), self.context.clone()).unwrap();
        let Turn::Ended(result) = run.next().await else { panic!("nobody asks") };
        assert_eq!(result.status, RunStatus::Completed);
    }
}

/// One call, as a step would make it.
#[divan::bench]
fn a_direct_call(bencher: Bencher<'_, '_>) {
    let (runtime, answers) = (runtime(), Answers::new(None));
    let call = Call {
        target: Target::Exposed { view: View::All, subject: Subject::tool("d__t") },
        params: Params { object: object(r#"{"name":"d__t","arguments":{"n":7}}"#), meta: None },
        follow_up: None,
        caller: Caller::anonymous(),
        exchange: exchange(),
        origin: None,
    };
    bencher
        .counter(ItemsCount::new(1_u32))
        .bench_local(|| runtime.block_on(answers.dispatch(call.clone())).unwrap());
}

/// Each step hands on what the one before gave. Items are steps.
#[divan::bench(args = [1, 10, 100])]
fn a_chain(bencher: Bencher<'_, '_>, length: usize) {
    let step = |at: usize| match at {
        0 => r#"{"id":"s0","tool":"d__t","arguments":{"n":7}}"#.to_owned(),
        _ => format!(
            r#"{{"id":"s{at}","tool":"d__t","dependsOn":["s{}"],
              "arguments":{{"n":"{{{{ steps.s{}.output.n }}}}"}}}}"#,
            at - 1,
            at - 1,
        ),
    };
    let steps: Vec<_> = (0..length).map(step).collect();
    let runtime = runtime();
    let bench = runtime.block_on(async { Bench::new(&steps.join(","), Answers::new(None)) });
    bencher.counter(ItemsCount::new(length)).bench_local(|| runtime.block_on(bench.run()));
}

/// A hundred calls of a millisecond, ten at once: ten milliseconds if nothing came on top.
#[divan::bench(sample_count = 20)]
fn a_loop_of_100_items_10_at_once(bencher: Bencher<'_, '_>) {
    let items: Vec<_> = (0..100).map(|item| item.to_string()).collect();
    let each = format!(
        r#"{{"id":"each","type":"forEach","collection":[{}],"maxParallel":10,
          "step":{{"tool":"d__t","arguments":{{"n":"{{{{ forEach.item }}}}"}}}}}}"#,
        items.join(","),
    );
    let runtime = runtime();
    let answers = Answers::new(Some(Duration::from_millis(1)));
    let bench = runtime.block_on(async { Bench::new(&each, answers) });
    bencher.counter(ItemsCount::new(100_u32)).bench_local(|| runtime.block_on(bench.run()));
}
