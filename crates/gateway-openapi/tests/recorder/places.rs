use std::{collections::BTreeMap, sync::Arc};

use gateway_domain::{RawJson, RawObject};
use gateway_openapi::{
    engine::{
        BaseUrl, CallContext, CallError, ClientConfig, Executor, ExecutorConfig, Extras, HttpClient, Inputs,
        NetworkClient, Reserved, request,
    },
    ir::{Body, BodyFormat, Field, Location, Method, Operation, Param, ParamFormat, Style},
};
use http::{HeaderName, HeaderValue};
use percent_encoding::percent_decode_str;

use crate::{
    hostile::{controls, dotted, odd},
    recorder::{Recorded, Recorder},
};

/// An API, an operation of it with one input, `p`, and what carries requests there.
struct Place {
    recorder: Recorder,
    client: NetworkClient,
    base: BaseUrl,
    operation: Operation,
    inputs: Inputs,
}

impl Place {
    async fn new(operation: Operation) -> Self {
        let recorder = Recorder::start().await;
        let base = BaseUrl::parse(&format!("http://{}/v1/api", recorder.addr)).unwrap();
        let client = NetworkClient::new(ClientConfig::default()).unwrap();
        let inputs = Inputs::new(&operation, &Reserved::default(), &BTreeMap::new(), 32 * 1024);
        Self { recorder, client, base, operation, inputs }
    }

    async fn of(location: Location, format: ParamFormat) -> Self {
        let path = if location == Location::Path { "/things/{p}/parts" } else { "/things/parts" };
        let param = Param { schema: Some(raw("{\"title\":\"p\"}")), format, ..Param::new("p", location) };
        Self::new(Operation { params: vec![param], ..Operation::new("id", Method::Get, path) }).await
    }

    async fn of_body(media_type: &str, format: BodyFormat) -> Self {
        let schema = Some(raw("{\"title\":\"body\"}"));
        let body = Body { media_type: media_type.into(), format, ..Body::json(schema) };
        Self::new(Operation { body: Some(body), ..Operation::new("id", Method::Post, "/things/parts") }).await
    }

    /// Sends `p` if it may be, and says what arrived: exactly one request to where the operation is, or none.
    async fn send(&self, argument: &str, value: &RawJson) -> Result<Recorded, CallError> {
        let arguments = RawObject::parse(format!("{{\"{argument}\":{value}}}")).unwrap();
        self.inputs.check(&arguments)?;
        let extras = Extras {
            headers: vec![(HeaderName::from_static("x-api-key"), HeaderValue::from_static("s3cret"))],
            ..Extras::default()
        };
        let built = request::build(&self.base, &self.operation, &self.inputs, &arguments, &extras, &[]);
        if let Ok(request) = built.as_ref() {
            self.client.send(request.clone()).await.unwrap();
        }
        let mut arrived = self.recorder.take();
        assert_eq!(arrived.len(), usize::from(built.is_ok()), "{value}");
        built.map(|_| self.checked(arrived.remove(0)))
    }

    /// What holds of every request, whatever the value: method, server, prefix, segments, one line of each header and
    /// no header that nobody set.
    fn checked(&self, arrived: Recorded) -> Recorded {
        assert!(arrived.head.starts_with(format!("{} /v1/api/", self.operation.method).as_bytes()));
        let target = arrived.target();
        let path = target.split('?').next().unwrap();
        let segments: Vec<_> = path.split('/').collect();
        let expected = self.operation.path.split('/').count() + 2;
        assert_eq!(segments.len(), expected, "{target:.200}");
        assert_eq!((&segments[..4], segments[expected - 1]), (&["", "v1", "api", "things"][..], "parts"));
        assert!(target.bytes().all(is_uri), "{target:.200}");
        assert_eq!(arrived.header("host").unwrap(), self.recorder.addr.to_string().as_bytes());
        assert_eq!(arrived.header("x-api-key").unwrap(), b"s3cret");
        let known =
            ["host", "x-api-key", "accept", "user-agent", "p", "cookie", "content-type", "content-length"];
        for (name, _) in arrived.headers() {
            assert!(known.contains(&name.as_str()), "{name}");
            arrived.header(&name);
        }
        arrived
    }
}

/// RFC 3986 §2, without `#`.
fn is_uri(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~:/?@!$&'()*+,;=%".contains(&byte)
}

fn raw(text: &str) -> RawJson {
    RawJson::parse(text.to_owned()).unwrap()
}

fn styled(style: Style, explode: bool) -> ParamFormat {
    ParamFormat::Styled { style, explode, allow_reserved: false }
}

fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8().unwrap().into_owned()
}

fn all() -> Vec<String> {
    [dotted(), controls(), odd()].concat()
}

/// The members of the query, decoded.
fn query(arrived: &Recorded) -> Vec<(String, String)> {
    let target = arrived.target();
    let (_, query) = target.split_once('?').unwrap();
    let pairs = query.split('&').map(|pair| pair.split_once('=').unwrap());
    pairs.map(|(name, value)| (decoded(name), decoded(value))).collect()
}

