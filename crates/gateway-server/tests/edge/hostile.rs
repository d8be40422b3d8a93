//! Bodies that are no requests, or almost (T13): each has one answer, nobody behind the edge hears of it, and the next
//! request is answered as ever.

use std::time::Duration;

use gateway_testkit::client::raw_until;

use crate::support::{MODERN, Served, envelope, start};

const NOT_JSON: (u16, i64) = (400, -32700);
const NOT_A_MESSAGE: (u16, i64) = (400, -32600);
const MISMATCH: (u16, i64) = (400, -32020);
const INVALID: (u16, i64) = (400, -32602);
const GOOD: (u16, i64) = (200, 0);

/// A body, and what it is answered with.
type Row = (Vec<u8>, (u16, i64));

const NAME: &str = "files__echo";

/// A good request in parts: what stands between them can be anything that may stand between tokens.
fn tokens() -> Vec<String> {
    let meta = envelope(MODERN);
    let text = format!(
        r#"{{|"jsonrpc"|:|"2.0"|,|"id"|:|1|,|"method"|:|"tools/call"|,|"params"|:|{{|"name"|:|"{NAME}"|,|"arguments"|:|{{|"a"|:|[|1|,|"x"|]|}}|,|{meta}|}}|}}"#
    );
    text.split('|').map(str::to_owned).collect()
}

fn good() -> String {
    tokens().concat()
}

/// The good request with one text in it replaced, which must be there.
fn with(from: &str, to: &str) -> Vec<u8> {
    let good = good();
    assert_eq!(good.matches(from).count(), 1, "{from}");
    good.replace(from, to).into_bytes()
}

