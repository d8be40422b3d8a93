//! The properties that fuzzing looks for a counterexample to. They are those of the crates' own tests, which replay
//! the corpus.

#[path = "../../crates/gateway-composite/tests/properties/mod.rs"]
mod composite;
#[path = "../../crates/gateway-protocol/tests/properties/mod.rs"]
mod protocol;

/// Checks one input against the property of this target.
///
/// # Panics
/// If the input is a counterexample, or if there is no such target.
pub fn check(target: &str, data: &[u8]) {
    let workflow = ("workflow", composite::workflow as protocol::Property);
    let property = protocol::ALL.into_iter().chain([workflow]).find(|(name, _)| *name == target);
    let (_, property) = property.unwrap_or_else(|| panic!("no property is called {target}"));
    property(data);
}
