//! Many downstream servers as one tool catalogue: the gateway's topology, as plain functions.
//!
//! **For**: taking the tool listings that downstreams report and turning them into what clients see.
//!
//! | Function | Does |
//! |---|---|
//! | [`fit`] | gives tools whose names clients would refuse a stable alias, drops what nobody could use, and says so; one bad tool never hides another |
//! | [`build`] | puts every tool under `downstream__tool` and merges all listings into one sorted [`Catalog`]; strict, the first fault is the result |
//! | [`page`] | cuts a page out of a catalogue, with a cursor that survives additions and removals |
//! | [`page_of`] | the same for any other list that is sorted by its names |
//! | [`after`] | tells after which name the page of a cursor begins |
//! | [`resolve`] | takes a called name apart again |
//! | [`Ownership`] | tells whose a resource URI is, and marks it reversibly where several downstreams have it |
//! | [`merge_instructions`] | puts the instructions of all under headings, within a limit |
//!
//! **Must not know**: async, I/O, clocks, sessions, configuration files, how a call reaches its downstream.
//! The same input gives the same output, whatever the order of the listings and of the tools in them.
//!
//! Nothing but names is ever touched: a definition's bytes, unknown members and odd numbers included, come
//! out as they went in, and [`Tool::original`] is the name that calls carry.
//!
//! ```
//! use std::collections::HashMap;
//!
//! use gateway_aggregate::{FitRules, Listing, Tool, build, fit, page, resolve};
//!
//! // What two servers reported. The second has a name that no model API would take.
//! let files = Listing::new("files", [Tool::new("read"), Tool::new("write")]);
//! let search = Listing::new("search", [Tool::new("web query")]);
//!
//! let fitted: Vec<_> = [files, search].into_iter().map(|l| fit(l, &FitRules::default())).collect();
//! let aliases: Vec<_> = fitted[1].report.aliases().collect();
//! assert_eq!(aliases, [("web_query_mg6v98", "web query")]);
//!
//! let listings: Vec<_> = fitted.into_iter().map(|fitted| fitted.listing).collect();
//! let catalog = build(&listings)?;
//!
//! let (first, cursor) = page(&catalog, "", 2)?;
//! assert_eq!(first.entries()[0].name(), "files__read");
//! let (last, end) = page(&catalog, &cursor, 2)?;
//! assert_eq!((last.entries()[0].name(), end.as_str()), ("search__web_query_mg6v98", ""));
//!
//! let known = HashMap::from([("files".to_owned(), true), ("search".to_owned(), true)]);
//! let target = resolve("search__web_query_mg6v98", Some(&known))?;
//! assert_eq!(target.downstream(), "search");
//! assert_eq!(&**catalog.get(&target).expect("listed above").tool().original(), "web query");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod build;
mod fit;
mod instructions;
mod listing;
mod page;
mod resolve;
mod uri;

pub use build::{BuildError, build};
pub use fit::{Change, Characters, DropCause, FitReport, FitRules, Fitted, Misfit, fit};
pub use gateway_domain::{
    Catalog, CatalogEntry, DuplicateName, NAMESPACE_SEPARATOR, RawJson, RawObject, Tool, ToolRef,
    ToolRefError,
};
pub use instructions::merge_instructions;
pub use listing::Listing;
pub use page::{CursorFault, PageError, after, page, page_of};
pub use resolve::{ResolveError, resolve};
pub use uri::{Effort, Owned, Owners, Ownership, UriTemplate, has_scheme, mark_uri, unmark_uri};
