use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    ops::Range,
};

use super::lock::{Lock, Locked};
use crate::{
    Hazard,
    hygiene::visible,
    tokens::{Token, Unit, Walk, units},
};

/// What is different about one tool. Its display form is for the person who accepts it: every member that differs,
/// with what cannot be seen as `<U+202E>`, and the code points of all that is not ASCII. Bounded, whatever the tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// It is not in the lock.
    Added {
        /// Its exposed name.
        name: String,
        /// As it is now.
        now: Locked,
    },
    /// It is in the lock and is not there any more.
    Removed {
        /// Its exposed name.
        name: String,
        /// As it was.
        before: Locked,
    },
    /// It is another one than in the lock.
    Changed {
        /// Its exposed name.
        name: String,
        /// As it was.
        before: Locked,
        /// As it is now.
        now: Locked,
    },
}

/// All differences of what there is from what was accepted, sorted by names.
pub fn diff(lock: &Lock, current: &Lock) -> Vec<Change> {
    let names: BTreeSet<_> = lock.iter().chain(current.iter()).map(|(name, _)| name).collect();
    let change = |name: &str| {
        let (before, now) = (lock.tools.get(name).cloned(), current.tools.get(name).cloned());
        let name = name.to_owned();
        match (before, now) {
            (Some(before), Some(now)) if before.is_same(&now) => None,
            (Some(before), Some(now)) => Some(Change::Changed { name, before, now }),
            (None, Some(now)) => Some(Change::Added { name, now }),
            (Some(before), None) => Some(Change::Removed { name, before }),
            (None, None) => None,
        }
    };
    names.into_iter().filter_map(change).collect()
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let none = Leaves::new();
        match self {
            Self::Added { name, now } => {
                writeln!(f, "+ {}", name_of(name))?;
                members(f, &none, &leaves(now))
            }
            Self::Removed { name, before: _ } => writeln!(f, "- {}", name_of(name)),
            Self::Changed { name, before, now } => {
                writeln!(f, "~ {}", name_of(name))?;
                members(f, &leaves(before), &leaves(now))
            }
        }
    }
}

/// The most characters of a name, of one side of a difference, and of what is the same around it.
const NAME: usize = 200;
const SIDE: usize = 400;
const AROUND: usize = 24;

/// The most members of one tool, and code points of one member, that are shown.
const MEMBERS: usize = 100;
const CODE_POINTS: usize = 32;

/// The values that have none inside, by the way to them.
type Leaves = BTreeMap<String, Vec<Unit>>;

/// What is known of a tool, its downstream and name there included. Of several in one place one comes after the other.
fn leaves(tool: &Locked) -> Leaves {
    let text = tool.definition();
    let mut leaves = Leaves::new();
    let mut walk = Walk::of(text);
    let mut has_begun = false;
    while let Some((token, range)) = walk.next() {
        let piece = &text[range];
        let is_empty = std::mem::replace(&mut has_begun, matches!(token, Token::Open(_)));
        let value: Vec<_> = match token {
            Token::Text => quoted(units(piece).map(|(unit, _)| unit)),
            Token::Scalar => plain(piece),
            Token::Close if is_empty => plain(if piece == "}" { "{}" } else { "[]" }),
            _ => continue,
        };
        leaves.entry(walk.place()).or_default().extend(value);
    }
    leaves.insert("(downstream)".to_owned(), plain(tool.downstream()));
    leaves.insert("(name there)".to_owned(), quoted(plain(tool.original())));
    leaves
}

fn plain(text: &str) -> Vec<Unit> {
    text.chars().map(Unit::Char).collect()
}

fn quoted(units: impl IntoIterator<Item = Unit>) -> Vec<Unit> {
    [Unit::Char('"')].into_iter().chain(units).chain([Unit::Char('"')]).collect()
}

fn members(f: &mut fmt::Formatter<'_>, before: &Leaves, now: &Leaves) -> fmt::Result {
    let places: BTreeSet<_> = before.keys().chain(now.keys()).collect();
    let different: Vec<_> =
        places.into_iter().filter(|place| before.get(*place) != now.get(*place)).collect();
    for place in different.iter().take(MEMBERS) {
        writeln!(f, "    {place}")?;
        member(f, before.get(*place), now.get(*place))?;
    }
    match different.len() {
        0 => writeln!(f, "    (the names of members differ, or their order; compare the whole definitions)"),
        count if count > MEMBERS => writeln!(f, "    ... and {} more members", count - MEMBERS),
        _ => Ok(()),
    }
}

fn member(f: &mut fmt::Formatter<'_>, before: Option<&Vec<Unit>>, now: Option<&Vec<Unit>>) -> fmt::Result {
    let none = Vec::new();
    let (old, new) = (before.unwrap_or(&none), now.unwrap_or(&none));
    let same = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let rest = old[same..].iter().rev().zip(new[same..].iter().rev());
    let same_after = rest.take_while(|(a, b)| a == b).count();
    for (sign, units) in [('-', before), ('+', now)] {
        if let Some(units) = units {
            let different = same..units.len() - same_after;
            writeln!(f, "      {sign} {}", part(units, different.clone()))?;
            code_points(f, &units[different])?;
        }
    }
    Ok(())
}

/// What differs with a little around it.
fn part(units: &[Unit], different: Range<usize>) -> String {
    let from = different.start.saturating_sub(AROUND);
    let until = (different.end + AROUND).min(units.len());
    let shown = until.min(from + SIDE);
    let before = if from > 0 { "…" } else { "" };
    let after = if shown < units.len() { "…" } else { "" };
    format!("{before}{}{after}", visible(units[from..shown].iter().copied()))
}

/// A letter may look like another one: what is not ASCII is told by its code point as well.
fn code_points(f: &mut fmt::Formatter<'_>, units: &[Unit]) -> fmt::Result {
    let is_told = |unit: &&Unit| !matches!(unit, Unit::Char(c) if c.is_ascii() && Hazard::of(*c).is_none());
    let mut told: Vec<_> = Vec::new();
    for unit in units.iter().filter(is_told) {
        let (code, why) = match unit {
            Unit::Char(c) => (u32::from(*c), Hazard::of(*c)),
            Unit::Lone(half) => (u32::from(*half), Some(Hazard::Half)),
        };
        let why = why.map(|why| format!(" ({why})")).unwrap_or_default();
        let code = format!("U+{code:04X}{why}");
        if !told.contains(&code) {
            told.push(code);
        }
        if told.len() > CODE_POINTS {
            told.truncate(CODE_POINTS);
            told.push("...".to_owned());
            break;
        }
    }
    if told.is_empty() { Ok(()) } else { writeln!(f, "        has {}", told.join(", ")) }
}

fn name_of(name: &str) -> String {
    visible(plain(name).into_iter().take(NAME))
}
