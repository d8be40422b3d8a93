//! `[clients.NAME]`: who may use the gateway.

use aws_lc_rs::digest;
use figment::value::Value;
use gateway_server::ClientKey;
use http::HeaderName;

use super::model::{Client, Key, Tls};
use super::name::Downstreams;
use crate::config::problem::Fault;
use crate::config::reader::{Item, Table};
use crate::config::{scalar, secret};

pub(in crate::config) fn read_all(table: Table<'_>, downstreams: &Downstreams) -> Vec<Client> {
    let mut clients: Vec<Client> = Vec::new();
    for (name, item) in table.into_entries() {
        let Some(client) = read(&name, &item, downstreams) else { continue };
        if let Some((twin, what)) = clients.iter().find_map(|other| Some((other, shared(other, &client)?))) {
            let fault = Fault::new(format!("has the same {what} as client {}", twin.name));
            item.report(fault.hint(format!("a {what} names its owner: give each client one of its own")));
        }
        clients.push(client);
    }
    clients
}

/// What those who wrote this may want to know of what clients prove themselves with: a certificate counts where one is
/// asked for.
pub(in crate::config) fn remarks(clients: &[Client], tls: Option<&Tls>) -> Vec<String> {
    let is_asked = tls.is_some_and(|tls| tls.client_ca.is_some());
    let unasked = clients.iter().filter(|client| !is_asked && !client.certificates.is_empty());
    let remark = |client: &Client| {
        format!(
            "{}: no client is asked for a certificate; [tls] with a client_ca would be needed",
            client.name
        )
    };
    unasked.map(remark).collect()
}

/// What both could prove themselves with.
fn shared(one: &Client, other: &Client) -> Option<&'static str> {
    let digests: Vec<_> = other.keys.iter().map(digest_of).collect();
    if one.keys.iter().any(|key| digests.contains(&digest_of(key))) {
        return Some("key");
    }
    one.certificates.iter().any(|known| other.certificates.contains(known)).then_some("certificate")
}

/// `key_header = "x-api-key"`.
pub(super) fn key_header(top: &mut Table<'_>) -> Option<HeaderName> {
    top.read("key_header", |item| {
        let text = scalar::word(item)?;
        let name: HeaderName = text.parse().map_err(|_| Fault::new("is not a header's name"))?;
        match gateway_transport_http::is_reserved_header(&name) || name == http::header::COOKIE {
            true => Err(Fault::new("belongs to HTTP or MCP").hint("write a name of its own: \"x-api-key\"")),
            false => Ok(name),
        }
    })
}

fn read(name: &str, item: &Item<'_>, downstreams: &Downstreams) -> Option<Client> {
    if gateway_domain::DownstreamName::parse(name).is_err() {
        let fault = Fault::new(format!("{name:?} is not a name for a client"));
        item.report(fault.hint("use letters, digits, - and single _ inside"));
    }
    if ["anonymous", "other"].contains(&name) {
        item.report(
            Fault::new(format!("{name:?} is what records and figures call others"))
                .hint("choose another name"),
        );
    }
    let mut table = item.table()?;
    let one = table.take("key");
    let several = table.take("keys").and_then(|item| item.items()).unwrap_or_default();
    let certificates = table.list("certificates", fingerprint).unwrap_or_default();
    if one.is_none() && several.is_empty() && certificates.is_empty() {
        table.report(Fault::new("a client needs a key").hint("write key = { env = \"NAME\" }"));
    }
    let written: Vec<_> = one.into_iter().chain(several).collect();
    let keys: Vec<_> = written.iter().filter_map(key).collect();
    let client = Client {
        name: name.to_owned(),
        certificates,
        metrics: table.read("metrics", scalar::flag).unwrap_or(false),
        allow: table.list("allow", |item| downstreams.pattern(item)).unwrap_or_default(),
        deny: table.list("deny", |item| downstreams.pattern(item)).unwrap_or_default(),
        keys,
    };
    table.finish();
    (client.keys.len() == written.len()).then_some(client)
}

const SHORT_KEY: usize = 16;

/// A secret, or `"sha256:…"`.
fn key(item: &Item<'_>) -> Option<Key> {
    if let Value::String(_, text) = item.value()
        && text.starts_with(DIGEST)
    {
        return item.parsed(fingerprint).map(Key::Digest);
    }
    let secret = secret::read(item)?;
    if let Some(fault) = unfit(secret.expose()) {
        item.report(fault);
        return None;
    }
    if secret.expose().len() < SHORT_KEY {
        item.note(format!("a key of fewer than {SHORT_KEY} characters can be guessed"));
    }
    Some(Key::Plain(secret))
}

const DIGEST: &str = "sha256:";

/// `"sha256:"` and 64 hexadecimal digits, with colons between the bytes or without.
fn fingerprint(item: &Item<'_>) -> Result<[u8; 32], Fault> {
    let wrong = || {
        Fault::new("is not a SHA-256")
            .hint("write \"sha256:\" and 64 hexadecimal digits; for a key: printf %s KEY | sha256sum")
    };
    let text = scalar::word(item)?;
    let digits = text.strip_prefix(DIGEST).ok_or_else(wrong)?;
    ClientKey::parse_digest(digits).map_err(|_| wrong())
}

pub(super) fn digest_of(key: &Key) -> [u8; 32] {
    match key {
        Key::Digest(digest) => *digest,
        Key::Plain(secret) => {
            let mut bytes = [0; 32];
            bytes.copy_from_slice(digest::digest(&digest::SHA256, secret.expose().as_bytes()).as_ref());
            bytes
        }
    }
}

/// A bearer key stands in a header without quotes (RFC 6750 §2.1, loosely: any visible ASCII).
fn unfit(key: &str) -> Option<Fault> {
    if key.is_empty() {
        return Some(Fault::new("a key must not be empty"));
    }
    let is_sendable = key.bytes().all(|byte| byte.is_ascii_graphic());
    (!is_sendable).then(|| Fault::new("a key may hold only visible ASCII characters, no spaces"))
}
