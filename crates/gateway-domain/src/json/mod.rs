//! Raw JSON: checked once, kept as bytes, changed only by splicing (design §2).

mod edit;
mod object;
mod raw;
mod scan;
#[cfg(test)]
mod tests;

pub use edit::ObjectEdit;
pub use object::RawObject;
pub use raw::{JsonKind, RawJson};
pub use scan::{DEPTH_LIMIT, Key, Scanner};

/// Why a text is not acceptable JSON. Offsets are bytes from the start of the text that was given.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonError {
    /// The text does not follow RFC 8259.
    #[error("not valid JSON at byte {at}")]
    Syntax {
        /// Where the grammar was broken.
        at: usize,
    },
    /// The text is not UTF-8.
    #[error("not valid UTF-8 at byte {at}")]
    Utf8 {
        /// The first byte that does not belong.
        at: usize,
    },
    /// Arrays and objects are nested deeper than the limit.
    #[error("nested deeper than {limit} levels at byte {at}")]
    Depth {
        /// Where the level after the last allowed one opens.
        at: usize,
        /// The limit in force.
        limit: usize,
    },
    /// An object that is routed on names the same member twice (security.md T13).
    #[error("member {name:?} stands twice")]
    Duplicate {
        /// The repeated name, decoded.
        name: String,
    },
    /// An object that is routed on has more members than allowed.
    #[error("more than {limit} members in one object")]
    Members {
        /// The limit in force.
        limit: usize,
    },
    /// An object was needed and something else stands there.
    #[error("not a JSON object at byte {at}")]
    NotAnObject {
        /// Where the object should begin.
        at: usize,
    },
}
