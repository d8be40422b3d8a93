//! The edge, as the configuration has it.

use std::sync::Arc;

use async_trait::async_trait;
use gateway_auth::{
    Algorithm, Audiences, Check, EndpointAuth, IntrospectionConfig, IssuerConfig, JwtConfig, KeySource,
    RoleMapping, Verifier, VerifierConfig,
};
use gateway_domain::{Caller, DownstreamName, TokenError, TokenVerifier, View};
use gateway_egress::Fetch;
use gateway_pipeline::scopes::{Required, RequiredScopes};
use gateway_server::{
    BindError, ClientCertificates, ClientKey, OauthConfig, ScopeRule, ServerConfig, TlsConfig,
};

use crate::{
    config::{self, Config, Issuer, Key, Oauth, Outgoing, Reach},
    gateway,
};

/// The edge's configuration.
pub(crate) fn config(config: &Config, verifier: Option<Arc<dyn TokenVerifier>>) -> ServerConfig {
    let mut server = ServerConfig::new(gateway::identity());
    server.listen = config.listen;
    server.admin_listen = config.admin_listen;
    server.allow_unauthenticated = config.allow_unauthenticated;
    server.http2 = config.http2;
    server.cancel_on_disconnect = config.cancel_on_disconnect;
    server.clients = config.clients.iter().map(client).collect();
    server.key_header.clone_from(&config.security.key_header);
    server.oauth =
        config.security.oauth.as_ref().zip(verifier).map(|(oauth, verifier)| tokens(config, oauth, verifier));
    server.tls = config.security.tls.as_ref().map(tls);
    let outgoing = || config.downstreams.iter().filter_map(outgoing);
    server.passes_incoming = outgoing().any(|outgoing| outgoing.is_per_caller());
    server.forward_headers = outgoing().flat_map(|outgoing| outgoing.forward.clone()).collect();
    server.public_origin = outgoing().any(Outgoing::is_per_user).then(|| config.public_url());
    server.allowed_hosts = config.allowed_hosts.clone();
    server.allowed_origins = config.allowed_origins.clone();
    server.state_key.clone_from(&config.questions.state_key);
    server.label_questions = config.questions.label;
    server.extensions.clone_from(&config.extensions);
    server.limits.question_time = config.questions.time;
    server.limits.question_rounds = config.questions.rounds;
    let (limits, given) = (&mut server.limits, &config.limits);
    limits.connections = given.connections;
    limits.connections_per_peer = given.connections_per_peer;
    limits.header_bytes = given.header_bytes;
    limits.header_fields = given.header_fields;
    limits.header_time = given.header_time;
    limits.body_bytes = given.body_bytes;
    limits.body_time = given.body_time;
    limits.in_flight = given.in_flight;
    limits.in_flight_per_caller = given.in_flight_per_caller;
    limits.sessions = given.sessions;
    limits.sessions_per_caller = given.sessions_per_caller;
    limits.session_idle = given.session_idle;
    limits.session_lifetime = given.session_lifetime;
    limits.listens_per_caller = given.streams_per_caller;
    limits.drain = config.shutdown_grace;
    server
}

/// What checks tokens, and begins to read keys. Must be called within the runtime.
///
/// # Errors
/// What it does not accept.
pub(crate) fn verifier(config: &Config, fetch: &Arc<dyn Fetch>) -> anyhow::Result<Option<Arc<Verifier>>> {
    let Some(oauth) = &config.security.oauth else { return Ok(None) };
    Ok(Some(Arc::new(Verifier::start(verifier_config(config, oauth), fetch)?)))
}

fn verifier_config(config: &Config, oauth: &Oauth) -> VerifierConfig {
    let issuers = oauth.issuers.iter().map(|one| issuer(config, oauth, one)).collect();
    VerifierConfig { issuers, deny_list: oauth.deny_list.clone(), ..VerifierConfig::default() }
}

fn issuer(config: &Config, oauth: &Oauth, issuer: &Issuer) -> IssuerConfig {
    let general: Vec<_> = match issuer.audiences.is_empty() {
        true => std::iter::once(&oauth.resource).chain(&oauth.aliases).cloned().collect(),
        false => issuer.audiences.clone(),
    };
    let of_view = |(view, url)| (view, vec![url]);
    let audiences = Audiences { general, views: resources(config, oauth).into_iter().map(of_view).collect() };
    let role =
        |(claim, prefix): (&String, &String)| RoleMapping { claim: claim.clone(), prefix: prefix.clone() };
    IssuerConfig {
        skew: issuer.leeway,
        max_age: issuer.max_age,
        roles: issuer.scope_claims.iter().map(role).collect(),
        ..IssuerConfig::new(&issuer.issuer, audiences, check(issuer))
    }
}

fn check(issuer: &Issuer) -> Check {
    let keys = match &issuer.keys {
        config::KeySource::Discovery => KeySource::Discovery { metadata: None },
        config::KeySource::Url(url) => KeySource::Url(url.to_string()),
        config::KeySource::File(path) => KeySource::File(path.clone()),
        config::KeySource::Introspection { endpoint, client, secret, cache } => {
            let auth = EndpointAuth::Basic { id: client.clone(), secret: secret.clone() };
            return Check::Introspection(IntrospectionConfig {
                active_for: *cache,
                ..IntrospectionConfig::new(endpoint.to_string(), auth)
            });
        }
    };
    Check::Keys(JwtConfig {
        algorithms: issuer.algorithms.iter().filter_map(|name| Algorithm::named(name)).collect(),
        accept_jwt_typ: issuer.accept_jwt_type,
        ..JwtConfig::new(keys)
    })
}

