//! `[oauth]`: authorization servers whose tokens are taken (protocol.md §18.2).

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use http::Uri;

use super::later;
use super::model::{Issuer, KeySource, Methods, Oauth, Profile, RequiredScopes};
use super::name::Downstreams;
use crate::config::gateway::HOUR;
use crate::config::problem::Fault;
use crate::config::reader::{Item, Table};
use crate::config::{reach, scalar, secret};

/// Signatures that are taken unless the configuration says otherwise (security.md §5.1).
const ALGORITHMS: [&str; 4] = ["RS256", "PS256", "ES256", "EdDSA"];

pub(super) fn read(top: &mut Table<'_>, downstreams: &Downstreams, profiles: &[Profile]) -> Option<Oauth> {
    if !top.has("oauth") {
        top.table("oauth").finish();
        return None;
    }
    let mut table = top.table("oauth");
    let resource = table.take("resource");
    if resource.is_none() {
        let fault = Fault::new("does not say what tokens have to be for");
        table.report(
            fault.hint("write resource = \"https://gateway.example/mcp\", the public URL of this endpoint"),
        );
    }
    let resource = resource.as_ref().and_then(|item| item.parsed(resource_url));
    let issuers = table.take("issuers").and_then(|item| item.items()).unwrap_or_default();
    if issuers.is_empty() {
        let fault = Fault::new("names no issuer");
        table.report(fault.hint("write issuers = [{ issuer = \"https://login.example\" }]"));
    }
    let oauth = Oauth {
        resource: String::new(),
        aliases: table.list("aliases", scalar::word).unwrap_or_default(),
        resources: table
            .take("resources")
            .and_then(|item| item.table())
            .map(|table| resources(table, downstreams, profiles))
            .unwrap_or_default(),
        deny_list: table.read("deny_list", file),
        issuers: issuers.iter().filter_map(issuer).collect(),
        scopes_supported: table.list("scopes_supported", scope).unwrap_or_default(),
        required: required(table.table("scopes")),
    };
    table.finish();
    Some(Oauth { resource: resource?, ..oauth })
}

/// As it is written: tokens name it exactly so.
fn resource_url(item: &Item<'_>) -> Result<String, Fault> {
    reach::url(item)?;
    scalar::word(item)
}

/// The same of who signs tokens, whom nobody may be able to stand in for.
fn issuer_url(item: &Item<'_>) -> Result<String, Fault> {
    secure(item)?;
    scalar::word(item)
}

fn resources(table: Table<'_>, downstreams: &Downstreams, profiles: &[Profile]) -> BTreeMap<String, String> {
    let is_profile = |name: &str| profiles.iter().any(|profile| profile.name.as_str() == name);
    let one = |(name, item): (String, Item<'_>)| {
        if !is_profile(&name) {
            item.parsed(|_| downstreams.check(&name));
        }
        Some((name, item.parsed(resource_url)?))
    };
    table.into_entries().filter_map(one).collect()
}

fn required(mut table: Table<'_>) -> RequiredScopes {
    let mut by_word = |key| table.take(key).and_then(|item| item.table()).map(lists).unwrap_or_default();
    let (methods, tools) = (by_word("methods"), by_word("tools"));
    let required = RequiredScopes { always: table.list("always", scope).unwrap_or_default(), methods, tools };
    table.finish();
    required
}

fn lists(table: Table<'_>) -> Methods {
    let one = |(word, item): (String, Item<'_>)| {
        let scopes = item.items()?;
        Some((word, scopes.iter().filter_map(|item| item.parsed(scope)).collect()))
    };
    table.into_entries().filter_map(one).collect()
}

/// RFC 6749 §3.3.
fn scope(item: &Item<'_>) -> Result<String, Fault> {
    let text = scalar::word(item)?;
    let is_scope = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\');
    match text.bytes().all(is_scope) {
        true => Ok(text),
        false => Err(Fault::new(format!("{text:?} is not one scope")).hint("write each scope by itself")),
    }
}

