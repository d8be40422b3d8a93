use std::borrow::Cow;

use super::content::{Content, Reading};
use crate::engine::Response;

/// The text of an answer: its body, behind `HTTP <status>` and a line break unless it was a success (E-31, E-W20).
/// For a body that is no text a line stands that says what it is.
pub fn default_shape(response: &Response) -> String {
    let body = match Content::of(response).reading {
        Reading::Text(text) => text,
        Reading::Opaque { mime, .. } => Cow::Owned(not_shown(response, &mime)),
    };
    if response.status.is_success() {
        body.into_owned()
    } else {
        format!("HTTP {}\n{body}", response.status.as_u16())
    }
}

fn not_shown(response: &Response, mime: &str) -> String {
    match response.total {
        Some(total) => format!("[{total} bytes of {mime}, not shown]"),
        None => format!("[more than {} bytes of {mime}, not shown]", response.body.len()),
    }
}
