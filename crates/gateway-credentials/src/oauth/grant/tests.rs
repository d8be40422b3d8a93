use bytes::Bytes;
use http::HeaderMap;

use super::*;

fn answer(status: u16, body: &str) -> Answer {
    Answer {
        status: StatusCode::from_u16(status).unwrap(),
        headers: HeaderMap::new(),
        body: Bytes::copy_from_slice(body.as_bytes()),
    }
}

#[test]
fn a_token_is_renewed_before_its_end() {
    for (lifetime, fresh) in
        [(3600, 3240), (600, 540), (300, 270), (100, 70), (60, 30), (40, 20), (1, 0), (0, 0)]
    {
        assert_eq!(fresh_until(1000, lifetime), 1000 + fresh, "{lifetime}");
    }
    assert_eq!(fresh_until(u64::MAX, 600), u64::MAX);
}

#[test]
fn only_bearer_tokens_that_can_be_sent_are_taken() {
    let rows = [
        (r#"{"access_token":"a","token_type":"Bearer"}"#, true),
        (r#"{"access_token":"a","token_type":"bearer","expires_in":"60"}"#, true),
        (r#"{"access_token":"a","token_type":"bearer","expires_in":59.5}"#, true),
        (r#"{"access_token":"a","token_type":"DPoP"}"#, false),
        (r#"{"access_token":"a","token_type":"N_A"}"#, false),
        (r#"{"access_token":"a"}"#, false),
        (r#"{"access_token":"","token_type":"Bearer"}"#, false),
        (r#"{"access_token":"a b","token_type":"Bearer"}"#, false),
        (r#"{"access_token":"a\r\nX: y","token_type":"Bearer"}"#, false),
        (r#"{"access_token":"ü","token_type":"Bearer"}"#, false),
        (
            r#"{"access_token":"a","token_type":"Bearer","issued_token_type":"urn:ietf:params:oauth:token-type:access_token"}"#,
            true,
        ),
        (
            r#"{"access_token":"a","token_type":"Bearer","issued_token_type":"urn:ietf:params:oauth:token-type:id_token"}"#,
            false,
        ),
        ("<html>", false),
    ];
    for (body, good) in rows {
        assert_eq!(granted(&answer(200, body), 0, ACCESS_TOKEN).is_ok(), good, "{body}");
    }
    let long =
        |length: usize| format!(r#"{{"access_token":"{}","token_type":"Bearer"}}"#, "a".repeat(length));
    assert!(granted(&answer(200, &long(LONGEST_TOKEN)), 0, ACCESS_TOKEN).is_ok());
    assert!(granted(&answer(200, &long(LONGEST_TOKEN + 1)), 0, ACCESS_TOKEN).is_err());
}

#[test]
fn a_refusal_shows_a_plain_code_and_nothing_else() {
    let rows = [
        (400, r#"{"error":"invalid_grant","error_description":"secret"}"#, "invalid_grant"),
        (400, r#"{"error":"<script>"}"#, "unknown"),
        (503, "busy", "503"),
        (302, "", "302"),
        (201, r#"{"access_token":"a","token_type":"Bearer"}"#, "201"),
    ];
    for (status, body, code) in rows {
        let error = granted(&answer(status, body), 0, ACCESS_TOKEN).unwrap_err();
        assert_eq!(error, OauthError::TokenRefused { code: code.into() }, "{body}");
    }
}

#[test]
fn the_client_proves_itself_as_it_is_registered() {
    let address = Address::parse("https://i/token").unwrap();
    let rows = [
        (Method::Nothing, "a=b&client_id=c%20d", None),
        (Method::Post, "a=b&client_id=c%20d&client_secret=s%3As", None),
        // RFC 6749 §2.3.1: escaped, then joined.
        (Method::Basic, "a=b", Some("Basic YyUyMGQ6cyUzQXM=")),
    ];
    for (method, form, header) in rows {
        let client = Client { id: "c d".into(), secret: Some("s:s".into()), method };
        let endpoint = Endpoint { address: &address, issuer: "https://i", client: &client, key: None };
        let (got, authorization) = endpoint.authenticated(Form::default().with("a", "b"), 0).unwrap();
        assert_eq!(
            (&**got.encoded(), authorization.as_ref().map(|value| value.to_str().unwrap())),
            (form, header)
        );
        assert!(authorization.is_none_or(|value| value.is_sensitive()));
    }
}

#[test]
fn now_is_the_time_of_day() {
    let told = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let (before, between, after) = (told(), now(), told());
    assert!((before..=after).contains(&between), "{before} {between} {after}");
}
