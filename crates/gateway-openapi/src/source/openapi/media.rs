//! Media types (RFC 9110 §8.3.1), as far as bodies need them.

/// What is inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    Json,
    Form,
    Multipart,
    Text,
    Binary,
    /// `*/*`, `application/*`.
    Any,
    /// Something that has no rule here: the schema decides.
    Unknown,
}

/// What a media type or range says of its content.
pub(super) fn content(media_type: &str) -> Content {
    let essence = essence(media_type);
    let (kind, rest) = essence.split_once('/').unwrap_or((&essence, ""));
    match (kind, rest) {
        ("*", _) | ("application", "*") => Content::Any,
        (_, "json") => Content::Json,
        _ if rest.ends_with("+json") => Content::Json,
        ("application", "x-www-form-urlencoded") => Content::Form,
        ("multipart", "form-data") => Content::Multipart,
        ("multipart", _) => Content::Unknown,
        ("text", _) => Content::Text,
        _ if rest == "xml" || rest.ends_with("+xml") || rest.ends_with("yaml") => Content::Text,
        ("application", rest) if TEXTS.contains(&rest) => Content::Text,
        ("image" | "audio" | "video" | "font" | "model", _) => Content::Binary,
        ("application", rest) if BINARIES.contains(&rest) => Content::Binary,
        _ if rest.ends_with("+zip") || rest.ends_with("+gzip") || rest.ends_with("+cbor") => Content::Binary,
        _ => Content::Unknown,
    }
}

/// Type and subtype in lower case.
pub(super) fn essence(media_type: &str) -> String {
    media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Whether it stands for several.
pub(super) fn is_range(media_type: &str) -> bool {
    essence(media_type).contains('*')
}

const TEXTS: [&str; 16] = [
    "csv",
    "ecmascript",
    "graphql",
    "javascript",
    "json-seq",
    "jsonl",
    "jsonlines",
    "jwt",
    "ndjson",
    "pem-certificate-chain",
    "rtf",
    "sql",
    "toml",
    "x-javascript",
    "x-ndjson",
    "x-pem-file",
];

const BINARIES: [&str; 12] = [
    "cbor",
    "gzip",
    "msgpack",
    "octet-stream",
    "pdf",
    "protobuf",
    "vnd.ms-excel",
    "x-gzip",
    "x-msgpack",
    "x-protobuf",
    "x-tar",
    "zip",
];
