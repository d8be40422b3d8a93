use gateway_domain::RawObject;

use super::{Hazard, Hygiene, finding::is_worth_a_look};
use crate::tokens::{Token, Unit, Walk, units};

/// The members that are read and nothing else.
const READ: [&str; 3] = ["title", "description", "$comment"];

/// Below these stand values that calls carry, whatever their members are called.
const CARRIED: [&str; 5] = ["enum", "const", "default", "examples", "_meta"];

/// The members of these have names of the author's choice: below them, `default` is a schema and no value.
const NAMED: [&str; 5] = ["properties", "patternProperties", "dependentSchemas", "$defs", "definitions"];

/// The definition without what [`Hygiene`] takes out of titles and descriptions, wherever they stand; `None`: there
/// is nothing of it, and the definition stays byte for byte as it is. Every other byte stays, all names and all
/// values that calls carry included.
///
/// What separates words becomes a space, half of a character U+FFFD; everything else is taken away, a carriage return
/// before a line feed too.
pub fn clean(definition: &RawObject, hygiene: Hygiene) -> Option<RawObject> {
    let text = definition.as_str();
    let mut cleaned = String::new();
    let mut copied = 0;
    let mut walk = Walk::of(text);
    while let Some((token, range)) = walk.next() {
        let quoted = &text[range.clone()];
        if token != Token::Text || !is_worth_a_look(quoted) || !is_read(&walk) {
            continue;
        }
        let mut units = units(quoted).peekable();
        while let Some((unit, at)) = units.next() {
            if !Hazard::of_unit(unit).is_some_and(|hazard| hazard.is_cleaned(hygiene)) {
                continue;
            }
            cleaned.push_str(&text[copied..range.start + at.start]);
            cleaned.extend(instead(unit, units.peek().map(|(next, _)| *next)));
            copied = range.start + at.end;
        }
    }
    if copied == 0 {
        return None;
    }
    cleaned.push_str(&text[copied..]);
    RawObject::parse(cleaned).ok()
}

fn is_read(walk: &Walk<'_>) -> bool {
    let mut is_name = false;
    let mut reads = false;
    for key in walk.keys() {
        reads = !is_name && READ.contains(&key);
        if !is_name && CARRIED.contains(&key) {
            return false;
        }
        is_name = !is_name && NAMED.contains(&key);
    }
    reads && walk.key().is_some()
}

fn instead(unit: Unit, next: Option<Unit>) -> Option<char> {
    match unit {
        Unit::Lone(_) => Some(char::REPLACEMENT_CHARACTER),
        Unit::Char('\r') if next == Some(Unit::Char('\n')) => None,
        Unit::Char('\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}') => Some(' '),
        Unit::Char(_) => None,
    }
}
