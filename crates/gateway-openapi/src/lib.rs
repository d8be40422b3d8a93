//! An HTTP API as MCP tools: operations become tools, calls become requests.
//!
//! **For**: whoever has an HTTP API and wants a small, safe part of it offered to models, with or without a description
//! of it. A [`source`] yields what the API can be asked ([`ir`]), a [`curation`] chooses from it, the [`engine`] makes
//! tools and calls them, and [`downstream`] puts the tools behind a gateway as one MCP server among others.
//!
//! **Must not know**: MCP clients, eras, pools of sessions, names that clients are shown. The engine knows no OpenAPI.
//!
//! What never happens here: a server named by the document is called, a redirect is followed, a reference is fetched
//! that was not allowed, a credential is taken from arguments, a request is sent twice.

pub mod curation;
pub mod downstream;
pub mod engine;
pub mod ir;
pub mod source;
