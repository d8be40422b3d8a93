//! `auth` and `forward_headers` of a downstream with a url: what it is proved to who calls.

use std::time::Duration;

use figment::value::Value;
use http::{HeaderName, Uri, header};

use super::model::{Grant, Interactive, Outgoing, Owner, Provider, TokenClient, TokenSource};
use super::{exchange, later};
use crate::config::gateway::HOUR;
use crate::config::problem::Fault;
use crate::config::reader::{Item, Table};
use crate::config::secret::{self, Secret};
use crate::config::{reach, scalar};

pub(in crate::config) const FORWARD_HEADERS: &str = "forward_headers";

/// What kind of credentials these are.
#[derive(Clone, Copy)]
enum Kind {
    File,
    Command,
    Oauth,
}

const KINDS: [(&str, Kind); 3] = [("file", Kind::File), ("command", Kind::Command), ("oauth", Kind::Oauth)];

/// Whose tokens of an authorization server.
#[derive(Clone, Copy)]
enum Mode {
    Gateway,
    PerUser,
    ClientCredentials,
    JwtBearer,
    Exchange,
    EnterpriseManaged,
}

const MODES: [(&str, Mode); 6] = [
    ("gateway", Mode::Gateway),
    ("per_user", Mode::PerUser),
    ("client_credentials", Mode::ClientCredentials),
    ("jwt_bearer", Mode::JwtBearer),
    ("exchange", Mode::Exchange),
    ("enterprise_managed", Mode::EnterpriseManaged),
];

pub(in crate::config) fn read(table: &mut Table<'_>) -> Outgoing {
    let grant = table.take("auth").and_then(|item| grant(&item));
    let forward = table.list(FORWARD_HEADERS, name).unwrap_or_default();
    Outgoing { grant, forward }
}

fn name(item: &Item<'_>) -> Result<HeaderName, Fault> {
    let text = scalar::word(item)?;
    let name: HeaderName = text.parse().map_err(|_| Fault::new("is not a header's name"))?;
    let is_secret = [header::AUTHORIZATION, header::COOKIE, header::PROXY_AUTHORIZATION].contains(&name);
    match is_secret || reach::is_ours(name.as_str()) {
        true => Err(Fault::new(format!("{name} is never passed on"))
            .hint("a downstream that needs the caller's identity takes auth = { type = \"oauth\", mode = \"exchange\", … }")),
        false => Ok(name),
    }
}

fn grant(item: &Item<'_>) -> Option<Grant> {
    let mut table = item.table()?;
    let kind = table.take("type");
    if kind.is_none() {
        let words: Vec<_> = KINDS.iter().map(|(word, _)| *word).collect();
        table.report(
            Fault::new("does not say what it is").hint(format!("write type = one of {}", words.join(", "))),
        );
    }
    let kind = kind.as_ref().and_then(|item| item.parsed(scalar::one_of(&KINDS)));
    let grant = kind.and_then(|kind| of_kind(kind, &mut table));
    if kind.is_some() {
        table.finish();
    }
    grant
}

fn of_kind(kind: Kind, table: &mut Table<'_>) -> Option<Grant> {
    match kind {
        Kind::File => {
            let header = place(table);
            let path = required(table, "path").and_then(|item| later::file(&item));
            Some(Grant::File { header, path: path? })
        }
        Kind::Command => {
            let header = place(table);
            let argv = required(table, "command").as_ref().and_then(later::program);
            let ttl = table.read("ttl", scalar::duration(24 * HOUR)).unwrap_or(Duration::from_secs(300));
            Some(Grant::Command { header, ttl, argv: argv? })
        }
        Kind::Oauth => oauth(table),
    }
}

fn oauth(table: &mut Table<'_>) -> Option<Grant> {
    let mode = table.read("mode", scalar::one_of(&MODES)).unwrap_or(Mode::Gateway);
    let mut client = client(table);
    if !matches!(mode, Mode::Gateway | Mode::PerUser) {
        client.resource = table.read("resource", exchange::resource);
    }
    let is_proved = client.client_secret.is_some() || client.private_key.is_some();
    let grant = match mode {
        Mode::Gateway | Mode::PerUser => {
            if client.client_secret.is_some() && client.issuer.is_none() {
                let fault = Fault::new("a client_secret needs issuer, so that it is sent nowhere else");
                table.report(fault.hint("write issuer = \"https://login.example\""));
            }
            let owner = if matches!(mode, Mode::PerUser) { Owner::User } else { Owner::Gateway };
            Grant::Interactive(Box::new(interactive(owner, client, table)))
        }
        Mode::ClientCredentials => {
            if client.client_id.is_none() || !is_proved {
                table.report(Fault::new("needs client_id, and client_secret or private_key"));
            }
            Grant::ClientCredentials(client)
        }
        Mode::JwtBearer => Grant::JwtBearer { assertion: assertion(&client, table)?, client },
        Mode::Exchange => {
            if client.token_url.is_none() {
                table.report(Fault::new("needs token_url: a caller's token goes nowhere else"));
            }
            if client.client_id.is_none() || !is_proved {
                table.report(Fault::new("needs client_id, and client_secret or private_key"));
            }
            Grant::Exchange { client, exchange: exchange::read(table) }
        }
        Mode::EnterpriseManaged => {
            if client.issuer.is_none() {
                table.report(Fault::new("needs issuer, which the identity provider is asked for"));
            }
            if client.client_id.is_none() || !is_proved {
                table.report(Fault::new("needs client_id, and client_secret or private_key"));
            }
            let provider = required(table, "idp").and_then(|item| provider(item.table()?))?;
            Grant::EnterpriseManaged { client, provider: Box::new(provider) }
        }
    };
    Some(grant)
}

