//! What expressions may refer to (C-55), and when it is there.

use gateway_domain::RawObject;

use super::{
    findings::{Findings, Part},
    graph::Graph,
    mention::Mention,
};
use crate::definition::{WorkflowDefinition, listed, nearest, shown};

const ROOTS: &[&str] = &["params", "vars", "steps", "workflow", "forEach"];

const WORKFLOW: &[&str] = &["id", "duration_ms", "step_count", "status", "start_time"];

const STEP: &[&str] = &["status", "output", "content", "error"];

/// What there is to refer to.
pub(super) struct Known<'a> {
    graph: &'a Graph,
    /// `None`: whatever the caller gives.
    params: Option<Vec<String>>,
    vars: Vec<String>,
}

impl<'a> Known<'a> {
    pub(super) fn of(definition: &WorkflowDefinition, graph: &'a Graph) -> Self {
        let names = |object: &RawObject| object.iter().map(|(name, _)| name.into_owned()).collect();
        let properties = definition.parameters.as_ref().and_then(|schema| schema.get_object("properties"));
        Self {
            graph,
            params: properties.as_ref().map(names),
            vars: definition.vars.as_ref().map(names).unwrap_or_default(),
        }
    }

    /// Looks at every reference.
    pub(super) fn check(&self, mentions: &[Mention], findings: &mut Findings) {
        for mention in mentions {
            if let Err(message) = self.judge(mention) {
                findings.add(mention.part, mention.place.problem(message));
            }
        }
    }

    fn judge(&self, mention: &Mention) -> Result<(), String> {
        let mut path = mention.path();
        let (root, name, member) = (path.next().unwrap_or_default(), path.next(), path.next());
        if mention.part == Part::Head && matches!(root, "vars" | "steps" | "forEach") {
            return Err(format!("refers to `{root}`, but vars can only refer to `params` and `workflow`"));
        }
        match root {
            "params" => match &self.params {
                Some(params) => one_of(mention, name, params, "which `parameters` does not declare"),
                None => Ok(()),
            },
            "vars" => one_of(mention, name, &self.vars, "which is none of `vars`"),
            "workflow" => one_of(mention, name, WORKFLOW, "which there is none of"),
            "forEach" => for_each(mention, name),
            "steps" => {
                self.step(mention, name).and_then(|()| one_of(mention, member, STEP, "which no step has"))
            }
            _ => Err(self.stranger(root)),
        }
    }

    fn step(&self, mention: &Mention, id: Option<&str>) -> Result<(), String> {
        let Some(id) = id else {
            return Err("refers to `steps` as a whole; name the step, as in `steps.fetch.output`".to_owned());
        };
        let (place, id) = (self.graph.place(id), shown(id));
        let Some(named) = place else {
            let dashed = self.graph.ids().iter().find(|known| known.starts_with(&format!("{id}-")));
            return Err(match dashed {
                Some(dashed) => format!(
                    "refers to step `{id}`, which there is none of; `-` is a minus, so write `steps[\"{dashed}\"]`"
                ),
                None => format!("refers to step {}", self.graph.unknown(&id)),
            });
        };
        match mention.part {
            Part::Step(at) if at == named => Err(format!(
                "refers to `{}`, which is not there before the step has ended",
                mention.written()
            )),
            Part::Step(at) if !self.graph.is_before(named, at) => Err(format!(
                "refers to step `{id}`, which need not be done before; add `{id}` to `dependsOn`"
            )),
            _ => Ok(()),
        }
    }

    /// A root that there is not. Most often the real one is left out.
    fn stranger(&self, root: &str) -> String {
        let refers = format!("refers to `{}`", shown(root));
        let is_param = self.params.iter().flatten().any(|param| param == root);
        let owner = [
            ("params", is_param),
            ("vars", self.vars.iter().any(|var| var == root)),
            ("steps", self.graph.place(root).is_some()),
        ];
        if let Some((owner, _)) = owner.into_iter().find(|(_, is_owner)| *is_owner) {
            return format!("{refers}, which there is none of; did you mean `{owner}.{root}`?");
        }
        match nearest(root, ROOTS) {
            Some(near) => format!("{refers}, which there is none of; did you mean `{near}`?"),
            None => format!("{refers}, which there is none of; there are {}", listed(ROOTS)),
        }
    }
}

fn for_each(mention: &Mention, name: Option<&str>) -> Result<(), String> {
    match &mention.item {
        Some(item) => one_of(mention, name, &[&**item, "index"], "which a loop does not have"),
        None => Err("refers to `forEach`, which is only there within the inner step of a loop".to_owned()),
    }
}

/// Whether a name is known. None at all is the whole, which always is.
fn one_of<T: AsRef<str>>(
    mention: &Mention,
    name: Option<&str>,
    known: &[T],
    why_not: &str,
) -> Result<(), String> {
    let Some(name) = name else { return Ok(()) };
    let known: Vec<&str> = known.iter().map(AsRef::as_ref).collect();
    if known.contains(&name) {
        return Ok(());
    }
    let hint = match nearest(name, &known) {
        Some(near) => format!("; did you mean `{near}`?"),
        None if known.is_empty() => String::new(),
        None => format!("; there are {}", listed(&known)),
    };
    Err(format!("refers to `{}`, {why_not}{hint}", mention.written()))
}
