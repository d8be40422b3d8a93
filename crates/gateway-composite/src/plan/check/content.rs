//! What the user gives, which need not be there (C-38, C-68): nothing at all if the question is declined and the
//! workflow goes on, and no field that the form does not insist on.

use gateway_domain::{RawObject, printable};

use super::{
    findings::{Findings, Part},
    graph::Graph,
    mention::Mention,
};
use crate::definition::{ElicitationStep, Handler, Place, Step, StepKind, hint, shown};

/// How much of a lookup a message shows, in characters.
const SHOWN: usize = 200;

/// How many parts `steps.ask.output` has.
const OUTPUT: usize = 3;

/// Looks whether references to what users give take that it is missing.
pub(super) fn check(steps: &[Step], graph: &Graph, mentions: &[Mention], findings: &mut Findings<'_>) {
    let accepted = accepted(steps, mentions);
    for mention in mentions.iter().filter(|mention| !mention.is_replaced) {
        let path: Vec<&str> = mention.path().collect();
        let ["steps", id, "output", "content", way @ ..] = &*path else { continue };
        let Some(step) = graph.place(id).map(|at| &steps[at]) else { continue };
        let StepKind::Elicitation(question) = &step.kind else { continue };
        let found = Found { id, way, mention };
        let is_guarded = mention.reference.tested >= OUTPUT
            || accepted.iter().any(|condition| condition.covers(id, mention));
        let message = match question.may_be_dismissed(mention.part) && !is_guarded {
            true => found.of_nothing(),
            false => None,
        };
        if let Some(message) = message.or_else(|| found.of_a_field(&question.schema)) {
            findings.add(mention.place.problem(message));
        }
    }
}

impl ElicitationStep {
    /// Whether what is looked up from there may find no content. Steps that refer to a question are skipped if it
    /// skips the rest.
    fn may_be_dismissed(&self, from: Part) -> bool {
        [self.on_decline, self.on_cancel].into_iter().any(|handler| match handler {
            Handler::Abort => false,
            Handler::Continue => true,
            Handler::SkipRemaining => from == Part::Output,
        })
    }
}

/// A condition that looks at what the user did.
struct Condition<'a> {
    place: &'a Place,
    part: Part,
    /// Of an item, so that it only counts there.
    is_inner: bool,
    /// The question.
    id: &'a str,
}

impl Condition<'_> {
    fn covers(&self, id: &str, mention: &Mention) -> bool {
        let is_there = !self.is_inner || mention.item.is_some();
        self.id == id && self.part == mention.part && is_there && *self.place != mention.place
    }
}

fn accepted<'a>(steps: &[Step], mentions: &'a [Mention]) -> Vec<Condition<'a>> {
    let condition = |mention: &'a Mention| {
        let Part::Step(at) = mention.part else { return None };
        let ["steps", id, "output", "action"] = *mention.path().collect::<Vec<_>>() else { return None };
        let step = Place::step(&steps[at].id, at);
        let is_inner = mention.place == step.member("step").member("condition");
        let is_condition = is_inner || mention.place == step.member("condition");
        is_condition.then_some(Condition { place: &mention.place, part: mention.part, is_inner, id })
    };
    mentions.iter().filter_map(condition).collect()
}

/// A lookup in the content of a question.
struct Found<'a> {
    id: &'a str,
    /// From the content on.
    way: &'a [&'a str],
    mention: &'a Mention,
}

impl Found<'_> {
    /// Why it fails if there is no content.
    fn of_nothing(&self) -> Option<String> {
        let may_be_missing = self.mention.reference.may_be_missing;
        if self.way.is_empty() && may_be_missing {
            return None;
        }
        let (output, whole) = (self.output(), self.whole());
        let late = match self.way.last() {
            Some(last) if may_be_missing => {
                format!(
                    "; the `default` behind `{}` does not help, since nothing can be looked up in what is missing",
                    shown(last)
                )
            }
            _ => String::new(),
        };
        let written = match self.way {
            [] => format!("{output}.content | default({{}})"),
            way => format!("({output}.content | default({{}})){} | default(…)", lookup(way)),
        };
        let or = match self.mention.part {
            Part::Output => "give the property a `default`".to_owned(),
            _ => format!("give this step the condition `{{{{ {output}.action == 'accept' }}}}`"),
        };
        let id = shown(self.id);
        Some(format!(
            "refers to `{whole}`, but question `{id}` may be declined or dismissed, and then has no `content`{late}; \
             write `{}`, or {or}",
            printable(&written, SHOWN)
        ))
    }

    /// Why it fails if the user gives only what the form insists on.
    fn of_a_field(&self, form: &RawObject) -> Option<String> {
        let (field, deeper) = self.way.split_first()?;
        if deeper.is_empty() && self.mention.reference.may_be_missing || form.get_text("type")? != "object" {
            return None;
        }
        let fields = form.get_object("properties").unwrap_or_default();
        let whole = self.whole();
        let Some(schema) = fields.get(field) else {
            let names: Vec<_> = fields.iter().map(|(name, _)| name.into_owned()).collect();
            let names: Vec<_> = names.iter().map(String::as_str).collect();
            let hint = hint(field, &names);
            return Some(format!("refers to `{whole}`, but the form has no field `{}`{hint}", shown(field)));
        };
        let has_default = RawObject::try_from(schema).is_ok_and(|schema| schema.contains("default"));
        let required = form.get("required").and_then(|names| names.elements(usize::MAX)).unwrap_or_default();
        let is_required = required.iter().any(|name| name.to_text().as_deref() == Some(*field));
        (!has_default && !is_required).then(|| {
            format!(
                "refers to `{whole}`, which the user may leave out; write `| default(…)` behind it, or give the field \
                 a `default` in the form or put it in `required`"
            )
        })
    }

    fn output(&self) -> String {
        format!("steps{}.output", lookup(&[self.id]))
    }

    fn whole(&self) -> String {
        printable(&format!("{}.content{}", self.output(), lookup(self.way)), SHOWN)
    }
}

/// A way as it is written in expressions.
fn lookup(way: &[&str]) -> String {
    let is_name = |part: &str| {
        !part.starts_with(|first: char| first.is_ascii_digit())
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    let part = |part: &&str| match part {
        part if part.parse::<i64>().is_ok() => format!("[{part}]"),
        part if is_name(part) => format!(".{part}"),
        part => format!("['{part}']"),
    };
    way.iter().map(part).collect()
}
