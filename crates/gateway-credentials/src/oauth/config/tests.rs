use std::sync::Arc;

use super::*;

fn config(mode: Mode) -> OauthConfig {
    OauthConfig::new("one", "https://server.example/mcp", mode)
}

fn wrong(config: OauthConfig) -> Option<&'static str> {
    match config.checked() {
        Ok(_) => None,
        Err(OauthError::Misconfigured(rule)) => Some(rule.split(' ').next().unwrap_or_default()),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn what_cannot_work_is_refused_by_its_rule() {
    type Change = fn(&mut OauthConfig);
    let secret: Change = |config| config.client.secret = Some("s".into());
    let id: Change = |config| config.client.id = Some("c".into());
    let issuer: Change = |config| config.issuer = Some("https://issuer.example".into());
    let token_url: Change = |config| config.token_url = Some("https://issuer.example/token".into());
    let gateway = || Mode::Gateway;
    let machine = || Mode::ClientCredentials;
    let assertion: Change = |config| config.assertion = Some(Arc::new(Source::Value("a".into())));
    let at = |base: &str| Mode::PerUser { base: base.into() };
    type Row<'a> = (Mode, &'a [Change], Option<&'a str>);
    let rows: &[Row<'_>] = &[
        (gateway(), &[], None),
        (gateway(), &[|config| config.url = "ftp://x".into()], Some("url")),
        (gateway(), &[|config| config.issuer = Some("x".into())], Some("issuer")),
        (machine(), &[|config| config.token_url = Some("x".into())], Some("token_url")),
        (gateway(), &[token_url], Some("token_url")),
        (gateway(), &[id], None),
        (gateway(), &[id, secret], Some("client_secret")),
        (gateway(), &[id, secret, issuer], None),
        (gateway(), &[secret, issuer], Some("client_secret")),
        (machine(), &[], Some("client_id")),
        (machine(), &[id], Some("client_secret")),
        (machine(), &[id, secret], Some("client_secret")),
        (machine(), &[id, secret, token_url], None),
        (Mode::JwtBearer, &[id, assertion, issuer], None),
        (Mode::JwtBearer, &[id, assertion, token_url], None),
        (Mode::JwtBearer, &[id, assertion], Some("jwt_bearer")),
        (Mode::JwtBearer, &[assertion, issuer], Some("jwt_bearer")),
        (Mode::JwtBearer, &[id, issuer], Some("assertion")),
        (machine(), &[id, secret, issuer, assertion], Some("assertion")),
        (gateway(), &[assertion, issuer], Some("assertion")),
        (Mode::Exchange, &[id, secret, token_url], None),
        (Mode::Exchange, &[id, secret, issuer], Some("exchange")),
        (Mode::Exchange, &[secret, token_url], Some("client_id")),
        (
            gateway(),
            &[|config| config.client.metadata_url = Some("https://a.example/".into())],
            Some("client_metadata_url"),
        ),
        (
            gateway(),
            &[|config| config.client.metadata_url = Some("http://a.example/c".into())],
            Some("client_metadata_url"),
        ),
        (gateway(), &[|config| config.client.metadata_url = Some("https://a.example/c".into())], None),
        (gateway(), &[|config| config.redirect = Some("http://127.0.0.1:7/cb".into())], None),
        (gateway(), &[|config| config.redirect = Some("http://127.0.0.1:7/cb?x".into())], Some("redirect")),
        (gateway(), &[|config| config.redirect = Some("http://a.example:7/cb".into())], Some("redirect")),
        (gateway(), &[|config| config.redirect = Some("https://127.0.0.1:7/cb".into())], Some("redirect")),
        (at("https://gateway.example/connect"), &[], None),
        (at("http://localhost:8080/connect"), &[], None),
        (at("http://gateway.example/connect"), &[], Some("base")),
        (at("https://gateway.example/connect?x"), &[], Some("base")),
    ];
    for (number, (mode, changes, expected)) in rows.iter().enumerate() {
        let mut config = config(mode.clone());
        changes.iter().for_each(|change| change(&mut config));
        assert_eq!(wrong(config), *expected, "row {number}");
    }
}
