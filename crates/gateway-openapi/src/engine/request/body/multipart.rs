use std::hash::{BuildHasher, RandomState};

use gateway_domain::{JsonKind, RawJson, RawObject};

use super::{decoded, unfit};
use crate::{
    engine::{
        CallError,
        request::value::{Wire, members, text},
    },
    ir::{Field, ParamFormat, Style},
};

/// How many boundaries are tried. One is enough unless the content was made by somebody who knew it.
const TRIES: usize = 8;

const UNKNOWN: &str = "application/octet-stream";

/// One part (RFC 7578 §4).
struct Part {
    name: String,
    filename: Option<String>,
    media_type: Option<String>,
    content: Vec<u8>,
}

/// An object as `multipart/form-data`: the boundary and the body. A part for each member, in their order, and for each
/// item of an array unless its style is one that does not explode. Files are base64, or `{"data", "filename", "mediaType"}`.
pub(super) fn write(fields: &[Field], value: &RawJson) -> Result<(String, Vec<u8>), CallError> {
    let object = members("body", value).map_err(|_| unfit("it must be an object"))?;
    let mut parts = Vec::new();
    for (name, value) in object.iter() {
        let field = fields.iter().find(|field| field.name == name);
        let is_json =
            field.and_then(|field| field.media_type.as_deref()).is_some_and(|it| it.contains("json"));
        match value.elements(usize::MAX) {
            Some(_) if let Some(delimiter) = field.and_then(delimiter) => {
                parts.extend(list(&name, delimiter, &value)?);
            }
            Some(items) if !is_json => {
                for item in items {
                    parts.extend(part(&name, field, &item)?);
                }
            }
            _ => parts.extend(part(&name, field, &value)?),
        }
    }
    let boundary = (0..TRIES)
        .map(|_| boundary())
        .find(|boundary| !parts.iter().any(|part| contains(&part.content, boundary.as_bytes())))
        .ok_or_else(|| unfit("no boundary was found that its parts do not have"))?;
    let mut out = Vec::new();
    parts.iter().for_each(|part| part.write(&boundary, &mut out));
    out.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    Ok((boundary, out))
}

/// What stands between the items of an array that is one part.
fn delimiter(field: &Field) -> Option<&'static str> {
    match field.format {
        Some(ParamFormat::Styled { style, explode: false, .. }) if !field.is_file => match style {
            Style::PipeDelimited => Some("|"),
            Style::SpaceDelimited => Some(" "),
            Style::DeepObject => None,
            _ => Some(","),
        },
        _ => None,
    }
}

/// An array as one part. Nothing is encoded in it, so that an item with the delimiter could not be told from two.
fn list(name: &str, delimiter: &str, value: &RawJson) -> Result<Option<Part>, CallError> {
    let Wire::List(items) = Wire::of(name, value)? else { return Ok(None) };
    if items.iter().any(|item| item.contains(delimiter)) {
        return Err(unfit(&format!("`{name}` must not have {delimiter:?} in its items: that divides them")));
    }
    let content = items.join(delimiter).into_bytes();
    Ok(Some(Part { name: name.to_owned(), filename: None, media_type: None, content }))
}

fn part(name: &str, field: Option<&Field>, value: &RawJson) -> Result<Option<Part>, CallError> {
    if value.kind() == JsonKind::Null {
        return Ok(None);
    }
    let declared = field.and_then(|field| field.media_type.as_deref()).and_then(concrete);
    if field.is_some_and(|field| field.is_file) {
        return file(name, declared, value).map(Some);
    }
    let is_text = !declared.as_deref().is_some_and(|it| it.contains("json"))
        && !matches!(value.kind(), JsonKind::Object | JsonKind::Array);
    let (content, fallback) = match text(value) {
        Some(text) if is_text => (text.into_bytes(), None),
        _ => (value.as_bytes().to_vec(), Some("application/json".to_owned())),
    };
    Ok(Some(Part { name: name.to_owned(), filename: None, media_type: declared.or(fallback), content }))
}

fn file(name: &str, declared: Option<String>, value: &RawJson) -> Result<Part, CallError> {
    let what = format!("the file `{name}`");
    let given = match value.kind() {
        JsonKind::Object => members(name, value)?,
        _ => RawObject::empty(),
    };
    let content = match given.get("data") {
        Some(data) => decoded(&what, &data)?,
        None => decoded(&what, value)?,
    };
    let media_type = given.get_text("mediaType");
    if let Some(wrong) = media_type.as_deref().filter(|media_type| !is_media_type(media_type)) {
        return Err(unfit(&format!("{what} has a media type of {} characters that is none", wrong.len())));
    }
    Ok(Part {
        name: name.to_owned(),
        filename: Some(given.get_text("filename").unwrap_or_else(|| name.to_owned())),
        media_type: Some(media_type.or(declared).unwrap_or_else(|| UNKNOWN.to_owned())),
        content,
    })
}

/// The media type, unless it is a range or several.
fn concrete(declared: &str) -> Option<String> {
    (is_media_type(declared) && !declared.contains(['*', ','])).then(|| declared.to_owned())
}

/// What may stand in a header: `type/subtype` and perhaps parameters, in visible ASCII and spaces.
fn is_media_type(text: &str) -> bool {
    text.len() <= 255 && text.contains('/') && text.bytes().all(|b| (b' '..=b'~').contains(&b))
}

impl Part {
    fn write(&self, boundary: &str, out: &mut Vec<u8>) {
        let mut head =
            format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{}\"", quoted(&self.name));
        if let Some(filename) = &self.filename {
            head.push_str(&format!("; filename=\"{}\"", quoted(filename)));
        }
        if let Some(media_type) = &self.media_type {
            head.push_str(&format!("\r\nContent-Type: {media_type}"));
        }
        out.extend_from_slice(head.as_bytes());
        out.extend_from_slice(b"\r\n\r\n");
        out.extend_from_slice(&self.content);
        out.extend_from_slice(b"\r\n");
    }
}

/// As browsers write names (HTML §4.10.21.8). Other control characters could end a line for somebody and are encoded as
/// well.
fn quoted(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '"' => out.push_str("%22"),
            c if c.is_ascii_control() => out.push_str(&format!("%{:02X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out
}

/// Not to be foreseen: the keys of the standard library's hasher are random.
fn boundary() -> String {
    let random = || RandomState::new().hash_one(());
    format!("gatewayd-{:016x}{:016x}", random(), random())
}

fn contains(content: &[u8], word: &[u8]) -> bool {
    content.windows(word.len()).any(|window| window == word)
}
