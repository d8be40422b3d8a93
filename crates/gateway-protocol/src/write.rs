//! Messages as bytes. Every message is one line without a line break at its end.

use gateway_domain::RawJson;

use crate::RequestId;

/// A request; `params` is a JSON object.
pub fn request(id: &RequestId, method: &str, params: &[u8]) -> Vec<u8> {
    request_with(id, method, params.len(), |out| out.extend_from_slice(params))
}

/// A request whose `params`, a JSON object of about `size` bytes, `write` appends in place.
pub fn request_with(id: &RequestId, method: &str, size: usize, write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    // With room for a line end.
    let mut out = Vec::with_capacity(size + method.len() + id.as_str().len() + 48);
    out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    out.extend_from_slice(id.as_str().as_bytes());
    method_and_params(&mut out, method, write);
    out
}

/// A notification; `params` is a JSON object.
pub fn notification(method: &str, params: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(params.len() + method.len() + 48);
    out.extend_from_slice(br#"{"jsonrpc":"2.0""#);
    method_and_params(&mut out, method, |out| out.extend_from_slice(params));
    out
}

fn method_and_params(out: &mut Vec<u8>, method: &str, write: impl FnOnce(&mut Vec<u8>)) {
    out.extend_from_slice(br#","method":"#);
    out.extend_from_slice(RawJson::string(method).as_bytes());
    out.extend_from_slice(br#","params":"#);
    write(out);
    out.push(b'}');
}

/// What stands in front of a result object: `{"jsonrpc":"2.0","id":ID,"result":`. A `}` closes it.
pub fn result_head(id: &RequestId) -> Vec<u8> {
    let mut out = Vec::with_capacity(64 + id.as_str().len());
    out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    out.extend_from_slice(id.as_str().as_bytes());
    out.extend_from_slice(br#","result":"#);
    out
}

/// A response with a result object.
pub fn result(id: &RequestId, object: &[u8]) -> Vec<u8> {
    let mut out = result_head(id);
    out.reserve(object.len() + 1);
    out.extend_from_slice(object);
    out.push(b'}');
    out
}

/// A response with an error object. Without an id the request could not be read; then the member is
/// left out, as 2025-11-25 and later have it.
pub fn error(id: Option<&RequestId>, object: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(object.len() + 64);
    out.extend_from_slice(br#"{"jsonrpc":"2.0","#);
    if let Some(id) = id {
        out.extend_from_slice(br#""id":"#);
        out.extend_from_slice(id.as_str().as_bytes());
        out.push(b',');
    }
    out.extend_from_slice(br#""error":"#);
    out.extend_from_slice(object);
    out.push(b'}');
    out
}

/// An error object; `data` is JSON.
pub fn error_object(code: i64, message: &str, data: Option<&str>) -> String {
    let message = RawJson::string(message);
    match data {
        Some(data) => format!(r#"{{"code":{code},"message":{message},"data":{data}}}"#),
        None => format!(r#"{{"code":{code},"message":{message}}}"#),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_single_lines_of_json_rpc() {
        let id = RequestId::from(7);
        for (written, expected) in [
            (request(&id, "m", b"{}"), r#"{"jsonrpc":"2.0","id":7,"method":"m","params":{}}"#),
            (notification("n", b"{}"), r#"{"jsonrpc":"2.0","method":"n","params":{}}"#),
            (result(&id, b"{}"), r#"{"jsonrpc":"2.0","id":7,"result":{}}"#),
            (
                error(None, error_object(-1, "a\nb", None).as_bytes()),
                r#"{"jsonrpc":"2.0","error":{"code":-1,"message":"a\nb"}}"#,
            ),
        ] {
            assert_eq!(String::from_utf8(written).unwrap(), expected);
        }
    }
}
