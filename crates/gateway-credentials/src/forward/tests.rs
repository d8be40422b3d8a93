use gateway_domain::{Caller, Secret};

use super::*;

#[test]
fn what_is_the_gateways_is_never_passed_on() {
    let own = [HeaderName::from_static("x-gateway-key")];
    let check = |name: &str, expected: Result<&str, ForwardError>| {
        let made = Forward::new([name], &own).map(|forward| forward.names()[0].to_string());
        assert_eq!(made, expected.map(str::to_owned), "{name}");
    };
    for name in [
        "Authorization",
        "Proxy-Authorization",
        "Proxy-Authenticate",
        "Proxy-Connection",
        "WWW-Authenticate",
        "Cookie",
        "Cookie2",
        "Set-Cookie",
        "Host",
        "Content-Length",
        "Content-Type",
        "Content-Encoding",
        "Accept",
        "Accept-Encoding",
        "Transfer-Encoding",
        "Connection",
        "Keep-Alive",
        "Upgrade",
        "TE",
        "Trailer",
        "Expect",
        "Forwarded",
        "Via",
        "Origin",
        "Referer",
        "X-Forwarded-For",
        "X-Forwarded-Host",
        "X-Real-IP",
        "True-Client-IP",
        "Sec-Fetch-Site",
        "Mcp-Session-Id",
        "MCP-Protocol-Version",
        "Mcp-Name",
        "Mcp-Param-X",
        "Last-Event-ID",
        "traceparent",
        "tracestate",
        "X-Gateway-Key",
    ] {
        check(name, Err(ForwardError::Forbidden { name: name.parse().unwrap() }));
    }
    check("X-Tenant", Ok("x-tenant"));
    check("X-Api-Key", Ok("x-api-key"));
    check("Accept-Language", Ok("accept-language"));
    check("a b", Err(ForwardError::Invalid { name: "a b".into() }));
    check("", Err(ForwardError::Invalid { name: String::new() }));
}

#[test]
fn there_are_only_so_many() {
    let names: Vec<_> = (0..33).map(|number| format!("x-{number}")).collect();
    let of = |count: usize| Forward::new(names[..count].iter().map(String::as_str), &[]);
    assert_eq!(of(32).unwrap().names().len(), 32);
    assert_eq!(of(33).unwrap_err(), ForwardError::TooMany);
    assert_eq!(Forward::new(["x-a", "X-A"], &[]).unwrap().names().len(), 1);
}

#[tokio::test]
async fn only_what_is_configured_and_was_said_goes_on() {
    let forward = Forward::new(["X-Tenant", "x-user"], &[]).unwrap();
    let mut incoming = Incoming::from(Caller::anonymous());
    for (name, value) in
        [("x-tenant", "t"), ("authorization", "Bearer s3cret"), ("x-other", "o"), ("x-tenant", "u")]
    {
        incoming.headers.push((name.into(), Secret::new(value)));
    }
    let headers = forward.headers(Some(&incoming)).await.unwrap();
    let said: Vec<_> =
        headers.iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap())).collect();
    assert_eq!(said, ["x-tenant: t", "x-tenant: u"]);
    assert!(headers.iter().all(|(_, value)| value.is_sensitive()));
    assert!(forward.headers(None).await.unwrap().is_empty());
    assert!(forward.is_per_caller());
}

#[tokio::test]
async fn a_value_that_is_none_is_refused_without_being_told() {
    let forward = Forward::new(["x-user"], &[]).unwrap();
    let mut incoming = Incoming::from(Caller::anonymous());
    incoming.headers.push(("x-user".into(), Secret::new("s3cret\r\nEvil: 1")));
    let error = forward.headers(Some(&incoming)).await.unwrap_err().to_string();
    assert_eq!(error, "the client's header `x-user` has characters that no header may have");
}
