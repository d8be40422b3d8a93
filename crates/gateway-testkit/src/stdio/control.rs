//! Faults that come and go while the process lives, and a record of what it was asked.

use std::{fs, io::Write as _};

use super::options::Options;
use crate::message::Message;

/// What a control file can order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    Exit,
    Hang,
    Garbage,
}

impl Fault {
    /// What stands in the control file now; `None` without a file or with anything else in it.
    pub(crate) fn of_the_moment(options: &Options) -> Option<Self> {
        match fs::read_to_string(options.control.as_ref()?).ok()?.trim() {
            "exit" => Some(Self::Exit),
            "hang" => Some(Self::Hang),
            "garbage" => Some(Self::Garbage),
            _ => None,
        }
    }
}

/// One write for one line: lines of several processes do not mix.
pub(crate) fn note_request(options: &Options, message: &Message) {
    let (Some(file), Some(method), Some(_)) = (&options.requests_file, &message.method, &message.id) else {
        return;
    };
    let arguments = message.params.get("arguments").map_or("", |arguments| arguments.get());
    let line = format!("{} {method} {arguments}\n", std::process::id());
    if let Ok(mut file) = fs::OpenOptions::new().create(true).append(true).open(file) {
        // Whoever reads the record misses the line and fails.
        drop(file.write_all(line.as_bytes()));
    }
}
