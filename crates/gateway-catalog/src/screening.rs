use std::{
    collections::HashSet,
    sync::{Mutex, PoisonError},
};

use gateway_domain::{DownstreamName, ListKind, RawObject, Tool, printable};

use crate::{Finding, Hygiene, PinMode, Pins, Screen, clean, findings};

/// How many entries are told of; they may change as often as their downstream likes.
const TOLD: usize = 1_000;

/// Keeps back tools that are not as they were accepted, and takes out of all definitions what cannot be seen (security.md
/// §2.5). Each entry with something to tell is told once.
#[derive(Debug)]
pub struct Screening {
    pins: Pins,
    hygiene: Hygiene,
    told: Mutex<HashSet<String>>,
}

impl Screening {
    /// By these pins, which may be replaced later.
    pub fn new(pins: Pins, hygiene: Hygiene) -> Self {
        Self { pins, hygiene, told: Mutex::default() }
    }

    fn cleaned_tool(&self, downstream: &DownstreamName, exposed: &str, tool: Tool) -> Tool {
        match self.cleaned(downstream, exposed, tool.definition()) {
            Some(definition) => tool.redefined(definition),
            None => tool,
        }
    }

    fn cleaned(&self, downstream: &DownstreamName, name: &str, definition: &RawObject) -> Option<RawObject> {
        if self.hygiene == Hygiene::Off {
            return None;
        }
        let found = findings(definition);
        if !found.is_empty() {
            self.tell(downstream, name, &found);
        }
        clean(definition, self.hygiene)
    }

    fn tell(&self, downstream: &DownstreamName, name: &str, found: &[Finding]) {
        let is_new = {
            // Every critical section leaves it consistent.
            let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
            told.len() < TOLD && told.insert(format!("{downstream} {name}"))
        };
        if is_new {
            let (name, first, count) =
                (printable(name, 200), found.first().map(ToString::to_string), found.len());
            tracing::warn!(%downstream, name, count, first, "a definition has characters that cannot be seen");
        }
    }
}

impl Screen for Screening {
    /// Judged as the downstream wrote it: what is pinned is what it said.
    fn tool(&self, downstream: &DownstreamName, exposed: &str, tool: Tool) -> Option<Tool> {
        if self.pins.mode() != PinMode::Off && !self.pins.admits(downstream, exposed, &tool) {
            return None;
        }
        Some(self.cleaned_tool(downstream, exposed, tool))
    }

    /// The same by [`Pins::admits_own`].
    fn own_tool(&self, downstream: &DownstreamName, exposed: &str, tool: Tool) -> Option<Tool> {
        if self.pins.mode() != PinMode::Off && !self.pins.admits_own(downstream, exposed, &tool) {
            return None;
        }
        Some(self.cleaned_tool(downstream, exposed, tool))
    }

    fn entry(&self, downstream: &DownstreamName, list: ListKind, entry: RawObject) -> Option<RawObject> {
        let name = entry.get_text("name").unwrap_or_default();
        let cleaned = self.cleaned(downstream, &format!("{} {name}", list.member()), &entry);
        Some(cleaned.unwrap_or(entry))
    }
}
