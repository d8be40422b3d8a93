use std::{collections::BTreeMap, fmt, ops::Range};

use gateway_domain::RawObject;

use super::Hazard;
use crate::tokens::{Token, Unit, Walk, units};

/// A hazard in a definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The member it stands in, as `inputSchema.properties.path.description`. Printable.
    pub place: String,
    /// What it is.
    pub hazard: Hazard,
    /// The first such character; of a text that is too long its length in characters.
    pub code_point: u32,
    /// How many there are of it in this place.
    pub count: usize,
}

/// `1 change of direction (U+202E) in description`.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, hazard, code_point, count } = self;
        match hazard {
            Hazard::Length => write!(f, "{hazard} ({code_point} characters) in {place}"),
            _ => write!(f, "{count} × {hazard} (U+{code_point:04X}) in {place}"),
        }
    }
}

/// The most findings in one definition.
const MOST: usize = 64;

/// Texts with more characters are told.
const LONGEST: usize = 8_192;

/// The hazards in the definition of a tool, prompt, resource or template: in every string and every member's name,
/// `name` included; the first 64 of them by place, one of each kind in one place.
pub fn findings(definition: &RawObject) -> Vec<Finding> {
    let text = definition.as_str();
    let mut found = Vec::new();
    let mut walk = Walk::of(text);
    while let Some((token, range)) = walk.next() {
        if !matches!(token, Token::Key | Token::Text) || !is_worth_a_look(&text[range.clone()]) {
            continue;
        }
        let place = walk.place();
        found.extend(in_text(text, range).into_iter().map(|(hazard, (code_point, count))| Finding {
            place: place.clone(),
            hazard,
            code_point,
            count,
        }));
        if found.len() >= MOST {
            found.truncate(MOST);
            break;
        }
    }
    found
}

/// Whether something could be found: most texts are short and plain.
pub(super) fn is_worth_a_look(quoted: &str) -> bool {
    quoted.len() > LONGEST || quoted.bytes().any(|byte| byte == b'\\' || byte >= 0x7f)
}

fn in_text(text: &str, range: Range<usize>) -> BTreeMap<Hazard, (u32, usize)> {
    let mut found = BTreeMap::new();
    let mut length = 0;
    for (unit, _) in units(&text[range]) {
        length += 1;
        if let Some(hazard) = Hazard::of_unit(unit) {
            found.entry(hazard).or_insert_with(|| (code_point(unit), 0)).1 += 1;
        }
    }
    if length > LONGEST {
        found.insert(Hazard::Length, (u32::try_from(length).unwrap_or(u32::MAX), 1));
    }
    found
}

fn code_point(unit: Unit) -> u32 {
    match unit {
        Unit::Char(character) => u32::from(character),
        Unit::Lone(half) => u32::from(half),
    }
}
