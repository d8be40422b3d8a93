use regex_syntax::hir::{Hir, HirKind};

/// Whether `anchor` stands in every text that the expression matches, as far as its form tells. Never `true` where it
/// does not; `false` also where it takes more than a look at literals to see that it does.
pub(super) fn is_required(hir: &Hir, anchor: &[u8]) -> bool {
    match hir.kind() {
        HirKind::Literal(literal) => holds(&literal.0, anchor),
        HirKind::Capture(capture) => is_required(&capture.sub, anchor),
        HirKind::Repetition(repetition) => repetition.min > 0 && is_required(&repetition.sub, anchor),
        HirKind::Alternation(branches) => branches.iter().all(|branch| is_required(branch, anchor)),
        HirKind::Concat(_) => is_in_sequence(hir, anchor),
        HirKind::Empty | HirKind::Look(_) | HirKind::Class(_) => false,
    }
}

/// The parts follow one another: literals with nothing but assertions between them are one.
fn is_in_sequence(sequence: &Hir, anchor: &[u8]) -> bool {
    let mut parts = Vec::new();
    flatten(sequence, &mut parts);
    let mut run = Vec::new();
    for part in parts {
        match (part.kind(), repeated(part)) {
            (HirKind::Literal(literal), _) => run.extend_from_slice(&literal.0),
            (HirKind::Look(_) | HirKind::Empty, _) => {}
            (_, Some(literal)) => {
                // The first time it follows what is before it, the last time it precedes what is behind it. These may
                // be two times.
                run.extend_from_slice(literal);
                if holds(&run, anchor) {
                    return true;
                }
                run = literal.to_vec();
            }
            _ if holds(&run, anchor) || is_required(part, anchor) => return true,
            _ => run.clear(),
        }
    }
    holds(&run, anchor)
}

/// What the part repeats, once or more often.
fn repeated(part: &Hir) -> Option<&[u8]> {
    let HirKind::Repetition(repetition) = part.kind() else { return None };
    let HirKind::Literal(literal) = repetition.sub.kind() else { return None };
    (repetition.min > 0).then_some(&literal.0)
}

fn flatten<'a>(hir: &'a Hir, parts: &mut Vec<&'a Hir>) {
    match hir.kind() {
        HirKind::Concat(inner) => inner.iter().for_each(|part| flatten(part, parts)),
        HirKind::Capture(capture) => flatten(&capture.sub, parts),
        _ => parts.push(hir),
    }
}

fn holds(text: &[u8], anchor: &[u8]) -> bool {
    memchr::memmem::find(text, anchor).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_anchor_is_required_if_every_match_holds_it() {
        for (regex, anchor, is_so) in [
            ("sk-[a-z]{8}", "sk-", true),
            ("sk-[a-z]{8}", "k-", true),
            ("sk-[a-z]{8}", "SK-", false),
            ("sk-[a-z]{8}", "sk-a", false),
            ("(?i)sk-[a-z]{8}", "sk-", false),
            ("(?i)sk-[a-z]{8}", "-", true),
            ("(ghp|gho)_[a-z]+", "gh", true),
            ("(ghp|gho)_[a-z]+", "ghp", false),
            ("(ghp|gho)_[a-z]+", "_", true),
            ("(?:tok|key)x|keyx", "x", true),
            ("abc|abd", "ab", true),
            ("abc|xbd", "ab", false),
            ("a(b)c[0-9]", "abc", true),
            (r"ab\bcd", "abcd", true),
            (r"ab\dcd", "abcd", false),
            ("(abc)?[0-9]", "abc", false),
            ("(abc)*[0-9]", "abc", false),
            ("(abc)+[0-9]", "abc", true),
            ("(abc){2,3}", "abc", true),
            (r"[0-9]+\.example", ".example", true),
            (r"^Bearer \S+$", "Bearer ", true),
            ("[a-z]+", "a", false),
            ("ab+c", "ab", true),
            ("ab+c", "bc", true),
            ("ab+c", "abc", false),
            ("ab*c", "ab", false),
            ("ab*c", "bc", false),
        ] {
            let hir = regex_syntax::parse(regex).unwrap();
            assert_eq!(is_required(&hir, anchor.as_bytes()), is_so, "{anchor} in {regex}");
        }
    }
}
