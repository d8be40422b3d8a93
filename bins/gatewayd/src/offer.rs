//! What is offered, besides what downstreams have: what is kept back, and the views that there are.

use std::sync::Arc;

use gateway_catalog::{Hygiene, PinMode, Pins, Profile, Screen, Screening, ToolFilter};

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

pub(crate) fn screen(config: &Config, pins: Pins) -> Arc<dyn Screen> {
    let hygiene = if config.security.pins.cleans { Hygiene::Clean } else { Hygiene::Off };
    Arc::new(Screening::new(pins, hygiene))
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
