use gateway_domain::View;
use http::{HeaderValue, Method, Response, header};

use super::{Denied, JSON, is_get};
use crate::{body::ResponseBody, rescue::Refusal, rules::Rules};

/// How long clients and those between may keep the metadata.
const KEPT: HeaderValue = HeaderValue::from_static("public, max-age=3600");

/// What a protected resource says about itself (RFC 9728), to everybody. Whether the path leads anywhere is not
/// told.
pub(super) fn metadata(
    rules: &Rules,
    view: &View,
    method: &Method,
) -> Result<Response<ResponseBody>, Denied> {
    let Some(protected) = &rules.protected else { return Err(Refusal::NoSuchPath.into()) };
    if !is_get(method) {
        return Err(Refusal::MethodNotAllowed { allow: "GET, HEAD" }.into());
    }
    let mut response = Response::new(ResponseBody::whole(protected.document(view).to_vec().into()));
    response.headers_mut().insert(header::CONTENT_TYPE, JSON);
    response.headers_mut().insert(header::CACHE_CONTROL, KEPT);
    Ok(response)
}
