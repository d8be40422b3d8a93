//! `auth = { SCHEME = … }`: credentials, by the name that the document has for the scheme.

use std::collections::BTreeMap;

use figment::value::Value;

use super::model::Auth;
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
        return client_credentials(item, table);
    }
    item.report(Fault::new("does not say what to send").hint(
        "write { env = \"NAME\" } for a key or token, { username = …, password = … }, \
         or { client_id = …, client_secret = …, token_url = … }",
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

fn client_credentials(item: &Item<'_>, mut table: Table<'_>) -> Option<Auth> {
    let is_whole = needs(item, &table, &["client_id", "client_secret", "token_url"]);
    let client_id = table.read("client_id", scalar::word);
    let client_secret = table.take("client_secret").and_then(|item| filled(&item));
    let place = table.take("token_url");
    let token_url = place.as_ref().and_then(|item| item.parsed(reach::url));
    let scopes = table.list("scopes", scalar::word).unwrap_or_default();
    table.finish();
    if let (Some(item), Some(url)) = (place, &token_url)
        && reach::is_in_the_clear(url)
    {
        item.note("the client's secret travels unencrypted over http".to_owned());
    }
    let (client_id, client_secret, token_url) = (client_id?, client_secret?, token_url?);
    is_whole.then_some(Auth::ClientCredentials { client_id, client_secret, token_url, scopes })
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
