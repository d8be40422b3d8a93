use crate::{Request, code, method, write};

/// The answer to a request of a legacy server's, which must not be left to wait: it may ask for a sign of
/// life, and as no capabilities are declared to it ([`OpeningConfig`](super::OpeningConfig)), for nothing
/// else. Modern servers ask in results.
pub fn answer_server(request: &Request) -> Vec<u8> {
    if request.method == method::PING {
        return write::result(&request.id, b"{}");
    }
    let error = write::error_object(code::METHOD_NOT_FOUND, "not supported by this client", None);
    write::error(Some(&request.id), error.as_bytes())
}

#[cfg(test)]
mod tests {
    use crate::Message;

    use super::*;

    #[test]
    fn a_ping_is_answered_and_all_else_refused() {
        for (method, answer) in [
            ("ping", r#"{"jsonrpc":"2.0","id":"p","result":{}}"#),
            (
                "roots/list",
                r#"{"jsonrpc":"2.0","id":"p","error":{"code":-32601,"message":"not supported by this client"}}"#,
            ),
        ] {
            let text = format!(r#"{{"jsonrpc":"2.0","id":"p","method":"{method}"}}"#);
            let Message::Request(request) = Message::parse(text.into()).unwrap() else { unreachable!() };
            assert_eq!(String::from_utf8(answer_server(&request)).unwrap(), answer);
        }
    }
}
