use std::{borrow::Cow, collections::HashSet};

use super::{digest::digits, rules::FitRules};

/// Gives out aliases that fit and that nobody else in the listing has.
pub(super) struct Aliases<'a> {
    rules: &'a FitRules,
    /// How long an alias may be, in characters.
    room: usize,
    /// Names that fit by themselves, and aliases given out.
    taken: HashSet<Cow<'a, str>>,
}

impl<'a> Aliases<'a> {
    /// `real` are the names that fit; they are never given to another tool.
    pub(super) fn new(downstream: &str, rules: &'a FitRules, real: impl Iterator<Item = &'a str>) -> Self {
        Self { rules, room: rules.room(downstream), taken: real.map(Cow::Borrowed).collect() }
    }

    /// The alias of `name`. Names must come in an order that does not depend on the listing's, so that
    /// which of two gets the shorter alias does not either. `None` if the downstream's name leaves no room,
    /// or if all candidates are taken, which only a downstream that aims at it achieves.
    pub(super) fn claim(&mut self, name: &str) -> Option<String> {
        if self.room < DIGITS[0] {
            return None;
        }
        let readable = self.readable(name);
        let candidates =
            (0_u8..).zip(DIGITS).map(|(round, count)| self.shorten(&readable, &digits(round, name, count)));
        let alias = { candidates }.find(|candidate| !self.taken.contains(candidate.as_str()))?;
        self.taken.insert(Cow::Owned(alias.clone()));
        Some(alias)
    }

    /// What a person recognises of `name`: runs of `_` and of characters that are not allowed become one
    /// `_`, none at either end.
    fn readable(&self, name: &str) -> String {
        let allowed = |c: char| c != '_' && self.rules.characters.contains(c);
        let words = name.split(|c| !allowed(c)).filter(|word| !word.is_empty());
        let mut readable = String::new();
        for word in words {
            if !readable.is_empty() {
                readable.push('_');
            }
            readable.push_str(word);
        }
        if readable.is_empty() { "tool".to_owned() } else { readable }
    }

    /// `readable_digits`, made to fit by leaving out the middle of `readable`: long names of one downstream
    /// tend to differ at their ends.
    fn shorten(&self, readable: &str, digits: &str) -> String {
        let digits = &digits[..digits.len().min(self.room)];
        let space = self.room.saturating_sub(digits.len() + 1);
        let readable: Cow<'_, str> = match readable.len() {
            length if length <= space => readable.into(),
            _ if space < SPLIT_FROM => readable[..space].trim_end_matches('_').into(),
            length => {
                let head = (space - 1) / 2;
                let tail = length - (space - 1 - head);
                let (head, tail) = (&readable[..head], &readable[tail..]);
                format!("{}_{}", without_last_stub(head), without_first_stub(tail)).into()
            }
        };
        if readable.is_empty() { digits.to_owned() } else { format!("{readable}_{digits}") }
    }
}

/// `head` up to its last `_`, so that it ends with a whole word, unless that would cost half of it.
fn without_last_stub(head: &str) -> &str {
    match head.rsplit_once('_') {
        Some((words, stub)) if stub.len() < words.len() => words,
        _ => head,
    }
}

/// `tail` from its first `_` on, likewise.
fn without_first_stub(tail: &str) -> &str {
    match tail.split_once('_') {
        Some((stub, words)) if stub.len() < words.len() => words,
        _ => tail,
    }
}

/// How many digits the first, second, … candidate has. Thirty bits and the readable part keep the aliases
/// of one listing apart; sixty do when chance or a downstream's own names have it otherwise.
const DIGITS: [usize; 4] = [6, 8, 10, 12];

/// With less space than this, two halves are less readable than one beginning.
const SPLIT_FROM: usize = 12;
