//! Where the operations of an API come from (E-39). Sources know nothing of tools.

mod fixed;
mod identity;
mod locator;
pub mod openapi;
mod place;
mod references;
mod routes;
pub mod swagger;

use async_trait::async_trait;

use crate::ir::Listing;

pub use fixed::{Fixed, from_fn};
pub(crate) use identity::legal_id;
pub use openapi::OpenApi;
pub use place::Place;
pub use references::References;
pub use routes::{BodySchemas, Route, RouteTable, Routes};

/// Knows what an API can be asked.
#[async_trait]
pub trait Source: Send + Sync {
    /// What errors and logs call it: a file name, a URL, or a word. No secrets.
    fn name(&self) -> String;

    /// Reads everything anew.
    ///
    /// # Errors
    /// The source cannot be read, or not understood as a whole. A single operation that is not understood is
    /// [skipped](Listing::skipped).
    async fn load(&self) -> Result<Listing, SourceError>;

    /// Changes when [`Self::load`] would yield something else, as far as can be told cheaply: a file's time and size.
    /// `None`: nothing is known; it is not read again.
    async fn stamp(&self) -> Option<u64> {
        None
    }
}

/// Why a source yields nothing (E-40). Names the source.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// It could not be had.
    #[error("cannot read {source_name}: {reason}")]
    Unreadable {
        /// Which.
        source_name: String,
        /// Why.
        reason: String,
    },
    /// It is not what it should be.
    #[error("{source_name} is not a description of an API that can be used: {reason}")]
    Invalid {
        /// Which.
        source_name: String,
        /// What is wrong and, if known, where.
        reason: String,
    },
    /// It is larger, deeper or more than allowed.
    #[error("{source_name} has more than {limit} {what}")]
    TooLarge {
        /// Which.
        source_name: String,
        /// Bytes, nodes, operations.
        what: &'static str,
        /// The limit in force.
        limit: usize,
    },
}
