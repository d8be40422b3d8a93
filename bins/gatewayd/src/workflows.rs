//! The workflows of a configuration, ready to be offered, and those that are left out with every reason.

use std::{collections::BTreeMap, fmt, sync::Arc};

use gateway_composite::{ComposerConfig, Definitions, Workflow};
use gateway_domain::printable;

use crate::config;

/// What there is of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Workflows {
    pub(crate) definitions: Definitions,
    /// By name, which none of the others has.
    pub(crate) broken: BTreeMap<Arc<str>, Vec<Fault>>,
    /// Where each is written.
    places: BTreeMap<Arc<str>, Place>,
}

/// Where a workflow is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// `None`: in the environment.
    pub(crate) file: Option<String>,
    /// File, line and key, as far as there are any.
    pub(crate) shown: String,
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
            let place = Place { file: workflow.file.clone(), shown: workflow.place.clone() };
            workflows.places.insert(name.clone(), place);
            match compile(workflow) {
                Ok(compiled) => {
                    if let Err(twice) = workflows.definitions.add(Arc::new(compiled)) {
                        workflows.broken.insert(name, vec![Fault::whole(&twice.to_string())]);
                    }
                }
                Err(faults) => drop(workflows.broken.insert(name, faults)),
            }
        }
        workflows
    }

    /// Where one of them is written.
    pub(crate) fn place(&self, name: &str) -> Place {
        self.places.get(name).cloned().unwrap_or_default()
    }

    /// Tells the log what is left out, and why.
    pub(crate) fn warn(&self) {
        for (workflow, faults) in &self.broken {
            let place = self.place(workflow).shown;
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
    Workflow::load(definition, Some(&workflow.name)).map_err(|errors| {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Environment, Request, load};

    /// Name and place of each workflow of a configuration, and what is wrong with it.
    fn read(text: &str) -> Vec<(String, String, Vec<String>)> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("gateway.toml"), text).unwrap();
        let request = Request { folder: folder.path().to_owned(), ..Request::default() };
        let loaded = load(&request, &Environment::default()).outcome;
        let written = loaded.unwrap_or_else(|problems| panic!("{problems}\n{text}")).config.workflows;
        let workflows = Workflows::of(&written);
        assert_eq!(workflows.definitions.len() + workflows.broken.len(), written.len());
        let row = |(name, place): (&Arc<str>, &Place)| {
            let faults = workflows.broken.get(name).into_iter().flatten();
            (name.to_string(), place.shown.clone(), faults.map(ToString::to_string).collect())
        };
        workflows.places.iter().map(row).collect()
    }

    #[test]
    fn one_that_is_broken_leaves_the_others_alone() {
        let text = "[downstreams.d]\ncommand = [\"x\"]\n[workflows.a]\nsteps = []\n[workflows.b]\ndescription = \"x\"\n\
                    steps = [{ id = \"s\", tool = \"d__t\" }]\n[workflows.c]\ndescription = \"x\"\n\
                    steps = [{ id = \"s\", tool = \"d__t\", condition = \"{{ steps.x.output }}\" }]\n";
        let rows = read(text);
        let names: Vec<_> = rows.iter().map(|(name, place, _)| (name.as_str(), place.as_str())).collect();
        let place = |line, name| format!("gateway.toml:{line}: workflows.{name}");
        assert_eq!(names, [("a", &*place(3, "a")), ("b", &place(5, "b")), ("c", &place(8, "c"))]);
        assert!(rows[0].2.len() >= 2, "all faults at once: {rows:?}");
        assert!(rows[1].2.is_empty(), "{rows:?}");
        assert!(rows[2].2[0].starts_with("step `s`: `condition` "), "{rows:?}");
    }

    #[test]
    fn examples_of_the_documentation_are_sound() {
        let texts = [include_str!("../../../README.md"), include_str!("../../../docs/configuration.md")];
        let blocks = texts.iter().flat_map(|text| text.split("```toml\n").skip(1));
        let examples = blocks.filter_map(|block| block.split("```").next());
        let examples: Vec<_> = examples.filter(|example| example.contains("[workflows.")).collect();
        assert_eq!(examples.len(), 2);
        for example in examples {
            let rows = read(&format!("{example}\n[downstreams.d]\ncommand = [\"x\"]\n"));
            assert!(rows.iter().all(|(_, _, faults)| faults.is_empty()), "{rows:#?}");
        }
    }

    #[test]
    fn whole_definitions_in_the_documentation_are_sound() {
        let text = include_str!("../../../docs/workflows.md");
        let folder = tempfile::tempdir().unwrap();
        let mut count = 0;
        for format in ["yaml", "json"] {
            let opened = format!("```{format}\n");
            let blocks = text.split(&opened).skip(1).filter_map(|rest| rest.split("```").next());
            for block in blocks.filter(|block| block.contains("steps") && block.contains("description")) {
                count += 1;
                std::fs::write(folder.path().join(format!("w{count}.{format}")), block).unwrap();
            }
        }
        let config = "workflows = \"w*\"\n[downstreams.d]\ncommand = [\"x\"]\n";
        std::fs::write(folder.path().join("gateway.toml"), config).unwrap();
        let request = Request { folder: folder.path().to_owned(), ..Request::default() };
        let written = load(&request, &Environment::default()).outcome.unwrap().config.workflows;
        let workflows = Workflows::of(&written);
        assert!(workflows.broken.is_empty(), "{:#?}", workflows.broken);
        assert_eq!((count, workflows.definitions.len()), (2, 2));
    }
}
