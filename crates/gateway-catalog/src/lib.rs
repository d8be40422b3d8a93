//! The live catalogue: what all downstreams offer together, kept up to date.
//!
//! **For**: listing every downstream at the same time, tools, prompts, resources and templates, whatever one of
//! them does; fitting names and building one immutable snapshot that is swapped whole; pages that are rendered
//! once per generation; to each caller what the rules allow, and profiles, which are parts of it; change events
//! when what is visible differs; what all can do as one server; and *resolve*, which turns what a client names into a downstream's own words, and what that says back
//! (design §4, §5).
//!
//! **Must not know**: how a session is made or carried, HTTP, who the caller is beyond its identity, what the
//! rules are.
//!
//! [`LiveCatalog`] implements the edge's [`Directory`](gateway_domain::Directory); [`Resolve`] is a
//! dispatcher around the one that owns the sessions, and a
//! [`Subscriptions`](gateway_domain::Subscriptions) around the one that watches resources.
//! [`Listings`] is all that is asked of whoever owns the sessions.
//! [`CatalogBuilder`] takes who decides ([`gateway_domain::Decider`]), who looks at what is listed ([`Screen`]), and
//! [`Profile`]s. [`ListStore`] is where lists are kept so that they need not be read again; replicas can share one.
//!
//! ```
//! use std::sync::Arc;
//!
//! use gateway_catalog::{CatalogConfig, Listings, LiveCatalog, Source};
//! use gateway_domain::{Caller, Directory, Error, Exchange, ListKind, View};
//!
//! /// The first page of everything that these downstreams offer.
//! async fn first_page(
//!     sessions: Arc<dyn Listings>,
//!     sources: Vec<Source>,
//!     exchange: &Exchange,
//! ) -> Result<String, Error> {
//!     let catalog = LiveCatalog::start(CatalogConfig::default(), sessions, sources);
//!     let page = catalog.list(ListKind::Tools, &View::All, &Caller::anonymous(), exchange, None).await?;
//!     Ok(page.items.to_string())
//! }
//! ```

mod builder;
mod cache;
mod capabilities;
mod config;
mod definition;
mod directory;
mod filtered;
mod hygiene;
mod item;
mod item_view;
mod links;
mod listings;
mod live;
mod offer;
mod pins;
mod private;
mod profile;
mod refresh;
mod resolve;
mod schema;
mod screen;
mod screening;
mod shared;
mod signal;
mod store;
mod tokens;
mod tracked;
mod uris;
mod view;
mod visibility;
mod walk;
mod warnings;
mod words;

pub use builder::CatalogBuilder;
pub use config::{CatalogConfig, Exposure, Source, ToolFilter};
pub use hygiene::{Finding, Hazard, Hygiene, clean, findings};
pub use listings::Listings;
pub use live::LiveCatalog;
pub use pins::{
    Change, Lock, LockBounds, LockError, LockFault, Locked, PinMode, Pins, Verdict, canonical, diff,
};
pub use profile::{Profile, ProfileError};
pub use resolve::Resolve;
pub use screen::Screen;
pub use screening::Screening;
pub use signal::Signal;
pub use store::{ListKey, ListStore, MemoryStore, StoreError, StoredList};
