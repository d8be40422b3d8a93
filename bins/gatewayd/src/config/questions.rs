//! `[questions]`: what downstreams ask in mid-call, and what handles are sealed with.

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use gateway_server::StateKey;

use super::checked::Questions;
use super::gateway::{HOUR, MANY};
use super::problem::Fault;
use super::reader::{Item, Table};
use super::{scalar, secret};

pub(super) fn read(mut table: Table<'_>) -> Questions {
    use scalar::{count, duration};
    let questions = Questions {
        time: table.read("time", duration(24 * HOUR)).unwrap_or(Duration::from_secs(600)),
        rounds: table.read("rounds", count(1..=1000)).unwrap_or(10),
        parked: table.read("parked", count(1..=MANY)).unwrap_or(1024),
        parked_per_caller: table.read("parked_per_caller", count(1..=MANY)).unwrap_or(16),
        state_key: table.take("state_key").and_then(|item| key(&item)),
        label: table.read("label", scalar::flag).unwrap_or(false),
    };
    table.finish();
    questions
}

fn key(item: &Item<'_>) -> Option<StateKey> {
    let secret = secret::read(item)?;
    if item.is_dormant() {
        return None;
    }
    let bytes = STANDARD.decode(secret.expose().trim()).ok();
    let bytes: Option<[u8; 32]> = bytes.and_then(|bytes| bytes.try_into().ok());
    if bytes.is_none() {
        let fault = Fault::new("a state key is 32 bytes in base64");
        item.report(fault.hint("make one with: head -c 32 /dev/urandom | base64"));
    }
    bytes.map(StateKey::from)
}
