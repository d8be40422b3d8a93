//! `[pins]`: whether tools have to be as they were accepted.

use std::path::Path;

use gateway_catalog::{Lock, LockBounds};

use super::model::{PinMode, Pins};
use crate::config::problem::Fault;
use crate::config::reader::Table;
use crate::config::scalar;

/// Beside the file of the configuration that has the section.
const LOCK: &str = "gateway.lock";

/// With `accepting` the lock file is about to be written, and need not be there.
pub(super) fn read(mut table: Table<'_>, accepting: bool) -> Pins {
    let modes = [("off", PinMode::Off), ("warn", PinMode::Warn), ("quarantine", PinMode::Quarantine)];
    let mode = table.read("mode", scalar::one_of(&modes)).unwrap_or(PinMode::Off);
    let lock = table.read("lock", scalar::path).unwrap_or_else(|| table.resolve(LOCK.as_ref()));
    let cleans = table.read("clean", scalar::flag).unwrap_or(true);
    let accepted = match mode {
        PinMode::Off if !accepting => Lock::default(),
        _ => accepted(&table, &lock, accepting).unwrap_or_default(),
    };
    table.finish();
    Pins { mode, lock, accepted, cleans }
}

fn accepted(table: &Table<'_>, path: &Path, accepting: bool) -> Option<Lock> {
    table.reads(path);
    let shown = path.display();
    let fault = match table.readable().read(path, LockBounds::default().bytes as u64) {
        Ok(text) => match Lock::parse(&text, &LockBounds::default()) {
            Ok(lock) => return Some(lock),
            Err(error) => Fault::new(format!("{shown}: {error}")),
        },
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            if accepting {
                return None;
            }
            Fault::new(format!("there is no lock file {shown}")).hint("make one with: gatewayd pin")
        }
        Err(error) => Fault::new(format!("{shown} cannot be read: {error}")),
    };
    table.report(fault);
    None
}
