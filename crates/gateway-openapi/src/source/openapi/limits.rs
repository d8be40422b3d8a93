use std::time::Duration;

use crate::source::Place;

/// How much of a document is read. What is beyond any of these makes the whole document unusable: whoever offers half
/// an API does not know which half.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The largest document, in bytes; also of YAML once its aliases are replaced. Default 64 MiB.
    pub document_bytes: usize,
    /// The most values in a YAML document. Default 4 million.
    pub nodes: usize,
    /// The most operations, those that are skipped included. Default 10,000.
    pub operations: usize,
    /// The most that schemas and texts of all operations may take together, in bytes, each shared schema counted once.
    /// Default 64 MiB.
    pub result_bytes: usize,
    /// How much is looked through, in bytes: each value as often as operations and references lead to it. What a
    /// document of good will needs is some ten times its length. Default 2 GiB, which takes a few seconds.
    pub work_bytes: usize,
    /// The most other documents that references lead to, those that cannot be read included. Default 64.
    pub documents: usize,
    /// How long it may take from the beginning until the last of all documents is there. Default 60 s.
    pub time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            document_bytes: Place::SIZE_LIMIT,
            nodes: 4_000_000,
            operations: 10_000,
            result_bytes: 64 * 1024 * 1024,
            work_bytes: 2 * 1024 * 1024 * 1024 - 1,
            documents: 64,
            time: Duration::from_secs(60),
        }
    }
}
