//! The body of an operation, in the one media type that it is sent in.

use std::borrow::Cow;

use gateway_domain::RawJson;

use super::{Inputs, Reader, forms};
use crate::{
    ir::{Body, BodyFormat},
    source::openapi::{
        fault::Fault,
        library::{Item, Node},
        media::{self, Content},
        object::{flag, object},
        schema::{Shape, properties},
    },
};

/// One of the media types that a body may have.
#[derive(Debug)]
pub(super) struct Offer {
    media_type: String,
    pub(super) entry: Item,
    pub(super) schema: Option<Node>,
    way: Way,
}

/// In the order of preference: what says most of its parts first. A form that has files is sent as multipart if it may
/// be, for files cannot be sent otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    Json,
    OtherJson,
    MultipartWithFiles,
    Form,
    Multipart,
    Text,
    Binary,
}

/// The most media types that are looked at.
const MOST_OFFERS: usize = 64;

impl Reader<'_> {
    pub(super) fn body(&mut self, operation: &Item, inputs: &mut Inputs) -> Result<Option<Body>, Fault> {
        let Some(node) = operation.get("requestBody") else { return Ok(None) };
        let within = |fault: Fault| fault.within("the body");
        let item = self.resolver.item(&node).map_err(within)?;
        let required = flag(item.object(), "required");
        let Some(offer) = self.choice(&item).map_err(within)? else { return Ok(None) };
        let description = self.described(&item);
        let fields =
            |is_multipart| forms::fields(&offer, is_multipart, self.resolver, self.version).map_err(within);
        let format = match offer.way {
            Way::Json | Way::OtherJson => BodyFormat::Json,
            Way::Form => BodyFormat::Form(fields(false)?),
            Way::Multipart | Way::MultipartWithFiles => BodyFormat::Multipart(fields(true)?),
            Way::Text => BodyFormat::Text,
            Way::Binary => BodyFormat::Binary,
        };
        let schema = self.body_schema(&offer, inputs);
        let schema = schema.map(|schema| forms::with_files(schema, &format, &offer, self));
        let media_type = sent_as(&offer);
        Ok(Some(Body { required, description, media_type, schema, format }))
    }

    /// The best of the media types that are offered; of equal ones the first.
    fn choice(&self, body: &Item) -> Result<Option<Offer>, Fault> {
        let Some(content) = body.get("content") else { return Ok(None) };
        let members = object(&content.value).ok_or_else(|| Fault::new("its content is not an object"))?;
        let mut best: Option<Offer> = None;
        for (media_type, entry) in members.iter().take(MOST_OFFERS) {
            let Some(offer) = self.offer(media_type, &content.with(entry))? else { continue };
            if best.as_ref().is_none_or(|best| offer.way < best.way) {
                best = Some(offer);
            }
        }
        if best.is_none() && !members.is_empty() {
            let names: Vec<_> = members.iter().take(3).map(|(name, _)| format!("{name:?}")).collect();
            return Err(Fault::new(format!("nothing is known of how to write it as {}", names.join(", "))));
        }
        Ok(best)
    }

    fn offer(&self, media_type: Cow<'_, str>, entry: &Node) -> Result<Option<Offer>, Fault> {
        let entry = self.resolver.item(entry)?;
        let schema = entry.get("schema");
        let shape = schema.as_ref().map(|schema| Shape::of(schema, self.resolver, self.version));
        let way = match media::content(&media_type) {
            Content::Json if media::essence(&media_type) == "application/json" => Way::Json,
            Content::Json => Way::OtherJson,
            Content::Form => Way::Form,
            Content::Multipart if schema.as_ref().is_some_and(|s| self.has_files(s)) => {
                Way::MultipartWithFiles
            }
            Content::Multipart => Way::Multipart,
            Content::Text => Way::Text,
            Content::Binary => Way::Binary,
            Content::Any => match shape {
                Some(Shape::File | Shape::Text) | None => Way::Binary,
                Some(Shape::Object | Shape::Array | Shape::Other) => Way::OtherJson,
            },
            Content::Unknown => match shape {
                Some(Shape::File) | None => Way::Binary,
                Some(Shape::Text | Shape::Other) if !media_type.starts_with("multipart/") => Way::Text,
                _ => return Ok(None),
            },
        };
        Ok(Some(Offer { media_type: media_type.into_owned(), entry, schema, way }))
    }

    fn has_files(&self, schema: &Node) -> bool {
        properties(schema, self.resolver)
            .iter()
            .any(|(_, node)| Shape::of(node, self.resolver, self.version) == Shape::File)
    }

    /// The schema of the argument, which for bytes and for texts of any structure is a string.
    fn body_schema(&mut self, offer: &Offer, inputs: &mut Inputs) -> Option<RawJson> {
        let shape = offer.schema.as_ref().map(|schema| Shape::of(schema, self.resolver, self.version));
        match (offer.way, shape) {
            (Way::Binary, _) => string(&offer.media_type, true),
            (Way::Text, shape) if shape != Some(Shape::Text) => string(&offer.media_type, false),
            _ => {
                let converted = self.schemas.convert(offer.schema.as_ref()?);
                let schema = converted.schema.clone();
                inputs.add("the body".into(), converted);
                Some(schema)
            }
        }
    }
}

fn string(media_type: &str, is_binary: bool) -> Option<RawJson> {
    let encoding = if is_binary { r#","contentEncoding":"base64""# } else { "" };
    let kind = match media::is_range(media_type) {
        true => String::new(),
        false => format!(r#","contentMediaType":{}"#, RawJson::string(media_type)),
    };
    RawJson::parse(format!(r#"{{"type":"string"{encoding}{kind}}}"#)).ok()
}

/// The media type; of a range one that fits what is sent.
fn sent_as(offer: &Offer) -> String {
    match offer.way {
        _ if !media::is_range(&offer.media_type) => offer.media_type.clone(),
        Way::Text => "text/plain".into(),
        Way::Binary => "application/octet-stream".into(),
        _ => "application/json".into(),
    }
}
