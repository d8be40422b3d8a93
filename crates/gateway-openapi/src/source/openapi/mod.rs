//! OpenAPI 3.0, 3.1 and 3.2 documents (E-40 to E-46).

mod document;
mod fault;
mod gathering;
mod library;
mod limits;
mod media;
mod object;
mod operation;
mod paths;
mod reading;
mod schema;
mod source;
#[cfg(test)]
mod tests;
mod text;

pub use limits::Limits;
pub use reading::read;
pub use source::OpenApi;
