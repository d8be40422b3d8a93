//! Requests of every kind, with canaries for secrets.

use std::sync::Arc;

use async_trait::async_trait;
use gateway_domain::{Caller, Grants, TokenError, TokenVerifier, View};
use gateway_server::{ClientKey, OauthConfig};
use gateway_testkit::client::{HttpClient, Speaks};

use crate::{
    log::Log,
    support::{MODERN, envelope, start},
};

/// `ann.…` is a user, `down.…` cannot be checked, and everything else is bad.
struct Verifier;

#[async_trait]
impl TokenVerifier for Verifier {
    async fn verify(&self, token: &str, _: &View) -> Result<Caller, TokenError> {
        match token.split('.').next() {
            Some("down") => Err(TokenError::Unavailable { reason: "no keys".to_owned() }),
            Some("ann") => Ok(Caller::user("https://as.example", "ann", Grants::default())),
            _ => Err(TokenError::Invalid { reason: "token_signature" }),
        }
    }
}

fn oauth() -> OauthConfig {
    OauthConfig::new(Arc::new(Verifier), "https://gw.example/mcp", "https://as.example")
}

#[tokio::test]
async fn each_request_has_a_number_a_method_and_a_client_and_shows_no_secret() {
    let log = Log::default();
    // Everything of this test runs on its thread.
    let guard = log.begin();
    {
        let server = start(|config| {
            config.clients = vec![ClientKey::new("desk", "canary-key")];
            config.key_header = Some("x-api-key".parse().unwrap());
            let mut oauth = oauth();
            oauth.token_for_exchange = true;
            config.oauth = Some(oauth);
            config.forward_headers = vec!["x-tenant".parse().unwrap()];
            config.passes_incoming = true;
        })
        .await;
        let method = "canary-method";
        for headers in [
            "Authorization: Bearer canary-key\r\n",
            "Authorization: Bearer canary-wrong\r\n",
            "Authorization: Bearer canary,wrong\r\n",
            "Authorization: Bearer down.canary\r\n",
            "Authorization: Bearer canary-key\r\nAuthorization: Bearer canary-key\r\n",
            "x-api-key: canary-key\r\nx-tenant: canary-tenant\r\nCookie: canary-cookie\r\n",
            "Host: canary.example\r\n",
            "Origin: https://canary.example\r\n",
            "Authorization: Bearer ann.canary\r\n",
        ] {
            let version = format!("{headers}MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n");
            let body = format!(
                r#"{{"jsonrpc":"2.0","id":"canary-id","method":"{method}","params":{{{}}}}}"#,
                envelope(MODERN)
            );
            server.post(&version, &body).await;
        }
        server.get("/mcp?access_token=canary-token").await;
        let client = HttpClient::new(&server.url(), Speaks::modern()).unwrap();
        let client = client.with_header("x-api-key", "canary-key");
        client.call("1", "files__echo", r#"{"a":"canary-argument"}"#).await.unwrap();
        client.call("2", "files__down", "{}").await.unwrap();
    }
    drop(guard);
    let text = log.take();
    assert!(!text.contains("canary"), "{text}");
    for expected in [
        r#"request{number=1 client=desk method="other"}"#,
        r#"request{number=2}"#,
        r#"client=ann at https://as.example method="other"}"#,
        r#"client=desk method="tools/call"}"#,
    ] {
        assert!(text.contains(expected), "{expected} is not in\n{text}");
    }
}
