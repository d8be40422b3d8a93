use gateway_domain::{ParamHeader, Params, Subject};
use gateway_protocol::{
    headers::{self, NAME},
    method,
};
use http::{HeaderMap, HeaderName, HeaderValue};

/// Repeats what is called and the annotated arguments in headers (protocol.md §5.2).
pub(crate) fn mirror(headers: &mut HeaderMap, subject: &Subject, params: &Params) {
    let unknown;
    let (named, mirrored): (&str, &[ParamHeader]) = match subject {
        Subject::Tool { name, headers, .. } => (name, headers),
        Subject::Prompt { name } => (name, &[]),
        Subject::Resource { uri } => (uri, &[]),
        Subject::Task { id, .. } => (id, &[]),
        Subject::Completion(_) => return,
        Subject::Other { method } => {
            let member = method::named_by(method).and_then(|member| params.object.get_text(member));
            let Some(text) = member else { return };
            unknown = text;
            (&unknown, &[])
        }
    };
    // What `encode` writes is printable ASCII, which every header value may hold.
    if let Ok(value) = HeaderValue::from_str(&headers::encode(named)) {
        headers.insert(NAME, value);
    }
    if mirrored.is_empty() {
        return;
    }
    let arguments = params.object.get_object("arguments");
    for (name, value) in headers::params(mirrored, arguments.as_ref()) {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            headers.insert(name, value);
        }
    }
}
