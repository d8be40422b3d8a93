//! `[pins]`: whether tools have to be as they were accepted.

use super::model::{PinMode, Pins};
use crate::config::reader::Table;
use crate::config::scalar;

/// Beside the first file of the configuration.
const LOCK: &str = "gateway.lock";

pub(super) fn read(mut table: Table<'_>) -> Pins {
    let modes = [("off", PinMode::Off), ("warn", PinMode::Warn), ("quarantine", PinMode::Quarantine)];
    let pins = Pins {
        mode: table.read("mode", scalar::one_of(&modes)).unwrap_or(PinMode::Off),
        lock: table.read("lock", scalar::path).unwrap_or_else(|| table.resolve(LOCK.as_ref())),
        cleans: table.read("clean", scalar::flag).unwrap_or(true),
    };
    table.finish();
    pins
}
