use std::fmt;

/// Where a request stands in a trace (W3C Trace Context, level 1; SEP-414).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceContext {
    /// The trace; not zero.
    pub trace_id: u128,
    /// The span that the request is made in; not zero.
    pub span_id: u64,
    /// The flags; the lowest bit says that the trace is recorded.
    pub flags: u8,
    /// `tracestate` as it came, if it came and is not longer than 512 bytes.
    pub state: Option<String>,
}

impl TraceContext {
    /// Reads a `traceparent`; `None` for what is none, which is then as good as not there (§3.2.2.3 of the standard).
    pub fn parse(traceparent: &str) -> Option<Self> {
        let mut parts = traceparent.split('-');
        let [version, trace, span, flags] = [(); 4].map(|()| parts.next());
        let hex = |text: Option<&str>, length: usize| {
            let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
            text.filter(|text| text.len() == length && text.bytes().all(is_hex)).map(str::to_owned)
        };
        let version = u8::from_str_radix(&hex(version, 2)?, 16).ok()?;
        let trace_id = u128::from_str_radix(&hex(trace, 32)?, 16).ok()?;
        let span_id = u64::from_str_radix(&hex(span, 16)?, 16).ok()?;
        let flags = u8::from_str_radix(&hex(flags, 2)?, 16).ok()?;
        let is_known = version == 0 && parts.next().is_none();
        ((is_known || (1..0xff).contains(&version)) && trace_id != 0 && span_id != 0).then_some(Self {
            trace_id,
            span_id,
            flags,
            state: None,
        })
    }

    /// Whether the trace is recorded.
    pub fn is_sampled(&self) -> bool {
        self.flags & 1 == 1
    }
}

/// The `traceparent`.
impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{:032x}-{:016x}-{:02x}", self.trace_id, self.span_id, self.flags)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_standard_allows_is_read() {
        let good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        assert_eq!(TraceContext::parse(good).unwrap().to_string(), good);
        assert!(TraceContext::parse(good).unwrap().is_sampled());
        for (text, is_read) in [
            ("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", true),
            ("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what", true),
            ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what", false),
            ("ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", false),
            ("00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01", false),
            ("00-00000000000000000000000000000000-00f067aa0ba902b7-01", false),
            ("00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01", false),
            ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7", false),
            ("00-+bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", false),
            ("", false),
        ] {
            assert_eq!(TraceContext::parse(text).is_some(), is_read, "for {text}");
        }
    }
}
