mod bodies;
mod heads;
mod laws;
mod places;
mod styles;

use std::collections::BTreeMap;

use bytes::Bytes;
use gateway_domain::{RawJson, RawObject};

use super::{BaseUrl, build};
use crate::{
    engine::{CallError, Extras, Inputs, Reserved},
    ir::{Body, BodyFormat, Location, Method, Operation, Param, ParamFormat, Style},
};

fn raw(text: &str) -> RawJson {
    RawJson::parse(text.to_owned()).unwrap()
}

fn object(members: &[(&str, &str)]) -> RawObject {
    let members: Vec<_> =
        members.iter().map(|(name, value)| format!("{}:{value}", RawJson::string(name))).collect();
    RawObject::parse(format!("{{{}}}", members.join(","))).unwrap()
}

fn styled(style: Style, explode: bool) -> ParamFormat {
    ParamFormat::Styled { style, explode, allow_reserved: false }
}

fn content(media_type: &str) -> ParamFormat {
    ParamFormat::Content { media_type: media_type.into() }
}

/// One of a format, optional but in the path.
fn param(name: &str, location: Location, format: ParamFormat) -> Param {
    Param { format, ..Param::new(name, location) }
}

fn operation(path: &str, params: Vec<Param>) -> Operation {
    Operation { params, ..Operation::new("id", Method::Post, path) }
}

fn sending(media_type: &str, format: BodyFormat) -> Operation {
    let body = Body { media_type: media_type.into(), format, ..Body::json(None) };
    Operation { body: Some(body), ..operation("/", vec![]) }
}

fn inputs(operation: &Operation) -> Inputs {
    Inputs::new(operation, &Reserved::default(), &BTreeMap::new(), 32 * 1024)
}

fn request(
    operation: &Operation,
    arguments: &RawObject,
    extras: &Extras,
) -> Result<http::Request<Bytes>, CallError> {
    let base = BaseUrl::parse("http://api.test/v1/").unwrap();
    build(&base, operation, &inputs(operation), arguments, extras, &[])
}

/// What one argument becomes, `color` at its place: what follows the prefix in the path, the query, the header or the
/// cookies, or why not.
fn sent(param: Param, value: &str) -> String {
    let location = param.location;
    let operation = operation(if location == Location::Path { "/{color}" } else { "/" }, vec![param]);
    let request = match request(&operation, &object(&[("color", value)]), &Extras::default()) {
        Ok(request) => request,
        Err(error) => return format!("refused: {error}"),
    };
    let header = |name: &str| {
        let value = request.headers().get(name).map(|value| value.as_bytes().to_vec());
        value.map_or_else(|| "nothing".into(), |value| String::from_utf8(value).unwrap())
    };
    match location {
        Location::Path => request.uri().path().strip_prefix("/v1/").unwrap().to_owned(),
        Location::Query | Location::QueryString => request.uri().query().unwrap_or("nothing").to_owned(),
        Location::Header => header("color"),
        Location::Cookie => header("cookie"),
    }
}
