//! Bodies out of arguments (E-20, E-W7).

mod form;
mod multipart;

use base64::{
    Engine as _,
    alphabet::{STANDARD, URL_SAFE},
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use bytes::Bytes;
use gateway_domain::{JsonKind, RawJson};
use http::HeaderValue;

use super::value::text;
use crate::{
    engine::CallError,
    ir::{Body, BodyFormat},
};

const LENIENT: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);

/// What is sent and its `Content-Type`; `None` if it is `null` where that cannot be said.
///
/// # Errors
/// [`CallError::Encoding`]: it cannot be written in this format.
pub(super) fn write(body: &Body, value: &RawJson) -> Result<Option<(HeaderValue, Bytes)>, CallError> {
    if value.kind() == JsonKind::Null && body.format != BodyFormat::Json {
        return Ok(None);
    }
    let media_type = body.media_type.as_str();
    let (media_type, bytes) = match &body.format {
        BodyFormat::Json => (media_type.to_owned(), value.clone().into_bytes()),
        BodyFormat::Form(fields) => (media_type.to_owned(), form::write(fields, value)?.into()),
        BodyFormat::Multipart(fields) => {
            let (boundary, bytes) = multipart::write(fields, value)?;
            (format!("{media_type}; boundary={boundary}"), bytes.into())
        }
        BodyFormat::Text => (media_type.to_owned(), plain(value)?.into()),
        BodyFormat::Binary => (media_type.to_owned(), decoded("the body", value)?.into()),
    };
    let content_type = HeaderValue::try_from(media_type).map_err(|_| unfit("its media type is none"))?;
    Ok(Some((content_type, bytes)))
}

fn plain(value: &RawJson) -> Result<String, CallError> {
    match value.kind() {
        JsonKind::Object | JsonKind::Array => Err(unfit("it must be a string")),
        _ => Ok(text(value).unwrap_or_default()),
    }
}

/// The bytes of a string in base64, of either alphabet, padded or not.
fn decoded(what: &str, value: &RawJson) -> Result<Vec<u8>, CallError> {
    let wrong = || unfit(&format!("{what} must be a string in base64"));
    let text = value.to_text().ok_or_else(wrong)?;
    let alphabet = if text.contains(['-', '_']) { URL_SAFE } else { STANDARD };
    GeneralPurpose::new(&alphabet, LENIENT).decode(text.as_bytes()).map_err(|_| wrong())
}

fn unfit(reason: &str) -> CallError {
    CallError::Encoding { reason: reason.to_owned() }
}
