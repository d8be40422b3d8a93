//! Making a listing acceptable to `build` and to clients, one downstream at a time (design §5).

mod alias;
mod digest;
mod report;
mod rules;
#[cfg(test)]
mod tests;

use std::collections::HashSet;

use gateway_domain::Tool;

use self::alias::Aliases;
pub use self::{
    report::{Change, DropCause, FitReport},
    rules::{Characters, FitRules, Misfit},
};
use crate::Listing;

/// A listing that [`build`](crate::build) accepts, and what had to change for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fitted {
    /// The tools that are offered, in the order they were reported, each under a name that fits.
    pub listing: Listing,
    /// What is offered under another name or not at all.
    pub report: FitReport,
}

/// Makes one downstream's listing acceptable: to `build`, and to clients by `rules`. Total, whatever the
/// names and definitions; one bad tool never hides another (A-W3).
///
/// - A name that fits stays, always.
/// - A name that does not fit gets an alias: its readable part and six digits of a digest of the whole
///   name, `web query` → `web_query_mg6v98`. The alias follows from the downstream's name, the tool's name
///   and the rules alone; neither order nor other tools matter, with one exception: if another tool has
///   just that name (the real name wins) or the digits coincide, they are exchanged for more of them.
/// - Of several tools with one name the first stays.
/// - A definition over `max_definition_bytes` is dropped; over `max_tools`, the last in the byte order of
///   names are, so that a downstream that shuffles its list does not shuffle what is offered.
///
/// [`Tool::original`] and the definition are not touched. Fitting twice changes nothing more.
///
/// The downstream's own name is the operator's, checked when configuration is read; a listing whose
/// downstream `build` refuses is refused after fitting too. Costs O(n log n).
pub fn fit(listing: Listing, rules: &FitRules) -> Fitted {
    let Listing { downstream, tools } = listing;
    let verdicts = judge(&downstream, &tools, rules);
    let mut changes = Vec::new();
    let tools = tools
        .into_iter()
        .zip(verdicts)
        .filter_map(|(tool, verdict)| match verdict {
            Verdict::Keep => Some(tool),
            Verdict::Alias { alias, misfit } => {
                let name = tool.name().to_owned();
                let offered = tool.offered_as(&alias);
                changes.push(Change::Aliased { name, alias, misfit });
                Some(offered)
            }
            Verdict::Drop(cause) => {
                changes.push(Change::Dropped { name: tool.name().to_owned(), cause });
                None
            }
        })
        .collect();
    Fitted {
        report: FitReport { downstream: downstream.clone(), changes },
        listing: Listing { downstream, tools },
    }
}

enum Verdict {
    Keep,
    Alias { alias: String, misfit: Misfit },
    Drop(DropCause),
}

/// One verdict per tool, in the order of the tools.
fn judge(downstream: &str, tools: &[Tool], rules: &FitRules) -> Vec<Verdict> {
    let mut verdicts = screen(tools, rules);
    let mut kept: Vec<_> = tools
        .iter()
        .zip(&mut verdicts)
        .filter(|(_, verdict)| matches!(verdict, Verdict::Keep))
        .map(|(tool, verdict)| (tool.name(), verdict))
        .collect();
    // From here on in the byte order of names, which are unique by now.
    kept.sort_unstable_by_key(|(name, _)| *name);
    for (_, verdict) in kept.iter_mut().skip(rules.max_tools) {
        **verdict = Verdict::Drop(DropCause::TooMany { limit: rules.max_tools });
    }
    kept.truncate(rules.max_tools);

    let judged = kept.into_iter().map(|(name, verdict)| (name, rules.misfit(downstream, name), verdict));
    let (misfits, fitting): (Vec<_>, Vec<_>) = judged.partition(|(_, misfit, _)| misfit.is_some());
    let mut aliases = Aliases::new(downstream, rules, fitting.into_iter().map(|(name, ..)| name));
    for (name, misfit, verdict) in misfits {
        if let Some(misfit) = misfit {
            *verdict = match aliases.claim(name) {
                Some(alias) => Verdict::Alias { alias, misfit },
                None => Verdict::Drop(DropCause::NoAlias { misfit }),
            };
        }
    }
    verdicts
}

/// What can be said of each tool without knowing the rules for names.
fn screen(tools: &[Tool], rules: &FitRules) -> Vec<Verdict> {
    let mut seen = HashSet::with_capacity(tools.len());
    let verdict = |tool| {
        let bytes = Tool::definition(tool).as_str().len();
        if bytes > rules.max_definition_bytes {
            Verdict::Drop(DropCause::TooLarge { bytes, limit: rules.max_definition_bytes })
        } else if seen.insert(tool.name()) {
            Verdict::Keep
        } else {
            Verdict::Drop(DropCause::Duplicate)
        }
    };
    tools.iter().map(verdict).collect()
}
