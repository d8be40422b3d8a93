//! A [`Scope`] as the language sees it.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use minijinja::{
    Value,
    value::{Enumerator, Object, ObjectExt},
};

use super::{
    Effort, ForEachScope, Scope, StepScope, WorkflowScope,
    json::Part,
    node::{self, Node},
};

/// From how many bytes of JSON on a context is large.
const LARGE: usize = 1 << 20;

/// A [`Scope`] that is looked into while templates are expanded. What was found is kept for the next expression. Clones
/// share that, and those for the items of a loop do.
#[derive(Clone)]
pub(crate) struct Context {
    root: Value,
    fields: Vec<(Arc<str>, Value)>,
    item: Option<Item>,
    /// How many bytes of JSON there are to look into.
    size: usize,
    effort: Arc<Effort>,
}

/// A loop's item stands in no other JSON.
#[derive(Clone)]
struct Item {
    name: Arc<str>,
    part: Part,
    index: usize,
}

impl Context {
    pub(crate) fn new(scope: &Scope) -> Self {
        let steps = Steps { steps: Arc::clone(&scope.steps), seen: Mutex::default() };
        let fields = vec![
            ("params".into(), node::value(scope.params.raw().clone().into())),
            ("steps".into(), Value::from_object(steps)),
            ("vars".into(), node::value(scope.vars.raw().clone().into())),
            ("workflow".into(), workflow(&scope.workflow)),
        ];
        let root = Value::from_object(Fields(fields.clone()));
        Self { root, fields, item: None, size: size(scope), effort: Arc::new(Effort::whole()) }
    }

    /// The same for one item of a loop.
    pub(crate) fn with_item(&self, each: &ForEachScope) -> Self {
        let (name, part, index) = (Arc::clone(&each.item_var), Part::from(each.item.clone()), each.index);
        let item = vec![(Arc::clone(&name), node::value(part.clone())), ("index".into(), Value::from(index))];
        let item = ("forEach".into(), Value::from_object(Fields(item)));
        let all = self.fields.iter().cloned().chain([item]).collect();
        let root = Value::from_object(Fields(all));
        let size = self.size + each.item.as_bytes().len();
        let item = Some(Item { name, part, index });
        Self { root, fields: self.fields.clone(), item, size, effort: Arc::clone(&self.effort) }
    }

    /// The same for one evaluation.
    pub(crate) fn with_effort(&self, effort: Arc<Effort>) -> Self {
        Self { effort, ..self.clone() }
    }

    pub(super) fn effort(&self) -> &Effort {
        &self.effort
    }

    /// Whether looking into it may take more than a moment: no fuel is paid for that.
    pub(crate) fn is_large(&self) -> bool {
        self.size > LARGE
    }

    /// Which item of a loop it is for.
    pub(crate) fn index(&self) -> Option<usize> {
        self.item.as_ref().map(|item| item.index)
    }

    pub(super) fn root(&self) -> Value {
        self.root.clone()
    }

    /// The value at a path exactly as it came, if it stands in JSON that came from somewhere.
    pub(super) fn raw(&self, path: &[Value]) -> Option<Part> {
        let (last, before) = path.split_last()?;
        if let (Some(item), [root]) = (&self.item, before)
            && root.as_str() == Some("forEach")
            && last.as_str() == Some(&item.name)
        {
            return Some(item.part.clone());
        }
        self.get(before)?.downcast_object_ref::<Node>()?.raw(last)
    }

    /// The value at a path.
    pub(super) fn get(&self, path: &[Value]) -> Option<Value> {
        path.iter().try_fold(self.root(), |here, key| here.get_item(key).ok())
    }
}

fn size(scope: &Scope) -> usize {
    let step = |step: &Arc<StepScope>| {
        step.output.as_str().len() + step.content.as_ref().map_or(0, |content| content.as_bytes().len())
    };
    scope.params.as_str().len() + scope.vars.as_str().len() + scope.steps.values().map(step).sum::<usize>()
}

fn workflow(workflow: &WorkflowScope) -> Value {
    let elapsed = u64::try_from(workflow.elapsed.as_millis()).unwrap_or(u64::MAX);
    Value::from_object(Fields(vec![
        ("id".into(), Value::from(&workflow.id)),
        ("duration_ms".into(), Value::from(elapsed)),
        ("step_count".into(), Value::from(workflow.step_count)),
        ("status".into(), Value::from(workflow.status.as_str())),
        ("start_time".into(), Value::from(&workflow.start_time)),
    ]))
}

fn step(step: &StepScope) -> Value {
    let mut fields = vec![
        ("status".into(), Value::from(step.status.as_str())),
        ("output".into(), node::value(step.output.raw().clone().into())),
    ];
    if let Some(content) = &step.content {
        fields.push(("content".into(), node::value(content.clone().into())));
    }
    if let Some(error) = &step.error {
        fields.push(("error".into(), Value::from(error.as_str())));
    }
    Value::from_object(Fields(fields))
}

/// A few named values.
#[derive(Debug)]
struct Fields(Vec<(Arc<str>, Value)>);

impl Object for Fields {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.get_value_by_str(key.as_str()?)
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Value> {
        self.0.iter().find(|(name, _)| **name == *key).map(|(_, value)| value.clone())
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        self.mapped_key_value_enumerator(|fields| {
            Box::new(fields.0.iter().map(|(name, value)| (Value::from(name), value.clone())))
        })
    }
}

/// The steps that are done, each made a value when it is first asked for.
#[derive(Debug)]
struct Steps {
    steps: Arc<BTreeMap<Arc<str>, Arc<StepScope>>>,
    seen: Mutex<BTreeMap<Arc<str>, Value>>,
}

impl Object for Steps {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let (id, scope) = self.steps.get_key_value(key.as_str()?)?;
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        Some(seen.entry(Arc::clone(id)).or_insert_with(|| step(scope)).clone())
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        self.mapped_rev_enumerator(|steps| Box::new(steps.steps.keys().map(Value::from)))
    }
}
