//! What an operation is called (E-42).

use crate::ir::Method;

/// The id: what the document calls it, of letters, digits and `_`; else the verb and the segments of the path.
pub(super) fn id(operation_id: Option<&str>, method: Method, path: &str) -> String {
    let given = operation_id.map(legal).filter(|id| id.contains(|c: char| c.is_ascii_alphanumeric()));
    given.unwrap_or_else(|| {
        let segments = path.split('/').map(|segment| segment.replace(['{', '}'], ""));
        let segments = segments.filter(|segment| !segment.is_empty());
        let words: Vec<_> = std::iter::once(method.as_str().to_ascii_lowercase()).chain(segments).collect();
        legal(&words.join("_"))
    })
}

fn legal(text: &str) -> String {
    let legal = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    text.trim().chars().map(legal).take(MOST_CHARACTERS).collect()
}

/// Names of tools are shorter; what they are cut from need not be longer than this.
const MOST_CHARACTERS: usize = 1024;
