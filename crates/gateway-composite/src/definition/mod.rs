//! What the author of a workflow writes (C-24 to C-28). Nothing here is checked but its form; [`crate::Workflow`]
//! checks the rest.

mod error;
mod place;
mod problem;
mod read;
mod word;

use std::{sync::Arc, time::Duration};

use gateway_domain::{RawJson, RawObject};

pub use self::error::{DefinitionError, DefinitionErrors};
use self::word::meaning;
pub(crate) use self::{
    place::Place,
    problem::{Draft, Flaws, Problem, in_file_order},
    word::{hint, listed, nearest, shown},
};

/// A workflow as it is written (C-24).
#[derive(Debug, Clone, PartialEq)]
pub struct WorkflowDefinition {
    /// The tool's name: `^[a-z0-9]([a-z0-9_-]*[a-z0-9])?$`, 1 to 64 characters, without `__` (C-30, requirements §7
    /// item 3).
    pub name: Arc<str>,
    /// What it is for, as models read it.
    pub description: String,
    /// A JSON Schema of type `object` for the arguments (C-31); none: any object.
    pub parameters: Option<RawObject>,
    /// Values that several steps need: constants, or templates over `params` and `workflow`, computed once at the
    /// start. They cannot refer to one another, so that their order means nothing.
    pub vars: Option<RawObject>,
    /// At least 1, at most 100 (C-29).
    pub steps: Vec<Step>,
    /// How long a run may take, questions included; by default, and if it is zero, 30 minutes (C-43). At most 24 hours.
    pub timeout: Option<Duration>,
    /// What the result is; without it, the output of the last step in the file that has one (C-W17).
    pub output: Option<Output>,
    /// Hints that win over those derived from the steps' tools (C-21).
    pub annotations: Option<Annotations>,
    /// Whatever the author wants to keep; not looked at, not shown.
    pub metadata: Option<RawObject>,
}

/// Explicit annotations (C-21); what is not given is derived (C-20).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the protocol's own names")]
pub struct Annotations {
    pub title: Option<String>,
    pub read_only_hint: Option<bool>,
    pub destructive_hint: Option<bool>,
    pub idempotent_hint: Option<bool>,
    pub open_world_hint: Option<bool>,
}

/// One step (C-25).
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Unique in its workflow: letters, digits, `_` and `-`, not beginning with a digit or `-`, at most 64.
    pub id: Arc<str>,
    /// What it does.
    pub kind: StepKind,
    /// A template that must come to true or false; false skips the step (C-45).
    pub condition: Option<String>,
    /// The steps that have to be done before; skipped and forgiven ones are (C-45, C-49).
    pub depends_on: Vec<Arc<str>>,
    /// What its failure does.
    pub on_error: OnError,
    /// How long it may take, retries included; by default, and if it is zero, 5 minutes. Of an elicitation at most 10
    /// minutes (C-65), of others 24 hours.
    pub timeout: Option<Duration>,
    /// Its output when it is skipped or its failure is forgiven (C-38).
    pub default_results: Option<RawObject>,
}

/// The three types of steps (C-26).
#[derive(Debug, Clone, PartialEq)]
pub enum StepKind {
    /// `tool`, the default: calls a tool.
    Tool(ToolStep),
    /// `elicitation`: asks the user.
    Elicitation(ElicitationStep),
    /// `forEach`: calls a tool for each item of a collection.
    ForEach(ForEachStep),
}

/// A call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolStep {
    /// `downstream__tool` or `downstream.tool` (requirements §7 item 4).
    pub tool: Arc<str>,
    /// Its arguments; every string in them is a template (C-57).
    pub arguments: RawObject,
}

/// A question to the user (C-65 to C-69).
#[derive(Debug, Clone, PartialEq)]
pub struct ElicitationStep {
    /// A template.
    pub message: String,
    /// What is asked: a flat JSON Schema, at most 100 KB and 10 levels (C-66).
    pub schema: RawObject,
    /// What a refusal does.
    pub on_decline: Handler,
    /// What a dismissal or no answer in time does.
    pub on_cancel: Handler,
}

