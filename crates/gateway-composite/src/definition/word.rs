//! Names in messages.

use gateway_domain::printable;

/// The known word nearest to `word`, if it is near enough to be a slip of the pen. `retry_count` is nothing but
/// `retryCount` in another convention.
pub(crate) fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let is_short = |word: &&str| word.len() <= COMPARED_BYTES;
    let word = Some(word).filter(is_short)?;
    let folded = |word: &str| word.to_lowercase().replace(['-', '_'], "");
    let word = folded(word);
    let (distance, best) = known
        .iter()
        .filter(|candidate| is_short(candidate))
        .take(COMPARED)
        .map(|candidate| (strsim::damerau_levenshtein(&word, &folded(candidate)), *candidate))
        .min()?;
    // A third of the letters wrong is a typing error; more is another word, and so is one without a letter in common.
    (distance <= best.len().max(3) / 3 && distance < best.len()).then_some(best)
}

/// What may be meant by an unknown word, as the end of a sentence about it: the nearest known one, or all of them.
pub(crate) fn hint(word: &str, known: &[&str]) -> String {
    meaning(nearest(word, known), known)
}

/// The same where the nearest one has been found.
pub(super) fn meaning(nearest: Option<&str>, known: &[&str]) -> String {
    match nearest {
        Some(near) => format!("; did you mean `{}`?", shown(near)),
        None if known.is_empty() => String::new(),
        None => format!("; there are {}", listed(known)),
    }
}

/// How long a word may be to be compared with others, which takes the product of their lengths.
const COMPARED_BYTES: usize = 256;

/// With how many others one is compared.
const COMPARED: usize = 256;

/// How many characters of a name are shown.
const SHOWN: usize = 64;

/// How many names are listed.
const LISTED: usize = 20;

/// A name that somebody wrote, as it may be shown.
pub(crate) fn shown(name: &str) -> String {
    printable(name, SHOWN)
}

/// The names there are, each in quotes.
pub(crate) fn listed(names: &[&str]) -> String {
    let listed: Vec<_> = names.iter().take(LISTED).map(|name| format!("`{}`", shown(name))).collect();
    let rest = if names.len() > LISTED { ", …" } else { "" };
    format!("{}{rest}", listed.join(", "))
}
