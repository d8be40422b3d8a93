//! `_meta` of requests and results: what a hop reads, and what it puts in their place (protocol.md §8).

use gateway_domain::{ClientCapabilities, Era, Exchange, LogLevel, RawJson, RawObject};

use crate::{Implementation, Revision};

/// The revision a modern request is made in; required.
pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// What the client can do with this request; required.
pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// Who the client says it is.
pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
/// The lowest log level wanted with this request.
pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// Who the server says it is, on modern results.
pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// Which listen request a message belongs to.
pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
/// The Tasks extension (protocol.md §15.2).
pub const TASKS: &str = gateway_domain::TASKS_EXTENSION;
/// Which task of 2025-11-25 a message belongs to.
pub const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";
/// The token that progress of this request is reported under.
pub const PROGRESS_TOKEN: &str = "progressToken";

/// Where a request stands in a trace (W3C Trace Context, SEP-414).
pub const TRACEPARENT: &str = "traceparent";
/// What the systems of a trace keep in it.
pub const TRACESTATE: &str = "tracestate";

/// Members that describe one hop and never cross the gateway.
const HOP: [&str; 5] = [PROTOCOL_VERSION, CLIENT_CAPABILITIES, CLIENT_INFO, LOG_LEVEL, PROGRESS_TOKEN];

/// What a modern request says about itself.
#[derive(Debug, Clone)]
pub struct RequestMeta {
    /// The date it names; may be unknown.
    pub version: String,
    /// What its client can do.
    pub capabilities: ClientCapabilities,
    /// Its log level.
    pub log_level: Option<LogLevel>,
}

/// What is wrong with the `_meta` of a modern request: -32602 with status 400 (protocol.md §5.4 step 7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("`_meta` member `{member}` {fault}")]
pub struct MetaError {
    /// Which member.
    pub member: &'static str,
    /// What it is.
    pub fault: &'static str,
}

impl RequestMeta {
    /// Reads the envelope members of a modern request.
    ///
    /// # Errors
    /// [`MetaError`] for the first member that is missing or malformed.
    pub fn read(meta: Option<&RawObject>) -> Result<Self, MetaError> {
        let empty = RawObject::empty();
        let meta = meta.unwrap_or(&empty);
        let bad = |member, fault| MetaError { member, fault };
        let version = meta.get(PROTOCOL_VERSION).ok_or_else(|| bad(PROTOCOL_VERSION, "is missing"))?;
        let version = version.to_text().ok_or_else(|| bad(PROTOCOL_VERSION, "is not a string"))?.into_owned();
        let capabilities =
            meta.get(CLIENT_CAPABILITIES).ok_or_else(|| bad(CLIENT_CAPABILITIES, "is missing"))?;
        let capabilities = RawObject::try_from(capabilities)
            .map_err(|_| bad(CLIENT_CAPABILITIES, "is not an object"))?
            .into();
        if meta.get(CLIENT_INFO).is_some_and(|info| RawObject::try_from(info).is_err()) {
            return Err(bad(CLIENT_INFO, "is not an object"));
        }
        let log_level = match meta.get(LOG_LEVEL) {
            None => None,
            Some(level) => Some(
                level
                    .to_text()
                    .and_then(|name| LogLevel::parse(&name))
                    .ok_or_else(|| bad(LOG_LEVEL, "is no log level"))?,
            ),
        };
        Ok(Self { version, capabilities, log_level })
    }
}

/// The token under which a client wants progress reported, with its JSON type.
pub fn progress_token(meta: Option<&RawObject>) -> Option<RawJson> {
    meta?.get(PROGRESS_TOKEN).filter(|token| crate::RequestId::new(token.clone()).is_some())
}

/// How a request introduces itself on the next hop.
#[derive(Debug, Clone)]
pub struct Hop<'a> {
    /// The revision spoken there.
    pub revision: Revision,
    /// Who we are.
    pub client: &'a Implementation,
    /// What is declared there.
    pub capabilities: &'a ClientCapabilities,
}

/// The `_meta` of an outgoing request: the client's own members without those of its hop, and the next
/// hop's instead; so are those of its trace, where it is known where in it the request stands. `None` if nothing is left
/// to say.
pub fn outgoing(
    client: Option<&RawObject>,
    hop: &Hop<'_>,
    exchange: Option<&Exchange>,
    progress_token: Option<&str>,
) -> Option<RawJson> {
    let empty = RawObject::empty();
    let meta = client.unwrap_or(&empty);
    let mut edit = HOP.iter().fold(meta.edit(), |edit, member| edit.remove(member));
    if hop.revision.era() == Era::Modern {
        edit = edit
            .set(PROTOCOL_VERSION, RawJson::string(hop.revision.as_str()).as_bytes())
            .set(CLIENT_INFO, hop.client.as_str())
            .set(CLIENT_CAPABILITIES, hop.capabilities.raw().as_str());
        if let Some(level) = exchange.and_then(|exchange| exchange.log_level) {
            edit = edit.set(LOG_LEVEL, RawJson::string(level.as_str()).as_bytes());
        }
    }
    if let Some(token) = progress_token {
        edit = edit.set(PROGRESS_TOKEN, token);
    }
    if let Some(trace) = exchange.and_then(|exchange| exchange.trace.as_ref()) {
        edit = edit.set(TRACEPARENT, RawJson::string(&trace.to_string()).into_bytes());
        edit = match &trace.state {
            Some(state) => edit.set(TRACESTATE, RawJson::string(state).into_bytes()),
            None => edit.remove(TRACESTATE),
        };
    }
    let meta = edit.finish();
    (meta.as_str().len() > 2 || client.is_some_and(RawObject::is_empty)).then_some(meta)
}

