//! Headers that repeat parts of the body.

use gateway_domain::{RawJson, RawObject};
use gateway_protocol::{
    headers::{self, Field},
    param_headers,
};

/// Reading never panics; every text survives a header, and a text that was read agrees with its header.
pub(crate) fn values(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        survives(text);
    }
    let field = Field::Once(data);
    match headers::decode(data) {
        Some(text) => {
            survives(&text);
            assert_eq!(headers::check("X", field, &text), Ok(()));
            let other = format!("{text}.");
            assert!(headers::check("X", field, &other).is_err(), "a header says one thing only");
        }
        None => assert!(headers::check("X", field, "").is_err()),
    }
}

fn survives(text: &str) {
    let written = headers::encode(text);
    assert!(written.bytes().all(|byte| (0x20..=0x7e).contains(&byte)), "{written:?} is no header");
    assert_eq!(headers::decode(written.as_bytes()).as_deref(), Some(text));
    assert!(written == text || written.starts_with("=?base64?"));
}

/// Mirrored arguments have distinct names and lead to their annotation, and the headers that a call gets
/// agree with its arguments.
///
/// The input is the schema, then on lines of their own arguments.
pub(crate) fn arguments(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut lines = text.lines();
    let Ok(schema) = RawJson::parse(lines.next().unwrap_or_default().to_owned()) else { return };
    let found = match param_headers::find(&schema) {
        Ok(found) => found,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    for (at, header) in found.iter().enumerate() {
        assert!(!found[..at].iter().any(|other| other.name.eq_ignore_ascii_case(&header.name)));
        let annotated = header.path.iter().try_fold(schema.clone(), |schema, name| {
            RawObject::try_from(schema).ok()?.get_object("properties")?.get(name)
        });
        let annotation =
            annotated.and_then(|schema| RawObject::try_from(schema).ok()?.get_text("x-mcp-header"));
        assert_eq!(annotation.as_deref(), Some(&*header.name));
    }
    for line in lines {
        let Ok(arguments) = RawObject::parse(line.to_owned()) else { continue };
        let written = headers::params(&found, Some(&arguments));
        // An argument of another type than the schema's has no header, and no header agrees with it.
        let mirrored: Vec<_> = found
            .iter()
            .filter(|header| written.iter().any(|(name, _)| *name == format!("Mcp-Param-{}", header.name)))
            .cloned()
            .collect();
        assert_eq!(mirrored.len(), written.len());
        let field = |name: &str| match written.iter().find(|(written, _)| written.eq_ignore_ascii_case(name))
        {
            Some((_, value)) => Field::Once(value.as_bytes()),
            None => Field::Absent,
        };
        assert_eq!(headers::check_params(&mirrored, Some(&arguments), field), Ok(()));
        if !mirrored.is_empty() {
            assert!(headers::check_params(&mirrored, Some(&arguments), |_| Field::Absent).is_err());
            assert!(headers::check_params(&mirrored, None, field).is_err());
        }
    }
}
