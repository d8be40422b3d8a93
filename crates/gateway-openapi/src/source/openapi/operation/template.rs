use crate::source::openapi::fault::Fault;

/// The names of the placeholders in a path, in order.
pub(crate) fn placeholders(path: &str) -> Result<Vec<&str>, Fault> {
    if !path.starts_with('/') {
        return Err(Fault::new("its path does not begin with /"));
    }
    if path.contains(['?', '#']) {
        return Err(Fault::new("its path holds a query or a fragment"));
    }
    if path.contains(|c: char| c.is_control()) {
        return Err(Fault::new("its path holds a control character"));
    }
    let mut names = Vec::new();
    let mut rest = path;
    while let Some((before, after)) = rest.split_once('{') {
        let closed = after.split_once('}').filter(|(name, _)| !name.contains(['{', '/']) && !name.is_empty());
        let (Some((name, behind)), false) = (closed, before.contains('}')) else {
            return Err(Fault::new("the braces in its path do not match"));
        };
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
    match rest.contains('}') {
        true => Err(Fault::new("the braces in its path do not match")),
        false => Ok(names),
    }
}

/// What begins an expression in a URI template (RFC 6570 §2.2). OpenAPI has none.
const EXPRESSIONS: &str = "+#./;?&=,!@|";

const MOST_PLACEHOLDERS: usize = 64;
