//! From JSON to a definition: names, types and forms of members, and nothing else.

mod annotations;
mod for_each;
mod members;
mod on_error;
mod output;
mod question;
mod step;
mod time;
mod value;

use std::sync::Arc;

use gateway_domain::RawObject;

use self::{
    annotations::annotations, members::Members, output::output, step::step, time::time, value::Value,
};
use super::{DefinitionErrors, Draft, WorkflowDefinition, in_file_order, place::Place, shown};

impl WorkflowDefinition {
    /// Reads a definition, in camelCase as C-24 to C-27 name its members; times are texts like `30s` or `1h 30m`.
    /// `name` may be left out where it stands elsewhere, as the key of a table; if it stands in both places they
    /// must agree.
    ///
    /// What is only missing is left empty, and said by [`crate::Workflow::compile`]. [`crate::Workflow::load`] does
    /// both, and says everything together.
    ///
    /// # Errors
    /// Everything whose form is wrong, unknown members included, with the nearest known one.
    pub fn read(definition: &RawObject, name: Option<&str>) -> Result<Self, DefinitionErrors> {
        let Draft { value, flaws } = Self::draft(definition, name);
        let problems = in_file_order(definition.raw(), 0, flaws.problems);
        DefinitionErrors::of(problems).map_or(Ok(value), Err)
    }

    /// What can be read of a definition. A member whose form is wrong is left out.
    pub(crate) fn draft(definition: &RawObject, name: Option<&str>) -> Draft<Self> {
        let mut members = Members::explained(definition.clone(), Place::default(), MEMBERS, former);
        let definition = Self {
            name: read_name(&mut members, name),
            description: members.take("description", Value::text).unwrap_or_default(),
            parameters: members.take("parameters", Value::object),
            vars: members.take("vars", Value::object),
            steps: members.draft("steps", |steps| steps.each(step)).unwrap_or_default(),
            timeout: members.take("timeout", time),
            output: members.draft("output", output).flatten(),
            annotations: members.take("annotations", annotations),
            metadata: members.take("metadata", Value::object),
        };
        members.drafted(definition)
    }
}

fn read_name(members: &mut Members, given: Option<&str>) -> Arc<str> {
    let written = members.take("name", Value::text);
    match (written, given) {
        (Some(written), Some(given)) if written != given => {
            let (written, given) = (shown(&written), shown(given));
            members.report(
                "name",
                format!("is `{written}`, but the workflow stands under `{given}`; leave it out here"),
            );
            written.into()
        }
        (Some(name), _) => name.into(),
        (None, given) => given.unwrap_or_default().into(),
    }
}

/// Members that definitions have elsewhere, and what is done about the same here (C-W16).
fn former(name: &str) -> Option<String> {
    (name == "failureMode")
        .then(|| "is not known; what a failure does is said by `onError` of each step".to_owned())
}

const MEMBERS: &[&str] =
    &["name", "description", "parameters", "vars", "steps", "timeout", "output", "annotations", "metadata"];
