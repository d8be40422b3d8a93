//! Where text ends and an expression begins.

use gateway_domain::printable;

/// How much of a template an error shows, in characters.
const SHOWN: usize = 60;

/// A stretch of a template.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Segment<'a> {
    Text(&'a str),
    /// What stands between the braces, without the space around it.
    Expression(&'a str),
}

/// Whether a text has something in it that is not plain text.
pub(super) fn is_template(text: &str) -> bool {
    opening(text).is_some()
}

/// The stretches of a template in their order, ending with the first error.
pub(super) fn split(text: &str) -> impl Iterator<Item = Result<Segment<'_>, String>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (at, kind) = match opening(rest) {
            None if rest.is_empty() => return None,
            None => return Some(Ok(Segment::Text(std::mem::take(&mut rest)))),
            Some((0, kind)) => (0, kind),
            Some((at, _)) => {
                let (text, after) = rest.split_at(at);
                rest = after;
                return Some(Ok(Segment::Text(text)));
            }
        };
        let after = &rest[at + 2..];
        let segment = match kind {
            b'{' => expression(after),
            _ => Err(format!(
                "there are only expressions, `{{{{ … }}}}`: no `{{%` and no `{{#` as in `{}`; as text it is written \
                 `{{{{ '{{{}' }}}}`",
                printable(rest, SHOWN),
                char::from(kind),
            )),
        };
        Some(match segment {
            Ok((source, end)) => {
                rest = &after[end..];
                Ok(Segment::Expression(source))
            }
            Err(reason) => {
                rest = "";
                Err(reason)
            }
        })
    })
}

/// The first `{{`, `{%` or `{#`.
fn opening(text: &str) -> Option<(usize, u8)> {
    let pairs = text.as_bytes().windows(2).enumerate();
    pairs.map(|(at, pair)| (at, pair[0], pair[1])).find_map(|(at, first, second)| {
        (first == b'{' && matches!(second, b'{' | b'%' | b'#')).then_some((at, second))
    })
}

/// The expression at the start of `text`, and where what follows its braces begins. Braces in strings and those of
/// maps do not end it.
fn expression(text: &str) -> Result<(&str, usize), String> {
    let bytes = text.as_bytes();
    let (mut depth, mut quote, mut at) = (0_usize, None, 0);
    while let Some(&byte) = bytes.get(at) {
        match (quote, byte) {
            (Some(_), b'\\') => at += 1,
            (Some(open), _) if byte == open => quote = None,
            (Some(_), _) => {}
            (None, b'"' | b'\'') => quote = Some(byte),
            (None, b'{' | b'[' | b'(') => depth += 1,
            (None, b'}') if depth == 0 && bytes.get(at + 1) == Some(&b'}') => {
                return inside(&text[..at], at + 2);
            }
            (None, b'}' | b']' | b')') => depth = depth.saturating_sub(1),
            (None, _) => {}
        }
        at += 1;
    }
    let open = printable(text, SHOWN);
    Err(format!("`{{{{` is not closed in `{{{{{open}`; as text it is written `{{{{ '{{{{' }}}}`"))
}

fn inside(source: &str, end: usize) -> Result<(&str, usize), String> {
    if source.starts_with(['-', '+']) || source.ends_with(['-', '+']) {
        return Err(format!(
            "space is never cut, so there is no `{{{{-` as in `{{{{{}}}}}`; put a space before a sign",
            printable(source, SHOWN)
        ));
    }
    match source.trim() {
        "" => Err("`{{ }}` is empty; put an expression in it".to_owned()),
        source => Ok((source, end)),
    }
}