/// What a token is granted for to a client that may have no secret.
fn assertion(client: &TokenClient, table: &mut Table<'_>) -> Option<TokenSource> {
    if client.client_id.is_none() {
        table.report(Fault::new("needs client_id"));
    }
    if client.issuer.is_none() && client.token_url.is_none() {
        table.report(Fault::new("needs issuer or token_url: the assertion goes nowhere else"));
    }
    let item = table.take("assertion");
    if item.is_none() {
        table.report(Fault::new("needs assertion").hint(later::SOURCES));
    }
    item.and_then(|item| later::token(&item))
}

/// `idp`: whom a user's token is shown first.
fn provider(mut table: Table<'_>) -> Option<Provider> {
    let [token_url, client_id] = ["token_url", "client_id"].map(|key| required(&mut table, key));
    let secret = |item: Item<'_>| -> Option<Secret> { secret::read(&item) };
    let client_secret = table.take("client_secret").and_then(secret);
    let private_key = table.take("private_key").and_then(secret);
    let subject = table.take("subject_token").and_then(|item| later::token(&item));
    let subject_type = table.read("subject_token_type", exchange::token_type);
    let (token_url, client_id) = (
        token_url.and_then(|item| item.parsed(secure)),
        client_id.and_then(|item| item.parsed(scalar::word)),
    );
    table.finish();
    Some(Provider {
        token_url: token_url?,
        client_id: client_id?,
        client_secret,
        private_key,
        subject,
        subject_type,
    })
}

/// In which header; in `Authorization` it is a bearer token.
fn place(table: &mut Table<'_>) -> HeaderName {
    let header = table.read("header", |item| {
        let text = scalar::word(item)?;
        let name: HeaderName = text.parse().map_err(|_| Fault::new("is not a header's name"))?;
        match reach::is_ours(name.as_str()) {
            true => Err(Fault::new("the gateway sets this header itself")),
            false => Ok(name),
        }
    });
    header.unwrap_or(header::AUTHORIZATION)
}

pub(super) fn argv(item: &Item<'_>) -> Option<Vec<String>> {
    if let Value::String(..) = item.structured() {
        let fault = Fault::new("found a string where an array is needed");
        item.report(fault.hint("no shell reads it: write [\"program\", \"argument\", …]"));
        return None;
    }
    let words: Vec<_> = item.items()?.iter().filter_map(|item| item.parsed(scalar::text)).collect();
    if words.first().is_none_or(String::is_empty) {
        item.report(Fault::new("the command is empty").hint("its first item is the program"));
        return None;
    }
    Some(words)
}

fn client(table: &mut Table<'_>) -> TokenClient {
    let secret = |item: Item<'_>| -> Option<Secret> { secret::read(&item) };
    TokenClient {
        client_id: table.read("client_id", scalar::word),
        client_secret: table.take("client_secret").and_then(secret),
        private_key: table.take("private_key").and_then(secret),
        issuer: table.read("issuer", |item| secure(item).and_then(|_| scalar::word(item))),
        token_url: table.read("token_url", secure),
        scopes: table.list("scopes", scalar::word).unwrap_or_default(),
        audience: table.read("audience", scalar::word),
        resource: None,
        legacy_discovery: table.read("legacy_discovery", scalar::flag).unwrap_or(false),
        loopback_issuers: table.read("loopback_issuers", scalar::flag).unwrap_or(false),
    }
}

fn interactive(owner: Owner, client: TokenClient, table: &mut Table<'_>) -> Interactive {
    Interactive {
        client,
        owner,
        client_metadata_url: table.read("client_metadata_url", secure),
        redirect: table.read("redirect", reach::url),
        store: table.read("store", scalar::path),
        store_key: table.take("store_key").and_then(|item| secret::read(&item)),
    }
}

/// `[login]`: how a person is shown a page.
pub(super) fn login(mut table: Table<'_>) -> Option<Vec<String>> {
    let command = table.take("command").as_ref().and_then(argv);
    table.finish();
    command
}

fn required<'a>(table: &mut Table<'a>, key: &'static str) -> Option<Item<'a>> {
    let item = table.take(key);
    if item.is_none() {
        table.report(Fault::new(format!("lacks {key}")));
    }
    item
}

/// `https`, or a loopback address.
fn secure(item: &Item<'_>) -> Result<Uri, Fault> {
    let url = reach::url(item)?;
    match reach::is_in_the_clear(&url) {
        true => Err(Fault::new("must be https: secrets travel there")),
        false => Ok(url),
    }
}
