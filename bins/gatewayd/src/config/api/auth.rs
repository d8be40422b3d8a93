//! `auth = { SCHEME = … }`: credentials, by the name that the document has for the scheme.

use std::collections::BTreeMap;

use figment::value::Value;
use http::Uri;

use gateway_openapi::engine::ClientAuthentication;

use super::model::{Auth, OAuthClient};
use crate::config::problem::Fault;
use crate::config::reader::{Item, Table};
use crate::config::secret::{self, Secret};
use crate::config::{reach, scalar};

pub(super) fn read_all(table: Table<'_>) -> BTreeMap<String, Auth> {
    let entries = table.into_entries();
    entries.filter_map(|(scheme, item)| Some((scheme, read(&item)?))).collect()
}

fn read(item: &Item<'_>) -> Option<Auth> {
    let Value::Dict(..) = item.value() else { return token(item) };
    let table = item.table()?;
    let has = |keys: &[&str]| keys.iter().any(|key| table.has(key));
    if has(&["env", "file", "prefix"]) {
        return token(item);
    }
    if has(&["username", "password"]) {
        return basic(item, table);
    }
    if has(&["client_id", "client_secret", "token_url", "scopes"]) {
        return client(item, table);
    }
    item.report(Fault::new("does not say what to send").hint(
        "write { env = \"NAME\" } for a key or token, { username = …, password = … }, \
         or { client_id = …, client_secret = … }",
    ));
    None
}

fn token(item: &Item<'_>) -> Option<Auth> {
    filled(item).map(Auth::Token)
}

fn basic(item: &Item<'_>, mut table: Table<'_>) -> Option<Auth> {
    let is_whole = needs(item, &table, &["username", "password"]);
    let username = table.read("username", scalar::word);
    let password = table.take("password").and_then(|item| secret::read(&item));
    table.finish();
    let (username, password) = (username?, password?);
    if username.contains(':') {
        item.report(Fault::new("a user name with a colon cannot be sent (RFC 7617)"));
        return None;
    }
    is_whole.then_some(Auth::Basic { username, password })
}

fn client(item: &Item<'_>, mut table: Table<'_>) -> Option<Auth> {
    let is_whole = needs(item, &table, &["client_id", "client_secret"]);
    let id = table.read("client_id", scalar::word);
    let secret = table.take("client_secret").and_then(|item| filled(&item));
    let ways = [("basic", ClientAuthentication::Basic), ("post", ClientAuthentication::Post)];
    let client = OAuthClient {
        id: String::new(),
        secret: Secret::new(String::new()),
        token_url: table.take("token_url").and_then(|item| token_url(&item)),
        scopes: table.list("scopes", scalar::word),
        authentication: table.read("authentication", scalar::one_of(&ways)).unwrap_or_default(),
        resource: table.read("resource", scalar::word),
        audience: table.read("audience", scalar::word),
    };
    table.finish();
    let (id, secret) = (id?, secret?);
    is_whole.then_some(Auth::Client(OAuthClient { id, secret, ..client }))
}

fn token_url(item: &Item<'_>) -> Option<Uri> {
    let url = item.parsed(reach::url)?;
    if reach::is_in_the_clear(&url) {
        item.note("the client's secret travels unencrypted over http".to_owned());
    }
    Some(url)
}

/// Whether these are all there.
fn needs(item: &Item<'_>, table: &Table<'_>, keys: &[&str]) -> bool {
    let missing: Vec<&str> = keys.iter().filter(|key| !table.has(key)).copied().collect();
    if !missing.is_empty() {
        item.report(Fault::new(format!("lacks {}", missing.join(" and "))));
    }
    missing.is_empty()
}

/// A secret that is not empty and can stand in a header.
fn filled(item: &Item<'_>) -> Option<Secret> {
    let secret = secret::read(item)?;
    let fault = if secret.expose().is_empty() && !item.is_dormant() {
        Fault::new("must not be empty")
    } else if secret.expose().contains(|c: char| c.is_control()) {
        Fault::new("must be one line without control characters")
    } else {
        return Some(secret);
    };
    item.report(fault);
    None
}
