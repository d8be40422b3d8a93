use crate::engine::{
    CallError,
    request::encode::{decode, is_dotted},
};

/// How often a segment is decoded. Once gives the values, of which one and two decodes are looked at (T16).
const DECODES: usize = 3;

/// Refuses a segment, as it is sent, that a server or a proxy may take for another place in the path: empty, with `.`
/// or `..` in it, or with control characters, however often it is decoded. `names` are the parameters in it.
pub(super) fn check_segment(segment: &str, names: &[&str]) -> Result<(), CallError> {
    if segment.is_empty() && !names.is_empty() {
        return Err(refused(names, "must not be empty: it is part of the path"));
    }
    let mut segment = segment.as_bytes().to_vec();
    for _ in 0..=DECODES {
        if is_dotted(&segment) {
            return Err(refused(names, "must not have '.' or '..' between slashes: it is part of the path"));
        }
        if segment.iter().any(u8::is_ascii_control) {
            return Err(refused(names, "must not have control characters: it is part of the path"));
        }
        if !segment.contains(&b'%') {
            break;
        }
        segment = decode(&String::from_utf8_lossy(&segment));
    }
    Ok(())
}

fn refused(names: &[&str], demand: &str) -> CallError {
    match names {
        [] => CallError::Request { reason: "the path of the operation has dot segments".into() },
        names => CallError::Arguments { reason: format!("`{}` {demand}", names.join("`, `")) },
    }
}
