use gateway_protocol::Implementation;

use super::*;
use crate::TlsConfig;

fn config() -> ServerConfig {
    ServerConfig::new(Implementation::new("g", "G", "1"))
}

#[test]
fn a_header_with_another_meaning_is_neither_for_keys_nor_passed_on() {
    for (name, holds_keys, is_passed_on) in [
        ("x-api-key", true, true),
        ("x-tenant", true, true),
        ("authorization", false, false),
        ("cookie", false, false),
        ("proxy-authorization", false, false),
        ("host", false, false),
        ("origin", false, true),
        ("user-agent", false, true),
        ("referer", false, true),
        ("content-type", false, false),
        ("transfer-encoding", false, false),
        ("mcp-session-id", false, false),
        ("mcp-method", false, false),
        ("mcp-param-region", false, false),
        ("mcp-protocol-version", false, false),
        ("last-event-id", false, false),
        ("traceparent", false, false),
        ("x-gatewayd-caller", false, false),
        ("sec-fetch-site", false, false),
    ] {
        let name = HeaderName::from_static(name);
        let keys = ServerConfig { key_header: Some(name.clone()), ..config() };
        assert_eq!(keys.check().is_ok(), holds_keys, "{name} for keys");
        let passed = ServerConfig { forward_headers: vec![name.clone()], ..config() };
        assert_eq!(passed.check().is_ok(), is_passed_on, "{name} passed on");
        for error in [keys.check().err(), passed.check().err()].into_iter().flatten() {
            assert!(matches!(error, BindError::Header { name: of, .. } if of == name));
        }
    }
    let key = HeaderName::from_static("x-api-key");
    let leaked = ServerConfig { key_header: Some(key.clone()), forward_headers: vec![key], ..config() };
    assert!(matches!(leaked.check(), Err(BindError::Header { what: "passed on", .. })));
}

#[test]
fn other_machines_may_come_if_they_have_to_prove_who_they_are() {
    let oauth = || {
        struct Nobody;
        #[async_trait::async_trait]
        impl gateway_domain::TokenVerifier for Nobody {
            async fn verify(
                &self,
                _: &str,
                _: &gateway_domain::View,
            ) -> Result<gateway_domain::Caller, gateway_domain::TokenError> {
                Err(gateway_domain::TokenError::Invalid { reason: "x" })
            }
        }
        OauthConfig::new(std::sync::Arc::new(Nobody), "https://gw.example/mcp", "https://as.example")
    };
    let tls = |client_certificates| {
        let client_ca = Some("ca.pem".into());
        Some(TlsConfig { client_certificates, client_ca, ..TlsConfig::new("a", "b") })
    };
    let open = || ServerConfig { listen: "0.0.0.0:0".parse().unwrap(), ..config() };
    for (name, config, is_allowed) in [
        ("nothing", open(), false),
        ("a word of the operator", ServerConfig { allow_unauthenticated: true, ..open() }, true),
        ("keys", ServerConfig { clients: vec![ClientKey::new("a", "b")], ..open() }, true),
        ("tokens", ServerConfig { oauth: Some(oauth()), ..open() }, true),
        ("TLS alone", ServerConfig { tls: tls(ClientCertificates::Off), ..open() }, false),
        ("certificates at will", ServerConfig { tls: tls(ClientCertificates::Request), ..open() }, false),
        ("certificates", ServerConfig { tls: tls(ClientCertificates::Require), ..open() }, true),
    ] {
        let refused = config.check().err();
        assert_eq!(refused.is_none(), is_allowed, "{name}: {refused:?}");
        assert!(refused.is_none_or(|error| matches!(error, BindError::Unauthenticated { .. })), "{name}");
    }
    for asked in [ClientCertificates::Request, ClientCertificates::Require] {
        let tls = TlsConfig { client_certificates: asked, ..TlsConfig::new("a", "b") };
        assert!(matches!(ServerConfig { tls: Some(tls), ..config() }.check(), Err(BindError::Tls { .. })));
    }
}
