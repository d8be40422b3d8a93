//! What can be compiled of a definition.

use std::{sync::Arc, time::Duration};

use gateway_domain::{RawJson, RawObject};

use super::{
    findings::{Findings, Part},
    graph::Graph,
    mention::Mention,
};
use crate::{
    definition::{
        DefinitionError, ElicitationStep, ForEachStep, OnError, Output, OutputProperty, OutputValue, Place,
        Step, StepKind, ToolStep, WorkflowDefinition,
    },
    error::TemplateError,
    plan::{
        Act, PlannedCall, PlannedLoop, PlannedOutput, PlannedProperty, PlannedQuestion, PlannedStep,
        PlannedValue, Workflow,
    },
    schema::Schema,
    template::{Reference, Template, Tree},
};

/// How long a workflow may take, unless it says so itself (C-43).
const WORKFLOW_TIME: Duration = Duration::from_secs(30 * 60);

/// How long a step may take, unless it says so itself (C-43, C-65).
const STEP_TIME: Duration = Duration::from_secs(5 * 60);

/// How many items of a loop are worked on at once, unless it says so itself (C-61).
const PARALLEL: u32 = 10;

/// How many items a loop may have, unless it says so itself (C-60).
const ITERATIONS: u32 = 100;

/// The whole workflow, or `None` if something is wrong; and everything that its templates refer to.
pub(super) fn compiled(
    definition: &Arc<WorkflowDefinition>,
    graph: &Graph,
    findings: &mut Findings,
) -> (Option<Workflow>, Vec<Mention>) {
    let mut compiler = Compiler { part: Part::Head, item: None, findings, mentions: Vec::new() };
    let workflow = workflow(&mut compiler, definition, graph);
    (workflow, compiler.mentions)
}

fn workflow(
    compiler: &mut Compiler<'_>,
    definition: &Arc<WorkflowDefinition>,
    graph: &Graph,
) -> Option<Workflow> {
    let place = Place::default().member("parameters");
    let parameters = compiler.schema(&place, definition.parameters.as_ref());
    let vars = vars(compiler, definition.vars.as_ref());
    let steps = steps(compiler, &definition.steps, graph);
    compiler.part = Part::Output;
    let output = definition.output.as_ref().map(|written| output(compiler, written));
    Some(Workflow {
        definition: definition.clone(),
        parameters: parameters?,
        vars: vars?,
        steps: steps?,
        output: output.map_or(Some(None), |output| output.map(Some))?,
        timeout: time(definition.timeout).unwrap_or(WORKFLOW_TIME),
    })
}

/// A time that is given; none at all is the same as not given.
fn time(given: Option<Duration>) -> Option<Duration> {
    given.filter(|time| !time.is_zero())
}

/// A count that is given; 0 is the same as not given (C-35).
fn count(given: Option<u32>, default: u32) -> u32 {
    given.filter(|count| *count > 0).unwrap_or(default)
}

fn vars(compiler: &mut Compiler<'_>, written: Option<&RawObject>) -> Option<Vec<(Arc<str>, Tree)>> {
    let place = Place::default().member("vars");
    let vars: Vec<_> = written
        .iter()
        .flat_map(|vars| vars.iter())
        .map(|(name, value)| Some((Arc::from(name.as_ref()), compiler.tree(&place.member(&name), &value)?)))
        .collect();
    vars.into_iter().collect()
}

fn steps(compiler: &mut Compiler<'_>, written: &[Step], graph: &Graph) -> Option<Vec<Arc<PlannedStep>>> {
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
        StepKind::ForEach(written) => for_each(compiler, place, written).map(Act::ForEach),
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
    let schema = compiler.schema(&place.member("schema"), Some(&written.schema));
    Some(PlannedQuestion {
        message: message?,
        requested: written.schema.clone(),
        schema: schema??,
        on_decline: written.on_decline,
        on_cancel: written.on_cancel,
    })
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

fn output(compiler: &mut Compiler<'_>, written: &Output) -> Option<PlannedOutput> {
    let place = Place::default().member("output").member("properties");
    let properties = properties(compiler, &place, &written.properties)?;
    Some(PlannedOutput { properties, required: written.required.clone() })
}

/// Nested no deeper than the text was that they were read from.
fn properties(
    compiler: &mut Compiler<'_>,
    place: &Place,
    written: &[(Arc<str>, OutputProperty)],
) -> Option<Vec<PlannedProperty>> {
    let properties: Vec<_> = written
        .iter()
        .map(|(name, written)| property(compiler, &place.member(name), name, written))
        .collect();
    properties.into_iter().collect()
}

fn property(
    compiler: &mut Compiler<'_>,
    place: &Place,
    name: &Arc<str>,
    written: &OutputProperty,
) -> Option<PlannedProperty> {
    let before = compiler.mentions.len();
    let value = match &written.value {
        OutputValue::Template(text) => {
            compiler.template(&place.member("value"), text).map(PlannedValue::Template)
        }
        OutputValue::Properties(nested) => {
            properties(compiler, &place.member("properties"), nested).map(PlannedValue::Properties)
        }
    };
    if written.default.is_some() {
        // The default takes the place of whatever is missing in it (C-71).
        compiler.mentions[before..].iter_mut().for_each(|mention| mention.reference.may_be_missing = true);
    }
    Some(PlannedProperty {
        name: name.clone(),
        kind: written.kind,
        value: value?,
        default: written.default.clone(),
    })
}

/// Compiles what stands in a definition, and takes note of what cannot be, and of what templates refer to.
struct Compiler<'a> {
    /// Where it is.
    part: Part,
    /// What the item is called there.
    item: Option<Arc<str>>,
    findings: &'a mut Findings,
    mentions: Vec<Mention>,
}

impl Compiler<'_> {
    fn template(&mut self, place: &Place, text: &str) -> Option<Template> {
        let template = Template::compile(text).map_err(|error| broken(place, error));
        let template = self.findings.keep(self.part, template)?;
        for reference in template.references() {
            self.mention(place.clone(), reference);
        }
        Some(template)
    }

    fn mention(&mut self, place: Place, reference: Reference) {
        self.mentions.push(Mention { part: self.part, item: self.item.clone(), place, reference });
    }

    /// `Some(None)`: there is no condition.
    fn condition(&mut self, place: &Place, text: Option<&str>) -> Option<Option<Template>> {
        text.map_or(Some(None), |text| self.template(&place.member("condition"), text).map(Some))
    }

    fn tree(&mut self, place: &Place, value: &RawJson) -> Option<Tree> {
        match Tree::compile(value) {
            Ok(tree) => {
                for (way, reference) in tree.references() {
                    self.mention(place.within(&way), reference);
                }
                Some(tree)
            }
            Err(errors) => {
                for error in errors {
                    self.findings.add(self.part, broken(place, error));
                }
                None
            }
        }
    }

    /// `Some(None)`: there is no schema.
    fn schema(&mut self, place: &Place, schema: Option<&RawObject>) -> Option<Option<Schema>> {
        schema.map_or(Some(None), |schema| {
            let compiled = Schema::compile(schema).map_err(|cause| DefinitionError {
                cause: Some(cause),
                ..place.problem("must be a valid JSON Schema")
            });
            self.findings.keep(self.part, compiled).map(Some)
        })
    }
}

/// C-36.
fn broken(place: &Place, error: TemplateError) -> DefinitionError {
    DefinitionError {
        cause: Some(error.reason),
        ..place.within(&error.place).problem("is not a template that can be used")
    }
}
