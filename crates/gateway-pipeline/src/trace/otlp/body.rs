use std::{
    fmt::Write as _,
    time::{Duration, SystemTime},
};

use gateway_domain::RawJson;

use crate::trace::Span;

/// `SPAN_KIND_SERVER`.
const SERVER: u8 = 2;
/// `STATUS_CODE_ERROR`.
const ERROR: u8 = 2;

/// The body of one request to `/v1/traces`.
pub(super) fn body(resource: &[(String, String)], spans: &[Span]) -> Vec<u8> {
    let mut body = String::with_capacity(256 + spans.len() * 768);
    body.push_str(r#"{"resourceSpans":[{"resource":{"attributes":"#);
    attributes(&mut body, resource.iter().map(|(key, value)| (&**key, &**value)));
    let version = env!("CARGO_PKG_VERSION");
    put(
        &mut body,
        format_args!(r#"}},"scopeSpans":[{{"scope":{{"name":"gatewayd","version":"{version}"}},"spans":["#),
    );
    for (place, span) in spans.iter().enumerate() {
        body.push_str(if place == 0 { "" } else { "," });
        write_span(&mut body, span);
    }
    body.push_str("]}]}]}");
    body.into_bytes()
}

fn write_span(body: &mut String, span: &Span) {
    let Span { context, parent, name, start, duration, .. } = span;
    put(body, format_args!(r#"{{"traceId":"{:032x}","spanId":"{:016x}""#, context.trace_id, context.span_id));
    if let Some(parent) = parent {
        put(body, format_args!(r#","parentSpanId":"{parent:016x}""#));
    }
    if let Some(state) = &context.state {
        put(body, format_args!(r#","traceState":{}"#, RawJson::string(state)));
    }
    let start = start.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    put(
        body,
        format_args!(
            r#","flags":{},"name":{},"kind":{SERVER},"startTimeUnixNano":"{}","endTimeUnixNano":"{}","attributes":"#,
            context.flags,
            RawJson::string(name),
            start.as_nanos(),
            (start + *duration).as_nanos(),
        ),
    );
    attributes(body, span.attributes.iter().map(|(key, value)| (*key, &**value)));
    if span.is_error {
        put(body, format_args!(r#","status":{{"code":{ERROR}}}"#));
    }
    body.push('}');
}

fn attributes<'a>(body: &mut String, attributes: impl Iterator<Item = (&'a str, &'a str)>) {
    let mut separator = '[';
    for (key, value) in attributes {
        let (key, value) = (RawJson::string(key), RawJson::string(value));
        put(body, format_args!(r#"{separator}{{"key":{key},"value":{{"stringValue":{value}}}}}"#));
        separator = ',';
    }
    body.push_str(if separator == '[' { "[]" } else { "]" });
}

fn put(body: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a String does not fail.
    let _ = body.write_fmt(text);
}