/// What an answer other than `accept` does (C-68).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Handler {
    /// `abort`: the workflow fails.
    #[default]
    Abort,
    /// `continue`: the step is done, its output says what the user did.
    Continue,
    /// `skip_remaining`: the step is done, and no step that has not begun does.
    SkipRemaining,
}

/// A call for each item (C-59 to C-64).
#[derive(Debug, Clone, PartialEq)]
pub struct ForEachStep {
    /// A template that must come to an array, or an array whose strings are templates.
    pub collection: RawJson,
    /// What the item is called in `forEach`; `item` by default, never `index`.
    pub item_var: Arc<str>,
    /// How many items are worked on at once: by default, and if it is 0, 10; at most 50 (C-61).
    pub max_parallel: Option<u32>,
    /// How many items there may be: by default, and if it is 0, 100; at most 1000 (C-60).
    pub max_iterations: Option<u32>,
    /// What is done with each.
    pub step: InnerStep,
}

/// The step inside a loop. What it has is honoured, for each item by itself (C-64, C-W14).
#[derive(Debug, Clone, PartialEq)]
pub struct InnerStep {
    /// The call; its templates also see `forEach`.
    pub call: ToolStep,
    /// False skips the item.
    pub condition: Option<String>,
    /// `continue` here, or on the loop itself, has all items worked on (C-63).
    pub on_error: OnError,
    /// How long one item may take, retries included.
    pub timeout: Option<Duration>,
    /// The output of an item that is skipped or whose failure is forgiven.
    pub default_results: Option<RawObject>,
}

/// What a failure does (C-37, C-48, C-49).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OnError {
    /// What happens in the end.
    pub action: ErrorAction,
    /// How many more attempts there are, 1 to 10. Only with [`ErrorAction::Retry`], as the members below.
    pub retry_count: u32,
    /// How long the first of them waits; 1 s by default, and if it is zero; then 1.5 times as long each time, ±50 %, at
    /// most 60 times the first.
    pub retry_delay: Option<Duration>,
    /// `retryUnsafe`: the author insists that a tool is called again that does not say that it is read-only or
    /// idempotent. Without it such a tool is called again only if the call certainly did not run (C-W13).
    pub retry_unsafe: bool,
}

/// The actions of `onError`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ErrorAction {
    /// `abort`: what runs is cancelled, and the workflow fails.
    #[default]
    Abort,
    /// `continue`: the step has failed, its output is its default results, and its dependants run.
    Continue,
    /// `retry`: it is tried again, and aborts if that does not help. Only of calls: of tool steps, and of the inner steps
    /// of loops.
    Retry,
}

/// What a workflow returns (C-27).
#[derive(Debug, Clone, PartialEq)]
pub struct Output {
    /// By name, in the order of the file.
    pub properties: Vec<(Arc<str>, OutputProperty)>,
    /// Those that must be there and not null (C-72).
    pub required: Vec<Arc<str>>,
}

/// One member of the output.
#[derive(Debug, Clone, PartialEq)]
pub struct OutputProperty {
    /// Its type.
    pub kind: OutputType,
    /// What it is.
    pub description: String,
    /// Where it comes from.
    pub value: OutputValue,
    /// What it is when `value` cannot be had (C-71).
    pub default: Option<RawJson>,
}

/// Where a member of the output comes from: exactly one of both (C-39).
#[derive(Debug, Clone, PartialEq)]
pub enum OutputValue {
    /// `value`: a template.
    Template(String),
    /// `properties`: an object of such members.
    Properties(Vec<(Arc<str>, OutputProperty)>),
}

/// The types of members of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "JSON Schema's own names")]
pub enum OutputType {
    String,
    Integer,
    Number,
    Boolean,
    Object,
    Array,
}

impl OutputType {
    /// All of them, by their names.
    pub(crate) const ALL: &[(&str, Self)] = &[
        ("string", Self::String),
        ("integer", Self::Integer),
        ("number", Self::Number),
        ("boolean", Self::Boolean),
        ("object", Self::Object),
        ("array", Self::Array),
    ];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        Self::ALL[self as usize].0
    }
}