#[cfg(test)]
mod tests {
    use gateway_domain::TraceContext;

    use super::*;

    fn hop(revision: Revision, client: Option<&str>, token: Option<&str>) -> Option<String> {
        let client = client.map(|text| RawObject::parse(text.to_owned()).unwrap());
        let us = Implementation::new("g", "G", "1");
        let none = ClientCapabilities::none();
        let hop = Hop { revision, client: &us, capabilities: &none };
        outgoing(client.as_ref(), &hop, None, token).map(|meta| meta.as_str().to_owned())
    }

    #[test]
    fn members_of_a_hop_stay_on_it_and_all_others_pass() {
        let modern = r#"{"a.b/c":1.0,"progressToken":"t","io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"sampling":{}},"io.modelcontextprotocol/clientInfo":{"name":"x"},"io.modelcontextprotocol/logLevel":"debug","traceparent":"00"}"#;
        assert_eq!(
            hop(Revision::V2025_11_25, Some(modern), Some("4")).as_deref(),
            Some(r#"{"a.b/c":1.0,"progressToken":4,"traceparent":"00"}"#)
        );
        assert_eq!(hop(Revision::V2025_11_25, Some(r#"{"progressToken":1}"#), None), None);
        assert_eq!(hop(Revision::V2025_11_25, None, None), None);
        assert_eq!(
            hop(Revision::V2026_07_28, Some(r#"{"k":[1e400]}"#), None).as_deref(),
            Some(concat!(
                r#"{"k":[1e400],"io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
                r#""io.modelcontextprotocol/clientInfo":{"name":"g","title":"G","version":"1"},"#,
                r#""io.modelcontextprotocol/clientCapabilities":{}}"#
            ))
        );
    }

    #[test]
    fn a_call_in_a_trace_says_where_it_stands() {
        let check = |state: Option<&str>, client: Option<&str>, expected: &str| {
            let client = client.map(|text| RawObject::parse(text.to_owned()).unwrap());
            let key = gateway_domain::SessionKey::Legacy { id: "s".into() };
            let mut exchange = Exchange::quiet(Era::Legacy, key, ClientCapabilities::none());
            let trace = TraceContext::parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
            exchange.trace = trace.map(|trace| TraceContext { state: state.map(str::to_owned), ..trace });
            let (us, none) = (Implementation::new("g", "G", "1"), ClientCapabilities::none());
            let hop = Hop { revision: Revision::V2025_11_25, client: &us, capabilities: &none };
            let made = outgoing(client.as_ref(), &hop, Some(&exchange), None);
            assert_eq!(made.map(|meta| meta.as_str().to_owned()).as_deref(), Some(expected));
        };
        let parent = r#""traceparent":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01""#;
        check(None, None, &format!("{{{parent}}}"));
        check(Some("a=1"), None, &format!(r#"{{{parent},"tracestate":"a=1"}}"#));
        let client = r#"{"traceparent":"00","tracestate":"b=2","k":1}"#;
        check(None, Some(client), &format!(r#"{{{parent},"k":1}}"#));
        check(Some("a=1"), Some(client), &format!(r#"{{{parent},"tracestate":"a=1","k":1}}"#));
    }

    #[test]
    fn a_modern_envelope_is_checked_member_by_member() {
        let check = |text: &str, expected: Option<&str>| {
            let meta = RawObject::parse(text.to_owned()).unwrap();
            let error = RequestMeta::read(Some(&meta)).err().map(|error| error.to_string());
            assert_eq!(error.as_deref(), expected, "for {text}");
        };
        let (version, capabilities) = (PROTOCOL_VERSION, CLIENT_CAPABILITIES);
        check("{}", Some("`_meta` member `io.modelcontextprotocol/protocolVersion` is missing"));
        check(
            &format!(r#"{{"{version}":7}}"#),
            Some("`_meta` member `io.modelcontextprotocol/protocolVersion` is not a string"),
        );
        check(
            &format!(r#"{{"{version}":"x"}}"#),
            Some("`_meta` member `io.modelcontextprotocol/clientCapabilities` is missing"),
        );
        check(
            &format!(r#"{{"{version}":"x","{capabilities}":[]}}"#),
            Some("`_meta` member `io.modelcontextprotocol/clientCapabilities` is not an object"),
        );
        check(
            &format!(r#"{{"{version}":"x","{capabilities}":{{}},"{CLIENT_INFO}":1}}"#),
            Some("`_meta` member `io.modelcontextprotocol/clientInfo` is not an object"),
        );
        check(
            &format!(r#"{{"{version}":"x","{capabilities}":{{}},"{LOG_LEVEL}":"loud"}}"#),
            Some("`_meta` member `io.modelcontextprotocol/logLevel` is no log level"),
        );
        check(&format!(r#"{{"{version}":"x","{capabilities}":{{}},"{LOG_LEVEL}":"info"}}"#), None);
    }
}
