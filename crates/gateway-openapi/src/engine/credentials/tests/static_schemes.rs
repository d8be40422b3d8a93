use super::*;
use crate::engine::{ClientCredentials, Secret};

fn key(value: &str) -> Credential {
    Credential::ApiKey(Secret::new(value))
}

fn basic(user: &str, password: &str) -> Credential {
    Credential::Basic { user: user.into(), password: Secret::new(password) }
}

fn bearer(token: &str) -> Credential {
    Credential::Bearer(Secret::new(token))
}

fn some() -> Credentials {
    let configured = [
        ("header", key("one")),
        ("query", key("two&")),
        ("cookie", key("three")),
        ("basic", basic("ünal", "p:w")),
        ("bearer", bearer("four")),
        ("openid", bearer("five")),
    ];
    credentials(configured, &TokenServer::lasting(60)).unwrap()
}

#[tokio::test]
async fn the_first_alternative_that_can_be_met_is_sent() {
    for (alternatives, expected) in [
        (&[] as &[&str], ""),
        (&["header"], "x-key: one"),
        (&["query"], "?api key=two&"),
        (&["cookie"], "cookie session=three"),
        (&["basic"], "authorization: Basic w7xuYWw6cDp3"),
        (&["bearer"], "authorization: Bearer four"),
        (&["openid"], "authorization: Bearer five"),
        (&["header+query+cookie"], "x-key: one; ?api key=two&; cookie session=three"),
        (&["query", "header"], "?api key=two&"),
        (&["oauth:read", "header"], "x-key: one"),
        (&["header+oauth", "cookie"], "cookie session=three"),
        // Nothing at all is needed, but what is there may show more.
        (&["", "header"], "x-key: one"),
        (&["oauth", ""], ""),
        (&["oauth"], ""),
        (&["unheard-of"], ""),
        // Both are `Authorization`.
        (&["basic+bearer", "cookie"], "cookie session=three"),
    ] {
        let extras = some().obtain(&security(alternatives)).await.unwrap();
        assert_eq!(written(&extras), expected, "{alternatives:?}");
    }
}

#[test]
fn missing_schemes_are_named() {
    for (alternatives, expected) in [
        (&[] as &[&str], &[] as &[&str]),
        (&["header"], &[]),
        (&["oauth", "header"], &[]),
        (&["oauth", ""], &[]),
        (&["oauth"], &["oauth"]),
        (&["basic+bearer", "cookie"], &[]),
        (
            &["basic+header+bearer", "openid+oauth"],
            &["basic together with bearer: both are sent as the header authorization", "oauth"],
        ),
        (&["oauth:read", "header+elsewhere", "oauth:write"], &["elsewhere", "oauth"]),
    ] {
        assert_eq!(some().missing(&operation(alternatives)), expected, "{alternatives:?}");
    }
}

#[test]
fn what_any_scheme_sends_is_no_argument() {
    let reserved = Credentials::new(
        BTreeMap::new(),
        &schemes(),
        &BASE.parse().unwrap(),
        &(TokenServer::lasting(60) as Arc<dyn HttpClient>),
    )
    .unwrap()
    .reserved()
    .clone();
    let headers = ["x-key", "authorization", "host"].map(http::HeaderName::from_static);
    assert_eq!(reserved.headers, headers.into());
    assert_eq!(reserved.query.into_iter().collect::<Vec<_>>(), ["api key"]);
    assert_eq!(reserved.cookies.into_iter().collect::<Vec<_>>(), ["session"]);
    for (location, name, is_fed) in [
        (Location::Header, "authorization", true),
        (Location::Header, "x-key", true),
        (Location::Query, "api key", true),
        (Location::Cookie, "session", true),
        (Location::Header, "host", false),
    ] {
        let place = (location, name.to_owned());
        assert!(reserved.unset.contains(&place), "{place:?}");
        assert_eq!(!some().reserved().unset.contains(&place), is_fed, "{place:?}");
    }
}

#[test]
fn credentials_that_cannot_be_sent_are_refused() {
    let fetched = || Credential::ClientCredentials(ClientCredentials::new("me", Secret::new("hunter2")));
    for (name, credential, expected) in [
        ("haeder", key("hunter2"), "the API has no security scheme \"haeder\"; it has basic, bearer, broken"),
        ("header", basic("me", "hunter2"), "security scheme \"header\" is an API key; it needs a key"),
        ("basic", key("hunter2"), "is basic authentication; it needs a user and a password"),
        ("bearer", key("hunter2"), "is a bearer token; it needs a token or client credentials"),
        ("digest", key("hunter2"), "is of the kind \"digest\"; it needs what only static headers can send"),
        ("header", key("hunter2\r\nX: y"), "no header can have"),
        ("broken", key("hunter2"), "a header that HTTP itself needs"),
        ("unsayable", key("hunter2"), "a header that is none"),
        ("nowhere", key("hunter2"), "a place where keys cannot be"),
        ("nameless query", key("hunter2"), "no name"),
        ("nameless cookie", key("hunter2"), "no name"),
        ("basic", basic("m:e", "hunter2"), "has a colon"),
        ("basic", basic("me", "hunter2\n"), "control characters"),
        ("bearer", bearer("hunter2 x"), "visible ASCII"),
        ("bearer", bearer(""), "visible ASCII"),
        ("bearer", fetched(), "write `token_url`"),
        ("elsewhere", fetched(), "write it as `token_url`"),
    ] {
        let error = credentials([(name, credential)], &TokenServer::lasting(60)).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        assert!(!format!("{error:?}{error}").contains("hunter2"), "{error:?}");
    }
}

#[tokio::test]
async fn secrets_are_shown_nowhere() {
    let fetched = Credential::ClientCredentials(ClientCredentials::new("me", Secret::new("hunter2")));
    let configured = [
        ("header", key("hunter2")),
        ("query", key("hunter2")),
        ("cookie", key("hunter2")),
        ("basic", basic("me", "hunter2")),
        ("bearer", bearer("hunter2")),
        ("oauth", fetched),
    ];
    let shown = format!("{configured:?}");
    assert!(!shown.contains("hunter2"), "{shown}");
    let server = TokenServer::new(r#"{"access_token":"hunter2","token_type":"Bearer"}"#);
    let credentials = credentials(configured, &server).unwrap();
    let mut shown = String::new();
    for name in ["header+query+cookie+bearer", "basic", "oauth"] {
        shown += &format!("{:?}", credentials.obtain(&security(&[name])).await.unwrap());
    }
    shown += &format!("{credentials:?}");
    assert!(!shown.contains("hunter2") && !shown.contains("aHVudGVyMg"), "{shown}");
    assert!(shown.contains("x-key"), "{shown}");
}
