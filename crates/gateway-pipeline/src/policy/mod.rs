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
//! # URIs
//! One resource can be named in many ways, and rules are about the resource. So a URI is looked at three times: as it
//! is, in its canonical form (`FILE://localhost/./a%2Db` is `file:///a-b`), and as a server may read it that decodes it
//! first (`file:///pub/..%2Fpriv` as `file:///priv`, `db://x/../y` as `db://y`). It is allowed only if all three are,
//! and denied if one is; templates, completions and subscriptions too. Patterns are put into the same forms, as far as
//! they can be told from what their wildcards stand for. A pattern without a scheme meets the forms as they are: those
//! have schemes and hosts in small letters.
//!
//! Not claimed: what a server makes of a URI that it decodes twice, of characters that only its file system takes for
//! one another, of links in a file system, of addresses that several names lead to, and of the values that fill in a
//! template. Servers have to look after these themselves.
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
pub(crate) mod uri;

pub use config::{ClientRules, Effect, PolicyConfig, Rule, Through, What, Who};
pub use fault::{PolicyError, PolicyFault, PolicyFaults};
pub use live::Policy;
pub use mentions::{Mention, Mentioned};
pub use stage::PolicyStage;
