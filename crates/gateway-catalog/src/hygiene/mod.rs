//! What is invisible or moves the cursor in texts that a model or a person reads (security.md §2.5).
//!
//! This reduces what can be smuggled past whoever reviews a definition; it does not tell good instructions from bad
//! ones. Names by which things are called are left alone: those that do not fit are replaced when a list is fitted.

mod clean;
mod finding;
mod hazard;
#[cfg(test)]
mod tests;

pub(crate) use self::hazard::visible;
pub use self::{
    clean::clean,
    finding::{Finding, findings},
    hazard::Hazard,
};

/// What is done about hazards in definitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Hygiene {
    /// Nothing.
    Off,
    /// They are told.
    Report,
    /// They are told, and those that no text needs are taken out of titles and descriptions: all but joiners and
    /// variation selectors.
    #[default]
    Clean,
    /// As [`Self::Clean`], and those go too. It spoils some emoji and some scripts.
    Strict,
}