#[tokio::test]
async fn in_the_path() {
    let rows = [(Style::Simple, ""), (Style::Matrix, ";p=")];
    for (style, lead) in rows {
        let place = Place::of(Location::Path, styled(style, false)).await;
        for value in odd() {
            let arrived = place.send("p", &RawJson::string(&value)).await;
            let arrived = arrived.unwrap_or_else(|error| panic!("{value:.60?}: {error}")).target();
            let segment = arrived.strip_prefix("/v1/api/things/").unwrap().strip_suffix("/parts").unwrap();
            assert_eq!(decoded(segment), format!("{lead}{value}"));
        }
        for value in controls() {
            let refused = place.send("p", &RawJson::string(&value)).await;
            assert!(matches!(refused, Err(CallError::Arguments { .. })), "{value:?}");
        }
    }
}

/// The dot of the label style and a slash would be a dot segment.
#[tokio::test]
async fn in_a_label() {
    let place = Place::of(Location::Path, styled(Style::Label, false)).await;
    let mut sent = 0;
    for value in all() {
        if let Ok(arrived) = place.send("p", &RawJson::string(&value)).await {
            let arrived = arrived.target();
            let segment = arrived.strip_prefix("/v1/api/things/.").unwrap();
            assert_eq!(decoded(segment.strip_suffix("/parts").unwrap()), value);
            sent += 1;
        }
    }
    assert!(sent > 120, "{sent}");
}

#[tokio::test]
async fn what_leads_elsewhere_in_the_path() {
    let place = Place::of(Location::Path, styled(Style::Simple, false)).await;
    for value in dotted().into_iter().chain([String::new()]) {
        let refused = place.send("p", &RawJson::string(&value)).await;
        assert!(matches!(refused, Err(CallError::Arguments { .. })), "{value:?}");
    }
    let list = RawJson::array(["a", "..", "b"].map(RawJson::string));
    let arrived = place.send("p", &list).await.unwrap().target();
    assert_eq!(arrived, "/v1/api/things/a,..,b/parts");
}

#[tokio::test]
async fn in_a_part_of_a_segment() {
    let operation = Operation {
        params: vec![Param::new("p", Location::Path)],
        ..Operation::new("id", Method::Get, "/things/v.{p}.json/parts")
    };
    let place = Place::new(operation).await;
    let mut sent = 0;
    for value in all() {
        if let Ok(arrived) = place.send("p", &RawJson::string(&value)).await {
            let arrived = arrived.target();
            let segment = arrived.strip_prefix("/v1/api/things/v.").unwrap();
            assert_eq!(decoded(segment.strip_suffix(".json/parts").unwrap()), value);
            sent += 1;
        }
    }
    assert!(sent > 150, "{sent}");
}

#[tokio::test]
async fn in_the_query() {
    let allowing = ParamFormat::Styled { style: Style::Form, explode: true, allow_reserved: true };
    for format in [styled(Style::Form, true), styled(Style::Form, false), allowing] {
        let place = Place::of(Location::Query, format).await;
        for value in all() {
            let arrived = place.send("p", &RawJson::string(&value)).await.unwrap();
            assert_eq!(query(&arrived), [("p".to_owned(), value)]);
        }
    }
}

#[tokio::test]
async fn in_names_and_values_of_objects_in_the_query() {
    let deep = Place::of(Location::Query, styled(Style::DeepObject, true)).await;
    let exploded = Place::of(Location::Query, styled(Style::Form, true)).await;
    for value in all() {
        let text = RawJson::string(&value);
        let object = raw(&format!("{{{text}:{text}}}"));
        let arrived = deep.send("p", &object).await;
        match value.contains(['[', ']']) {
            true => assert!(matches!(arrived, Err(CallError::Arguments { .. }))),
            false => assert_eq!(query(&arrived.unwrap()), [(format!("p[{value}]"), value.clone())]),
        }
        let arrived = exploded.send("p", &object).await.unwrap();
        assert_eq!(query(&arrived), [(value.clone(), value)]);
    }
}

#[tokio::test]
async fn in_lists_in_the_query() {
    for (style, delimiter) in [(Style::Form, ","), (Style::SpaceDelimited, " "), (Style::PipeDelimited, "|")]
    {
        let place = Place::of(Location::Query, styled(style, false)).await;
        for value in all() {
            let list = RawJson::array([value.as_str(), "b"].map(RawJson::string));
            let arrived = place.send("p", &list).await;
            if style != Style::Form && value.contains(delimiter) {
                assert!(matches!(arrived, Err(CallError::Arguments { .. })));
                continue;
            }
            let target = arrived.unwrap().target();
            let sent = target.split_once("?p=").unwrap().1;
            let encoded = if style == Style::Form {
                ",".to_owned()
            } else {
                format!("%{:02X}", delimiter.as_bytes()[0])
            };
            let items: Vec<_> = sent.split(&encoded).map(decoded).collect();
            assert_eq!(items, [value, "b".to_owned()]);
        }
    }
}

