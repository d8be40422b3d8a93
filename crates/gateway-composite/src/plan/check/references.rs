//! What expressions may refer to (C-55), and when it is there.

use gateway_domain::RawObject;

use super::{
    findings::{Findings, Part},
    graph::Graph,
    mention::Mention,
};
use crate::definition::{Flaws, Place, WorkflowDefinition, hint, shown};

const ROOTS: &[&str] = &["params", "vars", "steps", "workflow", "forEach"];

const WORKFLOW: &[&str] = &["id", "duration_ms", "step_count", "status", "start_time"];

const STEP: &[&str] = &["status", "output", "content", "error"];

/// What there is to refer to.
pub(super) struct Known<'a> {
    graph: &'a Graph,
    /// `None`: whatever the caller gives.
    params: Option<Vec<String>>,
    vars: Vec<String>,
    flaws: &'a Flaws,
}

impl<'a> Known<'a> {
    pub(super) fn of(definition: &WorkflowDefinition, graph: &'a Graph, flaws: &'a Flaws) -> Self {
        let names = |object: &RawObject| object.iter().map(|(name, _)| name.into_owned()).collect();
        let properties = definition.parameters.as_ref().and_then(|schema| schema.get_object("properties"));
        Self {
            graph,
            params: properties.as_ref().map(names),
            vars: definition.vars.as_ref().map(names).unwrap_or_default(),
            flaws,
        }
    }

    /// Looks at every reference.
    pub(super) fn check(&self, mentions: &[Mention], findings: &mut Findings<'_>) {
        for mention in mentions {
            if let Err(message) = self.judge(mention) {
                findings.add(mention.place.problem(message));
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
                Some(params) => one_of(mention, name, params, "`parameters` declares"),
                None => Ok(()),
            },
            "vars" if self.flaws.hide(&Place::default().member("vars")) => Ok(()),
            "vars" => one_of(mention, name, &self.vars, "`vars` has"),
            "workflow" => one_of(mention, name, WORKFLOW, "`workflow` has"),
            "forEach" if self.is_item_unknown(mention.part) => Ok(()),
            "forEach" => for_each(mention, name),
            "steps" => self.step(mention, name).and_then(|()| one_of(mention, member, STEP, "a step has")),
            _ => Err(self.stranger(root)),
        }
    }

    fn step(&self, mention: &Mention, id: Option<&str>) -> Result<(), String> {
        let Some(id) = id else {
            return Err("refers to `steps` as a whole; name the step, as in `steps.fetch.output`".to_owned());
        };
        let (place, id) = (self.graph.place(id), shown(id));
        let Some(named) = place else {
            if !self.graph.is_whole() {
                return Ok(());
            }
            let dashed = self.graph.ids().iter().find(|known| known.starts_with(&format!("{id}-")));
            return Err(match dashed {
                Some(dashed) => format!(
                    "refers to step `{id}`, but there is no such step; `-` is a minus, so write `steps[\"{dashed}\"]`"
                ),
                None => format!("refers to a step, but {}", self.graph.unknown(&id)),
            });
        };
        match mention.part {
            Part::Step(at) if at == named => Err(format!(
                "refers to `{}`, which the step itself only has when it has ended; remove that",
                mention.written()
            )),
            Part::Step(at) if !self.graph.may_be_before(named, at) => Err(format!(
                "refers to step `{id}`, which need not be done before; add `{id}` to `dependsOn`"
            )),
            _ => Ok(()),
        }
    }

    /// Whether it cannot be told what the item is called there.
    fn is_item_unknown(&self, part: Part) -> bool {
        matches!(part, Part::Step(at) if self.flaws.hide(&Place::step("", at).member("itemVar")))
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
            return format!("{refers}, but there is no such name; did you mean `{owner}.{root}`?");
        }
        format!("{refers}, but there is no such name{}", hint(root, ROOTS))
    }
}

fn for_each(mention: &Mention, name: Option<&str>) -> Result<(), String> {
    match &mention.item {
        Some(item) => one_of(mention, name, &[&**item, "index"], "`forEach` has"),
        None => Err("refers to `forEach`, which is only there within the inner step of a loop".to_owned()),
    }
}

/// Whether a name is known. None at all is the whole, which always is.
fn one_of<T: AsRef<str>>(
    mention: &Mention,
    name: Option<&str>,
    known: &[T],
    owner_has: &str,
) -> Result<(), String> {
    let Some(name) = name else { return Ok(()) };
    let known: Vec<&str> = known.iter().map(AsRef::as_ref).collect();
    if known.contains(&name) {
        return Ok(());
    }
    let (written, name, hint) = (mention.written(), shown(name), hint(name, &known));
    Err(format!("refers to `{written}`, but {owner_has} no `{name}`{hint}"))
}
