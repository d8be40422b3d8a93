mod server;
mod static_schemes;
mod tokens;

use std::{collections::BTreeMap, sync::Arc};

use server::TokenServer;

use super::{Credential, CredentialError, Credentials};
use crate::{
    engine::{Extras, HttpClient},
    ir::{Location, Method, Operation, Requirement, SchemeUse, SecurityScheme},
};

const BASE: &str = "https://api.example/v1";

/// One scheme of each kind.
fn schemes() -> BTreeMap<String, SecurityScheme> {
    let key = |location, name: &str| SecurityScheme::ApiKey { location, name: name.into() };
    let url = Some("https://api.example/token".into());
    BTreeMap::from(
        [
            ("header", key(Location::Header, "X-Key")),
            ("query", key(Location::Query, "api key")),
            ("cookie", key(Location::Cookie, "session")),
            ("broken", key(Location::Header, "Host")),
            ("unsayable", key(Location::Header, "X Key")),
            ("nowhere", key(Location::Path, "key")),
            ("nameless query", key(Location::Query, "")),
            ("nameless cookie", key(Location::Cookie, "")),
            ("basic", SecurityScheme::Basic),
            ("bearer", SecurityScheme::Bearer),
            ("oauth", SecurityScheme::OAuth2 { token_url: url }),
            ("elsewhere", SecurityScheme::OAuth2 { token_url: Some("https://evil.example/token".into()) }),
            ("openid", SecurityScheme::OpenIdConnect),
            ("digest", SecurityScheme::Other("digest".into())),
        ]
        .map(|(name, scheme)| (name.to_owned(), scheme)),
    )
}

fn credentials(
    configured: impl IntoIterator<Item = (&'static str, Credential)>,
    server: &Arc<TokenServer>,
) -> Result<Credentials, CredentialError> {
    let configured = configured.into_iter().map(|(name, credential)| (name.to_owned(), credential)).collect();
    let client: Arc<dyn HttpClient> = Arc::clone(server) as _;
    Credentials::new(configured, &schemes(), &BASE.parse().unwrap(), &client)
}

/// Alternatives, written as `["header+query:read", "basic", ""]`.
fn security(alternatives: &[&str]) -> Vec<Requirement> {
    let one = |text: &str| {
        let (name, scopes) = text.split_once(':').unwrap_or((text, ""));
        let scopes = scopes.split(',').filter(|scope| !scope.is_empty()).map(str::to_owned).collect();
        SchemeUse { name: name.into(), scopes }
    };
    let all = |text: &&str| Requirement(text.split('+').filter(|part| !part.is_empty()).map(one).collect());
    alternatives.iter().map(all).collect()
}

fn operation(alternatives: &[&str]) -> Operation {
    Operation { security: security(alternatives), ..Operation::new("get", Method::Get, "/") }
}

/// What is sent, on one line.
fn written(extras: &Extras) -> String {
    let headers = extras.headers.iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()));
    let query = extras.query.iter().map(|(name, value)| format!("?{name}={value}"));
    let cookies = extras.cookies.iter().map(|(name, value)| format!("cookie {name}={value}"));
    headers.chain(query).chain(cookies).collect::<Vec<_>>().join("; ")
}