fn tokens(config: &Config, oauth: &Oauth, verifier: Arc<dyn TokenVerifier>) -> OauthConfig {
    let rule = |scopes: &Vec<String>| ScopeRule { scopes: scopes.clone(), ..ScopeRule::default() };
    let required = &oauth.required;
    let always = (!required.always.is_empty()).then(|| rule(&required.always));
    let by_method = required
        .methods
        .iter()
        .map(|(method, scopes)| ScopeRule { methods: vec![method.clone()], ..rule(scopes) });
    let by_name =
        required.tools.iter().map(|(name, scopes)| ScopeRule { names: vec![name.clone()], ..rule(scopes) });
    let exchanges = |downstream| outgoing(downstream).is_some_and(Outgoing::exchanges_tokens);
    OauthConfig {
        verifier,
        resource: oauth.resource.clone(),
        resources: resources(config, oauth),
        authorization_servers: oauth.issuers.iter().map(|issuer| issuer.issuer.clone()).collect(),
        scopes_supported: oauth.scopes_supported.clone(),
        scopes: always.into_iter().chain(by_method).chain(by_name).collect(),
        token_for_exchange: config.downstreams.iter().any(exchanges),
    }
}

/// What tools, prompts and resources need, by what they are once that is known, whatever they were called.
pub(crate) fn required_scopes(config: &Config) -> RequiredScopes {
    let Some(oauth) = &config.security.oauth else { return RequiredScopes::default() };
    let required = &oauth.required;
    let rule = |scopes: &Vec<String>| Required { scopes: scopes.clone(), ..Required::default() };
    let by_method = required.methods.iter();
    let by_method =
        by_method.map(|(method, scopes)| Required { methods: vec![method.clone()], ..rule(scopes) });
    let by_name = required.tools.iter();
    let by_name = by_name.map(|(name, scopes)| Required { names: vec![name.clone()], ..rule(scopes) });
    let rules: Vec<_> = std::iter::once(rule(&required.always)).chain(by_method).chain(by_name).collect();
    RequiredScopes::new(&rules)
}

/// The paths with a resource of their own.
fn resources(config: &Config, oauth: &Oauth) -> Vec<(View, String)> {
    let view = |(name, url): (&String, &String)| {
        let name = DownstreamName::parse(name).ok()?;
        let is_profile = config.security.profiles.iter().any(|profile| profile.name == name);
        let view = if is_profile { View::Profile(name) } else { View::Downstream(name) };
        Some((view, url.clone()))
    };
    oauth.resources.iter().filter_map(view).collect()
}

fn client(client: &config::Client) -> ClientKey {
    let named = ClientKey::named(&client.name);
    let with_keys = client.keys.iter().fold(named, |all, key| match key {
        Key::Plain(secret) => all.with_key(secret.expose()),
        Key::Digest(digest) => all.with_digest(*digest),
    });
    let known = client.certificates.iter().fold(with_keys, |all, digest| all.with_certificate(*digest));
    if client.metrics { known.with_metrics() } else { known }
}

fn tls(tls: &config::Tls) -> TlsConfig {
    TlsConfig {
        client_certificates: match tls.client_certificates {
            config::ClientCertificates::Off => ClientCertificates::Off,
            config::ClientCertificates::Request => ClientCertificates::Request,
            config::ClientCertificates::Require => ClientCertificates::Require,
        },
        client_ca: tls.client_ca.clone(),
        look_every: tls.reload,
        ..TlsConfig::new(&tls.certificate, &tls.key)
    }
}

fn outgoing(downstream: &config::Downstream) -> Option<&Outgoing> {
    match &downstream.reach {
        Reach::Url(remote) => Some(&remote.outgoing),
        Reach::Command(_) | Reach::Api(_) => None,
    }
}

/// What of these sections cannot be used, beyond what their values tell, each with the key it is about. Who can reach
/// the address only matters if it `is_opened`.
pub(crate) fn faults(config: &Config, is_opened: bool) -> Vec<(&'static str, String)> {
    let mut faults = Vec::new();
    if let Some(oauth) = &config.security.oauth
        && let Err(error) = verifier_config(config, oauth).check()
    {
        faults.push(("oauth", error.to_string()));
    }
    let mut server = self::config(config, Some(Arc::new(Nobodys)));
    server.allow_unauthenticated |= !is_opened;
    let checked = server.tls.as_ref().map_or(Ok(()), TlsConfig::check);
    if let Err(error) = checked.and_then(|()| server.check()) {
        faults.push((key_of(&error), error.to_string()));
    }
    faults
}

fn key_of(error: &BindError) -> &'static str {
    match error {
        BindError::Tls { .. } => "tls",
        BindError::Oauth { .. } => "oauth",
        BindError::Header { .. } => "key_header",
        BindError::HeaderBytes { .. } => "limits",
        BindError::Host { .. } => "allowed_hosts",
        BindError::Origin { .. } => "allowed_origins",
        BindError::Unauthenticated { .. } | BindError::Listen { .. } => "listen",
    }
}

/// Stands for who will check tokens, while a configuration is only looked at.
struct Nobodys;

#[async_trait]
impl TokenVerifier for Nobodys {
    async fn verify(&self, _: &str, _: &View) -> Result<Caller, TokenError> {
        Err(TokenError::Unavailable { reason: "nothing is served yet".to_owned() })
    }
}

/// Whether callers have to prove who they are.
pub(crate) fn is_closed(config: &Config) -> bool {
    let security = &config.security;
    let requires = |tls: &config::Tls| tls.client_certificates == config::ClientCertificates::Require;
    !config.clients.is_empty() || security.oauth.is_some() || security.tls.as_ref().is_some_and(requires)
}
