/// A media type (RFC 9110 §8.3.1) as far as it matters what kind of thing it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MediaType {
    /// Type and subtype, in lower case.
    essence: String,
    charset: Option<String>,
}

/// What can be done with a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Json,
    Text,
    Image,
    Audio,
    /// Nobody knows without looking at it.
    Unknown,
}

impl MediaType {
    /// Reads the value of a `Content-Type`; `None` if it is none.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(';');
        let essence = parts.next()?.trim().to_ascii_lowercase();
        let (kind, subtype) = essence.split_once('/')?;
        if !is_token(kind) || !is_token(subtype) {
            return None;
        }
        let charset = parts.find_map(|parameter| {
            let (name, value) = parameter.split_once('=')?;
            let value = value.trim().trim_matches('"').to_ascii_lowercase();
            name.trim().eq_ignore_ascii_case("charset").then_some(value)
        });
        Some(Self { essence, charset })
    }

    pub(super) fn essence(&self) -> &str {
        &self.essence
    }

    pub(super) fn charset(&self) -> Option<&str> {
        self.charset.as_deref()
    }

    pub(super) fn kind(&self) -> Kind {
        let (kind, subtype) = self.essence.split_once('/').unwrap_or_default();
        match (kind, subtype) {
            (_, "json") => Kind::Json,
            (_, subtype) if subtype.ends_with("+json") => Kind::Json,
            (_, subtype) if subtype.ends_with("+xml") || subtype.ends_with("+yaml") => Kind::Text,
            ("text", _) => Kind::Text,
            ("image", _) => Kind::Image,
            ("audio", _) => Kind::Audio,
            ("application", subtype) if TEXTS.contains(&subtype) => Kind::Text,
            _ => Kind::Unknown,
        }
    }

    /// Whether a body of this kind is meant to go on for ever.
    pub(crate) fn is_stream(&self) -> bool {
        STREAMS.contains(&self.essence.as_str())
    }
}

/// Subtypes of `application` that are text.
const TEXTS: [&str; 14] = [
    "ecmascript",
    "graphql",
    "javascript",
    "json-seq",
    "jsonl",
    "ndjson",
    "sql",
    "toml",
    "x-javascript",
    "x-ndjson",
    "x-www-form-urlencoded",
    "x-yaml",
    "xml",
    "yaml",
];

const STREAMS: [&str; 6] = [
    "text/event-stream",
    "application/jsonl",
    "application/x-jsonlines",
    "application/ndjson",
    "application/x-ndjson",
    "application/json-seq",
];

fn is_token(text: &str) -> bool {
    let is_legal = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_legal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_follow_from_type_and_suffix() {
        for (text, expected) in [
            ("application/json", Some(Kind::Json)),
            ("APPLICATION/JSON;charset=utf-8", Some(Kind::Json)),
            ("application/problem+json", Some(Kind::Json)),
            ("application/vnd.api+json; version=1", Some(Kind::Json)),
            ("text/json", Some(Kind::Json)),
            ("application/x-ndjson", Some(Kind::Text)),
            ("text/event-stream", Some(Kind::Text)),
            ("text/plain", Some(Kind::Text)),
            ("application/xml", Some(Kind::Text)),
            ("image/svg+xml", Some(Kind::Text)),
            ("image/png", Some(Kind::Image)),
            ("audio/mpeg", Some(Kind::Audio)),
            ("video/mp4", Some(Kind::Unknown)),
            ("application/octet-stream", Some(Kind::Unknown)),
            ("application/pdf", Some(Kind::Unknown)),
            ("json", None),
            ("", None),
            ("/", None),
            ("a/b c", None),
            ("image/png\", \"x\":\"", None),
        ] {
            assert_eq!(MediaType::parse(text).map(|media| media.kind()), expected, "for {text:?}");
        }
    }

    #[test]
    fn the_charset_is_found_among_parameters() {
        for (text, expected) in [
            ("text/plain", None),
            ("text/plain; charset=ISO-8859-1", Some("iso-8859-1")),
            ("text/plain;a=b; Charset=\"UTF-8\"", Some("utf-8")),
            ("text/plain; charset", None),
        ] {
            assert_eq!(MediaType::parse(text).unwrap().charset(), expected, "for {text:?}");
        }
    }
}
