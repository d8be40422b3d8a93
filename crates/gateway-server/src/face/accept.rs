use http::{HeaderMap, header};

/// What a client can take. The protocol wants both; what is given is what it takes (protocol.md §21).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Accept {
    pub(super) json: bool,
    pub(super) events: bool,
}

impl Accept {
    /// Without the header everything is taken.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let mut values = headers.get_all(header::ACCEPT).iter().peekable();
        let absent = values.peek().is_none();
        let mut accept = Self { json: absent, events: absent };
        for range in values.flat_map(|value| value.as_bytes().split(|byte| *byte == b',')) {
            let mut parts = range.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
            let name = parts.next().unwrap_or_default();
            // `q=0`, in all its spellings, says "not this".
            let refused = parts.any(|part| {
                let weight = part.strip_prefix(b"q=").or_else(|| part.strip_prefix(b"Q="));
                weight.is_some_and(|weight| {
                    !weight.is_empty() && weight.iter().all(|b| matches!(b, b'0' | b'.'))
                })
            });
            let is = |names: [&str; 3]| names.iter().any(|known| name.eq_ignore_ascii_case(known.as_bytes()));
            accept.json |= !refused && is(["application/json", "application/*", "*/*"]);
            accept.events |= !refused && is(["text/event-stream", "text/*", "*/*"]);
        }
        accept
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn media_ranges_are_read_as_http_has_them() {
        for (values, json, events) in [
            (&[][..], true, true),
            (&["application/json, text/event-stream"], true, true),
            (&["application/json", "text/event-stream"], true, true),
            (&["text/event-stream;q=0.9 ,APPLICATION/JSON; charset=utf-8"], true, true),
            (&["*/*"], true, true),
            (&["application/*"], true, false),
            (&["text/event-stream"], false, true),
            (&["application/json, text/event-stream;q=0"], true, false),
            (&["application/json;q=0.0, */*;q=0.5"], true, true),
            (&["text/html"], false, false),
            (&[""], false, false),
        ] {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(header::ACCEPT, HeaderValue::from_static(value));
            }
            assert_eq!(Accept::of(&headers), Accept { json, events }, "for {values:?}");
        }
    }
}
