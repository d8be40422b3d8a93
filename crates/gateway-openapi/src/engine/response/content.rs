//! What a body is.

use std::borrow::Cow;

use base64::{Engine, engine::general_purpose::STANDARD};
use gateway_domain::RawJson;

use super::{
    charset,
    media::{Kind, MediaType},
};
use crate::engine::Response;

/// A body, understood as far as it can be.
#[derive(Debug)]
pub(super) struct Content<'a> {
    pub(super) reading: Reading<'a>,
    /// Whether it claims to be JSON, or is without claiming to be anything.
    pub(super) is_json: bool,
}

#[derive(Debug)]
pub(super) enum Reading<'a> {
    Text(Cow<'a, str>),
    /// Something to look at, to hear, or to give to a program.
    Opaque {
        block: Block,
        mime: String,
    },
}

/// The content block for bytes that are no text (MCP `ContentBlock`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Block {
    Image,
    Audio,
    Resource,
}

impl<'a> Content<'a> {
    pub(super) fn of(response: &'a Response) -> Self {
        let media = response.content_type.as_deref().and_then(MediaType::parse);
        let is_cut = !response.is_whole();
        let text = |charset| Reading::Text(charset::decode(&response.body, charset, is_cut));
        let charset = media.as_ref().and_then(MediaType::charset);
        let kind = media.as_ref().map_or(Kind::Unknown, MediaType::kind);
        let opaque = |block| {
            let mime = media.as_ref().map_or("application/octet-stream", MediaType::essence).to_owned();
            Reading::Opaque { block, mime }
        };
        let reading = match kind {
            _ if response.body.is_empty() && !is_cut => text(None),
            Kind::Json | Kind::Text => text(charset),
            Kind::Image => opaque(Block::Image),
            Kind::Audio => opaque(Block::Audio),
            Kind::Unknown if looks_like_text(&response.body, is_cut) => text(charset),
            Kind::Unknown => opaque(Block::Resource),
        };
        let is_json = kind == Kind::Json || media.is_none() && looks_like_json(&response.body);
        Self { reading, is_json }
    }

    /// How many bytes of the whole body are not in what was read of it, if that is known. Part of a character is not
    /// read.
    pub(super) fn missing(&self, response: &Response) -> Option<u64> {
        let read = match &self.reading {
            Reading::Text(Cow::Borrowed(text)) if !response.is_whole() => text.len(),
            _ => response.body.len(),
        };
        Some(response.total?.saturating_sub(read as u64))
    }

    /// The JSON value that the body is.
    pub(super) fn json(&self, response: &Response) -> Option<RawJson> {
        if !self.is_json || !response.is_whole() {
            return None;
        }
        match &self.reading {
            // The body's own bytes, so that nothing is copied.
            Reading::Text(Cow::Borrowed(text)) if text.len() == response.body.len() => {
                RawJson::parse(response.body.clone()).ok()
            }
            Reading::Text(text) => RawJson::parse(text.clone().into_owned()).ok(),
            Reading::Opaque { .. } => None,
        }
    }
}

impl Block {
    /// The block with these bytes in it.
    pub(super) fn write(self, bytes: &[u8], mime: &str, uri: &str) -> String {
        let (data, mime) = (STANDARD.encode(bytes), RawJson::string(mime));
        match self {
            Self::Image => format!(r#"{{"type":"image","data":"{data}","mimeType":{mime}}}"#),
            Self::Audio => format!(r#"{{"type":"audio","data":"{data}","mimeType":{mime}}}"#),
            Self::Resource => {
                let uri = RawJson::string(uri);
                format!(
                    r#"{{"type":"resource","resource":{{"uri":{uri},"mimeType":{mime},"blob":"{data}"}}}}"#
                )
            }
        }
    }
}

/// UTF-8 without what no text has in it.
fn looks_like_text(bytes: &[u8], is_cut: bool) -> bool {
    let is_odd = |byte: &u8| byte.is_ascii_control() && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c | 0x1b);
    let is_utf8 = match std::str::from_utf8(bytes) {
        Ok(_) => true,
        Err(error) => is_cut && error.error_len().is_none(),
    };
    is_utf8 && !bytes.iter().any(is_odd)
}

fn looks_like_json(bytes: &[u8]) -> bool {
    matches!(bytes.trim_ascii_start().first(), Some(b'{' | b'['))
}

#[cfg(test)]
mod tests {
    use http::StatusCode;

    use super::*;

    fn response(content_type: Option<&str>, body: &'static [u8], total: Option<u64>) -> Response {
        Response {
            status: StatusCode::OK,
            content_type: content_type.map(str::to_owned),
            body: body.into(),
            total,
            retry_after: None,
        }
    }

    #[test]
    fn a_body_is_what_its_type_says_or_else_what_it_looks_like() {
        const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0";
        for (content_type, body, expected) in [
            (Some("application/json"), &b"{}"[..], "text json"),
            (Some("application/json"), b"{} and more", "text"),
            (Some("application/json; charset=utf-16le"), b"[\x001\0]\0", "text json"),
            (Some("text/plain"), b"{}", "text"),
            (Some("text/plain"), b"\xff\0", "text"),
            (None, b"{\"a\":1}", "text json"),
            (None, b"hello", "text"),
            (None, PNG, "Resource application/octet-stream"),
            (Some("nonsense"), PNG, "Resource application/octet-stream"),
            (Some("image/png; q=1"), PNG, "Image image/png"),
            (Some("image/png"), b"", "text"),
            (Some("image/svg+xml"), b"<svg/>", "text"),
            (Some("Audio/WAV"), b"RIFF", "Audio audio/wav"),
            (Some("application/pdf"), b"%PDF-1.7\n\xe2\xe3", "Resource application/pdf"),
            (Some("application/octet-stream"), b"only words\n", "text"),
            (Some("application/octet-stream"), b"a\0b", "Resource application/octet-stream"),
        ] {
            let response = response(content_type, body, Some(body.len() as u64));
            let content = Content::of(&response);
            let shown = match &content.reading {
                Reading::Text(_) => "text".to_owned(),
                Reading::Opaque { block, mime } => format!("{block:?} {mime}"),
            };
            let json = if content.json(&response).is_some() { " json" } else { "" };
            assert_eq!(shown + json, expected, "for {content_type:?} and {body:?}");
        }
    }

    #[test]
    fn what_is_cut_is_no_json_and_may_still_be_text() {
        let cut = response(Some("application/json"), b"{}", Some(5));
        assert!(Content::of(&cut).json(&cut).is_none());
        let cut = response(Some("application/x"), b"caf\xc3", None);
        assert!(matches!(Content::of(&cut).reading, Reading::Text(text) if text == "caf"));
    }

    #[test]
    fn json_is_the_bodys_own_bytes() {
        let whole = response(Some("application/json"), b" {\"n\": 1e400 }\t", Some(15));
        assert_eq!(Content::of(&whole).json(&whole).unwrap().as_str(), r#"{"n": 1e400 }"#);
    }
}
