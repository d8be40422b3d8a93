use std::{
    fmt::Write as _,
    net::IpAddr,
    time::{Duration, SystemTime},
};

use gateway_domain::{Decision, Origin};

/// How many characters of a text from outside are kept.
const TEXT_LIMIT: usize = 256;

/// What is recorded of a call, or of a refusal at the door (P-4). The members of P-4 are always there, in that order;
/// the others follow where something is known.
#[derive(Debug, Clone, Copy)]
pub(super) struct Record<'a> {
    pub(super) client: Option<&'a str>,
    /// The tool, prompt or resource, as the client named it.
    pub(super) name: Option<&'a str>,
    pub(super) decision: Decision,
    pub(super) latency: Duration,
    /// The downstream was left alone because it has failed too often (P-38).
    pub(super) is_broken: bool,
    pub(super) redactions: u64,
    pub(super) truncated: bool,
    pub(super) error: Option<&'a str>,
    pub(super) method: Option<&'a str>,
    pub(super) downstream: Option<&'a str>,
    pub(super) origin: Option<&'a Origin>,
    pub(super) trace_id: Option<u128>,
    pub(super) peer: Option<IpAddr>,
}

impl Record<'_> {
    /// Whether it must not be lost silently (P-60).
    pub(super) fn is_security(&self) -> bool {
        !self.decision.is_allowed() || self.redactions > 0
    }

    /// The record as a line of ASCII, the end of the line included.
    pub(super) fn line(&self, at: SystemTime) -> String {
        let mut line = Line(String::with_capacity(512));
        // The formatter knows no time before 1970.
        let at = humantime::format_rfc3339_nanos(at.max(SystemTime::UNIX_EPOCH));
        let micros = u64::try_from(self.latency.as_micros()).unwrap_or(u64::MAX);
        // One is written for each call: what stays the same is copied, not formatted.
        line.texts(&[r#"{"ts":""#]);
        line.raw(format_args!("{at}"));
        line.texts(&[r#"","client":"#]);
        line.optional(self.client);
        line.texts(&[r#","tool":"#]);
        line.optional(self.name);
        line.texts(&[r#","decision":""#, self.decision.code(), r#"","allowed":"#]);
        line.texts(&[truth(self.decision.is_allowed()), r#","latency_ms":"#]);
        line.raw(format_args!("{}.{:03}", micros / 1000, micros % 1000));
        line.texts(&[r#","breaker_state":""#, if self.is_broken { "open" } else { "closed" }]);
        line.texts(&[r#"","redactions":"#]);
        line.raw(format_args!("{}", self.redactions));
        line.texts(&[r#","truncated":"#, truth(self.truncated), r#","error":"#]);
        line.optional(self.error);
        line.member("method", self.method);
        line.member("downstream", self.downstream);
        line.member("workflow", self.origin.map(|origin| &*origin.workflow));
        line.member("run", self.origin.map(|origin| &*origin.run));
        line.member("step", self.origin.map(|origin| &*origin.step));
        if let Some(trace) = self.trace_id {
            line.raw(format_args!(r#","trace_id":"{trace:032x}""#));
        }
        if let Some(peer) = self.peer {
            line.raw(format_args!(r#","peer":"{peer}""#));
        }
        line.0.push_str("}\n");
        line.0
    }
}

fn truth(is_so: bool) -> &'static str {
    if is_so { "true" } else { "false" }
}

struct Line(String);

impl Line {
    fn texts(&mut self, texts: &[&str]) {
        self.0.extend(texts.iter().copied());
    }

    fn raw(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing to a String does not fail.
        let _ = self.0.write_fmt(text);
    }

    fn member(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.texts(&[",\"", name, "\":"]);
            self.string(value);
        }
    }

    fn optional(&mut self, value: Option<&str>) {
        match value {
            Some(value) => self.string(value),
            None => self.0.push_str("null"),
        }
    }

    /// A text from outside: cut, and with everything escaped that a terminal may act on.
    fn string(&mut self, text: &str) {
        self.0.push('"');
        if text.len() <= TEXT_LIMIT && text.bytes().all(is_plain) {
            self.0.push_str(text);
        } else {
            let end = text.char_indices().nth(TEXT_LIMIT).map(|(end, _)| end);
            let kept = end.map_or(text, |end| &text[..end]);
            kept.chars().chain(end.map(|_| '…')).for_each(|c| self.character(c));
        }
        self.0.push('"');
    }

    fn character(&mut self, c: char) {
        match u8::try_from(c) {
            Ok(byte) if is_plain(byte) => self.0.push(c),
            _ => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    self.raw(format_args!("\\u{unit:04x}"));
                }
            }
        }
    }
}

fn is_plain(byte: u8) -> bool {
    (b' '..=b'~').contains(&byte) && byte != b'"' && byte != b'\\'
}

#[cfg(test)]
mod tests;
