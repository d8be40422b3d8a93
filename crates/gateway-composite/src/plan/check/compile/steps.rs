use std::{sync::Arc, time::Duration};

use gateway_domain::RawObject;

use super::{compiler::Compiler, time};
use crate::{
    definition::{ElicitationStep, ForEachStep, OnError, Place, Step, StepKind, ToolStep},
    plan::{
        Act, PlannedCall, PlannedLoop, PlannedQuestion, PlannedStep,
        check::{findings::Part, graph::Graph},
    },
    schema::Formats,
};

/// How long a step may take, unless it says so itself (C-43, C-65).
const STEP_TIME: Duration = Duration::from_secs(5 * 60);

/// How many items of a loop are worked on at once, unless it says so itself (C-61).
const PARALLEL: u32 = 10;

/// How many items a loop may have, unless it says so itself (C-60).
const ITERATIONS: u32 = 100;

pub(super) fn steps(
    compiler: &mut Compiler<'_>,
    written: &[Step],
    graph: &Graph,
) -> Option<Vec<Arc<PlannedStep>>> {
    let steps: Vec<_> = written
        .iter()
        .enumerate()
        .map(|(at, written)| {
            compiler.part = Part::Step(at);
            step(compiler, written, &Place::step(&written.id, at), graph.needs(at).to_vec()).map(Arc::new)
        })
        .collect();
    steps.into_iter().collect()
}

fn step(
    compiler: &mut Compiler<'_>,
    written: &Step,
    place: &Place,
    needs: Vec<usize>,
) -> Option<PlannedStep> {
    let act = match &written.kind {
        StepKind::Tool(written) => call(compiler, place, written).map(Act::Call),
        StepKind::Elicitation(written) => question(compiler, place, written).map(Act::Ask),
        StepKind::ForEach(written) => for_each(compiler, place, written).map(Arc::new).map(Act::ForEach),
    };
    let condition = compiler.condition(place, written.condition.as_deref());
    Some(PlannedStep {
        id: written.id.clone(),
        needs,
        condition: condition?,
        act: act?,
        on_error: on_error(&written.on_error),
        timeout: time(written.timeout).unwrap_or(STEP_TIME),
        default_results: written.default_results.clone(),
    })
}

fn on_error(written: &OnError) -> OnError {
    OnError { retry_delay: time(written.retry_delay), ..written.clone() }
}

fn call(compiler: &mut Compiler<'_>, place: &Place, written: &ToolStep) -> Option<PlannedCall> {
    let arguments = compiler.tree(&place.member("arguments"), written.arguments.raw())?;
    Some(PlannedCall { tool: written.tool.clone(), arguments })
}

fn question(
    compiler: &mut Compiler<'_>,
    place: &Place,
    written: &ElicitationStep,
) -> Option<PlannedQuestion> {
    let message = compiler.template(&place.member("message"), &written.message);
    let schema = compiler.schema(&place.member("schema"), Some(&written.schema), Formats::Asserted);
    Some(PlannedQuestion {
        message: message?,
        requested: requested(&written.schema),
        schema: schema??,
        on_decline: written.on_decline,
        on_cancel: written.on_cancel,
    })
}

/// A form as clients are shown it: they insist on `properties`, even if there are none.
fn requested(schema: &RawObject) -> RawObject {
    if schema.contains("properties") {
        return schema.clone();
    }
    RawObject::try_from(schema.edit().set("properties", "{}").finish()).unwrap_or_else(|_| schema.clone())
}

fn for_each(compiler: &mut Compiler<'_>, place: &Place, written: &ForEachStep) -> Option<PlannedLoop> {
    let collection = compiler.tree(&place.member("collection"), &written.collection);
    let (inner, place) = (&written.step, place.member("step"));
    compiler.item = Some(written.item_var.clone());
    let call = call(compiler, &place, &inner.call);
    let condition = compiler.condition(&place, inner.condition.as_deref());
    compiler.item = None;
    Some(PlannedLoop {
        collection: collection?,
        item_var: written.item_var.clone(),
        max_parallel: usize::try_from(count(written.max_parallel, PARALLEL)).ok()?,
        max_iterations: count(written.max_iterations, ITERATIONS),
        call: call?,
        condition: condition?,
        on_error: on_error(&inner.on_error),
        timeout: time(inner.timeout),
        default_results: inner.default_results.clone(),
    })
}

/// A count that is given; 0 is the same as not given (C-35).
fn count(given: Option<u32>, default: u32) -> u32 {
    given.filter(|count| *count > 0).unwrap_or(default)
}
