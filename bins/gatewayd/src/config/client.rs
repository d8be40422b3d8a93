//! `[clients.NAME]`: who may use the gateway.

use super::checked::Client;
use super::problem::Fault;
use super::reader::{Item, Table};
use super::secret;

pub(super) fn read_all(table: Table<'_>) -> Vec<Client> {
    let mut clients: Vec<Client> = Vec::new();
    for (name, item) in table.into_entries() {
        let Some(client) = read(&name, &item) else { continue };
        if let Some(twin) = clients.iter().find(|other| other.key == client.key) {
            let fault = Fault::new(format!("has the same key as client {}", twin.name));
            item.report(fault.hint("a key names its owner: give each client one of its own"));
        }
        clients.push(client);
    }
    clients
}

fn read(name: &str, item: &Item<'_>) -> Option<Client> {
    if gateway_domain::DownstreamName::parse(name).is_err() {
        let fault = Fault::new(format!("{name:?} is not a name for a client"));
        item.report(fault.hint("use letters, digits, - and single _ inside"));
    }
    let mut table = item.table()?;
    // A list that nobody enforces would be worse than none.
    table.set_later(&["allow"]);
    let key = table.take("key");
    if key.is_none() {
        table.report(Fault::new("a client needs a key").hint("write key = { env = \"NAME\" }"));
    }
    table.finish();
    let key = key?;
    let secret = secret::read(&key)?;
    if let Some(fault) = unfit(secret.expose()) {
        key.report(fault);
        return None;
    }
    if secret.expose().len() < SHORT_KEY {
        key.note(format!("a key of fewer than {SHORT_KEY} characters can be guessed"));
    }
    Some(Client { name: name.to_owned(), key: secret })
}

const SHORT_KEY: usize = 16;

/// A bearer key stands in a header without quotes (RFC 6750 §2.1, loosely: any visible ASCII).
fn unfit(key: &str) -> Option<Fault> {
    if key.is_empty() {
        return Some(Fault::new("a key must not be empty"));
    }
    let is_sendable = key.bytes().all(|byte| byte.is_ascii_graphic());
    (!is_sendable).then(|| Fault::new("a key may hold only visible ASCII characters, no spaces"))
}
