//! Schemas of OpenAPI as JSON Schema 2020-12.
//!
//! - Every `$ref` becomes `#/$defs/NAME`; what it leads to is converted once, for all operations.
//! - What comes out is always a valid 2020-12 schema: a keyword that is wrong is mended where it is plain what is meant,
//!   else left out. Nothing is ever made narrower than it was meant: what a schema here accepts too much, the API
//!   refuses.
//! - OpenAPI's own keywords, `x-` ones and comments go, which saves tokens. Numbers keep their digits.
//! - Files and other bytes are strings in base64.
//! - `readOnly` properties are never required. `writeOnly` ones are required in inputs and not in outputs; the few
//!   definitions where that makes a difference have a second one for outputs.

mod combined;
mod converter;
mod cycles;
mod definition;
mod direction;
mod facts;
mod graph;
mod keyword;
mod number;
mod pattern;
mod plain;
mod required;
mod schemas;
mod shape;
#[cfg(test)]
mod tests;
mod types;

pub(super) use converter::Converted;
pub(super) use definition::DefinitionId;
pub(super) use direction::Direction;
pub(super) use schemas::{Finished, Schemas};
pub(super) use shape::{Shape, properties};