#[tokio::test]
async fn in_a_header() {
    let place = Place::of(Location::Header, styled(Style::Simple, false)).await;
    for value in all() {
        let fits = value.trim_matches([' ', '\t']) == value
            && !value.bytes().any(|b| b.is_ascii_control() && b != b'\t')
            && value.len() <= 8192;
        match place.send("p", &RawJson::string(&value)).await {
            Ok(arrived) => {
                assert!(fits, "{value:.60?}");
                assert_eq!(arrived.header("p").unwrap(), value.as_bytes());
            }
            Err(error) => assert!(!fits && matches!(error, CallError::Arguments { .. }), "{value:.60?}"),
        }
    }
}

#[tokio::test]
async fn in_a_cookie() {
    let form = Place::of(Location::Cookie, styled(Style::Form, true)).await;
    let plain = Place::of(Location::Cookie, styled(Style::Cookie, true)).await;
    for value in all() {
        let text = RawJson::string(&value);
        match form.send("p", &text).await {
            Ok(arrived) => {
                let cookie = String::from_utf8(arrived.header("cookie").unwrap()).unwrap();
                assert!(!cookie.contains(';'));
                assert_eq!(decoded(cookie.strip_prefix("p=").unwrap()), value);
            }
            Err(error) => assert!(value.len() > 2000, "{value:.60?}: {error}"),
        }
        let fits =
            value.bytes().all(|b| b.is_ascii_graphic() && !b"\",;\\".contains(&b)) && value.len() < 8000;
        match plain.send("p", &text).await {
            Ok(arrived) => {
                assert!(fits, "{value:.60?}");
                assert_eq!(arrived.header("cookie").unwrap(), format!("p={value}").as_bytes());
            }
            Err(error) => assert!(!fits && matches!(error, CallError::Arguments { .. }), "{value:.60?}"),
        }
    }
}

#[tokio::test]
async fn in_bodies() {
    let json = Place::of_body("application/json", BodyFormat::Json).await;
    let form = Place::of_body("application/x-www-form-urlencoded", BodyFormat::Form(vec![])).await;
    let text = Place::of_body("text/plain", BodyFormat::Text).await;
    for value in all() {
        let string = RawJson::string(&value);
        let object = raw(&format!("{{{string}:{string}}}"));
        assert_eq!(json.send("body", &object).await.unwrap().body, object.as_bytes());
        assert_eq!(text.send("body", &string).await.unwrap().body, value.as_bytes());
        let arrived = form.send("body", &object).await.unwrap();
        let body = String::from_utf8(arrived.body).unwrap();
        let (name, sent) = body.split_once('=').unwrap();
        assert_eq!((decoded(name), decoded(sent)), (value.clone(), value));
    }
}

#[tokio::test]
async fn in_names_files_and_content_of_parts() {
    let file = Field { name: "file".into(), media_type: None, is_file: true, format: None };
    let place = Place::of_body("multipart/form-data", BodyFormat::Multipart(vec![file])).await;
    for value in all() {
        let string = RawJson::string(&value);
        let object =
            raw(&format!(r#"{{{string}:{string},"file":{{"data":"aGVsbG8=","filename":{string}}}}}"#));
        let arrived = place.send("body", &object).await.unwrap();
        let content_type = String::from_utf8(arrived.header("content-type").unwrap()).unwrap();
        let boundary = content_type.strip_prefix("multipart/form-data; boundary=").unwrap();
        let body = String::from_utf8(arrived.body).unwrap();
        let parts: Vec<_> = body.split(&format!("--{boundary}")).collect();
        assert_eq!((parts.len(), parts[0], parts[3]), (4, "", "--\r\n"));
        let (head, content) = parts[1].split_once("\r\n\r\n").unwrap();
        assert_eq!(head.lines().count(), 2, "{head}");
        assert_eq!(content, format!("{value}\r\n"));
        let (head, content) = parts[2].split_once("\r\n\r\n").unwrap();
        assert_eq!((head.lines().count(), content), (3, "hello\r\n"), "{head}");
    }
}

/// RFC 9110 §8.6.
#[tokio::test]
async fn what_has_no_body_says_so_where_one_is_expected() {
    for method in Method::ALL {
        let place = Place::new(Operation::new("id", method, "/things/parts")).await;
        let arrived = place.send("unknown", &raw("1")).await.unwrap();
        let expected = matches!(method, Method::Post | Method::Put | Method::Patch).then_some(b"0".to_vec());
        assert_eq!(arrived.header("content-length"), expected, "{method}");
    }
}

/// What is refused is refused before credentials are asked for and before a connection is made.
#[tokio::test]
async fn a_refused_call_never_reaches_the_api() {
    let place = Place::of(Location::Path, styled(Style::Simple, false)).await;
    let client = Arc::new(NetworkClient::new(ClientConfig::default()).unwrap());
    let executor = Executor::new(ExecutorConfig::new(place.base.clone(), client));
    for arguments in [r#"{"p":"../admin"}"#, r#"{"p":""}"#, "{}", r#"{"q":1}"#] {
        let arguments = RawObject::parse(arguments).unwrap();
        let refused = executor.call(&place.operation, &arguments, &CallContext::default()).await;
        assert!(matches!(refused, Err(CallError::Arguments { .. })));
    }
    assert!(place.recorder.take().is_empty());
}
