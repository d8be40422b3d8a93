//! OpenAPI 3.0, 3.1 and 3.2 documents (E-40 to E-46).

mod limits;
mod reading;
mod source;

pub use limits::Limits;
pub use reading::read;
pub use source::OpenApi;
