//! The workflows of a configuration, ready to be offered, and those that are left out with every reason.

use std::{collections::BTreeMap, fmt, sync::Arc};

use gateway_composite::{ComposerConfig, DefinitionErrors, Definitions, Workflow, WorkflowDefinition};
use gateway_domain::printable;

use crate::config;

/// What there is of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Workflows {
    pub(crate) definitions: Definitions,
    /// By name, which none of the others has.
    pub(crate) broken: BTreeMap<Arc<str>, Vec<Fault>>,
    /// Where each is written.
    places: BTreeMap<Arc<str>, String>,
}

/// One thing that keeps a workflow from being offered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// The id of the step that it is in.
    pub(crate) step: Option<String>,
    /// The member, from the step or the definition on.
    pub(crate) field: Option<String>,
    pub(crate) message: String,
}

impl Workflows {
    /// Compiles what is written. One that cannot be leaves out nothing but itself.
    pub(crate) fn of(written: &[config::Workflow]) -> Self {
        let mut workflows = Self::default();
        for workflow in written {
            let name: Arc<str> = workflow.name.as_str().into();
            workflows.places.insert(name.clone(), workflow.place.clone());
            match compile(workflow) {
                Ok(compiled) => drop(workflows.definitions.insert(name, Arc::new(compiled))),
                Err(faults) => drop(workflows.broken.insert(name, faults)),
            }
        }
        workflows
    }

    /// File and line.
    pub(crate) fn place(&self, name: &str) -> &str {
        self.places.get(name).map_or("", String::as_str)
    }

    /// Tells the log what is left out, and why.
    pub(crate) fn warn(&self) {
        for (workflow, faults) in &self.broken {
            let place = self.place(workflow);
            for Fault { step, field, message } in faults {
                let reason = printable(message, 500);
                let [step, field] =
                    [step, field].map(|text| text.as_deref().map(|text| printable(text, 100)));
                tracing::warn!(%workflow, place, step, field, reason, "workflow broken, left out");
            }
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(step) = &self.step {
            write!(f, "step `{}`: ", printable(step, 100))?;
        }
        if let Some(field) = &self.field {
            write!(f, "`{}` ", printable(field, 100))?;
        }
        f.write_str(&printable(&self.message, 500))
    }
}

fn compile(workflow: &config::Workflow) -> Result<Workflow, Vec<Fault>> {
    let definition = workflow.definition.as_ref().map_err(|reason| vec![Fault::whole(reason)])?;
    let read = WorkflowDefinition::read(definition, Some(&workflow.name));
    read.and_then(Workflow::compile).map_err(|DefinitionErrors(errors)| {
        let faults = errors.into_iter().map(|error| Fault {
            step: error.step.as_deref().map(str::to_owned),
            field: Some(error.field).filter(|field| !field.is_empty()),
            message: match error.cause {
                Some(cause) => format!("{}: {cause}", error.message),
                None => error.message,
            },
        });
        faults.collect()
    })
}

impl Fault {
    fn whole(message: &str) -> Self {
        Self { step: None, field: None, message: message.to_owned() }
    }
}

/// The bounds of their runs.
pub(crate) fn composer_config(config: &config::Config) -> ComposerConfig {
    let runs = &config.runs;
    let wide = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
    ComposerConfig {
        max_runs: runs.max,
        max_runs_per_caller: runs.max_per_caller,
        parallel_steps: runs.parallel_steps,
        max_calls: wide(runs.max_calls),
        max_bytes: wide(runs.max_bytes),
        max_time: runs.max_time,
        can_ask: true,
        label_questions: config.questions.label,
    }
}
