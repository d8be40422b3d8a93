//! What is offered, besides what downstreams have: what is kept back, and the views that there are.

use std::sync::Arc;

use gateway_catalog::{Hygiene, PinMode, Pins, Profile, Screen, Screening, ToolFilter};
use gateway_domain::{DownstreamName, ListKind, RawObject, Tool};
use gateway_pipeline::redaction::{Direction, LiveRedactor};

use crate::config::{self, Config};

/// The pins in force.
pub(crate) fn pins(config: &Config) -> Pins {
    let pins = &config.security.pins;
    Pins::new(mode(pins.mode), pins.accepted.clone())
}

/// Has others in force.
pub(crate) fn replace(pins: &Pins, config: &Config) {
    let wanted = &config.security.pins;
    pins.replace(mode(wanted.mode), wanted.accepted.clone());
}

fn mode(mode: config::PinMode) -> PinMode {
    match mode {
        config::PinMode::Off => PinMode::Off,
        config::PinMode::Warn => PinMode::Warn,
        config::PinMode::Quarantine => PinMode::Quarantine,
    }
}

/// What looks at everything before it is offered: at pins, at what cannot be seen, and at secrets.
pub(crate) fn screen(config: &Config, pins: Pins, redactor: Arc<LiveRedactor>) -> Arc<dyn Screen> {
    let hygiene = if config.security.pins.cleans { Hygiene::Clean } else { Hygiene::Off };
    Arc::new(Redacting { screening: Screening::new(pins, hygiene), redactor })
}

/// Takes secrets out of what is offered: first, so that neither a lock file nor the log has them, and last, since they may
/// come to light when characters that cannot be seen are taken out.
struct Redacting {
    screening: Screening,
    redactor: Arc<LiveRedactor>,
}

/// What an entry is known by stays as it is.
const KNOWN_BY: [&str; 3] = ["name", "uri", "uriTemplate"];

impl Redacting {
    fn redacted(&self, definition: &RawObject) -> Option<RawObject> {
        let redacted = self.redactor.current().of_results()?.redact_object(definition, Direction::Results);
        if redacted.count == 0 {
            return None;
        }
        let known = KNOWN_BY.iter().filter_map(|member| Some((*member, definition.get(member)?)));
        let edit =
            known.fold(redacted.value.edit(), |edit, (member, value)| edit.set(member, value.as_bytes()));
        RawObject::try_from(edit.finish()).ok()
    }

    fn without_secrets(&self, tool: Tool) -> Tool {
        match self.redacted(tool.definition()) {
            Some(definition) => tool.redefined(definition),
            None => tool,
        }
    }
}

impl Screen for Redacting {
    fn tool(&self, downstream: &DownstreamName, exposed: &str, tool: Tool) -> Option<Tool> {
        Some(self.without_secrets(self.screening.tool(downstream, exposed, self.without_secrets(tool))?))
    }

    fn own_tool(&self, downstream: &DownstreamName, exposed: &str, tool: Tool) -> Option<Tool> {
        Some(self.without_secrets(self.screening.own_tool(
            downstream,
            exposed,
            self.without_secrets(tool),
        )?))
    }

    fn pinned(&self, tool: Tool) -> Tool {
        self.without_secrets(tool)
    }

    fn entry(&self, downstream: &DownstreamName, list: ListKind, entry: RawObject) -> Option<RawObject> {
        let entry = self.screening.entry(downstream, list, entry)?;
        Some(self.redacted(&entry).unwrap_or(entry))
    }

    fn instructions(&self, _: &DownstreamName, instructions: String) -> String {
        match self.redactor.current().of_results() {
            Some(redactor) => redactor.redact_string(instructions, Direction::Results).value,
            None => instructions,
        }
    }
}

pub(crate) fn profiles(config: &Config) -> Vec<Profile> {
    config.security.profiles.iter().map(profile).collect()
}

/// Views that cannot be.
pub(crate) fn faults(config: &Config) -> Vec<(&'static str, String)> {
    let rules = crate::gateway::fit_rules(config);
    let checked = profiles(config).into_iter().filter_map(|profile| profile.check(&rules).err());
    checked.map(|error| ("profiles", error.to_string())).collect()
}

fn profile(profile: &config::Profile) -> Profile {
    Profile {
        name: profile.name.clone(),
        downstreams: profile.downstreams.iter().cloned().collect(),
        tools: ToolFilter::new(&profile.allow, &profile.deny),
        renames: profile.renames.clone(),
        workflows: profile.workflows.clone(),
        instructions: profile.instructions.clone(),
    }
}