/// Bytes that are nothing where a token may begin.
fn strange_bytes() -> Vec<Row> {
    let tokens = tokens();
    let strange: [&[u8]; 9] =
        [b"\0", b"\x01", b"\x0b", b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\xc2\xa0", b"'"];
    let mut rows = Vec::new();
    for at in 0..=tokens.len() {
        for bytes in strange {
            let mut body = tokens[..at].concat().into_bytes();
            body.extend_from_slice(bytes);
            body.extend(tokens[at..].concat().bytes());
            rows.push((body, NOT_JSON));
        }
        let mut spaced = tokens.clone();
        spaced.insert(at, "\r\n\t ".to_owned());
        rows.push((spaced.concat().into_bytes(), GOOD));
    }
    rows
}

/// What broke off, at every place.
fn prefixes() -> Vec<Row> {
    let good = good();
    (0..good.len()).map(|end| (good.as_bytes()[..end].to_vec(), NOT_JSON)).collect()
}

/// One token left out or said twice.
fn missing_and_doubled() -> Vec<Row> {
    let tokens = tokens();
    let mut rows = Vec::new();
    for at in 0..tokens.len() {
        let mut missing = tokens.clone();
        missing.remove(at);
        let mut doubled = tokens.clone();
        doubled.insert(at, tokens[at].clone());
        // The only token whose place may be empty is the one element that the array can do without, and that
        // is two tokens; an object within an object needs a name.
        for body in [missing.concat(), doubled.concat()] {
            rows.push((body.into_bytes(), NOT_JSON));
        }
    }
    rows
}

/// Values of each kind.
const VALUES: [&str; 12] =
    ["null", "true", "false", "7", "-1", "7.5", "1e999", "\"\"", "\"x\"", "[]", "[1]", "{}"];

/// Each member with values of each kind; `fits` says which of them get further, and how far.
fn wrong_types() -> Vec<Row> {
    let mut rows = Vec::new();
    let version = format!(r#""io.modelcontextprotocol/protocolVersion":"{MODERN}""#);
    let capabilities = r#""io.modelcontextprotocol/clientCapabilities":{}"#;
    let meta = envelope(MODERN);
    for value in VALUES {
        let is_text = value.starts_with('"');
        let is_object = value == "{}";
        let is_integer = ["7", "-1"].contains(&value);
        let pick = |fits: bool, then, or| if fits { then } else { or };
        for (from, to, answer) in [
            (r#""jsonrpc":"2.0""#.to_owned(), format!(r#""jsonrpc":{value}"#), NOT_A_MESSAGE),
            (
                r#""id":1"#.to_owned(),
                format!(r#""id":{value}"#),
                pick(is_text || is_integer, GOOD, NOT_A_MESSAGE),
            ),
            (
                r#""method":"tools/call""#.to_owned(),
                format!(r#""method":{value}"#),
                pick(is_text, MISMATCH, NOT_A_MESSAGE),
            ),
            (r#""name":"files__echo""#.to_owned(), format!(r#""name":{value}"#), MISMATCH),
            (
                r#""arguments":{"a":[1,"x"]}"#.to_owned(),
                format!(r#""arguments":{value}"#),
                pick(is_object, GOOD, (200, -32602)),
            ),
            (meta.clone(), format!(r#""_meta":{value}"#), INVALID),
            (
                version.clone(),
                format!(r#""io.modelcontextprotocol/protocolVersion":{value}"#),
                pick(value == "\"x\"", MISMATCH, INVALID),
            ),
            (
                capabilities.to_owned(),
                format!(r#""io.modelcontextprotocol/clientCapabilities":{value}"#),
                pick(is_object, GOOD, INVALID),
            ),
            (r#"[1,"x"]"#.to_owned(), value.to_owned(), GOOD),
        ] {
            rows.push((with(&from, &to), answer));
        }
        let answer = if is_object { INVALID } else { NOT_A_MESSAGE };
        rows.push((
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{value}}}"#).into(),
            answer,
        ));
        rows.push((value.into(), NOT_A_MESSAGE));
    }
    rows
}

/// Names that are almost those of members, instead of them and besides them; and each member twice.
fn strange_names() -> Vec<Row> {
    let mut rows = Vec::new();
    for (name, without) in [
        ("jsonrpc", NOT_A_MESSAGE),
        ("method", NOT_A_MESSAGE),
        ("params", INVALID),
        ("name", MISMATCH),
        ("_meta", INVALID),
        ("io.modelcontextprotocol/protocolVersion", INVALID),
        ("io.modelcontextprotocol/clientCapabilities", INVALID),
    ] {
        let quoted = format!("\"{name}\":");
        let upper = name.to_uppercase();
        let capital = format!("{}{}", upper.chars().next().unwrap(), &name[1..]);
        let mut alike = vec![
            format!("{name} "),
            format!(" {name}"),
            format!("{name}\\u0000"),
            format!("{name}\\u200b"),
            name.replace('s', "ſ"),
            name.replace('o', "о"),
        ];
        alike.extend([upper, capital]);
        alike.retain(|other| other != name);
        for other in alike {
            rows.push((with(&quoted, &format!("\"{other}\":")), without));
            rows.push((with(&quoted, &format!("\"{other}\":7,{quoted}")), GOOD));
        }
        // However it is written.
        let escaped = format!("\\u{:04x}{}", u32::from(name.chars().next().unwrap()), &name[1..]);
        rows.push((with(&quoted, &format!("\"{escaped}\":")), GOOD));
        for twice in [name, &escaped] {
            rows.push((with(&quoted, &format!("\"{twice}\":7,{quoted}")), NOT_A_MESSAGE));
        }
    }
    rows.push((with("\"id\":", "\"id\":2,\"id\":"), NOT_A_MESSAGE));
    rows.push((with("\"id\":", "\"ID\":2,\"id\":"), GOOD));
    rows.push((with("\"id\":", "\"i\\u0064\":2,\"id\":"), NOT_A_MESSAGE));
    rows
}

/// Sizes, depths and numbers at and beyond what may be.
fn extremes() -> Vec<Row> {
    let nested = |open: &str, close: &str, depth: usize| open.repeat(depth) + &close.repeat(depth);
    let arguments = r#"[1,"x"]"#;
    let members = |count: usize| (0..count).map(|n| format!("\"m{n}\":0,")).collect::<String>();
    let mut rows = vec![
        // The envelope, `params` and `arguments` are the first three of 128.
        (with(arguments, &nested("[", "]", 124)), GOOD),
        (with(arguments, &nested("[", "]", 125)), GOOD),
        (with(arguments, &nested("[", "]", 126)), NOT_JSON),
        (with(arguments, &nested("[", "]", 100_000)), NOT_JSON),
        (with(arguments, &"[".repeat(100_000)), NOT_JSON),
        ("[".repeat(100_000).into(), NOT_JSON),
        ("{\"a\":".repeat(100_000).into(), NOT_JSON),
        (with(arguments, &"9".repeat(1 << 20)), GOOD),
        (with(arguments, &format!("1e{}", "9".repeat(1000))), GOOD),
        (with(arguments, &format!("\"{}\"", "x".repeat(5 << 20))), (413, -32600)),
        (with(r#""id":1"#, &format!("\"id\":\"{}\"", "i".repeat(254))), GOOD),
        (with(r#""id":1"#, &format!("\"id\":\"{}\"", "i".repeat(255))), NOT_A_MESSAGE),
        (with(r#""id":1"#, &format!("\"id\":{}", "1".repeat(300))), NOT_A_MESSAGE),
        (with(r#""id":1"#, r#""id":9223372036854775808"#), GOOD),
        (with(r#""id":1"#, r#""id":-9223372036854775809"#), GOOD),
        (with("\"tools/call\"", &format!("\"{}\"", "m".repeat(129))), NOT_A_MESSAGE),
        // Of the envelope, `params` and `_meta` 64 members each are looked at.
        (with("\"id\":", &format!("{}\"id\":", members(60))), GOOD),
        (with("\"id\":", &format!("{}\"id\":", members(61))), NOT_A_MESSAGE),
        (with("\"name\":", &format!("{}\"name\":", members(61))), GOOD),
        (with("\"name\":", &format!("{}\"name\":", members(62))), NOT_A_MESSAGE),
        (with("\"a\":", &format!("{}\"a\":", members(10_000))), GOOD),
    ];
    let number = "\"id\":1,";
    for bad in
        ["01", "+1", ".5", "1.", "1e", "1e+", "0x1", "1_0", "NaN", "Infinity", "-", "--1", "1,", "tru", "nul"]
    {
        rows.push((with(arguments, bad), NOT_JSON));
        rows.push((with(number, &format!("\"id\":{bad},")), NOT_JSON));
    }
    for bad in
        ["\"\n\"", "\"\t\"", "\"\u{1}\"", "\"\\x\"", "\"\\u12\"", "\"\\u12g4\"", "\"", "'x'", "\"\\\"", "x"]
    {
        rows.push((with(arguments, bad), NOT_JSON));
        rows.push((with("\"tools/call\"", bad), NOT_JSON));
        rows.push((with("\"id\":1", &format!("{bad}:1")), NOT_JSON));
    }
    rows
}

/// More or less than one message.
fn counts() -> Vec<Row> {
    let good = good();
    [
        (String::new(), NOT_JSON),
        (" ".to_owned(), NOT_JSON),
        ("{}".to_owned(), NOT_A_MESSAGE),
        ("[]".to_owned(), NOT_A_MESSAGE),
        ("[[]]".to_owned(), NOT_A_MESSAGE),
        (format!("[{good}]"), NOT_A_MESSAGE),
        (format!("[{good},{good}]"), NOT_A_MESSAGE),
        (format!("[[{good}]]"), NOT_A_MESSAGE),
        (format!("[{}]", vec![good.as_str(); 1000].join(",")), NOT_A_MESSAGE),
        (format!("{good}{good}"), NOT_JSON),
        (format!("{good}\n{good}"), NOT_JSON),
        (format!("{good},"), NOT_JSON),
        (format!("{good}]"), NOT_JSON),
        (format!("{good}\0"), NOT_JSON),
        (format!("{good}//x"), NOT_JSON),
        (format!("/*x*/{good}"), NOT_JSON),
        (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#.to_owned(), NOT_A_MESSAGE),
        (r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}}"#.to_owned(), NOT_A_MESSAGE),
        (good.replace("\"method\"", "\"result\":{},\"method\""), NOT_A_MESSAGE),
        (good.replace("\"method\"", "\"error\":{},\"method\""), NOT_A_MESSAGE),
    ]
    .map(|(body, answer)| (body.into_bytes(), answer))
    .into()
}

async fn send(server: &Served, body: &[u8]) -> (u16, i64, usize) {
    let mut request = format!(
        "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nAccept: application/json\r\n\
         MCP-Protocol-Version: {MODERN}\r\nMcp-Method: tools/call\r\nMcp-Name: {NAME}\r\n\
         Connection: close\r\nContent-Length: {}\r\n\r\n",
        server.addr,
        body.len()
    )
    .into_bytes();
    request.extend_from_slice(body);
    let answer = raw_until(server.addr, &request, Duration::from_secs(10)).await.unwrap();
    let answer = String::from_utf8(answer).unwrap();
    let (head, text) = answer.split_once("\r\n\r\n").unwrap_or_default();
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    let code =
        text.split_once(r#""error":{"code":"#).and_then(|(_, rest)| rest.split(',').next()?.parse().ok());
    (status, code.unwrap_or(0), text.len())
}

async fn check(rows: Vec<Row>) {
    let server = start(|_| {}).await;
    let mut wrong = Vec::new();
    let mut calls = 0;
    for (body, expected) in &rows {
        let (status, code, size) = send(&server, body).await;
        let reached = std::mem::take(&mut *server.world.calls.lock().unwrap()).len();
        calls += reached;
        let is_right = (status, code) == *expected
            && reached == usize::from(*expected == GOOD)
            && size <= 1024 + 10 * body.len();
        if !is_right {
            let start = String::from_utf8_lossy(&body[..body.len().min(400)]).into_owned();
            wrong.push(format!("{start}: {status} {code} {size}, not {expected:?}; {reached} calls"));
        }
    }
    assert!(wrong.is_empty(), "{} of {} wrong:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
    assert_eq!(calls, rows.iter().filter(|row| row.1 == GOOD).count());
    assert_eq!(send(&server, good().as_bytes()).await.0, 200, "it goes on");
}

#[tokio::test]
async fn strange_bytes_are_refused_wherever_they_stand() {
    check(strange_bytes()).await;
}

#[tokio::test]
async fn what_broke_off_is_refused_wherever_it_did() {
    check(prefixes()).await;
    check(missing_and_doubled()).await;
}

#[tokio::test]
async fn members_of_other_kinds_are_refused_each_in_its_way() {
    check(wrong_types()).await;
}

#[tokio::test]
async fn names_that_are_almost_right_are_other_names_and_no_name_stands_twice() {
    check(strange_names()).await;
}

#[tokio::test]
async fn what_is_too_deep_too_large_or_no_number_is_refused() {
    check(extremes()).await;
}

#[tokio::test]
async fn one_body_is_one_message() {
    check(counts()).await;
}
