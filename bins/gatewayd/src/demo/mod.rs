//! What the demonstration has behind the gateway: a built-in MCP server over stdio with both eras, and a [`library`]
//! behind an HTTP API.
//!
//! **For**: trying the gateway on a machine that has nothing else installed (design §11).
//!
//! **Must not know**: the gateway. They are an ordinary server and an ordinary API that happen to be in the same
//! program.

pub(crate) mod library;
mod tools;

use std::io::{self, BufRead, Write};

use bytes::Bytes;
use gateway_domain::{Era, RawJson};
use gateway_protocol::{
    Implementation, Message, Request, RequestId, Revision, code, era, meta, method, write,
};

/// The longest line that is read.
const LINE_LIMIT: u64 = 1 << 20;

/// Serves `input` until it ends.
pub(crate) fn serve(mut input: impl BufRead, mut output: impl Write) -> io::Result<()> {
    let server =
        Demo { identity: Implementation::new("demo", "gatewayd demonstration", env!("CARGO_PKG_VERSION")) };
    let mut line = Vec::new();
    while io::Read::take(&mut input, LINE_LIMIT).read_until(b'\n', &mut line)? > 0 {
        if let Some(mut answer) = server.answer(Bytes::from(std::mem::take(&mut line))) {
            answer.push(b'\n');
            output.write_all(&answer)?;
            output.flush()?;
        }
    }
    Ok(())
}

struct Demo {
    identity: Implementation,
}

impl Demo {
    fn answer(&self, line: Bytes) -> Option<Vec<u8>> {
        match Message::parse(line) {
            Ok(Message::Request(request)) => Some(self.request(&request)),
            Ok(Message::Notification(_) | Message::Response(_)) => None,
            Err(error) => Some(failure(error.id.as_ref(), code::PARSE_ERROR, &error.to_string())),
        }
    }

    fn request(&self, request: &Request) -> Vec<u8> {
        let modern = era::envelope_version(request.params.meta.as_ref());
        if let Some(version) =
            modern.as_deref().filter(|version| *version != Revision::NEWEST_MODERN.as_str())
        {
            let (spoken, asked) = (Revision::NEWEST_MODERN, RawJson::string(version));
            let data = format!(r#"{{"supported":["{spoken}"],"requested":{asked}}}"#);
            let error =
                write::error_object(code::UNSUPPORTED_VERSION, "unsupported protocol version", Some(&data));
            return write::error(Some(&request.id), error.as_bytes());
        }
        let era = if modern.is_some() { Era::Modern } else { Era::Legacy };
        match (request.method.as_str(), era) {
            (method::DISCOVER, Era::Modern) => {
                let version = Revision::NEWEST_MODERN;
                let members = format!(r#""supportedVersions":["{version}"],"capabilities":{{"tools":{{}}}}"#);
                self.result(&request.id, era, &format!("{members},{CACHE}"))
            }
            (method::INITIALIZE, Era::Legacy) => self.initialize(request),
            (method::PING, Era::Legacy) => write::result(&request.id, b"{}"),
            (method::TOOLS_LIST, Era::Modern) => {
                self.result(&request.id, era, &format!(r#""tools":{},{CACHE}"#, tools::DEFINITIONS))
            }
            (method::TOOLS_LIST, Era::Legacy) => {
                self.result(&request.id, era, &format!(r#""tools":{}"#, tools::DEFINITIONS))
            }
            (method::TOOLS_CALL, _) => match tools::call(&request.params.object) {
                Ok(members) => self.result(&request.id, era, &members),
                Err(reason) => failure(Some(&request.id), code::INVALID_PARAMS, &reason),
            },
            _ => failure(Some(&request.id), code::METHOD_NOT_FOUND, "no such method"),
        }
    }

    fn initialize(&self, request: &Request) -> Vec<u8> {
        let asked = request.params.object.get_text("protocolVersion").unwrap_or_default();
        let (version, identity) = (Revision::negotiate(&asked), self.identity.as_str());
        let capabilities = r#"{"tools":{}}"#;
        let members =
            format!(r#""protocolVersion":"{version}","capabilities":{capabilities},"serverInfo":{identity}"#);
        self.result(&request.id, Era::Legacy, &members)
    }

    fn result(&self, id: &RequestId, era: Era, members: &str) -> Vec<u8> {
        let result = match era {
            Era::Legacy => format!("{{{members}}}"),
            Era::Modern => {
                let (key, identity) = (meta::SERVER_INFO, self.identity.as_str());
                format!(r#"{{"resultType":"complete",{members},"_meta":{{"{key}":{identity}}}}}"#)
            }
        };
        write::result(id, result.as_bytes())
    }
}

/// The tools never change while the process lives.
const CACHE: &str = r#""ttlMs":3600000,"cacheScope":"public""#;

fn failure(id: Option<&RequestId>, code: i64, message: &str) -> Vec<u8> {
    write::error(id, write::error_object(code, message, None).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: &str) {
        let mut output = Vec::new();
        serve(format!("{line}\n").as_bytes(), &mut output).unwrap();
        let output = String::from_utf8(output).unwrap();
        assert!(output.contains(expected), "{line} gave {output}");
        assert_eq!(output.matches('\n').count(), usize::from(!expected.is_empty()), "{output}");
    }

    fn call(name: &str, arguments: &str) -> String {
        format!(
            r#"{{"jsonrpc":"2.0","id":"1","method":"tools/call","params":{{"name":"{name}","arguments":{arguments}}}}}"#
        )
    }

    #[test]
    fn both_eras_are_served() {
        check(
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2026-07-28"}}"#,
            r#""protocolVersion":"2025-11-25""#,
        );
        check(r#"{"jsonrpc":"2.0","id":1,"method":"server/discover"}"#, "-32601");
        check(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, "");
        let modern = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
        let discover =
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{{{modern}}}}}"#);
        check(&discover, r#""supportedVersions":["2026-07-28"]"#);
        check(&discover.replace("2026", "2027"), "-32022");
        check(&discover.replace("server/discover", "tools/list"), r#""resultType":"complete""#);
        check("nonsense", "-32700");
    }

    #[test]
    fn tools_do_what_they_say() {
        check(&call("echo", r#"{"text":"a\"b"}"#), r#""text":"a\"b""#);
        check(&call("add", r#"{"a":1,"b":2}"#), r#""structuredContent":{"sum":3}"#);
        check(&call("add", r#"{"a":0.1,"b":0.2}"#), r#"{"sum":0.30000000000000004}"#);
        check(&call("add", r#"{"a":"x","b":2}"#), r#""isError":true"#);
        check(&call("now", "{}"), r#""structuredContent":{"unixSeconds":"#);
        check(&call("rm", "{}"), "-32602");
    }

    #[test]
    fn the_definitions_are_tools() {
        let tools = RawJson::parse(tools::DEFINITIONS).unwrap().elements(10).unwrap();
        assert_eq!(tools.len(), 3);
    }
}
