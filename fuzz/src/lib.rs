//! The properties that fuzzing looks for a counterexample to. They are those of gateway-protocol's own
//! tests, which replay the corpus.

#[path = "../../crates/gateway-protocol/tests/properties/mod.rs"]
mod properties;

/// Checks one input against the property of this target.
///
/// # Panics
/// If the input is a counterexample, or if there is no such target.
pub fn check(target: &str, data: &[u8]) {
    let property = properties::ALL.iter().find(|(name, _)| *name == target);
    let (_, property) = property.unwrap_or_else(|| panic!("no property is called {target}"));
    property(data);
}
