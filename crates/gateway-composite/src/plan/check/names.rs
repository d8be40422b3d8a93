//! What names look like.

/// `^[a-z0-9]([a-z0-9_-]*[a-z0-9])?$` (C-30).
pub(super) fn is_workflow_name(name: &str) -> bool {
    let is_end = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    match name.as_bytes() {
        [first, .., last] => {
            is_end(*first)
                && is_end(*last)
                && name.bytes().all(|byte| is_end(byte) || matches!(byte, b'_' | b'-'))
        }
        [only] => is_end(*only),
        [] => false,
    }
}

/// `^[a-zA-Z0-9][a-zA-Z0-9._-]*$` (C-33).
pub(super) fn is_tool_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphanumeric())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
}

/// What expressions take for one name: a letter or `_`, then letters, digits and `_` (C-35).
pub(super) fn is_identifier(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// The same with `-`, which expressions reach in brackets: `steps["my-step"]`.
pub(super) fn is_step_id(name: &str) -> bool {
    is_identifier(&name.replace('-', "_")) && !name.starts_with('-')
}
