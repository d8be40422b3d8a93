//! Who may do what (P-49 to P-55).
//!
//! [`Policy`] is the one [`Decider`](gateway_domain::Decider): lists, calls, reads, completions and subscriptions ask
//! it. [`PolicyStage`] asks it again of calls that are on their way to a downstream.
//!
//! # Rules
//! An entry of a client's `deny` list or a rule that denies wins over everything else (P-W3); otherwise one entry or
//! rule that allows is enough; otherwise the default decides. Their order means nothing, and several for one caller
//! come together (P-51).
//!
//! Patterns have `*` for any number of characters and `?` for one; case matters. They are matched with the name that
//! a thing has on `/mcp`: `DOWNSTREAM__TOOL`, `DOWNSTREAM__PROMPT`, the name of a workflow, the URI of a resource. As
//! URIs have no prefix, `DOWNSTREAM__*` is also about the resources of that downstream and their completions; where it
//! denies, about its other methods too.
//!
//! # Pins
//! Where tools are pinned, a pattern with a wildcard, or a rule without names, allows only tools that are pinned
//! (P-50): one that appears later was not thought of when the pattern was written. A full name allows its tool, pinned
//! or not. The default admits everything (P-53). Workflows, prompts and resources are not pinned.

mod caller;
mod class;
mod compile;
mod config;
mod fault;
mod live;
mod mentions;
mod pattern;
mod stage;
#[cfg(test)]
mod tests;
mod thing;

pub use config::{ClientRules, Effect, PolicyConfig, Rule, Through, What, Who};
pub use fault::{PolicyError, PolicyFault, PolicyFaults};
pub use live::Policy;
pub use mentions::{Mention, Mentioned};
pub use stage::PolicyStage;
