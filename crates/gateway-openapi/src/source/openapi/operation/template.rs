//! Paths as documents write them.

use percent_encoding::percent_decode_str;

use crate::source::openapi::fault::Fault;

/// A path, taken apart.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Template<'p> {
    /// What is below the base URL, without query and fragment.
    pub(super) path: &'p str,
    /// The names of its placeholders, in order.
    pub(super) placeholders: Vec<&'p str>,
    /// Members of a query that stands in it, decoded. Some documents tell two operations of a path apart by it.
    pub(super) query: Vec<(String, String)>,
}

impl<'p> Template<'p> {
    /// What follows a `#` is never sent, and so is no part of the path.
    pub(crate) fn parse(text: &'p str) -> Result<Self, Fault> {
        let text = text.split('#').next().unwrap_or_default();
        let (path, query) = text.split_once('?').unwrap_or((text, ""));
        if !path.starts_with('/') {
            return Err(Fault::new("its path does not begin with /"));
        }
        if path.contains(|c: char| c.is_control()) {
            return Err(Fault::new("its path holds a control character"));
        }
        if path.starts_with("//") {
            return Err(Fault::new("its path begins with an empty segment, which would name another host"));
        }
        if path.split('/').any(is_dots) {
            return Err(Fault::new("its path has a segment that is . or .., which leads elsewhere"));
        }
        Ok(Self { path, placeholders: placeholders(path)?, query: fixed(query)? })
    }
}

/// Whether a segment is taken away on the way, with what stands before it perhaps, be it percent-encoded several times
/// or followed by path parameters.
fn is_dots(segment: &str) -> bool {
    let mut text = segment.to_owned();
    (0..=MOST_DECODES).any(|_| {
        let mut pieces = text.split(['/', '\\']).map(|piece| piece.split(';').next().unwrap_or_default());
        let found = pieces.any(|name| matches!(name.trim(), "." | ".."));
        text = percent_decode_str(&text).decode_utf8_lossy().into_owned();
        found
    })
}

const MOST_DECODES: usize = 3;

fn placeholders(path: &str) -> Result<Vec<&str>, Fault> {
    let unbalanced = || Fault::new("the braces in its path do not match");
    let mut names = Vec::new();
    let mut rest = path;
    while let Some((before, after)) = rest.split_once('{') {
        let (name, behind) = after.split_once('}').ok_or_else(unbalanced)?;
        if name.is_empty() || name.contains(['{', '/']) || before.contains('}') {
            return Err(unbalanced());
        }
        if name.starts_with(|c| EXPRESSIONS.contains(c)) || name.ends_with('*') {
            return Err(Fault::new(format!("the placeholder {{{name}}} in its path is an expression")));
        }
        if names.contains(&name) {
            return Err(Fault::new(format!("the placeholder {{{name}}} stands twice in its path")));
        }
        if names.len() == MOST_PLACEHOLDERS {
            return Err(Fault::new(format!("its path has more than {MOST_PLACEHOLDERS} placeholders")));
        }
        names.push(name);
        rest = behind;
    }
    if rest.contains('}') { Err(unbalanced()) } else { Ok(names) }
}

/// What begins an expression in a URI template (RFC 6570 §2.2). OpenAPI has none.
const EXPRESSIONS: &str = "+#./;?&=,!@|";

const MOST_PLACEHOLDERS: usize = 64;

fn fixed(query: &str) -> Result<Vec<(String, String)>, Fault> {
    if query.contains(['{', '}']) {
        return Err(Fault::new("the query in its path holds placeholders"));
    }
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    let pairs = pairs.map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decoded(name), decoded(value))
    });
    Ok(pairs.take(MOST_PLACEHOLDERS).collect())
}

fn decoded(text: &str) -> String {
    percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned()
}
