//! What a caller's token is exchanged for, and who acts for the caller (RFC 8693).

use super::later;
use super::model::{Actor, Exchange};
use crate::config::problem::{Fault, nearest};
use crate::config::reader::{Item, Table};
use crate::config::scalar;

/// Types of RFC 8693 §3, by the end of their names.
const TYPES: [&str; 6] = ["access_token", "jwt", "id_token", "refresh_token", "saml1", "saml2"];
const PREFIX: &str = "urn:ietf:params:oauth:token-type:";

pub(super) fn read(table: &mut Table<'_>) -> Exchange {
    let (token, kind) = (table.take("actor_token"), table.take("actor_token_type"));
    let kind = match (&token, kind) {
        (None, Some(kind)) => {
            kind.report(Fault::new("there is no actor_token that this could be about"));
            None
        }
        (_, kind) => kind.and_then(|item| item.parsed(token_type)),
    };
    let source = token.and_then(|item| later::token(&item));
    Exchange {
        subject_type: table.read("subject_token_type", token_type),
        requested_type: table.read("requested_token_type", token_type),
        actor: source.map(|source| Actor { source, kind: kind.unwrap_or_else(|| uri_of(TYPES[0])) }),
    }
}

/// What is asked for (RFC 8707), as it is written.
pub(super) fn resource(item: &Item<'_>) -> Result<String, Fault> {
    let text = scalar::word(item)?;
    let is_uri = text.contains(':') && !text.contains(|one: char| one == '#' || !one.is_ascii_graphic());
    match is_uri {
        true => Ok(text),
        false => Err(Fault::new("is no absolute URI without fragment").hint("write audience for a name")),
    }
}

pub(super) fn token_type(item: &Item<'_>) -> Result<String, Fault> {
    let text = scalar::word(item)?;
    if TYPES.contains(&text.as_str()) {
        return Ok(uri_of(&text));
    }
    if text.contains(':') && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#') {
        return Ok(text);
    }
    let fault = Fault::new(format!("{text:?} is neither a URI nor one of {}", TYPES.join(", ")));
    Err(match nearest(&text, &TYPES) {
        Some(near) => fault.hint(format!("did you mean \"{near}\"?")),
        None => fault,
    })
}

fn uri_of(kind: &str) -> String {
    format!("{PREFIX}{kind}")
}
