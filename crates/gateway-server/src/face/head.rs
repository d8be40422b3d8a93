//! What a request's head may be, besides what hyper makes sure of.

use http::{HeaderMap, Request, header};

use crate::rescue::Refusal;

/// ` HTTP/1.1` and a space, and the ends of the first line and of the head.
const LINE: usize = 14;
/// `: ` and the end of a line.
const FIELD: usize = 4;

/// The bytes of a head as they are commonly written.
pub(super) fn size<B>(request: &Request<B>) -> usize {
    let target = request.uri().path_and_query().map_or(0, |target| target.as_str().len());
    let fields = request.headers().iter();
    let fields = fields.map(|(name, value)| name.as_str().len() + value.len() + FIELD);
    LINE + request.method().as_str().len() + target + fields.sum::<usize>()
}

/// Whether a body is framed, and expects, as is done here. Of a length besides chunks hyper leaves no trace
/// but ends the connection.
///
/// # Errors
/// [`Refusal::Framing`], [`Refusal::Expectation`].
pub(super) fn check(headers: &HeaderMap) -> Result<(), Refusal> {
    let mut encodings = headers.get_all(header::TRANSFER_ENCODING).iter();
    match (encodings.next(), encodings.next()) {
        (None, _) => {}
        (Some(encoding), None) if encoding.as_bytes().eq_ignore_ascii_case(b"chunked") => {}
        (Some(_), _) => return Err(Refusal::Framing),
    }
    let mut expectations = headers.get_all(header::EXPECT).iter();
    if expectations.all(|expected| expected.as_bytes().eq_ignore_ascii_case(b"100-continue")) {
        Ok(())
    } else {
        Err(Refusal::Expectation)
    }
}
