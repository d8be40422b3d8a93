use std::sync::Arc;

use gateway_domain::RawObject;

use super::{
    super::{Draft, OnError, Step, StepKind, place::Place},
    for_each::{self, no_call},
    members::Members,
    on_error::on_error,
    output::names,
    question,
    time::time,
    value::{Value, strange},
};

/// One step (C-25), the one at `index`.
pub(super) fn step(value: Value, index: usize) -> Draft<Step> {
    let object = match value.indexed("an object") {
        Ok(object) => object,
        Err(problems) => return Draft::left_out(unreadable(), &value.place, problems),
    };
    let id = object.get_text("id").unwrap_or_default();
    let place = Place::step(&id, index);
    let kind = Type::of(&object);
    let is_written = object.contains("type");
    let known = kind.as_ref().map_or_else(|_| Type::all_members(), |kind| kind.members());
    let mut members =
        Members::explained(object, place, &known, |name| elsewhere(name, *kind.as_ref().ok()?, is_written));
    let kind = match kind {
        Ok(kind) => kind.read(&mut members),
        Err(problem) => {
            members.report("type", problem);
            members.leave_out("tool");
            StepKind::Tool(no_call())
        }
    };
    // It is known already, for the places of problems; here it is judged.
    members.take("id", Value::text);
    let step = Step {
        id: id.into(),
        kind,
        condition: members.take("condition", Value::text),
        depends_on: members.take("dependsOn", names).unwrap_or_default(),
        on_error: members.take("onError", on_error).unwrap_or_default(),
        timeout: members.take("timeout", time),
        default_results: members.take("defaultResults", Value::object),
    };
    members.drafted(step)
}

/// What stands in for a step that cannot be read.
fn unreadable() -> Step {
    Step {
        id: Arc::default(),
        kind: StepKind::Tool(no_call()),
        condition: None,
        depends_on: Vec::new(),
        on_error: OnError::default(),
        timeout: None,
        default_results: None,
    }
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
        if word == "conditional" {
            return Err(
                "is `conditional`, which no longer exists; use `condition` of the step that depends on it"
                    .to_owned(),
            );
        }
        Err(strange(&word, &Self::ALL.map(Self::word)))
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

    fn read(self, members: &mut Members) -> StepKind {
        match self {
            Self::Tool => StepKind::Tool(for_each::call(members)),
            Self::Elicitation => StepKind::Elicitation(question::question(members)),
            Self::ForEach => StepKind::ForEach(for_each::for_each(members)),
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
