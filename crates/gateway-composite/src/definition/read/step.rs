use gateway_domain::RawObject;

use super::{
    super::{Step, StepKind, nearest, place::Place, shown},
    for_each,
    members::Members,
    on_error::on_error,
    output::names,
    question,
    time::time,
    value::{Read, Value},
};

/// One step (C-25), the one at `index`.
pub(super) fn step(value: Value, index: usize) -> Read<Step> {
    let object = value.indexed("an object")?;
    let id = object.get_text("id").unwrap_or_default();
    let place = Place::step(&id, index);
    let kind = Type::of(&object);
    let is_written = object.contains("type");
    let known = kind.as_ref().map_or_else(|_| Type::all_members(), |kind| kind.members());
    let mut members =
        Members::explained(object, place, &known, |name| elsewhere(name, *kind.as_ref().ok()?, is_written));
    let what = match kind {
        Ok(kind) => kind.read(&mut members),
        Err(problem) => {
            members.report("type", problem);
            None
        }
    };
    // It is known already, for the places of problems; here it is judged.
    members.take("id", Value::text);
    let condition = members.take("condition", Value::text);
    let depends_on = members.take("dependsOn", names).unwrap_or_default();
    let on_error = members.take("onError", on_error).unwrap_or_default();
    let timeout = members.take("timeout", time);
    let default_results = members.take("defaultResults", Value::object);
    let step = what.map(|kind| Step {
        id: id.into(),
        kind,
        condition,
        depends_on,
        on_error,
        timeout,
        default_results,
    });
    members.finish(step)
}

/// What a step does, before it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Type {
    Tool,
    Elicitation,
    ForEach,
}

impl Type {
    const ALL: [Self; 3] = [Self::Tool, Self::Elicitation, Self::ForEach];

    /// The type that a step says it has (C-26), or what is wrong with that.
    fn of(step: &RawObject) -> Result<Self, String> {
        let Some(written) = step.get("type") else {
            let is_ambiguous = step.contains("tool") && step.contains("message");
            return if is_ambiguous { Err(AMBIGUOUS.to_owned()) } else { Ok(Self::Tool) };
        };
        let Some(word) = written.to_text() else { return Err(format!("must be {TYPES}")) };
        if let Some(kind) = Self::ALL.into_iter().find(|kind| kind.word() == word) {
            return Ok(kind);
        }
        let word = shown(&word);
        if word == "conditional" {
            return Err("is `conditional`, which there is no more; write the `condition` on the step that \
                        depends on it"
                .to_owned());
        }
        Err(match nearest(&word, &Self::ALL.map(Self::word)) {
            Some(near) => format!("is `{word}`; did you mean `{near}`?"),
            None => format!("is `{word}`, but must be {TYPES}"),
        })
    }

    fn word(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Elicitation => "elicitation",
            Self::ForEach => "forEach",
        }
    }

    /// What steps of this type have beside the members of every step.
    fn own_members(self) -> &'static [&'static str] {
        match self {
            Self::Tool => &["tool", "arguments"],
            Self::Elicitation => question::MEMBERS,
            Self::ForEach => for_each::MEMBERS,
        }
    }

    fn members(self) -> Vec<&'static str> {
        [COMMON, self.own_members()].concat()
    }

    fn all_members() -> Vec<&'static str> {
        Self::ALL.into_iter().flat_map(Self::own_members).chain(COMMON).copied().collect()
    }

    fn read(self, members: &mut Members) -> Option<StepKind> {
        match self {
            Self::Tool => Some(StepKind::Tool(for_each::call(members))),
            Self::Elicitation => Some(StepKind::Elicitation(question::question(members))),
            Self::ForEach => for_each::for_each(members).map(StepKind::ForEach),
        }
    }
}

/// Members that only steps of other types have.
fn elsewhere(name: &str, kind: Type, is_written: bool) -> Option<String> {
    let other = Type::ALL.into_iter().find(|other| other.own_members().contains(&name))?;
    let (other, kind) = (other.word(), kind.word());
    let default = if is_written { "" } else { ", the default" };
    Some(format!("belongs to steps of type `{other}`; this one is of type `{kind}`{default}"))
}

const COMMON: &[&str] = &["id", "type", "condition", "dependsOn", "onError", "timeout", "defaultResults"];

const TYPES: &str = "one of `tool`, `elicitation`, `forEach`";

const AMBIGUOUS: &str = "is required, since the step has `tool` and `message`; write `tool` or `elicitation`, and \
                         only the members of that type";
