//! How the members of a form are written (OpenAPI 3.1 §4.8.15).

use gateway_domain::{RawJson, RawObject};

use super::{Reader, bodies::Offer};
use crate::{
    ir::{BodyFormat, Field, Location, ParamFormat, Style},
    source::openapi::{
        document::Version,
        fault::Fault,
        library::{Node, Resolver},
        media::{self, Content},
        object::object,
        schema::{Shape, properties},
    },
};

/// The members that are not written in the default way.
pub(super) fn fields(
    offer: &Offer,
    is_multipart: bool,
    resolver: &Resolver<'_>,
    version: Version,
) -> Result<Vec<Field>, Fault> {
    let Some(schema) = &offer.schema else { return Ok(Vec::new()) };
    let encodings = offer.entry.get("encoding");
    let encodings = encodings.as_ref().and_then(|encodings| object(&encodings.value));
    let mut fields = Vec::new();
    for (name, node) in properties(schema, resolver) {
        let encoding = encodings.as_ref().and_then(|encodings| object(&encodings.get(&name)?));
        let within = |fault: Fault| fault.within(format_args!("its member {name:?}"));
        let given = encoding.as_ref().and_then(|encoding| encoding.get_text("contentType"));
        let media_type = given.or_else(|| own_media_type(&node, resolver)).and_then(|list| single(&list));
        let field = Field {
            is_file: is_multipart && is_file(&node, media_type.as_deref(), resolver, version),
            format: encoding.as_ref().map(style).transpose().map_err(within)?.flatten(),
            media_type: media_type.filter(|media_type| !media::is_range(media_type)),
            name,
        };
        if field.is_file || field.format.is_some() || field.media_type.is_some() {
            fields.push(field);
        }
    }
    Ok(fields)
}

/// The schema of a form, which says of files that only their media type shows that they are base64.
pub(super) fn with_files(
    schema: RawJson,
    format: &BodyFormat,
    offer: &Offer,
    reader: &Reader<'_>,
) -> RawJson {
    let (BodyFormat::Multipart(fields), Some(node)) = (format, &offer.schema) else { return schema };
    let shapes = properties(node, reader.resolver);
    let is_told = |name: &str| {
        let node = shapes.iter().find(|(known, _)| known == name).map(|(_, node)| node);
        node.is_some_and(|node| Shape::of(node, reader.resolver, reader.version) == Shape::File)
    };
    let untold = fields.iter().filter(|field| field.is_file && !is_told(&field.name));
    let members: Vec<_> = untold
        .map(|field| format!(r#"{}:{{"contentEncoding":"base64"}}"#, RawJson::string(&field.name)))
        .collect();
    if members.is_empty() {
        return schema;
    }
    let both = format!(r#"{{"allOf":[{schema},{{"properties":{{{}}}}}]}}"#, members.join(","));
    RawJson::parse(both).unwrap_or(schema)
}

/// The first of a list of media types.
fn single(list: &str) -> Option<String> {
    let first = list.split(',').next().unwrap_or_default().trim();
    (!first.is_empty() && first.len() <= MOST_BYTES).then(|| first.to_owned())
}

const MOST_BYTES: usize = 256;

/// What a schema of 3.1 says of its content.
fn own_media_type(node: &Node, resolver: &Resolver<'_>) -> Option<String> {
    let item = resolver.item(node).ok()?;
    (!item.object().contains("contentEncoding")).then(|| item.object().get_text("contentMediaType"))?
}

/// In 3.1 a file need not have a schema at all: its media type is enough.
fn is_file(node: &Node, media_type: Option<&str>, resolver: &Resolver<'_>, version: Version) -> bool {
    let is_binary = || media_type.is_some_and(|media_type| media::content(media_type) == Content::Binary);
    match Shape::of(node, resolver, version) {
        Shape::File => true,
        Shape::Text | Shape::Other => is_binary() && !is_encoded(node, resolver),
        Shape::Object | Shape::Array => false,
    }
}

fn is_encoded(node: &Node, resolver: &Resolver<'_>) -> bool {
    resolver.item(node).is_ok_and(|item| item.object().contains("contentEncoding"))
}

fn style(encoding: &RawObject) -> Result<Option<ParamFormat>, Fault> {
    let truth = |name| encoding.get(name).and_then(|value| value.to_bool());
    if !["style", "explode", "allowReserved"].iter().any(|name| encoding.contains(name)) {
        return Ok(None);
    }
    let style = match encoding.get_text("style") {
        None => Style::Form,
        Some(name) => Style::parse(&name).filter(|style| style.fits(Location::Query)).ok_or_else(|| {
            let shown: String = name.chars().take(40).collect();
            Fault::new(format!("the style {shown:?} is none for a member of a form"))
        })?,
    };
    Ok(Some(ParamFormat::Styled {
        style,
        explode: truth("explode").unwrap_or(style == Style::Form),
        allow_reserved: truth("allowReserved").unwrap_or_default(),
    }))
}