fn issuer(item: &Item<'_>) -> Option<Issuer> {
    let mut table = item.table()?;
    let name = table.take("issuer");
    if name.is_none() {
        table.report(Fault::new("an issuer has a URL").hint("write issuer = \"https://login.example\""));
    }
    let name = name.as_ref().and_then(|item| item.parsed(issuer_url));
    let keys = keys(&mut table);
    let algorithms: Vec<_> = ALGORITHMS.iter().map(|name| (*name, *name)).collect();
    let other =
        [("RS384", "RS384"), ("RS512", "RS512"), ("PS384", "PS384"), ("PS512", "PS512"), ("ES384", "ES384")];
    let known: Vec<_> = algorithms.into_iter().chain(other).collect();
    let algorithm = |item: &Item<'_>| scalar::one_of(&known)(item).map(str::to_owned);
    let claims = table.take("scope_claims").and_then(|item| item.table());
    let prefix = |(claim, item): (String, Item<'_>)| Some((claim, item.parsed(scalar::text)?));
    let issuer = Issuer {
        issuer: String::new(),
        keys: KeySource::Discovery,
        audiences: table.list("audiences", scalar::word).unwrap_or_default(),
        algorithms: table
            .list("algorithms", algorithm)
            .unwrap_or_else(|| ALGORITHMS.map(str::to_owned).to_vec()),
        accept_jwt_type: table.read("accept_jwt_type", scalar::flag).unwrap_or(false),
        leeway: table
            .read("leeway", scalar::duration(Duration::from_secs(60)))
            .unwrap_or(Duration::from_secs(30)),
        max_age: table.read("max_age", scalar::duration(24 * HOUR)),
        scope_claims: claims
            .map(|table| table.into_entries().filter_map(prefix).collect::<BTreeMap<_, _>>())
            .unwrap_or_default(),
    };
    table.finish();
    Some(Issuer { issuer: name?, keys: keys?, ..issuer })
}

/// Discovery, unless something else is named.
fn keys(table: &mut Table<'_>) -> Option<KeySource> {
    let given = ["jwks_url", "jwks_file", "introspection"].into_iter().filter(|key| table.has(key)).count();
    if given > 1 {
        table.report(
            Fault::new("has more than one way to check tokens")
                .hint("keep one of jwks_url, jwks_file and introspection"),
        );
    }
    let url = table.take("jwks_url");
    let path = table.take("jwks_file");
    let introspection = table.take("introspection");
    match (url, path, introspection) {
        (Some(url), ..) => url.parsed(secure).map(KeySource::Url),
        (_, Some(path), _) => path.parsed(file).map(KeySource::File),
        (_, _, Some(item)) => item.table().and_then(introspected),
        _ => Some(KeySource::Discovery),
    }
}

/// One that can be read from the start: until then nobody would be let in.
fn file(item: &Item<'_>) -> Result<PathBuf, Fault> {
    let path = scalar::path(item)?;
    match later::open(&path) {
        Ok(()) => Ok(path),
        Err(error) => Err(Fault::new(format!("cannot read {}: {error}", path.display()))),
    }
}

fn introspected(mut table: Table<'_>) -> Option<KeySource> {
    let [endpoint, client, secret] = ["endpoint", "client_id", "client_secret"].map(|key| {
        if !table.has(key) {
            table.report(Fault::new(format!("lacks {key}")));
        }
        table.take(key)
    });
    let cache = table.read("cache", scalar::duration(HOUR)).unwrap_or(Duration::from_secs(60));
    table.finish();
    let endpoint = endpoint.and_then(|item| item.parsed(secure));
    let client = client.and_then(|item| item.parsed(scalar::word));
    let secret = secret.and_then(|item| secret::read(&item));
    Some(KeySource::Introspection { endpoint: endpoint?, client: client?, secret: secret?, cache })
}

/// `https`, or a loopback address.
fn secure(item: &Item<'_>) -> Result<Uri, Fault> {
    let url = reach::url(item)?;
    match reach::is_in_the_clear(&url) {
        true => Err(Fault::new("must be https: whoever is on its way could change it")),
        false => Ok(url),
    }
}
