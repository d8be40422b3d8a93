use gateway_domain::RawJson;

use super::unfit;
use crate::{
    engine::{
        CallError,
        request::{
            query::{self, Member},
            value::members,
        },
    },
    ir::{Field, ParamFormat},
};

/// An object as `application/x-www-form-urlencoded`, in the order of its members. A space is `%20`, which every reader
/// of forms takes.
pub(super) fn write(fields: &[Field], value: &RawJson) -> Result<String, CallError> {
    let object = members("body", value).map_err(|_| unfit("it must be an object"))?;
    let mut written = Vec::new();
    for (name, value) in object.iter() {
        let field = fields.iter().find(|field| field.name == name);
        written.extend(member(&name, field, &value)?.into_iter().map(|member| member.text));
    }
    Ok(written.join("&"))
}

/// A style goes before a media type; OpenAPI lets a source have one of the two.
fn member(name: &str, field: Option<&Field>, value: &RawJson) -> Result<Vec<Member>, CallError> {
    match field.and_then(|field| Some((field.format.clone(), field.media_type.clone()?))) {
        Some((None, media_type)) if media_type.contains("json") => {
            query::named(name, &ParamFormat::Content { media_type }, value)
        }
        _ => match field.and_then(|field| field.format.as_ref()) {
            Some(format) => query::named(name, format, value),
            None => query::field(name, value),
        },
    }
}
