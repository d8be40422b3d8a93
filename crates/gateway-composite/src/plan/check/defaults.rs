//! What has to be there when a step did not run, or failed and is forgiven (C-38, C-W15).

use std::collections::HashSet;

use gateway_domain::{JsonKind, RawJson, RawObject};

use super::{
    findings::{Findings, Part},
    graph::Graph,
    mention::Mention,
};
use crate::definition::{ErrorAction, ForEachStep, Handler, Place, Step, StepKind, shown};

/// Looks whether the default results of steps hold what others refer to.
pub(super) fn check(steps: &[Step], graph: &Graph, mentions: &[Mention], findings: &mut Findings<'_>) {
    let mut told = HashSet::new();
    for mention in mentions.iter().filter(|mention| !mention.is_replaced) {
        let mut path: Vec<&str> = mention.path().collect();
        if mention.reference.may_be_missing {
            // Only the last part may be: nothing can be looked up in what is missing.
            path.pop();
        }
        let ["steps", id, "output", way @ ..] = &*path else { continue };
        let Some(at) = graph.place(id) else { continue };
        let step = Place::step(id, at);
        for gap in gaps(steps, graph, at, way, mention.part) {
            let Some(missing) = gap.missing() else { continue };
            let place = gap.holder.iter().fold(step.clone(), |place, name| place.member(name));
            if told.insert((at, gap.holder, missing.clone())) {
                findings.add(place.problem(format!(
                    "must have `{missing}`, since {} and {} refers to that; or write `| default(…)` there",
                    gap.why, mention.place
                )));
            }
        }
    }
}

/// An output that may not be there, and the results that stand in for it.
struct Gap<'a> {
    why: String,
    /// Where the results stand in the step.
    holder: &'static [&'static str],
    results: Option<&'a RawObject>,
    /// What is referred to in them.
    way: &'a [&'a str],
}

impl Gap<'_> {
    /// As much of the way as it takes to name what is not there.
    fn missing(&self) -> Option<String> {
        let mut here = self.results.map_or_else(|| RawObject::empty().raw().clone(), |all| all.raw().clone());
        for (depth, name) in self.way.iter().enumerate() {
            match within(&here, name) {
                Some(next) => here = next?,
                None => return Some(gateway_domain::printable(&self.way[..=depth].join("."), 200)),
            }
        }
        None
    }
}

/// A member or an element. `Some(None)`: it cannot be told from here.
fn within(value: &RawJson, name: &str) -> Option<Option<RawJson>> {
    match value.kind() {
        JsonKind::Object => RawObject::try_from(value.clone()).ok()?.get(name).map(Some),
        JsonKind::Array => match name.parse::<usize>() {
            Ok(index) => value.elements(usize::MAX)?.into_iter().nth(index).map(Some),
            Err(_) => Some(None),
        },
        _ => None,
    }
}

/// What may not be there on the way from the output of step `at`: the output itself, or that of an item.
fn gaps<'a>(steps: &'a [Step], graph: &Graph, at: usize, way: &'a [&'a str], from: Part) -> Vec<Gap<'a>> {
    let step = &steps[at];
    let whole = why_missing(steps, graph, at, from);
    let results = step.default_results.as_ref();
    let whole = whole.map(|why| Gap { why, holder: &["defaultResults"], results, way });
    let item = match (&step.kind, way) {
        (StepKind::ForEach(each), ["iterations", _, "output", way @ ..]) => {
            let results = each.step.default_results.as_ref();
            why_item_missing(step, each).map(|why| Gap {
                why,
                holder: &["step", "defaultResults"],
                results,
                way,
            })
        }
        _ => None,
    };
    whole.into_iter().chain(item).collect()
}

fn why_missing(steps: &[Step], graph: &Graph, at: usize, from: Part) -> Option<String> {
    let step = &steps[at];
    if step.condition.is_some() {
        return Some("the step may be skipped".to_owned());
    }
    if step.on_error.action == ErrorAction::Continue {
        return Some("the step's failure is forgiven".to_owned());
    }
    // A step that refers to one that is skipped for this reason is skipped as well.
    let is_skipped_by =
        |other: usize| other != at && !graph.may_be_before(at, other) && may_skip(&steps[other]);
    let other = (0..steps.len()).find(|other| from == Part::Output && is_skipped_by(*other))?;
    Some(format!("step `{}` may skip it", shown(&steps[other].id)))
}

fn may_skip(step: &Step) -> bool {
    match &step.kind {
        StepKind::Elicitation(question) => {
            [question.on_decline, question.on_cancel].contains(&Handler::SkipRemaining)
        }
        _ => false,
    }
}

fn why_item_missing(step: &Step, each: &ForEachStep) -> Option<String> {
    let is_forgiven =
        [&step.on_error, &each.step.on_error].iter().any(|on| on.action == ErrorAction::Continue);
    let why = match &each.step.condition {
        Some(_) => "an item may be skipped",
        None if is_forgiven => "an item's failure is forgiven",
        None => return None,
    };
    Some(why.to_owned())
}
