//! Which era a message belongs to (protocol.md §7.1). The body decides, headers confirm.

use gateway_domain::{Era, RawObject};

use crate::{Message, Revision, meta, method};

/// What is known about one HTTP message before it is served.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// What kind of message it is; for requests, the method.
    pub kind: Kind<'a>,
    /// `params._meta["io.modelcontextprotocol/protocolVersion"]`; an empty text if it is no string.
    pub envelope_version: Option<&'a str>,
    /// The `MCP-Protocol-Version` header.
    pub header_version: Option<&'a str>,
    /// Whether the message names a legacy session.
    pub has_session: bool,
}

/// The kinds of messages that are told apart here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind<'a> {
    /// A request for this method.
    Request(&'a str),
    /// A notification.
    Notification,
    /// A response, or an array of messages.
    ResponseOrBatch,
}

impl<'a> Kind<'a> {
    /// The kind of a single message.
    pub fn of(message: &'a Message) -> Self {
        match message {
            Message::Request(request) => Self::Request(&request.method),
            Message::Notification(_) => Self::Notification,
            Message::Response(_) => Self::ResponseOrBatch,
        }
    }
}

/// How a message is to be served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// By itself, by the rules of 2026-07-28.
    Modern,
    /// As the start of a legacy session.
    Handshake,
    /// In a legacy session, or refused for having none.
    Legacy,
    /// The header promises a modern envelope and the body has none: -32602 with status 400.
    EnvelopeMissing,
    /// Header and envelope name different revisions: -32020.
    HeaderMismatch,
    /// An envelope that names a revision which has no envelopes: -32022.
    EnvelopeUnusable,
}

/// Decides by the table in protocol.md §7.1.
pub fn classify(facts: Facts<'_>) -> Verdict {
    let modern_header = facts.header_version.is_some_and(names_modern);
    match (facts.kind, facts.envelope_version) {
        (Kind::Request(_), Some(version)) => envelope(facts, version),
        (Kind::Request(method::INITIALIZE), None) => Verdict::Handshake,
        (Kind::Request(_), None) if modern_header => Verdict::EnvelopeMissing,
        (Kind::Request(_), None) => Verdict::Legacy,
        (Kind::Notification, Some(_)) => Verdict::Modern,
        (Kind::Notification, None) if modern_header => Verdict::Modern,
        (Kind::Notification | Kind::ResponseOrBatch, _) => Verdict::Legacy,
    }
}

fn envelope(facts: Facts<'_>, version: &str) -> Verdict {
    let legacy = Revision::parse(version).is_some_and(|revision| revision.era() == Era::Legacy);
    match facts.header_version {
        _ if !legacy => Verdict::Modern,
        Some(header) if header != version => Verdict::HeaderMismatch,
        _ if facts.has_session => Verdict::Legacy,
        _ => Verdict::EnvelopeUnusable,
    }
}

/// Whether a date is that of the first modern revision or later. Other texts are not.
fn names_modern(version: &str) -> bool {
    let shape = version.len() == 10 && version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    shape && version >= Revision::V2026_07_28.as_str()
}

/// The revision that a message's envelope names, for [`Facts::envelope_version`].
pub fn envelope_version(meta: Option<&RawObject>) -> Option<String> {
    let value = meta?.get(meta::PROTOCOL_VERSION)?;
    Some(value.to_text().unwrap_or_default().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_the_specification() {
        const MODERN: Option<&str> = Some("2026-07-28");
        const OLD: Option<&str> = Some("2025-11-25");
        const FUTURE: Option<&str> = Some("2099-01-01");
        let call = Kind::Request("tools/call");
        let hello = Kind::Request("initialize");
        for (kind, envelope, header, session, expected) in [
            (call, MODERN, MODERN, false, Verdict::Modern),
            (call, MODERN, None, false, Verdict::Modern),
            (call, MODERN, OLD, true, Verdict::Modern),
            (call, FUTURE, FUTURE, false, Verdict::Modern),
            (call, Some(""), None, false, Verdict::Modern),
            (call, OLD, MODERN, true, Verdict::HeaderMismatch),
            (call, OLD, OLD, true, Verdict::Legacy),
            (call, OLD, None, false, Verdict::EnvelopeUnusable),
            (hello, None, None, false, Verdict::Handshake),
            (hello, None, MODERN, false, Verdict::Handshake),
            (hello, MODERN, MODERN, false, Verdict::Modern),
            (call, None, MODERN, false, Verdict::EnvelopeMissing),
            (call, None, FUTURE, true, Verdict::EnvelopeMissing),
            (call, None, OLD, true, Verdict::Legacy),
            (call, None, None, false, Verdict::Legacy),
            (call, None, Some("garbage"), false, Verdict::Legacy),
            (Kind::Notification, MODERN, None, false, Verdict::Modern),
            (Kind::Notification, None, MODERN, false, Verdict::Modern),
            (Kind::Notification, None, OLD, true, Verdict::Legacy),
            (Kind::ResponseOrBatch, None, None, true, Verdict::Legacy),
        ] {
            let facts =
                Facts { kind, envelope_version: envelope, header_version: header, has_session: session };
            assert_eq!(classify(facts), expected, "for {facts:?}");
        }
    }
}
